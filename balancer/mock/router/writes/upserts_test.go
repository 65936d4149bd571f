package writes_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// supplied is an upsert that carries the document to insert, as $merge sends it.
func supplied(q, doc bson.D) bson.D {
	return d("q", q, "u", bson.A{d("$addFields", d("unused", true))}, "c", d("new", doc), "upsert", true, "upsertSupplied", true)
}

func upsert(q bson.D, u any) bson.D { return d("q", q, "u", u, "upsert", true) }

// asBulk is a statement of an update as an operation of bulkWrite.
func asBulk(statement bson.D) bson.D {
	names := map[string]string{"q": "filter", "u": "updateMods", "c": "constants"}
	op := d("update", 0)
	for _, e := range statement {
		if name := names[e.Key]; name != "" {
			e.Key = name
		}
		op = append(op, e)
	}
	return op
}

// What upserts make of a sharded collection, by the server's own tests: keys with arrays, parts of an _id
// that is in the key, and documents that the client supplies.
func TestUpsertsIntoShardedCollections(t *testing.T) {
	x := routertest.NewRecordedState(t)
	id := func(v any) bson.D { return d("_id", v) }
	for _, of := range []struct {
		key   string
		tests []struct {
			name      string
			statement bson.D
			want      any // the document, or the code
		}
	}{
		{"x", []struct {
			name      string
			statement bson.D
			want      any
		}{
			{"a replacement without the key", upsert(d("x", -1), id(1)), id(1)},
			{"a supplied document without the key", supplied(d("x", -1), id(1)), id(1)},
			{"operators keep the key of the query", upsert(d("x", -1), d("$set", id(1))), d("_id", 1, "x", -1)},
			{"operators may take it away", upsert(d("x", -1), d("$set", id(1), "$unset", d("x", 1))), id(1)},
			{"a supplied document is not what the pipeline makes", supplied(d("x", 1, "_id", 7), d("y", 2)), d("_id", 7, "y", 2)},
			{"operators make an array of the key", upsert(d("x", -1), d("$set", d("_id", 1, "x", bson.A{1}))), 54},
		}},
		{"x.x", []struct {
			name      string
			statement bson.D
			want      any
		}{
			{"a replacement without the key", upsert(d("x.x", -1), id(1)), id(1)},
			{"a supplied document without the key", supplied(d("x.x", -1), id(1)), id(1)},
			{"operators keep the key of the query", upsert(d("x.x", -1), d("$set", id(1))), d("_id", 1, "x", d("x", -1))},
			{"operators leave an empty object", upsert(d("x.x", -1), d("$set", id(1), "$unset", d("x.x", 1))), d("_id", 1, "x", d())},
			{"operators: an array in the key", upsert(d("x.x", -1), d("$set", d("x", d("x", bson.A{})))), 54},
			{"operators: the key in an array", upsert(d("x.x", -1), d("$set", d("x", bson.A{d("x", 1)}))), 54},
			{"supplied: an array in the key", supplied(d("x.x", -1), d("x", d("x", bson.A{}))), 54},
			{"supplied: the key in an array", supplied(d("x.x", -1), d("x", bson.A{d("x", 1)})), 54},
			{"a replacement: an array in the key", upsert(d("x.x", -1), d("x", d("x", bson.A{}))), 54},
			{"a replacement: the key in an array", upsert(d("x.x", -1), d("x", bson.A{d("x", 1)})), 54},
		}},
		{"_id.x", []struct {
			name      string
			statement bson.D
			want      any
		}{
			{"an empty replacement keeps the _id", upsert(id(d("x", -1)), d()), id(d("x", -1))},
			{"an empty supplied document keeps it", supplied(id(d("x", -1)), d()), id(d("x", -1))},
			{"operators keep it", upsert(id(d("x", -1)), d("$set", d("y", 1))), d("_id", d("x", -1), "y", 1)},
			{"operators take a part away", upsert(id(d("x", -1)), d("$set", d("y", 1), "$unset", d("_id.x", 1))), 66},
			{"a replacement says the same", upsert(id(d("x", -1)), d("_id", d("x", -1), "y", 1)), d("_id", d("x", -1), "y", 1)},
			{"a supplied document says the same", supplied(id(d("x", -1)), d("_id", d("x", -1), "y", 1)), d("_id", d("x", -1), "y", 1)},
			{"operators say the same", upsert(id(d("x", -1)), d("$set", d("_id.x", -1, "y", 1))), d("_id", d("x", -1), "y", 1)},
			{"a replacement changes it", upsert(id(d("x", -1)), id(d("x", -2))), 66},
			{"a supplied document changes it", supplied(id(d("x", -1)), id(d("x", -2))), 66},
			{"operators change it", upsert(id(d("x", -1)), d("$set", id(d("x", -2)))), 66},
			{"a replacement adds a part", upsert(id(d("x", -1)), id(d("x", -1, "y", -1))), 66},
			{"a supplied document adds a part", supplied(id(d("x", -1)), id(d("x", -1, "y", -1))), 66},
			{"operators add a part", upsert(id(d("x", -1)), d("$set", d("_id.x", -1, "_id.y", -1))), 66},
			{"a replacement lacks a part", upsert(id(d("x", -1, "y", -1)), id(d("x", -1))), 66},
			{"a supplied document lacks a part", supplied(id(d("x", -1, "y", -1)), id(d("x", -1))), 66},
			{"operators unset another part", upsert(id(d("x", -1, "y", -1)), d("$unset", d("_id.y", 1))), 66},
			{"a replacement of a part", upsert(d("_id.x", -1), id(d("x", -1))), 111},
			{"a supplied document for a part", supplied(d("_id.x", -1), id(d("x", -1))), id(d("x", -1))},
			{"operators set the whole for a part", upsert(d("_id.x", -1), d("$set", id(d("x", -1)))), 66},
			{"operators set the part", upsert(d("_id.x", -1), d("$set", d("_id.x", -1))), id(d("x", -1))},
		}},
	} {
		x.OK("admin", d("shardCollection", "doc1.up", "key", bson.D{{Key: of.key, Value: 1}}))
		for _, tt := range of.tests {
			for name, run := range map[string]func() bson.RawValue{
				"update": func() bson.RawValue {
					return x.Run("doc1", d("update", "up", "updates", bson.A{tt.statement})).Lookup("writeErrors", "0", "code")
				},
				"bulkWrite": func() bson.RawValue {
					return x.Run("admin", d("bulkWrite", 1, "ops", bson.A{asBulk(tt.statement)}, "nsInfo",
						bson.A{d("ns", "doc1.up")})).Lookup("cursor", "firstBatch", "0", "code")
				},
			} {
				x.OK("doc1", d("delete", "up", "deletes", bson.A{d("q", d(), "limit", 0)}))
				code, _ := run().AsInt64OK()
				if want, is := tt.want.(int); is {
					if int(code) != want {
						t.Errorf("%s, %s, %s: code %d, want %d", of.key, tt.name, name, code, want)
					}
					continue
				}
				want, err := bson.Marshal(tt.want)
				if err != nil {
					t.Fatal(err)
				}
				got := x.OK("doc1", d("find", "up")).Lookup("cursor", "firstBatch", "0").String()
				if code != 0 || got != bson.Raw(want).String() {
					t.Errorf("%s, %s, %s: code %d, %s, want %s", of.key, tt.name, name, code, got, bson.Raw(want))
				}
			}
		}
		x.OK("doc1", d("drop", "up"))
	}
}

// A document is supplied for an upsert, and it is one.
func TestSuppliedDocumentsAreOfUpserts(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("doc1", d("create", "up"))
	without := func(name string, statement bson.D) bson.D {
		list := bson.D{}
		for _, e := range statement {
			if e.Key != name {
				list = append(list, e)
			}
		}
		return list
	}
	whole := supplied(d("_id", 1), d("a", 1))
	for name, tt := range map[string]struct {
		statement bson.D
		text      string
	}{
		"no upsert":    {without("upsert", whole), "cannot specify 'upsertSupplied: true' for a non-upsert operation"},
		"no constants": {without("c", whole), "the parameter 'upsertSupplied' is set to 'true', but no document was supplied"},
		"no document": {append(without("c", whole), d("c", d("new", 1))...),
			"the parameter 'upsertSupplied' is set to 'true', but no document was supplied"},
	} {
		failed := x.Run("doc1", d("update", "up", "updates", bson.A{tt.statement})).Lookup("writeErrors", "0").Document()
		if failed.Lookup("code").AsInt64() != 9 || failed.Lookup("errmsg").StringValue() != tt.text {
			t.Errorf("%s: %s", name, failed)
		}
	}
}

// An update of one document that makes an array of its key is refused as such, retryable or not.
func TestUpdatesMakeNoArrayOfAKey(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("admin", d("shardCollection", "doc1.up", "key", d("k", 1)))
	x.OK("doc1", d("insert", "up", "documents", bson.A{d("_id", 1, "k", 1)}))
	lsid := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}
	for n, u := range []bson.D{d("$set", d("k", bson.A{1})), d("k", bson.A{1})} {
		reply := x.Run("doc1", d("update", "up", "updates", bson.A{d("q", d("k", 1), "u", u)},
			"lsid", d("id", lsid), "txnNumber", int64(n)))
		if code, _ := reply.Lookup("writeErrors", "0", "code").AsInt64OK(); code != 54 {
			t.Errorf("%v: %s, want code 54", u, reply)
		}
	}
}
