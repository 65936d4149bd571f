package watch

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/report"
)

// Tab is a selection of the parts below the head of a frame.
type Tab int

// The tabs. All shows the first lines of each of the others.
const (
	All Tab = iota
	Shards
	Collections
	Findings
	Moves
	tabCount
)

var tabNames = [tabCount]string{"all", "shards", "collections", "findings", "moves"}

// part is a section of a frame.
type part struct {
	title string
	note  string // shown after the title
	rows  []line
}

// body returns the parts, laid out in height lines.
func (v View) body(width, height int) []line {
	if v.Tab != All || v.Help || v.OpenCollection != "" {
		return v.singlePart(width, height)
	}
	parts := []part{
		v.migrationsPart(width),
		v.shardsPart(width),
		v.collectionsPart(width, true),
		v.findingsPart(width),
		v.lastMovesPart(width),
	}
	shown := distributeRows(parts, height)
	var lines []line
	for i, p := range parts {
		if len(lines) >= height {
			break
		}
		lines = append(lines, p.head(len(p.rows)-shown[i]))
		lines = append(lines, p.rows[:shown[i]]...)
	}
	return lines
}

// head returns the title line of a part, with the number of hidden rows.
func (p part) head(hidden int) line {
	l := line{newSpan(p.title, cyan)}
	if p.note != "" {
		l = append(l, newSpan("  "+p.note, dim))
	}
	if hidden > 0 {
		l = append(l, newSpan(fmt.Sprintf("  … and %d more", hidden), dim))
	}
	return l
}

// distributeRows distributes the lines of a screen among parts, one at a time in turn: a part that
// needs few lines leaves the others more.
func distributeRows(parts []part, height int) []int {
	shown := make([]int, len(parts))
	left := height - len(parts)
	for given := true; given && left > 0; {
		given = false
		for i, p := range parts {
			if shown[i] < len(p.rows) && left > 0 {
				shown[i]++
				left--
				given = true
			}
		}
	}
	return shown
}

// singlePart returns the lines of a tab with one part, from the offset on.
func (v View) singlePart(width, height int) []line {
	p := v.currentPart(width)
	from := min(v.Offset, max(0, len(p.rows)-1))
	to := min(len(p.rows), from+max(1, height-1))
	if from > 0 {
		p.note = strings.TrimSpace(p.note + fmt.Sprintf("  from %d on", from+1))
	}
	return append([]line{p.head(len(p.rows) - to)}, p.rows[from:to]...)
}

func (v View) currentPart(width int) part {
	switch {
	case v.Help:
		return v.helpPart()
	case v.OpenCollection != "":
		return v.collectionPart(width)
	}
	switch v.Tab {
	case Shards:
		return v.shardsPart(width)
	case Collections:
		return v.collectionsPart(width, false)
	case Findings:
		return v.findingsPart(width)
	}
	return v.lastMovesPart(width)
}

// RowCount returns the number of rows that the tab can scroll through.
func (v View) RowCount(width int) int {
	if v.Tab == All && !v.Help && v.OpenCollection == "" {
		return 0
	}
	return len(v.currentPart(max(width, minWidth)).rows)
}

func (v View) migrationsPart(width int) part {
	h := v.Current.History
	p := part{title: "Moving now", note: "nothing"}
	if n := len(v.Current.UnderWay); n > 0 {
		p.note = fmt.Sprint(n)
	}
	p.note += fmt.Sprintf("; last 10 min: %s/s, %s, %d failed", humanize.Bytes(h.Recent.Rate()),
		humanize.Count(int64(h.Recent.Moves), "move"), h.Recent.Failed)
	for _, u := range v.Current.UnderWay {
		p.rows = append(p.rows, v.migrationLine(u, width))
	}
	return p
}

func (v View) migrationLine(u report.RunningOperation, width int) line {
	what := fmt.Sprintf("%s → %s", u.From, u.To)
	if u.Kind != "moveChunk" {
		what = strings.TrimSpace(u.Kind + " " + u.State)
	}
	var since, left string
	if !u.Since.IsZero() {
		since = humanize.Duration(v.Current.Time.Sub(u.Since))
	}
	if u.Remaining > 0 {
		left = "about " + humanize.Duration(u.Remaining) + " to go"
	} else if u.Total > 0 {
		left = fmt.Sprintf("%s of %s", humanize.Bytes(u.Copied), humanize.Bytes(u.Total))
	}
	name := width * 3 / 10
	return line{cell("  "+u.Namespace, name, bold), cell(" "+what, width/4, plain), rightCell(since, 8, plain),
		newSpan("  "+left, dim), newSpan("  "+u.Min, dim)}
}

// shardsPart returns the part with the shards, in two columns if the screen is wide enough.
func (v View) shardsPart(width int) part {
	s := report.ByteSpreadOf(v.Current.Shards)
	p := part{title: "Shards", note: fmt.Sprintf("min %s, mean %s, max %s", humanize.Bytes(s.Least),
		humanize.Bytes(s.Mean), humanize.Bytes(s.Most))}
	list := v.chosenShards()
	columns := max(1, min(width/90, (len(list)+7)/8))
	each := (width - 3*(columns-1)) / columns
	height := (len(list) + columns - 1) / columns
	for row := range height {
		var l line
		for column := range columns {
			// Fill the rows across, so that the worst shards are in the first rows.
			if i := row*columns + column; i < len(list) {
				if column > 0 {
					l = append(l, span{width: 3})
				}
				l = append(l, v.shardLine(list[i], each)...)
			}
		}
		p.rows = append(p.rows, l)
	}
	return p
}

func (v View) shardLine(s report.Shard, width int) line {
	const size, rate, chunks = 11, 14, 13
	name := min(max(10, width/5), 24)
	state, look := shardState(s)
	bars := max(4, width-name-size-rate-chunks-v.stateWidth())
	count := humanize.Count(s.Chunks, "chunk")
	full, fullness := 0, ""
	if v.hasDisks() {
		full = 11
		if bars = max(4, bars-full); s.Disk != nil {
			fullness = humanize.Percent(s.Disk.Share) + " full"
		}
	}
	load := 0
	if len(v.Current.Operations) > 0 {
		load = 16
		bars = max(4, bars-load)
	}
	return line{
		cell("  "+string(s.ID), name, bold), bar(s.Bytes, v.maxBytes(), bars, look),
		rightCell(humanize.Bytes(s.Bytes), size, plain), rightCell(v.rateText(s), rate, dim), rightCell(count, chunks, dim),
		rightCell(fullness, full, diskStyle(s)), rightCell(v.operationsText(s), load, plain),
		cell(state, max(0, width-name-bars-size-rate-chunks-full-load), look),
	}
}

// operationsText returns the operations of a shard in a second, if they were counted.
func (v View) operationsText(s report.Shard) string {
	if len(v.Current.Operations) == 0 {
		return ""
	}
	return humanize.Number(int64(math.Round(v.Current.Operations[s.ID].Total()))) + " ops/s"
}

// shardState returns the state of a shard in a few words, and its style.
func shardState(s report.Shard) (state string, look style) {
	look = green
	switch {
	case s.Unreachable != "":
		state, look = " "+s.Unreachable, red
	case s.Draining:
		state, look = " draining", yellow
	}
	if s.Orphans > 0 {
		state += fmt.Sprintf(" %s to delete", humanize.Count(s.Orphans, "orphan"))
	}
	return state, look
}

// stateWidth returns the width of the state column. It is the same for all shards, so that their bars
// can be compared.
func (v View) stateWidth() (width int) {
	const most = 12
	for _, s := range v.Current.Shards {
		state, _ := shardState(s)
		width = max(width, min(len(state), most))
	}
	return width
}

// nearlyFull is the used share of a volume from which it is marked.
const nearlyFull = 0.9

func diskStyle(s report.Shard) style {
	if s.Disk != nil && s.Disk.Share >= nearlyFull {
		return red
	}
	return dim
}

// hasDisks reports whether the volume of any shard is known.
func (v View) hasDisks() bool {
	return slices.ContainsFunc(v.Current.Shards, func(s report.Shard) bool { return s.Disk != nil })
}

func (v View) maxBytes() (most int64) {
	for _, s := range v.Current.Shards {
		most = max(most, s.Bytes)
	}
	return most
}

// rateText returns the rate at which a shard grows or shrinks; empty if it does not.
func (v View) rateText(now report.Shard) string {
	if v.Earlier == nil || !v.Current.Time.After(v.Earlier.Time) {
		return ""
	}
	for _, before := range v.Earlier.Shards {
		if before.ID != now.ID || before.Bytes == now.Bytes {
			continue
		}
		perSecond := float64(now.Bytes-before.Bytes) / v.Current.Time.Sub(v.Earlier.Time).Seconds()
		if perSecond < 0 {
			return "-" + humanize.Bytes(int64(-perSecond)) + "/s"
		}
		return "+" + humanize.Bytes(int64(perSecond)) + "/s"
	}
	return ""
}

// collectionsPart returns the part with all collections or, if bad, only those with problems.
func (v View) collectionsPart(width int, bad bool) part {
	p := part{title: "Collections"}
	hidden := map[report.CollectionStatus]int{}
	for _, c := range v.chosenCollections() {
		if bad && (c.State == report.Balanced || c.State == report.Unsharded) && c.Jumbo == 0 {
			hidden[c.State]++
			continue
		}
		p.rows = append(p.rows, collectionLine(c, width))
	}
	var notes []string
	if n := hidden[report.Balanced]; n > 0 {
		notes = append(notes, fmt.Sprintf("%d balanced", n))
	}
	if n := hidden[report.Unsharded]; n > 0 {
		notes = append(notes, fmt.Sprintf("%d not sharded", n))
	}
	p.note = strings.Join(notes, ", ")
	return p
}

func collectionLine(c report.Collection, width int) line {
	look := map[report.CollectionStatus]style{
		report.NotBalanced: red, report.Unknown: yellow, report.BalancingDisabled: yellow, report.Defragmenting: cyan,
	}[c.State]
	var notes []string
	if c.MisplacedBytes > 0 {
		notes = append(notes, humanize.Bytes(c.MisplacedBytes)+" to move")
	}
	if c.Jumbo > 0 {
		notes = append(notes, humanize.Count(c.Jumbo, "jumbo chunk"))
	}
	if c.Why != "" {
		notes = append(notes, c.Why)
	}
	size := "?"
	if c.SizesKnown {
		size = humanize.Bytes(c.Bytes)
	}
	return line{cell("  "+c.Namespace, width*3/10, bold), rightCell(size, 11, plain),
		rightCell(humanize.Count(c.Chunks, "chunk"), 15, dim), newSpan("  "+c.State.Words(), cmp.Or(look, green)),
		newSpan("  "+strings.Join(notes, ", "), dim)}
}

// findingsPart returns the part with the problems and their causes, followed by notes.
func (v View) findingsPart(width int) part {
	p := part{title: "Findings"}
	for _, f := range v.sortedFindings() {
		if !v.matchesFilter(f.Sentence, f.Severity.String(), string(f.Code)) {
			continue
		}
		l := findingLine(f)
		if v.Tab == All && width >= 120 {
			l = append(l, newSpan("  "+remedyText(f), dim))
		}
		p.rows = append(p.rows, l)
		if v.Tab == Findings {
			p.rows = append(p.rows, line{newSpan(strings.Repeat(" ", 11)+remedyText(f), dim)})
		}
	}
	if len(p.rows) == 0 {
		p.note = "none"
	}
	return p
}

// sortedFindings returns the findings without duplicates, those that need the operator first.
func (v View) sortedFindings() []diagnosis.Finding {
	s := v.Current.Answer.Summary()
	if len(s.ToDo)+len(s.ThenByItself)+len(s.ByItself) == 0 && len(v.Current.Answer.Symptoms) > 0 {
		s.ByItself = []diagnosis.Group{v.Current.Answer.Symptoms}
	}
	return slices.Concat(slices.Concat(s.ToDo, s.ThenByItself, s.ByItself, s.Notes)...)
}

// findingLine returns one line for a finding, with the actor and the remedy.
func findingLine(f diagnosis.Finding) line {
	return line{cell("  "+f.Severity.String(), 11, severityStyles[f.Severity.String()]), newSpan(f.Sentence, plain)}
}

func remedyText(f diagnosis.Finding) string {
	do := diagnosis.DefinitionOf(f.Code).Remedy
	if len(f.Commands) > 0 {
		do = strings.Join(f.Commands, ", ")
	}
	return f.Actor.String() + ": " + do
}

// lastMovesPart returns the part with the newest events.
func (v View) lastMovesPart(width int) part {
	h := v.Current.History
	p := part{title: "Last moves"}
	p.note = fmt.Sprintf("last 24h: %d, %s, %d failed", h.Moves, humanize.Bytes(h.Bytes), h.Failed)
	for _, e := range h.Events {
		if !v.matchesFilter(e.Namespace, string(e.From), string(e.To), e.What, e.Error) {
			continue
		}
		p.rows = append(p.rows, eventLine(e, width))
	}
	return p
}

func eventLine(e report.Event, width int) line {
	l := line{cell("  "+e.Time.UTC().Format("15:04:05"), 12, dim)}
	switch e.Kind {
	case report.Moved, report.MoveFailed:
		l = append(l, cell(e.Namespace, width*3/10, plain), cell(fmt.Sprintf(" %s → %s", e.From, e.To), width/5, plain))
	default:
		l = append(l, cell(strings.TrimSpace(e.What+" "+e.Namespace), width/2, plain))
	}
	if e.Error != "" {
		return append(l, newSpan(" "+e.Error, red))
	}
	if e.Kind == report.Moved {
		took := e.Took.Round(100 * time.Millisecond)
		l = append(l, newSpan(fmt.Sprintf("  %s in %s", humanize.Bytes(e.Bytes), humanize.Duration(took)), green))
	}
	return l
}
