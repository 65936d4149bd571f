package writes_test

import (
	"fmt"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// What mongoimport and mongorestore send before they write: they take code 40415
// for "an old server", success for "this one keeps empty timestamps", and give
// up on anything else.
func TestToolsProbeForEmptyTimestamps(t *testing.T) {
	x := routertest.NewS0(t)
	x.OK("_mongorestore_dummy", d("update", "_mongorestore_dummy.dummy", "ordered", true, "bypassEmptyTsReplacement", true,
		"updates", bson.A{d("q", d("____dummy", 1), "u", d("$rename", d()))}))
}

// Servers put the time in place of empty timestamps at the top of new documents,
// unless they are told not to; the _id, what lies deeper, and what operators set
// stay.
func TestEmptyTimestamps(t *testing.T) {
	empty := bson.Timestamp{}
	doc := func(id any) bson.D { return d("_id", id, "a", 1, "t", empty, "deep", d("t", empty), "u", empty) }
	for _, bypass := range []bool{false, true} {
		for i, write := range []func(id any) bson.D{
			func(id any) bson.D { return d("insert", "users", "documents", bson.A{doc(id)}) },
			func(id any) bson.D {
				return d("update", "users", "updates", bson.A{d("q", d("_id", id), "u", doc(id), "upsert", true)})
			},
			func(id any) bson.D {
				return d("findAndModify", "users", "query", d("_id", id), "update", doc(id), "upsert", true)
			},
			func(id any) bson.D {
				return d("bulkWrite", 1, "ops", bson.A{d("insert", 0, "document", doc(id))}, "nsInfo", bson.A{d("ns", "shop.users")})
			},
			func(id any) bson.D {
				return d("bulkWrite", 1, "ops", bson.A{d("update", 0, "filter", d("_id", id), "updateMods", doc(id), "upsert", true)},
					"nsInfo", bson.A{d("ns", "shop.users")})
			},
		} {
			t.Run(fmt.Sprintf("%d bypassed %t", i, bypass), func(t *testing.T) {
				x := routertest.NewS0(t)
				command := append(write("new"), bson.E{Key: "bypassEmptyTsReplacement", Value: bypass})
				db := "shop"
				if command[0].Key == "bulkWrite" {
					db = "admin"
				}
				x.OK(db, command)
				got := x.OK("shop", d("find", "users", "filter", d("_id", "new"))).Lookup("cursor", "firstBatch", "0").Document()
				for _, path := range [][]string{{"t"}, {"u"}, {"deep", "t"}} {
					at, i, isTime := got.Lookup(path...).TimestampOK()
					if kept := at == 0 && i == 0; !isTime || kept != (bypass || len(path) > 1) {
						t.Errorf("%v is %s", path, got.Lookup(path...))
					}
				}
				if !bypass && got.Lookup("t").Equal(got.Lookup("u")) {
					t.Errorf("the same time twice: %s", got)
				}
			})
		}
	}
	x := routertest.NewS0(t)
	x.OK("shop", d("insert", "users", "documents", bson.A{d("_id", empty, "a", 1)}))
	x.OK("shop", d("update", "users", "updates", bson.A{d("q", d("a", 1), "u", d("$set", d("t", empty)))}))
	kept := x.OK("shop", d("find", "users", "filter", d("_id", empty, "t", empty)))
	if kept.Lookup("cursor", "firstBatch", "0").IsZero() {
		t.Error("an _id, or what $set gave, was stamped")
	}
}

// Every field that a server of the release knows and that a client may send is
// taken, with the value that drivers send by default; one that it does not know
// is refused. The names are those of MongoDB's own definitions of its commands.
func TestFieldsOfCommands(t *testing.T) {
	var none bson.D
	since83 := map[string]bool{"rawData": true}
	empty := d()
	writes := d("ordered", true, "bypassDocumentValidation", false, "bypassEmptyTsReplacement", false, "comment", "c",
		"maxTimeMS", 9000, "let", d("x", 1), "writeConcern", d("w", 1), "rawData", false)
	reads := d("comment", "c", "maxTimeMS", 9000, "readConcern", d("level", "local"), "$readPreference", d("mode", "primary"), "rawData", false)
	for _, tt := range []struct {
		db      string
		command bson.D
		fields  []bson.D
	}{
		{"shop", d("insert", "users", "documents", bson.A{d("a", 1)}), []bson.D{without(writes, "let"), d("stmtId", 0)}},
		{"shop", d("update", "users", "updates", bson.A{d("q", empty, "u", d("$set", d("b", 1)), "multi", false, "upsert", false,
			"collation", d("locale", "simple"), "arrayFilters", bson.A{}, "hint", d("_id", 1))}), []bson.D{writes}},
		{"shop", d("delete", "users", "deletes", bson.A{d("q", empty, "limit", 1, "hint", "_id_")}), []bson.D{writes}},
		{"shop", d("findAndModify", "users", "query", empty, "update", d("$set", d("b", 1))), []bson.D{without(writes, "ordered"),
			d("new", true, "upsert", false, "fields", empty, "sort", empty, "batchSize", 1, "singleBatch", true)}},
		{"admin", d("bulkWrite", 1, "ops", bson.A{d("insert", 0, "document", d("a", 1))}, "nsInfo", bson.A{d("ns", "shop.users")}),
			[]bson.D{writes, d("errorsOnly", true, "cursor", d("batchSize", 5))}},
		{"shop", d("find", "users"), []bson.D{reads, d("filter", empty, "allowDiskUse", false, "allowPartialResults", false,
			"noCursorTimeout", true, "singleBatch", false, "returnKey", false, "showRecordId", false, "let", empty, "term", int64(1))}},
		{"shop", d("aggregate", "users", "pipeline", bson.A{}, "cursor", empty), []bson.D{reads,
			d("allowDiskUse", true, "bypassDocumentValidation", true, "let", empty, "collation", d("locale", "simple"), "isMapReduceCommand", false)}},
		{"shop", d("count", "users"), []bson.D{reads, d("query", empty, "limit", 5, "skip", 1, "fields", empty)}},
		{"shop", d("distinct", "users", "key", "a"), []bson.D{reads, d("query", empty, "hint", "_id_")}},
		{"shop", d("listCollections", 1), []bson.D{without(reads, "readConcern"),
			d("filter", empty, "nameOnly", true, "authorizedCollections", false, "includePendingDrops", false, "cursor", empty)}},
		{"shop", d("listIndexes", "users"), []bson.D{without(reads, "readConcern"),
			d("includeBuildUUIDs", false, "includeIndexBuildInfo", false, "cursor", empty)}},
		{"admin", d("listDatabases", 1), []bson.D{without(reads, "readConcern", "rawData"), d("nameOnly", true, "authorizedDatabases", true, "filter", empty)}},
		{"shop", d("createIndexes", "users", "indexes", bson.A{d("key", d("z", 1), "name", "z_1", "ns", "shop.users", "background", true)}),
			[]bson.D{without(writes, "ordered", "bypassDocumentValidation", "bypassEmptyTsReplacement", "let"),
				d("ignoreUnknownIndexOptions", true, "v", 2, "commitQuorum", "majority")}},
		{"shop", d("create", "fresh"), []bson.D{d("idIndex", d("key", d("_id", 1), "name", "_id_", "ns", "shop.fresh"))}},
		{"shop", d("drop", "fresh"), []bson.D{d("comment", "c")}},
	} {
		for _, release := range []catalog.Release{catalog.Release80, catalog.Release83} {
			for _, fields := range append(tt.fields, none, d("frobnicate", 1)) {
				x := routertest.New(t, mock.Config{Release: release})
				x.OK("shop", d("insert", "users", "documents", bson.A{d("a", 1)}))
				for _, f := range fields {
					want := 0
					if f.Key == "frobnicate" || since83[f.Key] && release == catalog.Release80 {
						want = 40415
					}
					reply := x.Run(tt.db, append(append(bson.D{}, tt.command...), f))
					if code, _ := reply.Lookup("code").AsInt64OK(); int(code) != want {
						t.Errorf("%s of %v with %s answered %s, want code %d", tt.command[0].Key, release, f.Key, reply, want)
					}
				}
			}
		}
	}
}

func without(all bson.D, names ...string) bson.D {
	var rest bson.D
next:
	for _, e := range all {
		for _, name := range names {
			if e.Key == name {
				continue next
			}
		}
		rest = append(rest, e)
	}
	return rest
}
