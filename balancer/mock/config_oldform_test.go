package mock_test

import (
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

const oldFormTopology = `{"shards":[{"id":"a","zones":["Z"]},{"id":"b"}],
  "settings":{"balancer":{"stopped":true}},
  "collections":[
    {"ns":"big.data","key":{"k":1},"chunks":[{"shard":"a","max":{"k":5}},{"shard":"b","max":{"k":9}},{"shard":"a"}],
     "zones":[{"zone":"Z","min":{"k":0},"max":{"k":5}}]},
    {"ns":"big.other","key":{"k":1},"chunks":[{"shard":"b"}]}]}`

// oldForm is what the documents of config have in a release.
type oldForm struct {
	release                                catalog.Release
	chunk, entry, database, version, shard string
	chunkID, tagID                         bson.Type
	index                                  string
}

// rules/03-catalog-and-keys §3.1 to §3.5; the form up to 4.4 is that of the manual's examples and of
// SERVER-52767 and SERVER-53255; names in place of ids up to 4.2, SERVER-42299.
func TestMetadataOfReleases(t *testing.T) {
	const chunk34 = "_id ns min max shard lastmod lastmodEpoch"
	const oldEntry = "_id lastmodEpoch lastmod dropped key unique uuid"
	const entry = "_id lastmodEpoch lastmod timestamp uuid key unique noBalance"
	const text, id, named = bson.TypeString, bson.TypeObjectID, bson.TypeEmbeddedDocument
	const since = "_id uuid min max shard lastmod onCurrentShardSince history"
	const timed, shard = "uuid timestamp lastMod", "_id host state topologyTime replSetConfigVersion tags"
	for _, tt := range []oldForm{
		{catalog.Release24, chunk34, oldEntry, "_id primary partitioned", "", "_id host tags", text, named, "ns_1_min_1"},
		{catalog.Release34, chunk34, oldEntry, "_id primary partitioned", "", "_id host state tags", text, named, "ns_1_min_1"},
		{catalog.Release42, chunk34 + " history", oldEntry, "_id primary partitioned version", "uuid lastMod",
			"_id host state tags", text, named, "ns_1_min_1"},
		{catalog.Release44, chunk34 + " history", oldEntry, "_id primary partitioned version", "uuid lastMod",
			"_id host state tags", id, id, "ns_1_min_1"},
		{catalog.Release50, "_id uuid min max shard lastmod history", entry, "_id primary partitioned version", timed,
			shard, id, id, "uuid_1_min_1"},
		{catalog.Release60, "_id uuid min max shard lastmod history", entry, "_id primary version", timed, shard, id, id,
			"uuid_1_min_1"},
		{catalog.Release80, since, entry, "_id primary version", timed, shard, id, id, "uuid_1_min_1"},
	} {
		t.Run(tt.release.String(), func(t *testing.T) {
			m := newCluster(t, oldFormTopology, mock.Config{Release: tt.release})
			tt.check(t, m)
		})
	}
}

func (o oldForm) check(t *testing.T, m *model) {
	first := func(collection string) bson.Raw {
		return m.first(t, "config", d("find", collection, "sort", d("_id", 1)))
	}
	// What has moved has a history, where chunks have one. All of it moves: nothing of it stays.
	m.ok(t, "admin", d("moveChunk", "big.other", "find", d("k", 1), "to", "a"))
	moved := m.first(t, "config", d("find", "chunks", "filter", d("lastmod", bson.Timestamp{T: 2})))
	checkFields(t, "a chunk", moved, o.chunk)
	if got := moved.Lookup("_id").Type; got != o.chunkID {
		t.Errorf("the _id of a chunk is a %s", got)
	}
	if name, named := moved.Lookup("_id").StringValueOK(); named && name != "big.other-k_MinKey" {
		t.Errorf("the chunk's name is %s", name)
	}
	checkFields(t, "an entry", first("collections"), o.entry)
	checkFields(t, "a database", first("databases"), o.database)
	if o.version != "" {
		checkFields(t, "its version", first("databases").Lookup("version").Document(), o.version)
	}
	checkFields(t, "a shard", first("shards"), o.shard)
	if got := first("tags").Lookup("_id").Type; got != o.tagID {
		t.Errorf("the _id of a zone range is a %s", got)
	}
	indexes := m.ok(t, "config", d("listIndexes", "chunks")).Lookup("cursor", "firstBatch")
	if got := indexes.Array().Index(1).Document().Lookup("name").StringValue(); got != o.index {
		t.Errorf("the index is %s", got)
	}
	if err := m.cluster.CheckInvariants(); err != nil {
		t.Error(err)
	}
}

// Scripts written for 4.4 and older ask for chunks by namespace (rules/03-helpers-examples-traps §8, trap 48).
func TestChunksByNamespace(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release34, catalog.Release42, catalog.Release44} {
		m := newCluster(t, oldFormTopology, mock.Config{Release: release})
		of := d("ns", "big.data")
		if n := len(m.all(t, "config", d("find", "chunks", "filter", of, "sort", d("min", 1)))); n != 3 {
			t.Errorf("%s: find has %d chunks", release, n)
		}
		for text, query := range map[string]bson.D{
			"of the collection": of, "on a shard": d("ns", "big.data", "shard", "a"), "by epoch": d("ns", "big.data",
				"lastmodEpoch", m.first(t, "config", d("find", "collections", "filter", d("_id", "big.data"))).Lookup("lastmodEpoch")),
			"by another's uuid": d("uuid", 5),
		} {
			want := map[string]int32{"of the collection": 3, "on a shard": 2, "by epoch": 3}[text]
			if n := m.ok(t, "config", d("count", "chunks", "query", query)).Lookup("n").AsInt64(); n != int64(want) {
				t.Errorf("%s: %d chunks %s, want %d", release, n, text, want)
			}
		}
		lookup := m.all(t, "config", d("aggregate", "collections", "cursor", d(), "pipeline", bson.A{
			d("$lookup", d("from", "chunks", "localField", "_id", "foreignField", "ns", "as", "chunks")),
			d("$project", d("n", d("$size", "$chunks"))), d("$sort", d("_id", 1)),
		}))
		groups := m.all(t, "config", d("aggregate", "chunks", "cursor", d(), "pipeline", bson.A{
			d("$group", d("_id", d("ns", "$ns", "shard", "$shard"), "n", d("$sum", 1))), d("$sort", d("_id", 1)),
		}))
		got := fmt.Sprint(lookup, groups)
		want := `[{"_id": "big.data","n": {"$numberInt":"3"}} {"_id": "big.other","n": {"$numberInt":"1"}}] ` +
			`[{"_id": {"ns": "big.data","shard": "a"},"n": {"$numberInt":"2"}} ` +
			`{"_id": {"ns": "big.data","shard": "b"},"n": {"$numberInt":"1"}} ` +
			`{"_id": {"ns": "big.other","shard": "b"},"n": {"$numberInt":"1"}}]`
		if got != want {
			t.Errorf("%s: %s\nwant %s", release, got, want)
		}
		configWriter(t, m, of)
	}
}

// configWriter flags a chunk and takes the flag away, as administrators do, and can't
// change whose it is.
func configWriter(t *testing.T, m *model, of bson.D) {
	t.Helper()
	update := func(change bson.D) bson.D {
		return d("update", "chunks", "updates", bson.A{d("q", append(of, d("min.k", 5)...), "u", change)})
	}
	m.ok(t, "config", update(d("$set", d("jumbo", true))))
	if n := m.ok(t, "config", d("count", "chunks", "query", d("ns", "big.data", "jumbo", true))).Lookup("n").AsInt64(); n != 1 {
		t.Errorf("%d flagged chunks", n)
	}
	m.ok(t, "config", update(d("$unset", d("jumbo", ""))))
	for _, change := range []bson.D{d("ns", "big.x"), d("uuid", 5), d("lastmodEpoch", bson.ObjectID{5})} {
		reply, _ := m.run("config", update(d("$set", change)))
		if code, _ := reply.Lookup("writeErrors", "0", "code").AsInt64OK(); code != 20 && change[0].Key != "uuid" {
			t.Errorf("%v: %s", change, reply)
		}
	}
	if n := m.ok(t, "config", d("count", "chunks", "query", of)).Lookup("n").AsInt64(); n != 3 {
		t.Errorf("%d chunks are left", n)
	}
}

// Up to 4.4 the entry of a dropped collection stays, without its key, until another
// one has its name: as a cluster of 4.2 showed it.
func TestDroppedCollectionsStayInTheCatalog(t *testing.T) {
	for release, want := range map[catalog.Release]string{
		catalog.Release42: "_id lastmodEpoch lastmod dropped", catalog.Release44: "_id lastmodEpoch lastmod dropped",
		catalog.Release50: "",
	} {
		m := newCluster(t, oldFormTopology, mock.Config{Release: release})
		entry := func() bson.Raw {
			return m.first(t, "config", d("find", "collections", "filter", d("_id", "big.other")))
		}
		m.ok(t, "big", d("drop", "other"))
		switch gone := entry(); {
		case want == "" && gone != nil:
			t.Errorf("%s: %s is left", release, gone)
		case want != "":
			checkFields(t, release.String(), gone, want)
			if !gone.Lookup("dropped").Boolean() || !gone.Lookup("lastmodEpoch").ObjectID().IsZero() {
				t.Errorf("%s: %s", release, gone)
			}
		}
		m.sleep(time.Minute) // the balancer looks past it
		names := m.ok(t, "big", d("listCollections", 1)).Lookup("cursor", "firstBatch").Array()
		if values, _ := names.Values(); len(values) != 1 {
			t.Errorf("%s: collections %s", release, names)
		}
		m.refused(t, "admin", d("split", "big.other", "middle", d("k", 5)), 118)
		m.ok(t, "admin", d("shardCollection", "big.other", "key", d("k", 1)))
		if again := entry(); again.Lookup("key").IsZero() {
			t.Errorf("%s: sharded again it is %s", release, again)
		}
		m.ok(t, "big", d("dropDatabase", 1))
		if err := m.cluster.CheckInvariants(); err != nil {
			t.Error(err)
		}
	}
}

// rules/03-catalog-and-keys §3.2: up to 5.x a database must be enabled before a collection is sharded.
func TestSharding50AsksForTheDatabase(t *testing.T) {
	for release, code := range map[catalog.Release]int64{catalog.Release44: 20, catalog.Release50: 20, catalog.Release60: 0} {
		m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}]}`, mock.Config{Release: release})
		m.ok(t, "new", d("insert", "c", "documents", bson.A{d("_id", 1)})) // makes the database
		shard := d("shardCollection", "new.c", "key", d("_id", 1))
		if code > 0 {
			m.refused(t, "admin", shard, code)
			m.refused(t, "admin", d("shardCollection", "newer.c", "key", d("_id", 1)), code)
			m.ok(t, "admin", d("enableSharding", "new"))
		}
		m.ok(t, "admin", shard)
	}
}

// A directory that another release goes on with has the form of that one then, as
// an upgrade would give it.
func TestDirectoryChangesItsForm(t *testing.T) {
	dir := t.TempDir()
	cfg := mock.Config{DBPath: dir, Release: catalog.Release44}
	m := newCluster(t, oldFormTopology, cfg)
	m.ok(t, "big", d("drop", "other"))
	for _, tt := range []struct {
		release catalog.Release
		entry   string
		entries int
		chunk   bson.D
	}{
		{catalog.Release50, "_id lastmodEpoch lastmod key unique uuid timestamp", 1, nil},
		{catalog.Release42, "_id lastmodEpoch lastmod key unique uuid dropped", 1, d("_id", "big.data-k_5", "ns", "big.data")},
	} {
		m.cluster.Close()
		c, err := mock.New(mock.Config{DBPath: dir, Release: tt.release})
		if err != nil {
			t.Fatal(err)
		}
		m = newModelOn(c)
		entries := m.all(t, "config", d("find", "collections", "filter", d("_id", d("$regex", "^big"))))
		if len(entries) != tt.entries {
			t.Fatalf("%s: entries %v", tt.release, entries)
		}
		checkFields(t, tt.release.String(), entries[0], tt.entry)
		query := tt.chunk
		if query == nil {
			query = d("uuid", entries[0].Lookup("uuid"), "min.k", 5)
		}
		if n := len(m.all(t, "config", d("find", "chunks", "filter", query))); n != 1 {
			t.Errorf("%s: %d chunks are %v", tt.release, n, query)
		}
		m.ok(t, "admin", d("shardCollection", "big.more", "key", d("k", 1)))
		m.ok(t, "big", d("drop", "more"))
		if err := m.cluster.CheckInvariants(); err != nil {
			t.Error(err)
		}
	}
	m.cluster.Close()
}
