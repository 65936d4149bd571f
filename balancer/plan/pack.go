package plan

import (
	"cmp"
	"container/heap"
	"fmt"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// pack is the defragmentation of releases that have none: up to 5.0, where a chunk
// that is larger than the chunk size can't be moved and is cut again. So chunks are
// merged up to the chunk size, first those of one shard. Then what is still small, a
// quarter of the chunk size or less, goes to a neighbour's shard and becomes one
// with it: as the balancer of later releases has it, which knows no such bound.
func (b *builder) pack() {
	var steps []Step
	for _, c := range b.scope.colls {
		steps = append(steps, b.packed(c)...)
	}
	b.schedule(steps)
}

// packedCollection is a collection whose chunks become fewer.
type packedCollection struct {
	c     *catalog.CollectionState
	limit int64
	// may reports whether chunks of a zone may come to a shard.
	may   func(zone string, id catalog.ShardID) bool
	room  *builder
	cells []cell
	held  map[catalog.ShardID]int64 // bytes
	steps []Step
}

// cell is a chunk of the packing. One that went into another one is gone.
type cell struct {
	piece
	prev, next int // -1 = none
	gone       bool
}

func (b *builder) packed(c *catalog.CollectionState) []Step {
	if c.Frozen(b.scope.start.Release()) {
		return nil
	}
	p := &packedCollection{
		c: c, limit: cmp.Or(c.MaxChunkSizeBytes, b.scope.start.Settings().MaxChunkSizeBytes),
		held: map[catalog.ShardID]int64{}, room: b,
		may: func(zone string, id catalog.ShardID) bool { return slices.Contains(b.shardsOf(zone), id) },
	}
	contents := b.o.Model.Contents(c, p.limit)
	for chunk := range c.Table.All() {
		amount := contents(chunk)
		p.held[chunk.Shard] += amount.Bytes
		p.cells = append(p.cells, cell{prev: len(p.cells) - 1, next: len(p.cells) + 1, piece: piece{
			min: chunk.Min, max: chunk.Max, on: chunk.Shard, zone: c.Zones.ZoneOf(chunk.Min, chunk.Max),
			held: chunk.Jumbo == catalog.JumboTrue, bytes: amount.Bytes, docs: amount.Documents,
		}})
	}
	p.cells[len(p.cells)-1].next = -1
	p.mergeRuns()
	if !c.AllowMigrations || !c.PermitMigrations {
		return p.steps
	}
	p.gather()
	return p.steps
}

// mergeRuns merges neighbours on a shard as long as they fit into one chunk.
func (p *packedCollection) mergeRuns() {
	for i := 0; i >= 0; {
		chunks := 1
		for j := p.cells[i].next; j >= 0 && p.fits(i, j) && p.cells[i].on == p.cells[j].on; j = p.cells[i].next {
			p.unite(i, j)
			chunks++
		}
		p.merged(i, chunks, "Together they fit in one chunk.")
		i = p.cells[i].next
	}
}

// merged adds the step that merges what has become the cell i.
func (p *packedCollection) merged(i, chunks int, why string) {
	if chunks > 1 {
		p.steps = append(p.steps, Step{
			Kind: Merge, Namespace: p.c.Namespace, From: p.cells[i].on, Min: p.cells[i].min, Max: p.cells[i].max,
			Chunks: chunks, Why: why,
		})
	}
}

// fits reports whether two neighbours may be one chunk.
func (p *packedCollection) fits(i, j int) bool {
	x, y := p.cells[i], p.cells[j]
	return !x.held && !y.held && x.zone == y.zone && x.bytes+y.bytes <= p.limit
}

// unite has the later of two neighbours become part of the earlier one.
func (p *packedCollection) unite(i, j int) {
	x, y := &p.cells[i], &p.cells[j]
	x.max, x.next, y.gone = y.max, y.next, true
	x.bytes, x.docs = x.bytes+y.bytes, x.docs+y.docs
	if x.next >= 0 {
		p.cells[x.next].prev = i
	}
}

// small is up to which size the engine takes a chunk for a small one: a quarter of
// the chunk size.
const small = 4

// gather brings small chunks beside a neighbour, the smallest first. What finds none
// never will: its neighbours only grow.
func (p *packedCollection) gather() {
	var waiting smallCells
	for i := range p.cells {
		waiting = p.list(waiting, i)
	}
	heap.Init(&waiting)
	for len(waiting) > 0 {
		next := heap.Pop(&waiting).(smallCell)
		if c := p.cells[next.at]; c.gone || c.bytes != next.bytes {
			continue
		}
		to, found := p.neighbour(next.at)
		if !found {
			continue
		}
		if grown := p.list(nil, p.join(next.at, to)); len(grown) > 0 {
			heap.Push(&waiting, grown[0])
		}
	}
}

// list adds a cell that is small.
func (p *packedCollection) list(to smallCells, i int) smallCells {
	if c := p.cells[i]; !c.gone && c.bytes <= p.limit/small {
		to = append(to, smallCell{c.bytes, i})
	}
	return to
}

// join makes one of a cell and its neighbour, on the neighbour's shard, and returns
// which cell that is.
func (p *packedCollection) join(i, to int) int {
	c, beside := p.cells[i], p.cells[to]
	if c.on != beside.on {
		p.steps = append(p.steps, Step{
			Kind: Move, Namespace: p.c.Namespace, From: c.on, To: beside.on, Min: c.min, Max: c.max, Bytes: c.bytes,
			Documents: c.docs, Reason: policy.ReasonDefragmentation,
			Why: fmt.Sprintf("The chunk is small, and its neighbour at %s is on %s.", beside.min, beside.on),
		})
		p.room.arrives(p.c.Namespace, beside.on, c.bytes)
		p.held[c.on] -= c.bytes
		p.held[beside.on] += c.bytes
		p.cells[i].on = beside.on
	}
	first := min(i, to)
	p.unite(first, max(i, to))
	p.merged(first, 2, "A small chunk and its neighbour are merged.")
	return first
}

// neighbour returns what a cell can become one with: a neighbour on the same shard,
// else the larger one, which is not copied, else that whose shard has less.
func (p *packedCollection) neighbour(i int) (to int, found bool) {
	c := p.cells[i]
	var beside []int
	for _, j := range []int{c.prev, c.next} {
		if j >= 0 && p.fits(min(i, j), max(i, j)) && p.mayGo(c, p.cells[j].on) {
			beside = append(beside, j)
		}
	}
	if len(beside) == 0 {
		return 0, false
	}
	return slices.MinFunc(beside, func(x, y int) int { return p.compare(c, p.cells[x], p.cells[y]) }), true
}

// mayGo reports whether a cell may be on a shard.
func (p *packedCollection) mayGo(c cell, to catalog.ShardID) bool {
	return c.on == to || p.may(c.zone, to) &&
		len(p.room.withRoom(p.c.Namespace, c.bytes, []catalog.ShardID{to})) > 0
}

func (p *packedCollection) compare(c, x, y cell) int {
	away := func(n cell) int {
		if n.on == c.on {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(away(x), away(y)), cmp.Compare(y.bytes, x.bytes), cmp.Compare(p.held[x.on], p.held[y.on]))
}

// smallCell is a cell as it was when it was listed.
type smallCell struct {
	bytes int64
	at    int
}

// smallCells is a heap with the smallest first.
type smallCells []smallCell

func (h smallCells) Len() int { return len(h) }
func (h smallCells) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].bytes, h[j].bytes), cmp.Compare(h[i].at, h[j].at)) < 0
}
func (h smallCells) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *smallCells) Push(x any)   { *h = append(*h, x.(smallCell)) }
func (h *smallCells) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
