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

// piece is a range of keys in which neither table has a bound, and what it belongs to in
// both of them.
type piece struct {
	was, is catalog.Chunk
	// begins and began are whether a chunk begins here now, and began here before.
	begins, began bool
}

// pieces cuts two tables of a collection at the bounds of both. The older one may have a
// shard key that was refined since.
func pieces(was, is *catalog.RoutingTable) iter.Seq[piece] {
	return func(yield func(piece) bool) {
		old, stop := iter.Pull(refined(was, is.Pattern()))
		defer stop()
		before, more := old()
		began := true
		for chunk := range is.All() {
			begins := true
			for more {
				if !yield(piece{before, chunk, begins, began}) {
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

// refined returns the chunks of a table with the bounds that they have under a shard key
// with more fields: MinKey in those, and MaxKey at the end of all.
func refined(t *catalog.RoutingTable, p catalog.KeyPattern) iter.Seq[catalog.Chunk] {
	if t.Pattern().Len() == p.Len() {
		return t.All()
	}
	return func(yield func(catalog.Chunk) bool) {
		for c := range t.All() {
			c.Min, c.Max = extended(t.Pattern(), p, c.Min), extended(t.Pattern(), p, c.Max)
			if !yield(c) {
				return
			}
		}
	}
}

// extended is a bound under a shard key with more fields.
func extended(of, p catalog.KeyPattern, k catalog.Key) catalog.Key {
	if k.Equal(of.GlobalMax()) {
		return p.GlobalMax()
	}
	longer, err := p.ExtendBound(of.Bound(k))
	if err != nil {
		return k // of a pattern that does not extend: compared with nothing
	}
	return longer
}

// maxExamples is how many bounds a change has for examples.
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

// chunks compares the chunks of a collection. What moved is counted by the finer one of both
// tables: by the chunks there were where some were merged, by those there are where some
// were split.
func (d *differ) chunks(was, is *catalog.CollectionState) {
	if !d.known("chunks", is.Namespace) {
		return
	}
	if was.Table == nil || is.Table == nil {
		before, known := was.Version()
		now, also := is.Version()
		if known && also && before == now {
			return
		}
		d.skip("chunks of %s: they were counted, not read", name(is.Namespace))
		return
	}
	if !is.Pattern.Extends(was.Pattern) {
		d.skip("chunks of %s: the shard key is another one", name(is.Namespace))
		return
	}
	n := compare(was.Table, is.Table)
	ns := is.Namespace
	if n.moved.count > 0 {
		d.add(Change{Kind: ChunksMoved, Namespace: ns, Count: n.moved.count, Flows: n.flows(), Examples: n.moved.examples},
			"%s: %s moved: %s", name(ns), humanize.Count(n.moved.count, "chunk"), flowText(n.flows()))
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
				name(ns), humanize.Count(one.tally.count, "chunk"))
		}
	}
}

// counts are what became of the chunks of a collection.
type counts struct {
	moved, split, merged, jumbo, cleared tally
	ways                                 map[Flow]int64 // by way
}

func compare(was, is *catalog.RoutingTable) counts {
	n := counts{ways: map[Flow]int64{}}
	pattern := is.Pattern()
	wasFlagged, isFlagged := flags{}, flags{}
	for p := range pieces(was, is) {
		at := p.is.Min
		if p.was.Min.Compare(at) > 0 {
			at = p.was.Min
		}
		if p.was.Shard != p.is.Shard {
			n.moved.add(pattern, at)
			n.ways[Flow{From: p.was.Shard, To: p.is.Shard}]++
		}
		switch {
		case p.begins && !p.began:
			n.split.add(pattern, at)
		case p.began && !p.begins:
			n.merged.add(pattern, at)
		}
		if p.began {
			wasFlagged.end(pattern, &n.cleared)
			wasFlagged = flags{at, p.was.Jumbo == catalog.JumboTrue, false}
		}
		if p.begins {
			isFlagged.end(pattern, &n.jumbo)
			isFlagged = flags{at, p.is.Jumbo == catalog.JumboTrue, false}
		}
		wasFlagged.other = wasFlagged.other || p.is.Jumbo == catalog.JumboTrue
		isFlagged.other = isFlagged.other || p.was.Jumbo == catalog.JumboTrue
	}
	wasFlagged.end(pattern, &n.cleared)
	isFlagged.end(pattern, &n.jumbo)
	return n
}

// flags are whether a chunk is flagged jumbo, and whether one that it overlaps in the other
// table is.
type flags struct {
	min       catalog.Key
	on, other bool
}

// end counts a chunk that is flagged, where nothing of it is in the other table.
func (f flags) end(p catalog.KeyPattern, to *tally) {
	if f.on && !f.other {
		to.add(p, f.min)
	}
}

func (n counts) flows() (list []Flow) {
	for way, count := range n.ways {
		way.Count = count
		list = append(list, way)
	}
	slices.SortFunc(list, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
	})
	return list
}

// maxFlows is how many ways are told of in a line.
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

// ranges compares the zones of a collection.
func (d *differ) ranges(was, is *catalog.CollectionState) {
	if !d.known("zones", is.Namespace) || !d.known("tags", is.Namespace) || !is.Pattern.Extends(was.Pattern) {
		return
	}
	if was.Zones == nil && d.from.Zoned(was) || is.Zones == nil && d.to.Zoned(is) {
		d.skip("zones of %s: they were not read", name(is.Namespace))
		return
	}
	type bounds struct{ min, max catalog.Key }
	place := func(k catalog.Key) catalog.Key { return catalog.Place(k.Bytes()) }
	before := map[bounds]string{}
	show := func(lower, upper bson.Raw) string { return humanize.Literal(lower) + " to " + humanize.Literal(upper) }
	for _, r := range was.Zones.Ranges() {
		before[bounds{place(widened(was, is, r.Min)), place(widened(was, is, r.Max))}] = r.Zone
	}
	for _, r := range is.Zones.Ranges() {
		at := bounds{place(r.Min), place(r.Max)}
		text := show(is.Pattern.Bound(r.Min), is.Pattern.Bound(r.Max))
		zone, known := before[at]
		delete(before, at)
		c := Change{Namespace: is.Namespace, Zone: r.Zone, New: text}
		switch {
		case !known:
			c.Kind = RangeAdded
			d.add(c, "%s: %s is in the zone %s", name(is.Namespace), text, r.Zone)
		case zone != r.Zone:
			c.Kind, c.Old, c.New = RangeZone, zone, r.Zone
			d.add(c, "%s: %s is in the zone %s, was in %s", name(is.Namespace), text, r.Zone, zone)
		}
	}
	for _, r := range was.Zones.Ranges() {
		at := bounds{place(widened(was, is, r.Min)), place(widened(was, is, r.Max))}
		if _, left := before[at]; left {
			text := show(was.Pattern.Bound(r.Min), was.Pattern.Bound(r.Max))
			d.add(Change{Kind: RangeRemoved, Namespace: is.Namespace, Zone: r.Zone, Old: text},
				"%s: %s is no longer in zone %s", name(is.Namespace), text, r.Zone)
		}
	}
}

// widened is a bound of a zone under a shard key with more fields.
func widened(was, is *catalog.CollectionState, k catalog.Key) catalog.Key {
	if was.Pattern.Len() == is.Pattern.Len() {
		return k
	}
	return extended(was.Pattern, is.Pattern, k)
}
