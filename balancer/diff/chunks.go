package diff

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// chunkOverlap is a range of keys without a bound in either table, with its chunks in both tables.
type chunkOverlap struct {
	old, new catalog.Chunk
	// beginsOld and beginsNew say whether a chunk of the old and of the new table begins here.
	beginsNew, beginsOld bool
}

// chunkOverlaps splits two tables of a collection at the bounds of both. The shard key may have been
// refined since the older table was read.
func chunkOverlaps(older, newer *catalog.RoutingTable) iter.Seq[chunkOverlap] {
	return func(yield func(chunkOverlap) bool) {
		old, stop := iter.Pull(refinedChunks(older, newer.Pattern()))
		defer stop()
		before, more := old()
		began := true
		for chunk := range newer.All() {
			begins := true
			for more {
				if !yield(chunkOverlap{before, chunk, begins, began}) {
					return
				}
				begins, began = false, false
				end := before.Max.Compare(chunk.Max)
				if end > 0 {
					break
				}
				before, more = old()
				began = true
				if end == 0 {
					break
				}
			}
		}
	}
}

// refinedChunks returns the chunks of a table with the bounds that they have under a refined shard key:
// MinKey in the added fields, or MaxKey if the bound is the global maximum.
func refinedChunks(t *catalog.RoutingTable, p catalog.KeyPattern) iter.Seq[catalog.Chunk] {
	if t.Pattern().Len() == p.Len() {
		return t.All()
	}
	return func(yield func(catalog.Chunk) bool) {
		for c := range t.All() {
			c.Min, c.Max = extendBound(t.Pattern(), p, c.Min), extendBound(t.Pattern(), p, c.Max)
			if !yield(c) {
				return
			}
		}
	}
}

// extendBound returns a bound under a refined shard key.
func extendBound(of, p catalog.KeyPattern, k catalog.Key) catalog.Key {
	if of.Len() == p.Len() {
		return k
	}
	if k.Equal(of.GlobalMax()) {
		return p.GlobalMax()
	}
	longer, err := p.ExtendBound(of.Bound(k))
	if err != nil {
		return k // of a pattern that is no refinement: the result is never compared
	}
	return longer
}

// maxExamples is the maximum number of bounds in a change's Examples.
const maxExamples = 3

// tally counts chunks of one kind.
type tally struct {
	count    int64
	examples []string
}

func (t *tally) add(p catalog.KeyPattern, k catalog.Key) {
	t.count++
	if len(t.examples) < maxExamples {
		t.examples = append(t.examples, humanize.Literal(p.Bound(k)))
	}
}

// compareChunks compares the chunks of a collection. It counts moves by the finer one of both tables:
// by the old chunks where chunks were merged, by the new chunks where chunks were split.
func (d *differ) compareChunks(older, newer *catalog.CollectionState) {
	if !d.checkBothHave("chunks", newer.Namespace) {
		return
	}
	if older.Table == nil || newer.Table == nil {
		before, known := older.Version()
		now, also := newer.Version()
		if known && also && before == now {
			return
		}
		d.skip("chunks of %s: they were counted, not read", displayName(newer.Namespace))
		return
	}
	if !newer.Pattern.Extends(older.Pattern) {
		d.skip("chunks of %s: the shard key is another one", displayName(newer.Namespace))
		return
	}
	n := compareTables(older.Table, newer.Table)
	ns := newer.Namespace
	if n.moved.count > 0 {
		d.add(
			Change{Kind: ChunksMoved, Namespace: ns, Count: n.moved.count, Flows: n.sortedFlows(), Examples: n.moved.examples},
			"%s: %s moved: %s",
			displayName(ns),
			humanize.Count(n.moved.count, "chunk"),
			flowText(n.sortedFlows()),
		)
	}
	for _, one := range []struct {
		kind  Kind
		tally tally
		text  string
	}{
		{ChunksSplit, n.split, "%s: %s created by splits"},
		{ChunksMerged, n.merged, "%s: %s merged away"},
		{JumboSet, n.jumbo, "%s: %s flagged jumbo"},
		{JumboCleared, n.cleared, "%s: %s no longer flagged jumbo"},
	} {
		if one.tally.count > 0 {
			d.add(Change{Kind: one.kind, Namespace: ns, Count: one.tally.count, Examples: one.tally.examples}, one.text,
				displayName(ns), humanize.Count(one.tally.count, "chunk"))
		}
	}
}

// counts counts what happened to the chunks of a collection.
type counts struct {
	moved, split, merged, jumbo, cleared tally
	byFlow                               map[Flow]int64 // by donor and recipient
}

func compareTables(older, newer *catalog.RoutingTable) counts {
	n := counts{byFlow: map[Flow]int64{}}
	pattern := newer.Pattern()
	wasFlagged, isFlagged := jumboFlags{}, jumboFlags{}
	for p := range chunkOverlaps(older, newer) {
		at := p.new.Min
		if p.old.Min.Compare(at) > 0 {
			at = p.old.Min
		}
		if p.old.Shard != p.new.Shard {
			n.moved.add(pattern, at)
			n.byFlow[Flow{From: p.old.Shard, To: p.new.Shard}]++
		}
		switch {
		case p.beginsNew && !p.beginsOld:
			n.split.add(pattern, at)
		case p.beginsOld && !p.beginsNew:
			n.merged.add(pattern, at)
		}
		if p.beginsOld {
			wasFlagged.countUnmatched(pattern, &n.cleared)
			wasFlagged = jumboFlags{at, p.old.Jumbo == catalog.JumboTrue, false}
		}
		if p.beginsNew {
			isFlagged.countUnmatched(pattern, &n.jumbo)
			isFlagged = jumboFlags{at, p.new.Jumbo == catalog.JumboTrue, false}
		}
		wasFlagged.otherFlagged = wasFlagged.otherFlagged || p.new.Jumbo == catalog.JumboTrue
		isFlagged.otherFlagged = isFlagged.otherFlagged || p.old.Jumbo == catalog.JumboTrue
	}
	wasFlagged.countUnmatched(pattern, &n.cleared)
	isFlagged.countUnmatched(pattern, &n.jumbo)
	return n
}

// jumboFlags says whether a chunk is flagged jumbo, and whether an overlapping chunk in the other table is.
type jumboFlags struct {
	min                   catalog.Key
	flagged, otherFlagged bool
}

// countUnmatched counts a flagged chunk that overlaps no flagged chunk in the other table.
func (f jumboFlags) countUnmatched(p catalog.KeyPattern, to *tally) {
	if f.flagged && !f.otherFlagged {
		to.add(p, f.min)
	}
}

func (c counts) sortedFlows() (list []Flow) {
	for way, count := range c.byFlow {
		way.Count = count
		list = append(list, way)
	}
	slices.SortFunc(list, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return list
}

// maxFlows is the maximum number of flows in a line.
const maxFlows = 3

func flowText(flows []Flow) string {
	var list []string
	for i, f := range flows {
		if i == maxFlows {
			list = append(list, fmt.Sprintf("and %d more pairs of shards", len(flows)-i))
			break
		}
		list = append(list, fmt.Sprintf("%s %s to %s", humanize.Number(f.Count), f.From, f.To))
	}
	return strings.Join(list, ", ")
}

// compareZones compares the zones of a collection.
func (d *differ) compareZones(older, newer *catalog.CollectionState) {
	if !d.checkBothHave("zones", newer.Namespace) || !d.checkBothHave("tags", newer.Namespace) ||
		!newer.Pattern.Extends(older.Pattern) {
		return
	}
	if older.Zones == nil && d.oldSnapshot.HasZones(older) || newer.Zones == nil && d.newSnapshot.HasZones(newer) {
		d.skip("zones of %s: they were not read", displayName(newer.Namespace))
		return
	}
	type bounds struct{ min, max catalog.Key }
	place := func(k catalog.Key) catalog.Key {
		return catalog.KeyFromBytes(extendBound(older.Pattern, newer.Pattern, k).Bytes())
	}
	before := map[bounds]string{}
	show := func(lower, upper bson.Raw) string { return humanize.Literal(lower) + " to " + humanize.Literal(upper) }
	for _, r := range older.Zones.Ranges() {
		before[bounds{place(r.Min), place(r.Max)}] = r.Zone
	}
	for _, r := range newer.Zones.Ranges() {
		at := bounds{catalog.KeyFromBytes(r.Min.Bytes()), catalog.KeyFromBytes(r.Max.Bytes())}
		text := show(newer.Pattern.Bound(r.Min), newer.Pattern.Bound(r.Max))
		zone, known := before[at]
		delete(before, at)
		c := Change{Namespace: newer.Namespace, Zone: r.Zone, New: text}
		switch {
		case !known:
			c.Kind = RangeAdded
			d.add(c, "%s: %s is in the zone %s", displayName(newer.Namespace), text, r.Zone)
		case zone != r.Zone:
			c.Kind, c.Old, c.New = RangeZone, zone, r.Zone
			d.add(c, "%s: %s is in the zone %s, was in %s", displayName(newer.Namespace), text, r.Zone, zone)
		}
	}
	for _, r := range older.Zones.Ranges() {
		if _, left := before[bounds{place(r.Min), place(r.Max)}]; left {
			text := show(older.Pattern.Bound(r.Min), older.Pattern.Bound(r.Max))
			d.add(Change{Kind: RangeRemoved, Namespace: newer.Namespace, Zone: r.Zone, Old: text},
				"%s: %s is no longer in zone %s", displayName(newer.Namespace), text, r.Zone)
		}
	}
}
