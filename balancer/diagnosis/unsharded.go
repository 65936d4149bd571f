package diagnosis

import (
	"fmt"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
)

// unshardedFindings finds that unsharded data makes shards differ in size: the balancer neither counts
// nor moves such data. A difference is reported if it exceeds the threshold of a sharded collection.
func (d *Diagnosis) unshardedFindings() []Finding {
	of := d.Parts().Unsharded
	bytes := map[catalog.ShardID]int64{}
	for _, u := range of {
		bytes[u.Shard] += u.Bytes
	}
	has := extremes{}
	for _, shard := range d.NonDrainingShards() {
		if shard.Unreachable == "" {
			has.add(shard.ID, bytes[shard.ID])
		}
	}
	if len(of) == 0 || !has.isUneven() || has.max-has.min < 3*d.Settings().MaxChunkSizeBytes {
		return nil
	}
	var largest catalog.UnshardedData
	for _, u := range of {
		if u.Shard == has.fullest && u.Bytes > largest.Bytes {
			largest = u
		}
	}
	var commands []string
	switch {
	case d.Release().MovesCollections():
		commands = []string{fmt.Sprintf("sh.moveCollection(%q, %q)", largest.Database+".<collection>", string(has.emptiest))}
	case has.min+largest.Bytes < has.max: // moving it would make the other shard the largest
		commands = []string{fmt.Sprintf("sh.movePrimary(%q, %q)", largest.Database, string(has.emptiest))}
	}
	f := finding(UnshardedData, Scope{Shard: has.fullest}, fmt.Sprintf(
		"shard %s has %s of unsharded data, %s of it in database %s, and %s has %s: the balancer does not count it",
		has.fullest, humanize.Bytes(has.max), humanize.Bytes(largest.Bytes), largest.Database, has.emptiest,
		humanize.Bytes(has.min)), commands...)
	f.Numbers = []Number{{"most", has.max, Bytes}, {"least", has.min, Bytes}}
	return []Finding{f}
}
