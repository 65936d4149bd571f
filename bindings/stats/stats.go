// Package stats computes the sizes of a collection, summed over its shards.
package stats

import (
	"math"
	"slices"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
	"shardsh/bindings/display"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/sh"
)

// Collection is the collection whose sizes are computed.
type Collection struct {
	JS       *script.Engine
	Gateway  *server.Gateway
	Display  *display.Display
	Database *server.Database
	Name     string
}

// Namespace returns the collection's full name.
func (c Collection) Namespace() string { return c.Database.Name + "." + c.Name }

// Options are the options of coll.stats().
type Options struct {
	Scale        float64
	indexDetails bool
	indexKey     bson.Raw // only the index with this key; nil for all
	indexName    string   // only the index with this name; empty for all
}

// Call implements coll.stats(): the options are in the call's first argument.
func Call(c *script.Call, of Collection) goja.Value {
	opts := Options{Scale: 1}
	if o := c.Object(0); o != nil {
		if v := script.Property(o, "scale"); v != nil {
			opts.Scale = v.ToFloat()
		}
		opts.indexDetails = script.Flag(o, "indexDetails", false)
		key, name := script.Property(o, "indexDetailsKey"), script.Property(o, "indexDetailsName")
		if key != nil && name != nil {
			c.JS.ThrowInvalid("Cannot filter indexDetails on both indexDetailsKey and indexDetailsName")
		}
		if key != nil && script.TypeOf(key) != "object" {
			c.JS.ThrowInvalid("Expected options.indexDetailsKey to be a document, got %s", script.TypeOf(key))
		}
		if name != nil && !goja.IsString(name) {
			c.JS.ThrowInvalid("Expected options.indexDetailsName to be a string, got %s", script.TypeOf(name))
		}
		if key != nil {
			opts.indexKey = c.JS.Document(key)
		}
		if name != nil {
			opts.indexName = name.String()
		}
	} else if c.Has(0) && !goja.IsNull(c.Arg(0)) {
		opts.Scale = c.Arg(0).ToFloat()
	}
	if opts.Scale == 0 || math.IsNaN(opts.Scale) {
		opts.Scale = 1
	}
	return of.Stats(opts)
}

// Fields of storageStats that are taken unchanged from the first shard that has them, and those that
// are summed (rules/04-objects §6.4).
var (
	firstShardFields = []string{"userFlags", "capped", "max", "paddingFactorNote", "indexDetails", "wiredTiger"}
	summedFields     = []string{"size", "count", "storageSize", "totalIndexSize", "totalSize", "numOrphanDocs"}
	scaledFields     = []string{"size", "storageSize", "totalIndexSize", "totalSize", "maxSize"}
)

// Stats merges the statistics of all shards into one document.
func (c Collection) Stats(opts Options) goja.Value {
	docs, err := c.Database.TryAggregate(c.Name, bson.D{{Key: "$collStats", Value: bson.D{
		{Key: "storageStats", Value: bson.D{{Key: "scale", Value: int32(1)}}},
	}}})
	if code := server.CodeOf(err); err != nil && (code == mongoerr.StaleConfig || code == mongoerr.FailedToParse ||
		code == mongoerr.RecvStaleConfig) {
		return c.Display.ReplyValue(c.Database.Run(bson.D{{Key: "collStats", Value: c.Name},
			{Key: "scale", Value: rawdoc.MinimalInt(int64(opts.Scale))}}, server.Repeatable))
	}
	if err != nil {
		c.Gateway.Throw(err)
	}
	if len(docs) == 0 {
		c.JS.Throw(script.RuntimeErrorName, "no statistics of collection %s", c.Namespace())
	}
	m := newStatsMerge(c)
	for _, d := range docs {
		m.add(d)
	}
	return m.newResult(docs, opts)
}

// statsMerge sums storageStats documents.
type statsMerge struct {
	collection Collection
	merged     *goja.Object // fields from the first document that has them
	shards     *goja.Object
	sums       map[string]float64
	sumNames   []string // names of sums, in the order of their first occurrence
	indexSizes map[string]float64
	indexNames []string // names of indexes, in the order of their first occurrence
	count      float64
	bytes      float64 // Σ avgObjSize·count
	indexes    int64
	maxSize    float64
	scale      bson.RawValue
	series     bson.D
}

func newStatsMerge(of Collection) *statsMerge {
	return &statsMerge{collection: of, merged: of.JS.NewObject("ok", 1), sums: map[string]float64{},
		indexSizes: map[string]float64{}}
}

func (m *statsMerge) add(doc bson.Raw) {
	stats, _ := doc.Lookup("storageStats").DocumentOK()
	if shard := rawdoc.Text(doc, "shard"); shard != "" {
		if m.shards == nil {
			m.shards = m.collection.JS.Runtime.NewObject()
		}
		script.Must(m.shards.Set(shard, m.collection.JS.Values.DocToJS(stats)))
	}
	elems, _ := stats.Elements()
	for _, el := range elems {
		key, v := el.Key(), el.Value()
		switch f, _ := v.AsFloat64OK(); {
		case slices.Contains(firstShardFields, key):
			if script.Property(m.merged, key) == nil {
				script.Must(m.merged.Set(key, m.collection.JS.Values.ToJS(v)))
			}
		case slices.Contains(summedFields, key):
			if _, ok := m.sums[key]; !ok {
				m.sumNames = append(m.sumNames, key)
			}
			m.sums[key] += f
		case key == "indexSizes":
			sizes, _ := v.DocumentOK()
			list, _ := sizes.Elements()
			for _, ix := range list {
				if _, ok := m.indexSizes[ix.Key()]; !ok {
					m.indexNames = append(m.indexNames, ix.Key())
				}
				n, _ := ix.Value().AsFloat64OK()
				m.indexSizes[ix.Key()] += n
			}
		case key == "nindexes":
			m.indexes = max(m.indexes, int64(f))
		case key == "maxSize":
			m.maxSize = max(m.maxSize, f)
		case key == "scaleFactor":
			m.scale = v
		case key == "timeseries":
			m.addSeries(v.Document())
		}
	}
	count := rawdoc.Number(stats, "count")
	m.count += count
	m.bytes += rawdoc.Number(stats, "avgObjSize") * count
}

// addSeries sums the fields of timeseries; the average is weighted by buckets.
func (m *statsMerge) addSeries(doc bson.Raw) {
	before := rawdoc.MustMarshal(m.series)
	had, more := rawdoc.Number(before, "bucketCount"), rawdoc.Number(doc, "bucketCount")
	elems, _ := doc.Elements()
	var sum bson.D
	for _, el := range elems {
		n, isNumber := el.Value().AsFloat64OK()
		switch {
		case !isNumber:
			sum = append(sum, bson.E{Key: el.Key(), Value: el.Value()})
		case el.Key() == "avgBucketSize":
			avg := n
			if had+more > 0 {
				avg = (rawdoc.Number(before, el.Key())*had + n*more) / (had + more)
			}
			sum = append(sum, bson.E{Key: el.Key(), Value: avg})
		default:
			sum = append(sum, bson.E{Key: el.Key(), Value: rawdoc.Number(before, el.Key()) + n})
		}
	}
	m.series = sum
}

func (m *statsMerge) newResult(docs []bson.Raw, opts Options) goja.Value {
	js, o := m.collection.JS, m.merged
	if m.shards != nil && rawdoc.Text(docs[0], "shard") != "" {
		script.Must(o.Set("shards", m.shards))
	}
	script.Must(o.Set("sharded", m.isSharded(docs)))
	for _, key := range m.sumNames {
		script.Must(o.Set(key, script.IntegerIfExact(m.scaledSize(key, m.sums[key], opts.Scale))))
	}
	if m.series != nil {
		script.Must(o.Set("timeseries", js.Values.DocToJS(rawdoc.MustMarshal(m.series))))
	}
	sizes := js.Runtime.NewObject()
	for _, name := range m.indexNames {
		script.Must(sizes.Set(name, script.IntegerIfExact(m.indexSizes[name]/opts.Scale)))
	}
	script.Must(o.Set("indexSizes", sizes))
	average := 0.0
	if m.count > 0 {
		average = m.bytes / m.count
	}
	script.Must(o.Set("avgObjSize", script.IntegerIfExact(average)))
	if script.Flag(o, "capped", false) {
		script.Must(o.Set("maxSize", script.IntegerIfExact(m.maxSize/opts.Scale)))
	}
	script.Must(o.Set("ns", m.collection.Namespace()))
	script.Must(o.Set("nindexes", m.indexes))
	if m.scale.Type != 0 {
		script.Must(o.Set("scaleFactor", opts.Scale))
	}
	m.filterDetails(opts)
	return o
}

func (m *statsMerge) scaledSize(key string, v, scale float64) float64 {
	if slices.Contains(scaledFields, key) {
		return v / scale
	}
	return v
}

// isSharded reports whether the collection is in the catalog. Without permission, it guesses by the
// number of shards that replied.
func (m *statsMerge) isSharded(docs []bson.Raw) bool {
	names := bson.A{m.collection.Namespace()}
	if ns := rawdoc.Text(docs[0], "storageStats", "timeseries", "bucketsNs"); ns != "" {
		names = append(names, ns)
	}
	body := bson.D{
		{Key: "find", Value: "collections"},
		{Key: "filter", Value: bson.D{{Key: "_id", Value: bson.D{{Key: "$in", Value: names}}}, sh.NotDropped,
			sh.NotUnsplittable}},
		{Key: "limit", Value: int32(1)},
	}
	reply, err := m.collection.Gateway.Send(m.collection.Database.Sibling("config").Request(body, server.Repeatable))
	if err != nil {
		return len(docs) > 1
	}
	found, _ := server.FirstBatch(reply).Values()
	return len(found) > 0
}

// filterDetails removes the index details that were not requested.
func (m *statsMerge) filterDetails(opts Options) {
	details, _ := m.merged.Get("indexDetails").(*goja.Object)
	if details == nil {
		return
	}
	if !opts.indexDetails {
		script.Must(m.merged.Delete("indexDetails"))
		return
	}
	name := opts.indexName
	if opts.indexKey != nil {
		name = ""
		for _, ix := range m.collection.Database.ListIndexes(m.collection.Name) {
			if key, ok := ix.Lookup("key").DocumentOK(); ok && slices.Equal(key, opts.indexKey) {
				name = rawdoc.Text(ix, "name")
			}
		}
	}
	if opts.indexName == "" && opts.indexKey == nil {
		return
	}
	for _, k := range details.Keys() {
		if k != name {
			script.Must(details.Delete(k))
		}
	}
}
