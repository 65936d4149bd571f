package check

import (
	"fmt"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
)

// The rules about the disk volumes of shards, and about pending range deletions.

// checkDisk checks how full the volumes are. Volumes of unknown size are ignored: not every storage
// engine and file system reports a size.
func (l *ruleRun) checkDisk() {
	if l.reportGap("shards", "disks") {
		return
	}
	known := false
	for _, shard := range l.Shards() {
		if !shard.Disk.Known() {
			continue
		}
		known = true
		l.addIfOverMax(Quantity{100 * shard.Disk.UsedShare(), Percent}, Finding{About: diagnosis.Scope{Shard: shard.ID},
			Sentence: fmt.Sprintf("the volume of shard %s is %s full: %s of %s are free", shard.ID,
				humanize.Percent(shard.Disk.UsedShare()), humanize.Bytes(shard.Disk.Free()), humanize.Bytes(shard.Disk.Total))})
	}
	if !known && l.choice.ExplicitlyNamed {
		l.addUnavailable("how full the volumes are is unknown: no shard reports it")
	}
}

// checkDeletions counts the pending range deletions on each shard, in all collections that the policy
// covers.
func (l *ruleRun) checkDeletions() {
	if l.reportGap("shards", "sizes") {
		return
	}
	ranges := map[string]int64{}
	for _, d := range l.Parts().Deletions {
		ranges[string(d.Shard)]++
	}
	for _, shard := range l.Shards() {
		var docs, bytes int64
		for _, c := range l.policyCollections() {
			docs, bytes = docs+c.Sizes[shard.ID].Orphans, bytes+c.Sizes[shard.ID].OrphanBytes
		}
		sentence := fmt.Sprintf("shard %s has yet to delete %s (%s)", shard.ID,
			humanize.Count(docs, "orphaned document"), humanize.Bytes(bytes))
		if n := ranges[string(shard.ID)]; n > 0 {
			sentence += fmt.Sprintf(", in %s", humanize.Count(n, "range"))
		}
		l.addIfOverMax(countQuantity(docs), Finding{About: diagnosis.Scope{Shard: shard.ID}, Sentence: sentence})
	}
}
