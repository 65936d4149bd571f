package price

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
)

const (
	// reshardingOverhead is the duration of a resharding besides the copy.
	reshardingOverhead = time.Second
	blockedAtEnd       = "the whole collection at the end, up to 5 s (reshardingCriticalSectionTimeoutMillis)"
)

// reshardWay prices a resharding with the same key.
func (p *comparer) reshardWay() (Way, bool, error) {
	targets := p.targetShards(catalog.NoZone)
	w := Way{Kind: Reshard, WritesBlocked: blockedAtEnd, Links: []Link{}, Peaks: []Peak{},
		Irreversible: "all of it once it has committed: the collection has a new UUID and new chunks; " +
			"sh.abortReshardCollection() before",
		Needs: "8.0; an index for the shard key; room for a second copy"}
	options := "forceRedistribution: true"
	if p.options.Goal.Kind == plan.Drain {
		var list []string
		for _, id := range targets {
			list = append(list, fmt.Sprintf("{ shard: %q }", id))
		}
		options += ", shardDistribution: [" + strings.Join(list, ", ") + "]"
	}
	w.Commands = []string{fmt.Sprintf("sh.reshardCollection(%q, %s, false, { %s })", p.coll.Namespace, p.coll.Pattern,
		options)}
	switch r := p.snapshot.Release(); {
	case !r.ReshardsToSameKey():
		w.Refused = fmt.Sprintf("servers of release %s do not reshard to the same key", r)
	case strings.HasPrefix(p.coll.Namespace, "config."):
		w.Refused = "collections of config are not resharded"
	case len(targets) == 0:
		w.Refused = "no shard is left to take it"
	}
	shares, unplaced := p.targetShares()
	if unplaced != "" && w.Refused == "" {
		w.Refused = fmt.Sprintf("zone %s has no shard that takes its chunks", unplaced)
	}
	p.addRewrite(&w, shares)
	p.setCopyTimes(&w, shares)
	return w, true, nil
}

// targetShards returns the shards that receive chunks of a zone.
func (p *comparer) targetShards(zone string) (ids []catalog.ShardID) {
	for _, shard := range p.snapshot.Shards() {
		gone := shard.Draining || p.options.Goal.Kind == plan.Drain && shard.ID == p.options.Goal.Shard
		if !gone && (zone == catalog.NoZone || shard.HasZone(zone)) {
			ids = append(ids, shard.ID)
		}
	}
	return ids
}

// targetShares returns the bytes that each shard receives: all shards of a zone receive the same
// amount.
func (p *comparer) targetShares() (shares map[catalog.ShardID]int64, unplaced string) {
	contents := p.contents()
	byZone := map[string]int64{}
	for chunk := range p.coll.Table.All() {
		byZone[p.coll.Zones.ZoneOf(chunk.Min, chunk.Max)] += contents(chunk).Bytes
	}
	shares = map[catalog.ShardID]int64{}
	for zone, bytes := range byZone {
		ids := p.targetShards(zone)
		if len(ids) == 0 {
			unplaced = zone
		}
		for _, id := range ids {
			shares[id] += bytes / int64(len(ids))
		}
	}
	return shares, unplaced
}

// setCopyTimes sets the time when all shards copy at once: the time of the slowest shard. The logs have
// the rates of migrations, not of reshardings, so the range is wider.
func (p *comparer) setCopyTimes(w *Way, shares map[catalog.ShardID]int64) {
	bytes, most := map[catalog.ShardID]int64{}, int64(0)
	for _, shard := range p.snapshot.Shards() {
		bytes[shard.ID] = max(shares[shard.ID], p.coll.Sizes[shard.ID].Bytes)
		most = max(most, bytes[shard.ID])
	}
	copying := p.speeds.CopyTime(bytes)
	low, high := p.speeds.TimeRange(copying, most, 1, 0)
	const least = balancer.DefaultMinReshardingDuration
	w.Likely = max(least, copying+reshardingOverhead)
	w.Low, w.High = max(least, low), max(least, high)+forecast.MaxRoundDelay
}

// moveCollectionWays prices the move of an unsharded collection; it returns none where no move is
// needed.
func (p *comparer) moveCollectionWays() []Way {
	owners := p.coll.Owners()
	if len(owners) == 0 && len(p.coll.Sizes) == 1 {
		for id := range p.coll.Sizes {
			owners = append(owners, id)
		}
	}
	if len(owners) != 1 || p.options.Goal.Kind != plan.Drain || owners[0] != p.options.Goal.Shard {
		return []Way{}
	}
	w := Way{Kind: MoveCollection, WritesBlocked: blockedAtEnd,
		Irreversible: "all of it once it has committed; sh.abortMoveCollection() before",
		Needs:        "8.0; room for it on the other shard", Links: []Link{}, Peaks: []Peak{}}
	if !p.snapshot.Release().MovesCollections() {
		w.Refused = fmt.Sprintf("servers of release %s do not move collections that are not sharded: movePrimary moves "+
			"all of a database", p.snapshot.Release())
	}
	targets := slices.DeleteFunc(p.targetShards(catalog.NoZone), func(id catalog.ShardID) bool { return id == owners[0] })
	if len(targets) == 0 {
		w.Refused = "no shard is left to take it"
		return []Way{w}
	}
	to := slices.MinFunc(targets, func(a, b catalog.ShardID) int { return cmp.Compare(p.fullness(a), p.fullness(b)) })
	w.Commands = []string{fmt.Sprintf("sh.moveCollection(%q, %q)", p.coll.Namespace, to)}
	shares := map[catalog.ShardID]int64{to: p.coll.Sizes[owners[0]].Bytes}
	p.addRewrite(&w, shares)
	p.setCopyTimes(&w, shares)
	if w.Bytes == 0 {
		p.notes = append(p.notes, fmt.Sprintf(
			"the size of %s is unknown, or 0: the time of its copy is not included", p.coll.Namespace))
	}
	return []Way{w}
}

// fullness returns how full a shard is: the use of its disk, or the bytes of the known collections.
func (p *comparer) fullness(id catalog.ShardID) float64 {
	if shard, _ := p.snapshot.Shard(id); shard.Disk.Known() {
		return shard.Disk.UsedShare()
	}
	var sum int64
	for _, c := range p.snapshot.Collections() {
		sum += c.Sizes[id].Bytes
	}
	return float64(sum)
}

// Name returns the way in words.
func (k WayKind) Name() string {
	switch k {
	case Moves:
		return "moves by shardsh"
	case Balancer:
		return "the cluster's balancer"
	case MergeFirst:
		return "merge, then move"
	case DefragmentFirst:
		return "defragment, then move"
	case Reshard:
		return "reshard to the same key"
	}
	return "moveCollection"
}

// FullestPeak returns the peak of the fullest volume, and reports whether one is known.
func (w Way) FullestPeak() (Peak, bool) {
	known := slices.DeleteFunc(slices.Clone(w.Peaks), func(p Peak) bool { return p.Total == 0 })
	if len(known) == 0 {
		return Peak{}, false
	}
	return slices.MaxFunc(known, func(a, b Peak) int { return cmp.Compare(a.Share(), b.Share()) }), true
}

// TimeRange returns the time in words.
func (w Way) TimeRange() string {
	low, high := forecast.DurationText(w.Low), forecast.DurationText(w.High)
	if low == high {
		return low
	}
	return low + " to " + high
}

// NeededRelease returns the oldest release that supports the way.
func (w Way) NeededRelease() string {
	release, _, _ := strings.Cut(w.Needs, ";")
	return release
}
