package sim

import (
	"iter"
	"math"
	"slices"

	"github.com/tidwall/btree"

	"shardsh/balancer/catalog"
)

// extent is data that lie evenly between two keys. The chunks of the snapshot are
// an extent each, whatever becomes of them; only what moves is cut, at the bounds
// of what moves.
type extent struct {
	min, max catalog.Key
	Amount
}

// cut splits an extent at a key; either part may be empty.
func (e extent) cut(p catalog.KeyPattern, at catalog.Key) (before, after extent) {
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

// extents are those of a collection: of the chunks that are not in cut they are
// the chunks of the snapshot.
type extents struct {
	of      *catalog.CollectionState
	first   *catalog.RoutingTable
	initial func(catalog.Chunk) Amount
	cut     map[catalog.Key]bool // by lower bound of the chunk
	pieces  *btree.BTreeG[extent]
}

func newExtents(of *catalog.CollectionState, initial func(catalog.Chunk) Amount) *extents {
	less := func(a, b extent) bool { return a.min.Less(b.min) }
	return &extents{
		of: of, first: of.Table, initial: initial, cut: map[catalog.Key]bool{},
		pieces: btree.NewBTreeGOptions(less, btree.Options{NoLocks: true}),
	}
}

// inside visits the extents, and parts of extents, of a range, in key order.
func (x *extents) inside(lower, upper catalog.Key) iter.Seq[extent] {
	return func(yield func(extent) bool) {
		for chunk := range x.first.Overlapping(lower, upper) {
			for e := range x.insideOf(chunk, lower, upper) {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// insideOf visits those of a chunk of the snapshot.
func (x *extents) insideOf(chunk catalog.Chunk, lower, upper catalog.Key) iter.Seq[extent] {
	p := x.first.Pattern()
	return func(yield func(extent) bool) {
		clipped := func(e extent) bool {
			_, e = e.cut(p, lower)
			e, _ = e.cut(p, upper)
			return e == (extent{}) || yield(e)
		}
		if !x.cut[chunk.Min] && !x.divide(chunk) {
			clipped(extent{chunk.Min, chunk.Max, x.initial(chunk)})
			return
		}
		for e := range x.piecesOf(chunk, lower) {
			if !e.min.Less(upper) || !clipped(e) {
				return
			}
		}
	}
}

// piecesOf visits the pieces of a chunk of the snapshot from the one that a key is in.
func (x *extents) piecesOf(chunk catalog.Chunk, from catalog.Key) iter.Seq[extent] {
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

// sum returns what a range holds.
func (x *extents) sum(lower, upper catalog.Key) (sum Amount) {
	if chunk := x.first.Find(lower); chunk.Min == lower && chunk.Max == upper && !x.cut[lower] {
		return x.initial(chunk) // as nearly always
	}
	for chunk := range x.first.Overlapping(lower, upper) {
		if !chunk.Min.Less(lower) && !upper.Less(chunk.Max) && !x.cut[chunk.Min] {
			sum = sum.plus(x.initial(chunk))
			continue
		}
		for e := range x.insideOf(chunk, lower, upper) {
			sum = sum.plus(e.Amount)
		}
	}
	return sum
}

// divide cuts a chunk of the snapshot at the keys that were sampled in it, each of which
// stands for as many documents. It is false where there are none.
func (x *extents) divide(chunk catalog.Chunk) bool {
	keys := x.of.SampledIn(chunk.Min, chunk.Max)
	if len(keys) == 0 {
		return false
	}
	x.cut[chunk.Min] = true
	left, parts := x.initial(chunk), len(keys)+1
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

// near is how far from where a cut is wanted a sampled key is taken for it, as a share of the
// documents that are cut off.
const near = 0.25

// after returns a key of a range with so many documents of it before: where a sampled key
// lies near, that.
func (x *extents) after(lower, upper catalog.Key, documents int64) (catalog.Key, bool) {
	tolerance := near * float64(documents)
	for e := range x.inside(lower, upper) {
		if e.Documents <= documents {
			documents -= e.Documents
			continue
		}
		if key, ok := x.sampledNear(e, lower, upper, float64(documents), tolerance); ok {
			return key, true
		}
		if key, ok := x.first.Pattern().Between(e.min, e.max, float64(documents)/float64(e.Documents)); ok {
			return key, true
		}
		if lower.Less(e.min) { // there is no key so near to it
			return e.min, true
		}
	}
	return catalog.Key{}, false
}

// sampledNear returns the end of an extent that is nearer to where so many of its documents
// are passed, if it is a sampled key inside a range.
func (x *extents) sampledNear(e extent, lower, upper catalog.Key, documents, tolerance float64) (catalog.Key, bool) {
	key, off := e.min, documents
	if rest := float64(e.Documents) - documents; rest < off {
		key, off = e.max, rest
	}
	_, sampled := slices.BinarySearchFunc(x.of.Sampled, key, catalog.Key.Compare)
	return key, sampled && off <= tolerance && lower.Less(key) && key.Less(upper)
}

// cutAt makes a key a bound of extents.
func (x *extents) cutAt(key catalog.Key) {
	p := x.first.Pattern()
	if !key.Less(p.GlobalMax()) {
		return
	}
	chunk := x.first.Find(key)
	if chunk.Min.Equal(key) {
		return
	}
	whole := extent{chunk.Min, chunk.Max, Amount{}}
	if x.cut[chunk.Min] || x.divide(chunk) {
		for e := range x.piecesOf(chunk, key) {
			whole = e
			break
		}
	} else {
		whole.Amount = x.initial(chunk)
		x.cut[chunk.Min] = true
	}
	before, after := whole.cut(p, key)
	for _, e := range []extent{before, after} {
		if e != (extent{}) {
			x.pieces.Set(e)
		}
	}
}

// part returns a fraction of an amount, whole documents.
func (a Amount) part(f float64) Amount {
	return Amount{int64(math.Round(f * float64(a.Documents))), int64(math.Round(f * float64(a.Bytes)))}
}
