package heat

import (
	"cmp"
	"math"
	"time"

	"shardsh/balancer/catalog"
)

// Options say how far a Decision goes.
type Options struct {
	By LoadKind
	// Trigger is the multiple of the mean load from which a shard has too much, Target the one to which
	// it is brought: less is not worth a move. 1.10 and 1.05 when they are zero.
	Trigger, Target float64
	// MaxMoves is how many moves there are at most; 0 for any number.
	MaxMoves int
	// Horizon is how long a move has to be worth it: what it takes off a shard in that time
	// is more than the move itself costs both. An hour when it is zero.
	Horizon time.Duration
	// Volumes say how much space the disks have; nil ignores disks.
	Volumes *catalog.Volumes
}

// moveBytesPerSecond is how many bytes a second a move is taken to copy: both shards count as
// occupied as long as that takes.
const moveBytesPerSecond = 20 << 20

// minRelief is the part of the mean load that a move has to take off a shard.
const minRelief = 0.005

// Place is a shard as a possible recipient.
type Place struct {
	Shard      catalog.ShardID
	CanReceive bool // it does not drain, and answers
	Zones      []string
	// MaxBytes is how many bytes of data it may receive; negative where nobody limits them.
	MaxBytes int64
}

// Collection is one that is evened out.
type Collection struct {
	Map   *Map
	Zones *catalog.ZoneSet // nil = none
	// ChunkBytes is how much a chunk of a shard holds on average.
	ChunkBytes map[catalog.ShardID]int64
	// IsFixed reports whether a chunk is left alone: it was moved recently, or is jumbo.
	// Nil leaves none.
	IsFixed func(lower catalog.Key) bool
}

// Step is a split or a move.
type Step struct {
	Namespace string
	Min, Max  catalog.Key
	// At is where a split cuts; zero for a move.
	At       catalog.Key
	From, To catalog.ShardID
	// Share is what a move takes along, as a part of the mean load of a shard.
	Share float64
	Bytes int64
}

// Obstacle says why a shard keeps more than it should.
type Obstacle string

// The obstacles.
const (
	ObstacleKey       Obstacle = "hotKey"       // one key has it
	ObstacleMonotonic Obstacle = "monotonicKey" // all inserts go to the end of the key
	ObstacleUnknown   Obstacle = "unsampled"    // no sample says where it goes
	ObstacleChunks    Obstacle = "noChunk"      // no chunk may move: by size, zone, room, cool-down
)

// Stuck is a shard that keeps more than it should.
type Stuck struct {
	Shard     catalog.ShardID
	Namespace string
	Why       Obstacle
	// Key is the hot one.
	Key catalog.Key
	// Share is its load as a multiple of the mean.
	Share float64
}

// Decision is what evens out the load.
type Decision struct {
	Steps []Step
	Stuck []Stuck
	// Before and After are the largest load of a shard as a multiple of the mean.
	Before, After float64
}

// Moves returns how many of the steps are moves.
func (d Decision) Moves() (n int) {
	for _, s := range d.Steps {
		if s.At.IsZero() {
			n++
		}
	}
	return n
}

// Decide chooses moves and splits that bring the largest load of a shard near the mean.
// The moves come in the order in which they take most off.
func Decide(colls []Collection, places []Place, o Options) Decision {
	o.Trigger, o.Target = cmp.Or(o.Trigger, 1.10), cmp.Or(o.Target, 1.05)
	o.Horizon = cmp.Or(o.Horizon, time.Hour)
	if o.Volumes != nil {
		o.Volumes = o.Volumes.Clone()
	}
	d := newDecider(colls, places, o)
	out := &d.decision
	out.Before = d.maxLoadRatio()
	for d.addStep() {
	}
	out.After = d.maxLoadRatio()
	return *out
}

// piece is a chunk, or a part of one that is to be split.
type piece struct {
	coll         int
	min, max     catalog.Key
	zone         string
	load         float64
	bytes        int64
	keys         []KeyLoad
	isFixed      bool
	unsplittable bool // it can't be split
	// anchored says that no shard could have it without having too much.
	unmovable  Obstacle
	hotKey     catalog.Key // the hot one of it
	hotKeyLoad float64
}

// shardState is a shard with its pieces.
type shardState struct {
	Place
	load float64
	// scatter and unknown are parts of the load that no chunk has.
	scatter, unplaced float64
	pieces            []*piece
	done              bool
}

type decider struct {
	o        Options
	colls    []Collection
	weights  []Weights
	shards   []*shardState
	mean     float64 // of the load, over the shards that accept some
	decision Decision
	moves    int
}

func newDecider(colls []Collection, places []Place, o Options) *decider {
	d := &decider{o: o, colls: colls}
	at := map[catalog.ShardID]*shardState{}
	for _, p := range places {
		s := &shardState{Place: p}
		at[p.Shard] = s
		d.shards = append(d.shards, s)
	}
	for i, c := range colls {
		w := c.Map.WeightsFor(o.By)
		d.weights = append(d.weights, w)
		for _, s := range c.Map.Shards {
			if seat := at[s.Shard]; seat != nil {
				seat.load += w.Weigh(s.Load)
				seat.scatter += w.Weigh(s.Scatter)
				seat.unplaced += w.Weigh(s.Unplaced)
			}
		}
		for j := range c.Map.Chunks {
			if seat := at[c.Map.Chunks[j].Shard]; seat != nil {
				seat.pieces = append(seat.pieces, d.newPiece(i, j))
			}
		}
	}
	d.setMean()
	d.markUnmovable()
	return d
}

// markUnmovable marks the pieces as unmovable that have a key too hot for any shard.
func (d *decider) markUnmovable() {
	least := math.Inf(1)
	for _, s := range d.shards {
		least = min(least, s.scatter)
	}
	for _, s := range d.shards {
		for _, p := range s.pieces {
			if p.hotKeyLoad > 0 && least+p.hotKeyLoad > d.o.Trigger*d.mean {
				p.unmovable = ObstacleKey
			}
		}
	}
}

func (d *decider) newPiece(coll, chunk int) *piece {
	c, w := d.colls[coll], d.weights[coll]
	m := c.Map
	of := m.Chunks[chunk]
	p := &piece{coll: coll, min: of.Min, max: of.Max, load: w.Weigh(of.Load), bytes: c.ChunkBytes[of.Shard], keys: of.Keys}
	p.isFixed = c.IsFixed != nil && c.IsFixed(of.Min)
	if c.Zones != nil {
		p.zone = c.Zones.ZoneOf(of.Min, of.Max)
	}
	for _, hot := range m.HotKeys {
		if value := w.Weigh(hot.Load); hot.Chunk == chunk && value > p.hotKeyLoad {
			p.hotKey, p.hotKeyLoad = hot.Key, value
		}
	}
	if end := m.Monotonic; end != nil && w.Write > 0 {
		last := chunk == len(m.Chunks)-1
		if last && end.AtMax || chunk == 0 && !end.AtMax {
			p.unmovable = ObstacleMonotonic
		}
	}
	return p
}

// setMean finds the mean.
func (d *decider) setMean() {
	var sum, n float64
	for _, s := range d.shards {
		if s.CanReceive {
			n++
		}
		sum += s.load
	}
	if d.mean = 0; n > 0 {
		d.mean = sum / n
	}
}

// maxLoadRatio is the largest load as a multiple of the mean of all.
func (d *decider) maxLoadRatio() float64 {
	var sum, most float64
	for _, s := range d.shards {
		sum, most = sum+s.load, max(most, s.load)
	}
	if sum == 0 {
		return 0
	}
	return most / (sum / float64(len(d.shards)))
}

// addStep adds one step; false when nothing is left to be done.
func (d *decider) addStep() bool {
	donor := d.chooseDonor()
	if donor == nil || d.o.MaxMoves > 0 && d.moves >= d.o.MaxMoves {
		return false
	}
	if donor.unmovableLoad() >= maxUnmovableShare*donor.load { // what else it has is not worth a move
		d.markStuck(donor, d.obstacle(donor))
		return true
	}
	p, to, split := d.chooseMove(donor)
	switch {
	case split != nil && d.addSplit(donor, split):
		return true
	case p != nil:
		d.addMove(p, donor, to)
		return true
	case d.exchange(donor):
		return true
	}
	d.markStuck(donor, d.obstacle(donor))
	return true
}

// maxUnmovableShare is a limit: if at least this part of a shard's load can't be moved, nothing is
// moved off the shard.
const maxUnmovableShare = 0.9

// unmovableLoad is the load of a shard that no move takes off it.
func (s *shardState) unmovableLoad() (sum float64) {
	for _, p := range s.pieces {
		switch p.unmovable {
		case ObstacleKey:
			sum += p.hotKeyLoad
		case ObstacleMonotonic:
			sum += p.load
		}
	}
	return sum
}

// chooseDonor is the shard with the largest load, if that is too much: to begin with the one above the
// trigger, later the target.
func (d *decider) chooseDonor() (most *shardState) {
	for _, s := range d.shards {
		if !s.done && (most == nil || s.load > most.load) {
			most = s
		}
	}
	limit := d.o.Trigger
	if d.moves > 0 {
		limit = d.o.Target
	}
	if most == nil || d.mean <= 0 || most.load <= limit*d.mean {
		return nil
	}
	return most
}

// markStuck marks a shard as done: it keeps its load. The mean stays that of all shards, this
// one included.
func (d *decider) markStuck(s *shardState, why Stuck) {
	why.Shard, why.Share = s.Shard, s.load/d.mean
	if s.load > d.o.Trigger*d.mean {
		d.decision.Stuck = append(d.decision.Stuck, why)
	}
	s.done = true
}

// obstacle names what keeps a shard from giving anything.
func (d *decider) obstacle(s *shardState) Stuck {
	why := Stuck{Why: ObstacleChunks}
	if s.unplaced >= s.load-d.mean {
		why.Why = ObstacleUnknown
	}
	var most *piece
	for _, p := range s.pieces {
		if most == nil || p.load > most.load {
			most = p
		}
	}
	if most != nil {
		why.Namespace = d.namespace(most)
		if most.unmovable != "" && why.Why == ObstacleChunks {
			why.Why, why.Key = most.unmovable, most.hotKey
		}
	}
	return why
}
