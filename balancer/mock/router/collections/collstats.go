package collections

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// StorageDoc returns the statistics of one shard (rules/03-commands §1.8). Sizes are divided by scale.
func StorageDoc(s mock.LocalStats, scale int64) bson.D {
	doc := bson.D{
		{Key: "size", Value: document.SmallestInt(s.Bytes / scale)}, {Key: "count", Value: document.SmallestInt(s.Docs)},
	}
	if s.Docs > 0 {
		doc = append(doc, bson.E{Key: "avgObjSize", Value: document.SmallestInt(s.Bytes / s.Docs)})
	}
	indexes := bson.D{}
	for _, name := range s.Indexes {
		indexes = append(indexes, bson.E{Key: name, Value: document.SmallestInt(mock.StorageUnit / scale)})
	}
	doc = append(doc,
		bson.E{Key: "numOrphanDocs", Value: document.SmallestInt(s.Orphans)},
		bson.E{Key: "storageSize", Value: document.SmallestInt(s.StoredBytes() / scale)},
		bson.E{Key: "freeStorageSize", Value: document.SmallestInt(s.FreeBytes / scale)},
		bson.E{Key: "capped", Value: s.Capped})
	if s.Capped {
		doc = append(doc, bson.E{Key: "max", Value: document.SmallestInt(s.MaxDocs)},
			bson.E{Key: "maxSize", Value: document.SmallestInt(s.MaxBytes / scale)})
	}
	return append(doc,
		bson.E{Key: "nindexes", Value: int32(len(s.Indexes))},
		bson.E{Key: "indexBuilds", Value: bson.A{}},
		bson.E{Key: "totalIndexSize", Value: document.SmallestInt(s.IndexBytes() / scale)},
		bson.E{Key: "indexSizes", Value: indexes},
		bson.E{Key: "totalSize", Value: document.SmallestInt((s.StoredBytes() + s.IndexBytes()) / scale)},
		bson.E{Key: "scaleFactor", Value: document.SmallestInt(scale)},
	)
}

// MissingStorageDoc returns the statistics of a shard that does not have the collection.
func MissingStorageDoc(scale int64) (doc bson.D) {
	for _, name := range []string{"size", "count", "numOrphanDocs", "storageSize", "totalSize", "nindexes",
		"totalIndexSize"} {
		doc = append(doc, bson.E{Key: name, Value: int32(0)})
	}
	return append(doc, bson.E{Key: "indexDetails", Value: bson.D{}}, bson.E{Key: "indexSizes", Value: bson.D{}},
		bson.E{Key: "scaleFactor", Value: document.SmallestInt(scale)})
}

// collStats sums the statistics of the shards that own chunks. It creates an unknown database, as
// servers do.
func collStats(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	scale, err := ScaleOf(c.Body.Lookup("scale"))
	if err != nil {
		return nil, err
	}
	if call.IsView(c, ns) {
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a view, not a collection", ns)
	}
	if err := createDatabase(c, c.DB); err != nil {
		return nil, err
	}
	coll, tracked, err := c.Cluster.ConfigDB().TrackedEntry(ns)
	if err != nil {
		return nil, err
	}
	parts := c.Cluster.Statistics().Collection(ns)
	sharded := tracked && !coll.Unsplittable
	reply := bson.D{{Key: "sharded", Value: sharded}}
	if !sharded {
		reply = append(reply, bson.E{Key: "primary", Value: call.PrimaryOf(c.Cluster, c.DB)})
	}
	reply = append(reply, firstShardFields(parts)...)
	if IndexesDiffer(parts) {
		reply = append(reply, bson.E{Key: "warning", Value: "indexes don't all match - ok if ensureIndex is running"})
	}
	reply = append(append(reply, bson.E{Key: "ns", Value: ns}), sumOfShards(parts, scale)...)
	chunks := int32(1)
	if table := c.Cluster.ConfigDB().Table(ns); sharded && table != nil {
		chunks = int32(table.Len())
	}
	shards := bson.D{}
	answer := func(shard string, stats bson.D) {
		doc := append(bson.D{{Key: "ns", Value: ns}}, stats...)
		shards = append(shards, bson.E{Key: shard, Value: append(doc, bson.E{Key: "ok", Value: 1.0})})
	}
	for _, p := range parts {
		answer(string(p.Shard), StorageDoc(p, scale))
	}
	if len(parts) == 0 {
		answer(call.PrimaryOf(c.Cluster, c.DB), MissingStorageDoc(scale))
	}
	return append(reply, bson.E{Key: "nchunks", Value: chunks}, bson.E{Key: "shards", Value: shards}), nil
}

// createDatabase creates the database if it does not exist, as some reads do.
func createDatabase(c *call.Call, db string) error {
	if db == "admin" || db == "config" {
		return nil
	}
	return c.Request.CreateDatabase(db, "")
}

// firstShardFields returns the fields that are taken from the first shard. If the collection does not
// exist, it returns empty index details.
func firstShardFields(parts []mock.LocalStats) bson.D {
	if len(parts) == 0 {
		return bson.D{{Key: "indexDetails", Value: bson.D{}}}
	}
	if !parts[0].Capped {
		return bson.D{{Key: "capped", Value: false}}
	}
	return bson.D{{Key: "capped", Value: true}, {Key: "max", Value: document.SmallestInt(parts[0].MaxDocs)}}
}

// IndexesDiffer reports whether the shards of a collection have different indexes.
func IndexesDiffer(parts []mock.LocalStats) bool {
	return slices.ContainsFunc(parts, func(p mock.LocalStats) bool { return len(p.Indexes) != len(parts[0].Indexes) })
}

// sumOfShards returns the fields of collStats that are sums over the shards. The average document size
// is computed from the truncated averages of the shards.
func sumOfShards(parts []mock.LocalStats, scale int64) bson.D {
	var total DatabaseTotals
	var weighted, capBytes int64
	nindexes := 0
	for _, p := range parts {
		total.Add(p)
		nindexes = max(nindexes, len(p.Indexes))
		capBytes = max(capBytes, p.MaxBytes)
		if p.Docs > 0 {
			weighted += p.Bytes / p.Docs * p.Docs
		}
	}
	average := 0.0
	if total.docs > 0 {
		average = float64(weighted) / float64(total.docs)
	}
	return bson.D{
		{Key: "count", Value: document.SmallestInt(total.docs)},
		{Key: "size", Value: document.SmallestInt(total.bytes / scale)},
		{Key: "storageSize", Value: document.SmallestInt(total.stored / scale)},
		{Key: "totalIndexSize", Value: document.SmallestInt(total.indexBytes / scale)},
		{Key: "totalSize", Value: document.SmallestInt((total.stored + total.indexBytes) / scale)},
		{Key: "indexSizes", Value: indexSizes(parts, scale)},
		{Key: "avgObjSize", Value: average},
		{Key: "maxSize", Value: capBytes / scale},
		{Key: "nindexes", Value: int32(nindexes)},
		{Key: "scaleFactor", Value: int32(scale)},
	}
}

// indexSizes returns the size of each index, summed over the shards that have it, sorted by name.
func indexSizes(parts []mock.LocalStats, scale int64) bson.D {
	sums := map[string]int64{}
	for _, p := range parts {
		for _, name := range p.Indexes {
			sums[name] += mock.StorageUnit
		}
	}
	sizes := bson.D{}
	for name, sum := range sums {
		sizes = append(sizes, bson.E{Key: name, Value: document.SmallestInt(sum / scale)})
	}
	call.SortFields(sizes)
	return sizes
}
