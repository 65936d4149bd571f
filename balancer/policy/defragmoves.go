package policy

import (
	"cmp"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// movePhase moves small chunks to the shard of an adjacent chunk and merges the two. It is the second
// phase (rules/02-defragmentation-and-merging §2.5).
type movePhase struct {
	phaseCollection
	completion

	shards         []movePhaseShard
	order          []int // indexes of shards: the fullest first
	chunks         []chunkNode
	refusedBy      map[int32][]int32 // shards that refused a chunk, by chunk
	remainingSmall int               // number of small chunks
	moving         map[catalog.Key]siblingPair
	merging        map[chunkRange]siblingPair
	toMerge        []siblingPair
	scannedUpTo    rank                                      // reached in the current scan of small chunks
	fits           func(catalog.ShardID, catalog.Chunk) bool // Situation.Fits

	// exhausted marks the shards that had nothing to give to the shards in exhaustedFor. When a round takes
	// more shards, there is not more to give. Any result resets the marks.
	exhaustedFor *AvailableShards
	exhausted    []bool
}

// siblingPair is a chunk that moves to the shard of its sibling.
type siblingPair struct{ chunk, sibling int32 }

func newMovePhase(s Situation) *movePhase {
	p := &movePhase{
		phaseCollection: newPhaseCollection(s),
		completion:      completion{normalNext: PhaseMerge},
		refusedBy:       make(map[int32][]int32),
		moving:          make(map[catalog.Key]siblingPair),
		merging:         make(map[chunkRange]siblingPair),
		chunks:          make([]chunkNode, 0, s.Table.Len()),
		fits:            s.Fits,
	}
	number := make(map[catalog.ShardID]int32)
	zoneNumber := make(map[string]int32)
	for _, shard := range s.Shards {
		number[shard.ID] = p.addShard(shard, s.Sizes.ByShard[shard.ID])
	}
	for c := range s.Table.All() {
		if !c.Estimate.Known() {
			p.Abort(PhaseMergeAndMeasure)
			return p
		}
		n, known := number[c.Shard]
		if !known {
			n = p.addShard(catalog.Shard{ID: c.Shard}, 0)
			number[c.Shard] = n
		}
		name := s.Zones.ZoneOf(c.Min, c.Max)
		zone, known := zoneNumber[name]
		if !known {
			zone = int32(len(zoneNumber))
			zoneNumber[name] = zone
		}
		i := int32(len(p.chunks))
		p.chunks = append(p.chunks, chunkNode{
			chunkRange: chunkRange{i, i + 1}, size: c.Estimate.Bytes(), prev: i - 1, next: i + 1,
			shard: n, zone: zone,
		})
	}
	p.chunks[len(p.chunks)-1].next = -1
	for i := range p.chunks {
		if p.chunks[i].size <= p.maxSmall {
			p.addSmall(int32(i))
		}
	}
	p.reorder()
	return p
}

func (p *movePhase) addShard(s catalog.Shard, size int64) int32 {
	p.shards = append(p.shards, movePhaseShard{id: s.ID, draining: s.Draining, size: size})
	p.order = append(p.order, len(p.order))
	return int32(len(p.shards) - 1)
}

func (p *movePhase) reorder() {
	slices.SortStableFunc(p.order, func(a, b int) int { return cmp.Compare(p.shards[b].size, p.shards[a].size) })
}

func (p *movePhase) Name() PhaseName { return PhaseMoveAndMerge }

// NextMigration chooses the smallest chunk that can move from the fullest shard that has one.
func (p *movePhase) NextMigration(avail *AvailableShards, now time.Time) (Migration, bool) {
	if p.aborted {
		return Migration{}, false
	}
	if p.exhaustedFor != avail {
		p.exhaustedFor, p.exhausted = avail, make([]bool, len(p.shards))
	}
	for _, n := range p.order {
		if p.exhausted[n] || !avail.IsFree(p.shards[n].id) {
			continue
		}
		found, ok := p.pick(n, avail, now)
		if !ok {
			p.exhausted[n] = true
			continue
		}
		p.updatePair(found, func(c, s *chunkNode) { c.busy, s.busy = true, true })
		c, to := &p.chunks[found.chunk], &p.chunks[found.sibling]
		m := Migration{
			From: p.shards[n].id, To: p.shards[to.shard].id, Namespace: p.ns, UUID: p.uuid,
			MaxChunkSizeBytes: p.maxChunk, Reason: ReasonDefragmentation,
		}
		m.Min, m.Max = p.bounds(c.chunkRange)
		avail.Take(m.From, m.To)
		p.moving[m.Min] = found
		p.outstanding++
		return m, true
	}
	return Migration{}, false
}

// pick chooses among the small chunks of a shard.
func (p *movePhase) pick(n int, avail *AvailableShards, now time.Time) (siblingPair, bool) {
	for i := range p.scan(n, avail) {
		siblings, count := p.siblings(i)
		if count == 0 {
			p.dropSmall(i)
			continue
		}
		eligible := make([]int32, 0, len(siblings))
		avoided := 0
		for _, j := range siblings[:count] {
			switch s := &p.chunks[j]; {
			case s.busy || !avail.IsFree(p.shards[s.shard].id):
			case slices.Contains(p.refusedBy[i], s.shard), !p.fitsOnShard(i, s.shard):
				avoided++
			default:
				eligible = append(eligible, j)
			}
		}
		if len(eligible) > 0 {
			return siblingPair{i, p.recipient(i, eligible)}, true
		}
		if avoided == count {
			p.postpone(i, now)
		}
	}
	return siblingPair{}, false
}

// fitsOnShard reports whether a small chunk fits on the shard of a sibling.
func (p *movePhase) fitsOnShard(i, shard int32) bool {
	c := &p.chunks[i]
	if p.fits == nil || c.shard == shard {
		return true
	}
	lower, upper := p.bounds(c.chunkRange)
	return p.fits(p.shards[shard].id, catalog.Chunk{Min: lower, Max: upper, Shard: p.shards[c.shard].id})
}

// postpone puts a chunk that the shards of all its siblings have refused behind the others. It may try
// these shards again, once.
func (p *movePhase) postpone(i int32, now time.Time) {
	again := p.chunks[i].postponedAt == 0
	p.dropSmall(i)
	if !again {
		return
	}
	delete(p.refusedBy, i)
	p.chunks[i].postponedAt = now.UnixNano()
	p.addSmall(i)
}

// recipient chooses between the siblings: the first, unless the second has a higher score, or the same
// score and a smaller shard.
func (p *movePhase) recipient(i int32, siblings []int32) int32 {
	first := siblings[0]
	if len(siblings) == 1 {
		return first
	}
	second := siblings[1]
	a, b := p.score(i, first), p.score(i, second)
	if b > a || b == a && p.shards[p.chunks[second].shard].size < p.shards[p.chunks[first].shard].size {
		return second
	}
	return first
}

// These are the points of a sibling's score.
const (
	scoreSameShard    = 8 // no data are copied
	scoreSmaller      = 4 // the smaller part is copied
	scoreEndsTwoSmall = 2 // two small chunks become a chunk that is not small
	scoreEndsOneSmall = 1
)

func (p *movePhase) score(i, j int32) int {
	c, s := &p.chunks[i], &p.chunks[j]
	score := 0
	switch {
	case c.shard == s.shard:
		score = scoreSameShard
	case c.size < s.size:
		score = scoreSmaller
	}
	if mergedSize(c.size, s.size) > p.maxSmall {
		if s.size < p.maxSmall {
			return score + scoreEndsTwoSmall
		}
		return score + scoreEndsOneSmall
	}
	return score
}

func mergedSize(a, b int64) int64 {
	return catalog.NewEstimate(a).Plus(catalog.NewEstimate(b)).Bytes()
}

func (p *movePhase) RecordMigrationResult(m Migration, err error) {
	done, ok := p.moving[m.Min]
	if !ok {
		return
	}
	delete(p.moving, m.Min)
	p.outstanding--
	p.exhaustedFor = nil
	if p.aborted {
		return
	}
	c, s := &p.chunks[done.chunk], &p.chunks[done.sibling]
	if err == nil {
		from, to := &p.shards[c.shard], &p.shards[s.shard]
		from.size = max(0, from.size-c.size)
		to.size = mergedSize(to.size, c.size)
		p.reorder()
		p.toMerge = append(p.toMerge, done)
		return
	}
	p.updatePair(done, func(c, s *chunkNode) { c.busy, s.busy = false, false })
	switch {
	case IsTooBig(err):
		p.dropSmall(done.chunk)
	case canRetry(err):
	case isPendingDeletion(err):
		p.refusedBy[done.chunk] = append(p.refusedBy[done.chunk], s.shard)
	default:
		p.Abort(PhaseMergeAndMeasure)
	}
}

func (p *movePhase) NextAction() (StreamAction, bool) {
	if len(p.toMerge) == 0 {
		return StreamAction{}, false
	}
	next := p.toMerge[0]
	p.toMerge = p.toMerge[1:]
	union := p.union(next)
	p.merging[union] = next
	p.outstanding++
	return p.mergeAction(p.shards[p.chunks[next.sibling].shard].id, union), true
}

func (p *movePhase) union(of siblingPair) chunkRange {
	c, s := p.chunks[of.chunk], p.chunks[of.sibling]
	return chunkRange{min(c.from, s.from), max(c.to, s.to)}
}

func (p *movePhase) RecordActionResult(a StreamAction, r StreamActionResult) *Measurement {
	done, ok := p.merging[a.chunkSpan]
	if !ok {
		return nil
	}
	delete(p.merging, a.chunkSpan)
	p.outstanding--
	p.exhaustedFor = nil
	switch {
	case p.aborted:
	case r.Err == nil:
		p.mergePair(done)
	case canRetry(r.Err):
		p.toMerge = append(p.toMerge, done)
	default:
		p.Abort(PhaseMergeAndMeasure)
	}
	return nil
}

// mergePair makes the sibling the union of the two.
func (p *movePhase) mergePair(of siblingPair) {
	p.updatePair(of, func(c, s *chunkNode) {
		wasListed := s.listed
		for _, gone := range []*chunkNode{c, s} {
			if gone.listed {
				gone.listed = false
				p.remainingSmall--
			}
		}
		s.chunkRange, s.size, s.busy = p.union(of), mergedSize(c.size, s.size), false
		if wasListed && s.size <= p.maxSmall {
			s.listed = true
			p.remainingSmall++
		}
		if c.prev >= 0 {
			p.chunks[c.prev].next = c.next
		}
		if c.next >= 0 {
			p.chunks[c.next].prev = c.prev
		}
	})
}

func (p *movePhase) Abort(next PhaseName) {
	p.abort(next)
	p.toMerge = nil
	for n := range p.shards {
		p.shards[n].small, p.shards[n].usedLists = nil, nil
	}
	p.remainingSmall = 0
}

func (p *movePhase) IsComplete() bool {
	return p.remainingSmall == 0 && p.outstanding == 0 && len(p.toMerge) == 0
}

func (p *movePhase) Remaining() int64 { return int64(p.remainingSmall) }
