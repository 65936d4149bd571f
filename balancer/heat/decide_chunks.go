package heat

import (
	"cmp"
	"math"
	"slices"

	"shardsh/balancer/catalog"
)

// choose returns the piece to move and where to, or one that is too hot for that and may
// be split.
func (d *decider) choose(donor *shardState) (best *piece, to *shardState, split *piece) {
	others := slices.Clone(d.seats)
	slices.SortStableFunc(others, func(a, b *shardState) int { return cmp.Compare(a.load, b.load) })
	for _, r := range others {
		limit := min(donor.load-d.mean, d.o.Target*d.mean-r.load)
		if r == donor || r.done || !r.Accepts || limit < minRelief*d.mean {
			continue
		}
		var larger *piece
		for _, p := range donor.pieces {
			switch {
			case p.stays || p.unmovable == ObstacleMonotonic || !d.fits(p, r) || !d.pays(p):
			case p.value > limit*(1+slack), p.unmovable != "":
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
func (d *decider) lesser(donor *shardState, others []*shardState) (best *piece, to *shardState) {
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

// maxBack is how many pieces come back for one at most.
const maxBack = 4

// exchange moves a piece away for smaller ones that come back, where no move alone helps: what is
// too much for any other shard may take the place of something there.
func (d *decider) exchange(donor *shardState) bool {
	var give *piece
	var take []*piece
	var with *shardState
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
func (d *decider) back(p *piece, from, to *shardState, limit float64) (list []*piece) {
	least := 2 * minRelief * d.mean
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
		if len(list) == maxBack {
			break
		}
	}
	return nil
}

// free reports whether a piece may go to a shard as a whole.
func (d *decider) free(p *piece, to *shardState) bool {
	return !p.stays && p.unmovable == "" && d.fits(p, to) && d.pays(p)
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

func (d *decider) fits(p *piece, to *shardState) bool {
	return (to.Room < 0 || p.bytes <= to.Room) && (p.zone == catalog.NoZone || slices.Contains(to.Zones, p.zone)) &&
		(d.o.Volumes == nil || d.o.Volumes.MissingBytes(d.namespace(p), to.Shard, p.bytes) == 0)
}

// pays reports whether a move takes off more in time than it costs.
func (d *decider) pays(p *piece) bool {
	share := p.value / d.mean
	return share >= minRelief && share*d.o.Horizon.Seconds() >= float64(p.bytes)/moveBytes
}

func (d *decider) move(p *piece, from, to *shardState) {
	d.out.Steps = append(d.out.Steps, Step{Namespace: d.namespace(p), Min: p.min, Max: p.max,
		From: from.Shard, To: to.Shard, Share: p.value / d.mean, Bytes: p.bytes})
	d.moves++
	from.load, to.load = from.load-p.value, to.load+p.value
	if to.Room >= 0 {
		to.Room -= p.bytes
	}
	if d.o.Volumes != nil {
		d.o.Volumes.AddData(d.namespace(p), to.Shard, p.bytes)
	}
	from.pieces = slices.DeleteFunc(from.pieces, func(o *piece) bool { return o == p })
	p.stays = true
	to.pieces = append(to.pieces, p)
}

// splitSamples is how many samples of keys a split needs.
const splitSamples = 20

// split cuts a piece at the median of its load. A piece that has no other key there
// stays whole, and so does one with hardly anything but a hot key.
func (d *decider) split(s *shardState, p *piece) bool {
	at, below, ok := p.median(d.weights[p.coll])
	if !ok || p.value-p.keyValue < minRelief*d.mean {
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
			part.unmovable, part.key, part.keyValue = "", catalog.Key{}, 0
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
