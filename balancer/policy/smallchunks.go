package policy

import (
	"iter"

	"github.com/tidwall/btree"

	"shardsh/balancer/catalog"
)

// movePhaseShard is a shard with its part of the collection.
type movePhaseShard struct {
	id       catalog.ShardID
	draining bool
	size     int64
	// small contains lists of the shard's small chunks by rank, without busy chunks. The first list
	// contains the chunks without a sibling, and list n+1 contains those with a sibling on shard n that
	// is not busy. A chunk may be on two lists. When a round has taken most shards, it only needs the
	// lists of the others.
	small []smallList
	// usedLists contains the indexes of lists that have had chunks. Rounds skip the other lists.
	usedLists []int32
}

// smallList contains small chunks by rank. The first chunk is stored separately, because rounds need
// the first chunk of every list. The zero value is empty.
type smallList struct {
	chunks *btree.BTreeG[int32] // nil = empty
	first  int32                // -1 = none
}

// chunkNode is a chunk, or the result of merging several chunks, linked with its neighbours.
type chunkNode struct {
	chunkRange
	size        int64
	postponedAt int64 // when the chunk was postponed, 0 = never
	prev, next  int32 // -1 at the ends
	shard       int32
	zone        int32 // number of the zone's name
	busy        bool
	listed      bool // is among its shard's small chunks
}

// rank is the position of a small chunk among those of its shard: chunks that were never postponed come
// first, then smaller chunks, then chunks in key order.
type rank struct {
	postponedAt, size int64
	from              int32
}

func (r rank) before(b rank) bool {
	switch {
	case r.postponedAt != b.postponedAt:
		return r.postponedAt < b.postponedAt
	case r.size != b.size:
		return r.size < b.size
	}
	return r.from < b.from
}

// reachedIndex represents the rank that a scan has reached, in place of a chunk index.
const reachedIndex int32 = -1

func (p *movePhase) rank(i int32) rank {
	if i == reachedIndex {
		return p.scannedUpTo
	}
	c := &p.chunks[i]
	return rank{c.postponedAt, c.size, c.from}
}

func (p *movePhase) before(i, j int32) bool { return p.rank(i).before(p.rank(j)) }

// siblings returns the neighbours with which a chunk may be merged, the right one first.
func (p *movePhase) siblings(i int32) (list [2]int32, n int) {
	c := &p.chunks[i]
	for _, j := range [2]int32{c.next, c.prev} {
		if j < 0 {
			continue
		}
		s := &p.chunks[j]
		if s.zone == c.zone && (s.shard == c.shard || !p.shards[s.shard].draining) {
			list[n] = j
			n++
		}
	}
	return list, n
}

// lists returns the indexes of the lists that contain a chunk.
func (p *movePhase) lists(i int32) (numbers [2]int32, n int) {
	c := &p.chunks[i]
	if !c.listed || c.busy {
		return numbers, 0
	}
	siblings, count := p.siblings(i)
	if count == 0 {
		return numbers, 1
	}
	for _, j := range siblings[:count] {
		s := &p.chunks[j]
		if number := s.shard + 1; !s.busy && (n == 0 || numbers[0] != number) {
			numbers[n] = number
			n++
		}
	}
	return numbers, n
}

// addToLists adds a small chunk to its lists.
func (p *movePhase) addToLists(i int32) {
	numbers, n := p.lists(i)
	for _, number := range numbers[:n] {
		list := p.listAt(p.chunks[i].shard, number)
		list.chunks.Load(i)
		if list.first < 0 || p.before(i, list.first) {
			list.first = i
		}
	}
}

func (p *movePhase) listAt(shard, number int32) *smallList {
	s := &p.shards[shard]
	if grow := int(number) + 1 - len(s.small); grow > 0 {
		s.small = append(s.small, make([]smallList, grow)...)
	}
	list := &s.small[number]
	if list.chunks == nil {
		*list = smallList{btree.NewBTreeGOptions(p.before, btree.Options{NoLocks: true}), -1}
		s.usedLists = append(s.usedLists, number)
	}
	return list
}

// removeFromLists removes a small chunk from its lists. It must be called before a change that the
// lists depend on.
func (p *movePhase) removeFromLists(i int32) {
	numbers, n := p.lists(i)
	for _, number := range numbers[:n] {
		list := &p.shards[p.chunks[i].shard].small[number]
		list.chunks.Delete(i)
		if list.first == i {
			list.first = -1
			if first, ok := list.chunks.Min(); ok {
				list.first = first
			}
		}
	}
}

// addSmall adds a chunk to the small chunks.
func (p *movePhase) addSmall(i int32) {
	p.chunks[i].listed = true
	p.remainingSmall++
	p.addToLists(i)
}

// dropSmall removes a chunk from the small chunks for good. It remains a possible sibling.
func (p *movePhase) dropSmall(i int32) {
	if p.chunks[i].listed {
		p.removeFromLists(i)
		p.chunks[i].listed = false
		p.remainingSmall--
	}
}

// updatePair modifies a chunk and its sibling. It updates their lists, and those of the neighbours on
// both sides, which depend on them.
func (p *movePhase) updatePair(of siblingPair, do func(c, s *chunkNode)) {
	left, right := of.chunk, of.sibling
	if p.chunks[left].next != right {
		left, right = right, left
	}
	around := [4]int32{p.chunks[left].prev, left, right, p.chunks[right].next}
	for _, i := range around {
		if i >= 0 {
			p.removeFromLists(i)
		}
	}
	do(&p.chunks[of.chunk], &p.chunks[of.sibling])
	for _, i := range around {
		if i >= 0 {
			p.addToLists(i)
		}
	}
}

// scan returns the small chunks of a shard that have a sibling on an available shard, or no sibling, by
// rank. The lists may change during the scan: a chunk that is put back behind the current chunk is
// returned again.
func (p *movePhase) scan(n int, avail *AvailableShards) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		for i := p.smallest(n, avail, false); i >= 0; i = p.smallest(n, avail, true) {
			p.scannedUpTo = p.rank(i)
			if !yield(i) {
				return
			}
		}
	}
}

// smallest returns the first chunk of a scan or, with next, the next chunk; -1 at the end.
func (p *movePhase) smallest(n int, avail *AvailableShards, next bool) int32 {
	best := int32(-1)
	s := &p.shards[n]
	for _, number := range s.usedLists {
		i := s.small[number].head(next)
		if i >= 0 && (best < 0 || p.before(i, best)) && (number == 0 || avail.IsFree(p.shards[number-1].id)) {
			best = i
		}
	}
	return best
}

// head returns the first chunk of a list or, with next, the first chunk after reachedIndex; -1 if there is
// none.
func (l *smallList) head(next bool) int32 {
	if !next {
		return l.first
	}
	found := int32(-1)
	l.chunks.Ascend(reachedIndex, func(i int32) bool {
		if l.chunks.Less(reachedIndex, i) {
			found = i
		}
		return found < 0
	})
	return found
}
