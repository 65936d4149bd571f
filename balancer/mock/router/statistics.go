package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mongoerr"
)

func statisticsCommands() []command {
	return []command{
		{name: "collStats", aliases: []string{"collstats"}, run: (*Router).collStats},
		{name: "dbStats", aliases: []string{"dbstats"}, run: (*Router).dbStats},
		{name: "dataSize", aliases: []string{"datasize"}, strict: true,
			declared: []field{{"dataSize", namespaceValue, true}, {"keyPattern", objectValue, false}, {"min", objectValue, false},
				{"max", objectValue, false}, {"estimate", safeBool, false}, {"maxSize", safeInt, false}, {"maxObjects", safeInt, false}},
			run: (*Router).dataSize},
	}
}

// storageUnit is what the mock says a collection or index occupies at least.
const storageUnit = 4096

// storageDoc is one shard's statistics (spec 03 §1.8), sizes divided by scale.
func storageDoc(s mock.LocalStats, scale int64) bson.D {
	doc := bson.D{{Key: "size", Value: smallest(s.Bytes / scale)}, {Key: "count", Value: smallest(s.Docs)}}
	if s.Docs > 0 {
		doc = append(doc, bson.E{Key: "avgObjSize", Value: smallest(s.Bytes / s.Docs)})
	}
	indexes := bson.D{}
	for _, name := range s.Indexes {
		indexes = append(indexes, bson.E{Key: name, Value: smallest(storageUnit / scale)})
	}
	indexBytes := int64(len(s.Indexes)) * storageUnit
	stored := max(s.Bytes, storageUnit)
	return append(doc,
		bson.E{Key: "numOrphanDocs", Value: smallest(s.Orphans)},
		bson.E{Key: "storageSize", Value: smallest(stored / scale)},
		bson.E{Key: "freeStorageSize", Value: int32(0)},
		bson.E{Key: "capped", Value: false},
		bson.E{Key: "nindexes", Value: int32(len(s.Indexes))},
		bson.E{Key: "indexBuilds", Value: bson.A{}},
		bson.E{Key: "totalIndexSize", Value: smallest(indexBytes / scale)},
		bson.E{Key: "indexSizes", Value: indexes},
		bson.E{Key: "totalSize", Value: smallest((stored + indexBytes) / scale)},
		bson.E{Key: "scaleFactor", Value: smallest(scale)},
	)
}

// scaleOf reads a scale of at least 1.
func scaleOf(v bson.RawValue) (int64, error) {
	if v.IsZero() || v.Type == bson.TypeNull {
		return 1, nil
	}
	if b, isBool := v.BooleanOK(); isBool && !b {
		return 1, nil
	}
	n, isNumber := v.AsFloat64OK()
	if !isNumber {
		return 0, mongoerr.New(mongoerr.CollStatsScaleType, "scale has to be a number")
	}
	if n < 1 {
		return 0, mongoerr.New(mongoerr.CollStatsScale, "scale has to be >= 1")
	}
	return int64(n), nil
}

func (r *Router) collStats(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	scale, err := scaleOf(c.body.Lookup("scale"))
	if err != nil {
		return nil, err
	}
	if err := r.cluster.CreateDatabase(c.db, ""); err != nil {
		return nil, err
	}
	_, tracked, err := r.cluster.Tracked(ns)
	if err != nil {
		return nil, err
	}
	parts := r.cluster.Stats(ns)
	reply := bson.D{{Key: "sharded", Value: tracked}}
	if !tracked {
		primary, _ := r.cluster.Primary(c.db)
		reply = append(reply, bson.E{Key: "primary", Value: string(primary)})
	}
	shards := bson.D{}
	var total databaseTotals
	nindexes := 0
	for _, p := range parts {
		doc := append(bson.D{{Key: "ns", Value: ns}}, storageDoc(p, scale)...)
		shards = append(shards, bson.E{Key: string(p.Shard), Value: append(doc, bson.E{Key: "ok", Value: 1.0})})
		total.add(p)
		nindexes = max(nindexes, len(p.Indexes))
	}
	indexBytes := total.indexes * storageUnit
	average := 0.0
	if total.docs > 0 {
		average = float64(total.bytes / total.docs)
	}
	chunks := int32(1)
	if table := r.cluster.Table(ns); table != nil {
		chunks = int32(table.Len())
	}
	return append(reply,
		bson.E{Key: "capped", Value: false},
		bson.E{Key: "ns", Value: ns},
		bson.E{Key: "count", Value: smallest(total.docs)},
		bson.E{Key: "size", Value: smallest(total.bytes / scale)},
		bson.E{Key: "storageSize", Value: smallest(total.stored / scale)},
		bson.E{Key: "totalIndexSize", Value: smallest(indexBytes / scale)},
		bson.E{Key: "totalSize", Value: smallest((total.stored + indexBytes) / scale)},
		bson.E{Key: "indexSizes", Value: indexSizes(parts, scale)},
		bson.E{Key: "avgObjSize", Value: average},
		bson.E{Key: "maxSize", Value: int64(0)},
		bson.E{Key: "nindexes", Value: int32(nindexes)},
		bson.E{Key: "scaleFactor", Value: int32(scale)},
		bson.E{Key: "nchunks", Value: chunks},
		bson.E{Key: "shards", Value: shards},
	), nil
}

// indexSizes sums each index over the shards, by name.
func indexSizes(parts []mock.LocalStats, scale int64) bson.D {
	sizes := bson.D{}
	if len(parts) == 0 {
		return sizes
	}
	for _, name := range parts[0].Indexes {
		sizes = append(sizes, bson.E{Key: name, Value: smallest(int64(len(parts)) * storageUnit / scale)})
	}
	sortFields(sizes)
	return sizes
}

func (r *Router) dbStats(c *call) (bson.D, error) {
	scale := int64(1)
	if v := c.body.Lookup("scale"); !v.IsZero() {
		n, isNumber := v.AsFloat64OK()
		if !isNumber || n < 1 {
			return nil, mongoerr.New(mongoerr.BadValue, "BSON field 'scale' value must be > 0")
		}
		scale = int64(n)
	}
	shards, err := r.cluster.ReadShards()
	if err != nil {
		return nil, err
	}
	byShard := map[catalog.ShardID]*databaseTotals{}
	for _, s := range shards {
		byShard[s.ID] = &databaseTotals{}
	}
	var total databaseTotals
	for _, ns := range r.cluster.Namespaces(c.db) {
		for _, p := range r.cluster.Stats(ns) {
			total.add(p)
			if t := byShard[p.Shard]; t != nil {
				t.add(p)
			}
		}
	}
	long := func(n int64) any { return n }
	raw := bson.D{}
	for _, s := range shards {
		doc := append(bson.D{{Key: "db", Value: c.db}}, byShard[s.ID].doc(scale, long)...)
		raw = append(raw, bson.E{Key: s.Host, Value: append(doc, bson.E{Key: "ok", Value: 1.0})})
	}
	return append(bson.D{{Key: "raw", Value: raw}, {Key: "db", Value: c.db}}, total.doc(scale, smallest)...), nil
}

// databaseTotals sums what shards say of collections.
type databaseTotals struct{ collections, docs, bytes, stored, indexes int64 }

func (t *databaseTotals) add(p mock.LocalStats) {
	t.collections++
	t.docs += p.Docs
	t.bytes += p.Bytes
	t.stored += max(p.Bytes, storageUnit)
	t.indexes += int64(len(p.Indexes))
}

// doc shows the totals; count says how numbers of things are encoded: shards
// answer longs, mongos the smallest number.
func (t *databaseTotals) doc(scale int64, count func(int64) any) bson.D {
	average := 0.0
	if t.docs > 0 {
		average = float64(t.bytes) / float64(t.docs)
	}
	size := func(n int64) float64 { return float64(n / scale) }
	return bson.D{
		{Key: "collections", Value: count(t.collections)},
		{Key: "views", Value: count(0)},
		{Key: "objects", Value: count(t.docs)},
		{Key: "avgObjSize", Value: average},
		{Key: "dataSize", Value: size(t.bytes)},
		{Key: "storageSize", Value: size(t.stored)},
		{Key: "indexes", Value: count(t.indexes)},
		{Key: "indexSize", Value: size(t.indexes * storageUnit)},
		{Key: "totalSize", Value: size(t.stored + t.indexes*storageUnit)},
		{Key: "scaleFactor", Value: count(scale)},
		{Key: "fsUsedSize", Value: 0.0},
		{Key: "fsTotalSize", Value: 0.0},
	}
}

// dataSize counts what the owning shards hold of a range, orphans included.
func (r *Router) dataSize(c *call) (bson.D, error) {
	ns := c.args.text("dataSize")
	if err := r.knownDatabase(ns); err != nil {
		return nil, err
	}
	lower, upper := c.args.object("min"), c.args.object("max")
	if (lower == nil) != (upper == nil) {
		return nil, mongoerr.New(mongoerr.BadValue, "min or max parameters must both be provided, or neither")
	}
	docs, bytes, err := r.cluster.RangeSize(ns, c.args.object("keyPattern"), lower, upper)
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "size", Value: bytes}, {Key: "numObjects", Value: docs}, {Key: "millis", Value: int64(0)}}, nil
}
