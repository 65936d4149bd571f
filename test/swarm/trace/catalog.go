package trace

import (
	"fmt"
	"maps"
	"slices"
)

// catalog is the config database according to the events so far.
type catalog struct {
	chunks  map[string]map[Bound]Chunk // by collection and lower bound
	entries map[[2]string]Entry        // by kind and id
}

func newCatalog() *catalog {
	return &catalog{chunks: map[string]map[Bound]Chunk{}, entries: map[[2]string]Entry{}}
}

// apply applies an event and reports whether it was a Catalog event.
func (c *catalog) apply(e Event) bool {
	if e.Kind != Catalog {
		return false
	}
	if e.Entry != nil {
		id := [2]string{e.Entry.Collection, e.Entry.ID}
		if c.entries[id] = *e.Entry; e.Entry.Removed {
			delete(c.entries, id)
		}
		return true
	}
	table := c.chunks[e.NS]
	if table == nil {
		table = map[Bound]Chunk{}
		c.chunks[e.NS] = table
	}
	if e.Before != nil && table[e.Before.Min].sameOwner(*e.Before) {
		delete(table, e.Before.Min)
	}
	if e.After != nil {
		table[e.After.Min] = *e.After
	}
	if len(table) == 0 {
		delete(c.chunks, e.NS)
	}
	return true
}

func (c Chunk) sameOwner(o Chunk) bool { return c.Min == o.Min && c.Max == o.Max && c.Shard == o.Shard }

func (c Chunk) String() string {
	return fmt.Sprintf("[%s, %s) on %s at %d|%d", c.Min, c.Max, c.Shard, c.Major, c.Minor)
}

// sortedChunks returns the chunks of a collection in key order.
func (c *catalog) sortedChunks(ns string) []Chunk {
	return slices.SortedFunc(maps.Values(c.chunks[ns]), func(a, b Chunk) int {
		if a.Min < b.Min {
			return -1
		}
		return 1
	})
}

// entry returns a document by its kind and id.
func (c *catalog) entry(of, id string) (Entry, bool) {
	e, ok := c.entries[[2]string{of, id}]
	return e, ok
}

// eachBatch calls after for each group of simultaneous changes, with the catalog after the changes and
// the collections whose chunks have changed.
func eachBatch(t Trace, after func(c *catalog, changed []string, last Event)) {
	c := newCatalog()
	var changed []string
	for i, e := range t {
		if !c.apply(e) {
			continue
		}
		if e.Entry == nil && !slices.Contains(changed, e.NS) {
			changed = append(changed, e.NS)
		}
		if i+1 < len(t) && t[i+1].Kind == Catalog && t[i+1].Op == e.Op {
			continue
		}
		after(c, changed, e)
		changed = changed[:0]
	}
}

// CheckChunks checks C1 to C5 and C7: chunks cover the key space, their versions differ and share an
// epoch, their shards exist, and their history begins with their shard and has descending times. An
// unsharded collection has one chunk.
func CheckChunks(t Trace) (found []Violation) {
	eachBatch(t, func(c *catalog, changed []string, last Event) {
		for _, ns := range changed {
			if chunks := c.sortedChunks(ns); len(chunks) > 0 {
				found = append(found, c.checkChunks(ns, chunks, last.Seq)...)
			}
		}
	})
	return found
}

func (c *catalog) checkChunks(ns string, chunks []Chunk, seq int) (found []Violation) {
	fail := func(rule, format string, args ...any) {
		found = append(found, Violation{rule, ns + ": " + fmt.Sprintf(format, args...), []int{seq}})
	}
	at := MinKey
	versions := map[[2]uint32]Chunk{}
	for _, chunk := range chunks {
		if chunk.Min != at {
			fail("C1", "%s begins where %s is due", chunk, at)
		}
		if chunk.Min >= chunk.Max {
			fail("C1", "%s is empty", chunk)
		}
		at = chunk.Max
		version := [2]uint32{chunk.Major, chunk.Minor}
		if other, twice := versions[version]; twice {
			fail("C3", "%s and %s have one version", other, chunk)
		}
		versions[version] = chunk
		if chunk.Major == 0 {
			fail("C2", "%s has a version without a major part", chunk)
		}
		if chunk.Epoch != chunks[0].Epoch {
			fail("C3", "%s and %s differ in their epoch", chunks[0], chunk)
		}
		if _, known := c.entry("shards", chunk.Shard); !known {
			fail("C4", "%s is on a shard that does not exist", chunk)
		}
		if text := chunk.badHistory(); text != "" {
			fail("C5", "%s %s", chunk, text)
		}
	}
	if at != MaxKey {
		fail("C1", "the chunks end at %s", at)
	}
	if entry, _ := c.entry("collections", ns); entry.Unsplittable && len(chunks) != 1 {
		fail("C7", "it is not sharded, and has %d chunks", len(chunks))
	}
	return found
}

func (c Chunk) badHistory() string {
	if len(c.History) == 0 {
		return ""
	}
	if c.History[0].Shard != c.Shard {
		return "has a history that begins with " + c.History[0].Shard
	}
	if c.Since != 0 && c.History[0].At != c.Since {
		return "is there since another time than its history says"
	}
	for i := 1; i < len(c.History); i++ {
		if c.History[i].At >= c.History[i-1].At {
			return "has a history that does not fall"
		}
	}
	return ""
}

// CheckZones checks C6: the zone ranges of a collection do not overlap.
func CheckZones(t Trace) (found []Violation) {
	c := newCatalog()
	for _, e := range t {
		if !c.apply(e) || e.Entry == nil || e.Entry.Collection != "tags" || e.Entry.Removed {
			continue
		}
		for id, other := range c.entries {
			if id[0] == "tags" && id[1] != e.Entry.ID && other.UUID == e.Entry.UUID &&
				other.Min < e.Entry.Max && e.Entry.Min < other.Max {
				found = append(found, Violation{
					"C6", fmt.Sprintf("zones of %s overlap at %s", other.UUID, max(other.Min, e.Entry.Min)),
					[]int{e.Seq},
				})
			}
		}
	}
	return found
}

// CheckOrphanedChunks checks C9: at rest no chunk belongs to a collection that does not exist.
func CheckOrphanedChunks(t Trace) (found []Violation) {
	c := newCatalog()
	for _, e := range t {
		c.apply(e)
		if e.Kind != ClusterAtRest {
			continue
		}
		for _, ns := range slices.Sorted(maps.Keys(c.chunks)) {
			if _, known := c.entry("collections", ns); !known {
				found = append(found, Violation{
					"C9", "chunks of " + ns + ", which does not exist",
					[]int{e.Seq},
				})
			}
		}
	}
	return found
}

// CheckUUIDs checks C8: at rest a collection has the UUID of the catalog on each shard.
func CheckUUIDs(t Trace) (found []Violation) {
	c := newCatalog()
	for _, e := range t {
		c.apply(e)
		if e.Kind != Metadata {
			continue
		}
		if entry, known := c.entry("collections", e.NS); known && entry.UUID != e.Text {
			text := fmt.Sprintf("%s has the uuid %s on %s, and %s in the catalog", e.NS, e.Text, e.Node, entry.UUID)
			found = append(found, Violation{"C8", text, []int{e.Seq}})
		}
	}
	return found
}

// reshardingCommands holds the commands that reshard, move or unshard a collection, and the commands that abort
// these operations, which have the value "aborts".
var reshardingCommands = map[string]string{
	"reshardCollection": "", "moveCollection": "", "unshardCollection": "",
	"abortReshardCollection": "aborts", "abortMoveCollection": "aborts", "abortUnshardCollection": "aborts",
}

// CheckAborts checks that an operation does not succeed after its abort has succeeded.
func CheckAborts(t Trace) (found []Violation) {
	aborted := map[string]Event{}
	for _, e := range t {
		does, of := reshardingCommands[e.Cmd]
		switch {
		case of && does == "" && e.Kind == CmdBegin:
			delete(aborted, e.NS)
		case of && does == "aborts" && e.Kind == CmdEnd && e.Code == 0:
			aborted[e.NS] = e
		case e.Kind == Catalog && e.Before != nil && e.After != nil && e.Before.Epoch != e.After.Epoch:
			if answer, was := aborted[e.NS]; was {
				text := fmt.Sprintf("%s is resharded though %s has answered", e.NS, answer.Cmd)
				found = append(found, Violation{"abort", text, []int{answer.Seq, e.Seq}})
				delete(aborted, e.NS)
			}
		}
	}
	return found
}

// CheckRemovedShards checks C10: a removed shard owns no chunk.
func CheckRemovedShards(t Trace) (found []Violation) {
	eachBatch(t, func(c *catalog, _ []string, last Event) {
		if last.Entry == nil || last.Entry.Collection != "shards" || !last.Entry.Removed {
			return
		}
		for _, ns := range slices.Sorted(maps.Keys(c.chunks)) {
			for _, chunk := range c.sortedChunks(ns) {
				if chunk.Shard == last.Entry.ID {
					found = append(found, Violation{
						"C10", ns + ": " + chunk.String() + ", which leaves",
						[]int{last.Seq},
					})
				}
			}
		}
	})
	return found
}
