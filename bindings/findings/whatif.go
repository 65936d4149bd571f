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

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
	"shardsh/balancer/whatif"
	"shardsh/bindings/plaintext"
)

// The layout of alternatives: at most maxColumns besides the unchanged cluster, in lines of Width.
// Names that are longer than labelWidth use the free width of the columns.
const (
	maxColumns  = 3
	labelWidth  = 20
	columnWidth = (Width - labelWidth) / (maxColumns + 1)
)

// WhatIfText returns the outcomes of alternatives as text, side by side. Unless all are requested, it
// shows the shards and links that change most.
func WhatIfText(o whatif.Outcomes, all bool) string {
	var out page
	letters := map[int]string{0: whatif.Unchanged}
	out.writeWrapped(0,
		sentence(fmt.Sprintf("What the balancer does until nothing is left to move, on the cluster as of %s",
			o.At.Format("2006-01-02 15:04 MST"))))
	for i, a := range o.Alternatives {
		if i > 0 {
			letters[i] = letter(i)
			text := strings.Join(a.Changes, "; ")
			if a.Name != text {
				text = a.Name + ": " + text
			}
			for n, line := range wrapText(text, Width-5) {
				head := ""
				if n == 0 {
					head = letters[i]
				}
				out.writeLine(2, fmt.Sprintf("%-3s%s", head, line))
			}
		}
	}
	for from := 1; from < max(2, len(o.Alternatives)); from += maxColumns {
		shown := []int{0}
		for i := from; i < min(from+maxColumns, len(o.Alternatives)); i++ {
			shown = append(shown, i)
		}
		s := comparisonTable{&out, o, shown, all, labelColumnWidth(o, len(shown))}
		s.writeTable(letters)
	}
	out.writeRemains(o, letters)
	return out.String()
}

// letter returns the label of an alternative: A, B, …, Z, then a number.
func letter(i int) string {
	if i > 26 {
		return strconv.Itoa(i)
	}
	return string(rune('A' + i - 1))
}

// writeRemains writes the remaining findings of each alternative; equal findings are written once.
func (p *page) writeRemains(o whatif.Outcomes, letters map[int]string) {
	for i, a := range o.Alternatives {
		left := remainingFindings(a)
		if len(left) == 0 {
			continue
		}
		what := "Left"
		if a.Forecast.Never {
			what = "Blocked"
		}
		p.writeHeading(what + ": " + letters[i])
		before := slices.IndexFunc(o.Alternatives[:i], func(b whatif.Outcome) bool {
			return b.Forecast.Never == a.Forecast.Never && slices.EqualFunc(remainingFindings(b), left, sameSentence)
		})
		if before >= 0 {
			p.writeLine(2, strings.Replace("the same as of "+letters[before], "of "+whatif.Unchanged, "without changes", 1))
			continue
		}
		for _, g := range diagnosis.GroupFindings(left) {
			p.writeWrapped(2, groupText(g))
		}
	}
}

func sameSentence(a, b diagnosis.Finding) bool { return a.Code == b.Code && a.Sentence == b.Sentence }

// remainingFindings returns the findings at the end of an alternative.
func remainingFindings(a whatif.Outcome) []diagnosis.Finding {
	list := a.Plan.Left
	if a.Forecast.Never {
		for _, f := range a.Forecast.BlockedBy {
			if !slices.ContainsFunc(list, func(o diagnosis.Finding) bool { return o.Code == f.Code && o.Scope == f.Scope }) {
				list = append(slices.Clip(list), f)
			}
		}
	}
	return list
}

// comparisonTable is a table of some alternatives.
type comparisonTable struct {
	*page
	o          whatif.Outcomes
	shown      []int
	all        bool
	labelWidth int
}

// labelColumnWidth returns the width of the labels for a number of columns: names of links and shards
// are not truncated if there is room.
func labelColumnWidth(o whatif.Outcomes, columns int) int {
	width := labelWidth
	for _, a := range o.Alternatives {
		for _, link := range a.Flows {
			width = max(width, twwidth.Width("  "+string(link.From)+" to "+string(link.To))+2)
		}
		for _, shard := range a.Plan.Shards {
			width = max(width, twwidth.Width("  "+string(shard.Shard))+2)
		}
	}
	return min(width, Width-columns*columnWidth)
}

// writeRow writes a line: a label, and a text for each alternative.
func (c comparisonTable) writeRow(label string, cell func(a whatif.Outcome) string) {
	c.writeCells(label, func(i int) string { return cell(c.o.Alternatives[i]) })
}

// writeCells writes a line: a label, and a text for the index of each alternative.
func (c comparisonTable) writeCells(label string, cell func(i int) string) {
	text := pad(label, c.labelWidth)
	for _, i := range c.shown {
		text += pad(cell(i), columnWidth)
	}
	c.writeLine(0, strings.TrimRight(text, " "))
}

// pad pads a text to the width of its column, with a space after it.
func pad(text string, width int) string {
	text = plaintext.EscapeLine(text)
	if twwidth.Width(text) >= width {
		text = plaintext.Truncate(text, width-2) + "…"
	}
	return text + strings.Repeat(" ", max(0, width-twwidth.Width(text)))
}

func (c comparisonTable) writeTable(letters map[int]string) {
	c.WriteString("\n")
	text := pad("", c.labelWidth)
	for _, i := range c.shown {
		text += pad(letters[i], columnWidth)
	}
	c.writeLine(0, strings.TrimRight(text, " "))
	c.writeRow("balancer", func(a whatif.Outcome) string {
		if a.Plan.Load != nil {
			return "not involved"
		}
		if a.Mode != catalog.ModeFull {
			return "assumed on" // it is off, or only merges
		}
		return "on"
	})
	c.writeRow("moves", func(a whatif.Outcome) string { return humanize.Number(a.Plan.Totals.Moves) })
	if c.o.Alternatives[0].RunningMigrations > 0 {
		c.writeRow("  under way", func(a whatif.Outcome) string { return humanize.Number(a.RunningMigrations) })
	}
	c.writeRow("data to move", func(a whatif.Outcome) string { return humanize.Bytes(a.Plan.Totals.Bytes) })
	c.writeRow("splits, merges", func(a whatif.Outcome) string {
		return fmt.Sprintf("%s, %s", humanize.Number(a.Plan.Totals.Splits), humanize.Number(a.Plan.Totals.Merges))
	})
	c.writeTimes()
	c.writeRow("blocked", func(a whatif.Outcome) string {
		if a.Plan.ReachesGoal && !a.Forecast.Never {
			return "no"
		}
		return "yes"
	})
	c.writeEvenness()
	c.writeSpread()
	c.writeShards()
	c.writeLinks()
}

// writeTimes writes the duration and the end of each alternative.
func (c comparisonTable) writeTimes() {
	span := func(of func(whatif.Outcome) time.Duration) func(whatif.Outcome) string {
		return func(a whatif.Outcome) string {
			switch {
			case a.Forecast.Done, a.Plan.Totals.Moves+a.Plan.Totals.Merges+a.Plan.Totals.Splits == 0 && of(a) == 0:
				return "-"
			case of(a) <= 0:
				return "never"
			}
			return humanize.Duration(of(a))
		}
	}
	c.writeRow("time, likely", span(func(a whatif.Outcome) time.Duration { return a.Forecast.Likely }))
	c.writeRow("  at least", span(func(a whatif.Outcome) time.Duration { return a.Forecast.Low }))
	c.writeRow("  at most", span(func(a whatif.Outcome) time.Duration { return a.Forecast.High }))
	c.writeRow("  done by", func(a whatif.Outcome) string {
		if a.Forecast.High <= 0 {
			return "-"
		}
		return c.o.At.Add(a.Forecast.High).Format("01-02 15:04")
	})
}

// writeEvenness writes the resulting load balance, if known.
func (c comparisonTable) writeEvenness() {
	known := func(i int) bool { return c.o.Alternatives[i].Plan.Load != nil }
	if !slices.ContainsFunc(c.shown, known) {
		return
	}
	row := func(label string, of func(plan.LoadImbalance) float64) {
		c.writeRow(label, func(a whatif.Outcome) string {
			if a.Plan.Load == nil {
				return "-"
			}
			return fmt.Sprintf("%.2f of mean", of(*a.Plan.Load))
		})
	}
	row("hottest shard now", func(e plan.LoadImbalance) float64 { return e.Before })
	row("hottest shard then", func(e plan.LoadImbalance) float64 { return e.After })
}

// writeSpread writes the largest and the smallest final size of the shards.
func (c comparisonTable) writeSpread() {
	extreme := func(better func(a, b int64) bool) func(whatif.Outcome) string {
		return func(a whatif.Outcome) string {
			best := a.Plan.Shards[0]
			for _, shard := range a.Plan.Shards {
				if better(shard.After.Bytes, best.After.Bytes) {
					best = shard
				}
			}
			return humanize.Bytes(best.After.Bytes)
		}
	}
	c.writeRow("fullest shard", extreme(func(a, b int64) bool { return a > b }))
	c.writeRow("emptiest shard", extreme(func(a, b int64) bool { return a < b }))
}

// writeRows writes a row for each of the names, with a cell for each alternative.
func (c comparisonTable) writeRows(title string, most int, names []string, weight map[string]int64,
	cell func(i int, name string) string,
) {
	if len(names) == 0 {
		return
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(weight[b], weight[a]) })
	shown := names
	if !c.all {
		shown = names[:min(most, len(names))]
	}
	c.writeHeading(title)
	for _, name := range shown {
		c.writeCells("  "+name, func(i int) string { return cell(i, name) })
	}
	c.writeMore(len(names) - len(shown))
}

// writeShards writes the final size of each shard; the shards that change most come first.
func (c comparisonTable) writeShards() {
	held := map[int]map[string]plan.ShardChange{} // by alternative
	var names []string
	weight := map[string]int64{}
	for _, i := range c.shown {
		a := c.o.Alternatives[i]
		held[i] = map[string]plan.ShardChange{}
		for _, shard := range a.Plan.Shards {
			id := string(shard.Shard)
			if _, known := weight[id]; !known {
				names = append(names, id)
			}
			held[i][id] = shard
			weight[id] = max(weight[id], changeSize(shard))
		}
	}
	slices.Sort(names)
	c.writeRows("Data on shards in the end", maxShards, names, weight, func(i int, id string) string {
		shard, ok := held[i][id]
		if !ok {
			return "-"
		}
		return humanize.Bytes(shard.After.Bytes)
	})
}

// maxLinks is the maximum number of links that are shown unless all are requested.
const maxLinks = 10

// writeLinks writes how much moves between shards, the most first.
func (c comparisonTable) writeLinks() {
	bytes := map[int]map[string]int64{} // by alternative
	var names []string
	weight := map[string]int64{}
	for _, i := range c.shown {
		a := c.o.Alternatives[i]
		bytes[i] = map[string]int64{}
		for _, link := range a.Flows {
			name := string(link.From) + " to " + string(link.To)
			if _, known := weight[name]; !known {
				names = append(names, name)
			}
			bytes[i][name] = link.Bytes
			weight[name] = max(weight[name], link.Bytes)
		}
	}
	c.writeRows("Data over links", maxLinks, names, weight, func(i int, name string) string {
		n, ok := bytes[i][name]
		if !ok {
			return "-"
		}
		return humanize.Bytes(n)
	})
}
