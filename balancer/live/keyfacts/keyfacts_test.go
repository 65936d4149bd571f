package keyfacts_test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live/keyfacts"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

var (
	variations = flag.Int("advise.variations", 0, "how often each kind of collection is made with other sizes and shares")
	firstSeed  = flag.Uint64("advise.seed", 7, "of the first one")
)

// world is a mock cluster with one collection in it.
type world struct {
	testing.TB
	cluster *mock.Cluster
	client  *mongo.Client
}

func (w world) run(db string, command bson.D) {
	w.Helper()
	if err := w.client.Database(db).RunCommand(w.Context(), command).Err(); err != nil {
		w.Fatalf("%v: %v", command[0], err)
	}
}

// ns is where the collection of a kind is.
func (c made) ns() string {
	if c.name == "GridFS" {
		return "app.fs.chunks"
	}
	return "app.data"
}

// make makes the collection, and asks its queries where the cluster samples them.
func (c made) make(t testing.TB, m *maker, release catalog.Release) world {
	t.Helper()
	var shards []string
	for i := range m.shards {
		zones := ""
		if i < len(c.zones) {
			zones = fmt.Sprintf(`, "zones": [%q]`, c.zones[i])
		}
		shards = append(shards, fmt.Sprintf(`{"id": "s%d"%s}`, i, zones))
	}
	cluster, client := mocktest.New(t, `{"shards": [`+strings.Join(shards, ",")+`]}`,
		mock.Config{Release: release, Start: began, Seed: m.Uint64()})
	w := world{t, cluster, client}
	var docs []bson.D
	for i := range m.docs {
		docs = append(docs, c.doc(m, i))
	}
	_, name, _ := strings.Cut(c.ns(), ".")
	w.run("app", d("insert", name, "documents", docs))
	for i, key := range append(slices.Clone(c.indexes), c.unique...) {
		w.run("app", d("createIndexes", name, "indexes", bson.A{
			d("key", key, "name", fmt.Sprint("i", i), "unique", i >= len(c.indexes))}))
	}
	for _, zone := range c.zones {
		w.run("admin", d("updateZoneKeyRange", c.ns(), "min", d("country", zone), "max", d("country", zone+"~"), "zone",
			zone))
	}
	if !release.FCVAtLeast(catalog.Release70) {
		return w
	}
	w.run("admin", d("configureQueryAnalyzer", c.ns(), "mode", "full", "samplesPerSecond", 50))
	for range 60 {
		if err := cluster.Clock().Sleep(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		w.run("app", d("find", name, "filter", c.query(m, docs), "limit", 1))
	}
	return w
}

// From 9.0 on lists of indexes name the simple collation: such an index is a whole one.
func TestSimpleCollationIsNoDifference(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release83, catalog.Release90} {
		_, client := mocktest.New(t, "", mock.Config{Release: release, Start: began})
		w := world{TB: t, client: client}
		w.run("app", d("insert", "data", "documents", bson.A{d("_id", 1, "a", 1)}))
		w.run("app", d("createIndexes", "data", "indexes", bson.A{
			d("key", d("a", 1), "name", "a"), d("key", d("b", 1), "name", "b", "sparse", true)}))
		facts, err := keyfacts.ReadFacts(t.Context(), client, "app.data", keyfacts.Options{SampleDocs: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range facts.Indexes {
			if x.CannotServeKey != (x.Name == "b") {
				t.Errorf("%s: index %s is partial: %v", release, x.Name, x.CannotServeKey)
			}
		}
		if len(facts.Indexes) != 3 {
			t.Errorf("%s: %d indexes", release, len(facts.Indexes))
		}
	}
}

// TestRightKeyFirst: of collections whose right key is known it ranks first, by a
// sample and by what the server measures.
func TestRightKeyFirst(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, release := range []catalog.Release{catalog.Release50, catalog.Release80, catalog.Release90} {
		for _, c := range collections() {
			for n := range 1 + *variations {
				docs := 600
				if n > 0 {
					docs = []int{400, 900, 1500, 3000, 12_000}[n%5]
				}
				sample := docs / (1 + n%3) // all of them, or some
				t.Run(fmt.Sprintf("%s/%s/%d", release, c.name, n), func(t *testing.T) {
					c.check(t, newMaker(*firstSeed+uint64(n), docs), release, keyfacts.Options{SampleDocs: sample})
				})
			}
		}
	}
}

func (c made) check(t *testing.T, m *maker, release catalog.Release, o keyfacts.Options) {
	w := c.make(t, m, release)
	a, err := keyfacts.Advise(t.Context(), w.client, c.ns(), o)
	if err != nil {
		t.Fatal(err)
	}
	known := "queries guessed from the indexes"
	if release.FCVAtLeast(catalog.Release70) {
		known = "queries that the cluster sampled"
	}
	if !strings.Contains(strings.Join(a.Basis, "\n"), known) || len(a.Notes) > 0 && strings.Contains(a.Notes[0], "could "+
		"not be read") {
		t.Errorf("basis %q, notes %q", a.Basis, a.Notes)
	}
	if a.Best == nil || !slices.Contains(c.right, a.Best.Key.String()) {
		t.Errorf("%d documents on %d shards: %s", m.docs, m.shards, a.Verdict)
		for _, one := range a.Candidates {
			t.Logf("%s %.1f %s\n\t%s", one.Key, one.Score, one.Grade, strings.Join(one.Reasons, "\n\t"))
		}
		t.Log(a.Basis, a.Notes)
	}
}

// refusing refuses what a part of a command's text tells.
type refusing struct {
	wire.Handler
	parts []string
	asked int // of what was refused
}

func (h *refusing) Handle(ctx context.Context, r wire.Request) bson.Raw {
	for _, part := range h.parts {
		if strings.Contains(r.Body.String(), part) {
			h.asked++
			reply, _ := bson.Marshal(d("ok", 0.0, "code", 13, "codeName", "Unauthorized", "errmsg", "not authorized to "+part))
			return reply
		}
	}
	return h.Handler.Handle(ctx, r)
}

// Who may read and no more gets advice all the same, and is told what is missing; the
// server that refuses is not asked again for each key.
func TestRefusals(t *testing.T) {
	c := collections()[3]
	w := c.make(t, newMaker(1, 200), catalog.Release80)
	h := &refusing{Handler: router.New(w.cluster, nil), parts: []string{"analyzeShardKey", "$indexStats",
		"$listSampledQueries"}}
	a, err := keyfacts.Advise(t.Context(), mocktest.Connect(t, h), c.ns(), keyfacts.Options{})
	if err != nil || !slices.Contains(c.right, a.Best.Key.String()) || h.asked != 3 {
		t.Errorf("%v, %s, %d refused", err, a.Verdict, h.asked)
	}
	notes := strings.Join(a.Notes, "\n")
	for _, part := range h.parts {
		if !strings.Contains(notes, "not authorized to "+part) {
			t.Errorf("no word of %s in %q", part, notes)
		}
	}
	h.parts = []string{`"$sample"`, `"$natural"`}
	if _, err := keyfacts.Advise(t.Context(), mocktest.Connect(t, h), c.ns(), keyfacts.Options{}); err == nil ||
		!strings.Contains(err.Error(), "reading a sample of the documents of app.data") {
		t.Errorf("without documents: %v", err)
	}
}

// Bounds hold: of documents, of bytes; and every command of the collection has a time.
func TestBounds(t *testing.T) {
	c := collections()[0] // its _id are not ObjectIds
	w := c.make(t, newMaker(1, 2000), catalog.Release50)
	h := &noting{Handler: router.New(w.cluster, nil)}
	client := mocktest.Connect(t, h)
	for _, o := range []keyfacts.Options{{SampleDocs: 300}, {SampleBytes: 20_000}} {
		h.bodies = nil
		f, err := keyfacts.ReadFacts(t.Context(), client, c.ns(), o)
		size := 0
		for _, doc := range f.Sample.Docs {
			size += len(doc)
		}
		if n := len(f.Sample.Docs); err != nil || n < 50 || o.SampleDocs > 0 && n > o.SampleDocs ||
			o.SampleBytes > 0 && int64(size) > o.SampleBytes || len(f.Sample.Arrival) > n {
			t.Errorf("%v: %d documents, %d bytes, %d in order", err, n, size, len(f.Sample.Arrival))
		}
		for _, body := range h.bodies {
			_, timed := body.LookupErr("maxTimeMS")
			name := body.Index(0)
			if timed != nil && name.Value().Type == bson.TypeString && name.Value().StringValue() == "data" &&
				name.Key() != "listIndexes" {
				t.Errorf("without a time: %s", body)
			}
		}
	}
}

type noting struct {
	wire.Handler
	bodies []bson.Raw
}

func (n *noting) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if r.Command == "find" || r.Command == "aggregate" {
		n.bodies = append(n.bodies, bytes.Clone(r.Body))
	}
	return n.Handler.Handle(ctx, r)
}

// Who has a time limit (--timeout) gets the same advice: no command has its limit twice,
// which servers refuse.
func TestAdviceWithinATime(t *testing.T) {
	c := collections()[3]
	w := c.make(t, newMaker(1, 200), catalog.Release80)
	ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
	defer cancel()
	a, err := keyfacts.Advise(ctx, w.client, c.ns(), keyfacts.Options{})
	if err != nil || a.Best == nil || !slices.Contains(c.right, a.Best.Key.String()) {
		t.Errorf("%v, %s", err, a.Verdict)
	}
}
