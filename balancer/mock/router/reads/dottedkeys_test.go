package reads_test

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// nested is shop.nested sharded by a.b: below 10 on one shard, the rest on
// another.
func nested(t *testing.T) *tester {
	t.Helper()
	x := routertest.New(t, mock.Config{Parameters: map[string]any{"orphanCleanupDelaySecs": 0}})
	x.OK("admin", d("enableSharding", "shop", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "shop.nested", "key", d("a.b", 1)))
	x.OK("shop", d("createIndexes", "nested", "indexes", bson.A{d("key", d("c.d", 1, "a.b", 1), "name", "cd")}))
	for i := range 20 {
		x.OK("shop", d("insert", "nested", "documents", bson.A{
			d("_id", i, "a", d("b", i), "c", d("d", 20-i), "v", bson.A{20 - i, i})}))
	}
	x.OK("admin", d("moveRange", "shop.nested", "min", d("a.b", 10), "toShard", "shard1", "waitForDelete", true))
	return x
}

func docsOf(t *testing.T, reply bson.Raw) []bson.Raw {
	t.Helper()
	list, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	docs := make([]bson.Raw, len(list))
	for i, doc := range list {
		docs[i] = doc.Document()
	}
	return docs
}

// A whole value that holds the shard key tells the shard, for every command.
func TestAnObjectThatHoldsTheKeyTellsTheShard(t *testing.T) {
	for _, tt := range []struct {
		name   string
		filter bson.D
		shards int
	}{
		{"the path", d("a.b", 3), 1},
		{"the object", d("a", d("b", 3)), 1},
		{"$eq", d("a", d("$eq", d("b", 3))), 1},
		{"$in of one", d("a", d("$in", bson.A{d("b", 3)})), 1},
		{"in $and", d("$and", bson.A{d("v", 3), d("a", d("b", 3))}), 1},
		{"with more", d("a", d("x", 1, "b", 3)), 1},
		{"without the key", d("a", d("x", 1)), 2},
		{"an array", d("a", d("b", bson.A{3})), 2},
		{"an array of objects", d("a", bson.A{d("b", 3)}), 2},
		{"a comparison", d("a", d("$gt", d("b", 3))), 2},
		{"in $or", d("$or", bson.A{d("a", d("b", 3)), d("v", 1)}), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := nested(t)
			for name, command := range map[string]bson.D{
				"find":      d("find", "nested", "filter", tt.filter),
				"aggregate": d("aggregate", "nested", "pipeline", bson.A{d("$match", tt.filter)}, "cursor", d()),
				"count":     d("count", "nested", "query", tt.filter),
				"delete":    d("delete", "nested", "deletes", bson.A{d("q", tt.filter, "limit", 0)}),
			} {
				if got := shardsOf(x, command); len(got) != tt.shards {
					t.Errorf("%s goes to %v, want %d shards", name, got, tt.shards)
				}
			}
			x.OK("shop", d("update", "nested", "updates", bson.A{
				d("q", tt.filter, "u", d("$set", d("w", 1)), "multi", true)}))
		})
	}
	x := nested(t)
	for _, filter := range []bson.D{d("a.b", 3), d("a", d("b", 3))} {
		if docs := docsOf(t, x.OK("shop", d("find", "nested", "filter", filter))); len(docs) != 1 {
			t.Errorf("%v finds %d documents, want 1", filter, len(docs))
		}
	}
}

// shardsOf lists the shards that a command is sent to, by its explanation.
func shardsOf(x *tester, command bson.D) (names []string) {
	plan := x.OK("shop", d("explain", command, "verbosity", "queryPlanner"))
	if byShard, isDoc := plan.Lookup("shards").DocumentOK(); isDoc {
		elems, _ := byShard.Elements()
		for _, e := range elems {
			names = append(names, e.Key())
		}
		return names
	}
	list, _ := plan.Lookup("queryPlanner", "winningPlan", "shards").Array().Values()
	for _, s := range list {
		names = append(names, s.Document().Lookup("shardName").StringValue())
	}
	return names
}

// An index on paths covers what asks for no more than these: no document is
// looked at.
func TestAnIndexOnPathsCovers(t *testing.T) {
	all := d("a.b", d("$gte", 0))
	for _, tt := range []struct {
		name       string
		filter     bson.D
		projection bson.D
		covered    bool
	}{
		{"the key", all, d("a.b", 1, "_id", 0), true},
		{"both paths", d("c.d", d("$gte", 0)), d("a.b", 1, "c.d", 1, "_id", 0), true},
		{"one path", d("c.d", 5), d("c.d", 1, "_id", 0), true},
		{"_id, too", all, d("a.b", 1), false},
		{"the whole object", all, d("a", 1, "_id", 0), false},
		{"another path", all, d("a.c", 1, "_id", 0), false},
		{"what it excludes", all, d("v", 0, "_id", 0), false},
		{"something computed", all, d("a.b", 1, "_id", 0, "x", d("$add", bson.A{1, 1})), false},
		{"a filter beyond", d("a.b", d("$gte", 0), "v", 3), d("a.b", 1, "_id", 0), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := nested(t)
			command := d("find", "nested", "filter", tt.filter, "projection", tt.projection)
			plan := x.OK("shop", d("explain", command, "verbosity", "executionStats"))
			examined := plan.Lookup("executionStats", "totalDocsExamined").AsInt64()
			returned := plan.Lookup("executionStats", "nReturned").AsInt64()
			if covered := examined == 0; returned == 0 || covered != tt.covered {
				t.Errorf("%d documents examined for %d, covered should be %v: %s", examined, returned, tt.covered, plan)
			}
		})
	}
}

// What shards find is put together in order, each value once.
func TestDistinctOverShardsIsSorted(t *testing.T) {
	x := nested(t)
	for key, first := range map[string]int64{"c.d": 1, "v": 0} {
		values, _ := x.OK("shop", d("distinct", "nested", "key", key)).Lookup("values").Array().Values()
		var got, want []int64
		for _, v := range values {
			got = append(got, v.AsInt64())
		}
		for n := first; n <= 20; n++ {
			want = append(want, n)
		}
		if !slices.Equal(got, want) {
			t.Errorf("distinct %s is %v, want %v", key, got, want)
		}
	}
}

// An empty keyPattern, or empty bounds, are as none.
func TestDataSizeWithNothingInIt(t *testing.T) {
	x := nested(t)
	part := []any{"min", d("a.b", 3), "max", d("a.b", 8)}
	for _, tt := range []struct {
		command []any
		docs    int64
	}{
		{[]any{"keyPattern", d()}, 20}, {append([]any{"keyPattern", d()}, part...), 5}, {part, 5},
		{[]any{"keyPattern", d("a.b", 1), "min", d(), "max", d()}, 20},
	} {
		reply := x.OK("shop", append(d("dataSize", "shop.nested"), d(tt.command...)...))
		if n := reply.Lookup("numObjects").AsInt64(); n != tt.docs {
			t.Errorf("%v counts %d documents, want %d", tt.command, n, tt.docs)
		}
	}
}

// Any number is as good as true to listDatabases; listCollections takes no number (recording 23).
func TestNameOnlyTakesNumbers(t *testing.T) {
	x := nested(t)
	for _, on := range []any{true, int32(1), int64(1), 1.0} {
		databases := x.OK("admin", d("listDatabases", 1, "nameOnly", on))
		if !databases.Lookup("totalSize").IsZero() || !databases.Lookup("databases", "0", "sizeOnDisk").IsZero() {
			t.Errorf("nameOnly: %v (%T) answers %s", on, on, databases)
		}
		if on != true {
			if code := x.Code("shop", d("listCollections", 1, "nameOnly", on)); code != 14 {
				t.Errorf("listCollections with nameOnly: %v (%T): code %d", on, on, code)
			}
			continue
		}
		for _, doc := range docsOf(t, x.OK("shop", d("listCollections", 1, "nameOnly", on))) {
			if elems, _ := doc.Elements(); len(elems) != 2 {
				t.Errorf("nameOnly: %v (%T) shows %s", on, on, doc)
			}
		}
	}
	for _, off := range []any{false, int32(0), 0.0} {
		if databases := x.OK("admin", d("listDatabases", 1, "nameOnly", off)); databases.Lookup("totalSize").IsZero() {
			t.Errorf("nameOnly: %v answers %s", off, databases)
		}
	}
}
