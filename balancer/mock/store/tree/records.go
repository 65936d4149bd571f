package tree

import (
	"iter"
	"math/bits"
)

// Records holds a value at each record. Numbers that lie side by side, as those of
// documents that are never deleted, take no more than their values.
type Records[V any] struct {
	root   *page[V]
	levels int // of pages above those with values
	count  int
	mine   *edition
}

// perPage is how many values, or pages, a page has: as many as a word has bits.
const (
	perPage  = 64
	pageBits = 6
)

// page has values, or pages below it.
type page[V any] struct {
	edition *edition
	there   uint64 // a bit for each that there is
	values  *[perPage]V
	below   *[perPage]*page[V]
}

// Len returns the number of records.
func (t *Records[V]) Len() int { return t.count }

// Copy returns the records as they are now.
func (t *Records[V]) Copy() Records[V] {
	copied := *t
	copied.mine, t.mine = new(edition), new(edition)
	return copied
}

// covers reports whether the pages there are have room for a number.
func (t *Records[V]) covers(id uint64) bool {
	return t.root != nil && id>>(pageBits*(t.levels+1)) == 0
}

// Get returns the value at a record.
func (t *Records[V]) Get(id uint64) (v V, ok bool) {
	if !t.covers(id) {
		return v, false
	}
	p := t.root
	for level := t.levels; level > 0; level-- {
		if p = p.below[place(id, level)]; p == nil {
			return v, false
		}
	}
	i := place(id, 0)
	return p.values[i], p.there&(1<<i) != 0
}

// place returns where a number belongs in a page of a level.
func place(id uint64, level int) int { return int(id>>(pageBits*level)) % perPage }

// Set puts a value at a record.
func (t *Records[V]) Set(id uint64, v V) {
	if t.mine == nil {
		t.mine = new(edition)
	}
	for !t.covers(id) {
		t.grow(id)
	}
	p := t.own(&t.root)
	for level := t.levels; level > 0; level-- {
		i := place(id, level)
		if p.below[i] == nil {
			p.below[i] = t.newPage(level - 1)
			p.there |= 1 << i
		}
		p = t.own(&p.below[i])
	}
	i := place(id, 0)
	if p.there&(1<<i) == 0 {
		p.there |= 1 << i
		t.count++
	}
	p.values[i] = v
}

// grow makes a root with more room. The first one is made for the number that it
// is to have.
func (t *Records[V]) grow(id uint64) {
	if t.root == nil {
		t.levels = 0
		for id>>(pageBits*(t.levels+1)) != 0 {
			t.levels++
		}
		t.root = t.newPage(t.levels)
		return
	}
	t.levels++
	root := t.newPage(t.levels)
	root.there, root.below[0] = 1, t.root
	t.root = root
}

func (t *Records[V]) newPage(level int) *page[V] {
	if level == 0 {
		return &page[V]{edition: t.mine, values: new([perPage]V)}
	}
	return &page[V]{edition: t.mine, below: new([perPage]*page[V])}
}

// own returns a page that may be changed in place of the one there.
func (t *Records[V]) own(at **page[V]) *page[V] {
	p := *at
	if p.edition == t.mine {
		return p
	}
	copied := &page[V]{edition: t.mine, there: p.there}
	if p.below != nil {
		below := *p.below
		copied.below = &below
	} else {
		values := *p.values
		copied.values = &values
	}
	*at = copied
	return copied
}

// Delete takes a record away, and returns what was there.
func (t *Records[V]) Delete(id uint64) (v V, ok bool) {
	if v, ok = t.Get(id); !ok {
		return v, false
	}
	t.count--
	if t.delete(&t.root, t.levels, id) {
		t.root = nil
	}
	return v, true
}

// delete reports whether nothing is left of the page.
func (t *Records[V]) delete(at **page[V], level int, id uint64) (empty bool) {
	p := t.own(at)
	i := place(id, level)
	if level == 0 {
		var none V
		p.values[i] = none
	} else {
		if !t.delete(&p.below[i], level-1, id) {
			return false
		}
		p.below[i] = nil
	}
	p.there &^= 1 << i
	return p.there == 0
}

// All walks the records in order.
func (t *Records[V]) All() iter.Seq2[uint64, V] { return t.From(0) }

// From walks the records from a number on, in order.
func (t *Records[V]) From(id uint64) iter.Seq2[uint64, V] {
	return func(yield func(uint64, V) bool) {
		if t.root != nil && (t.covers(id) || id == 0) {
			t.root.ascend(t.levels, 0, id, yield)
		}
	}
}

// Backward walks the records from the last to the first.
func (t *Records[V]) Backward() iter.Seq2[uint64, V] {
	return func(yield func(uint64, V) bool) {
		if t.root != nil {
			t.root.descend(t.levels, 0, yield)
		}
	}
}

// ascend walks a page whose numbers begin with prefix, from a number on.
func (p *page[V]) ascend(level int, prefix, from uint64, yield func(uint64, V) bool) bool {
	first := 0
	if from > prefix {
		first = place(from, level)
	}
	for left := p.there >> first << first; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		id := prefix | uint64(i)<<(pageBits*level)
		if level > 0 {
			if !p.below[i].ascend(level-1, id, from, yield) {
				return false
			}
		} else if !yield(id, p.values[i]) {
			return false
		}
	}
	return true
}

func (p *page[V]) descend(level int, prefix uint64, yield func(uint64, V) bool) bool {
	for left := p.there; left != 0; {
		i := bits.Len64(left) - 1
		left &^= 1 << i
		id := prefix | uint64(i)<<(pageBits*level)
		if level > 0 {
			if !p.below[i].descend(level-1, id, yield) {
				return false
			}
		} else if !yield(id, p.values[i]) {
			return false
		}
	}
	return true
}
