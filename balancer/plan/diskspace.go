package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/sim"
)

// errNoVolumes says that a disk limit can't be applied because the sizes of volumes are not known.
var errNoVolumes = errors.New("plan: a disk limit needs the sizes of the shards' volumes, and none is known: dbStats " +
	"reports them with the storage engine WiredTiger only, and older snapshot files don't have them")

// initVolumes starts tracking the free space of shards, if there is a disk limit.
func (b *builder) initVolumes(s *catalog.Snapshot) error {
	if b.o.Limits.Disk == 0 {
		return nil
	}
	known := func(shard catalog.ShardState) bool { return shard.Disk.Known() }
	if !slices.ContainsFunc(s.Shards(), known) {
		return errNoVolumes
	}
	b.volumes, b.shortages = catalog.NewVolumes(b.input.start, b.o.Limits.Disk), map[sim.Shortage]int64{}
	return nil
}

// shardsWithRoom returns the shards that have room for data of a collection, and records the others.
func (b *builder) shardsWithRoom(ns string, bytes int64, shards []catalog.ShardID) []catalog.ShardID {
	if b.volumes == nil {
		return shards
	}
	var list []catalog.ShardID
	for _, id := range shards {
		lacks := b.volumes.MissingBytes(ns, id, bytes)
		if lacks == 0 {
			list = append(list, id)
			continue
		}
		at := sim.Shortage{Shard: id, Namespace: ns}
		if least, noted := b.shortages[at]; !noted || lacks < least {
			b.shortages[at] = lacks
		}
	}
	return list
}

// addArrival adds the data that a step brings to a shard, for steps that the engine does not choose.
// The data that the donor deletes do not count as free space, because it is not known when they are
// deleted.
func (b *builder) addArrival(ns string, to catalog.ShardID, bytes int64) {
	if b.volumes != nil {
		b.volumes.AddData(ns, to, bytes)
	}
}

// noRoomFindings returns the shards that had no room for what a plan leaves, by shard.
func (b *builder) noRoomFindings() (list []diagnosis.Finding) {
	least := map[catalog.ShardID]int64{}
	for at, lacks := range b.shortages {
		if known, noted := least[at.Shard]; !noted || lacks < known {
			least[at.Shard] = lacks
		}
	}
	for id, lacks := range least {
		list = append(list, b.noRoomFinding(id, lacks))
	}
	slices.SortFunc(list, func(x, y diagnosis.Finding) int { return cmp.Compare(x.Scope.Shard, y.Scope.Shard) })
	return list
}

// noRoomFinding returns the finding that a shard can't receive more.
func (b *builder) noRoomFinding(id catalog.ShardID, missingBytes int64) diagnosis.Finding {
	limit := humanize.Percent(b.o.Limits.Disk)
	if missingBytes == math.MaxInt64 {
		return diagnosis.NewFinding(diagnosis.NoRoom, diagnosis.Scope{Shard: id}, fmt.Sprintf(
			"the size of the volume of shard %s is not known: with a disk limit it receives nothing", id))
	}
	f := diagnosis.NewFinding(diagnosis.NoRoom, diagnosis.Scope{Shard: id}, fmt.Sprintf(
		"shard %s has no room for the next chunk below the disk limit of %s: it lacks %s on disk", id, limit,
		humanize.Bytes(missingBytes)))
	f.Numbers = []diagnosis.Number{{Name: "lacks", Value: missingBytes, Unit: diagnosis.Bytes}}
	return f
}
