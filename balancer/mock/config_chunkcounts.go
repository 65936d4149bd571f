package mock

import (
	"cmp"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// ChunkCount is how many documents of config.chunks have the same uuid and
// shard, and are flagged jumbo or are not.
type ChunkCount struct {
	UUID   bson.Binary
	Shard  catalog.ShardID
	Jumbo  bool
	Chunks int64
}

// ChunkCounts sums config.chunks up from the routing tables, in the order of the
// first chunk of each count. Those of one collection suffice when the filter
// names its uuid.
func (cfg *ConfigDB) ChunkCounts(filter *store.Filter) []ChunkCount {
	uuid, byUUID := filter.Equality("uuid")
	var all []ChunkCount
	for raw := range cfg.Collection(configCollections).Documents() {
		if byUUID && !raw.Lookup("uuid").Equal(uuid) {
			continue
		}
		coll, err := catalog.ParseCollection(raw)
		if err == nil && cfg.tables[coll.Namespace] != nil {
			all = append(all, countsOf(coll, cfg.tables[coll.Namespace])...)
		}
	}
	return all
}

func countsOf(coll catalog.Collection, t *catalog.RoutingTable) []ChunkCount {
	type placed struct {
		ChunkCount
		first catalog.Key
	}
	var counts []placed
	for _, shard := range t.Owners() {
		jumbo := t.JumboCount(shard)
		if n := t.Count(shard) - jumbo; n > 0 {
			first, _ := t.FirstUnflagged(shard, catalog.Key{}, catalog.Key{})
			counts = append(counts, placed{ChunkCount{coll.UUID, shard, false, int64(n)}, first.Min})
		}
		if jumbo > 0 {
			counts = append(counts, placed{ChunkCount{coll.UUID, shard, true, int64(jumbo)}, firstFlagged(t, shard)})
		}
	}
	slices.SortFunc(counts, func(a, b placed) int { return cmp.Or(a.first.Compare(b.first), cmp.Compare(a.Shard, b.Shard)) })
	plain := make([]ChunkCount, len(counts))
	for i, one := range counts {
		plain[i] = one.ChunkCount
	}
	return plain
}

func firstFlagged(t *catalog.RoutingTable, shard catalog.ShardID) catalog.Key {
	for chunk := range t.Owned(shard, catalog.Key{}, catalog.Key{}) {
		if chunk.Jumbo == catalog.JumboTrue {
			return chunk.Min
		}
	}
	return catalog.Key{}
}
