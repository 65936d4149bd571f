package check

import (
	"fmt"

	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
)

// The rules about the volumes of shards, and what is to be deleted there.

// disk measures how full volumes are. Of one whose size is not known it says nothing: not
// every storage engine and file system tells.
func (l *ruleRun) disk() {
	if l.gap("shards", "disks") {
		return
	}
	known := false
	for _, shard := range l.Shards() {
		if !shard.Disk.Known() {
			continue
		}
		known = true
		l.measured(Quantity{100 * shard.Disk.UsedShare(), Percent}, Finding{About: diagnosis.Scope{Shard: shard.ID},
			Sentence: fmt.Sprintf("the volume of shard %s is %s full: %s of %s are free", shard.ID,
				humanize.Percent(shard.Disk.UsedShare()), humanize.Bytes(shard.Disk.Free()), humanize.Bytes(shard.Disk.Total))})
	}
	if !known && l.choice.Named {
		l.silent("how full the volumes are is unknown: no shard tells")
	}
}

// deletions counts what is left behind by migrations on each shard, in all collections that
// the policy is about.
func (l *ruleRun) deletions() {
	if l.gap("shards", "sizes") {
		return
	}
	ranges := map[string]int64{}
	for _, d := range l.Parts().Deletions {
		ranges[string(d.Shard)]++
	}
	for _, shard := range l.Shards() {
		var docs, bytes int64
		for _, c := range l.chosen() {
			docs, bytes = docs+c.Sizes[shard.ID].Orphans, bytes+c.Sizes[shard.ID].OrphanBytes
		}
		sentence := fmt.Sprintf("shard %s has yet to delete %s (%s)", shard.ID,
			humanize.Count(docs, "orphaned document"), humanize.Bytes(bytes))
		if n := ranges[string(shard.ID)]; n > 0 {
			sentence += fmt.Sprintf(", in %s", humanize.Count(n, "range"))
		}
		l.measured(count(docs), Finding{About: diagnosis.Scope{Shard: shard.ID}, Sentence: sentence})
	}
}
