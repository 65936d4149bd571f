package live_test

import (
	"bytes"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// variety is a cluster with something of everything.
const variety = `{
  "shards": [{"id": "a", "zones": ["EU"]}, {"id": "b", "zones": ["EU", "US"]}, {"id": "c"},
	{"id": "d", "draining": true}],
  "settings": {"chunkSizeMB": 64, "balancer": {"stopped": true, "activeWindow": {"start": "0:00", "stop": "23:59"}}},
  "databases": [{"name": "shop", "primary": "a"}, {"name": "empty", "primary": "b"}],
  "collections": [
    {"ns": "shop.orders", "key": {"region": 1, "id": 1}, "zones": [
       {"zone": "EU", "min": {"region": "A"}, "max": {"region": "M"}}],
     "chunks": [
       {"shard": "a", "max": {"region": "A", "id": {"$minKey": 1}}, "bytes": "1GB", "docs": 100000},
       {"shard": "b", "max": {"region": "D", "id": {"$oid": "507f1f77bcf86cd799439011"}}, "bytes": "3GB",
	"docs": 300000},
       {"shard": "c", "max": {"region": "M", "id": {"$minKey": 1}}, "bytes": "1GB", "docs": 90000, "jumbo": true},
       {"shard": "d", "bytes": "2GB", "docs": 70000}]},
    {"ns": "shop.hashed", "key": {"k": "hashed"}, "chunkSizeMB": 128, "chunks": [
       {"shard": "a", "max": {"k": {"$numberLong": "-4611686018427387902"}}, "bytes": "50MB", "docs": 1000},
       {"shard": "b", "max": {"k": {"$numberLong": "0"}}, "bytes": "60MB", "docs": 1000},
       {"shard": "c", "max": {"k": {"$numberLong": "4611686018427387902"}}, "bytes": "40MB", "docs": 1000},
       {"shard": "a"}]},
    {"ns": "shop.mixed", "key": {"day": 1, "k": "hashed"}, "unique": false, "noBalance": true, "chunks": [
       {"shard": "b", "max": {"day": {"$date": "2024-01-01T00:00:00Z"}, "k": {"$numberLong": "5"}}}, {"shard": "c"}]}
  ]}`

// conformance is a mock in which things have happened, and a client of it.
type conformance struct {
	release catalog.Release
	cluster *mock.Cluster
	client  *mongo.Client
}

func newConformance(t *testing.T, r catalog.Release, wrap func(wire.Handler) wire.Handler) conformance {
	t.Helper()
	c := served(t, r, variety, wrap)
	c.happen(t)
	return c
}

// served is a mock in which nothing has happened yet.
func served(t *testing.T, r catalog.Release, cluster string, wrap func(wire.Handler) wire.Handler) conformance {
	t.Helper()
	topology, err := mock.ParseTopology([]byte(cluster))
	if err != nil {
		t.Fatal(err)
	}
	made, err := mock.New(mock.Config{Topology: topology, Release: r,
		Start: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(made.Close)
	return conformance{r, made, mocktest.Connect(t, wrap(router.New(made, nil)))}
}

func (c conformance) ok(t *testing.T, db string, command ...bson.E) bson.Raw {
	t.Helper()
	reply, err := c.client.Database(db).RunCommand(t.Context(), bson.D(command)).Raw()
	if err != nil {
		t.Fatalf("%v: %v", command, err)
	}
	return reply
}

func e(key string, value any) bson.E { return bson.E{Key: key, Value: value} }

// happen has chunks split, moved, merged and flagged, rounds run, and logs
// written.
func (c conformance) happen(t *testing.T) {
	t.Helper()
	c.ok(t, "admin", e("split", "shop.hashed"), e("middle", bson.D{e("k", int64(77))}))
	c.ok(t, "admin", e("moveChunk", "shop.hashed"), e("bounds", bson.A{
		bson.D{e("k", int64(77))}, bson.D{e("k", int64(4611686018427387902))}}), e("to", "b"))
	c.ok(t, "admin", e("moveChunk", "shop.mixed"), e("bounds", bson.A{
		bson.D{e("day", bson.MinKey{}), e("k", bson.MinKey{})}, bson.D{e("day", bson.DateTime(1704067200000)),
			e("k", int64(5))}}),
		e("to", "a"))
	for i := range 50 {
		c.ok(t, "shop", e("insert", "hashed"), e("documents", bson.A{bson.D{e("_id", i), e("k", i)}}))
	}
	c.ok(t, "admin", e("shardCollection", "shop.gone"), e("key", bson.D{e("k", 1)}))
	c.ok(t, "shop", e("drop", "gone")) // up to 4.4 its entry stays
	c.ok(t, "admin", e("balancerStart", 1))
	c.ok(t, "admin", e("mockAdvance", 1_800_000)) // orphans are gone
	c.ok(t, "shop", e("create", "plain"))
	if c.release.FCVAtLeast(catalog.Release80) {
		c.ok(t, "admin", e("moveCollection", "shop.plain"), e("toShard", "c"))
	}
	if c.release.Defragments() {
		c.ok(t, "admin", e("configureCollectionBalancing", "shop.hashed"), e("defragmentCollection", true))
		c.ok(t, "admin", e("mockAdvance", 5_000))
	}
	c.ok(t, "admin", e("balancerStop", 1))
}

// held is what the mock itself has: documents as they are stored, and tables.
func (c conformance) held(t *testing.T, got *catalog.Snapshot) {
	t.Helper()
	c.cluster.Lock()
	defer c.cluster.Unlock()
	config := got.Parts().Config
	for _, name := range []string{"settings", "shards", "databases", "tags", "version"} {
		i := 0
		for _, want := range c.cluster.ConfigDB().Collection(name).Scan() {
			if i >= len(config[name]) || !bytes.Equal(config[name][i], want) {
				t.Errorf("document %d of config.%s is not %s", i, name, want)
			}
			i++
		}
		if i == 0 || i != len(config[name]) {
			t.Errorf("config.%s has %d documents, want %d", name, len(config[name]), i)
		}
	}
	tracked := 0
	for _, raw := range c.cluster.ConfigDB().Collection("collections").Scan() {
		ns := raw.Lookup("_id").StringValue()
		if gone, _ := raw.Lookup("dropped").BooleanOK(); gone {
			continue
		}
		tracked++
		have, want := got.Collection(ns), c.cluster.ConfigDB().Table(ns)
		if have == nil || have.Table == nil {
			t.Errorf("%s is missing, or its chunks are", ns)
			continue
		}
		if have.Table.Len() != want.Len() || have.Table.Version().ChunkVersion != want.Version().ChunkVersion {
			t.Errorf("%s has %d chunks at %s, want %d at %s", ns, have.Table.Len(), have.Table.Version(), want.Len(),
				want.Version())
			continue
		}
		for i := range want.Len() {
			if a, b := fmt.Sprintf("%+v", have.Table.At(i)), fmt.Sprintf("%+v", c.shown(want.At(i))); a != b {
				t.Errorf("%s: chunk %d is %s, want %s", ns, i, a, b)
			}
		}
		c.measured(t, have)
	}
	if tracked == 0 || len(got.Collections()) != tracked {
		t.Errorf("%d collections, want %d", len(got.Collections()), tracked)
	}
}

// shown is a chunk as its release shows it: since when it is where it is says the
// history, before 7.0.
func (c conformance) shown(chunk catalog.Chunk) catalog.Chunk {
	if c.release.FCVAtLeast(catalog.Release70) {
		return chunk
	}
	if len(chunk.History) == 0 {
		chunk.History = []catalog.ChunkHistory{{ValidAfter: chunk.OnCurrentShardSince, Shard: chunk.Shard}}
	}
	chunk.OnCurrentShardSince = bson.Timestamp{}
	return chunk
}

// measured wants the sizes of a collection to be those that its shards count.
func (c conformance) measured(t *testing.T, have *catalog.CollectionState) {
	t.Helper()
	told := 0
	counted := map[catalog.ShardID]bool{}
	for _, on := range c.cluster.Statistics().CollectionWithOrphans(have.Namespace) {
		data, known := have.Sizes[on.Shard]
		if !known && have.Table.CountOn(on.Shard) == 0 {
			continue // $collStats asks the owners of chunks only
		}
		told++
		counted[on.Shard] = true
		average := int64(0)
		if on.Docs > 0 {
			average = on.Bytes / on.Docs
		}
		if data.Documents != on.Docs-on.Orphans || data.Orphans != on.Orphans || data.OrphanBytes != average*on.Orphans ||
			data.Bytes > on.Bytes || data.Bytes < average*data.Documents {
			t.Errorf("%s has %+v on %s, which counts %+v", have.Namespace, data, on.Shard, on)
		}
	}
	for id, data := range have.Sizes {
		switch {
		case counted[id]:
		case have.Table.CountOn(id) > 0 || data != (catalog.ShardData{}):
			t.Errorf("%s: %s has %+v, and nobody counted it", have.Namespace, id, data)
		default: // nothing is what a shard has that was not asked
			told++
		}
	}
	if told == 0 || told != len(have.Sizes) {
		t.Errorf("%s: sizes %v", have.Namespace, have.Sizes)
	}
	if !have.Unsplittable && told != 4 {
		t.Errorf("%s: sizes of %d shards", have.Namespace, told)
	}
}

// rendered wants the documents of config.chunks to be those that the chunks of
// the snapshot give, byte by byte.
func (c conformance) rendered(t *testing.T, got *catalog.Snapshot) {
	t.Helper()
	for _, coll := range got.Collections() {
		cursor, err := c.client.Database("config").Collection("chunks").Find(t.Context(), bson.D{coll.ChunkFilter()},
			options.Find().SetSort(bson.D{e("min", 1)}))
		if err != nil {
			t.Fatal(err)
		}
		var docs []bson.Raw
		if err := cursor.All(t.Context(), &docs); err != nil {
			t.Fatal(err)
		}
		if len(docs) != coll.Table.Len() {
			t.Errorf("%s has %d documents, want %d", coll.Namespace, len(docs), coll.Table.Len())
			continue
		}
		for i, want := range docs {
			have, err := bson.Marshal(coll.ChunkDoc(coll.Table.At(i)))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(have, want) {
				t.Errorf("%s: chunk %d is %s, want %s", coll.Namespace, i, bson.Raw(have), want)
			}
		}
	}
}

func (c conformance) read(t *testing.T, o live.ReaderOptions, old *catalog.Snapshot) *catalog.Snapshot {
	t.Helper()
	got, err := live.NewReader(c.client, o).ReadSince(t.Context(), old)
	if err != nil {
		t.Fatal(err)
	}
	for _, gap := range got.Parts().Source.Gaps {
		t.Errorf("gap: %+v", gap)
	}
	return got
}

// TestConformance holds the readers to each other: what is read of a cluster, at
// once or since an older reading, is what the mock itself has, chunk by chunk and
// byte by byte, and what a file gives back.
func TestConformance(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, release := range testedReleases() {
		t.Run(release.String(), func(t *testing.T) {
			c := newConformance(t, release, asItIs)
			o := live.ReaderOptions{Source: catalog.Source{Kind: catalog.SourceMock, Name: "mock"}, Parts: live.DefaultPartsAndStatus}
			first := c.read(t, o, nil)
			c.check(t, first)

			hashed := first.Collection("shop.hashed").Table
			c.ok(t, "admin", e("split", "shop.hashed"), e("middle", bson.D{e("k", int64(1234567))}))
			c.ok(t, "admin", e("moveChunk", "shop.hashed"), e("find", bson.D{e("k", 1)}), e("to", "c"))
			c.flag(t, "shop.mixed")
			second := c.read(t, o, first)
			c.check(t, second)
			sinceFile := c.read(t, o, c.filed(t, first))
			c.held(t, sinceFile)
			c.rendered(t, sinceFile)
			for _, d := range snaptest.Diff(second, c.read(t, o, nil)) {
				if !strings.HasPrefix(d, "Time ") && !strings.HasPrefix(d, "ClusterTime ") {
					t.Errorf("read since then: %s", d)
				}
			}
			if second.Collection("shop.hashed").Table == hashed ||
				second.Collection("shop.orders").Table != first.Collection("shop.orders").Table {
				t.Error("what changed was not read, or what did not change was")
			}
			c.unflag(t, "shop.mixed")
			c.rendered(t, c.read(t, o, second))
		})
	}
}

// TestMigrationsUnderWay: those of the balancer, as the mock itself has them.
func TestMigrationsUnderWay(t *testing.T) {
	for _, release := range testedReleases() {
		c := served(t, release, strings.Replace(variety, `"stopped": true, `, "", 1), asItIs)
		c.ok(t, "admin", e("mockAdvance", 100))
		got := c.read(t, live.ReaderOptions{}, nil).Parts()
		c.cluster.Lock()
		want := c.cluster.Migrations().List()
		c.cluster.Unlock()
		if len(want) == 0 || len(got.Migrations) != len(want) {
			t.Errorf("%s: migrations %+v, want %+v", release, got.Migrations, want)
			continue
		}
		for _, m := range want {
			i := slices.IndexFunc(got.Migrations, func(o catalog.ActiveMigration) bool { return o.From == m.From })
			if i < 0 {
				t.Errorf("%s: none from %s", release, m.From)
				continue
			}
			if o := got.Migrations[i]; o.Namespace != m.Namespace || o.To != m.To || o.Min.String() != m.Min.String() ||
				o.Since.Sub(m.Started).Abs() > time.Second {
				t.Errorf("%s: migration %+v, want %+v", release, o, m)
			}
		}
	}
}

func asItIs(h wire.Handler) wire.Handler { return h }

// filed is a snapshot that was written to a file and read again.
func (c conformance) filed(t *testing.T, s *catalog.Snapshot) *catalog.Snapshot {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cluster.snapshot")
	if err := snapfile.Save(path, s); err != nil {
		t.Fatal(err)
	}
	again, err := snapfile.Open(path, snapfile.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// check compares a snapshot with the mock and with a file.
func (c conformance) check(t *testing.T, got *catalog.Snapshot) {
	t.Helper()
	c.held(t, got)
	c.rendered(t, got)
	p := got.Parts()
	if p.Release != c.release && p.Release.Line() != c.release || p.Time.IsZero() ||
		p.ClusterID.IsZero() || p.Balancer.Mode != catalog.ModeOff || len(p.Routers) == 0 {
		t.Errorf("head %+v", p)
	}
	if len(p.Changes) == 0 || len(p.Actions) == 0 || p.Settings.MaxChunkSizeBytes != 64<<20 || p.Settings.Window == nil {
		t.Errorf("%d changes, %d actions, settings %+v", len(p.Changes), len(p.Actions), p.Settings)
	}
	orders := got.Collection("shop.orders")
	if orders.Zones.Len() != 1 || orders.Table.JumboCount("c") != 1 || orders.ReportedStatus == nil ||
		orders.Sizes["b"].Bytes == 0 {
		t.Errorf("shop.orders: zones %v, sizes %v, reported %+v", orders.Zones.Ranges(), orders.Sizes, orders.ReportedStatus)
	}
	if d, _ := got.Shard("d"); !d.Draining || (d.ReportedDrain != nil) != c.release.FCVAtLeast(catalog.Release83) {
		t.Errorf("shard d %+v", d)
	}
	if plain := got.Collection("shop.plain"); (plain != nil) != c.release.FCVAtLeast(catalog.Release80) || plain != nil &&
		(!plain.Unsplittable || plain.Sizes == nil) {
		t.Errorf("shop.plain %+v", plain)
	}

	again := c.filed(t, got)
	for _, d := range snaptest.Diff(again, got) {
		if !strings.HasPrefix(d, "Source ") {
			t.Errorf("file: %s", d)
		}
	}
	if s := again.Parts().Source; s.Kind != catalog.SourceFile ||
		s.Origin != (catalog.Origin{Kind: p.Source.Kind, Name: p.Source.Name}) {
		t.Errorf("source of the file %+v", s)
	}
}

// flag flags a chunk jumbo by hand, as no command does, and unflag takes all
// flags away; both leave the version.
func (c conformance) flag(t *testing.T, ns string) {
	t.Helper()
	c.setJumbo(t, ns, bson.D{e("$set", bson.D{e("jumbo", true)})})
}

func (c conformance) unflag(t *testing.T, ns string) {
	t.Helper()
	c.setJumbo(t, ns, bson.D{e("$unset", bson.D{e("jumbo", "")})})
}

func (c conformance) setJumbo(t *testing.T, ns string, change bson.D) {
	t.Helper()
	entry := c.ok(t, "config", e("find", "collections"), e("filter", bson.D{e("_id", ns)})).Lookup("cursor", "firstBatch",
		"0").Document()
	field, id := live.ChunkCollectionRef(entry)
	reply := c.ok(t, "config", e("update", "chunks"), e("updates", bson.A{
		bson.D{e("q", bson.D{e(field, id), e("min.k", bson.MinKey{})}), e("u", change)}}))
	if reply.Lookup("nModified").Int32() != 1 {
		t.Fatalf("no chunk was flagged: %s", reply)
	}
}
