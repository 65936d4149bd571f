package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live/documents"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/verify"
)

const verifyTopology = `{"shards": [{"id": "s0"}, {"id": "s1"}, {"id": "s2"}], "settings": {"balancer": {"mode": "off"}},
	"databases": [{"name": "db", "primary": "s0"}], "collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [
	{"shard": "s0", "docs": 0, "max": {"x": 100}}, {"shard": "s1", "docs": 0, "max": {"x": 200}}, {"shard": "s2", "docs": 0}]}]}`

// verified is a cluster with a collection whose documents can be counted on.
type verified struct {
	testing.TB
	mock   *mock.Cluster
	client *mongo.Client
	clock  interface {
		Now() time.Time
		Sleep(ctx context.Context, d time.Duration) error
	}
	dir    string
	r      *rand.Rand
	atNote func(text string) // when a run notes something; nil does nothing
}

const verifyDocuments = 400

func newVerified(t testing.TB, release catalog.Release, seed uint64) *verified {
	t.Helper()
	cluster, client := mocktest.New(t, verifyTopology, mock.Config{
		Release: release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: seed,
	})
	w := &verified{TB: t, mock: cluster, client: client, clock: cluster.Clock(), dir: t.TempDir(), r: rand.New(rand.NewPCG(seed, 3))}
	var docs []any
	for i := range verifyDocuments {
		docs = append(docs, bson.D{{Key: "_id", Value: idOf(i)}, {Key: "x", Value: i * 300 / verifyDocuments},
			{Key: "d", Value: w.r.Float64()}, {Key: "n", Value: int32(i)}, {Key: "s", Value: "text"}})
	}
	if _, err := w.coll().InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	return w
}

// idOf returns _ids of several types.
func idOf(i int) any {
	return []any{int64(i), fmt.Sprintf("s%04d", i), float64(i) + 0.25, bson.ObjectID{2: byte(i >> 8), 3: byte(i)}}[i%4]
}

func (v *verified) coll() *mongo.Collection { return v.client.Database("db").Collection("c") }

func (v *verified) path(name string) string { return filepath.Join(v.dir, name) }

func (v *verified) cluster() Cluster { return Cluster{Client: v.client, Clock: v.clock} }

func (v *verified) start() VerifyResult {
	v.Helper()
	result, err := Verify{Namespaces: []string{"db.c"}, Output: v.path("before")}.Run(v.Context(), v.cluster(), nil)
	if err != nil || result.Verdict != VerifyNotCompared || result.Collections[0].Docs != verifyDocuments {
		v.Fatalf("%v, %+v", err, result)
	}
	return result
}

func (v *verified) compare() (VerifyResult, []VerifyDifference) {
	v.Helper()
	result, err := Verify{BaselineFile: v.path("before"), DifferencesFile: v.path("differences"), MaxRereads: 1,
		RereadPause: time.Second}.Run(v.Context(), v.cluster(), nil)
	if err != nil {
		v.Fatal(err)
	}
	text, err := os.ReadFile(v.path("differences"))
	if err != nil {
		v.Fatal(err)
	}
	var list []VerifyDifference
	for line := range strings.Lines(string(text)) {
		var d VerifyDifference
		if err := json.Unmarshal([]byte(line), &d); err != nil {
			v.Fatal(err)
		}
		list = append(list, d)
	}
	return result, list
}

// forget has the writes so far be none that the digest knows of, as those of a fault are not.
func (v *verified) forget() {
	v.Helper()
	text, err := os.ReadFile(v.path("before"))
	if err != nil {
		v.Fatal(err)
	}
	f, _, err := verify.Parse(text)
	if err != nil {
		v.Fatal(err)
	}
	now, _, err := documents.ReadClusterTime(v.Context(), v.client)
	if err != nil {
		v.Fatal(err)
	}
	f.Collections[0].Since, f.Collections[0].Until = now, now
	if text, _, err = f.Marshal(); err != nil {
		v.Fatal(err)
	}
	if err := os.WriteFile(v.path("before"), text, 0o600); err != nil {
		v.Fatal(err)
	}
}

// move moves a third of the documents to another shard, whose deletions are done.
func (v *verified) move() {
	v.Helper()
	if err := v.clock.Sleep(v.Context(), time.Hour); err != nil {
		v.Fatal(err)
	}
	chunk := v.r.IntN(3)
	err := v.client.Database("admin").RunCommand(v.Context(), bson.D{
		{Key: "moveChunk", Value: "db.c"}, {Key: "find", Value: bson.D{{Key: "x", Value: chunk*100 + 50}}},
		{Key: "to", Value: fmt.Sprintf("s%d", v.r.IntN(3))},
	}).Err()
	if err != nil {
		v.Fatal(err)
	}
}

// update writes a document; a field of it comes out the same where it was.
func (v *verified) update(i int, change bson.D) {
	v.Helper()
	if _, err := v.coll().UpdateOne(v.Context(), bson.D{{Key: "_id", Value: idOf(i)}}, change); err != nil {
		v.Fatal(err)
	}
}

func set(name string, v any) bson.D {
	return bson.D{{Key: "$set", Value: bson.D{{Key: name, Value: v}}}}
}

type verifyFault struct {
	name string
	kind verify.DifferenceKind
	make func(w *verified, i int)
}

func verifyFaults() []verifyFault {
	return []verifyFault{
		{"lost", verify.Lost, func(w *verified, i int) {
			if _, err := w.coll().DeleteOne(w.Context(), bson.D{{Key: "_id", Value: idOf(i)}}); err != nil {
				w.Fatal(err)
			}
		}},
		{"doubled", verify.Doubled, func(w *verified, i int) { // on another shard
			x := i * 300 / verifyDocuments
			again := bson.D{{Key: "_id", Value: idOf(i)}, {Key: "x", Value: (x + 100) % 300}}
			if _, err := w.coll().InsertOne(w.Context(), again); err != nil {
				w.Fatal(err)
			}
		}},
		{"a byte", verify.Changed, func(w *verified, i int) { w.update(i, set("s", "texu")) }},
		{"an ulp", verify.Changed, func(w *verified, i int) {
			var doc struct{ D float64 }
			if err := w.coll().FindOne(w.Context(), bson.D{{Key: "_id", Value: idOf(i)}}).Decode(&doc); err != nil {
				w.Fatal(err)
			}
			w.update(i, set("d", math.Nextafter(doc.D, 2)))
		}},
		{"a type", verify.Changed, func(w *verified, i int) {
			w.update(i, bson.D{{Key: "$unset", Value: bson.D{{Key: "n", Value: 1}}}})
			w.update(i, set("n", int64(i)))
		}},
	}
}

// Whatever happens to one document shows, and it is named; moves and writes to others don't
// hide it.
func TestVerifyFindsFaults(t *testing.T) {
	times := 4
	if *full {
		times = 1000 / len(verifyFaults())
	}
	for _, fault := range verifyFaults() {
		for seed := range times {
			w := newVerified(t, releases()[seed%len(releases())], uint64(seed))
			w.start()
			fault.make(w, w.r.IntN(verifyDocuments))
			if fault.kind != verify.Doubled { // whose shards would not take it
				w.move()
			}
			w.forget()
			result, list := w.compare()
			if result.Verdict != string(verify.Different) || len(list) != 1 || len(list[0].Documents) != 1 ||
				list[0].Documents[0].Kind != fault.kind {
				t.Fatalf("%s, seed %d: %+v, %+v", fault.name, seed, result, list)
			}
		}
	}
}

// A loss among writes to other documents of the same range shows by their number.
func TestVerifyFindsLossAmongWrites(t *testing.T) {
	for seed := range 6 {
		w := newVerified(t, releases()[seed], uint64(seed))
		w.start()
		verifyFaults()[0].make(w, 41)
		w.forget()
		for i := range verifyDocuments {
			if i != 41 && i%9 == 0 {
				w.update(i, set("s", "written"))
			}
		}
		result, _ := w.compare()
		if notes := result.Collections[0].Notes; len(notes) > 0 {
			t.Fatal(notes)
		}
		if c := result.Collections[0]; result.Verdict != string(verify.Different) || c.Differing[verify.Different] != 1 ||
			c.Differing[verify.Written] == 0 || result.Unchanged() {
			t.Fatalf("%+v", result)
		}
	}
}

// Nothing is reported of a healthy collection, whatever moves and whoever writes meanwhile.
func TestVerifyRaisesNoFalseAlarm(t *testing.T) {
	times := 12
	if *full {
		times = 1000
	}
	for seed := range times {
		w := newVerified(t, releases()[seed%len(releases())], uint64(seed))
		w.start()
		writes := 0
		for range w.r.IntN(6) {
			w.move()
		}
		if seed%2 == 1 {
			for writes = range 1 + w.r.IntN(20) {
				w.update(w.r.IntN(verifyDocuments), set("s", "new"))
			}
		}
		result, list := w.compare()
		for _, d := range list {
			if d.Verdict == verify.Different {
				t.Fatalf("seed %d, %d writes: %+v", seed, writes, d)
			}
		}
		if notes := result.Collections[0].Notes; len(notes) > 0 {
			t.Fatal(notes)
		}
		if seed%2 == 0 && result.Verdict != string(verify.Same) {
			t.Fatalf("seed %d: %+v", seed, result)
		}
	}
}

// heavy adds documents of 4 MiB all in all.
func (v *verified) heavy() {
	v.Helper()
	docs := []any{}
	for i := range 64 {
		docs = append(docs, bson.D{{Key: "_id", Value: 1e6 + i}, {Key: "x", Value: i}, {Key: "t", Value: strings.Repeat("x", 64<<10)}})
	}
	if _, err := v.coll().InsertMany(v.Context(), docs); err != nil {
		v.Fatal(err)
	}
}

// A run that is stopped keeps its progress, and the next one comes to the same digest.
func TestVerifyGoesOn(t *testing.T) {
	w := newVerified(t, catalog.Release80, 5)
	w.heavy()
	whole, err := Verify{Namespaces: []string{"db.c"}}.Run(t.Context(), w.cluster(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Database("db").Collection("d").InsertOne(t.Context(), bson.D{{Key: "_id", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	o := Verify{Namespaces: []string{"db.c"}, Output: w.path("again")}
	result := w.stoppedThrice(o, func(result VerifyResult, _ int) {
		if result.ResumeFile != w.path("again.part") {
			t.Errorf("it can't go on: %+v", result)
		}
		other := Verify{Namespaces: []string{"db.d"}, Output: o.Output} // its digest would have half of db.c
		if _, err := other.Run(t.Context(), w.cluster(), nil); err == nil || !strings.Contains(err.Error(), "the progress of another run") {
			t.Errorf("another run goes on: %v", err)
		}
	})
	if result.ResumeFile != "" || rangesOf(t, result.DigestText) != rangesOf(t, whole.DigestText) {
		t.Errorf("%+v", result)
	}
	if _, err := os.Stat(w.path("again.part")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the progress stays:", err)
	}
}

// stoppedThrice has a run stop after its first step, three times, and calls left after each of them with
// how often it was stopped before. The fourth one comes to its end.
func (v *verified) stoppedThrice(o Verify, left func(result VerifyResult, stops int)) VerifyResult {
	v.Helper()
	stopped := errors.New("stopped")
	o.MaxBytesPerSecond = 1
	for stops := range 3 {
		ctx, cancel := context.WithCancelCause(v.Context())
		c := v.cluster()
		c.Clock = stopAfter{c.Clock, func() { cancel(stopped) }}
		result, err := o.Run(ctx, c, nil)
		cancel(nil)
		if !errors.Is(err, stopped) {
			v.Fatalf("%v, %+v", err, result)
		}
		left(result, stops)
	}
	o.MaxBytesPerSecond = 0
	result, err := o.Run(v.Context(), v.cluster(), nil)
	if err != nil {
		v.Fatal(err)
	}
	return result
}

// stopAfter stops a run once it waits.
type stopAfter struct {
	inner interface {
		Now() time.Time
		Sleep(ctx context.Context, d time.Duration) error
	}
	stop func()
}

func (s stopAfter) Now() time.Time { return s.inner.Now() }

func (s stopAfter) Sleep(ctx context.Context, _ time.Duration) error {
	s.stop()
	return ctx.Err()
}

// rangesOf returns all of a digest but its times.
func rangesOf(t *testing.T, text string) string {
	t.Helper()
	f, _, err := verify.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%+v", f.Collections[0].Digest)
}

func TestVerifyRefuses(t *testing.T) {
	w := newVerified(t, catalog.Release80, 1)
	w.start()
	before, err := os.ReadFile(w.path("before"))
	if err != nil {
		t.Fatal(err)
	}
	db := w.client.Database("db")
	if err := db.CreateView(t.Context(), "v", "c", mongo.Pipeline{}); err != nil {
		t.Fatal(err)
	}
	for reason, v := range map[string]Verify{
		"ns is missing":            {},
		"takes DB.COLLECTION":      {Namespaces: []string{"db"}},
		"twice":                    {Namespaces: []string{"db.c", "db.c"}},
		"differences needs":        {Namespaces: []string{"db.c"}, DifferencesFile: "x"},
		"is there already":         {Namespaces: []string{"db.c"}, Output: w.path("before")},
		"there is no directory":    {Namespaces: []string{"db.c"}, Output: w.path("no/such")},
		"has no db.other":          {Namespaces: []string{"db.other"}, BaselineFile: w.path("before")},
		"its checksum":             {BaselineDigest: strings.Replace(string(before), `"docs":`, `"docs":1`, 1)},
		"there is no collection":   {Namespaces: []string{"db.missing"}},
		"it is a view":             {Namespaces: []string{"db.v"}},
		"can't be negative":        {Namespaces: []string{"db.c"}, MaxBytesPerSecond: -1},
		"no such file":             {BaselineFile: w.path("missing")},
		"is the name of another f": {Namespaces: []string{"db.c"}, BaselineFile: "a", Output: "a"},
	} {
		if _, err := v.Run(t.Context(), w.cluster(), nil); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// A connection that breaks is made again, and nothing is counted twice; a limit ends the run
// at once, and another run goes on.
func TestVerifyGoesOnAfterFailures(t *testing.T) {
	w := newVerified(t, catalog.Release80, 3)
	whole := w.start()
	fail := func(times int, how ...bson.E) {
		t.Helper()
		command := append(bson.D{{Key: "mockFailNext", Value: "find"}, {Key: "times", Value: times}}, how...)
		if err := w.client.Database("admin").RunCommand(t.Context(), command).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, how := range []bson.E{{Key: "closeConnection", Value: true}, {Key: "code", Value: 91}, {Key: "code", Value: 43}} {
		fail(2, how)
		result, err := Verify{Namespaces: []string{"db.c"}}.Run(t.Context(), w.cluster(), nil)
		if err != nil || rangesOf(t, result.DigestText) != rangesOf(t, whole.DigestText) {
			t.Errorf("%v: %v", how, err)
		}
	}
	began := w.clock.Now()
	fail(1, bson.E{Key: "code", Value: 13})
	if _, err := (Verify{Namespaces: []string{"db.c"}}).Run(t.Context(), w.cluster(), nil); err == nil {
		t.Error("what nobody may read is read")
	}
	w.heavy()
	o := Verify{Namespaces: []string{"db.c"}, Output: w.path("limited"), MaxDuration: time.Nanosecond}
	result, err := o.Run(t.Context(), late{w.clock}.of(w.cluster()), nil)
	if err != nil || result.Stopped == "" || result.ResumeFile != w.path("limited.part") {
		t.Errorf("%v, %+v", err, result)
	}
	if took := w.clock.Now().Sub(began); took > time.Second {
		t.Errorf("it waited for %v", took)
	}
	o.MaxDuration = 0
	if result, err = o.Run(t.Context(), w.cluster(), nil); err != nil || result.Collections[0].Docs != verifyDocuments+64 {
		t.Errorf("%v, %+v", err, result)
	}
}

// late is a clock that goes on with each look.
type late struct {
	inner interface {
		Now() time.Time
		Sleep(ctx context.Context, d time.Duration) error
	}
}

func (l late) of(c Cluster) Cluster {
	n := 0
	c.Clock = ticking{l.inner.Sleep, func() time.Time { n++; return l.inner.Now().Add(time.Duration(n)) }}
	return c
}

type ticking struct {
	sleep func(ctx context.Context, d time.Duration) error
	now   func() time.Time
}

func (t ticking) Now() time.Time                                   { return t.now() }
func (t ticking) Sleep(ctx context.Context, d time.Duration) error { return t.sleep(ctx, d) }

// A read is as slow as it was asked to be.
func TestVerifyKeepsRate(t *testing.T) {
	w := newVerified(t, catalog.Release80, 2)
	w.heavy()
	began := w.clock.Now()
	result, err := Verify{Namespaces: []string{"db.c"}, MaxBytesPerSecond: 1 << 20}.Run(t.Context(), w.cluster(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if took := w.clock.Now().Sub(began); took < 3500*time.Millisecond || took > 6*time.Second {
		t.Errorf("%d bytes took %v", result.Collections[0].Bytes, took)
	}
}

// busy writes while a run waits.
type busy struct {
	stopAfter
	work func()
}

func (b busy) Sleep(ctx context.Context, d time.Duration) error {
	b.work()
	return b.inner.Sleep(ctx, d)
}

// Writers that are at work while the digest is made, and while it is compared, are not losses;
// a loss beside them is one.
func TestVerifyAmongWriters(t *testing.T) {
	t.Parallel()
	seeds := 20
	if testing.Short() {
		seeds = 4
	}
	for seed := range seeds {
		w := newVerified(t, releases()[seed%len(releases())], uint64(seed))
		w.heavy()
		next := 0
		work := func() { // inserts, deletes what it has inserted, updates
			next++
			doc := bson.D{{Key: "_id", Value: fmt.Sprintf("s%04d-%d", w.r.IntN(verifyDocuments), next)}, {Key: "x", Value: w.r.IntN(300)}}
			if _, err := w.coll().InsertOne(t.Context(), doc); err != nil {
				t.Fatal(err)
			}
			if next%3 == 0 {
				if _, err := w.coll().DeleteOne(t.Context(), doc[:1]); err != nil {
					t.Fatal(err)
				}
			}
			w.update(w.r.IntN(verifyDocuments/2)*2, bson.D{{Key: "$inc", Value: bson.D{{Key: "w", Value: 1}}}})
		}
		c := w.cluster()
		c.Clock = busy{stopAfter{inner: w.clock}, work}
		o := Verify{Namespaces: []string{"db.c"}, Output: w.path("before"), MaxBytesPerSecond: 4 << 20}
		if _, err := o.Run(t.Context(), c, nil); err != nil {
			t.Fatal(err)
		}
		lost := seed%2 == 1
		if lost { // of those that nobody updates, and no change stream shows
			w.lose(2*w.r.IntN(verifyDocuments/2) + 1)
		}
		o.BaselineFile, o.Output, o.MaxRereads, o.RereadPause = w.path("before"), "", 2, time.Second
		result, err := o.Run(t.Context(), c, nil)
		if err != nil || len(result.Collections[0].Notes) > 0 {
			t.Fatal(err, result.Collections[0].Notes)
		}
		if got := result.Collections[0].Differing[verify.Different]; !lost && got != 0 {
			t.Errorf("seed %d: a false alarm: %+v", seed, result.Collections[0].Differences)
		}
		if lost && result.Unchanged() {
			t.Errorf("seed %d: the loss is not seen: %+v", seed, result)
		}
	}
}

// lose takes a document away in a way that no change stream shows: a digest of before has it
// besides.
func (v *verified) lose(i int) {
	v.Helper()
	text, err := os.ReadFile(v.path("before"))
	if err != nil {
		v.Fatal(err)
	}
	f, _, err := verify.Parse(text)
	if err != nil {
		v.Fatal(err)
	}
	more := verify.NewScanLike(f.Collections[0].Digest)
	doc, err := bson.Marshal(bson.D{{Key: "_id", Value: idOf(i)}, {Key: "lost", Value: true}})
	if err != nil {
		v.Fatal(err)
	}
	if err := more.Put(doc); err != nil {
		v.Fatal(err)
	}
	for n, r := range more.Finish().Ranges {
		f.Collections[0].Ranges[n].Sum = f.Collections[0].Ranges[n].Plus(r.Sum)
	}
	if text, _, err = f.Marshal(); err != nil {
		v.Fatal(err)
	}
	if err := os.WriteFile(v.path("before"), text, 0o600); err != nil {
		v.Fatal(err)
	}
}

// BenchmarkVerify compares a digest with a cursor that reads the same documents, of 500 bytes
// each, in the order of _id and as they lie.
func BenchmarkVerify(b *testing.B) {
	const documents = 100_000
	w := newVerified(b, catalog.Release80, 1)
	for i := 0; i < documents; i += 1000 {
		var docs []any
		for n := range 1000 {
			docs = append(docs, bson.D{{Key: "_id", Value: int64(verifyDocuments + i + n)}, {Key: "x", Value: n % 300},
				{Key: "t", Value: strings.Repeat("x", 460)}})
		}
		if _, err := w.coll().InsertMany(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("plain", scanning(w.coll(), false))
	b.Run("sorted", scanning(w.coll(), true))
	b.Run("verify", func(b *testing.B) {
		for range b.N {
			if _, err := (Verify{Namespaces: []string{"db.c"}}).Run(b.Context(), w.cluster(), nil); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// scanning reads all documents with a cursor, as they lie or in the order of _id.
func scanning(coll *mongo.Collection, sorted bool) func(b *testing.B) {
	return func(b *testing.B) {
		for range b.N {
			o := options.Find().SetBatchSize(5000)
			if sorted {
				o.SetSort(bson.D{{Key: "_id", Value: 1}})
			}
			cursor, err := coll.Find(b.Context(), bson.D{}, o)
			if err != nil {
				b.Fatal(err)
			}
			for cursor.Next(b.Context()) {
			}
			if err := cursor.Err(); err != nil {
				b.Fatal(err)
			}
		}
	}
}
