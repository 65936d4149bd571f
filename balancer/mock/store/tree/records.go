package tree

import (
	"iter"
	"math/bits"
)

// Records is a copy-on-write map from record numbers to values. With consecutive numbers, as for
// documents that are never deleted, it takes hardly more memory than the values.
type Records[V any] struct {
	root   *page[V]
	levels int // number of page levels above the leaf pages
	count  int
	owner  *owner
}

// pageSize is the number of slots of a page: the number of bits in a word.
const (
	pageSize = 64
	pageBits = 6
)

// page holds values, or child pages.
type page[V any] struct {
	owner    *owner
	present  uint64 // bitmap of the occupied slots
	values   *[pageSize]V
	children *[pageSize]*page[V]
}

// Len returns the number of records.
func (r *Records[V]) Len() int { return r.count }

// Copy returns a copy of the records.
func (r *Records[V]) Copy() Records[V] {
	copied := *r
	copied.owner, r.owner = new(owner), new(owner)
	return copied
}

// canHold reports whether the tree has enough levels for a number.
func (r *Records[V]) canHold(id uint64) bool {
	return r.root != nil && id>>(pageBits*(r.levels+1)) == 0
}

// Get returns the value of a record.
func (r *Records[V]) Get(id uint64) (v V, ok bool) {
	if !r.canHold(id) {
		return v, false
	}
	p := r.root
	for level := r.levels; level > 0; level-- {
		if p = p.children[slotOf(id, level)]; p == nil {
			return v, false
		}
	}
	i := slotOf(id, 0)
	return p.values[i], p.present&(1<<i) != 0
}

// slotOf returns the slot of a number in a page of the given level.
func slotOf(id uint64, level int) int { return int(id>>(pageBits*level)) % pageSize }

// Set sets the value of a record.
func (r *Records[V]) Set(id uint64, v V) {
	if r.owner == nil {
		r.owner = new(owner)
	}
	for !r.canHold(id) {
		r.addLevel(id)
	}
	p := r.mutablePage(&r.root)
	for level := r.levels; level > 0; level-- {
		i := slotOf(id, level)
		if p.children[i] == nil {
			p.children[i] = r.newPage(level - 1)
			p.present |= 1 << i
		}
		p = r.mutablePage(&p.children[i])
	}
	i := slotOf(id, 0)
	if p.present&(1<<i) == 0 {
		p.present |= 1 << i
		r.count++
	}
	p.values[i] = v
}

// addLevel adds a level above the root. The first root gets enough levels for id.
func (r *Records[V]) addLevel(id uint64) {
	if r.root == nil {
		r.levels = 0
		for id>>(pageBits*(r.levels+1)) != 0 {
			r.levels++
		}
		r.root = r.newPage(r.levels)
		return
	}
	r.levels++
	root := r.newPage(r.levels)
	root.present, root.children[0] = 1, r.root
	r.root = root
}

func (r *Records[V]) newPage(level int) *page[V] {
	if level == 0 {
		return &page[V]{owner: r.owner, values: new([pageSize]V)}
	}
	return &page[V]{owner: r.owner, children: new([pageSize]*page[V])}
}

// mutablePage returns the page at a pointer. If the tree does not own the page, it replaces it by a
// copy.
func (r *Records[V]) mutablePage(at **page[V]) *page[V] {
	p := *at
	if p.owner == r.owner {
		return p
	}
	copied := &page[V]{owner: r.owner, present: p.present}
	if p.children != nil {
		below := *p.children
		copied.children = &below
	} else {
		values := *p.values
		copied.values = &values
	}
	*at = copied
	return copied
}

// Delete removes a record and returns its value.
func (r *Records[V]) Delete(id uint64) (v V, ok bool) {
	if v, ok = r.Get(id); !ok {
		return v, false
	}
	r.count--
	if r.deleteBelow(&r.root, r.levels, id) {
		r.root = nil
	}
	return v, true
}

// deleteBelow deletes a record and reports whether the page is empty afterwards.
func (r *Records[V]) deleteBelow(at **page[V], level int, id uint64) (empty bool) {
	p := r.mutablePage(at)
	i := slotOf(id, level)
	if level == 0 {
		var none V
		p.values[i] = none
	} else {
		if !r.deleteBelow(&p.children[i], level-1, id) {
			return false
		}
		p.children[i] = nil
	}
	p.present &^= 1 << i
	return p.present == 0
}

// All iterates over the records in order.
func (r *Records[V]) All() iter.Seq2[uint64, V] { return r.From(0) }

// From iterates over the records from a number on, in order.
func (r *Records[V]) From(id uint64) iter.Seq2[uint64, V] {
	return func(yield func(uint64, V) bool) {
		if r.root != nil && (r.canHold(id) || id == 0) {
			r.root.ascend(r.levels, 0, id, yield)
		}
	}
}

// Backward iterates over the records from the last to the first.
func (r *Records[V]) Backward() iter.Seq2[uint64, V] {
	return func(yield func(uint64, V) bool) {
		if r.root != nil {
			r.root.descend(r.levels, 0, yield)
		}
	}
}

// ascend iterates over the records of a page whose numbers begin with prefix, starting at from.
func (p *page[V]) ascend(level int, prefix, from uint64, yield func(uint64, V) bool) bool {
	first := 0
	if from > prefix {
		first = slotOf(from, level)
	}
	for left := p.present >> first << first; left != 0; left &= left - 1 {
		i := bits.TrailingZeros64(left)
		id := prefix | uint64(i)<<(pageBits*level)
		if level > 0 {
			if !p.children[i].ascend(level-1, id, from, yield) {
				return false
			}
		} else if !yield(id, p.values[i]) {
			return false
		}
	}
	return true
}

func (p *page[V]) descend(level int, prefix uint64, yield func(uint64, V) bool) bool {
	for left := p.present; left != 0; {
		i := bits.Len64(left) - 1
		left &^= 1 << i
		id := prefix | uint64(i)<<(pageBits*level)
		if level > 0 {
			if !p.children[i].descend(level-1, id, yield) {
				return false
			}
		} else if !yield(id, p.values[i]) {
			return false
		}
	}
	return true
}
