// Package tree implements the data structures of a collection: the sorted keys of an index, and the
// records. Both are copied in constant time. A later write to one of the copies copies the nodes on its
// path.
//
// A tree is not safe for concurrent use, but different copies may be used concurrently.
package tree

import (
	"bytes"
	"encoding/binary"
	"iter"
	"slices"
)

// owner marks the nodes that a tree owns and may change: those created since the last copy (copy on
// write).
type owner struct{ _ byte }

// Keys is an ordered set of keys, each with a record. The keys that iterations over a copy return do not
// change.
//
// It is a B+ tree. Each node stores its entries in one block of memory: an entry takes its key and 12
// bytes, and the garbage collector does not scan entries.
type Keys struct {
	root  *node
	count int
	owner *owner
}

const (
	// maxEntries and maxBytes are the limits above which a node is split. A single entry may be larger.
	maxEntries = 64
	maxBytes   = 8 << 10
	// minEntries is the size below which a node is merged with a sibling, if both together have less
	// than maxJoinedEntries.
	minEntries       = maxEntries / 4
	maxJoinedEntries = maxEntries * 3 / 4
)

// node is a leaf with entries, or an inner node. The entries of an inner node are the first entries of
// its children, without that of the first child.
type node struct {
	entries
	owner    *owner
	children []*node // nil for a leaf
}

// NewKeys returns an empty set.
func NewKeys() *Keys {
	mine := new(owner)
	return &Keys{root: &node{owner: mine}, owner: mine}
}

// Len returns the number of entries.
func (k *Keys) Len() int { return k.count }

// Copy returns a copy of the set.
func (k *Keys) Copy() *Keys {
	copied := *k
	copied.owner, k.owner = new(owner), new(owner)
	return &copied
}

// mutableNode returns the node at a pointer. If the tree does not own the node, it replaces it by a
// copy.
func (k *Keys) mutableNode(at **node) *node {
	n := *at
	if n.owner != k.owner {
		n = &node{entries: n.entries.copy(), owner: k.owner, children: slices.Clone(n.children)}
		*at = n
	}
	return n
}

// FirstRecord returns the first record with exactly this key, and false if there is none.
func (k *Keys) FirstRecord(key []byte) (record uint64, ok bool) {
	if k.isPastEnd(key) {
		return 0, false
	}
	n := k.root
	for n.children != nil {
		n = n.children[n.childIndex(key, 0)]
	}
	i, _ := n.search(key, 0)
	if i == n.len() {
		return k.nextLeafRecord(key)
	}
	found, record := n.entryAt(i)
	return record, bytes.Equal(found, key)
}

// nextLeafRecord is FirstRecord for a key after the last one in its leaf: the first entry of the next
// leaf may match.
func (k *Keys) nextLeafRecord(key []byte) (uint64, bool) {
	for record, found := range k.From(key) {
		return record, bytes.Equal(found, key)
	}
	return 0, false
}

// isPastEnd reports whether a key is greater than all existing keys. Nearly every new key is; then no
// node on its path needs a search.
func (k *Keys) isPastEnd(key []byte) bool {
	n := k.root
	for n.children != nil {
		n = n.children[len(n.children)-1]
	}
	last := n.len() - 1
	return last >= 0 && bytes.Compare(n.keyAt(last), key) < 0
}

// Add adds an entry unless it exists.
func (k *Keys) Add(key []byte, record uint64) {
	grown, right, first := k.addBelow(k.mutableNode(&k.root), entry{key, record}, k.isPastEnd(key))
	if grown {
		k.count++
	}
	if right == nil {
		return
	}
	root := &node{owner: k.owner, children: []*node{k.root, right}}
	root.insert(0, first.key, first.record)
	k.root = root
}

// entry is a key and its record.
type entry struct {
	key    []byte
	record uint64
}

// addBelow adds an entry below a mutable node. last means that the entry comes after all others. If the
// node was split, right is the right half and first its first entry.
func (k *Keys) addBelow(n *node, e entry, last bool) (added bool, right *node, first entry) {
	i := n.len()
	if n.children == nil {
		found := false
		if !last {
			i, found = n.search(e.key, e.record)
		}
		if found {
			return false, nil, entry{}
		}
		right, first = k.addToLeaf(n, i, e, last)
		return true, right, first
	}
	if !last {
		i = n.childIndex(e.key, e.record)
	}
	added, half, first := k.addBelow(k.mutableNode(&n.children[i]), e, last)
	if half == nil {
		return added, nil, entry{}
	}
	n.insert(i, first.key, first.record)
	n.children = slices.Insert(n.children, i+1, half)
	if !n.isFull() {
		return added, nil, entry{}
	}
	cut := len(n.children) / 2
	if i+2 == len(n.children) {
		cut = i + 1 // ascending inserts leave full nodes behind
	}
	first.key, first.record = n.entryAt(cut - 1)
	right = &node{entries: n.copyFrom(cut), owner: k.owner, children: slices.Clone(n.children[cut:])}
	n.truncate(cut - 1)
	clear(n.children[cut:])
	n.children = n.children[:cut]
	return added, right, entry{bytes.Clone(first.key), first.record}
}

// addToLeaf inserts an entry at index i of a mutable leaf.
func (k *Keys) addToLeaf(n *node, i int, e entry, last bool) (right *node, first entry) {
	if !n.isFull() {
		n.insert(i, e.key, e.record)
		return nil, entry{}
	}
	right = &node{owner: k.owner}
	if i == n.len() { // ascending inserts leave full leaves behind
		was := n.entries
		n.entries = was.copyFrom(0)
		if last && cap(was.data) <= 2*maxBytes { // the new leaf will be as full; large keys are rare
			was.truncate(0)
			right.entries = was
		}
		right.insert(0, e.key, e.record)
	} else {
		cut := n.len() / 2
		right.entries = n.copyFrom(cut)
		n.truncate(cut)
		if i <= cut {
			n.insert(i, e.key, e.record)
		} else {
			right.insert(i-cut, e.key, e.record)
		}
	}
	first.key, first.record = right.entryAt(0)
	return right, first
}

// Delete removes an entry if it exists.
func (k *Keys) Delete(key []byte, record uint64) {
	if !k.deleteBelow(k.mutableNode(&k.root), key, record) {
		return
	}
	k.count--
	for len(k.root.children) == 1 {
		k.root = k.root.children[0]
	}
}

func (k *Keys) deleteBelow(n *node, key []byte, record uint64) bool {
	if n.children == nil {
		i, found := n.search(key, record)
		if found {
			n.remove(i)
		}
		return found
	}
	i := n.childIndex(key, record)
	child := k.mutableNode(&n.children[i])
	if !k.deleteBelow(child, key, record) {
		return false
	}
	if child.len() < minEntries {
		k.rebalanceChild(n, i)
	}
	return true
}

// rebalanceChild merges a child that has become small with a sibling, or removes it if it is empty.
func (k *Keys) rebalanceChild(n *node, i int) {
	switch {
	case n.children[i].children == nil && n.children[i].len() == 0 && len(n.children) > 1:
		n.remove(max(i-1, 0))
		n.children = slices.Delete(n.children, i, i+1)
	case i > 0 && k.joinWithNext(n, i-1):
	case i+1 < len(n.children):
		k.joinWithNext(n, i)
	}
}

// joinWithNext merges a child with the next one if the result is small enough.
func (k *Keys) joinWithNext(n *node, i int) bool {
	left, right := n.children[i], n.children[i+1]
	if left.len()+right.len() >= maxJoinedEntries || len(left.data)+len(right.data) >= maxBytes {
		return false
	}
	left = k.mutableNode(&n.children[i])
	if left.children != nil {
		left.insert(left.len(), n.keyAt(i), n.recordAt(i))
		left.children = append(left.children, right.children...)
	}
	left.append(right.entries)
	n.remove(i)
	n.children = slices.Delete(n.children, i+1, i+2)
	return true
}

// All iterates over all entries in order.
func (k *Keys) All() iter.Seq2[uint64, []byte] { return k.From(nil) }

// From iterates over the entries from a key on, in order.
func (k *Keys) From(key []byte) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) { k.root.ascend(key, yield) }
}

// Backward iterates over all entries from the last to the first.
func (k *Keys) Backward() iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) { k.root.descend(nil, true, yield) }
}

// BackwardBelow iterates over the entries with keys less than key, from the last to the first.
func (k *Keys) BackwardBelow(key []byte) iter.Seq2[uint64, []byte] {
	return func(yield func(uint64, []byte) bool) { k.root.descend(key, false, yield) }
}

func (n *node) ascend(key []byte, yield func(uint64, []byte) bool) bool {
	if n.children == nil {
		first, _ := n.search(key, 0)
		for i := first; i < n.len(); i++ {
			if key, record := n.entryAt(i); !yield(record, key) {
				return false
			}
		}
		return true
	}
	for i := n.childIndex(key, 0); i < len(n.children); i++ {
		if !n.children[i].ascend(key, yield) {
			return false
		}
		key = nil
	}
	return true
}

// descend iterates backward over the entries below a key, or over all entries.
func (n *node) descend(key []byte, all bool, yield func(uint64, []byte) bool) bool {
	end := n.len()
	if !all {
		end, _ = n.search(key, 0)
	}
	if n.children == nil {
		for i := end - 1; i >= 0; i-- {
			if key, record := n.entryAt(i); !yield(record, key) {
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

// childIndex returns the index of the child that contains an entry.
func (n *node) childIndex(key []byte, record uint64) int {
	i, found := n.search(key, record)
	if found {
		i++
	}
	return i
}

// entries are sorted keys and their records in one block of memory.
type entries struct {
	data []byte   // key and record of each entry
	ends []uint32 // the end of each entry in data
}

const recordBytes = 8

func (e *entries) len() int { return len(e.ends) }

func (e *entries) isFull() bool {
	return len(e.ends) >= maxEntries || len(e.data) >= maxBytes && len(e.ends) > 3
}

func (e *entries) startOf(i int) int {
	if i == 0 {
		return 0
	}
	return int(e.ends[i-1])
}

func (e *entries) keyAt(i int) []byte {
	end := int(e.ends[i]) - recordBytes
	return e.data[e.startOf(i):end:end]
}

func (e *entries) recordAt(i int) uint64 {
	return binary.BigEndian.Uint64(e.data[e.ends[i]-recordBytes:])
}

func (e *entries) entryAt(i int) (key []byte, record uint64) { return e.keyAt(i), e.recordAt(i) }

// search returns the index of the first entry >= the given one.
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
	start, size, oldLen := e.startOf(i), len(key)+recordBytes, len(e.data)
	e.data = slices.Grow(e.data, size)[:oldLen+size]
	copy(e.data[start+size:], e.data[start:oldLen])
	copy(e.data[start:], key)
	binary.BigEndian.PutUint64(e.data[start+len(key):], record)
	e.ends = slices.Insert(e.ends, i, uint32(start))
	for j := i; j < len(e.ends); j++ {
		e.ends[j] += uint32(size)
	}
}

func (e *entries) remove(i int) {
	start, end := e.startOf(i), int(e.ends[i])
	e.data = slices.Delete(e.data, start, end)
	e.ends = slices.Delete(e.ends, i, i+1)
	for j := i; j < len(e.ends); j++ {
		e.ends[j] -= uint32(end - start)
	}
	if cap(e.data) > 4*len(e.data)+maxEntries {
		*e = e.copy()
	}
}

// copyFrom returns a copy of the entries after the first i.
func (e *entries) copyFrom(i int) entries {
	start := e.startOf(i)
	rest := entries{data: bytes.Clone(e.data[start:]), ends: slices.Clone(e.ends[i:])}
	for j := range rest.ends {
		rest.ends[j] -= uint32(start)
	}
	return rest
}

// truncate keeps the first i entries.
func (e *entries) truncate(i int) {
	e.data, e.ends = e.data[:e.startOf(i)], e.ends[:i]
}

func (e *entries) append(more entries) {
	end := uint32(len(e.data))
	e.data = append(e.data, more.data...)
	for _, other := range more.ends {
		e.ends = append(e.ends, end+other)
	}
}

// copy returns a copy with capacity for one more entry, because a copied node is about to change.
func (e *entries) copy() entries {
	const room = 32
	return entries{
		data: append(make([]byte, 0, len(e.data)+room), e.data...),
		ends: append(make([]uint32, 0, len(e.ends)+1), e.ends...),
	}
}
