package live_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/forecast"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/sim"
)

// meddler stands between a client and a mock.
type meddler struct {
	wire.Handler
	// instead answers in place of the mock, unless it gives nil; after is told of
	// what the mock has answered, and may answer something else.
	instead func(ctx context.Context, r wire.Request) bson.Raw
	after   func(r wire.Request, reply bson.Raw) bson.Raw
}

func (m *meddler) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if m.instead != nil {
		if reply := m.instead(ctx, r); reply != nil {
			return reply
		}
	}
	reply := m.Handler.Handle(ctx, r)
	if m.after != nil {
		return m.after(r, reply)
	}
	return reply
}

// meddled returns a mock with a meddler, which does nothing yet.
func meddled(t *testing.T, r catalog.Release) (conformance, *meddler) {
	t.Helper()
	var m *meddler
	c := newConformance(t, r, func(h wire.Handler) wire.Handler {
		m = &meddler{Handler: h}
		return m
	})
	return c, m
}

// what returns what a command is about: its name, what it names, and the first
// stage of an aggregation.
func what(r wire.Request) string {
	name := r.Command
	if of, ok := r.Body.Lookup(r.Command).StringValueOK(); ok {
		name += " " + of
	}
	if stages, ok := r.Body.Lookup("pipeline").ArrayOK(); ok {
		if values, err := stages.Values(); err == nil && len(values) > 0 {
			name += " " + values[0].Document().Index(0).Key()
		}
	}
	return name
}

func refusal(code int32) bson.Raw {
	raw, err := bson.Marshal(bson.D{e("ok", 0.0), e("errmsg", "not authorized"), e("code", code),
		e("codeName", "Unauthorized")})
	if err != nil {
		panic(err)
	}
	return raw
}

// Whatever a user may not read is a gap, and the rest is there.
func TestGaps(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for refused, want := range map[string]catalog.Gap{
		"aggregate version $limit":                   {What: "time"},
		"find settings":                              {What: "settings"},
		"find shards":                                {What: "shards"},
		"find databases":                             {What: "databases"},
		"find tags":                                  {What: "tags"},
		"find mongos":                                {What: "mongos"},
		"find version":                               {What: "version"},
		"find collections":                           {What: "collections"},
		"find changelog":                             {What: "changelog"},
		"find actionlog":                             {What: "actionlog"},
		"find reshardingOperations":                  {What: "reshardingOperations"},
		"balancerStatus":                             {What: "balancer"},
		"aggregate $currentOp":                       {What: "operations"},
		"aggregate $shardedDataDistribution":         {What: "sizes"},
		"aggregate plain $collStats":                 {What: "sizes", Namespace: "shop.plain"},
		"balancerCollectionStatus shop.hashed":       {What: "balance", Namespace: "shop.hashed"},
		"shardDrainingStatus d":                      {What: "draining", Shard: "d"},
		"find chunks":                                {What: "chunks", Namespace: "shop.mixed"},
		"aggregate shop.nothing $of the kind at all": {},
	} {
		t.Run(refused, func(t *testing.T) {
			c, m := meddled(t, catalog.Release83)
			m.instead = func(_ context.Context, r wire.Request) bson.Raw {
				if what(r) == refused {
					return refusal(13)
				}
				return nil
			}
			got, err := live.NewReader(c.client, live.ReaderOptions{Parts: live.DefaultPartsAndStatus}).Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			gaps := got.Parts().Source.Gaps
			found := want == catalog.Gap{}
			for _, gap := range gaps {
				found = found || isUnauthorized(gap) && gap.What == want.What && gap.Namespace == want.Namespace &&
					gap.Shard == want.Shard && gap.CodeName == "Unauthorized"
			}
			if !found || want == (catalog.Gap{}) && len(gaps) > 0 {
				t.Errorf("gaps %+v, want %+v", gaps, want)
			}
			if want.What != "shards" && len(got.Shards()) != 4 || want.What != "collections" && len(got.Collections()) < 4 {
				t.Errorf("%d shards and %d collections", len(got.Shards()), len(got.Collections()))
			}
		})
	}
}

// Settings that can't be read are the defaults of the release, not empty: a forecast
// without a chunk size never ends.
func TestSettingsThatCannotBeRead(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release60, catalog.Release83} {
		t.Run(release.String(), func(t *testing.T) {
			c, m := meddled(t, release)
			m.instead = func(_ context.Context, r wire.Request) bson.Raw {
				if what(r) == "find settings" {
					return refusal(13)
				}
				return nil
			}
			got, err := live.NewReader(c.client, live.ReaderOptions{Parts: live.DefaultPartsAndStatus}).Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if want := catalog.DefaultSettingsOf(got.Release()); got.Release().Line() != release || !reflect.DeepEqual(got.Settings(), want) {
				t.Errorf("settings %+v, want %+v", got.Settings(), want)
			}
			gaps := got.Parts().Source.Gaps
			if !slices.ContainsFunc(gaps, func(g catalog.Gap) bool { return g.What == "settings" && isUnauthorized(g) }) {
				t.Errorf("gaps %+v, want one of the settings", gaps)
			}
			began := time.Now()
			_, err = forecast.Make(got, forecast.Options{OnProgress: func(sim.Progress) error {
				if time.Since(began) > time.Minute {
					return errors.New("it does not end")
				}
				return nil
			}})
			if err != nil {
				t.Errorf("the forecast: %v", err)
			}
		})
	}
}

// Servers of 6.0 before 6.0.3 have no $shardedDataDistribution: collections are
// asked one by one.
func TestSizesOfEarlySix(t *testing.T) {
	c, m := meddled(t, catalog.Release60)
	want := c.read(t, live.ReaderOptions{}, nil)
	m.instead = func(_ context.Context, r wire.Request) bson.Raw {
		if what(r) == "aggregate $shardedDataDistribution" {
			return refusal(40324)
		}
		return nil
	}
	got := c.read(t, live.ReaderOptions{}, nil)
	for _, coll := range want.Collections() {
		for shard, data := range coll.Sizes {
			have := got.Collection(coll.Namespace).Sizes[shard]
			// The distribution reckons with a whole average; the sizes are exact.
			if have.Documents != data.Documents || have.Orphans != data.Orphans ||
				have.Bytes < data.Bytes || have.Bytes > data.Bytes+data.Documents+data.Orphans {
				t.Errorf("%s on %s: %+v, want %+v", coll.Namespace, shard, have, data)
			}
		}
	}
}

func TestReaderNeedsAMongos(t *testing.T) {
	client := mocktest.Connect(t, standalone{})
	if _, err := live.NewReader(client, live.ReaderOptions{}).Read(t.Context()); !errors.Is(err, live.ErrNotSharded) {
		t.Errorf("error %v, want %v", err, live.ErrNotSharded)
	}
}

// A reading ends with its context, wherever it is.
func TestReaderCancelled(t *testing.T) {
	c, m := meddled(t, catalog.Release80)
	type moment struct {
		at     string
		cancel context.CancelFunc
	}
	var next atomic.Pointer[moment] // what the driver asks on its own may come at any time
	m.instead = func(handling context.Context, r wire.Request) bson.Raw {
		if n := next.Load(); n != nil && what(r) == n.at && !r.Legacy && r.Body.Lookup("maxAwaitTimeMS").IsZero() &&
			!isHandshake(r) {
			n.cancel()
			<-handling.Done()
		}
		return nil
	}
	for _, at := range []string{
		"hello", "buildInfo", "find settings", "find collections", "find chunks", "aggregate $shardedDataDistribution",
		"balancerStatus", "aggregate $currentOp", "find changelog",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		next.Store(&moment{at, cancel})
		_, err := live.NewReader(c.client, live.ReaderOptions{}).Read(ctx)
		if _, typed := errors.AsType[*live.ReadError](err); !typed || !errors.Is(err, context.Canceled) {
			t.Errorf("at %s: %v", at, err)
		}
		cancel()
	}
}

// isHandshake reports whether a hello is the driver's own.
func isHandshake(r wire.Request) bool {
	return !r.Body.Lookup("client").IsZero() || !r.Body.Lookup("helloOk").IsZero() || r.Body.Lookup("lsid").IsZero()
}

// isScan reports whether a command reads all chunks of collections.
func isScan(r wire.Request) bool {
	return what(r) == "find chunks" &&
		(!r.Body.Lookup("sort", "min").IsZero() || !r.Body.Lookup("sort", "uuid").IsZero())
}

// What changes while it is read is read again.
func TestChangesMeanwhile(t *testing.T) {
	splitAt := func(k int64) []bson.E { return []bson.E{e("split", "shop.hashed"), e("middle", bson.D{e("k", k)})} }
	for name, change := range map[string]func(c conformance, n int){
		"a split": func(c conformance, n int) { c.try(t, "admin", splitAt(int64(1000+n))...) },
		"splits, moves and merges": func(c conformance, n int) {
			for i := range int64(4) {
				c.try(t, "admin", splitAt(10_000*int64(n+1)+i)...)
			}
			if n < 2 {
				c.try(t, "admin", e("moveRange", "shop.mixed"), e("min", bson.D{e("day", bson.MinKey{}), e("k", bson.MinKey{})}),
					e("toShard", []string{"c", "b"}[n]))
			}
			c.try(t, "admin", e("mergeChunks", "shop.hashed"), e("bounds", bson.A{
				bson.D{e("k", 10_000*int64(n+1))}, bson.D{e("k", 10_000*int64(n+1)+3)}}))
		},
		"another key": func(c conformance, n int) {
			if n == 0 {
				c.try(t, "admin", e("refineCollectionShardKey", "shop.mixed"),
					e("key", bson.D{e("day", 1), e("k", "hashed"), e("x", 1)}))
			}
		},
		"a drop": func(c conformance, _ int) { c.try(t, "shop", e("drop", "mixed")) },
		"another collection": func(c conformance, n int) {
			c.try(t, "admin", e("shardCollection", fmt.Sprintf("shop.new%d", n)), e("key", bson.D{e("k", 1)}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			c, m := meddled(t, catalog.Release80)
			c.ok(t, "shop", e("createIndexes", "mixed"), e("indexes", bson.A{
				bson.D{e("key", bson.D{e("day", 1), e("k", "hashed"), e("x", 1)}), e("name", "refined")}}))
			var changes, most = 0, 3
			m.after = func(r wire.Request, reply bson.Raw) bson.Raw {
				if isScan(r) && changes < most {
					changes++
					change(c, changes-1)
				}
				return reply
			}
			reader := live.ReaderOptions{Parallel: 1}
			first := c.read(t, reader, nil)
			most = changes // each command reads many collections
			c.held(t, first)
			c.rendered(t, first)
			if changes == 0 {
				t.Error("nothing has changed meanwhile")
			}
			most = changes + 3
			m.after = func(r wire.Request, reply bson.Raw) bson.Raw {
				if what(r) == "find chunks" && changes < most {
					changes++
					change(c, changes-1)
				}
				return reply
			}
			second := c.read(t, reader, first)
			most = changes
			c.held(t, second)
			c.rendered(t, second)
		})
	}
}

// A collection that never comes to rest is a gap, and its chunks are those of
// one moment.
func TestChangesWithoutEnd(t *testing.T) {
	c, m := meddled(t, catalog.Release80)
	at := int64(1000)
	m.after = func(r wire.Request, reply bson.Raw) bson.Raw {
		if what(r) == "find chunks" {
			at++
			c.try(t, "admin", e("split", "shop.hashed"), e("middle", bson.D{e("k", at)}))
		}
		return reply
	}
	got, err := live.NewReader(c.client, live.ReaderOptions{MaxTries: 3, Parallel: 1}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gaps := got.Parts().Source.Gaps
	if len(gaps) != 1 || gaps[0].What != "chunks" || gaps[0].Namespace != "shop.hashed" ||
		got.Collection("shop.hashed").Table == nil {
		t.Errorf("gaps %+v", gaps)
	}
}

// try is ok for what runs while a command is answered, which must end.
func (c conformance) try(t *testing.T, db string, command ...bson.E) {
	if err := c.client.Database(db).RunCommand(t.Context(), bson.D(command)).Err(); err != nil {
		t.Errorf("%v: %v", command, err)
	}
}

// Chunks that leave a gap are read again; when they always do, the collection
// has no table.
func TestChunksWithAGap(t *testing.T) {
	for _, times := range []int{2, 1000} {
		c, m := meddled(t, catalog.Release80)
		var left atomic.Int64 // collections are read at once
		left.Store(int64(times))
		m.after = func(r wire.Request, reply bson.Raw) bson.Raw {
			docs, _ := reply.Lookup("cursor", "firstBatch").ArrayOK()
			values, _ := docs.Values()
			if !isScan(r) || len(values) < 3 || left.Add(-1) < 0 {
				return reply
			}
			return answer(t, append(values[:1:1], values[2:]...))
		}
		got, err := live.NewReader(c.client, live.ReaderOptions{}).Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		gaps, broken := got.Parts().Source.Gaps, 0
		for _, coll := range got.Collections() {
			about := slices.ContainsFunc(gaps, func(g catalog.Gap) bool { return g.Namespace == coll.Namespace })
			if about != (coll.Table == nil) {
				t.Errorf("%s: table %v, gaps %+v", coll.Namespace, coll.Table != nil, gaps)
			}
			if about {
				broken++
			}
		}
		if broken > 0 != (times > 10) {
			t.Errorf("%d collections without a table, gaps %+v", broken, gaps)
		}
	}
}

// answer returns a reply with documents.
func answer[T any](t *testing.T, docs []T) bson.Raw {
	t.Helper()
	batch := bson.A{}
	for _, doc := range docs {
		batch = append(batch, doc)
	}
	raw, err := bson.Marshal(bson.D{e("ok", 1.0),
		e("cursor", bson.D{e("id", int64(0)), e("ns", "config.x"), e("firstBatch", batch)})})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// An older snapshot of another cluster, or of another release, is of no use, and
// does no harm.
func TestReadSinceAnotherCluster(t *testing.T) {
	c := newConformance(t, catalog.Release80, asItIs)
	want := c.read(t, live.ReaderOptions{}, nil)
	for name, old := range map[string]*catalog.Snapshot{
		"cluster": newConformance(t, catalog.Release80, asItIs).read(t, live.ReaderOptions{}, nil),
		"release": newConformance(t, catalog.Release60, asItIs).read(t, live.ReaderOptions{}, nil),
	} {
		got := c.read(t, live.ReaderOptions{}, old)
		for _, d := range snaptest.Diff(got, want) {
			if !strings.HasPrefix(d, "ClusterTime ") && !strings.HasPrefix(d, "Time ") {
				t.Errorf("another %s: %s", name, d)
			}
		}
	}
}

// Only the newest entries of long logs are read.
func TestLogEntries(t *testing.T) {
	c := newConformance(t, catalog.Release80, asItIs)
	first := c.read(t, live.ReaderOptions{}, nil)
	all := first.Parts().Changes
	got, err := live.NewReader(c.client, live.ReaderOptions{MaxLogEntries: 2}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := got.Parts()
	if len(p.Changes) != 2 || string(p.Changes[1].Raw) != string(all[len(all)-1].Raw) ||
		p.Changes[0].Time.After(p.Changes[1].Time) {
		t.Errorf("changes %+v", p.Changes)
	}
	if len(p.Source.Gaps) == 0 || p.Source.Gaps[len(p.Source.Gaps)-1].What != "changelog" {
		t.Errorf("gaps %+v", p.Source.Gaps)
	}
	// A shard whose clock is slow writes later what seems older.
	newest := p.Changes[1]
	late := doc(t, e("_id", "late"), e("time", newest.Time.Add(-time.Minute)), e("what", "split"),
		e("ns", newest.Namespace), e("details", bson.D{}))
	c.ok(t, "config", e("insert", "changelog"), e("documents", bson.A{late}))
	since := c.read(t, live.ReaderOptions{}, first).Parts().Changes
	ids := map[string]int{}
	for _, entry := range since {
		ids[entry.Raw.Lookup("_id").String()]++
	}
	if ids[late.Lookup("_id").String()] != 1 || len(since) != len(all)+1 || len(ids) != len(since) {
		t.Errorf("changes %v", ids)
	}
	// What is older than a day goes.
	c.ok(t, "admin", e("mockAdvance", (25*time.Hour).Milliseconds()))
	if left := c.read(t, live.ReaderOptions{}, got).Parts().Changes; len(left) != 0 {
		t.Errorf("%d changes of the day before", len(left))
	}
}

// A reader of one collection has nothing of the others; one without logs asks
// for none.
func TestReaderOfOneCollection(t *testing.T) {
	c, m := meddled(t, catalog.Release80)
	all := c.read(t, live.ReaderOptions{}, nil)
	m.instead = func(_ context.Context, r wire.Request) bson.Raw {
		name := what(r)
		limit, _ := r.Body.Lookup("limit").AsInt64OK() // it looks at the newest entries for the clock of the window
		if (name == "find changelog" || name == "find actionlog") && limit != 50 {
			t.Errorf("it asks for %s", name)
		}
		return nil
	}
	const ns = "shop.hashed"
	got := c.read(t, live.ReaderOptions{Parts: live.BalancerParts, Namespaces: []string{ns}}, nil)
	if len(got.Collections()) != 1 || len(all.Collections()) < 2 || got.Collection(ns) == nil {
		t.Fatalf("%d collections of %d", len(got.Collections()), len(all.Collections()))
	}
	want := all.Collection(ns)
	if have := got.Collection(ns); have.Table.Len() != want.Table.Len() || len(have.Sizes) != len(want.Sizes) ||
		have.Zones.Len() != want.Zones.Len() {
		t.Errorf("%+v, want %+v", have, want)
	}
	if p := got.Parts(); len(p.Changes)+len(p.Actions) > 0 || len(all.Parts().Changes) == 0 {
		t.Errorf("%d and %d log entries of %d", len(p.Changes), len(p.Actions), len(all.Parts().Changes))
	}
}
