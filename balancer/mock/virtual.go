package mock

import (
	"iter"
	"math"

	"github.com/tidwall/btree"
	"go.mongodb.org/mongo-driver/v2/bson"

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
	f := fraction(p, e.min, e.max, at)
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
		return between(p, part.min, part.max, float64(n)/float64(part.docs))
	}
	return catalog.Key{}, false
}

// fraction tells how far key lies between two bounds, from 0 to 1, by the
// first field in which the bounds differ; one half where that can't be told.
func fraction(p catalog.KeyPattern, min, max, key catalog.Key) float64 {
	l, field, ok := spread(p, min, max)
	if !ok {
		return 0.5
	}
	switch v := elements(p, key)[field].Value(); v.Type {
	case bson.TypeMinKey:
		return 0
	case bson.TypeMaxKey:
		return 1
	default:
		at, ok := number(v)
		if !ok {
			return 0.5
		}
		return math.Min(1, math.Max(0, l.fraction(at)))
	}
}

// between is the key a fraction of the way between two bounds. It is whole in
// the type of a bound's field.
func between(p catalog.KeyPattern, min, max catalog.Key, f float64) (catalog.Key, bool) {
	l, field, ok := spread(p, min, max)
	if !ok {
		return catalog.Key{}, false
	}
	lower := elements(p, min)
	sample := lower[field].Value()
	if sample.Type == bson.TypeMinKey {
		sample = elements(p, max)[field].Value()
	}
	bound := bson.D{}
	for i, name := range p.Fields() {
		switch {
		case i < field:
			bound = append(bound, bson.E{Key: name, Value: lower[i].Value()})
		case i == field:
			bound = append(bound, bson.E{Key: name, Value: numberLike(sample, l.at(f), p.HashedField() == field)})
		default:
			bound = append(bound, bson.E{Key: name, Value: bson.MinKey{}})
		}
	}
	raw, err := bson.Marshal(bound)
	if err != nil {
		return catalog.Key{}, false
	}
	key, err := p.Key(raw)
	if err != nil || key.Compare(min) <= 0 || key.Compare(max) >= 0 {
		return catalog.Key{}, false
	}
	return key, true
}

// line is a stretch of numbers that data lies along, evenly when it has two
// ends; towards an open end ever thinner.
type line struct {
	lo, hi         float64
	openLo, openHi bool
}

// openScale is how far from its closed end half of an open line's data lies.
const openScale = 1e6

func (l line) fraction(at float64) float64 {
	switch {
	case l.openLo && l.openHi:
		return 0.5 + math.Atan(at/openScale)/math.Pi
	case l.openLo:
		return openScale / (openScale + l.hi - at)
	case l.openHi:
		return (at - l.lo) / (openScale + at - l.lo)
	}
	return (at - l.lo) / (l.hi - l.lo)
}

// at is the inverse of fraction.
func (l line) at(f float64) float64 {
	f = math.Min(1-1e-9, math.Max(1e-9, f))
	switch {
	case l.openLo && l.openHi:
		return openScale * math.Tan((f-0.5)*math.Pi)
	case l.openLo:
		return l.hi - openScale*(1/f-1)
	case l.openHi:
		return l.lo + openScale*f/(1-f)
	}
	return l.lo + (l.hi-l.lo)*f
}

// spread puts two bounds on a line: the first field in which they differ. It
// fails where that field is neither a number nor a date.
func spread(p catalog.KeyPattern, min, max catalog.Key) (l line, field int, ok bool) {
	a, b := elements(p, min), elements(p, max)
	for field = range a {
		lower, upper := a[field].Value(), b[field].Value()
		if lower.Equal(upper) {
			continue
		}
		l.openLo, l.openHi = lower.Type == bson.TypeMinKey, upper.Type == bson.TypeMaxKey
		if p.HashedField() == field {
			// Hashes fill the whole range of 64 bits.
			l.openLo, l.openHi = false, false
			l.lo, l.hi = math.MinInt64, math.MaxInt64
		}
		okLo, okHi := l.openLo || lower.Type == bson.TypeMinKey, l.openHi || upper.Type == bson.TypeMaxKey
		if !okLo {
			l.lo, okLo = number(lower)
		}
		if !okHi {
			l.hi, okHi = number(upper)
		}
		return l, field, okLo && okHi
	}
	return line{}, 0, false
}

func number(v bson.RawValue) (float64, bool) {
	if v.Type == bson.TypeDateTime {
		return float64(v.DateTime()), true
	}
	return v.AsFloat64OK()
}

func numberLike(sample bson.RawValue, x float64, hashed bool) any {
	switch {
	case hashed || sample.Type == bson.TypeInt64:
		return int64(x)
	case sample.Type == bson.TypeDateTime:
		return bson.DateTime(int64(x))
	case sample.Type == bson.TypeDouble:
		return x
	case math.Abs(x) < math.MaxInt32:
		return int32(x)
	}
	return int64(x)
}

func elements(p catalog.KeyPattern, k catalog.Key) []bson.RawElement {
	elems, err := p.Bound(k).Elements()
	if err != nil {
		return nil
	}
	return elems
}
