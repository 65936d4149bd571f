package sharding_test

import (
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

func TestAnalyzeShardKey(t *testing.T) {
	x := routertest.NewS0(t)
	var docs bson.A
	for i := range 100 {
		docs = append(docs, d("_id", i, "grows", i, "few", i%4, "jumps", i*37%100, "most", min(i, 3)))
	}
	x.OK("shop", d("insert", "plain", "documents", docs))
	for _, name := range []string{"grows", "few", "jumps", "most"} {
		x.OK("shop", d("createIndexes", "plain", "indexes", bson.A{d("key", d(name, 1), "name", name, "unique", name == "jumps")}))
	}
	for _, tt := range []struct {
		key       string
		distinct  int64
		frequency int64
		unique    bool
		word      string
	}{
		{"grows", 100, 1, false, "monotonic"},
		{"jumps", 100, 1, true, "not monotonic"},
		{"few", 4, 25, false, "not monotonic"},
		{"_id", 100, 1, true, "monotonic"},
		{"most", 4, 97, false, "monotonic"},
	} {
		reply := x.OK("admin", d("analyzeShardKey", "shop.plain", "key", d(tt.key, 1), "readWriteDistribution", false))
		k := reply.Lookup("keyCharacteristics").Document()
		if k.Lookup("numDocsTotal").Int64() != 100 || k.Lookup("numDocsSampled").Int64() != 100 || k.Lookup("numDistinctValues").Int64() != tt.distinct ||
			k.Lookup("mostCommonValues", "0", "frequency").Int64() != tt.frequency || k.Lookup("isUnique").Boolean() != tt.unique ||
			k.Lookup("monotonicity", "type").StringValue() != tt.word || !k.Lookup("numOrphanDocs").IsZero() {
			t.Errorf("%s: %s", tt.key, k)
		}
		if k.Lookup("mostCommonValues", "0", "value", tt.key).IsZero() || !reply.Lookup("readDistribution").IsZero() {
			t.Errorf("%s: %s", tt.key, reply)
		}
	}
	half := x.OK("admin", d("analyzeShardKey", "shop.plain", "key", d("grows", 1), "sampleRate", 0.5)).Lookup("keyCharacteristics", "numDocsSampled").Int64()
	if half != 50 {
		t.Errorf("%d documents at the rate of a half", half)
	}
	if n := x.OK("admin", d("analyzeShardKey", "shop.plain", "key", d("grows", 1), "sampleSize", 10)).Lookup("keyCharacteristics", "numDocsSampled").Int64(); n != 10 {
		t.Errorf("%d documents, want 10", n)
	}
	if reply := x.OK("admin", d("analyzeShardKey", "shop.plain", "key", d("unindexed", 1))); !reply.Lookup("keyCharacteristics").IsZero() {
		t.Errorf("without an index: %s", reply)
	}
}

// Of several shards the one with the most documents says whether the key grows.
func TestMonotonicityOfTheLargestShard(t *testing.T) {
	x := routertest.NewThreeShards(t)
	for i := range 16 {
		docs := bson.A{d("_id", 100+i, "a", 2.01+float64(i)/100)}
		if i < 10 {
			docs = append(docs, d("_id", 200+i, "a", -i))
		}
		if i < 8 {
			docs = append(docs, d("_id", 300+i, "a", 1.9-float64(i)/10))
		}
		x.OK("db", d("insert", "c", "documents", docs))
	}
	grows := x.OK("admin", d("analyzeShardKey", "db.c", "key", d("a", 1))).Lookup("keyCharacteristics", "monotonicity")
	if r := grows.Document().Lookup("recordIdCorrelationCoefficient"); r.AsFloat64() != 1 {
		t.Errorf("the largest shard grows, found %s", grows)
	}
}

// Orphans are among the documents, and said to be.
func TestAnalyzeShardKeyOfAShardedCollection(t *testing.T) {
	x := routertest.NewS0(t)
	for i := range 10 {
		x.OK("shop", d("insert", "orders", "documents", bson.A{d("a", i)}))
	}
	x.OK("admin", d("moveChunk", "shop.orders", "find", d("a", 5), "to", "shardB"))
	x.OK("shop", d("insert", "orders", "documents", bson.A{d("a", -1)}))
	k := x.OK("admin", d("analyzeShardKey", "shop.orders", "key", d("a", 1))).Lookup("keyCharacteristics").Document()
	if k.Lookup("numDocsTotal").Int64() != 21 || k.Lookup("numOrphanDocs").Int64() != 10 || k.Lookup("note").IsZero() {
		t.Errorf("characteristics %s", k)
	}
}

func TestAnalyzeShardKeyArguments(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("create", "empty"))
	x.OK("shop", d("create", "view", "viewOn", "users", "pipeline", bson.A{}))
	key := func(ns string, more ...any) bson.D {
		return append(d("analyzeShardKey", ns, "key", d("_id", 1)), d(more...)...)
	}
	x.CheckRefusals("admin", []routertest.Refusal{
		{key("shop.users", "keyCharacteristics", false, "readWriteDistribution", false), 72},
		{key("shop.users", "sampleRate", 0.5, "sampleSize", 5), 72},
		{key("shop.users", "keyCharacteristics", false, "sampleRate", 0.5), 72},
		{key("shop.users", "keyCharacteristics", false, "sampleSize", 5), 72},
		{key("shop.users", "sampleRate", 0), 2},
		{key("shop.users", "sampleRate", 1.5), 2},
		{key("shop.users", "sampleSize", 0), 2},
		{key("shop.users", "sampleRate", "x"), 14},
		{key("shop.nope"), 26},
		{key("shop.empty"), 20},
		{key("shop.view"), 166},
		{key("config.chunks"), 20},
		{key("shop"), 73},
		{d("analyzeShardKey", "shop.users"), 40414},
		{d("analyzeShardKey", "shop.users", "key", d("_id", -1)), 2},
		{d("configureQueryAnalyzer", "shop.users", "mode", "half"), 2},
		{d("configureQueryAnalyzer", "shop.users", "mode", "full"), 72},
		{d("configureQueryAnalyzer", "shop.users", "mode", "off", "samplesPerSecond", 1), 72},
		{d("configureQueryAnalyzer", "shop.users", "mode", "full", "samplesPerSecond", 0), 72},
		{d("configureQueryAnalyzer", "shop.users", "mode", "full", "samplesPerSecond", 51), 72},
		{d("configureQueryAnalyzer", "shop.users", "mode", "full", "samplesPerSecond", math.NaN()), 72},
		{d("configureQueryAnalyzer", "shop.users", "mode", "full", "samplesPerSecond", "x"), 14},
		{d("configureQueryAnalyzer", "shop.nope", "mode", "off"), 26},
		{d("configureQueryAnalyzer", "shop.users"), 40414},
	})
}

// Sampled queries are told apart by how far they would go with the key.
func TestSampledQueries(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.OK("admin", d("configureQueryAnalyzer", "shop.users", "mode", "full", "samplesPerSecond", 50))
	if !reply.Lookup("oldConfiguration").IsZero() || reply.Lookup("newConfiguration", "samplesPerSecond").Double() != 50 {
		t.Errorf("answered %s", reply)
	}
	ask := func(command bson.D) {
		x.Sleep(1e9)
		x.OK("shop", command)
	}
	ask(d("find", "users", "filter", d("_id", 3)))
	ask(d("find", "users", "filter", d("_id", d("$gt", 7))))
	ask(d("count", "users", "query", d("x", 1)))
	ask(d("aggregate", "users", "pipeline", bson.A{d("$match", d("_id", 1))}, "cursor", d()))
	ask(d("update", "users", "updates", bson.A{d("q", d("_id", 1), "u", d("$set", d("x", 1)))}))
	ask(d("delete", "users", "deletes", bson.A{d("q", d("x", 99), "limit", 0)}))
	x.OK("shop", d("find", "users")) // too soon after the last one
	reply = x.OK("admin", d("configureQueryAnalyzer", "shop.users", "mode", "off"))
	if reply.Lookup("oldConfiguration", "mode").StringValue() != "full" {
		t.Errorf("answered %s", reply)
	}
	ask(d("find", "users"))
	listed, err := x.OK("admin", d("aggregate", 1, "pipeline", bson.A{d("$listSampledQueries", d("namespace", "shop.users"))},
		"cursor", d())).Lookup("cursor", "firstBatch").Array().Values()
	if err != nil || len(listed) != 6 {
		t.Fatalf("listed %v, %v", listed, err)
	}
	for i, path := range [][]string{{"filter", "_id"}, {"filter", "_id", "$gt"}, {"filter", "x"}, {"filter", "_id"},
		{"updates", "0", "q", "_id"}, {"deletes", "0", "q", "x"}} {
		cmd := listed[i].Document().Lookup("cmd").Document()
		if cmd.Lookup(path...).IsZero() || listed[i].Document().Lookup("ns").StringValue() != "shop.users" {
			t.Errorf("listed %s", listed[i])
		}
	}
	reply = x.OK("admin", d("analyzeShardKey", "shop.users", "key", d("_id", 1), "keyCharacteristics", false))
	reads, writes := reply.Lookup("readDistribution").Document(), reply.Lookup("writeDistribution").Document()
	if reads.Lookup("sampleSize", "total").Int64() != 4 || reads.Lookup("sampleSize", "find").Int64() != 2 || reads.Lookup("percentageOfSingleShardReads").Double() != 50 ||
		reads.Lookup("percentageOfMultiShardReads").Double() != 25 || reads.Lookup("percentageOfScatterGatherReads").Double() != 25 {
		t.Errorf("reads %s", reads)
	}
	if writes.Lookup("sampleSize", "total").Int64() != 2 || writes.Lookup("percentageOfSingleShardWrites").Double() != 50 || writes.Lookup("percentageOfMultiWritesWithoutShardKey").Double() != 50 ||
		writes.Lookup("percentageOfShardKeyUpdates").Double() != 0 {
		t.Errorf("writes %s", writes)
	}
	// Ten documents make ten ranges: the third read goes to those above 7.
	byRange, err := reads.Lookup("numReadsByRange").Array().Values()
	if err != nil || len(byRange) == 0 {
		t.Fatalf("ranges %s", reads)
	}
	if first, last := byRange[0].Int64(), byRange[len(byRange)-1].Int64(); first != 1 || last != 2 {
		t.Errorf("ranges %v", byRange)
	}
}

func TestDistributionWithoutSamples(t *testing.T) {
	x := routertest.NewS0(t)
	reply := x.OK("admin", d("analyzeShardKey", "shop.users", "key", d("_id", 1)))
	if n := reply.Lookup("readDistribution", "sampleSize", "distinct"); n.Type != bson.TypeInt64 || !reply.Lookup("readDistribution", "percentageOfSingleShardReads").IsZero() {
		t.Errorf("answered %s", reply)
	}
}
