package preflight

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// checkShards checks the shards that the run involves: whether they exist, answer, and may be removed.
func (l *checker) checkShards() {
	for _, id := range l.involvedShards() {
		if shard, ok := l.Snapshot.Shard(id); ok && shard.Unreachable != "" {
			l.addBlocking(diagnosis.UnreachableFinding(shard))
		}
	}
	if shard, ok := l.Snapshot.Shard(l.Shard); l.isDrain() && ok {
		l.checkLastShard(shard)
		l.checkZones(shard)
		if l.Shard == catalog.ConfigServerID && l.Remove {
			delay := diagnosis.CleanupDelayOf(l.Snapshot, l.Shard)
			f := diagnosis.NewFinding(diagnosis.ConfigShardLeaves, diagnosis.Scope{Shard: l.Shard}, fmt.Sprintf(
				"the config servers can be removed as a shard after they have deleted their donated ranges: %s after the last move",
				humanize.Duration(delay)))
			f.Numbers = []diagnosis.Number{{Name: "cleanupDelay", Value: int64(delay.Seconds()), Unit: diagnosis.Seconds}}
			l.addWarning(f)
		}
	}
}

// involvedShards returns the ids of the shards that the steps use, sorted; all shards where there is no
// plan.
func (l *checker) involvedShards() (list []catalog.ShardID) {
	if l.isDrain() {
		list = append(list, l.Shard)
	}
	if l.Plan == nil && !l.isDrain() {
		for _, shard := range l.Snapshot.Shards() {
			list = append(list, shard.ID)
		}
	}
	for _, m := range l.movesByNamespace() {
		list = append(append(list, m.from...), m.to...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// checkLastShard reports that no shard can receive the data of a drain.
func (l *checker) checkLastShard(shard catalog.ShardState) {
	var draining []string
	for _, other := range l.Snapshot.Shards() {
		switch {
		case other.ID == shard.ID:
		case other.Draining:
			draining = append(draining, string(other.ID))
		default:
			return
		}
	}
	scope := diagnosis.Scope{Shard: shard.ID}
	if len(draining) == 0 {
		l.addBlocking(diagnosis.NewFinding(diagnosis.LastShard, scope,
			fmt.Sprintf("shard %s is the only shard of the cluster", shard.ID), "sh.addShard(<address>)"))
		return
	}
	l.addBlocking(diagnosis.NewFinding(diagnosis.LastShard, scope, fmt.Sprintf(
		"shard %s is the last one that is not draining: %s", shard.ID, drainingText(draining)), "sh.addShard(<address>)"))
}

func drainingText(ids []string) string {
	if len(ids) == 1 {
		return ids[0] + " is"
	}
	return strings.Join(ids, " and ") + " are"
}

// checkZones reports zones that would lose their last shard, which servers refuse.
func (l *checker) checkZones(shard catalog.ShardState) {
	if !l.Remove {
		return
	}
	for _, f := range diagnosis.OnlyShardFindings(l.Snapshot, shard) {
		l.addBlocking(f)
	}
}

// maxCompression is the assumed maximum compression ratio on disk.
const maxCompression = 4

// checkFreeSpace reports shards that receive more than the free space of their volumes. The compression
// ratio is unknown: data that fits only if it is compressed causes only a warning.
func (l *checker) checkFreeSpace() {
	if l.Plan == nil {
		return
	}
	bytes := map[catalog.ShardID]int64{}
	for _, s := range l.Plan.Steps {
		if s.Kind == plan.Move {
			bytes[s.To] += s.Bytes
			bytes[s.From] -= s.Bytes // the shard deletes them later
		}
	}
	for _, shard := range l.Snapshot.Shards() {
		comes, free := bytes[shard.ID], shard.Disk.Free()
		if !shard.Disk.Known() || comes <= free {
			continue
		}
		f := diagnosis.NewFinding(diagnosis.LittleRoom, diagnosis.Scope{Shard: shard.ID}, fmt.Sprintf(
			"shard %s is to receive %s before compression, and its volume has %s free", shard.ID, humanize.Bytes(comes),
			humanize.Bytes(free)))
		f.Numbers = []diagnosis.Number{
			{Name: "comes", Value: comes, Unit: diagnosis.Bytes}, {Name: "free", Value: free, Unit: diagnosis.Bytes},
		}
		l.add(Obstacle{Finding: f, Stops: comes/maxCompression > free && !l.Limited})
	}
}
