package heat

import (
	"cmp"
	"math"
	"time"

	"shardsh/balancer/catalog"
)

// Options are the limits of a Decision.
type Options struct {
	LoadKind LoadKind
	// Trigger is the multiple of the mean load from which a shard is overloaded. Target is the multiple
	// to which its load is reduced; less is not worth a move. The defaults are 1.10 and 1.05.
	Trigger, Target float64
	// MaxMoves is the maximum number of moves; 0 means no limit.
	MaxMoves int
	// Horizon is the time within which a move has to pay off: the load that the move takes off a shard
	// in that time has to exceed the cost of the move on both shards. The default is an hour.
	Horizon time.Duration
	// Volumes are the disk volumes of the shards; nil ignores disks.
	Volumes *catalog.Volumes
}

// moveBytesPerSecond is the assumed rate of a move. Both shards count as occupied while the move lasts.
const moveBytesPerSecond = 20 << 20

// minRelief is the minimum part of the mean load that a move has to take off a shard.
const minRelief = 0.005

// Recipient is a shard as a possible recipient.
type Recipient struct {
	Shard      catalog.ShardID
	CanReceive bool // the shard answers and is not draining
	Zones      []string
	// MaxBytes is how many bytes the shard may receive; negative means no limit.
	MaxBytes int64
}

// Collection is a collection whose load is evened out.
type Collection struct {
	Map   *Map
	Zones *catalog.ZoneSet // nil means no zones
	// ChunkBytes is the average chunk size on each shard.
	ChunkBytes map[catalog.ShardID]int64
	// IsFixed reports whether a chunk must not be moved, because it was moved recently or is jumbo. A
	// nil IsFixed allows all moves.
	IsFixed func(lower catalog.Key) bool
}

// Step is a split or a move.
type Step struct {
	Namespace string
	Min, Max  catalog.Key
	// Point is the split point; zero for a move.
	Point    catalog.Key
	From, To catalog.ShardID
	// LoadOfMean is the load of the moved chunk, as a part of the mean load of a shard.
	LoadOfMean float64
	Bytes      int64
}

// Obstacle says why a shard stays overloaded.
type Obstacle string

// The obstacles.
const (
	ObstacleHotKey    Obstacle = "hotKey"       // one key has the load
	ObstacleMonotonic Obstacle = "monotonicKey" // all inserts go to the end of the key
	ObstacleUnsampled Obstacle = "unsampled"    // no sample shows the keys of the load
	ObstacleNoChunk   Obstacle = "noChunk"      // no chunk may move, because of its size, zone, free space or cool-down
)

// OverloadedShard is a shard that stays overloaded.
type OverloadedShard struct {
	Shard     catalog.ShardID
	Namespace string
	Why       Obstacle
	// Key is the hot key.
	Key catalog.Key
	// LoadOfMean is the load of the shard as a multiple of the mean.
	LoadOfMean float64
}

// Decision holds the steps that even out the load.
type Decision struct {
	Steps      []Step
	Overloaded []OverloadedShard
	// MaxLoadRatioBefore and After are the largest load of a shard as a multiple of the mean, before and after the
	// steps.
	MaxLoadRatioBefore, MaxLoadRatioAfter float64
}

// Moves returns the number of moves among the steps.
func (d Decision) Moves() (n int) {
	for _, s := range d.Steps {
		if s.Point.IsZero() {
			n++
		}
	}
	return n
}

// Decide chooses moves and splits that bring the largest load of a shard near the mean. Moves that take
// the most load off come first.
func Decide(colls []Collection, places []Recipient, o Options) Decision {
	o.Trigger, o.Target = cmp.Or(o.Trigger, 1.10), cmp.Or(o.Target, 1.05)
	o.Horizon = cmp.Or(o.Horizon, time.Hour)
	if o.Volumes != nil {
		o.Volumes = o.Volumes.Clone()
	}
	d := newDecider(colls, places, o)
	out := &d.decision
	out.MaxLoadRatioBefore = d.maxLoadRatio()
	for d.addStep() {
	}
	out.MaxLoadRatioAfter = d.maxLoadRatio()
	return *out
}

// piece is a chunk, or a part of a chunk that is to be split.
type piece struct {
	coll         int
	min, max     catalog.Key
	zone         string
	load         float64
	bytes        int64
	keys         []KeyLoad
	isFixed      bool
	unsplittable bool // the piece can't be split
	// unmovable says why no shard could take the load of the piece; empty if a shard could.
	unmovable  Obstacle
	hotKey     catalog.Key // the hot key in the piece
	hotKeyLoad float64
}

// shardState is a shard with its pieces during the decision.
type shardState struct {
	Recipient
	load float64
	// scatter and unplaced are the parts of the load that belong to no chunk.
	scatter, unplaced float64
	pieces            []*piece
	done              bool
}

type decider struct {
	o        Options
	colls    []Collection
	weights  []Weights
	shards   []*shardState
	mean     float64 // of the load, over the shards that accept some of it
	decision Decision
	moves    int
}

func newDecider(colls []Collection, places []Recipient, o Options) *decider {
	d := &decider{o: o, colls: colls}
	at := map[catalog.ShardID]*shardState{}
	for _, p := range places {
		s := &shardState{Recipient: p}
		at[p.Shard] = s
		d.shards = append(d.shards, s)
	}
	for i, c := range colls {
		w := c.Map.WeightsFor(o.LoadKind)
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

// markUnmovable marks the pieces as unmovable that have a key which is too hot for any shard.
func (d *decider) markUnmovable() {
	least := math.Inf(1)
	for _, s := range d.shards {
		least = min(least, s.scatter)
	}
	for _, s := range d.shards {
		for _, p := range s.pieces {
			if p.hotKeyLoad > 0 && least+p.hotKeyLoad > d.o.Trigger*d.mean {
				p.unmovable = ObstacleHotKey
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

// setMean computes the mean load.
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

// maxLoadRatio returns the largest load as a multiple of the mean.
func (d *decider) maxLoadRatio() float64 {
	if d.mean == 0 {
		return 0
	}
	most := 0.0
	for _, s := range d.shards {
		most = max(most, s.load)
	}
	return most / d.mean
}

// addStep adds one step. It reports false when nothing is left to do.
func (d *decider) addStep() bool {
	donor := d.chooseDonor()
	if donor == nil || d.o.MaxMoves > 0 && d.moves >= d.o.MaxMoves {
		return false
	}
	if donor.unmovableLoad() >= maxUnmovableShare*donor.load { // the rest of its load is not worth a move
		d.excludeDonor(donor, d.obstacle(donor))
		return true
	}
	p, to, split := d.chooseMove(donor)
	switch {
	case split != nil:
		d.addSplit(donor, split)
	case p != nil:
		d.addMove(p, donor, to)
	case d.exchange(donor):
	default:
		d.excludeDonor(donor, d.obstacle(donor))
	}
	return true
}

// maxUnmovableShare is a limit: if at least this part of a shard's load can't be moved, the shard is no
// donor.
const maxUnmovableShare = 0.9

// unmovableLoad returns the load of a shard that no move can take off.
func (s *shardState) unmovableLoad() (sum float64) {
	for _, p := range s.pieces {
		switch p.unmovable {
		case ObstacleHotKey:
			sum += p.hotKeyLoad
		case ObstacleMonotonic:
			sum += p.load
		}
	}
	return sum
}

// chooseDonor returns the shard with the largest load, if that load exceeds the trigger before the
// first move, or the target afterwards.
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

// excludeDonor excludes a shard from further steps. Its load still counts for the mean.
func (d *decider) excludeDonor(s *shardState, why OverloadedShard) {
	why.Shard, why.LoadOfMean = s.Shard, s.load/d.mean
	if s.load > d.o.Trigger*d.mean {
		d.decision.Overloaded = append(d.decision.Overloaded, why)
	}
	s.done = true
}

// obstacle returns what keeps a shard from donating chunks.
func (d *decider) obstacle(s *shardState) OverloadedShard {
	why := OverloadedShard{Why: ObstacleNoChunk}
	if s.unplaced >= s.load-d.mean {
		why.Why = ObstacleUnsampled
	}
	var most *piece
	for _, p := range s.pieces {
		if most == nil || p.load > most.load {
			most = p
		}
	}
	if most != nil {
		why.Namespace = d.namespace(most)
		if most.unmovable != "" && why.Why == ObstacleNoChunk {
			why.Why, why.Key = most.unmovable, most.hotKey
		}
	}
	return why
}
