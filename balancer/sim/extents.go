package sim

import (
	"iter"
	"math"
	"slices"

	"github.com/tidwall/btree"

	"shardsh/balancer/catalog"
)

// extent is data that is evenly distributed between two keys. Each chunk of the snapshot is one extent,
// regardless of later splits and merges. Extents are split only at the bounds of migrated ranges.
type extent struct {
	min, max catalog.Key
	Amount
}

// splitAt splits an extent at a key; either part may be empty.
func (e extent) splitAt(p catalog.KeyPattern, at catalog.Key) (before, after extent) {
	switch {
	case at.Compare(e.min) <= 0:
		return extent{}, e
	case at.Compare(e.max) >= 0:
		return e, extent{}
	}
	f := p.Fraction(e.min, e.max, at)
	before, after = e, e
	before.max, after.min = at, at
	before.Amount = e.part(f)
	after.Amount = e.minus(before.Amount)
	return before, after
}

// extents are the extents of a collection. A chunk of the snapshot that is not in divided is a single
// extent.
type extents struct {
	collection      *catalog.CollectionState
	initialTable    *catalog.RoutingTable
	initialContents func(catalog.Chunk) Amount
	divided         map[catalog.Key]bool // by lower bound of the chunk
	pieces          *btree.BTreeG[extent]
}

func newExtents(coll *catalog.CollectionState, initial func(catalog.Chunk) Amount) *extents {
	less := func(a, b extent) bool { return a.min.Less(b.min) }
	return &extents{
		collection: coll, initialTable: coll.Table, initialContents: initial, divided: map[catalog.Key]bool{},
		pieces: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}),
	}
}

// within returns the extents in a range, clipped to it, in key order.
func (x *extents) within(lower, upper catalog.Key) iter.Seq[extent] {
	return func(yield func(extent) bool) {
		for chunk := range x.initialTable.Overlapping(lower, upper) {
			for e := range x.withinChunk(chunk, lower, upper) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// withinChunk is within for one chunk of the snapshot.
func (x *extents) withinChunk(chunk catalog.Chunk, lower, upper catalog.Key) iter.Seq[extent] {
	p := x.initialTable.Pattern()
	return func(yield func(extent) bool) {
		clipped := func(e extent) bool {
			_, e = e.splitAt(p, lower)
			e, _ = e.splitAt(p, upper)
			return e == (extent{}) || yield(e)
		}
		if !x.divided[chunk.Min] && !x.cutAtSamples(chunk) {
			clipped(extent{chunk.Min, chunk.Max, x.initialContents(chunk)})
			return
		}
		for e := range x.chunkPieces(chunk, lower) {
			if !e.min.Less(upper) || !clipped(e) {
				return
			}
		}
	}
}

// chunkPieces returns the pieces of a chunk of the snapshot, beginning with the piece that contains
// from.
func (x *extents) chunkPieces(chunk catalog.Chunk, from catalog.Key) iter.Seq[extent] {
	return func(yield func(extent) bool) {
		if from.Less(chunk.Min) {
			from = chunk.Min
		}
		first := extent{min: from}
		x.pieces.Descend(first, func(e extent) bool {
			first = e
			return false
		})
		x.pieces.Ascend(first, func(e extent) bool { return e.min.Less(chunk.Max) && yield(e) })
	}
}

// sum returns the contents of a range.
func (x *extents) sum(lower, upper catalog.Key) (sum Amount) {
	if chunk := x.initialTable.Find(lower); chunk.Min == lower && chunk.Max == upper && !x.divided[lower] {
		return x.initialContents(chunk) // the usual case
	}
	for chunk := range x.initialTable.Overlapping(lower, upper) {
		if !chunk.Min.Less(lower) && !upper.Less(chunk.Max) && !x.divided[chunk.Min] {
			sum = sum.plus(x.initialContents(chunk))
			continue
		}
		for e := range x.withinChunk(chunk, lower, upper) {
			sum = sum.plus(e.Amount)
		}
	}
	return sum
}

// cutAtSamples splits a chunk of the snapshot at its sampled keys, each of which represents the same
// number of documents. It returns false if there are none.
func (x *extents) cutAtSamples(chunk catalog.Chunk) bool {
	keys := x.collection.SampledKeysIn(chunk.Min, chunk.Max)
	if len(keys) == 0 {
		return false
	}
	x.divided[chunk.Min] = true
	left, parts := x.initialContents(chunk), len(keys)+1
	lower, of := chunk.Min, 1
	put := func(upper catalog.Key) {
		amount := left.part(float64(of) / float64(parts))
		x.pieces.Set(extent{lower, upper, amount})
		left, parts = left.minus(amount), parts-of
	}
	for _, key := range keys {
		if key.Equal(lower) {
			of++
			continue
		}
		put(key)
		lower, of = key, 1
	}
	put(chunk.Max)
	return true
}

// sampleTolerance is the maximum distance of a sampled key from the wanted split point, as a fraction of
// the documents before that point.
const sampleTolerance = 0.25

// keyAfterDocuments returns a key of a range with about the given number of documents before it. It
// prefers a sampled key nearby.
func (x *extents) keyAfterDocuments(lower, upper catalog.Key, documents int64) (catalog.Key, bool) {
	tolerance := sampleTolerance * float64(documents)
	for e := range x.within(lower, upper) {
		if e.Documents <= documents {
			documents -= e.Documents
			continue
		}
		if key, ok := x.sampledNear(e, lower, upper, float64(documents), tolerance); ok {
			return key, true
		}
		if key, ok := x.initialTable.Pattern().KeyAtFraction(e.min, e.max, float64(documents)/float64(e.Documents)); ok {
			return key, true
		}
		if lower.Less(e.min) { // there is no key that close
			return e.min, true
		}
	}
	return catalog.Key{}, false
}

// sampledNear returns the bound of an extent that is closer to the given number of documents, if that
// bound is a sampled key inside the range and within tolerance.
func (x *extents) sampledNear(e extent, lower, upper catalog.Key, documents, tolerance float64) (catalog.Key, bool) {
	key, off := e.min, documents
	if rest := float64(e.Documents) - documents; rest < off {
		key, off = e.max, rest
	}
	_, sampled := slices.BinarySearchFunc(x.collection.Sampled, key, catalog.Key.Compare)
	return key, sampled && off <= tolerance && lower.Less(key) && key.Less(upper)
}

// cutAt splits the extent that contains a key at the key.
func (x *extents) cutAt(key catalog.Key) {
	p := x.initialTable.Pattern()
	if !key.Less(p.GlobalMax()) {
		return
	}
	chunk := x.initialTable.Find(key)
	if chunk.Min.Equal(key) {
		return
	}
	whole := extent{chunk.Min, chunk.Max, Amount{}}
	if x.divided[chunk.Min] || x.cutAtSamples(chunk) {
		for e := range x.chunkPieces(chunk, key) {
			whole = e
			break
		}
	} else {
		whole.Amount = x.initialContents(chunk)
		x.divided[chunk.Min] = true
	}
	before, after := whole.splitAt(p, key)
	for _, e := range []extent{before, after} {
		if e != (extent{}) {
			x.pieces.Set(e)
		}
	}
}

// part returns a fraction of an amount, rounded to whole documents.
func (a Amount) part(f float64) Amount {
	return Amount{int64(math.Round(f * float64(a.Documents))), int64(math.Round(f * float64(a.Bytes)))}
}
