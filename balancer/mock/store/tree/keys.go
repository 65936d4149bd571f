// Package tree holds what a collection is made of: the keys of an index in their
// order, and what lies at each record. Both are copied in constant time; what is
// written to one of two copies later copies the nodes on its way.
//
// A tree is not safe for concurrent use, but several copies are, each for itself.
package tree

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
)

// edition marks the nodes that a tree may change: those it has made since it was
// copied last.
type edition struct{ _ byte }

// Keys is an ordered set of keys, each with a record. What ScanIndex and its like
// hand out stays as it is, as long as it comes from a copy.
//
// It is a B+ tree whose nodes keep their entries in one piece of memory each:
// an entry takes its key and 12 bytes, and the collector of garbage looks at none.
type Keys struct {
	root  *node
	count int
	mine  *edition
}

const (
	// maxEntries and maxBytes are when a node is cut in two. One entry alone may
	// be larger.
	maxEntries = 64
	maxBytes   = 8 << 10
	// fewEntries is when a node is joined with a neighbour, if both are no more
	// than roomyEntries then.
	fewEntries   = maxEntries / 4
	roomyEntries = maxEntries * 3 / 4
)

// node is a leaf with entries, or an inner node: its entries are the first ones
// of its children, but for the first child's.
type node struct {
	entries
	edition  *edition
	children []*node // nil in a leaf
}

// NewKeys returns an empty set.
func NewKeys() *Keys {
	mine := new(edition)
	return &Keys{root: &node{edition: mine}, mine: mine}
}

// Len returns the number of entries.
func (t *Keys) Len() int { return t.count }

// Copy returns the set as it is now.
func (t *Keys) Copy() *Keys {
	copied := *t
	copied.mine, t.mine = new(edition), new(edition)
	return &copied
}

// own returns a node that may be changed in place of the one there.
func (t *Keys) own(at **node) *node {
	n := *at
	if n.edition != t.mine {
		n = &node{entries: n.entries.copy(), edition: t.mine, children: slices.Clone(n.children)}
		*at = n
	}
	return n
}

// Record returns the first record that has exactly this key; false without one.
func (t *Keys) Record(key []byte) (record uint64, ok bool) {
	if t.behind(key) {
		return 0, false
	}
	n := t.root
	for n.children != nil {
		n = n.children[n.child(key, 0)]
	}
	i, _ := n.search(key, 0)
	if i == n.len() {
		return t.recordBehind(key)
	}
	found, record := n.at(i)
	return record, bytes.Equal(found, key)
}

// recordBehind is Record where the key would be the last of its leaf: the first
// entry of the next one may be it.
func (t *Keys) recordBehind(key []byte) (uint64, bool) {
	for record, found := range t.From(key) {
		return record, bytes.Equal(found, key)
	}
	return 0, false
}

// behind reports whether a key comes after all there are, as nearly every new one
// does: no node on the way to its place has to be searched.
func (t *Keys) behind(key []byte) bool {
	n := t.root
	for n.children != nil {
		n = n.children[len(n.children)-1]
	}
	last := n.len() - 1
	return last >= 0 && bytes.Compare(n.keyAt(last), key) < 0
}

// Set adds an entry, if it is not there.
func (t *Keys) Set(key []byte, record uint64) {
	grown, right, first := t.set(t.own(&t.root), entry{key, record}, t.behind(key))
	if grown {
		t.count++
	}
	if right == nil {
		return
	}
	root := &node{edition: t.mine, children: []*node{t.root, right}}
	root.insert(0, first.key, first.record)
	t.root = root
}

// entry is a key and its record.
type entry struct {
	key    []byte
	record uint64
}

// set adds an entry below a node that may be changed; last says that it comes after
// all others. If the node had to be cut, right is its other half, and first the
// first entry of that.
func (t *Keys) set(n *node, e entry, last bool) (grown bool, right *node, first entry) {
	i := n.len()
	if n.children == nil {
		found := false
		if !last {
			i, found = n.search(e.key, e.record)
		}
		if found {
			return false, nil, entry{}
		}
		right, first = t.setInLeaf(n, i, e, last)
		return true, right, first
	}
	if !last {
		i = n.child(e.key, e.record)
	}
	grown, half, first := t.set(t.own(&n.children[i]), e, last)
	if half == nil {
		return grown, nil, entry{}
	}
	n.insert(i, first.key, first.record)
	n.children = slices.Insert(n.children, i+1, half)
	if !n.full() {
		return grown, nil, entry{}
	}
	cut := len(n.children) / 2
	if i+2 == len(n.children) {
		cut = i + 1 // keys that ascend leave full nodes behind
	}
	first.key, first.record = n.at(cut - 1)
	right = &node{entries: n.from(cut), edition: t.mine, children: slices.Clone(n.children[cut:])}
	n.truncate(cut - 1)
	clear(n.children[cut:])
	n.children = n.children[:cut]
	return grown, right, entry{bytes.Clone(first.key), first.record}
}

// setInLeaf adds an entry to a leaf that may be changed, at its place.
func (t *Keys) setInLeaf(n *node, i int, e entry, last bool) (right *node, first entry) {
	if !n.full() {
		n.insert(i, e.key, e.record)
		return nil, entry{}
	}
	right = &node{edition: t.mine}
	if i == n.len() { // keys that ascend leave full leaves behind
		was := n.entries
		n.entries = was.from(0)
		if last && cap(was.data) <= 2*maxBytes { // it will be as full; large keys are rare
			was.truncate(0)
			right.entries = was
		}
		right.insert(0, e.key, e.record)
	} else {
		cut := n.len() / 2
		right.entries = n.from(cut)
		n.truncate(cut)
		if i <= cut {
			n.insert(i, e.key, e.record)
		} else {
			right.insert(i-cut, e.key, e.record)
		}
	}
	first.key, first.record = right.at(0)
	return right, first
}

// Delete takes an entry away, if it is there.
func (t *Keys) Delete(key []byte, record uint64) {
	if !t.delete(t.own(&t.root), key, record) {
		return
	}
	t.count--
	for len(t.root.children) == 1 {
		t.root = t.root.children[0]
	}
}

func (t *Keys) delete(n *node, key []byte, record uint64) bool {
	if n.children == nil {
		i, found := n.search(key, record)
		if found {
			n.remove(i)
		}
		return found
	}
	i := n.child(key, record)
	child := t.own(&n.children[i])
	if !t.delete(child, key, record) {
		return false
	}
	if child.len() < fewEntries {
		t.tidy(n, i)
	}
	return true
}

// tidy joins a child that has become small with a neighbour, or takes it away
// where nothing is left of it.
func (t *Keys) tidy(n *node, i int) {
	switch {
	case n.children[i].children == nil && n.children[i].len() == 0 && len(n.children) > 1:
		n.remove(max(i-1, 0))
		n.children = slices.Delete(n.children, i, i+1)
	case i > 0 && t.join(n, i-1):
	case i+1 < len(n.children):
		t.join(n, i)
	}
}

// join puts a child and the next one together, if there is room.
func (t *Keys) join(n *node, i int) bool {
	left, right := n.children[i], n.children[i+1]
	if left.len()+right.len() >= roomyEntries || len(left.data)+len(right.data) >= maxBytes {
		return false
	}
	left = t.own(&n.children[i])
	if left.children != nil {
		left.insert(left.len(), n.keyAt(i), n.recordAt(i))
		left.children = append(left.children, right.children...)
	}
	left.append(right.entries)
	n.remove(i)
	n.children = slices.Delete(n.children, i+1, i+2)
	return true
}

// All walks all entries in order.
func (t *Keys) All() iter.Seq2[uint64, []byte] { return t.From(nil) }

// From walks the entries from a key on, in order.
func (t *Keys) From(key []byte) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) { t.root.ascend(key, yield) }
}

// Backward walks all entries from the last to the first.
func (t *Keys) Backward() iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) { t.root.descend(nil, true, yield) }
}

// Below walks the entries with keys less than one, from the last to the first.
func (t *Keys) Below(key []byte) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) { t.root.descend(key, false, yield) }
}

func (n *node) ascend(key []byte, yield func(uint64, []byte) bool) bool {
	if n.children == nil {
		first, _ := n.search(key, 0)
		for i := first; i < n.len(); i++ {
			if key, record := n.at(i); !yield(record, key) {
				return false
			}
		}
		return true
	}
	for i := n.child(key, 0); i < len(n.children); i++ {
		if !n.children[i].ascend(key, yield) {
			return false
		}
		key = nil
	}
	return true
}

// descend walks the entries below a key, or all.
func (n *node) descend(key []byte, all bool, yield func(uint64, []byte) bool) bool {
	end := n.len()
	if !all {
		end, _ = n.search(key, 0)
	}
	if n.children == nil {
		for i := end - 1; i >= 0; i-- {
			if key, record := n.at(i); !yield(record, key) {
				return false
			}
		}
		return true
	}
	for i := end; i >= 0; i-- {
		if !n.children[i].descend(key, all, yield) {
			return false
		}
		all = true
	}
	return true
}

// child returns which child an entry belongs to.
func (n *node) child(key []byte, record uint64) int {
	i, found := n.search(key, record)
	if found {
		i++
	}
	return i
}

// entries are keys and their records in order, one after another in one piece of
// memory.
type entries struct {
	data []byte   // of each the key and the record
	ends []uint32 // where each ends
}

const recordBytes = 8

func (e *entries) len() int { return len(e.ends) }

func (e *entries) full() bool {
	return len(e.ends) >= maxEntries || len(e.data) >= maxBytes && len(e.ends) > 3
}

func (e *entries) start(i int) int {
	if i == 0 {
		return 0
	}
	return int(e.ends[i-1])
}

func (e *entries) keyAt(i int) []byte {
	end := int(e.ends[i]) - recordBytes
	return e.data[e.start(i):end:end]
}

func (e *entries) recordAt(i int) uint64 {
	return binary.BigEndian.Uint64(e.data[e.ends[i]-recordBytes:])
}

func (e *entries) at(i int) (key []byte, record uint64) { return e.keyAt(i), e.recordAt(i) }

// search returns the place of the first entry that is not before this one.
func (e *entries) search(key []byte, record uint64) (at int, found bool) {
	from, to := 0, len(e.ends)
	for from < to {
		mid := int(uint(from+to) >> 1)
		c := bytes.Compare(e.keyAt(mid), key)
		if c == 0 {
			is := e.recordAt(mid)
			if is == record {
				return mid, true
			}
			if is > record {
				c = 1
			}
		}
		if c > 0 {
			to = mid
		} else {
			from = mid + 1
		}
	}
	return from, false
}

func (e *entries) insert(i int, key []byte, record uint64) {
	start, size, was := e.start(i), len(key)+recordBytes, len(e.data)
	e.data = slices.Grow(e.data, size)[:was+size]
	copy(e.data[start+size:], e.data[start:was])
	copy(e.data[start:], key)
	binary.BigEndian.PutUint64(e.data[start+len(key):], record)
	e.ends = slices.Insert(e.ends, i, uint32(start))
	for j := i; j < len(e.ends); j++ {
		e.ends[j] += uint32(size)
	}
}

func (e *entries) remove(i int) {
	start, end := e.start(i), int(e.ends[i])
	e.data = slices.Delete(e.data, start, end)
	e.ends = slices.Delete(e.ends, i, i+1)
	for j := i; j < len(e.ends); j++ {
		e.ends[j] -= uint32(end - start)
	}
	if cap(e.data) > 4*len(e.data)+maxEntries {
		*e = e.copy()
	}
}

// from returns a copy of the entries behind the first i.
func (e *entries) from(i int) entries {
	start := e.start(i)
	rest := entries{data: bytes.Clone(e.data[start:]), ends: slices.Clone(e.ends[i:])}
	for j := range rest.ends {
		rest.ends[j] -= uint32(start)
	}
	return rest
}

// truncate leaves the first i entries.
func (e *entries) truncate(i int) {
	e.data, e.ends = e.data[:e.start(i)], e.ends[:i]
}

func (e *entries) append(more entries) {
	end := uint32(len(e.data))
	e.data = append(e.data, more.data...)
	for _, other := range more.ends {
		e.ends = append(e.ends, end+other)
	}
}

// copy returns entries that have room for one more: they are copied to be
// changed.
func (e *entries) copy() entries {
	const room = 32
	return entries{
		data: append(make([]byte, 0, len(e.data)+room), e.data...),
		ends: append(make([]uint32, 0, len(e.ends)+1), e.ends...),
	}
}
