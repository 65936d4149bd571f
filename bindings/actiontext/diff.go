package actiontext

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/action"
	"shardsh/balancer/diff"
	"shardsh/balancer/humanize"
	"shardsh/bindings/plaintext"
)

// The maximum number of lines in a group of changes and in the table of data; --long shows all.
const (
	maxChangesPerGroup = 5
	maxDataLines       = 6
)

// Diff returns the changes as text: one screen, or everything if long.
func Diff(r action.DiffResult, long bool) string {
	d := diffText{long: long}
	d.writeLine("From %s", snapshotRefText(r.Old))
	d.writeLine("to   %s: %s", snapshotRefText(r.New), diffHeadline(r.Result))
	if r.New.Time.Before(r.Old.Time) {
		d.writeLine("The second snapshot is older: additions are shown as removals.")
	}
	for _, group := range diff.Groups() {
		d.writeGroup(group, r.Changes)
	}
	if len(r.Runs) > 0 {
		d.writeLine("\nBy the audit")
		for line := range strings.Lines(History(action.AuditLogResult{Records: r.Runs})) {
			d.writeLine("  %s", strings.TrimRight(line, "\n"))
		}
	}
	d.writeData(r.Result)
	for _, text := range r.NotCompared {
		d.writeLine("Not compared: %s.", text)
	}
	if r.LogsSince.After(r.Old.Time) && !r.Empty() {
		d.writeLine("Times and clients come from the logs, which begin at %s.", humanize.Time(r.LogsSince.UTC()))
	}
	return d.text.String()
}

func snapshotRefText(m diff.SnapshotRef) string {
	text := humanize.Time(m.Time.UTC())
	if name, _, _ := strings.Cut(m.Name, "?"); name != "" {
		text = name + ", " + text
	}
	return plaintext.EscapeLine(text)
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

// diffText is the text being written.
type diffText struct {
	text strings.Builder
	long bool
}

func (d *diffText) writeLine(format string, args ...any) { fmt.Fprintf(&d.text, format+"\n", args...) }

func (d *diffText) writeGroup(group diff.Group, changes []diff.Change) {
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
	d.writeLine("\n%s", group)
	for i, c := range list {
		if !d.long && i == maxChangesPerGroup && len(list) > maxChangesPerGroup+1 {
			d.writeLine("  and %d more (--long shows all)", len(list)-i)
			return
		}
		d.writeLine("  %s", plaintext.EscapeLine(c.Text+loggedText(c.Logged)))
		if d.long && len(c.Examples) > 0 {
			d.writeLine("      such as those from %s", plaintext.EscapeLine(strings.Join(c.Examples, ", ")))
		}
	}
}

// loggedText returns text such as " (2026-03-02 12:04 UTC, by 10.0.0.7)".
func loggedText(l *diff.LogSummary) string {
	if l == nil {
		return ""
	}
	text := humanize.Time(l.Last.UTC())
	if l.Last.Sub(l.First) >= time.Minute {
		text = humanize.Time(l.First.UTC()) + " to " + text
	}
	if len(l.Clients) > 0 {
		text += ", by " + humanize.AbbreviateCollections(l.Clients)
	}
	return " (" + text + ")"
}

func (d *diffText) writeData(r diff.Result) {
	if len(r.Data) == 0 && len(r.MostChanged) == 0 {
		return
	}
	d.writeLine("\nData")
	for i, s := range r.Data {
		if !d.checkRoom(i, len(r.Data), "shard") {
			break
		}
		d.writeAmounts(string(s.Shard), s.Old, s.New)
	}
	seen := slices.DeleteFunc(slices.Clone(r.MostChanged), func(c diff.CollectionData) bool {
		return c.Old.Documents == c.New.Documents && c.Old.Orphans == c.New.Orphans &&
			humanize.Bytes(c.Old.Bytes) == humanize.Bytes(c.New.Bytes)
	})
	for i, c := range seen {
		if !d.checkRoom(i, len(seen), "collection") {
			break
		}
		d.writeAmounts(c.Namespace, c.Old, c.New)
	}
}

// checkRoom reports whether another line fits. If not, it writes how many lines are left out.
func (d *diffText) checkRoom(i, of int, what string) bool {
	if d.long || i < maxDataLines {
		return true
	}
	d.writeLine("  and %s more (--long shows all)", humanize.Count(of-i, what))
	return false
}

func (d *diffText) writeAmounts(name string, before, after diff.Amount) {
	text := fmt.Sprintf("%s, was %s", humanize.Bytes(after.Bytes), humanize.Bytes(before.Bytes))
	for _, n := range []struct {
		change int64
		noun   string
	}{{after.Documents - before.Documents, "document"}, {after.Orphans - before.Orphans, "orphan"}} {
		switch {
		case n.change > 0:
			text += ", " + humanize.Count(n.change, n.noun) + " more"
		case n.change < 0:
			text += ", " + humanize.Count(-n.change, n.noun) + " fewer"
		}
	}
	d.writeLine("  %-24s %s", plaintext.EscapeLine(name), text)
}
