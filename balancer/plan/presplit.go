package plan

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
)

// piece is a range that is, or will be, a chunk.
type piece struct {
	min, max  catalog.Key
	shard, to catalog.ShardID
	zone      string
	jumbo     bool // has the jumbo flag, and stays where it is
	bytes     int64
	docs      int64
}

// addPresplit splits a collection at the goal's points and at zone boundaries, and distributes the
// pieces. Each shard of a zone gets the same number of the zone's pieces, with a difference of at most
// one, and pieces outside of zones go to all shards. Pieces stay where they are as far as possible. Of
// the pieces that have to move, those next to another piece on the same shard are chosen first, so that
// adjacent keys are on many shards.
func (b *builder) addPresplit() error {
	c := b.input.colls[0]
	points, err := b.presplitPoints(c)
	if err != nil {
		return err
	}
	splits, pieces := b.splitCollection(c, points)
	byZone := map[string][]int{}
	for i, p := range pieces {
		byZone[p.zone] = append(byZone[p.zone], i)
	}
	for _, zone := range slices.Sorted(maps.Keys(byZone)) {
		members := byZone[zone]
		b.spreadPieces(c, pieces, members, eligibleShards(b.input.start, zone))
	}
	steps := splits
	for _, p := range pieces {
		if p.to != p.shard {
			steps = append(steps, Step{
				Kind: Move, Namespace: c.Namespace, From: p.shard, To: p.to, Min: p.min, Max: p.max, Bytes: p.bytes,
				Documents: p.docs, Why: b.spreadReason(p),
			})
		}
	}
	b.schedule(steps)
	b.warnOfMerges(c, pieces)
	return nil
}

// warnOfMerges adds a note that the auto-merger will undo some of the splits.
func (b *builder) warnOfMerges(c *catalog.CollectionState, pieces []piece) {
	s := b.input.start
	if !s.Release().AutoMerges() || !s.Settings().AutoMerge || !c.EnableAutoMerge {
		return
	}
	merged := 0
	for i := 1; i < len(pieces); i++ {
		p, before := pieces[i], pieces[i-1]
		if p.to == before.to && p.zone == before.zone && !p.jumbo && !before.jumbo {
			merged++
		}
	}
	if merged > 0 {
		b.plan.addNote(fmt.Sprintf("the auto-merger runs every hour and will merge %d of the new chunks with a neighbour "+
			"on the same shard; to prevent this: sh.disableAutoMerger(%q)", merged, c.Namespace))
	}
}

func (b *builder) spreadReason(p piece) string {
	if len(b.o.Goal.TargetShards) > 0 {
		return fmt.Sprintf("In the other cluster the range is on the shard that corresponds to %s.", p.to)
	}
	if p.zone != catalog.NoZone {
		return fmt.Sprintf("Each shard of zone %s gets the same number of its chunks.", p.zone)
	}
	return "Each shard gets the same number of chunks."
}

// presplitPoints returns the split points in key order: those of the goal and the zone boundaries.
func (b *builder) presplitPoints(c *catalog.CollectionState) ([]catalog.Key, error) {
	points := slices.Clone(b.o.Goal.Points)
	for _, p := range points {
		if len(p.Values()) != c.Pattern.Len() {
			return nil, fmt.Errorf("plan: the point %s is not a valid key of %s (shard key %s)", p, c.Namespace, c.Pattern)
		}
		if err := c.Pattern.CheckHashed(p); err != nil {
			return nil, fmt.Errorf("plan: the point %s: %w", p, err)
		}
	}
	for _, r := range c.Zones.Ranges() {
		points = append(points, r.Min, r.Max)
	}
	slices.SortFunc(points, catalog.Key.Compare)
	return slices.CompactFunc(points, catalog.Key.Equal), nil
}

// splitCollection returns the splits, and the collection in pieces.
func (b *builder) splitCollection(c *catalog.CollectionState, points []catalog.Key) (splits []Step, pieces []piece) {
	contents := b.o.Model.Contents(c, c.ChunkSize(b.input.start.Settings()))
	for chunk := range c.Table.All() {
		first := 0
		for first < len(points) && !chunk.Min.Less(points[first]) {
			first++
		}
		last := first
		for last < len(points) && points[last].Less(chunk.Max) {
			last++
		}
		inside := points[first:last]
		points = points[last:]
		amount := contents(chunk)
		n := int64(len(inside) + 1)
		lower := chunk.Min
		for _, upper := range append(slices.Clone(inside), chunk.Max) {
			pieces = append(pieces, piece{
				min: lower, max: upper, shard: chunk.Shard, to: chunk.Shard, zone: c.Zones.ZoneOf(lower, upper),
				jumbo: chunk.Jumbo == catalog.JumboTrue && len(inside) == 0, bytes: amount.Bytes / n, docs: amount.Documents / n,
			})
			lower = upper
		}
		if len(inside) > 0 {
			splits = append(splits, Step{
				Kind: Split, Namespace: c.Namespace, From: chunk.Shard, Min: chunk.Min, Max: chunk.Max,
				Points: slices.Clone(inside), Why: fmt.Sprintf("The range is split into %d chunks.", n),
			})
		}
	}
	return splits, pieces
}

// spreadPieces decides which of the members goes to which of the shards.
func (b *builder) spreadPieces(c *catalog.CollectionState, pieces []piece, members []int, shards []catalog.ShardID) {
	have := map[catalog.ShardID]int{}
	for _, i := range members {
		have[pieces[i].shard]++
	}
	if len(shards) == 0 {
		zone := pieces[members[0]].zone
		b.obstacles = append(b.obstacles, diagnosis.NewFinding(diagnosis.ZoneWithoutShards,
			diagnosis.Scope{Namespace: c.Namespace, Zone: zone},
			fmt.Sprintf("zone %s has no shard that is not draining: its chunks stay where they are", zone)))
		return
	}
	if len(b.o.Goal.TargetShards) > 0 {
		b.sendAllToGoalShards(c, pieces, members, shards)
		return
	}
	wanted := quotas(have, shards, len(members))
	// Shards with too many pieces give some away, first those next to another piece of the same shard.
	for _, beside := range []bool{true, false} {
		for _, i := range members {
			p := &pieces[i]
			if p.to != p.shard || p.jumbo || have[p.shard] <= wanted[p.shard] || beside && !hasNeighbourOnShard(pieces, i) {
				continue
			}
			to := neediestShard(pieces, i, b.shardsWithRoom(c.Namespace, p.bytes, shards), have, wanted)
			if to == "" {
				continue
			}
			have[p.shard]--
			have[to]++
			p.to = to
			b.addArrival(c.Namespace, to, p.bytes)
		}
	}
	for _, i := range members {
		if p := pieces[i]; p.jumbo && wanted[p.shard] == 0 {
			b.obstacles = append(b.obstacles, jumboPieceFinding(c, p))
		}
	}
}

// jumboPieceFinding returns the finding that a piece can't leave its shard.
func jumboPieceFinding(c *catalog.CollectionState, p piece) diagnosis.Finding {
	return diagnosis.NewFinding(diagnosis.OnlyJumboChunks,
		diagnosis.Scope{Namespace: c.Namespace, Shard: p.shard, Zone: p.zone},
		fmt.Sprintf("the chunk of %s at %s is jumbo and stays on shard %s", c.Namespace, p.min, p.shard))
}

// quotas returns how many of n pieces each shard gets. If n can't be divided evenly, the shards with
// the most pieces keep one more.
func quotas(have map[catalog.ShardID]int, shards []catalog.ShardID, n int) map[catalog.ShardID]int {
	order := slices.Clone(shards)
	slices.SortStableFunc(order, func(x, y catalog.ShardID) int { return cmp.Compare(have[y], have[x]) })
	wanted := map[catalog.ShardID]int{}
	for i, id := range order {
		wanted[id] = n / len(order)
		if i < n%len(order) {
			wanted[id]++
		}
	}
	return wanted
}

// hasNeighbourOnShard reports whether the piece before this one is, or will be, on this piece's shard.
func hasNeighbourOnShard(pieces []piece, i int) bool {
	return i > 0 && pieces[i-1].to == pieces[i].shard
}

// neediestShard returns the shard that lacks the most pieces, if possible not the shard of an adjacent
// piece; empty if no shard lacks one.
func neediestShard(
	pieces []piece, i int, shards []catalog.ShardID, have, wanted map[catalog.ShardID]int,
) (to catalog.ShardID) {
	neighbour := func(id catalog.ShardID) bool {
		return i > 0 && pieces[i-1].to == id || i+1 < len(pieces) && pieces[i+1].to == id
	}
	better := func(x, y catalog.ShardID) bool {
		if nx, ny := neighbour(x), neighbour(y); nx != ny {
			return ny
		}
		return wanted[x]-have[x] > wanted[y]-have[y]
	}
	for _, id := range shards {
		if have[id] < wanted[id] && (to == "" || better(id, to)) {
			to = id
		}
	}
	return to
}

// errOneCollection says that the goal Presplit needs exactly one collection.
var errOneCollection = errors.New("plan: the goal presplit takes one collection")
