package mock

import (
	"iter"
	"math"

	"github.com/tidwall/btree"

	"shardsh/balancer/catalog"
)

// extent is virtual data: documents and bytes that a range is said to hold
// and that never materialise. They lie evenly between the bounds; in a range
// with an open end most lie near the other one.
type extent struct {
	min, max    catalog.Key
	docs, bytes int64
}

// virtualData is the virtual part of a collection on one shard: extents in
// key order that do not overlap, and their sums. The zero value is empty; a
// copy shares the extents.
type virtualData struct {
	extents     *btree.BTreeG[extent] // by lower bound; nil = none
	docs, bytes int64
	watch       *extentWatch // nil keeps no notes of changes
}

// all are the extents in key order.
func (v virtualData) all() iter.Seq[extent] { return v.from(catalog.Key{}) }

// from are the extents that end above a key, in key order; all for the zero
// Key.
func (v virtualData) from(k catalog.Key) iter.Seq[extent] {
	return func(yield func(extent) bool) {
		if v.extents == nil {
			return
		}
		first := extent{min: k}
		v.extents.Descend(first, func(e extent) bool {
			if k.Less(e.max) {
				first = e
			}
			return false
		})
		v.extents.Ascend(first, yield)
	}
}

// inside are the extents, or the parts of extents, that lie in [min, max).
func (v virtualData) inside(p catalog.KeyPattern, min, max catalog.Key) iter.Seq[extent] {
	return func(yield func(extent) bool) {
		for e := range v.from(min) {
			if e.min.Compare(max) >= 0 {
				return
			}
			_, part := e.cut(p, min)
			if part, _ = part.cut(p, max); !part.empty() && !yield(part) {
				return
			}
		}
	}
}

// within sums what lies in [min, max). Extents that a bound cuts count in
// part.
func (v virtualData) within(p catalog.KeyPattern, min, max catalog.Key) (docs, bytes int64) {
	for e := range v.inside(p, min, max) {
		docs += e.docs
		bytes += e.bytes
	}
	return docs, bytes
}

// take cuts [min, max) out and gives what it held.
func (v *virtualData) take(p catalog.KeyPattern, min, max catalog.Key) (taken virtualData) {
	var touched []extent
	for e := range v.from(min) {
		if e.min.Compare(max) >= 0 {
			break
		}
		touched = append(touched, e)
	}
	for _, e := range touched {
		v.extents.Delete(e)
		v.watch.note(e.min)
		v.docs, v.bytes = v.docs-e.docs, v.bytes-e.bytes
		before, rest := e.cut(p, min)
		part, after := rest.cut(p, max)
		v.add(before)
		v.add(after)
		taken.add(part)
	}
	return taken
}

// add puts an extent in that overlaps none.
func (v *virtualData) add(e extent) {
	if e.empty() {
		return
	}
	if v.extents == nil {
		v.extents = btree.NewBTreeGOptions(func(a, b extent) bool { return a.min.Less(b.min) }, btree.Options{NoLocks: true})
	}
	v.extents.Set(e)
	v.watch.note(e.min)
	v.docs, v.bytes = v.docs+e.docs, v.bytes+e.bytes
}

// merge puts other extents in.
func (v *virtualData) merge(other virtualData) {
	for e := range other.all() {
		v.add(e)
	}
}

func (e extent) empty() bool { return e.docs == 0 && e.bytes == 0 }

// cut splits an extent at a key; either part may be empty.
func (e extent) cut(p catalog.KeyPattern, at catalog.Key) (before, after extent) {
	if e.empty() || at.Compare(e.min) <= 0 {
		return extent{}, e
	}
	if at.Compare(e.max) >= 0 {
		return e, extent{}
	}
	f := p.Fraction(e.min, e.max, at)
	before, after = e, e
	before.max, after.min = at, at
	before.docs = int64(math.Round(f * float64(e.docs)))
	before.bytes = int64(math.Round(f * float64(e.bytes)))
	after.docs -= before.docs
	after.bytes -= before.bytes
	return before, after
}

// pointAfter is a key with about n of the documents of [min, max) below it;
// false when the data has no room for one.
func (v virtualData) pointAfter(p catalog.KeyPattern, min, max catalog.Key, n int64) (catalog.Key, bool) {
	for part := range v.inside(p, min, max) {
		if part.docs <= n {
			n -= part.docs
			continue
		}
		return p.Between(part.min, part.max, float64(n)/float64(part.docs))
	}
	return catalog.Key{}, false
}
