package mock_test

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Collections that live on one shard change their database, wherever they are and whatever has the name
// (the servers' tests of renaming unsplittable collections); sharded ones do not.
func TestRenamesAcrossDatabases(t *testing.T) {
	for name, c := range map[string]struct {
		from, at, to string // at: where it was moved to; to: where one of the new name is
		code         int64
	}{
		"not tracked":                   {"db.plain", "", "", 0},
		"on the primary shard":          {"db.plain", "shard0", "", 0},
		"on another":                    {"db.plain", "shard1", "", 0},
		"both on the primary shard":     {"db.plain", "shard0", "shard0", 0},
		"the target on another":         {"db.plain", "shard0", "shard1", 0},
		"both on another":               {"db.plain", "shard1", "shard1", 0},
		"not tracked, onto one that is": {"db.plain", "", "shard1", 0},
		"sharded":                       {ns, "", "", 125},
	} {
		t.Run(name, func(t *testing.T) {
			m := orders(t)
			m.ok(t, "admin", d("enableSharding", "other", "primaryShard", "shard0"))
			if c.at != "" {
				m.ok(t, "admin", d("moveCollection", c.from, "toShard", c.at))
			}
			if c.to != "" {
				m.ok(t, "other", d("insert", "new", "documents", bson.A{d("_id", 9)}))
				m.ok(t, "admin", d("moveCollection", "other.new", "toShard", c.to))
			}
			uuid := m.uuid(t, "db", c.from[len("db."):])
			rename := d("renameCollection", c.from, "to", "other.new", "dropTarget", c.to != "")
			if c.code != 0 {
				m.refused(t, "admin", rename, c.code)
				return
			}
			m.refused(t, "admin", append(rename, bson.E{Key: "collectionUUID", Value: uuid}), 72)
			m.ok(t, "admin", rename)
			if m.uuid(t, "other", "new").Equal(uuid) {
				t.Error("the copy has the UUID of the original")
			}
			if n, _ := m.ok(t, "other", d("count", "new", "query", d("_id", d("$lt", 3)))).Lookup("n").AsInt64OK(); n != 2 {
				t.Errorf("%d documents, want 2", n)
			}
			if n := m.count(t, "collections", d("_id", "other.new", "unsplittable", true)); (n == 1) != (c.at != "") {
				t.Errorf("%d entries", n)
			}
			m.cluster.Lock()
			defer m.cluster.Unlock()
			if err := m.cluster.CheckInvariants(); err != nil {
				t.Error(err)
			}
		})
	}
}

// dropTarget may be the UUID that the target must have (collection_uuid_rename_collection.js).
func TestRenamesDropTheTargetThatIsMeant(t *testing.T) {
	m := orders(t)
	m.ok(t, "db", d("insert", "target", "documents", bson.A{d("_id", 1)}))
	source, target := m.uuid(t, "db", "plain"), m.uuid(t, "db", "target")
	rename := func(drop bson.Binary) bson.D {
		return d("renameCollection", "db.plain", "to", "db.target", "dropTarget", drop)
	}
	m.refused(t, "admin", rename(source), 361)
	m.refused(t, "admin", rename(bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}), 361)
	m.ok(t, "admin", rename(target))
	if !m.uuid(t, "db", "target").Equal(source) {
		t.Error("the collection has another UUID after it was renamed")
	}
}

// uuid is that of a collection, as listCollections has it.
func (m *model) uuid(t *testing.T, db, coll string) bson.Binary {
	t.Helper()
	reply := m.ok(t, db, d("listCollections", 1, "filter", d("name", coll)))
	subtype, data, ok := reply.Lookup("cursor", "firstBatch", "0", "info", "uuid").BinaryOK()
	if !ok {
		t.Fatalf("listCollections of %s.%s: %s", db, coll, reply)
	}
	return bson.Binary{Subtype: subtype, Data: data}
}
