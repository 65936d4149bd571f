package sh

import (
	"shardsh/balancer/live"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Filters for the sharded collections in the catalog, which are neither dropped nor unsplittable
// (rules/03-helpers-examples-traps §6.1).
var (
	NotDropped      = bson.E{Key: "dropped", Value: bson.D{{Key: "$ne", Value: true}}}
	NotUnsplittable = bson.E{Key: "unsplittable", Value: bson.D{{Key: "$ne", Value: true}}}
)

// CatalogEntry returns the collection's document in config.collections, or that of a time series
// collection's buckets. It returns nil when the collection is not sharded.
func CatalogEntry(config *server.Database, ns string, stats []bson.Raw) bson.Raw {
	find := func(ns string) bson.Raw {
		return config.FindOne("collections", bson.D{{Key: "_id", Value: ns}, NotDropped, NotUnsplittable})
	}
	if entry := find(ns); entry != nil {
		return entry
	}
	for _, d := range stats {
		if buckets := rawdoc.Text(d, "storageStats", "timeseries", "bucketsNs"); buckets != "" {
			return find(buckets)
		}
	}
	return nil
}

// ChunkFilter returns a filter for the chunks of a collection: by uuid since 5.0, by namespace before.
func ChunkFilter(entry bson.Raw) bson.D {
	field, id := live.ChunkCollectionRef(entry)
	return bson.D{{Key: field, Value: id}}
}
