package plan

import (
	"cmp"
	"slices"

	"github.com/tidwall/btree"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

// searchFittingOrder searches another order of moves if disks are too full for the balancer's order:
// the balancer only moves a chunk to its final shard, and does not make room first. If there is no such
// order, the steps are not changed.
func (b *builder) searchFittingOrder() error {
	searched := []GoalKind{Balance, Drain, Zones}
	if len(b.shortages) == 0 || b.exceededLimit != "" || !slices.Contains(searched, b.o.Goal.Kind) ||
		b.o.Goal.Kind == Drain && b.isGoalReached() {
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
	other := newBuilder(b.input, b.o)
	other.plan.Basis, other.plan.Note = b.plan.Basis, b.plan.Note
	other.volumes = catalog.NewVolumes(b.input.start, b.o.Limits.Disk)
	if !other.scheduleInRoom(f.steps(moves)) {
		return nil
	}
	other.balancerIdle, other.endSnapshot = true, end
	*b = *other
	return nil
}

// maxMovesPerState limits a search by the product of chunks and shards, which is the maximum number of
// moves in each state. maxStates is the maximum number of states that are kept, and maxPlaces is the
// maximum number of chunk positions in all of them. A small cluster has fewer states, so that a failed
// search proves that there is no such order.
const (
	maxMovesPerState = 4_000
	maxStates        = 20_000
	maxPlaces        = 2_000_000
)

// fitSearch searches an order of moves to a goal in which each move has room. It moves whole chunks,
// one at a time, and waits after each move until the donor has deleted the chunk.
type fitSearch struct {
	b          *builder
	colls      []*catalog.CollectionState
	shards     []catalog.ShardState
	chunks     []fitChunk
	firstChunk []int // index of the first chunk of each collection
	start      *catalog.Volumes
	tried      map[string][]*catalog.Volumes // by shards of the chunks
	keptStates int
}

// fitChunk is a chunk that a search may move.
type fitChunk struct {
	catalog.Chunk
	coll    int
	bytes   int64
	docs    int64
	shard   uint8   // index of its shard
	targets []uint8 // indexes of the shards to which it may move
}

// newFitSearch returns a search; nil if the cluster is too large.
func newFitSearch(b *builder) *fitSearch {
	f := &fitSearch{b: b, colls: b.input.colls, shards: b.input.start.Shards(), tried: map[string][]*catalog.Volumes{}}
	count := 0
	for _, c := range f.colls {
		if c.Table == nil {
			return nil
		}
		count += c.Table.Len()
	}
	if len(f.shards) > 250 || count*len(f.shards) > maxMovesPerState {
		return nil
	}
	for i := range f.colls {
		f.firstChunk = append(f.firstChunk, len(f.chunks))
		if !f.addCollection(i) {
			return nil
		}
	}
	f.start = catalog.NewVolumes(b.input.start, b.o.Limits.Disk)
	for _, d := range b.pendingDeletions() { // a search may wait for all of them
		f.start.RemoveData(d.ns, d.shard, d.bytes)
	}
	return f
}

// addCollection adds the chunks of a collection to the search. It returns false if a chunk is on a
// shard that does not exist.
func (f *fitSearch) addCollection(i int) bool {
	c, release := f.colls[i], f.b.input.start.Release()
	size := c.ChunkSize(f.b.input.start.Settings())
	contents := f.b.o.Model.Contents(c, size)
	stays := policy.ReportBlocked(c.Collection, release, nil)
	for chunk := range c.Table.All() {
		amount, data := contents(chunk), c.Sizes[chunk.Shard]
		most := policy.MaxDocuments(release, data.Documents+data.Orphans, data.Bytes+data.OrphanBytes, size)
		one := fitChunk{Chunk: chunk, coll: i, bytes: amount.Bytes, docs: amount.Documents}
		if _, ok := f.b.input.start.Shard(chunk.Shard); !ok {
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

// searchState is a distribution of chunks after some moves.
type searchState struct {
	places     []uint8
	volumes    *catalog.Volumes
	distance   int64 // an estimate of the remaining work; 0 at the goal
	parent     *searchState
	movedChunk int // the chunk that the last move has moved
	moves      int
	number     int // in the order of discovery
}

// fitMove is a move of a search.
type fitMove struct {
	chunk    int
	from, to uint8
}

// search returns the moves to the goal. It tries the state with the smallest estimated distance first.
func (f *fitSearch) search() (moves []fitMove, found bool, err error) {
	first := &searchState{volumes: f.start}
	for _, c := range f.chunks {
		first.places = append(first.places, c.shard)
	}
	first.distance = f.distance(first.places)
	queue := btree.NewBTreeGOptions((*searchState).before, btree.Options{NoLocks: true})
	f.remember(first)
	queue.Set(first)
	for most := min(maxStates, maxPlaces/max(1, len(f.chunks))); queue.Len() > 0 && f.keptStates < most; {
		s, _ := queue.PopMin()
		if s.distance == 0 {
			return s.path(), true, nil
		}
		if watch := f.b.o.OnProgress; watch != nil {
			if err := watch(sim.Progress{Moves: s.moves, At: f.b.input.start.Time()}); err != nil {
				return nil, false, err
			}
		}
		for next := range f.nextStates(s) {
			queue.Set(next)
		}
	}
	return nil, false, nil
}

// nextStates returns the states that can be reached with one move.
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
					places:     slices.Clone(s.places),
					volumes:    s.volumes.Clone(),
					parent:     s,
					movedChunk: i,
					moves:      s.moves + 1,
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

// remember records a state. It returns false if an earlier state was at least as good: with all chunks
// on the same shards, and with no file larger.
func (f *fitSearch) remember(s *searchState) bool {
	key := string(s.places)
	for _, had := range f.tried[key] {
		if had.FilesNotLargerThan(s.volumes) {
			return false
		}
	}
	f.tried[key] = append(f.tried[key], s.volumes)
	f.keptStates++
	s.number = f.keptStates
	return true
}

// path returns the moves that lead to a state.
func (s *searchState) path() (moves []fitMove) {
	for ; s.parent != nil; s = s.parent {
		moves = append(moves, fitMove{s.movedChunk, s.parent.places[s.movedChunk], s.places[s.movedChunk]})
	}
	slices.Reverse(moves)
	return moves
}

// before orders states by their distance, the smallest first.
func (s *searchState) before(o *searchState) bool {
	return cmp.Or(cmp.Compare(s.distance, o.distance), cmp.Compare(s.moves, o.moves), cmp.Compare(s.number, o.number)) < 0
}
