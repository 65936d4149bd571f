package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

// storageDoc returns one shard's statistics (spec 03 §1.8), sizes divided by
// scale.
func storageDoc(s mock.LocalStats, scale int64) bson.D {
	doc := bson.D{{Key: "size", Value: smallest(s.Bytes / scale)}, {Key: "count", Value: smallest(s.Docs)}}
	if s.Docs > 0 {
		doc = append(doc, bson.E{Key: "avgObjSize", Value: smallest(s.Bytes / s.Docs)})
	}
	indexes := bson.D{}
	for _, name := range s.Indexes {
		indexes = append(indexes, bson.E{Key: name, Value: smallest(mock.StorageUnit / scale)})
	}
	doc = append(doc,
		bson.E{Key: "numOrphanDocs", Value: smallest(s.Orphans)},
		bson.E{Key: "storageSize", Value: smallest(s.Stored() / scale)},
		bson.E{Key: "freeStorageSize", Value: int32(0)},
		bson.E{Key: "capped", Value: s.Capped})
	if s.Capped {
		doc = append(doc, bson.E{Key: "max", Value: smallest(s.MaxDocs)},
			bson.E{Key: "maxSize", Value: smallest(s.MaxBytes / scale)})
	}
	return append(doc,
		bson.E{Key: "nindexes", Value: int32(len(s.Indexes))},
		bson.E{Key: "indexBuilds", Value: bson.A{}},
		bson.E{Key: "totalIndexSize", Value: smallest(s.IndexBytes() / scale)},
		bson.E{Key: "indexSizes", Value: indexes},
		bson.E{Key: "totalSize", Value: smallest((s.Stored() + s.IndexBytes()) / scale)},
		bson.E{Key: "scaleFactor", Value: smallest(scale)},
	)
}

// collStats adds up what the shards that own chunks say. An unknown database
// is made.
func collStats(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	scale, err := scaleOf(c.body.Lookup("scale"))
	if err != nil {
		return nil, err
	}
	if isView(c, ns) {
		return nil, mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a view, not a collection", ns)
	}
	if err := makeDatabase(c, c.db); err != nil {
		return nil, err
	}
	coll, tracked, err := c.cluster.ConfigDB().Tracked(ns)
	if err != nil {
		return nil, err
	}
	parts := c.cluster.Statistics().Collection(ns)
	sharded := tracked && !coll.Unsplittable
	reply := bson.D{{Key: "sharded", Value: sharded}}
	if !sharded {
		reply = append(reply, bson.E{Key: "primary", Value: primaryOf(c.cluster, c.db)})
	}
	reply = append(reply, cappedOf(parts)...)
	if indexesDiffer(parts) {
		reply = append(reply, bson.E{Key: "warning", Value: "indexes don't all match - ok if ensureIndex is running"})
	}
	reply = append(append(reply, bson.E{Key: "ns", Value: ns}), sumOfShards(parts, scale)...)
	chunks := int32(1)
	if table := c.cluster.ConfigDB().Table(ns); sharded && table != nil {
		chunks = int32(table.Len())
	}
	shards := bson.D{}
	for _, p := range parts {
		doc := append(bson.D{{Key: "ns", Value: ns}}, storageDoc(p, scale)...)
		shards = append(shards, bson.E{Key: string(p.Shard), Value: append(doc, bson.E{Key: "ok", Value: 1.0})})
	}
	return append(reply, bson.E{Key: "nchunks", Value: chunks}, bson.E{Key: "shards", Value: shards}), nil
}

// makeDatabase makes a database that is not there, as some reads do.
func makeDatabase(c *call, db string) error {
	if db == "admin" || db == "config" {
		return nil
	}
	return c.request.CreateDatabase(db, "")
}

// primaryOf names a database's primary; the config server is that of its own.
func primaryOf(cluster *mock.Cluster, db string) string {
	if db == "admin" || db == "config" {
		return string(mock.ConfigServerID)
	}
	primary, _ := cluster.ConfigDB().Primary(db)
	return string(primary)
}

// cappedOf returns what the first shard says of the limits; nothing without one.
func cappedOf(parts []mock.LocalStats) bson.D {
	if len(parts) == 0 {
		return nil
	}
	if !parts[0].Capped {
		return bson.D{{Key: "capped", Value: false}}
	}
	return bson.D{{Key: "capped", Value: true}, {Key: "max", Value: smallest(parts[0].MaxDocs)}}
}

func indexesDiffer(parts []mock.LocalStats) bool {
	for _, p := range parts {
		if len(p.Indexes) != len(parts[0].Indexes) {
			return true
		}
	}
	return false
}

// sumOfShards returns the fields of collStats that are sums over the shards.
// The average document is that of the shards' truncated ones.
func sumOfShards(parts []mock.LocalStats, scale int64) bson.D {
	var total databaseTotals
	var weighted, capBytes int64
	nindexes := 0
	for _, p := range parts {
		total.add(p)
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
		{Key: "count", Value: smallest(total.docs)},
		{Key: "size", Value: smallest(total.bytes / scale)},
		{Key: "storageSize", Value: smallest(total.stored / scale)},
		{Key: "totalIndexSize", Value: smallest(total.indexBytes / scale)},
		{Key: "totalSize", Value: smallest((total.stored + total.indexBytes) / scale)},
		{Key: "indexSizes", Value: indexSizes(parts, scale)},
		{Key: "avgObjSize", Value: average},
		{Key: "maxSize", Value: capBytes / scale},
		{Key: "nindexes", Value: int32(nindexes)},
		{Key: "scaleFactor", Value: int32(scale)},
	}
}

// indexSizes sums each index over the shards that have it, by name.
func indexSizes(parts []mock.LocalStats, scale int64) bson.D {
	sums := map[string]int64{}
	for _, p := range parts {
		for _, name := range p.Indexes {
			sums[name] += mock.StorageUnit
		}
	}
	sizes := bson.D{}
	for name, sum := range sums {
		sizes = append(sizes, bson.E{Key: name, Value: smallest(sum / scale)})
	}
	sortFields(sizes)
	return sizes
}
