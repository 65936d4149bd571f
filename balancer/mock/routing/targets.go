package routing

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// Owners returns the shards that can own documents which match: those whose chunks
// share keys with what the filter says about the shard key.
func Owners(table *catalog.RoutingTable, filter *store.Filter) []catalog.ShardID {
	p := table.Pattern()
	if key, ok := shardKeyOf(filter, p); ok {
		return []catalog.ShardID{table.Find(key).Shard}
	}
	ranges, ok := filter.KeyRanges(p.Doc())
	if !ok {
		return table.Owners()
	}
	var ids []catalog.ShardID
	for _, r := range ranges {
		for _, id := range table.OwnersIn(catalog.Place(r.From), catalog.Place(r.To)) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 { // nothing can match: any shard may say so
		return table.Owners()[:1]
	}
	return ids
}

// shardKeyOf reads the whole shard key from a filter's equalities.
func shardKeyOf(filter *store.Filter, p catalog.KeyPattern) (catalog.Key, bool) {
	var query bson.D
	for _, field := range p.Fields() {
		v, ok := filter.Equality(field)
		if !ok {
			return catalog.Key{}, false
		}
		query = append(query, bson.E{Key: field, Value: bson.D{{Key: "$eq", Value: v}}})
	}
	raw, err := bson.Marshal(query)
	if err != nil {
		return catalog.Key{}, false
	}
	return p.QueryKey(raw)
}
