package diagnosis

import (
	"fmt"

	"shardsh/balancer/humanize"

	"shardsh/balancer/catalog"
)

// unsharded finds that data which is not sharded makes shards differ: the
// balancer neither counts nor moves it. It is told from the threshold of a
// sharded collection on.
func (d *Diagnosis) unsharded() []Finding {
	of := d.Parts().Unsharded
	bytes := map[catalog.ShardID]int64{}
	for _, u := range of {
		bytes[u.Shard] += u.Bytes
	}
	has := spread{}
	for _, shard := range d.Shards() {
		if !shard.Draining && shard.Unreachable == "" {
			has.add(shard.ID, bytes[shard.ID])
		}
	}
	if len(of) == 0 || !has.uneven() || has.most-has.least < 3*d.Settings().MaxChunkSizeBytes {
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
	case has.least+largest.Bytes < has.most: // else the other shard would have as much
		commands = []string{fmt.Sprintf("sh.movePrimary(%q, %q)", largest.Database, string(has.emptiest))}
	}
	f := finding(UnshardedData, Scope{Shard: has.fullest}, fmt.Sprintf(
		"shard %s has %s of unsharded data, %s of it in database %s, and %s has %s: the balancer does not count it",
		has.fullest, humanize.Bytes(has.most), humanize.Bytes(largest.Bytes), largest.Database, has.emptiest,
		humanize.Bytes(has.least)), commands...)
	f.Numbers = []Number{{"most", has.most, Bytes}, {"least", has.least, Bytes}}
	return []Finding{f}
}
