package check

import (
	"fmt"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
)

// The rules about the disk volumes of shards, and about pending range deletions.

// checkDisk checks how full the volumes are. Volumes of unknown size are ignored: not every storage
// engine and file system reports a size.
func (rr *ruleRun) checkDisk() {
	if rr.reportGap("shards", "disks") {
		return
	}
	known := false
	for _, shard := range rr.Shards() {
		if !shard.Disk.Known() {
			continue
		}
		known = true
		rr.addIfOverMax(Quantity{100 * shard.Disk.UsedShare(), Percent}, Finding{About: diagnosis.Scope{Shard: shard.ID},
			Sentence: fmt.Sprintf("the volume of shard %s is %s full: %s of %s are free", shard.ID,
				humanize.Percent(shard.Disk.UsedShare()), humanize.Bytes(shard.Disk.Free()), humanize.Bytes(shard.Disk.Total))})
	}
	if !known && rr.choice.ExplicitlyNamed {
		rr.addUnavailable("how full the volumes are is unknown: no shard reports it")
	}
}

// checkPendingOrphans checks the number of orphaned documents on each shard, in all collections that the
// policy covers. It names the number of pending range deletions as well.
func (rr *ruleRun) checkPendingOrphans() {
	if rr.reportGap("shards", "sizes") {
		return
	}
	ranges := map[catalog.ShardID]int64{}
	for _, d := range rr.Parts().Deletions {
		if rr.policy.Namespaces.Match(d.Namespace) {
			ranges[d.Shard]++
		}
	}
	for _, shard := range rr.Shards() {
		var docs, bytes int64
		for _, c := range rr.policyCollections() {
			docs, bytes = docs+c.Sizes[shard.ID].Orphans, bytes+c.Sizes[shard.ID].OrphanBytes
		}
		sentence := fmt.Sprintf("shard %s has yet to delete %s (%s)", shard.ID,
			humanize.Count(docs, "orphaned document"), humanize.Bytes(bytes))
		if n := ranges[shard.ID]; n > 0 {
			sentence += fmt.Sprintf(", in %s", humanize.Count(n, "range"))
		}
		rr.addIfOverMax(countQuantity(docs), Finding{About: diagnosis.Scope{Shard: shard.ID}, Sentence: sentence})
	}
}
