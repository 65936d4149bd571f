package collections

import (
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

func statisticsHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"collStats": collStats,
		"dbStats":   dbStats,
		"dataSize":  dataSize,
	}
}

// ScaleOf reads a scale, which must be at least 1.
func ScaleOf(v bson.RawValue) (int64, error) {
	if v.IsZero() || v.Type == bson.TypeNull {
		return 1, nil
	}
	if b, isBool := v.BooleanOK(); isBool && !b {
		return 1, nil
	}
	n, isNumber := args.Number(v)
	if !isNumber {
		return 0, mongoerr.New(mongoerr.CollStatsScaleType, "scale has to be a number >= 1")
	}
	if !(n >= 1) { // also rejects NaN
		return 0, mongoerr.New(mongoerr.CollStatsScale, "scale has to be >= 1")
	}
	return int64(min(n, math.MaxInt32)), nil
}

// DatabaseScale reads the scale of dbStats.
func DatabaseScale(c *call.Call) (int64, error) {
	if !c.Args.Has("scale") {
		return 1, nil
	}
	scale := c.Args.Int("scale")
	if scale < 1 {
		return 0, mongoerr.New(mongoerr.BadValue, "BSON field 'scale' value must be > 0, actual value '%d'", scale)
	}
	return scale, nil
}

func dbStats(c *call.Call) (bson.D, error) {
	scale, err := DatabaseScale(c)
	if err != nil {
		return nil, err
	}
	shards, err := c.Cluster.ConfigDB().Shards()
	if err != nil {
		return nil, err
	}
	byShard := map[catalog.ShardID]*DatabaseTotals{}
	for _, s := range shards {
		byShard[s.ID] = &DatabaseTotals{}
	}
	var total DatabaseTotals
	for _, ns := range c.Cluster.Databases().Namespaces(c.DB) {
		for _, p := range c.Cluster.Statistics().Collection(ns) {
			total.Add(p)
			if t := byShard[p.Shard]; t != nil {
				t.Add(p)
			}
		}
	}
	total.views = c.Cluster.Statistics().CountViews(c.DB)
	if primary, known := c.Cluster.ConfigDB().Primary(c.DB); known && byShard[primary] != nil {
		byShard[primary].views = total.views // the primary shard stores the views
	}
	free := c.Args.Bool("freeStorage")
	long := func(n int64) any { return n }
	raw := bson.D{}
	for _, s := range shards {
		own := byShard[s.ID]
		own.SetVolume(c, s.ID)
		total.volume, total.used = total.volume+own.volume, total.used+own.used
		doc := append(bson.D{{Key: "db", Value: c.DB}}, own.Doc(scale, long, free)...)
		raw = append(raw, bson.E{Key: s.Host, Value: append(doc, bson.E{Key: "ok", Value: 1.0})})
	}
	return append(bson.D{{Key: "raw", Value: raw}, {Key: "db", Value: c.DB}},
		total.Doc(scale, document.SmallestInt, free)...), nil
}

// DatabaseTotals is the sum of the shards' statistics of collections.
type DatabaseTotals struct {
	collections, views, docs, bytes, stored, free, indexes, indexBytes int64
	volume, used                                                       int64
}

// SetVolume sets the size of a shard's volume. A shard that does not have the database reports zeros
// (recording 20-live).
func (t *DatabaseTotals) SetVolume(c *call.Call, id catalog.ShardID) {
	if t.collections > 0 || catalog.IsSystemDatabase(c.DB) {
		t.volume, t.used = c.Cluster.Statistics().Volume(id)
	}
}

// Add adds the statistics of a collection on one shard.
func (t *DatabaseTotals) Add(p mock.LocalStats) {
	t.collections++
	t.docs += p.Docs
	t.bytes += p.Bytes
	t.stored += p.StoredBytes()
	t.free += p.FreeBytes
	t.indexes += int64(len(p.Indexes))
	t.indexBytes += p.IndexBytes()
}

// Doc returns the totals. encodeCount encodes numbers of objects: shards reply with longs, mongos with the
// smallest number type.
func (t *DatabaseTotals) Doc(scale int64, encodeCount func(int64) any, withFree bool) bson.D {
	average := 0.0
	if t.docs > 0 {
		average = float64(t.bytes) / float64(t.docs)
	}
	size := func(n int64) float64 { return float64(n / scale) }
	doc := bson.D{
		{Key: "collections", Value: encodeCount(t.collections)},
		{Key: "views", Value: encodeCount(t.views)},
		{Key: "objects", Value: encodeCount(t.docs)},
		{Key: "avgObjSize", Value: average},
		{Key: "dataSize", Value: size(t.bytes)},
		{Key: "storageSize", Value: size(t.stored)},
	}
	showFree := func(name string, n int64) {
		if withFree {
			doc = append(doc, bson.E{Key: name, Value: size(n)})
		}
	}
	showFree("freeStorageSize", t.free)
	doc = append(doc,
		bson.E{Key: "indexes", Value: encodeCount(t.indexes)},
		bson.E{Key: "indexSize", Value: size(t.indexBytes)})
	showFree("indexFreeStorageSize", 0)
	doc = append(doc, bson.E{Key: "totalSize", Value: size(t.stored + t.indexBytes)})
	showFree("totalFreeStorageSize", t.free)
	return append(doc,
		bson.E{Key: "scaleFactor", Value: encodeCount(scale)},
		bson.E{Key: "fsUsedSize", Value: size(t.used)},
		bson.E{Key: "fsTotalSize", Value: size(t.volume)})
}

// nilIfEmpty returns nil for an empty document.
func nilIfEmpty(doc bson.Raw) bson.Raw {
	if document.IsEmpty(doc) {
		return nil
	}
	return doc
}

// dataSize returns the size of a range on the owning shards, orphans included.
func dataSize(c *call.Call) (bson.D, error) {
	ns := c.Args.Text("dataSize")
	if err := call.CheckDatabaseExists(c.Cluster, ns); err != nil {
		return nil, err
	}
	lower, upper := nilIfEmpty(c.Args.Object("min")), nilIfEmpty(c.Args.Object("max"))
	hasMin, hasMax := c.Args.Has("min"), c.Args.Has("max")
	switch {
	case hasMin && !hasMax:
		return nil, mongoerr.New(mongoerr.BadValue, "Max must be set if min is set.")
	case hasMax && !hasMin:
		return nil, mongoerr.New(mongoerr.BadValue, "Max must not be set if min is not set.")
	case (lower == nil) != (upper == nil):
		return nil, mongoerr.New(mongoerr.BadValue, "Only one of min or max specified")
	}
	docs, bytes, err := c.Cluster.Statistics().RangeSize(mock.SizeRequest{
		Namespace: ns, KeyPattern: c.Args.Object("keyPattern"), Min: lower, Max: upper, Estimate: c.Args.Bool("estimate"),
	})
	if err != nil {
		return nil, err
	}
	return bson.D{{Key: "size", Value: bytes}, {Key: "numObjects", Value: docs}, {Key: "millis", Value: int64(0)}}, nil
}
