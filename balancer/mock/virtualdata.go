package mock

import (
	"iter"
	"math"
	"slices"

	"github.com/tidwall/btree"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// virtualRange is virtual data: a number of documents and bytes in a range, without actual documents.
// They are evenly distributed between the bounds. If one bound is MinKey or MaxKey, most are near the
// other bound.
type virtualRange struct {
	min, max    catalog.Key
	docs, bytes int64
}

// virtualData is the virtual part of a collection on one shard: sorted ranges that do not overlap, and
// their sums. The zero value is empty. A copy shares the ranges.
type virtualData struct {
	ranges      *btree.BTreeG[virtualRange] // sorted by lower bound; nil if empty
	docs, bytes int64
	watch       *rangeWatch // nil if changes are not tracked
}

// all returns the ranges in key order.
func (v virtualData) all() iter.Seq[virtualRange] { return v.overlapping(catalog.Key{}, catalog.Key{}) }

// overlapping returns the ranges that overlap [min, max), in key order. A zero Key means unbounded.
func (v virtualData) overlapping(min, max catalog.Key) iter.Seq[virtualRange] {
	return func(yield func(virtualRange) bool) {
		if v.ranges == nil {
			return
		}
		at, more := min, true
		v.ranges.Descend(virtualRange{min: min}, func(e virtualRange) bool {
			if min.Less(e.max) { // usually the only one
				at, more = e.max, yield(e) && (max.IsZero() || e.max.Less(max))
			}
			return false
		})
		if more {
			v.ranges.Ascend(virtualRange{min: at}, func(e virtualRange) bool {
				return (max.IsZero() || e.min.Less(max)) && yield(e)
			})
		}
	}
}

// clippedTo returns the ranges clipped to [min, max).
func (v virtualData) clippedTo(p catalog.KeyPattern, min, max catalog.Key) iter.Seq[virtualRange] {
	return func(yield func(virtualRange) bool) {
		for e := range v.overlapping(min, max) {
			_, part := e.splitAt(p, min)
			if part, _ = part.splitAt(p, max); !part.isEmpty() && !yield(part) {
				return
			}
		}
	}
}

// sumIn returns the number of documents and bytes in [min, max). A range that overlaps a bound counts in
// part.
func (v virtualData) sumIn(p catalog.KeyPattern, min, max catalog.Key) (docs, bytes int64) {
	for e := range v.clippedTo(p, min, max) {
		docs += e.docs
		bytes += e.bytes
	}
	return docs, bytes
}

// cutOut removes [min, max) and returns the removed ranges in key order.
func (v *virtualData) cutOut(p catalog.KeyPattern, min, max catalog.Key) (taken []virtualRange) {
	touched := slices.Collect(v.overlapping(min, max))
	for i, e := range touched {
		v.ranges.Delete(e)
		v.watch.note(e.min)
		v.docs, v.bytes = v.docs-e.docs, v.bytes-e.bytes
		before, rest := e.splitAt(p, min)
		part, after := rest.splitAt(p, max)
		v.add(before)
		v.add(after)
		touched[i] = part
	}
	return touched
}

// add adds a range that overlaps no other.
func (v *virtualData) add(e virtualRange) {
	if e.isEmpty() {
		return
	}
	if v.ranges == nil {
		less := func(a, b virtualRange) bool { return a.min.Less(b.min) }
		v.ranges = btree.NewBTreeGOptions(less, btree.Options{NoLocks: true})
	}
	v.ranges.Load(e) // like Set, but fast for the last key
	v.watch.note(e.min)
	v.docs, v.bytes = v.docs+e.docs, v.bytes+e.bytes
}

// addAll adds ranges that overlap no others.
func (v *virtualData) addAll(others []virtualRange) {
	for _, e := range others {
		v.add(e)
	}
}

func (v virtualRange) isEmpty() bool { return v.docs == 0 && v.bytes == 0 }

// splitAt splits a range at a key; either part may be empty.
func (v virtualRange) splitAt(p catalog.KeyPattern, at catalog.Key) (before, after virtualRange) {
	if v.isEmpty() || at.Compare(v.min) <= 0 {
		return virtualRange{}, v
	}
	if at.Compare(v.max) >= 0 {
		return v, virtualRange{}
	}
	f := p.Fraction(v.min, v.max, at)
	before, after = v, v
	before.max, after.min = at, at
	before.docs = int64(math.Round(f * float64(v.docs)))
	before.bytes = int64(math.Round(f * float64(v.bytes)))
	after.docs -= before.docs
	after.bytes -= before.bytes
	return before, after
}

// keyAfterDocs returns a key such that about n documents of [min, max) are below it. It returns false if
// there are not enough documents.
func (v virtualData) keyAfterDocs(p catalog.KeyPattern, min, max catalog.Key, n int64) (catalog.Key, bool) {
	for e := range v.overlapping(min, max) {
		before, part := e.splitAt(p, min)
		part, _ = part.splitAt(p, max)
		if part.docs <= n {
			n -= part.docs
			continue
		}
		// The distribution in part depends on the bounds of the whole range e, so the key is computed in
		// e.
		key, ok := p.KeyAtFraction(e.min, e.max, float64(before.docs+n)/float64(e.docs))
		if ok && part.min.Less(key) && key.Less(part.max) {
			return key, true
		}
		if min.Less(part.min) { // no key of that type lies between
			return part.min, true
		}
	}
	return catalog.Key{}, false
}

// Fill describes virtual data to distribute over a collection's chunks.
type Fill struct {
	// Bytes and Docs are totals. The default of Docs gives documents of 1 KiB.
	Bytes, Docs int64
	// Skewed gives each chunk, in key order, less than the previous one; the first gets about as much as
	// the second and third together. Otherwise Shares are the shares of the shards, evenly distributed
	// over each shard's chunks. Without Shares all chunks get the same.
	Skewed bool
	Shares map[catalog.ShardID]float64
}

// virtualDocBytes is the default size of virtual documents.
const virtualDocBytes = 1 << 10

// AddVirtualData adds virtual data to a sharded collection. It is counted and migrated like real
// documents, takes no memory and cannot be read.
func (c *Collections) AddVirtualData(ns string, f Fill) error {
	coll, err := c.config.RequireSharded(ns)
	if err != nil {
		return err
	}
	if f.Docs == 0 {
		f.Docs = (f.Bytes + virtualDocBytes - 1) / virtualDocBytes
	}
	if f.Bytes <= 0 || f.Docs < 0 || f.Docs > f.Bytes {
		return mongoerr.New(mongoerr.BadValue, "bytes must be positive and docs must be between 1 and bytes")
	}
	weights, err := c.weights(ns, f)
	if err != nil {
		return err
	}
	var total, before float64
	for _, w := range weights {
		total += w
	}
	upTo := func(n int64, at float64) int64 { return int64(math.Round(float64(n) * at / total)) }
	for chunk := range c.config.Table(ns).All() {
		w := weights[0]
		weights = weights[1:]
		part := virtualRange{
			min: chunk.Min, max: chunk.Max,
			docs:  upTo(f.Docs, before+w) - upTo(f.Docs, before),
			bytes: upTo(f.Bytes, before+w) - upTo(f.Bytes, before),
		}
		before += w
		if part.isEmpty() {
			continue
		}
		local := c.shards[chunk.Shard].colls[ns]
		for _, had := range local.virtual.cutOut(coll.Pattern, chunk.Min, chunk.Max) {
			part.docs, part.bytes = part.docs+had.docs, part.bytes+had.bytes
		}
		local.virtual.add(part)
	}
	return nil
}

// weights returns the share of the data of each chunk, in key order.
func (c *Collections) weights(ns string, f Fill) ([]float64, error) {
	table := c.config.Table(ns)
	weights := make([]float64, 0, table.Len())
	switch {
	case f.Skewed:
		for i := range table.Len() {
			weights = append(weights, 1/float64(i+1))
		}
		return weights, nil
	case f.Shares == nil:
		return slices.Repeat([]float64{1}, table.Len()), nil
	}
	var sum float64
	for id, share := range f.Shares {
		switch {
		case c.shards[id] == nil:
			return nil, mongoerr.New(mongoerr.ShardNotFound, "Shard %s not found", id)
		case share < 0 || math.IsNaN(share) || math.IsInf(share, 0):
			return nil, mongoerr.New(mongoerr.BadValue, "the share of %s is negative or not a number", id)
		case share > 0 && table.CountOn(id) == 0:
			return nil, mongoerr.New(mongoerr.BadValue, "%s has no chunk of %s to fill: move a chunk there first", id, ns)
		}
		sum += share
	}
	if math.Abs(sum-1) > 0.01 {
		return nil, mongoerr.New(mongoerr.BadValue, "the shares of the distribution add up to %v, not to 1", sum)
	}
	for chunk := range table.All() {
		weights = append(weights, f.Shares[chunk.Shard]/float64(table.CountOn(chunk.Shard)))
	}
	return weights, nil
}
