package explain_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// Which shards a query goes to, what each does there, and the true numbers:
// keys and documents looked at, and documents returned.
func TestExplainFind(t *testing.T) {
	x := routertest.NewExplainState(t)
	tests := []struct {
		name    string
		command bson.D
		top     string
		shards  string
		plan    string // of the first shard
		n, keys int64
		docs    int64
	}{
		{"whole shard key", d("find", "e", "filter", d("k", 5)), "SINGLE_SHARD", "shard0", "FETCH IXSCAN", 1, 1, 1},
		{"shard key with more", d("find", "e", "filter", d("k", 5, "n", 4)), "SINGLE_SHARD", "shard0", "FETCH IXSCAN", 0, 1, 1},
		{"range of the shard key on one shard", d("find", "e", "filter", d("k", d("$gte", 3, "$lt", 6))), "SINGLE_SHARD", "shard0", "FETCH SHARDING_FILTER IXSCAN", 3, 3, 3},
		{"range over both", d("find", "e", "filter", d("k", d("$gte", 8, "$lt", 12))), "SHARD_MERGE", "shard0 shard1", "FETCH SHARDING_FILTER IXSCAN", 4, 6, 4},
		{"in", d("find", "e", "filter", d("k", d("$in", bson.A{12, 14}))), "SINGLE_SHARD", "shard1", "FETCH SHARDING_FILTER IXSCAN", 2, 2, 2},
		{"no index", d("find", "e", "filter", d("n", 4)), "SHARD_MERGE", "shard0 shard1", "SHARDING_FILTER COLLSCAN", 1, 0, 30},
		{"everything", d("find", "e"), "SHARD_MERGE", "shard0 shard1", "SHARDING_FILTER COLLSCAN", 20, 0, 30},
		{"an index", d("find", "e", "filter", d("i", 4)), "SHARD_MERGE", "shard0 shard1", "FETCH SHARDING_FILTER IXSCAN", 4, 6, 4},
		{"index gives the order", d("find", "e", "filter", d("i", 4), "sort", d("k", -1)), "SHARD_MERGE_SORT", "shard0 shard1", "FETCH SHARDING_FILTER IXSCAN", 4, 6, 4},
		{"sort in memory", d("find", "e", "filter", d("i", 4), "sort", d("n", 1)), "SHARD_MERGE_SORT", "shard0 shard1", "SORT FETCH SHARDING_FILTER IXSCAN", 4, 6, 4},
		{"multikey", d("find", "e", "filter", d("tags", "a"), "limit", 2), "SHARD_MERGE", "shard0 shard1", "LIMIT SHARDING_FILTER FETCH IXSCAN", 4, 4, 4},
		{"covered", d("find", "e", "filter", d("i", 4), "projection", d("_id", 0, "k", 1)), "SHARD_MERGE", "shard0 shard1", "PROJECTION_COVERED SHARDING_FILTER IXSCAN", 4, 6, 0},
		{"by id", d("find", "e", "filter", d("_id", 4)), "SHARD_MERGE", "shard0 shard1", "EXPRESS_IXSCAN", 1, 1, 1},
		{"nothing there", d("find", "none", "filter", d("a", 1)), "SINGLE_SHARD", "shard0", "EOF", 0, 0, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reply := x.OK("doc1", d("explain", tt.command, "verbosity", "executionStats"))
			plan := reply.Lookup("queryPlanner", "winningPlan")
			var shards []string
			values, err := plan.Document().Lookup("shards").Array().Values()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				shards = append(shards, v.Document().Lookup("shardName").StringValue())
			}
			if top := plan.Document().Lookup("stage").StringValue(); top != tt.top || strings.Join(shards, " ") != tt.shards {
				t.Errorf("%s on %s, want %s on %s", top, shards, tt.top, tt.shards)
			}
			if got := routertest.StageNames(values[0].Document().Lookup("winningPlan").Document()); got != tt.plan {
				t.Errorf("plan %s, want %s", got, tt.plan)
			}
			stats := reply.Lookup("executionStats").Document()
			for name, want := range map[string]int64{"nReturned": tt.n, "totalKeysExamined": tt.keys, "totalDocsExamined": tt.docs} {
				if got := stats.Lookup(name).AsInt64(); got != want {
					t.Errorf("%s %d, want %d", name, got, want)
				}
			}
		})
	}
}

func TestExplainOtherCommands(t *testing.T) {
	x := routertest.NewExplainState(t)
	tests := []struct {
		name    string
		command bson.D
		plan    string
		field   string // of the topmost stage's execution
		want    int64
	}{
		{"count by the whole key", d("count", "e", "query", d("k", 5)), "COUNT COUNT_SCAN", "nCounted", 1},
		{"count of all", d("count", "e"), "RECORD_STORE_FAST_COUNT", "nSkipped", 0},
		{"count by an index", d("count", "e", "query", d("i", 1)), "COUNT SHARDING_FILTER IXSCAN", "nCounted", 2},
		{"distinct", d("distinct", "e", "key", "i", "query", d("n", d("$lt", 5))), "SHARDING_FILTER COLLSCAN", "nReturned", 5},
		{"update", d("update", "e", "updates", bson.A{d("q", d("i", 1), "u", d("$set", d("n", 1)), "multi", true)}), "UPDATE FETCH IXSCAN", "nWouldModify", 1},
		{"distinct by an index", d("distinct", "e", "key", "i"), "PROJECTION_COVERED DISTINCT_SCAN", "nReturned", 5},
		{"distinct of an array", d("distinct", "e", "key", "tags"), "SHARDING_FILTER COLLSCAN", "nReturned", 10},
		{"update by _id", d("update", "e", "updates", bson.A{d("q", d("_id", 4), "u", d("$set", d("n", 1)))}), "EXPRESS_UPDATE", "nWouldModify", 1},
		{"update of many by _id", d("update", "e", "updates", bson.A{d("q", d("_id", 4), "u", d("$set", d("n", 1)), "multi", true)}), "UPDATE IDHACK", "nWouldModify", 1},
		{"delete of many", d("delete", "e", "deletes", bson.A{d("q", d("i", 1), "limit", 0)}), "BATCHED_DELETE FETCH IXSCAN", "nWouldDelete", 2},
		{"delete", d("delete", "e", "deletes", bson.A{d("q", d("k", 3), "limit", 1)}), "DELETE FETCH IXSCAN", "nWouldDelete", 1},
		{"findAndModify", d("findAndModify", "e", "query", d("k", 3), "remove", true), "DELETE FETCH IXSCAN", "nWouldDelete", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			reply := x.OK("doc1", d("explain", tt.command))
			if got := routertest.StageNames(reply.Lookup("queryPlanner", "winningPlan", "shards", "0", "winningPlan").Document()); got != tt.plan {
				t.Errorf("plan %s, want %s", got, tt.plan)
			}
			got := reply.Lookup("executionStats", "executionStages", "shards", "0", "executionStages", tt.field)
			if n, ok := got.AsInt64OK(); !ok || n != tt.want {
				t.Errorf("%s is %s, want %d", tt.field, got, tt.want)
			}
		})
	}
	if n := x.OK("doc1", d("count", "e", "query", d("n", d("$gte", 0)))).Lookup("n").AsInt64(); n != 20 {
		t.Errorf("explaining left %d documents, want 20", n)
	}
}

// A pipeline on several shards is split: what they do, and what merges.
func TestExplainAggregate(t *testing.T) {
	x := routertest.NewExplainState(t)
	group := d("$group", d("_id", "$i", "n", d("$sum", 1)))
	reply := x.OK("doc1", d("explain", d("aggregate", "e", "pipeline", bson.A{d("$match", d("n", d("$gte", 5))), group, d("$limit", 2)}, "cursor", d()), "verbosity", "executionStats"))
	if n, _ := reply.Lookup("splitPipeline", "shardsPart").Array().Values(); len(n) != 2 {
		t.Errorf("the shards' part is %s", reply.Lookup("splitPipeline", "shardsPart"))
	}
	if n, _ := reply.Lookup("splitPipeline", "mergerPart").Array().Values(); len(n) != 3 {
		t.Errorf("the merging part is %s", reply.Lookup("splitPipeline", "mergerPart"))
	}
	for shard, want := range map[string]int64{"shard0": 5, "shard1": 5} {
		done := reply.Lookup("shards", shard, "executionStats", "executionStages").Document()
		if got := done.Lookup("nReturned").AsInt64(); got != want || done.Lookup("stage").StringValue() != "GROUP" {
			t.Errorf("%s has %d groups, want %d: %s", shard, got, want, done)
		}
	}
	reply = x.OK("doc1", d("aggregate", "e", "pipeline", bson.A{d("$match", d("k", 5))}, "explain", true))
	if got := routertest.StageNames(reply.Lookup("shards", "shard0", "queryPlanner", "winningPlan").Document()); got != "FETCH IXSCAN" {
		t.Errorf("plan %s", got)
	}
}

// What the shards do of a pipeline, what they leave out of their documents, and who
// merges.
func TestExplainSplit(t *testing.T) {
	x := routertest.NewExplainState(t)
	x.OK("doc1", d("insert", "plain", "documents", bson.A{d("_id", 1)}))
	group := d("$group", d("_id", "$i"))
	for _, tt := range []struct {
		pipeline      bson.A
		shards, merge string
		on            string
	}{
		{bson.A{d("$sort", d("n", 1)), d("$limit", 2)}, `$sort`, `$mergeCursors $limit`, ""},
		{bson.A{d("$limit", 2), group}, `$limit $project`, `$mergeCursors $limit $group`, ""},
		{bson.A{d("$match", d("n", 1)), d("$count", "all")}, `$match $group`, `$mergeCursors $group $project`, ""},
		{bson.A{d("$sortByCount", "$i")}, `$group`, `$mergeCursors $group $sort`, ""},
		{bson.A{d("$facet", d("a", bson.A{group}, "b", bson.A{d("$count", "n")}))}, `$project`, `$mergeCursors $facet`, ""},
		{bson.A{d("$facet", d("a", bson.A{d("$limit", 1)}))}, ``, `$mergeCursors $facet`, ""},
		{bson.A{d("$lookup", d("from", "plain", "localField", "i", "foreignField", "_id", "as", "x"))}, ``, `$mergeCursors $lookup`, "shard0"},
		{bson.A{d("$lookup", d("from", "e", "localField", "i", "foreignField", "k", "as", "x"))}, ``, `$mergeCursors $lookup`, ""},
		{bson.A{d("$merge", d("into", "e"))}, ``, `$mergeCursors $merge`, ""},
		{bson.A{d("$out", "other")}, ``, `$mergeCursors $out`, "shard0"},
	} {
		reply := x.OK("doc1", d("explain", d("aggregate", "e", "pipeline", tt.pipeline, "cursor", d()), "verbosity", "queryPlanner"))
		names := func(part string) string {
			var list []string
			values, err := reply.Lookup("splitPipeline", part).Array().Values()
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range values {
				elements, err := v.Document().Elements()
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, elements[0].Key())
			}
			return strings.Join(list, " ")
		}
		on, _ := reply.Lookup("mergeShardId").StringValueOK()
		if shards, merge := names("shardsPart"), names("mergerPart"); shards != tt.shards || merge != tt.merge || on != tt.on {
			t.Errorf("%v: %q, then %q on %q; want %q, %q, %q", tt.pipeline, shards, merge, on, tt.shards, tt.merge, tt.on)
		}
	}
}

func TestExplainRefusals(t *testing.T) {
	x := routertest.NewExplainState(t)
	for _, tt := range []struct {
		command bson.D
		code    int
	}{
		{d("explain", d("find", "e"), "verbosity", "loud"), 2},
		{d("explain", d("find", "e"), "verbosity", 1), 14},
		{d("explain", "find"), 14},
		{d("explain", d("nope", 1)), 59},
		{d("explain", d("insert", "e", "documents", bson.A{d()})), 20},
		{d("explain", d("find", "e", "nope", 1)), 40415},
		{d("explain", d("find", "e", "$db", "other")), 73},
		{d("explain", d("find", "e", "hint", "nope")), 2},
		{d("explain", d("delete", "e", "deletes", bson.A{d("q", d(), "limit", 1), d("q", d(), "limit", 1)})), 16},
	} {
		if code := x.Code("doc1", tt.command); code != tt.code {
			t.Errorf("%v: code %d, want %d", tt.command, code, tt.code)
		}
	}
}

// What a mongos explains of a query on a view is the aggregation that it makes
// of it.
func TestExplainOnViews(t *testing.T) {
	x := routertest.NewExplainState(t)
	x.OK("doc1", d("create", "low", "viewOn", "e", "pipeline", bson.A{d("$match", d("k", d("$lt", 10)))}))
	for _, tt := range []struct {
		name     string
		command  bson.D
		pipeline string
		shards   int
	}{
		{"find", d("find", "low", "filter", d("i", 3), "sort", d("n", -1), "limit", 2, "projection", d("n", 1)),
			`[{"$match":{"i":3}},{"$sort":{"n":-1}},{"$limit":2},{"$project":{"n":1}}]`, 1},
		{"count", d("count", "low", "query", d("i", 3)), `[{"$match":{"i":3}},{"$count":"count"}]`, 1},
		{"distinct", d("distinct", "low", "key", "tags"),
			`[{"$unwind":{"path":"$tags","preserveNullAndEmptyArrays":true}},{"$group":{"_id":null,"distinct":{"$addToSet":"$tags"}}}]`, 1},
	} {
		for _, verbosity := range []string{"queryPlanner", "executionStats", "allPlansExecution"} {
			reply := x.OK("doc1", d("explain", tt.command, "verbosity", verbosity))
			if got := routertest.RelaxedJSON(t, reply.Lookup("command", "pipeline")); got != tt.pipeline {
				t.Errorf("%s: %s", tt.name, got)
			}
			shards, _ := reply.Lookup("shards").Document().Elements()
			if len(shards) != tt.shards || reply.Lookup("command", "aggregate").StringValue() != "low" {
				t.Errorf("%s: %s", tt.name, reply)
			}
		}
	}
	for _, command := range []bson.D{
		d("update", "low", "updates", bson.A{d("q", d(), "u", d("$set", d("x", 1)))}), d("delete", "low", "deletes", bson.A{d("q", d(), "limit", 0)}),
		d("findAndModify", "low", "remove", true),
	} {
		if code := x.Code("doc1", d("explain", command)); code != 166 {
			t.Errorf("%v: code %d, want 166", command, code)
		}
	}
}

// What comes of an index alone has null where a document has nothing, and its fields in the index's order.
func TestCoveredResults(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("shop", d("createIndexes", "users", "indexes", bson.A{d("key", d("a", 1, "b", 1), "name", "a_b")}))
	x.OK("shop", d("insert", "users", "documents", bson.A{d("_id", 100, "a", 1), d("_id", 101, "b", 2, "a", 1)}))
	for _, c := range []struct {
		projection bson.D
		want       string
	}{
		{d("b", 1, "a", 1, "_id", 0), `[{"a": {"$numberInt":"1"},"b": null},{"a": {"$numberInt":"1"},"b": {"$numberInt":"2"}}]`},
		{d("b", 1, "a", 1), `[{"_id": {"$numberInt":"100"},"a": {"$numberInt":"1"}},{"_id": {"$numberInt":"101"},"b": {"$numberInt":"2"},"a": {"$numberInt":"1"}}]`},
	} {
		reply := x.OK("shop", d("find", "users", "filter", d("a", 1), "projection", c.projection, "hint", "a_b"))
		if got := reply.Lookup("cursor", "firstBatch").String(); got != c.want {
			t.Errorf("%v: %s, want %s", c.projection, got, c.want)
		}
	}
}

// A query has the same queryShapeHash in explain and in $queryStats.
func TestShapeHashIsThatOfQueryStats(t *testing.T) {
	x := routertest.NewExplainState(t)
	x.OK("admin", d("setParameter", 1, "internalQueryStatsRateLimit", -1))
	for _, command := range []bson.D{
		d("find", "e", "filter", d("n", 4), "sort", d("i", 1)),
		d("aggregate", "e", "pipeline", bson.A{d("$match", d("n", 4)), d("$sort", d("i", 1))}, "cursor", d()),
		d("distinct", "e", "key", "n", "query", d("i", 3)),
	} {
		want := x.OK("doc1", d("explain", command, "verbosity", "queryPlanner")).Lookup("queryShapeHash").StringValue()
		x.OK("doc1", command)
		found := x.OK("admin", d("aggregate", 1, "cursor", d(), "pipeline", bson.A{d("$queryStats", d()),
			d("$match", d("queryShapeHash", want))}))
		if entries, _ := found.Lookup("cursor", "firstBatch").Array().Values(); len(entries) != 1 {
			t.Errorf("%v: %d entries in $queryStats have the hash %s", command, len(entries), want)
		}
	}
}
