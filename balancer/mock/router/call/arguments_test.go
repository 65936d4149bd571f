package call_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// Arguments that the server's own parser refuses, with its words.
func TestRefusedArguments(t *testing.T) {
	x := routertest.NewExplainState(t)
	up := func(more ...any) bson.D {
		return d("update", "e", "updates", bson.A{append(d("q", d(), "u", d("$set", d("x", 1))), d(more...)...)})
	}
	tests := []struct {
		command bson.D
		code    int
		message string
	}{
		{d("find", "e", "nope", 1), 40415, "BSON field 'FindCommandRequest.nope' is an unknown field."},
		{d("insert", "e", "documents", bson.A{d()}, "nope", 1), 40415, "BSON field 'insert.nope' is an unknown field."},
		{d("aggregate", "e", "pipeline", bson.A{}, "cursor", d(), "nope", 1), 40415, "BSON field 'aggregate.nope' is an unknown field."},
		{d("count", "e", "nope", 1), 40415, "BSON field 'count.nope' is an unknown field."},
		{d("distinct", "e", "key", "k", "nope", 1), 40415, "BSON field 'distinctCommandRequest.nope' is an unknown field."},
		{d("findAndModify", "e", "remove", true, "nope", 1), 40415, "BSON field 'findAndModify.nope' is an unknown field."},
		{d("findandmodify", "e", "remove", true, "nope", 1), 40415, "BSON field 'findAndModify.nope' is an unknown field."},
		{d("getMore", int64(1), "collection", "e", "nope", 1), 40415, "BSON field 'getMore.nope' is an unknown field."},
		{d("killCursors", "e", "cursors", bson.A{}, "nope", 1), 40415, "BSON field 'killCursors.nope' is an unknown field."},
		{d("listIndexes", "e", "nope", 1), 40415, "BSON field 'listIndexes.nope' is an unknown field."},
		{d("dropIndexes", "e", "index", "i_1_k_1", "nope", 1), 40415, "BSON field 'dropIndexes.nope' is an unknown field."},
		{d("explain", d("find", "e"), "nope", 1), 40415, "BSON field 'explain.nope' is an unknown field."},
		{d("create", "n", "nope", 1), 40415, "BSON field 'create.nope' is an unknown field."},
		{d("drop", "n", "nope", 1), 40415, "BSON field 'drop.nope' is an unknown field."},
		{up("nope", 1), 40415, "BSON field 'update.updates.nope' is an unknown field."},
		{d("delete", "e", "deletes", bson.A{d("q", d(), "limit", 1, "nope", 1)}), 40415, "BSON field 'delete.deletes.nope' is an unknown field."},

		{d("listCollections", 1, "cursor", d("nope", 1)), 40415, "BSON field 'listCollections.cursor.nope' is an unknown field."},
		{d("listIndexes", "e", "cursor", d("nope", 1)), 40415, "BSON field 'listIndexes.cursor.nope' is an unknown field."},

		{d("update", "e"), 40414, "BSON field 'update.updates' is missing but a required field"},
		{d("update", "e", "updates", bson.A{d("q", d())}), 40414, "BSON field 'update.updates.u' is missing but a required field"},
		{d("delete", "e", "deletes", bson.A{d("q", d())}), 40414, "BSON field 'delete.deletes.limit' is missing but a required field"},
		{d("distinct", "e"), 40414, "BSON field 'distinctCommandRequest.key' is missing but a required field"},
		{d("getMore", int64(1), "collection", ""), 73, "Collection names cannot be empty"},
		{d("create", "n", "pipeline", bson.A{}), 72, "'pipeline' requires 'viewOn' to also be specified"},
		{d("create", "n", "idIndex", d()), 9, "The 'key' field is a required property of an index specification"},
		{d("create", "n", "idIndex", d("key", d("a", 1), "name", "_id_")), 2,
			"The field 'key' for an _id index must be {_id: 1}, but got { a: 1 }"},
		{d("findAndModify", "e", "remove", true, "arrayFilters", bson.A{}), 9, "Cannot specify arrayFilters and remove=true"},
		{d("getMore", int64(1)), 40414, "BSON field 'getMore.collection' is missing but a required field"},

		{d("find", "e", "limit", "3"), 14, "BSON field 'FindCommandRequest.limit' is the wrong type 'string', expected types '[int, decimal, double, long']"},
		{d("find", "e", "filter", 1), 14, "Expected field filterto be of type object"},
		{d("find", "e", "singleBatch", 1), 14, "Field 'singleBatch' should be a boolean value, but found: int"},
		{d("getMore", 1, "collection", "e"), 14, "BSON field 'getMore.getMore' is the wrong type 'int', expected type 'long'"},
		{d("killCursors", "e", "cursors", bson.A{1}), 14, "BSON field 'killCursors.cursors.0' is the wrong type 'int', expected type 'long'"},
		{d("insert", "e", "documents", bson.A{1}), 14, "BSON field 'insert.documents.0' is the wrong type 'int', expected type 'object'"},
		{d("insert", "e", "documents", bson.A{d()}, "ordered", 1), 14, "BSON field 'insert.ordered' is the wrong type 'int', expected type 'bool'"},
		{up("multi", 1), 14, "BSON field 'update.updates.multi' is the wrong type 'int', expected type 'bool'"},
		{d("findAndModify", "e", "remove", "yes"), 14, "BSON field 'findAndModify.remove' is the wrong type 'string', expected types '[long, decimal, bool, double, int']"},
		{d("find", "e", "skip", -1), 2, "BSON field 'skip' value must be >= 0, actual value '-1'"},
		{d("aggregate", "e", "pipeline", d(), "cursor", d()), 14, "'pipeline' option must be specified as an array"},
		{d("aggregate", "e", "pipeline", bson.A{}, "cursor", 1), 14, "cursor field must be missing or an object"},
		{d("aggregate", "e", "pipeline", bson.A{}, "cursor", d("nope", 1)), 40415, "BSON field 'cursor.nope' is an unknown field."},
		{d("insert", "e", "documents", bson.A{}), 16, "Write batch sizes must be between 1 and 100000. Got 0 operations."},

		{d("find", "e", "sort", d("k", d("$meta", "textScore"))), 40218, "query requires textScore metadata, but it is not available"},
		{d("find", "e", "projection", d("k", d("$meta", "nope"))), 17308, "Unsupported argument to $meta: nope"},
		{d("find", "e", "projection", d("k", d("$meta", 1))), 17307, "$meta only supports string arguments"},
		{d("count", "e", "readConcern", d("level", "snapshot")), 72,
			`Command count does not support { readConcern: { level: "snapshot", provenance: "clientSupplied" } } :: caused by :: read concern snapshot not supported`},
		{d("insert", ".x", "documents", bson.A{d()}), 73, "Invalid namespace specified 'doc1..x'"},
		{d("create", "x", "expireAfterSeconds", 5), 72,
			"'expireAfterSeconds' is only supported on time-series collections or when the 'clusteredIndex' option is specified"},
		{d("aggregate", 1, "pipeline", bson.A{}, "cursor", d()), 73, "{aggregate: 1} is not valid for an empty pipeline."},
		{d("aggregate", 1, "pipeline", bson.A{d("$match", d())}, "cursor", d()), 73, "{aggregate: 1} is not valid for '$match'; a collection is required."},
		{d("aggregate", "e", "pipeline", bson.A{d("$changeStream", d("nope", 1))}, "cursor", d()), 40415, "BSON field '$changeStream.nope' is an unknown field."},
		{d("create", "x", "timeseries", d("timeField", "t")), 238, "the mock does not support collections with timeseries"},
		{d("explain", d("distinct", "e", "key", "a\x00b")), 31032, "Key field cannot contain an embedded null byte"},
		{d("distinct", "e", "key", "a\x00b"), 31032, "Key field cannot contain an embedded null byte"},
		{d("create", "a$b"), 73, "Invalid collection name: a$b"},
		{d("create", "system.x"), 73, "Invalid system namespace: doc1.system.x"},
		{d("create", strings.Repeat("x", 251)), 73, "Fully qualified namespace is too long. Namespace: doc1." + strings.Repeat("x", 251) + " Max: 255"},
		{d("createIndexes", "e", "indexes", bson.A{d("key", d("a", 1))}), 9,
			`Error in specification { key: { a: 1 } } :: caused by :: The 'name' field is a required property of an index specification`},
		{d("createIndexes", "e", "indexes", bson.A{d("name", "a")}), 9,
			`Error in specification { name: "a" } :: caused by :: The 'key' field is a required property of an index specification`},
		{d("createIndexes", "e", "indexes", bson.A{d("key", d("a", 1), "name", "*")}), 2,
			`Error in specification { key: { a: 1 }, name: "*" } :: caused by :: The index name '*' is not valid.`},
		{d("createIndexes", "e", "indexes", bson.A{d("key", d("a", 1), "name", "a", "nope", 1)}), 197,
			`Error in specification { key: { a: 1 }, name: "a", nope: 1 } :: caused by :: The field 'nope' is not valid for an index specification. Specification: { key: { a: 1 }, name: "a", nope: 1 }`},
		{d("findAndModify", "e", "query", d("k", 1), "update", d("$inc", d("tags", 1))), 14,
			"Plan executor error during findAndModify :: caused by :: Cannot apply $inc to a value of non-numeric type. {_id: 1} has the field 'tags' of non-numeric type array"},
	}
	for _, tt := range tests {
		reply := x.Run("doc1", tt.command)
		code, _ := reply.Lookup("code").AsInt64OK()
		message, _ := reply.Lookup("errmsg").StringValueOK()
		if int(code) != tt.code || message != tt.message {
			t.Errorf("%v\n got %d %s\nwant %d %s", tt.command, code, message, tt.code, tt.message)
		}
	}
}

// A write concern that can't be met is not a failure of the write.
func TestUnsatisfiableWriteConcern(t *testing.T) {
	x := routertest.NewExplainState(t)
	for i, tt := range []struct {
		w    any
		code int64
	}{{1, 0}, {"majority", 0}, {2, 100}, {"nowhere", 79}} {
		for j, command := range []bson.D{
			d("insert", "w", "documents", bson.A{d("_id", i)}),
			d("update", "w", "updates", bson.A{d("q", d("_id", i), "u", d("$set", d("x", 1)))}),
			d("findAndModify", "w", "query", d("_id", i), "remove", true),
		} {
			reply := x.OK("doc1", append(command, d("writeConcern", d("w", tt.w))...))
			if code, _ := reply.Lookup("writeConcernError", "code").AsInt64OK(); code != tt.code {
				t.Errorf("w %v, command %d: code %d, want %d", tt.w, j, code, tt.code)
			}
		}
	}
	if code := x.Code("doc1", d("insert", "w", "documents", bson.A{d()}, "writeConcern", d("w", 51))); code != 9 {
		t.Errorf("w 51: code %d, want 9", code)
	}
	reply := x.OK("admin", append(routertest.BulkWriteCommand(bson.A{d("insert", 1, "document", d())}), d("writeConcern", d("w", 3))...))
	if code, _ := reply.Lookup("writeConcernError", "code").AsInt64OK(); code != 100 {
		t.Errorf("bulkWrite: %s", reply)
	}
}

func TestPartialResults(t *testing.T) {
	x := routertest.NewExplainState(t)
	x.OK("admin", d("mockCrash", "shard1"))
	find := d("find", "e", "sort", d("k", -1), "limit", 2)
	if code := x.Code("doc1", find); code != 6 {
		t.Errorf("without the argument: code %d, want 6", code)
	}
	find = append(find, bson.E{Key: "allowPartialResults", Value: true})
	if got := x.IDs("doc1", find); !routertest.Same(got, 9, 8) {
		t.Errorf("found %v", got)
	}
	if !x.OK("doc1", find).Lookup("cursor", "partialResultsReturned").Boolean() {
		t.Error("the reply does not say so")
	}
	x.OK("admin", d("mockRestart", 1))
	if !x.OK("doc1", find).Lookup("cursor", "partialResultsReturned").IsZero() {
		t.Error("all shards are there")
	}
}

func TestCollectionUUID(t *testing.T) {
	x := routertest.NewExplainState(t)
	uuid := func(name string) bson.RawValue {
		return x.OK("doc1", d("listCollections", 1, "filter", d("name", name))).Lookup("cursor", "firstBatch", "0", "info", "uuid")
	}
	none := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}
	for _, tt := range []struct {
		uuid   any
		actual string // of a refusal
	}{{uuid("e"), ""}, {uuid("c"), `"c"`}, {none, "null"}} {
		for _, command := range []bson.D{
			d("insert", "e", "documents", bson.A{d("k", 1)}), d("update", "e", "updates", bson.A{d("q", d("k", 1), "u", d("$set", d("x", 1)))}),
			d("delete", "e", "deletes", bson.A{d("q", d("k", 99), "limit", 0)}), d("aggregate", "e", "pipeline", bson.A{}, "cursor", d()),
			d("createIndexes", "e", "indexes", bson.A{d("key", d("z", 1), "name", "z")}),
		} {
			reply := x.Run("doc1", append(command, bson.E{Key: "collectionUUID", Value: tt.uuid}))
			code, _ := reply.Lookup("code").AsInt64OK()
			if tt.actual == "" && code == 0 {
				continue
			}
			if code != 361 || routertest.RelaxedJSON(t, reply.Lookup("actualCollection")) != tt.actual || reply.Lookup("expectedCollection").StringValue() != "e" {
				t.Errorf("%v answered %s, want the actual collection %q", command, reply, tt.actual)
			}
		}
	}
}
