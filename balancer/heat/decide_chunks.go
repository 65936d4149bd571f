package heat

import (
	"cmp"
	"math"
	"slices"

	"shardsh/balancer/catalog"
)

// chooseMove returns the piece to move and its recipient, or a piece that is too hot to be moved and
// may be split.
func (d *decider) chooseMove(donor *shardState) (best *piece, to *shardState, split *piece) {
	others := slices.Clone(d.shards)
	slices.SortStableFunc(others, func(a, b *shardState) int { return cmp.Compare(a.load, b.load) })
	for _, r := range others {
		limit := min(donor.load-d.mean, d.o.Target*d.mean-r.load)
		if r == donor || r.done || !r.CanReceive || limit < minRelief*d.mean {
			continue
		}
		var larger *piece
		for _, p := range donor.pieces {
			switch {
			case p.isFixed || p.unmovable == ObstacleMonotonic || !d.canReceive(p, r) || !d.isWorthMoving(p):
			case p.load > limit*(1+maxExcess), p.unmovable != "":
				if !p.unsplittable && (larger == nil || p.load > larger.load) {
					larger = p
				}
			case best == nil || p.isBetter(best):
				best, to = p, r
			}
		}
		if larger != nil && (best == nil || best.load < limit/2) {
			split = larger
		}
		if best != nil || split != nil {
			return best, to, split
		}
	}
	best, to = d.chooseLesserEvil(donor, others)
	return best, to, nil
}

// chooseLesserEvil returns a piece that overloads its recipient, but less than the donor is overloaded
// now. The recipient can then donate other pieces.
func (d *decider) chooseLesserEvil(donor *shardState, others []*shardState) (best *piece, to *shardState) {
	const less = 0.95
	for _, r := range others {
		if r == donor || r.done || !r.CanReceive {
			continue
		}
		for _, p := range donor.pieces {
			if d.canMove(p, r) && r.load+p.load < less*donor.load && (best == nil || p.load > best.load) {
				best, to = p, r
			}
		}
		if best != nil {
			break
		}
	}
	return best, to
}

// maxExchanged limits how many pieces are moved back in exchange for one piece.
const maxExchanged = 4

// exchange moves a piece to a recipient and smaller pieces back, where no single move helps: a piece
// that would overload every other shard can replace pieces there.
func (d *decider) exchange(donor *shardState) bool {
	var give *piece
	var take []*piece
	var with *shardState
	for _, r := range d.shards {
		if r == donor || r.done || !r.CanReceive || !donor.CanReceive {
			continue
		}
		limit := min(donor.load-d.mean, d.o.Target*d.mean-r.load) * (1 + maxExcess)
		for _, p := range donor.pieces {
			if !d.canMove(p, r) {
				continue
			}
			if back := d.choosePiecesBack(p, r, donor, limit); back != nil && (give == nil || len(back) < len(take)) {
				give, take, with = p, back, r
			}
		}
	}
	if give == nil || d.o.MaxMoves > 0 && d.moves+1+len(take) > d.o.MaxMoves {
		return false
	}
	d.addMove(give, donor, with)
	for _, q := range take {
		d.addMove(q, with, donor)
	}
	return true
}

// choosePiecesBack returns the pieces that the recipient gives back for a piece, so that its load
// grows, by at most limit; nil if there are none.
func (d *decider) choosePiecesBack(p *piece, from, to *shardState, limit float64) (list []*piece) {
	least := 2 * minRelief * d.mean
	if limit < least {
		return nil
	}
	pieces := slices.Clone(from.pieces)
	slices.SortStableFunc(pieces, func(a, b *piece) int { return cmp.Compare(b.load, a.load) })
	sum := 0.0
	for _, q := range pieces {
		if p.load-sum-q.load < least || !d.canMove(q, to) {
			continue
		}
		if list, sum = append(list, q), sum+q.load; p.load-sum <= limit {
			return list
		}
		if len(list) == maxExchanged {
			break
		}
	}
	return nil
}

// canMove reports whether a piece may go to a shard as a whole.
func (d *decider) canMove(p *piece, to *shardState) bool {
	return !p.isFixed && p.unmovable == "" && d.canReceive(p, to) && d.isWorthMoving(p)
}

// maxExcess is how much the load of a piece may exceed the donor's surplus.
const maxExcess = 0.02

// isBetter prefers the piece with more load and, at nearly the same load, the piece with fewer bytes.
func (p *piece) isBetter(than *piece) bool {
	const alike = 0.9
	switch {
	case p.load*alike > than.load:
		return true
	case p.load < than.load*alike:
		return false
	case p.bytes != than.bytes:
		return p.bytes < than.bytes
	}
	return p.load > than.load
}

func (d *decider) namespace(p *piece) string { return d.colls[p.coll].Map.Namespace }

func (d *decider) canReceive(p *piece, to *shardState) bool {
	return (to.MaxBytes < 0 || p.bytes <= to.MaxBytes) &&
		(p.zone == catalog.NoZone || slices.Contains(to.Zones, p.zone)) &&
		(d.o.Volumes == nil || d.o.Volumes.MissingBytes(d.namespace(p), to.Shard, p.bytes) == 0)
}

// isWorthMoving reports whether a move relieves the donor within the horizon by more than the move
// costs.
func (d *decider) isWorthMoving(p *piece) bool {
	share := p.load / d.mean
	return share >= minRelief && share*d.o.Horizon.Seconds() >= float64(p.bytes)/moveBytesPerSecond
}

func (d *decider) addMove(p *piece, from, to *shardState) {
	d.decision.Steps = append(d.decision.Steps, Step{Namespace: d.namespace(p), Min: p.min, Max: p.max,
		From: from.Shard, To: to.Shard, LoadOfMean: p.load / d.mean, Bytes: p.bytes})
	d.moves++
	from.load, to.load = from.load-p.load, to.load+p.load
	if to.MaxBytes >= 0 {
		to.MaxBytes -= p.bytes
	}
	if d.o.Volumes != nil {
		d.o.Volumes.AddData(d.namespace(p), to.Shard, p.bytes)
	}
	from.pieces = slices.DeleteFunc(from.pieces, func(o *piece) bool { return o == p })
	p.isFixed = true
	to.pieces = append(to.pieces, p)
}

// minSplitSamples is the minimum number of samples with keys for a split.
const minSplitSamples = 20

// addSplit splits a piece at the median of its load. It does not split a piece without another key at
// the median, or a piece with hardly any load besides a hot key.
func (d *decider) addSplit(s *shardState, p *piece) {
	at, below, ok := p.median(d.weights[p.coll])
	if !ok || p.load-p.hotKeyLoad < minRelief*d.mean {
		p.unsplittable = true
		return
	}
	d.decision.Steps = append(d.decision.Steps, Step{Namespace: d.namespace(p), Min: p.min, Max: p.max, Point: at,
		From: s.Shard})
	upper := *p
	cut, _ := slices.BinarySearchFunc(p.keys, at, func(k KeyLoad, at catalog.Key) int { return k.Key.Compare(at) })
	upper.min, upper.keys, upper.load, upper.bytes = at, p.keys[cut:], p.load*(1-below), p.bytes/2
	p.max, p.keys, p.load, p.bytes = at, p.keys[:cut], p.load*below, p.bytes-p.bytes/2
	for part, has := range map[*piece]bool{p: p.hotKey.Less(at), &upper: !p.hotKey.Less(at)} {
		if !has {
			part.unmovable, part.hotKey, part.hotKeyLoad = "", catalog.Key{}, 0
		}
	}
	s.pieces = append(s.pieces, &upper)
}

// median returns the key for which the load below is closest to half, and the share of the load below
// that key.
func (p *piece) median(w Weights) (at catalog.Key, below float64, ok bool) {
	var all, sum float64
	samples := 0
	for _, k := range p.keys {
		all += w.Weigh(k.Load)
		samples += k.Samples
	}
	if all == 0 || samples < minSplitSamples {
		return at, 0, false
	}
	nearest := math.Inf(1)
	for _, k := range p.keys {
		if share := sum / all; p.min.Less(k.Key) && k.Key.Len() > 0 && math.Abs(share-0.5) < nearest {
			nearest, at, below, ok = math.Abs(share-0.5), k.Key, share, true
		}
		sum += w.Weigh(k.Load)
	}
	const lopsided = 0.49 // one side has almost no load
	return at, below, ok && nearest < lopsided
}
