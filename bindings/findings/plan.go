package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"shardsh/balancer/humanize"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
	"shardsh/balancer/policy"
	"shardsh/bindings/plaintext"
)

// The number of rows of a plan, and of reasons of a row, that are shown unless all are requested.
const (
	maxSteps   = 20
	maxShards  = 10
	maxReasons = 3
)

// PlanDetail says how much of a plan is shown.
type PlanDetail struct {
	All bool // all steps and shards, rather than the first steps and the shards that change most
	Why bool // the reason of each step, with numbers; unless All is set, some of the steps that share a line
}

// PlanText returns a plan as text: totals, the data of each shard before and after, the steps, and what
// the plan leaves undone.
func PlanText(p *plan.Plan, detail PlanDetail) string {
	var out page
	out.writeWrapped(0, sentence(planHead(p)))
	if len(p.Steps) > 0 {
		out.writeWrapped(0, sentence(totalsText(p)))
		out.writeShardChanges(p.Shards, detail.All)
		out.writeSteps(p.Steps, detail)
	}
	if p.Note != "" {
		out.writeWrapped(0, sentence(p.Note))
	}
	if len(p.Left) > 0 && (len(p.Steps) > 0 || !p.ReachesGoal) {
		out.writeRemaining(p, detail)
	}
	return out.String()
}

// writeRemaining writes what the plan leaves undone; in full, with numbers, if all steps are shown.
func (p *page) writeRemaining(of *plan.Plan, detail PlanDetail) {
	if detail.All {
		p.writeFindings("Left", of.Left, of.Basis.Time)
		return
	}
	p.writeHeading("Left")
	for _, g := range diagnosis.GroupFindings(of.Left) {
		p.writeToDo(g)
	}
}

// PlanApprovalText returns PlanText followed by the hash of the plan.
func PlanApprovalText(p *plan.Plan, detail PlanDetail) string {
	if len(p.Steps) == 0 {
		return PlanText(p, detail)
	}
	return PlanText(p, detail) + "\nHash to approve: " + p.Hash + "\n"
}

// planHead summarizes the plan in one line. For a plan without steps, it gives the reason.
func planHead(p *plan.Plan) string {
	aim := string(p.Goal.Kind)
	if p.Goal.Kind == plan.Drain {
		aim += " " + string(p.Goal.Shard)
	}
	about := "all collections"
	if len(p.Goal.Namespaces) > 0 {
		about = strings.Join(p.Goal.Namespaces, ", ")
	}
	switch {
	case len(p.Steps) == 0 && p.ReachesGoal:
		return fmt.Sprintf("nothing to do (%s, %s)", aim, about)
	case len(p.Steps) == 0 && len(p.Left) > 0:
		return fmt.Sprintf("the goal can't be reached (%s, %s): %s", aim, about, p.Left[0].Sentence)
	}
	return fmt.Sprintf("%s: %s, %s, for the cluster as of %s", p.ID, aim, about, p.Basis.Time.UTC().Format(time.RFC3339))
}

func totalsText(p *plan.Plan) string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{p.Totals.Moves, "move"}, {p.Totals.Splits, "split"}, {p.Totals.Merges, "merge"}} {
		if part.n > 0 {
			parts = append(parts, humanize.Count(part.n, part.what))
		}
	}
	reached := "the goal is then reached"
	if !p.ReachesGoal {
		reached = "the goal is not reached by then"
	}
	return fmt.Sprintf("%s in %s, %s and %s to move, about %s at 64 MiB/s a migration, waits not counted; %s",
		strings.Join(parts, ", "), humanize.Count(p.Totals.Rounds, "round"), humanize.Bytes(p.Totals.Bytes),
		humanize.Count(int(p.Totals.Documents), "document"), humanize.Duration(p.Totals.Duration), reached)
}

// writeShardChanges writes the data of shards before and after, those that change most first.
func (p *page) writeShardChanges(list []plan.ShardChange, all bool) {
	list = slices.Clone(list)
	if !all && len(list) > maxShards {
		slices.SortStableFunc(list, func(a, b plan.ShardChange) int { return cmp.Compare(changeSize(b), changeSize(a)) })
	}
	shown := list
	if !all {
		shown = list[:min(len(list), maxShards)]
	}
	rows := [][]string{{"shard", "chunks before", "after", "data before", "after", "change"}}
	for _, s := range shown {
		sign := map[int]string{-1: "-", 1: "+"}[cmp.Compare(s.After.Bytes, s.Before.Bytes)]
		rows = append(rows, []string{
			string(s.Shard), strconv.FormatInt(s.Before.Chunks, 10), strconv.FormatInt(s.After.Chunks, 10),
			humanize.Bytes(s.Before.Bytes), humanize.Bytes(s.After.Bytes),
			sign + humanize.Bytes(max(s.After.Bytes-s.Before.Bytes,
				s.Before.Bytes-s.After.Bytes)),
		})
	}
	p.writeHeading("Shards")
	p.writeGrid(rows, 1, 2, 3, 4, 5)
	p.writeMore(len(list) - len(shown))
}

func changeSize(s plan.ShardChange) int64 {
	d := s.After.Bytes - s.Before.Bytes
	if d == 0 {
		d = s.After.Chunks - s.Before.Chunks
	}
	return max(d, -d)
}

// writeSteps writes each step, with its reason if requested. Unless all steps are requested, similar
// steps share a line (isSameStepGroup), with the reason of the first one.
func (p *page) writeSteps(list []plan.Step, detail PlanDetail) {
	var lines [][]plan.Step
	for _, s := range list {
		if last := len(lines) - 1; !detail.All && last >= 0 && isSameStepGroup(lines[last][0], s) {
			lines[last] = append(lines[last], s)
		} else {
			lines = append(lines, []plan.Step{s})
		}
	}
	left := 0
	if !detail.All {
		for len(lines) > maxSteps {
			last := len(lines) - 1
			left, lines = left+len(lines[last]), lines[:last]
		}
	}
	rows := [][]string{{"step", "round", "what", "collection", "shard", "data", "reason", "range"}}
	for _, l := range lines {
		rows = append(rows, stepRow(l))
	}
	right := []int{0, 1, 5}
	if !detail.All { // few users need the round, and the line should fit
		for i := range rows {
			rows[i] = slices.Delete(rows[i], 1, 2)
		}
		right = []int{0, 4}
	}
	p.writeHeading("Steps")
	for i, line := range alignColumns(rows, right...) {
		p.writeLine(2, line)
		if i > 0 && detail.Why {
			p.writeStepReasons(lines[i-1])
		}
	}
	p.writeMore(left)
}

// writeStepReasons writes the different reasons of the steps of a line, up to maxReasons.
func (p *page) writeStepReasons(steps []plan.Step) {
	var reasons []string
	seen := map[string]bool{}
	for _, s := range steps {
		if !seen[s.Why] {
			seen[s.Why] = true
			reasons = append(reasons, s.Why)
		}
	}
	shown := reasons[:min(len(reasons), maxReasons)]
	for _, why := range shown {
		p.writeWrapped(indent, why)
	}
	if more := len(reasons) - len(shown); more > 0 {
		p.writeWrapped(indent, moreText(more))
	}
}

// isSameStepGroup reports whether two steps are both splits or merges of a collection on a shard, or
// both move chunks of the sessions collection; such steps are shown together.
func isSameStepGroup(a, b plan.Step) bool {
	if a.Kind != b.Kind || a.Namespace != b.Namespace {
		return false
	}
	return a.Namespace == policy.SessionsNamespace || a.Kind != plan.Move && a.From == b.From
}

func stepRow(steps []plan.Step) []string {
	first, last := steps[0], steps[len(steps)-1]
	number, round, shard, data := strconv.Itoa(first.Number), strconv.Itoa(first.Round), string(first.From), ""
	where := rangeText(first)
	if n := len(steps); n > 1 {
		number += fmt.Sprintf("-%d", last.Number)
		if first.Round != last.Round {
			round += fmt.Sprintf("-%d", last.Round)
		}
		shard, where = "", humanize.Count(n, string(first.Kind))
	}
	var bytes int64
	for _, s := range steps {
		bytes += s.Bytes
	}
	switch {
	case first.Kind == plan.Move && len(steps) == 1:
		shard, data = shard+" to "+string(first.To), humanize.Bytes(bytes)
	case first.Kind == plan.Move:
		data = humanize.Bytes(bytes)
	case first.From == last.From:
		shard = string(first.From)
	}
	return []string{number, round, string(first.Kind), first.Namespace, shard, data, string(first.Reason), where}
}

// rangeText names the range of a step. If the donor chooses the bounds, it names the chunk that
// contains the range.
func rangeText(s plan.Step) string {
	if s.KnownRange != nil {
		return "part of " + s.KnownRange.Min.String() + " to " + s.KnownRange.Max.String()
	}
	return s.Min.String() + " to " + s.Max.String()
}

// writeMore writes how many rows are not shown.
func (p *page) writeMore(n int) {
	if n > 0 {
		p.writeLine(2, moreText(n))
	}
}

func moreText(n int) string {
	return fmt.Sprintf("… %s more: --all, or text(true) at the prompt", humanize.Number(n))
}

func (p *page) writeGrid(rows [][]string, right ...int) {
	for _, line := range alignColumns(rows, right...) {
		p.writeLine(2, line)
	}
}

// alignColumns returns rows as lines with aligned columns; the columns in right are right-aligned.
func alignColumns(rows [][]string, right ...int) []string {
	var widths []int
	for _, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			row[i] = plaintext.EscapeLine(cell)
			widths[i] = max(widths[i], twwidth.Width(row[i]))
		}
	}
	lines := make([]string, len(rows))
	for n, row := range rows {
		var b strings.Builder
		for i, cell := range row {
			gap := strings.Repeat(" ", widths[i]-twwidth.Width(cell))
			if i > 0 {
				b.WriteString("  ")
			}
			if slices.Contains(right, i) {
				b.WriteString(gap + cell)
			} else {
				b.WriteString(cell + gap)
			}
		}
		lines[n] = strings.TrimRight(b.String(), " ")
	}
	return lines
}
