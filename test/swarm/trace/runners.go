package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// changeCommands are the commands with which a runner changes a cluster.
var changeCommands = map[string]bool{
	"moveChunk": true, "moveRange": true, "split": true, "mergeChunks": true, "mergeAllChunksOnShard": true,
	"configureCollectionBalancing": true, "clearJumboFlag": true, "movePrimary": true, "moveCollection": true,
}

// IsChange reports whether a runner uses the command to change a cluster.
func IsChange(command string) bool { return changeCommands[command] }

var moveCommands = map[string]bool{"moveChunk": true, "moveRange": true}

// IsMove reports whether a command moves a chunk.
func IsMove(command string) bool { return moveCommands[command] }

// isRunner reports whether a process is a run of the program.
func isRunner(name string) bool {
	return strings.HasPrefix(name, "r") || strings.HasPrefix(name, "giveback")
}

// CheckOneRunner checks that only the run that holds the lease changes the cluster, that no two runs
// move chunks of one collection at the same time, and that a run moves no more chunks than its limit.
func CheckOneRunner(t Trace) (found []Violation) {
	holder := ""
	open := map[int]Event{}
	limits, done := map[string]int{}, map[string]int{}
	dead := map[string]bool{}
	for _, e := range t {
		switch e.Kind {
		case Lease:
			holder = e.By
		case ProcessBegin:
			limits[e.By] = e.MaxMoves
		case Kill:
			dead[e.By] = true
		case CmdBegin:
			if !isRunner(e.By) || !changeCommands[e.Cmd] {
				continue
			}
			if e.By != holder {
				found = append(found, Violation{
					"lease", fmt.Sprintf("%s sends %s, and %q has the lease", e.By, e.Cmd, holder),
					[]int{e.Seq},
				})
			}
			for _, o := range open {
				if o.By != e.By && o.NS == e.NS && moveCommands[o.Cmd] && moveCommands[e.Cmd] && !dead[o.By] && !dead[e.By] {
					found = append(found, Violation{
						"one runner", fmt.Sprintf("%s and %s move chunks of %s at once", o.By, e.By, e.NS),
						[]int{o.Seq, e.Seq},
					})
				}
			}
			open[e.Op] = e
		case CmdEnd:
			begin, known := open[e.Op]
			delete(open, e.Op)
			if !known || e.Code != 0 || e.ReplyLost || !moveCommands[begin.Cmd] {
				continue
			}
			done[e.By]++
			if most := limits[e.By]; most > 0 && done[e.By] > most {
				found = append(found, Violation{
					"limit", fmt.Sprintf("%s has moved %d chunks and may move %d", e.By, done[e.By], most),
					[]int{e.Seq},
				})
			}
		}
	}
	return found
}

// CheckSwitchedOff checks that a collection whose balancing was switched off by a run is listed in the
// lease as long as it is off, and that no collection is off after the end of all runs. Collections are
// identified by UUID, because they may be renamed, or by name, because resharding changes the UUID.
func CheckSwitchedOff(t Trace) []Violation {
	s := &switchedOffChecker{uuids: map[string]string{}, off: map[string]Event{}, switchedByAdmin: map[string]bool{}}
	for _, e := range t {
		s.apply(e)
	}
	return s.found
}

type switchedOffChecker struct {
	uuids           map[string]string // UUIDs by name; the name if the trace has no UUID
	listed          []listedCollection
	off             map[string]Event // by name
	switchedByAdmin map[string]bool  // names and UUIDs of collections that an administrator has switched
	givenBack       bool
	found           []Violation
}

// listedCollection is a collection in the lease, with the UUID that its name had at that time.
type listedCollection struct{ ns, uuid string }

func (s *switchedOffChecker) fail(ns, text string, events ...int) {
	if !s.switchedByAdmin[ns] && !s.switchedByAdmin[s.uuid(ns)] {
		s.found = append(s.found, Violation{"switched off", "the balancing of " + ns + text, events})
	}
}

func (s *switchedOffChecker) uuid(ns string) string { return cmp.Or(s.uuids[ns], ns) }

func (s *switchedOffChecker) isListed(ns string) bool {
	return slices.ContainsFunc(s.listed, func(p listedCollection) bool { return p.ns == ns || p.uuid == s.uuid(ns) })
}

func (s *switchedOffChecker) apply(e Event) {
	switch {
	case e.Kind == BalancingOff:
		s.setListed(e)
	case e.Kind == CmdBegin && !isRunner(e.By) && e.Cmd == "configureCollectionBalancing":
		s.switchedByAdmin[e.NS], s.switchedByAdmin[s.uuid(e.NS)] = true, true
	case e.Kind == Catalog && e.Entry != nil && e.Entry.Collection == "collections":
		s.applyEntry(e, *e.Entry)
	case e.Kind == ProcessEnd && strings.HasPrefix(e.By, "giveback"):
		s.givenBack = e.Code == 0
	case e.Kind == ClusterAtRest && s.givenBack:
		for _, ns := range slices.Sorted(maps.Keys(s.off)) {
			s.fail(ns, " is still off", s.off[ns].Seq, e.Seq)
		}
	}
}

// setListed updates the collections that the lease lists.
func (s *switchedOffChecker) setListed(e Event) {
	before := s.listed
	s.listed = nil
	for _, ns := range e.Names {
		one := listedCollection{ns, s.uuid(ns)}
		if i := slices.IndexFunc(before, func(p listedCollection) bool { return p.ns == ns }); i >= 0 {
			one = before[i]
		}
		s.listed = append(s.listed, one)
	}
	for _, ns := range slices.Sorted(maps.Keys(s.off)) {
		was := slices.ContainsFunc(before, func(p listedCollection) bool { return p.ns == ns || p.uuid == s.uuid(ns) })
		if was && !s.isListed(ns) {
			s.fail(ns, " is off, and the lease does not name it any more", s.off[ns].Seq, e.Seq)
		}
	}
}

// applyEntry applies a change of a collection's entry.
func (s *switchedOffChecker) applyEntry(e Event, doc Entry) {
	if doc.Removed {
		delete(s.uuids, doc.ID)
	} else {
		s.uuids[doc.ID] = doc.UUID
	}
	if doc.Removed || !doc.NoBalance {
		delete(s.off, doc.ID)
		return
	}
	if s.off[doc.ID] = e; !s.isListed(doc.ID) {
		s.fail(doc.ID, " is off, and no lease names it", e.Seq)
	}
}

// CheckIndexes checks that at rest all owners of a collection's chunks have the same indexes.
func CheckIndexes(t Trace) (found []Violation) {
	first := map[string]Event{}
	for _, e := range t {
		if e.Kind != Index {
			continue
		}
		one, known := first[e.NS]
		if !known {
			first[e.NS] = e
		} else if !slices.Equal(one.Names, e.Names) {
			found = append(found, Violation{
				"indexes", fmt.Sprintf("%s has %v of %s, and %s has %v", one.Node, one.Names, e.NS, e.Node, e.Names),
				[]int{one.Seq, e.Seq},
			})
		}
	}
	return found
}

// CheckAtRest reports the violations that the cluster itself finds at rest, collections that are still
// switched off, and range deletions that are still pending.
func CheckAtRest(t Trace) (found []Violation) {
	waiting := map[string]Event{}
	code := 0
	for _, e := range t {
		key := fmt.Sprint(e.Node, e.NS, boundText(e.Min), boundText(e.Max))
		switch e.Kind {
		case RangeRegistered:
			waiting[key] = e
		case RangeDone:
			delete(waiting, key)
		case Catalog: // the data of a removed shard no longer matters
			maps.DeleteFunc(waiting, func(_ string, task Event) bool {
				return e.Entry != nil && e.Entry.Collection == "shards" && e.Entry.Removed && task.Node == e.Entry.ID
			})
		case ProcessEnd:
			if code = 0; strings.HasPrefix(e.By, "giveback") {
				code = e.Code
			}
		case RunsTooLong:
			found = append(found, Violation{"liveness", strings.TrimSpace(e.By+" "+e.Cmd) + " does not end", []int{e.Seq}})
		case ClusterAtRest:
			for _, text := range e.Names {
				found = append(found, Violation{"rest", text, []int{e.Seq}})
			}
			for _, task := range waiting {
				found = append(found, Violation{
					"rest", fmt.Sprintf("%s still has a range of %s to delete", task.Node, task.NS),
					[]int{task.Seq, e.Seq},
				})
			}
			if code != 0 {
				found = append(found, Violation{
					"rest", fmt.Sprintf("giving back fails with %d", code),
					[]int{e.Seq},
				})
			}
		}
	}
	return found
}

func boundText(b *Bound) string {
	if b == nil {
		return "-"
	}
	return b.String()
}

// CheckUndone checks that undoing a plan restores the location of all ranges of a collection, unless
// others have moved some of them meanwhile, and that there is something to undo if a plan has moved
// data.
func CheckUndone(t Trace) (found []Violation) {
	c := newCatalog()
	before := map[string]map[string]string{} // by actor
	doing, moved := map[string]string{}, map[string]bool{}
	for _, e := range t {
		c.apply(e)
		actor, _, _ := strings.Cut(e.By, ".")
		switch e.Kind {
		case MigrationStart, MigrationCommitted:
			for other, layouts := range before {
				if other != e.By {
					delete(layouts, e.NS)
				}
			}
			moved[e.By] = doing[e.By] == "apply" && (moved[e.By] || e.Kind == MigrationCommitted)
		case Fault:
			if strings.Contains(e.Text, "AddShard") {
				clear(before)
			}
		case ProcessBegin:
			doing[actor] = e.Cmd
			moved[actor] = moved[actor] && e.Text != "" // by this plan
			if e.Cmd == "apply" && e.Text == "" {       // a new plan
				before[actor] = c.layoutText()
			}
		case ProcessEnd:
			if e.Cmd == "undo" && e.Text == NothingToUndo && moved[actor] {
				text := e.By + " finds nothing to undo of a plan that has moved ranges"
				found = append(found, Violation{"undo", text, []int{e.Seq}})
				moved[actor] = false
			}
			was, known := before[actor]
			if e.Cmd != "undo" || e.Code != 0 || !known {
				continue
			}
			is := c.layoutText()
			for _, ns := range slices.Sorted(maps.Keys(was)) {
				if now, ok := is[ns]; ok && now != was[ns] {
					found = append(found, Violation{
						"undo", fmt.Sprintf("%s lies as %s, and lay as %s before the plan", ns, now, was[ns]),
						[]int{e.Seq},
					})
				}
			}
		}
	}
	return found
}

// layoutText returns the location of the ranges of each collection.
func (c *catalog) layoutText() map[string]string {
	list := map[string]string{}
	for ns := range c.chunks {
		var text strings.Builder
		shard := ""
		for _, chunk := range c.sortedChunks(ns) {
			if chunk.Shard != shard {
				shard = chunk.Shard
				fmt.Fprintf(&text, "%s from %s, ", shard, chunk.Min)
			}
		}
		list[ns] = strings.TrimSuffix(text.String(), ", ")
	}
	return list
}
