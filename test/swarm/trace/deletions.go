package trace

import (
	"fmt"
	"maps"
	"slices"
)

// CheckDeletions checks M8, and that no range deletion is lost. A donor does not delete a range while a
// cursor is open that began to read the range before it was donated. When a config server ceases to be a
// shard, it stays in the cluster and drops its range deletions; then none of them may be unready.
func CheckDeletions(t Trace) []Violation {
	d := &deletions{cursors: map[int]Event{}, unready: map[string]Event{}}
	for _, e := range t {
		d.apply(e)
	}
	return d.found
}

type deletions struct {
	cursors   map[int]Event // open cursors by Op
	committed []Event       // committed migrations
	unready   map[string]Event
	found     []Violation
}

func (d *deletions) apply(e Event) {
	key := fmt.Sprint(e.Node, e.NS, boundText(e.Min), boundText(e.Max))
	switch e.Kind {
	case CursorOpen:
		d.cursors[e.Op] = e
	case CursorEnd:
		delete(d.cursors, e.Op)
	case MigrationCommitted:
		d.committed = append(d.committed, e)
	case RangeRegistered:
		d.unready[key] = e
	case RangeReady:
		delete(d.unready, key)
	case RangeDone:
		delete(d.unready, key)
		d.checkDone(e)
	case Catalog:
		if e.Entry != nil && e.Entry.Collection == "shards" && e.Entry.Removed && e.Entry.ID == "config" {
			d.checkDropped(e)
		}
	}
}

// checkDone reports open cursors that read a deleted range.
func (d *deletions) checkDone(e Event) {
	min, max := e.Range()
	for _, op := range slices.Sorted(maps.Keys(d.cursors)) {
		cursor := d.cursors[op]
		owned := slices.ContainsFunc(d.committed, func(g Event) bool {
			a, b := g.Range()
			return g.Seq > cursor.Seq && g.NS == e.NS && g.From == e.Node && a < max && min < b
		})
		if owned && cursor.NS == e.NS && slices.Contains(cursor.Names, e.Node) {
			d.found = append(d.found, Violation{
				"M8", fmt.Sprintf("%s deletes [%s, %s) of %s, which an open cursor reads", e.Node, min, max, e.NS),
				[]int{cursor.Seq, e.Seq},
			})
		}
	}
}

// checkDropped reports unready range deletions that the config server drops.
func (d *deletions) checkDropped(e Event) {
	for _, key := range slices.Sorted(maps.Keys(d.unready)) {
		if task := d.unready[key]; task.Node == e.Entry.ID {
			d.found = append(d.found, Violation{
				"range deletions", fmt.Sprintf("%s drops the deletion of a range of %s that is not ready", task.Node, task.NS),
				[]int{task.Seq, e.Seq},
			})
			delete(d.unready, key)
		}
	}
}
