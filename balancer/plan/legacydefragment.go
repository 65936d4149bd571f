package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/tidwall/btree"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// addLegacyDefragmentation adds the steps of a defragmentation in releases without one, up to 5.0. There
// a chunk that is larger than the chunk size can't be moved and is split again. Therefore chunks are
// merged up to the chunk size, first those on the same shard. Then chunks that are still small, with at
// most a quarter of the chunk size, move to the shard of an adjacent chunk and are merged with it. The
// balancer of later releases does the same, without the upper limit.
func (b *builder) addLegacyDefragmentation() {
	var steps []Step
	for _, c := range b.input.colls {
		steps = append(steps, b.packCollection(c)...)
	}
	b.schedule(steps)
}

// packedCollection is a collection whose chunks are being merged.
type packedCollection struct {
	coll      *catalog.CollectionState
	chunkSize int64
	// mayReceive reports whether a shard may receive chunks of a zone.
	mayReceive func(zone string, id catalog.ShardID) bool
	builder    *builder
	pieces     []linkedPiece
	shardBytes map[catalog.ShardID]int64 // the collection's size on each shard
	steps      []Step
}

// linkedPiece is a chunk, or several merged chunks. A cell that was merged into another one is no longer used.
type linkedPiece struct {
	piece
	prev, next int // -1 = none
	merged     bool
}

func (b *builder) packCollection(c *catalog.CollectionState) []Step {
	if c.ForbidsChunkOperations(b.input.start.Release()) {
		return nil
	}
	p := &packedCollection{
		coll: c, chunkSize: c.ChunkSize(b.input.start.Settings()),
		shardBytes: map[catalog.ShardID]int64{}, builder: b,
		mayReceive: func(zone string, id catalog.ShardID) bool {
			return slices.Contains(eligibleShards(b.input.start, zone), id)
		},
	}
	contents := b.o.Model.Contents(c, p.chunkSize)
	for chunk := range c.Table.All() {
		amount := contents(chunk)
		p.shardBytes[chunk.Shard] += amount.Bytes
		p.pieces = append(p.pieces, linkedPiece{prev: len(p.pieces) - 1, next: len(p.pieces) + 1, piece: piece{
			min: chunk.Min, max: chunk.Max, shard: chunk.Shard, zone: c.Zones.ZoneOf(chunk.Min, chunk.Max),
			jumbo: chunk.Jumbo == catalog.JumboTrue, bytes: amount.Bytes, docs: amount.Documents,
		}})
	}
	p.pieces[len(p.pieces)-1].next = -1
	p.mergeRuns()
	if !c.AllowMigrations || !c.PermitMigrations {
		return p.steps
	}
	p.mergeSmallPieces()
	return p.steps
}

// mergeRuns merges adjacent chunks on a shard as long as they fit into one chunk.
func (p *packedCollection) mergeRuns() {
	for i := 0; i >= 0; {
		chunks := 1
		for j := p.pieces[i].next; j >= 0 && p.canMerge(i, j) &&
			p.pieces[i].shard == p.pieces[j].shard; j = p.pieces[i].next {
			p.unite(i, j)
			chunks++
		}
		p.addMergeStep(i, chunks, "Together they fit in one chunk.")
		i = p.pieces[i].next
	}
}

// addMergeStep adds the step that merges the chunks of cell i.
func (p *packedCollection) addMergeStep(i, chunks int, why string) {
	if chunks > 1 {
		p.steps = append(p.steps, Step{
			Kind: Merge, Namespace: p.coll.Namespace, From: p.pieces[i].shard, Min: p.pieces[i].min, Max: p.pieces[i].max,
			Chunks: chunks, Why: why,
		})
	}
}

// canMerge reports whether two adjacent cells may be merged.
func (p *packedCollection) canMerge(i, j int) bool {
	x, y := p.pieces[i], p.pieces[j]
	return !x.jumbo && !y.jumbo && x.zone == y.zone && x.bytes+y.bytes <= p.chunkSize
}

// unite merges the later of two adjacent cells into the earlier one.
func (p *packedCollection) unite(i, j int) {
	x, y := &p.pieces[i], &p.pieces[j]
	x.max, x.next, y.merged = y.max, y.next, true
	x.bytes, x.docs = x.bytes+y.bytes, x.docs+y.docs
	if x.next >= 0 {
		p.pieces[x.next].prev = i
	}
}

// smallDivisor is the divisor of the chunk size for the maximum size of a small chunk: a quarter of the
// chunk size.
const smallDivisor = 4

// mergeSmallPieces merges small chunks with an adjacent chunk, the smallest first. A chunk without a
// suitable neighbour is finished and not tried again, since its neighbours usually only grow.
func (p *packedCollection) mergeSmallPieces() {
	waiting := btree.NewBTreeGOptions(smallPiece.before, btree.Options{NoLocks: true})
	for i := range p.pieces {
		p.addIfSmall(waiting, i)
	}
	for waiting.Len() > 0 {
		next, _ := waiting.PopMin()
		if c := p.pieces[next.index]; c.merged || c.bytes != next.bytes {
			continue
		}
		if to, found := p.bestNeighbour(next.index); found {
			p.addIfSmall(waiting, p.mergeWithNeighbour(next.index, to))
		}
	}
}

// addIfSmall adds a cell to those that are waiting if it is small.
func (p *packedCollection) addIfSmall(waiting *btree.BTreeG[smallPiece], i int) {
	if c := p.pieces[i]; !c.merged && c.bytes <= p.chunkSize/smallDivisor {
		waiting.Set(smallPiece{c.bytes, i})
	}
}

// mergeWithNeighbour merges a cell with its neighbour, on the neighbour's shard, and returns the index of the
// result.
func (p *packedCollection) mergeWithNeighbour(i, to int) int {
	c, beside := p.pieces[i], p.pieces[to]
	if c.shard != beside.shard {
		p.steps = append(p.steps, Step{
			Kind: Move, Namespace: p.coll.Namespace, From: c.shard, To: beside.shard, Min: c.min, Max: c.max, Bytes: c.bytes,
			Documents: c.docs, Reason: policy.ReasonDefragmentation,
			Why: fmt.Sprintf("The chunk is small, and its neighbour at %s is on %s.", beside.min, beside.shard),
		})
		p.builder.addArrival(p.coll.Namespace, beside.shard, c.bytes)
		p.shardBytes[c.shard] -= c.bytes
		p.shardBytes[beside.shard] += c.bytes
		p.pieces[i].shard = beside.shard
	}
	first := min(i, to)
	p.unite(first, max(i, to))
	p.addMergeStep(first, 2, "A small chunk and its neighbour are merged.")
	return first
}

// bestNeighbour returns the neighbour with which a cell is merged: one on the same shard, else the
// larger one, which then need not be copied, else the one whose shard has less data.
func (p *packedCollection) bestNeighbour(i int) (to int, found bool) {
	c := p.pieces[i]
	var beside []int
	for _, j := range []int{c.prev, c.next} {
		if j >= 0 && p.canMerge(min(i, j), max(i, j)) && p.canGo(c, p.pieces[j].shard) {
			beside = append(beside, j)
		}
	}
	if len(beside) == 0 {
		return 0, false
	}
	return slices.MinFunc(beside, func(x, y int) int { return p.compareNeighbours(c, p.pieces[x], p.pieces[y]) }), true
}

// canGo reports whether a cell may be on a shard.
func (p *packedCollection) canGo(c linkedPiece, to catalog.ShardID) bool {
	return c.shard == to || p.mayReceive(c.zone, to) &&
		len(p.builder.shardsWithRoom(p.coll.Namespace, c.bytes, []catalog.ShardID{to})) > 0
}

func (p *packedCollection) compareNeighbours(c, x, y linkedPiece) int {
	away := func(n linkedPiece) int {
		if n.shard == c.shard {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(away(x), away(y)), cmp.Compare(y.bytes, x.bytes),
		cmp.Compare(p.shardBytes[x.shard], p.shardBytes[y.shard]))
}

// smallPiece is a cell with its size at the time when it was found small.
type smallPiece struct {
	bytes int64
	index int
}

// before orders cells by size, the smallest first.
func (s smallPiece) before(o smallPiece) bool {
	return cmp.Or(cmp.Compare(s.bytes, o.bytes), cmp.Compare(s.index, o.index)) < 0
}
