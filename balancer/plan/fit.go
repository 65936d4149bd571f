package plan

import (
	"cmp"
	"container/heap"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

// searchFittingOrder searches another order of moves if disks are too full for the balancer's: the
// balancer only ever moves a chunk to where it belongs, and does not make room first. Where
// it finds none the steps stay as they are.
func (b *builder) searchFittingOrder() error {
	searched := []GoalKind{Balance, Drain, Zones}
	if len(b.shortages) == 0 || b.passedLimit != "" || !slices.Contains(searched, b.o.Goal.Kind) ||
		b.o.Goal.Kind == Drain && b.hasArrived() {
		return nil
	}
	f := newFitSearch(b)
	if f == nil {
		return nil
	}
	moves, found, err := f.search()
	if err != nil || !found {
		return err
	}
	end, err := f.snapshotAt(f.placesAfter(moves))
	if err != nil {
		return err
	}
	other := newBuilder(b.scope, b.o)
	other.plan.Basis, other.plan.Note = b.plan.Basis, b.plan.Note
	other.volumes = catalog.NewVolumes(b.scope.start, b.o.Limits.Disk)
	if !other.scheduleInRoom(f.steps(moves)) {
		return nil
	}
	other.balancerIdle, other.end = true, end
	*b = *other
	return nil
}

// maxSearchMoves limits a search by chunks times shards: each of its states has up to
// so many moves. maxStates and maxPlaces are how many states it keeps, and how many places
// of chunks in all of them. The states of a small cluster are fewer, so that a search that
// finds nothing there has proved that there is nothing.
const (
	maxSearchMoves = 4_000
	maxStates      = 20_000
	maxPlaces      = 2_000_000
)

// fitSearch is the search for an order of moves to a goal that has room at each step. It moves
// whole chunks, one at a time, and waits after each until the donor has deleted it.
type fitSearch struct {
	b          *builder
	colls      []*catalog.CollectionState
	shards     []catalog.ShardState
	chunks     []fitChunk
	firstChunk []int // the first of the chunks of each collection
	start      *catalog.Volumes
	tried      map[string][]*catalog.Volumes // by places of the chunks
	keptStates int                           // states
}

// fitChunk is a chunk that a search may move.
type fitChunk struct {
	catalog.Chunk
	coll    int
	bytes   int64
	docs    int64
	shard   uint8   // the place of its shard
	targets []uint8 // where it may go
}

// newFitSearch returns a search, nil for a cluster that is too large for one.
func newFitSearch(b *builder) *fitSearch {
	f := &fitSearch{b: b, colls: b.scope.colls, shards: b.scope.start.Shards(), tried: map[string][]*catalog.Volumes{}}
	count := 0
	for _, c := range f.colls {
		if c.Table == nil {
			return nil
		}
		count += c.Table.Len()
	}
	if len(f.shards) > 250 || count*len(f.shards) > maxSearchMoves {
		return nil
	}
	for i := range f.colls {
		f.firstChunk = append(f.firstChunk, len(f.chunks))
		if !f.addCollection(i) {
			return nil
		}
	}
	f.start = catalog.NewVolumes(b.scope.start, b.o.Limits.Disk)
	for _, d := range b.pendingDeletions() { // a search may wait for all of them
		f.start.RemoveData(d.ns, d.on, d.bytes)
	}
	return f
}

// addCollection takes the chunks of a collection into the search. It is false for one on a shard that
// the cluster does not have.
func (f *fitSearch) addCollection(i int) bool {
	c, release := f.colls[i], f.b.scope.start.Release()
	size := cmp.Or(c.MaxChunkSizeBytes, f.b.scope.start.Settings().MaxChunkSizeBytes)
	contents := f.b.o.Model.Contents(c, size)
	stays := policy.ReportBlocked(c.Collection, release, nil)
	for chunk := range c.Table.All() {
		amount, data := contents(chunk), c.Sizes[chunk.Shard]
		most := policy.MaxDocuments(release, data.Documents+data.Orphans, data.Bytes+data.OrphanBytes, size)
		one := fitChunk{Chunk: chunk, coll: i, bytes: amount.Bytes, docs: amount.Documents}
		if _, there := f.b.scope.start.Shard(chunk.Shard); !there {
			return false
		}
		for at, shard := range f.shards {
			if shard.ID == chunk.Shard {
				one.shard = uint8(at)
			}
			zone := c.Zones.ZoneOf(chunk.Min, chunk.Max)
			if !stays && chunk.Jumbo != catalog.JumboTrue && amount.Documents <= most && !shard.Draining && !shard.Full() &&
				(zone == catalog.NoZone || shard.HasZone(zone)) {
				one.targets = append(one.targets, uint8(at))
			}
		}
		f.chunks = append(f.chunks, one)
	}
	return true
}

// searchState is where chunks are, after some moves.
type searchState struct {
	places   []uint8
	volumes  *catalog.Volumes
	distance int64 // an estimate of what there is to do; 0 at the goal
	parent   *searchState
	moved    int // the chunk that the last move brought here
	moves    int
	number   int // in the order in which states were found
}

// fitMove is a move of a search.
type fitMove struct {
	chunk    int
	from, to uint8
}

// search returns the moves to the goal: what seems nearest to it is tried first.
func (f *fitSearch) search() (moves []fitMove, found bool, err error) {
	first := &searchState{volumes: f.start}
	for _, c := range f.chunks {
		first.places = append(first.places, c.shard)
	}
	first.distance = f.distance(first.places)
	queue := stateHeap{first}
	f.remember(first)
	for most := min(maxStates, maxPlaces/max(1, len(f.chunks))); len(queue) > 0 && f.keptStates < most; {
		s := heap.Pop(&queue).(*searchState)
		if s.distance == 0 {
			return s.path(), true, nil
		}
		if watch := f.b.o.Watch; watch != nil {
			if err := watch(sim.Progress{Moves: s.moves, At: f.b.scope.start.Time()}); err != nil {
				return nil, false, err
			}
		}
		for next := range f.nextStates(s) {
			heap.Push(&queue, next)
		}
	}
	return nil, false, nil
}

// nextStates visits the states that are a move away.
func (f *fitSearch) nextStates(s *searchState) func(yield func(*searchState) bool) {
	return func(yield func(*searchState) bool) {
		for i, c := range f.chunks {
			ns := f.colls[c.coll].Namespace
			for _, to := range c.targets {
				from := s.places[i]
				id := f.shards[to].ID
				if to == from || s.volumes.MissingBytes(ns, id, c.bytes) > 0 {
					continue
				}
				next := &searchState{
					places:  slices.Clone(s.places),
					volumes: s.volumes.Clone(),
					parent:  s,
					moved:   i,
					moves:   s.moves + 1,
				}
				next.places[i] = to
				next.volumes.AddData(ns, id, c.bytes)
				next.volumes.RemoveData(ns, f.shards[from].ID, c.bytes)
				if !f.remember(next) {
					continue
				}
				next.distance = f.distance(next.places)
				if !yield(next) {
					return
				}
			}
		}
	}
}

// remember remembers a state, and reports whether none was as good before: with all chunks in
// the same places, and with files that are nowhere larger.
func (f *fitSearch) remember(s *searchState) bool {
	key := string(s.places)
	for _, had := range f.tried[key] {
		if had.NotLargerThan(s.volumes) {
			return false
		}
	}
	f.tried[key] = append(f.tried[key], s.volumes)
	f.keptStates++
	s.number = f.keptStates
	return true
}

// path returns the moves that have led to a state.
func (s *searchState) path() (moves []fitMove) {
	for ; s.parent != nil; s = s.parent {
		moves = append(moves, fitMove{s.moved, s.parent.places[s.moved], s.places[s.moved]})
	}
	slices.Reverse(moves)
	return moves
}

// stateHeap is a heap with the one that is nearest to the goal first.
type stateHeap []*searchState

func (h stateHeap) Len() int { return len(h) }
func (h stateHeap) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(h[i].distance, h[j].distance), cmp.Compare(h[i].moves, h[j].moves),
		cmp.Compare(h[i].number, h[j].number)) < 0
}
func (h stateHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }
func (h *stateHeap) Push(x any)   { *h = append(*h, x.(*searchState)) }
func (h *stateHeap) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}
