package collections_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// An insert may write to config, a bulkWrite may not, whose error has no code (recording 12, insert into
// config), and nothing there or in admin can be dropped.
func TestConfigIsWrittenAndNotDropped(t *testing.T) {
	x := routertest.NewRecordedState(t)
	for _, ns := range []string{"config.probe", "admin.probe"} {
		db, _, _ := strings.Cut(ns, ".")
		reply := x.Run("admin", d("bulkWrite", 1, "ops", bson.A{d("insert", 0, "document", d("_id", "g12"))},
			"nsInfo", bson.A{d("ns", ns)}))
		if _, coded := reply.Lookup("code").AsInt64OK(); reply.Lookup("ok").AsInt64() != 0 || coded {
			t.Errorf("%s: %s", ns, reply)
		}
		x.OK(db, d("insert", "probe", "documents", bson.A{d("_id", "g12")}))
		if n := x.OK(db, d("count", "probe")).Lookup("n").AsInt64(); n != 1 {
			t.Errorf("%s has %d documents", ns, n)
		}
		dropped := x.Run(db, d("drop", "probe"))
		want := "Cannot drop collection in '" + db + "' database in sharded cluster"
		if dropped.Lookup("code").AsInt64() != 20 || dropped.Lookup("errmsg").StringValue() != want {
			t.Errorf("%s: %s", ns, dropped)
		}
	}
}

// What servers refuse of collections of their own, and of names that are theirs, by the server's
// own tests.
func TestCollectionsOfServers(t *testing.T) {
	x := routertest.NewRecordedState(t)
	x.OK("doc1", d("insert", "plain", "documents", bson.A{d("_id", 1)}))
	x.OK("admin", d("insert", "mine", "documents", bson.A{d("_id", 1)}))
	validator := d("a", 1)
	index := func(field string) bson.D {
		return d("createIndexes", "plain", "indexes", bson.A{d("key", bson.D{{Key: field, Value: 1}}, "name", "i")})
	}
	for _, tt := range []struct {
		name    string
		db      string
		command bson.D
		code    int
	}{
		{"a validator in admin", "admin", d("create", "v", "validator", validator), 72},
		{"none in admin", "admin", d("create", "w"), 0},
		{"a validator of system.js", "doc1", d("create", "system.js", "validator", validator), 72},
		{"a validator for a collection of admin", "admin", d("collMod", "mine", "validator", validator), 72},
		{"a validator for a collection of config", "config", d("collMod", "shards", "validator", validator), 72},
		{"a validator for what is not in config", "config", d("collMod", "nope", "validator", validator), 26},
		{"a validator for what is not in admin", "admin", d("collMod", "nope", "validator", validator), 26},
		{"a validator for what is not in system", "doc1", d("collMod", "system.nope", "validator", validator), 26},
		{"indexes of admin dropped", "admin", d("dropIndexes", "mine", "index", "*"), 20},
		{"an index on $id", "doc1", index("$id"), 67},
		{"an index on $ref.a", "doc1", index("$ref.a"), 67},
		{"an index in a reference", "doc1", index("a.$id"), 0},
		{"a rename to a database that is missing", "admin", d("renameCollection", "doc1.plain", "to", "gone.plain"), 26},
	} {
		reply := x.Run(tt.db, tt.command)
		if code, _ := reply.Lookup("code").AsInt64OK(); int(code) != tt.code {
			t.Errorf("%s: %s, want code %d", tt.name, reply, tt.code)
		}
	}
}
