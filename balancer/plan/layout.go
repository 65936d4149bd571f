package plan

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/sim"
)

// LayoutGoal returns the goal to give a collection the chunks of the collection of the same name in
// another cluster, with the same distribution. If a cluster does not have the collection, the error is
// a *diagnosis.NotFoundError.
//
// Chunks go to shards of the zone in which they are in the other cluster, if shards of this cluster
// have a zone of that name. If both clusters have the same number of shards, each shard of the other
// cluster corresponds to one of this cluster: the one of the same name, or the next. Otherwise all
// shards of this cluster get the same amount of data, each from as few shards of the other cluster as
// possible. Chunks that are too large for that are split where keys were sampled.
func LayoutGoal(ns string, s, other *catalog.Snapshot) (Goal, error) {
	goal := Goal{Kind: Presplit, Namespaces: []string{ns}}
	here, there := s.Collection(ns), other.Collection(ns)
	switch {
	case here == nil || here.Unsplittable:
		return goal, diagnosis.NewCollectionNotFound(s, ns)
	case there == nil || there.Unsplittable:
		missing := diagnosis.NewCollectionNotFound(other, ns)
		missing.Cluster = other.Parts().Source.Name
		return goal, missing
	case there.Table == nil:
		return goal, fmt.Errorf("%s: the chunks of %s were not read", other.Parts().Source.Name, ns)
	case !here.Pattern.Equal(there.Pattern):
		return goal, fmt.Errorf("%s has the shard key %s here and %s there: layouts can only be taken from the same key",
			ns, here.Pattern, there.Pattern)
	}
	l := &layoutCopy{s: s, other: other, coll: here, otherColl: there, groups: map[string][]int{}}
	l.addPieces()
	for _, zone := range slices.Sorted(maps.Keys(l.groups)) {
		l.assignZone(zone, l.groups[zone])
	}
	for i, p := range l.pieces {
		if i > 0 {
			goal.Points = append(goal.Points, p.min)
		}
		goal.TargetShards = append(goal.TargetShards, p.to)
	}
	return goal, nil
}

// layoutCopy copies the chunk layout of a collection in another cluster.
type layoutCopy struct {
	s, other        *catalog.Snapshot
	coll, otherColl *catalog.CollectionState
	pieces          []piece
	groups          map[string][]int // of pieces that can be on the same shards, by zone in this cluster
}

// addPieces makes pieces from the chunks: where the clusters have different numbers of shards, chunks
// larger than half of the amount that a shard is to get are split.
func (l *layoutCopy) addPieces() {
	contents := sim.Measured(l.otherColl, l.otherColl.ChunkSize(l.other.Settings()))
	amounts, total := make([]int64, 0, l.otherColl.Table.Len()), int64(0)
	for chunk := range l.otherColl.Table.All() {
		bytes := contents(chunk).Bytes
		amounts, total = append(amounts, bytes), total+bytes
	}
	most := total
	if shards := len(eligibleShards(l.s, catalog.NoZone)); shards != len(eligibleShards(l.other, catalog.NoZone)) {
		most = total / int64(2*max(1, shards))
	}
	for chunk := range l.otherColl.Table.All() {
		bytes := amounts[0]
		amounts = amounts[1:]
		points := l.splitPoints(chunk, bytes, most)
		lower := chunk.Min
		for _, upper := range append(points, chunk.Max) {
			zone := l.zoneOf(lower, upper)
			l.groups[zone] = append(l.groups[zone], len(l.pieces))
			l.pieces = append(l.pieces, piece{min: lower, max: upper, shard: chunk.Shard, bytes: bytes / int64(len(points)+1)})
			lower = upper
		}
	}
}

// splitPoints returns the split points of a chunk so that no piece has more than maxBytes, as far as
// the distribution of keys is known.
func (l *layoutCopy) splitPoints(chunk catalog.Chunk, bytes, maxBytes int64) (points []catalog.Key) {
	if maxBytes <= 0 || bytes <= maxBytes {
		return nil
	}
	n := int(math.Ceil(float64(bytes) / float64(maxBytes)))
	if l.otherColl.Pattern.HashedField() == 0 {
		for i := 1; i < n; i++ {
			if k, ok := l.otherColl.Pattern.KeyAtFraction(chunk.Min, chunk.Max, float64(i)/float64(n)); ok {
				points = append(points, k)
			}
		}
		return points
	}
	keys := l.otherColl.SampledKeysIn(chunk.Min, chunk.Max)
	for i := 1; i < n; i++ {
		if at := i * (len(keys) + 1) / n; at > 0 && at <= len(keys) && chunk.Min.Less(keys[at-1]) {
			points = append(points, keys[at-1])
		}
	}
	return slices.CompactFunc(points, catalog.Key.Equal)
}

// zoneOf returns the zone of a piece in this cluster: the zone of the range in this cluster, or its
// zone in the other cluster if shards of this cluster have a zone of that name.
func (l *layoutCopy) zoneOf(lower, upper catalog.Key) string {
	if zone := l.coll.Zones.ZoneOf(lower, upper); zone != catalog.NoZone {
		return zone
	}
	if zone := l.otherColl.Zones.ZoneOf(lower, upper); zone != catalog.NoZone && len(eligibleShards(l.s, zone)) > 0 {
		return zone
	}
	return catalog.NoZone
}

// eligibleShards returns the shards that may have chunks of a zone.
func eligibleShards(s *catalog.Snapshot, zone string) (ids []catalog.ShardID) {
	for _, shard := range s.NonDrainingShards() {
		if zone == catalog.NoZone || shard.HasZone(zone) {
			ids = append(ids, shard.ID)
		}
	}
	return ids
}

// assignZone decides to which shards the pieces of a zone go.
func (l *layoutCopy) assignZone(zone string, members []int) {
	ours, theirs := eligibleShards(l.s, zone), eligibleShards(l.other, zone)
	owners := map[catalog.ShardID]bool{}
	for _, i := range members {
		owners[l.pieces[i].shard] = true
	}
	for id := range owners { // a shard that is draining, or is in another zone, may still have pieces
		if !slices.Contains(theirs, id) {
			theirs = append(theirs, id)
		}
	}
	slices.SortFunc(theirs, func(a, b catalog.ShardID) int { return strings.Compare(string(a), string(b)) })
	switch {
	case len(ours) == 0: // the pieces stay where they are
	case len(ours) == len(theirs):
		to := pairShards(ours, theirs)
		for _, i := range members {
			l.pieces[i].to = to[l.pieces[i].shard]
		}
	default:
		l.distributeByWeight(members, ours, theirs)
	}
}

// pairShards maps each shard of the other cluster to one of this cluster.
func pairShards(ours, theirs []catalog.ShardID) map[catalog.ShardID]catalog.ShardID {
	to := map[catalog.ShardID]catalog.ShardID{}
	free := slices.Clone(ours)
	for _, id := range theirs {
		if at := slices.Index(free, id); at >= 0 {
			to[id], free = id, slices.Delete(free, at, at+1)
		}
	}
	for _, id := range theirs {
		if to[id] == "" {
			to[id], free = free[0], free[1:]
		}
	}
	return to
}

// distributeByWeight gives each shard of this cluster the same amount. The data of the other cluster's shards
// are laid end to end and divided into as many parts as there are shards in this cluster. The pieces of
// each shard of the other cluster are then dealt, in key order, to the shards that get a part of it, so
// that adjacent pieces are on several shards, as before.
func (l *layoutCopy) distributeByWeight(members []int, ours, theirs []catalog.ShardID) {
	of := map[catalog.ShardID][]int{}
	weight, total := map[catalog.ShardID]float64{}, 0.0
	for _, i := range members {
		p := l.pieces[i]
		of[p.shard] = append(of[p.shard], i)
		weight[p.shard] += l.weight(i)
		total += l.weight(i)
	}
	each, begins := total/float64(len(ours)), 0.0
	for _, id := range theirs {
		ends := begins + weight[id]
		left := map[catalog.ShardID]float64{} // the remaining part of each shard of this cluster
		for n, to := range ours {
			if part := min(ends, float64(n+1)*each) - max(begins, float64(n)*each); part > 0 {
				left[to] = part
			}
		}
		begins = ends
		share := maps.Clone(left)
		for _, i := range of[id] {
			to := ours[0]
			for _, one := range ours { // the shard that has got the smallest fraction of its part
				if share[one] > 0 && (share[to] == 0 || left[one]/share[one] > left[to]/share[to]) {
					to = one
				}
			}
			l.pieces[i].to = to
			left[to] -= l.weight(i)
		}
	}
}

// weight returns the weight of a piece. Empty pieces have a small weight, so that they are distributed
// too.
func (l *layoutCopy) weight(i int) float64 { return 1 + float64(l.pieces[i].bytes) }

// sendAllToGoalShards sends pieces to their shards of the goal. A piece that may not be on its shard goes to
// the eligible shard with the fewest pieces.
func (b *builder) sendAllToGoalShards(c *catalog.CollectionState, pieces []piece, members []int,
	shards []catalog.ShardID) {
	count := map[catalog.ShardID]int{}
	home := func(p piece) catalog.ShardID {
		at, found := slices.BinarySearchFunc(b.o.Goal.Points, p.min, catalog.Key.Compare)
		if found {
			at++
		}
		return b.o.Goal.TargetShards[at]
	}
	var lost []int
	for _, i := range members {
		if to := home(pieces[i]); slices.Contains(shards, to) {
			count[to]++
			b.sendToGoalShard(c, &pieces[i], to)
		} else {
			lost = append(lost, i)
		}
	}
	for _, i := range lost {
		to := pieces[i].shard
		if !slices.Contains(shards, to) {
			to = slices.MinFunc(shards, func(x, y catalog.ShardID) int { return cmp.Compare(count[x], count[y]) })
		}
		count[to]++
		b.sendToGoalShard(c, &pieces[i], to)
	}
}

func (b *builder) sendToGoalShard(c *catalog.CollectionState, p *piece, to catalog.ShardID) {
	if to == p.shard || p.jumbo || len(b.shardsWithRoom(c.Namespace, p.bytes, []catalog.ShardID{to})) == 0 {
		if to != p.shard && p.jumbo {
			b.obstacles = append(b.obstacles, jumboPieceFinding(c, *p))
		}
		return
	}
	p.to = to
	b.addArrival(c.Namespace, to, p.bytes)
}
