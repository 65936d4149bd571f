package catalog

import "go.mongodb.org/mongo-driver/v2/bson"

// ParseDistribution parses a document of $shardedDataDistribution, which contains the amount of a
// collection's data on each shard. It skips values of another form.
func ParseDistribution(doc bson.Raw) (namespace string, sizes map[ShardID]ShardData) {
	namespace, _ = doc.Lookup("ns").StringValueOK()
	sizes = map[ShardID]ShardData{}
	list, _ := doc.Lookup("shards").ArrayOK()
	values, _ := list.Values()
	for _, v := range values {
		shard, ok := v.DocumentOK()
		if !ok {
			continue
		}
		number := func(name string) int64 {
			v := shard.Lookup(name)
			if n, ok := v.AsInt64OK(); ok {
				return n
			}
			f, _ := v.AsFloat64OK()
			return int64(f)
		}
		id, _ := shard.Lookup("shardName").StringValueOK()
		sizes[ShardID(id)] = ShardData{
			Bytes: number("ownedSizeBytes"), Documents: number("numOwnedDocuments"),
			Orphans: number("numOrphanedDocs"), OrphanBytes: number("orphanedSizeBytes"),
		}
	}
	return namespace, sizes
}
