package mock

import (
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// chunkPlaces is config.chunks as documents, made from the routing tables as
// they are read. A filter on uuid reads one collection, one on shard besides
// only that shard's chunks.
func (c *Cluster) chunkPlaces(filter *store.Filter) iter.Seq[place] {
	return func(yield func(place) bool) {
		uuid, byUUID := filter.Equality("uuid")
		shard, byShard := filter.Equality("shard")
		owner, isText := shard.StringValueOK()
		for _, raw := range c.Config(configCollections).Scan() {
			if byUUID && !raw.Lookup("uuid").Equal(uuid) {
				continue
			}
			coll, err := catalog.ParseCollection(raw)
			if err != nil || c.tables[coll.Namespace] == nil {
				continue
			}
			chunks := c.tables[coll.Namespace].All()
			if byShard && isText {
				chunks = c.tables[coll.Namespace].Owned(catalog.ShardID(owner), catalog.Key{}, catalog.Key{})
			}
			for chunk := range chunks {
				doc, err := bson.Marshal(chunk.Doc(coll.Pattern, coll.UUID))
				if err != nil {
					c.logger.Warn("chunk not shown", "ns", coll.Namespace, "error", err)
					continue
				}
				if (filter == nil || filter.Match(doc)) && !yield(place{doc: doc}) {
					return
				}
			}
		}
	}
}

// InOrder tells whether Documents gives a namespace's documents in the order
// of a sort by itself, so that a reader with a limit may stop early: the
// chunks of one collection come by their lower bounds.
func (c *Cluster) InOrder(ns string, filter *store.Filter, sort bson.Raw) bool {
	if ns != chunksNamespace {
		return false
	}
	if _, one := filter.Equality("uuid"); !one {
		return false
	}
	elems, err := sort.Elements()
	if err != nil || len(elems) != 1 || elems[0].Key() != "min" {
		return false
	}
	n, ok := elems[0].Value().AsFloat64OK()
	return ok && n == 1
}
