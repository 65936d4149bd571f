package mock_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What each command that makes, changes or drops a collection or a database
// leaves behind: the zones there are, what the history of placements and the
// change log have got, the indexes of what it was about.
//
// Before: db.c sharded by a on shard0 (to 40), shard1 (to 80) and shard2 with a
// zone range, db.plain on shard0, db.tracked unsharded on shard1, and zone ranges
// of db.future and more.future, which are not collections; database more on shard0.
func TestWhatCommandsLeaveBehind(t *testing.T) {
	zonesBefore := []string{"db.c", "db.future", "more.future"}
	for _, tt := range []struct {
		name      string
		db        string
		command   bson.D
		code      int64
		zones     []string // nil: those before
		placement []string
		log       []string
		indexes   string // of the collection after the equals sign
	}{
		{name: "drop a sharded one", db: "db", command: d("drop", "c"), zones: []string{"db.future", "more.future"},
			placement: []string{"db.c []"}, log: []string{"dropCollection.start db.c", "dropCollection db.c"}},
		{name: "drop an unsharded one", db: "db", command: d("drop", "plain"),
			log: []string{"dropCollection.start db.plain", "dropCollection db.plain"}},
		{name: "drop a tracked one", db: "db", command: d("drop", "tracked"), placement: []string{"db.tracked []"},
			log: []string{"dropCollection.start db.tracked", "dropCollection db.tracked"}},
		{name: "drop what is not there", db: "db", command: d("drop", "future"), zones: []string{"db.c", "more.future"}},
		{name: "drop a database", db: "db", command: d("dropDatabase", 1), zones: []string{"more.future"},
			placement: []string{"db.c []", "db.tracked []", "db []"},
			log:       []string{"dropDatabase.start db", "dropDatabase db"}},
		{name: "drop a database without collections", db: "more", command: d("dropDatabase", 1),
			zones: []string{"db.c", "db.future"}, placement: []string{"more []"},
			log: []string{"dropDatabase.start more", "dropDatabase more"}},

		{name: "rename a sharded one", db: "admin", command: d("renameCollection", ns, "to", "db.new"),
			zones:     []string{"db.future", "db.new", "more.future"},
			placement: []string{"db.c []", "db.new [shard0 shard1 shard2]"},
			log:       []string{"renameCollection.start db.c", "renameCollection.metadata db.c", "renameCollection.end db.c"},
			indexes:   "new=_id_ a_1"},
		{name: "rename over a tracked one", db: "admin",
			command:   d("renameCollection", ns, "to", "db.tracked", "dropTarget", true),
			zones:     []string{"db.future", "db.tracked", "more.future"},
			placement: []string{"db.tracked []", "db.c []", "db.tracked [shard0 shard1 shard2]"},
			log:       []string{"renameCollection.start db.c", "renameCollection.metadata db.c", "renameCollection.end db.c"}},
		{name: "rename an untracked one over a tracked one", db: "admin",
			command:   d("renameCollection", "db.plain", "to", "db.tracked", "dropTarget", true),
			placement: []string{"db.tracked []"},
			log:       []string{"renameCollection.start db.plain", "renameCollection.end db.plain"}},
		{name: "rename over one with zones", db: "admin",
			command: d("renameCollection", "db.plain", "to", ns, "dropTarget", true),
			code:    125},
		{name: "rename to where zones are", db: "admin",
			command: d("renameCollection", "db.plain", "to", "db.future"), code: 125},
		{name: "rename a sharded one to where zones are", db: "admin", command: d("renameCollection", ns, "to", "db.future"),
			code: 125},

		{name: "shard", db: "admin", command: d("shardCollection", "db.plain", "key", d("_id", 1)),
			placement: []string{"db.plain [shard0]"},
			log:       []string{"shardCollection.start db.plain", "shardCollection.end db.plain"}, indexes: "plain=_id_"},
		{name: "shard uniquely", db: "admin", command: d("shardCollection", "db.new", "key", d("u", 1), "unique", true),
			placement: []string{"db.new [shard0]"}, log: []string{"shardCollection.start db.new", "shardCollection.end db.new"},
			indexes: "new=_id_ u_1"},
		{name: "refine", db: "admin", command: d("refineCollectionShardKey", ns, "key", d("a", 1, "b", 1)), code: 72},
		{name: "unshard", db: "admin", command: d("unshardCollection", ns, "toShard", "shard1"),
			zones: []string{"db.future", "more.future"}, placement: []string{"db.c [shard1]"}, indexes: "c=_id_ a_1"},
		{name: "move a collection", db: "admin", command: d("moveCollection", "db.tracked", "toShard", "shard2"),
			placement: []string{"db.tracked [shard2]"}},
		{name: "untrack", db: "admin", command: d("untrackUnshardedCollection", "db.tracked"), code: 96},
		{name: "move the primary", db: "admin", command: d("movePrimary", "db", "to", "shard2"),
			placement: []string{"db [shard2]"},
			log:       []string{"movePrimary.start db", "movePrimary.commit db", "movePrimary.end db"}},
		{name: "a new database", db: "admin", command: d("enableSharding", "new", "primaryShard", "shard1"),
			placement: []string{"new [shard1]"}, log: []string{"createDatabase.start new", "createDatabase new"}},
		{name: "a new collection", db: "db", command: d("create", "new"), indexes: "new=_id_"},
		{name: "a new index", db: "db", command: d("createIndexes", "c", "indexes", bson.A{d("key", d("b", 1),
			"name", "b_1")}),
			indexes: "c=_id_ a_1 b_1"},
		{name: "no index", db: "db", command: d("dropIndexes", "c", "index", "*"), indexes: "c=_id_ a_1"},
		{name: "another validator", db: "db", command: d("collMod", "c", "validationLevel", "off"), indexes: "c=_id_ a_1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := orders(t)
			m.ok(t, "admin", d("balancerStop", 1))
			m.ok(t, "db", d("insert", "tracked", "documents", bson.A{d("_id", 1)}))
			m.ok(t, "admin", d("moveCollection", "db.tracked", "toShard", "shard1"))
			m.ok(t, "admin", d("enableSharding", "more", "primaryShard", "shard0"))
			m.ok(t, "admin", d("addShardToZone", "shard2", "zone", "Z"))
			for _, of := range zonesBefore {
				m.ok(t, "admin", d("updateZoneKeyRange", of, "min", d("a", 80), "max", d("a", bson.MaxKey{}), "zone", "Z"))
			}
			placement, log := len(m.placements(t)), len(m.changes(t))
			if tt.code != 0 {
				m.refused(t, tt.db, tt.command, tt.code)
			} else {
				m.ok(t, tt.db, tt.command)
			}
			zones := tt.zones
			if zones == nil {
				zones = zonesBefore
			}
			if got := m.texts(t, "tags", d("ns", 1), func(doc bson.Raw) string {
				return doc.Lookup("ns").StringValue()
			}); !slices.Equal(got, zones) {
				t.Errorf("zones of %v, want %v", got, zones)
			}
			if got := m.placements(t)[placement:]; !slices.Equal(got, tt.placement) {
				t.Errorf("placements %q, want %q", got, tt.placement)
			}
			isResharding := func(what string) bool { return strings.HasPrefix(what, "resharding.") }
			got := slices.DeleteFunc(m.changes(t)[log:], isResharding)
			if !slices.Equal(got, tt.log) {
				t.Errorf("change log %q, want %q", got, tt.log)
			}
			if coll, want, some := strings.Cut(tt.indexes, "="); some {
				if got := m.indexNames(t, coll); got != want {
					t.Errorf("indexes %q, want %q", got, want)
				}
			}
			m.holds(t)
		})
	}
}

// texts shows the documents of a collection of the catalog.
func (m *model) texts(t *testing.T, coll string, sort bson.D, show func(bson.Raw) string) []string {
	t.Helper()
	list, err := m.ok(t, "config", d("find", coll, "sort", sort, "batchSize", 10_000)).Lookup("cursor",
		"firstBatch").Array().Values()
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{}
	for _, doc := range list {
		texts = append(texts, show(doc.Document()))
	}
	return texts
}

func (m *model) placements(t *testing.T) []string {
	return m.texts(t, "placementHistory", d("timestamp", 1), func(doc bson.Raw) string {
		shards, _ := doc.Lookup("shards").Array().Values()
		names := make([]string, len(shards))
		for i, s := range shards {
			names[i] = s.StringValue()
		}
		return fmt.Sprintf("%s %v", doc.Lookup("nss").StringValue(), names)
	})
}

func (m *model) changes(t *testing.T) []string {
	return m.texts(t, "changelog", d("$natural", 1), func(doc bson.Raw) string {
		return doc.Lookup("what").StringValue() + " " + doc.Lookup("ns").StringValue()
	})
}

func (m *model) indexNames(t *testing.T, coll string) string {
	list, _ := m.ok(t, "db", d("listIndexes", coll)).Lookup("cursor", "firstBatch").Array().Values()
	names := make([]string, len(list))
	for i, index := range list {
		names[i] = index.Document().Lookup("name").StringValue()
	}
	return strings.Join(names, " ")
}

// holds demands that nothing is broken.
func (m *model) holds(t *testing.T) {
	t.Helper()
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if err := m.cluster.CheckInvariants(); err != nil {
		t.Error(err)
	}
	if found, err := m.cluster.Inconsistencies("", "", true); err != nil || len(found) > 0 {
		t.Errorf("inconsistent: %v %v", found, err)
	}
}
