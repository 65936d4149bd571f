package routing

import (
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
)

// Owners returns the shards that may own matching documents: the owners of the chunks that overlap the
// filter's conditions on the shard key.
func Owners(table *catalog.RoutingTable, filter *filter.Filter) []catalog.ShardID {
	p := table.Pattern()
	var room [64]byte
	if key, ok := p.AppendQueryKey(room[:0], filter.Equality); ok {
		return []catalog.ShardID{table.ShardOfBytes(key)}
	}
	ranges, ok := store.ShardKeyRanges(filter, p.Doc())
	if !ok {
		return table.Owners()
	}
	var ids []catalog.ShardID
	for _, r := range ranges {
		for _, id := range table.OwnersIn(catalog.KeyFromBytes(r.From), catalog.KeyFromBytes(r.To)) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 { // no document can match, so any one shard is enough
		return table.Owners()[:1]
	}
	return ids
}
