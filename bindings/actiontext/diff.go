package actiontext

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/diff"
	"shardsh/balancer/humanize"
)

// How many lines a group of changes and the table of data have; --long has all.
const (
	maxChanges = 5
	maxData    = 6
)

// Diff returns what has changed as text: a screen, or if long everything.
func Diff(r action.DiffResult, long bool) string {
	d := diffText{long: long}
	d.line("From %s", moment(r.Old))
	d.line("to   %s: %s", moment(r.New), diffHeadline(r.Result))
	if r.New.Time.Before(r.Old.Time) {
		d.line("The second snapshot is older: additions are shown as removals.")
	}
	for _, group := range diff.Groups() {
		d.group(group, r.Changes)
	}
	if len(r.Runs) > 0 {
		d.line("\nBy the audit")
		for line := range strings.Lines(History(action.HistoryResult{Records: r.Runs})) {
			d.line("  %s", strings.TrimRight(line, "\n"))
		}
	}
	d.data(r.Result)
	for _, text := range r.NotCompared {
		d.line("Not compared: %s.", text)
	}
	if r.LogsSince.After(r.Old.Time) && !r.Empty() {
		d.line("Times and clients come from the logs, which begin at %s.", humanize.Time(r.LogsSince.UTC()))
	}
	return d.text.String()
}

func moment(m diff.Moment) string {
	text := humanize.Time(m.Time.UTC())
	if name, _, _ := strings.Cut(m.Name, "?"); name != "" {
		text = name + ", " + text
	}
	return visible(text)
}

// diffHeadline counts the changes.
func diffHeadline(r diff.Result) string {
	if r.Empty() {
		return "nothing has changed"
	}
	counts := map[diff.Kind]int{}
	for _, c := range r.Changes {
		counts[c.Kind]++
	}
	return fmt.Sprintf("%s of %s", humanize.Count(len(r.Changes), "change"), humanize.Count(len(counts), "kind"))
}

// diffText is a text that is written.
type diffText struct {
	text strings.Builder
	long bool
}

func (d *diffText) line(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

func (d *diffText) group(group diff.Group, changes []diff.Change) {
	groups := map[diff.Kind]diff.Group{}
	for _, k := range diff.Kinds() {
		groups[k.Kind] = k.Group
	}
	var list []diff.Change
	for _, c := range changes {
		if groups[c.Kind] == group {
			list = append(list, c)
		}
	}
	if len(list) == 0 {
		return
	}
	d.line("\n%s", group)
	for i, c := range list {
		if !d.long && i == maxChanges && len(list) > maxChanges+1 {
			d.line("  and %d more (--long has all)", len(list)-i)
			return
		}
		d.line("  %s", visible(c.Text+loggedText(c.Logged)))
		if d.long && len(c.Examples) > 0 {
			d.line("      such as those from %s", visible(strings.Join(c.Examples, ", ")))
		}
	}
}

// loggedText is " (2026-03-02 12:04 UTC, by 10.0.0.7)".
func loggedText(l *diff.Logged) string {
	if l == nil {
		return ""
	}
	text := humanize.Time(l.Last.UTC())
	if l.Last.Sub(l.First) >= time.Minute {
		text = humanize.Time(l.First.UTC()) + " to " + text
	}
	if len(l.Clients) > 0 {
		text += ", by " + humanize.FewOf(l.Clients)
	}
	return " (" + text + ")"
}

func (d *diffText) data(r diff.Result) {
	if len(r.Data) == 0 && len(r.Largest) == 0 {
		return
	}
	d.line("\nData")
	for i, s := range r.Data {
		if !d.more(i, len(r.Data), "shard") {
			break
		}
		d.amounts(string(s.Shard), s.Old, s.New)
	}
	seen := slices.DeleteFunc(slices.Clone(r.Largest), func(c diff.CollectionData) bool {
		return c.Old.Documents == c.New.Documents && c.Old.Orphans == c.New.Orphans &&
			humanize.Bytes(c.Old.Bytes) == humanize.Bytes(c.New.Bytes)
	})
	for i, c := range seen {
		if !d.more(i, len(seen), "collection") {
			break
		}
		d.amounts(c.Namespace, c.Old, c.New)
	}
}

// more reports whether another line is to be written, and says how many are not.
func (d *diffText) more(i, of int, what string) bool {
	if d.long || i < maxData {
		return true
	}
	d.line("  and %s more (--long has all)", humanize.Count(of-i, what))
	return false
}

func (d *diffText) amounts(name string, was, is diff.Amount) {
	text := fmt.Sprintf("%s, was %s", humanize.Bytes(is.Bytes), humanize.Bytes(was.Bytes))
	for _, n := range []struct {
		change int64
		noun   string
	}{{is.Documents - was.Documents, "document"}, {is.Orphans - was.Orphans, "orphan"}} {
		switch {
		case n.change > 0:
			text += ", " + humanize.Count(n.change, n.noun) + " more"
		case n.change < 0:
			text += ", " + humanize.Count(-n.change, n.noun) + " fewer"
		}
	}
	d.line("  %-24s %s", visible(name), text)
}
