package heat

import (
	"cmp"
	"math"
	"slices"
	"time"

	"shardsh/balancer/catalog"
)

// Options say how far a Decision goes.
type Options struct {
	By By
	// Trigger is from which multiple of the mean on a shard has too much, Target to which
	// it is brought: less is not worth a move. 1.10 and 1.05 when they are zero.
	Trigger, Target float64
	// Moves is how many moves there are at most; 0 for any number.
	Moves int
	// Horizon is how long a move has to be worth it: what it takes off a shard in that time
	// is more than the move itself costs both. An hour when it is zero.
	Horizon time.Duration
	// Volumes say what there is room for on disks; nil does not ask.
	Volumes *catalog.Volumes
}

// moveBytes is how many bytes a second a move is taken to copy: both shards count as
// occupied as long as that takes.
const moveBytes = 20 << 20

// leastRelief is the part of the mean load that a move has to take off a shard.
const leastRelief = 0.005

// Place is a shard as one to put chunks on.
type Place struct {
	Shard   catalog.ShardID
	Accepts bool // it does not drain, and answers
	Zones   []string
	// Room is how many bytes of data it may receive; negative where nobody limits them.
	Room int64
}

// Collection is one that is evened out.
type Collection struct {
	Map   *Map
	Zones *catalog.ZoneSet // nil = none
	// Bytes is how much a chunk of a shard holds on average.
	Bytes map[catalog.ShardID]int64
	// Stays reports whether a chunk is left alone: it was moved recently, or is jumbo.
	// Nil leaves none.
	Stays func(lower catalog.Key) bool
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
	out := &d.out
	out.Before = d.largest()
	for d.step() {
	}
	out.After = d.largest()
	return *out
}

// piece is a chunk, or a part of one that is to be split.
type piece struct {
	coll     int
	min, max catalog.Key
	zone     string
	value    float64
	bytes    int64
	keys     []KeyLoad
	stays    bool
	whole    bool // it can't be split
	// anchored says that no shard could have it without having too much.
	anchored Obstacle
	key      catalog.Key // the hot one of it
	keyValue float64
}

// seat is a shard with its pieces.
type seat struct {
	Place
	load float64
	// scatter and unknown are parts of the load that no chunk has.
	scatter, unknown float64
	pieces           []*piece
	done             bool
}

type decider struct {
	o       Options
	colls   []Collection
	weights []Weights
	seats   []*seat
	mean    float64 // of the load, over the shards that accept some
	out     Decision
	moves   int
}

func newDecider(colls []Collection, places []Place, o Options) *decider {
	d := &decider{o: o, colls: colls}
	at := map[catalog.ShardID]*seat{}
	for _, p := range places {
		s := &seat{Place: p}
		at[p.Shard] = s
		d.seats = append(d.seats, s)
	}
	for i, c := range colls {
		w := c.Map.WeightsFor(o.By)
		d.weights = append(d.weights, w)
		for _, s := range c.Map.Shards {
			if seat := at[s.Shard]; seat != nil {
				seat.load += w.Of(s.Load)
				seat.scatter += w.Of(s.Scatter)
				seat.unknown += w.Of(s.Unplaced)
			}
		}
		for j := range c.Map.Chunks {
			if seat := at[c.Map.Chunks[j].Shard]; seat != nil {
				seat.pieces = append(seat.pieces, d.pieceOf(i, j))
			}
		}
	}
	d.average()
	d.anchor()
	return d
}

// anchor holds the pieces with a key that is too much for any shard.
func (d *decider) anchor() {
	least := math.Inf(1)
	for _, s := range d.seats {
		least = min(least, s.scatter)
	}
	for _, s := range d.seats {
		for _, p := range s.pieces {
			if p.keyValue > 0 && least+p.keyValue > d.o.Trigger*d.mean {
				p.anchored = ObstacleKey
			}
		}
	}
}

func (d *decider) pieceOf(coll, chunk int) *piece {
	c, w := d.colls[coll], d.weights[coll]
	m := c.Map
	of := m.Chunks[chunk]
	p := &piece{coll: coll, min: of.Min, max: of.Max, value: w.Of(of.Load), bytes: c.Bytes[of.Shard], keys: of.Keys}
	p.stays = c.Stays != nil && c.Stays(of.Min)
	if c.Zones != nil {
		p.zone = c.Zones.ZoneOf(of.Min, of.Max)
	}
	for _, hot := range m.HotKeys {
		if value := w.Of(hot.Load); hot.Chunk == chunk && value > p.keyValue {
			p.key, p.keyValue = hot.Key, value
		}
	}
	if end := m.Monotonic; end != nil && w.Write > 0 {
		last := chunk == len(m.Chunks)-1
		if last && end.AtMax || chunk == 0 && !end.AtMax {
			p.anchored = ObstacleMonotonic
		}
	}
	return p
}

// average finds the mean.
func (d *decider) average() {
	var sum, n float64
	for _, s := range d.seats {
		if s.Accepts {
			n++
		}
		sum += s.load
	}
	if d.mean = 0; n > 0 {
		d.mean = sum / n
	}
}

// largest is the largest load as a multiple of the mean of all.
func (d *decider) largest() float64 {
	var sum, most float64
	for _, s := range d.seats {
		sum, most = sum+s.load, max(most, s.load)
	}
	if sum == 0 {
		return 0
	}
	return most / (sum / float64(len(d.seats)))
}

// step adds one step; false when nothing is left to be done.
func (d *decider) step() bool {
	donor := d.donor()
	if donor == nil || d.o.Moves > 0 && d.moves >= d.o.Moves {
		return false
	}
	if donor.anchored() >= mostlyAnchored*donor.load { // what else it has is not worth a move
		d.give(donor, d.obstacle(donor))
		return true
	}
	p, to, split := d.choose(donor)
	switch {
	case split != nil && d.split(donor, split):
		return true
	case p != nil:
		d.move(p, donor, to)
		return true
	case d.exchange(donor):
		return true
	}
	d.give(donor, d.obstacle(donor))
	return true
}

// mostlyAnchored is the part of a shard's load that no move takes off it, from which on none is
// made.
const mostlyAnchored = 0.9

// anchored is the load of a shard that no move takes off it.
func (s *seat) anchored() (sum float64) {
	for _, p := range s.pieces {
		switch p.anchored {
		case ObstacleKey:
			sum += p.keyValue
		case ObstacleMonotonic:
			sum += p.value
		}
	}
	return sum
}

// donor is the shard with the largest load, if that is too much: to begin with the one above the
// trigger, later the target.
func (d *decider) donor() (most *seat) {
	for _, s := range d.seats {
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

// give has a shard keep what it has. The others are not brought below the mean of all.
func (d *decider) give(s *seat, why Stuck) {
	why.Shard, why.Share = s.Shard, s.load/d.mean
	if s.load > d.o.Trigger*d.mean {
		d.out.Stuck = append(d.out.Stuck, why)
	}
	s.done = true
}

// obstacle names what keeps a shard from giving anything.
func (d *decider) obstacle(s *seat) Stuck {
	why := Stuck{Why: ObstacleChunks}
	if s.unknown >= s.load-d.mean {
		why.Why = ObstacleUnknown
	}
	var most *piece
	for _, p := range s.pieces {
		if most == nil || p.value > most.value {
			most = p
		}
	}
	if most != nil {
		why.Namespace = d.namespace(most)
		if most.anchored != "" && why.Why == ObstacleChunks {
			why.Why, why.Key = most.anchored, most.key
		}
	}
	return why
}

// choose returns the piece to move and where to, or one that is too hot for that and may
// be split.
func (d *decider) choose(donor *seat) (best *piece, to *seat, split *piece) {
	others := slices.Clone(d.seats)
	slices.SortStableFunc(others, func(a, b *seat) int { return cmp.Compare(a.load, b.load) })
	for _, r := range others {
		limit := min(donor.load-d.mean, d.o.Target*d.mean-r.load)
		if r == donor || r.done || !r.Accepts || limit < leastRelief*d.mean {
			continue
		}
		var larger *piece
		for _, p := range donor.pieces {
			switch {
			case p.stays || p.anchored == ObstacleMonotonic || !d.fits(p, r) || !d.pays(p):
			case p.value > limit*(1+slack), p.anchored != "":
				if !p.whole && (larger == nil || p.value > larger.value) {
					larger = p
				}
			case best == nil || p.better(best):
				best, to = p, r
			}
		}
		if larger != nil && (best == nil || best.value < limit/2) {
			split = larger
		}
		if best != nil || split != nil {
			return best, to, split
		}
	}
	best, to = d.lesser(donor, others)
	return best, to, nil
}

// lesser returns a piece that leaves another shard with too much, but with less than its own
// has: that one can give other pieces.
func (d *decider) lesser(donor *seat, others []*seat) (best *piece, to *seat) {
	const less = 0.95
	for _, r := range others {
		if r == donor || r.done || !r.Accepts {
			continue
		}
		for _, p := range donor.pieces {
			if d.free(p, r) && r.load+p.value < less*donor.load && (best == nil || p.value > best.value) {
				best, to = p, r
			}
		}
		if best != nil {
			break
		}
	}
	return best, to
}

// mostBack is how many pieces come back for one at most.
const mostBack = 4

// exchange moves a piece away for smaller ones that come back, where no move alone helps: what is
// too much for any other shard may take the place of something there.
func (d *decider) exchange(donor *seat) bool {
	var give *piece
	var take []*piece
	var with *seat
	for _, r := range d.seats {
		if r == donor || r.done || !r.Accepts || !donor.Accepts {
			continue
		}
		limit := min(donor.load-d.mean, d.o.Target*d.mean-r.load) * (1 + slack)
		for _, p := range donor.pieces {
			if !d.free(p, r) {
				continue
			}
			if back := d.back(p, r, donor, limit); back != nil && (give == nil || len(back) < len(take)) {
				give, take, with = p, back, r
			}
		}
	}
	if give == nil || d.o.Moves > 0 && d.moves+1+len(take) > d.o.Moves {
		return false
	}
	d.move(give, donor, with)
	for _, q := range take {
		d.move(q, with, donor)
	}
	return true
}

// back returns what may come back from a shard for a piece, so that it has no more than a limit more
// than before, and something more; nil for nothing.
func (d *decider) back(p *piece, from, to *seat, limit float64) (list []*piece) {
	least := 2 * leastRelief * d.mean
	if limit < least {
		return nil
	}
	pieces := slices.Clone(from.pieces)
	slices.SortStableFunc(pieces, func(a, b *piece) int { return cmp.Compare(b.value, a.value) })
	sum := 0.0
	for _, q := range pieces {
		if p.value-sum-q.value < least || !d.free(q, to) {
			continue
		}
		if list, sum = append(list, q), sum+q.value; p.value-sum <= limit {
			return list
		}
		if len(list) == mostBack {
			break
		}
	}
	return nil
}

// free reports whether a piece may go to a shard as a whole.
func (d *decider) free(p *piece, to *seat) bool {
	return !p.stays && p.anchored == "" && d.fits(p, to) && d.pays(p)
}

// slack is by how much a piece may be more than what a shard should give.
const slack = 0.02

// better prefers more load, and of nearly the same the one with fewer bytes.
func (p *piece) better(than *piece) bool {
	const alike = 0.9
	switch {
	case p.value*alike > than.value:
		return true
	case p.value < than.value*alike:
		return false
	case p.bytes != than.bytes:
		return p.bytes < than.bytes
	}
	return p.value > than.value
}

func (d *decider) namespace(p *piece) string { return d.colls[p.coll].Map.Namespace }

func (d *decider) fits(p *piece, to *seat) bool {
	return (to.Room < 0 || p.bytes <= to.Room) && (p.zone == catalog.NoZone || slices.Contains(to.Zones, p.zone)) &&
		(d.o.Volumes == nil || d.o.Volumes.Lacks(d.namespace(p), to.Shard, p.bytes) == 0)
}

// pays reports whether a move takes off more in time than it costs.
func (d *decider) pays(p *piece) bool {
	share := p.value / d.mean
	return share >= leastRelief && share*d.o.Horizon.Seconds() >= float64(p.bytes)/moveBytes
}

func (d *decider) move(p *piece, from, to *seat) {
	d.out.Steps = append(d.out.Steps, Step{Namespace: d.namespace(p), Min: p.min, Max: p.max,
		From: from.Shard, To: to.Shard, Share: p.value / d.mean, Bytes: p.bytes})
	d.moves++
	from.load, to.load = from.load-p.value, to.load+p.value
	if to.Room >= 0 {
		to.Room -= p.bytes
	}
	if d.o.Volumes != nil {
		d.o.Volumes.Arrive(d.namespace(p), to.Shard, p.bytes)
	}
	from.pieces = slices.DeleteFunc(from.pieces, func(o *piece) bool { return o == p })
	p.stays = true
	to.pieces = append(to.pieces, p)
}

// splitSamples is how many samples of keys a split needs.
const splitSamples = 20

// split cuts a piece at the median of its load. A piece that has no other key there
// stays whole, and so does one with hardly anything but a hot key.
func (d *decider) split(s *seat, p *piece) bool {
	at, below, ok := p.median(d.weights[p.coll])
	if !ok || p.value-p.keyValue < leastRelief*d.mean {
		p.whole = true
		return true
	}
	d.out.Steps = append(d.out.Steps, Step{Namespace: d.namespace(p), Min: p.min, Max: p.max, At: at,
		From: s.Shard})
	upper := *p
	cut, _ := slices.BinarySearchFunc(p.keys, at, func(k KeyLoad, at catalog.Key) int { return k.Key.Compare(at) })
	upper.min, upper.keys, upper.value, upper.bytes = at, p.keys[cut:], p.value*(1-below), p.bytes/2
	p.max, p.keys, p.value, p.bytes = at, p.keys[:cut], p.value*below, p.bytes-p.bytes/2
	for part, has := range map[*piece]bool{p: p.key.Less(at), &upper: !p.key.Less(at)} {
		if !has {
			part.anchored, part.key, part.keyValue = "", catalog.Key{}, 0
		}
	}
	s.pieces = append(s.pieces, &upper)
	return true
}

// median returns the key that is nearest to having half of the load below it, and how much
// that is.
func (p *piece) median(w Weights) (at catalog.Key, below float64, ok bool) {
	var all, sum float64
	samples := 0
	for _, k := range p.keys {
		all += w.Of(k.Load)
		samples += k.Samples
	}
	if all == 0 || samples < splitSamples {
		return at, 0, false
	}
	nearest := math.Inf(1)
	for _, k := range p.keys {
		if share := sum / all; p.min.Less(k.Key) && k.Key.Len() > 0 && math.Abs(share-0.5) < nearest {
			nearest, at, below, ok = math.Abs(share-0.5), k.Key, share, true
		}
		sum += w.Of(k.Load)
	}
	const lopsided = 0.49 // one side has next to nothing
	return at, below, ok && nearest < lopsided
}
