package action

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/live/documents"
	"shardsh/balancer/live/holdings"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/placement"
)

var auditFull = flag.Bool("audit.full", false, "a thousand planted faults and a thousand healthy runs, not a few")

const auditTopology = `{"shards": [{"id": "s0"}, {"id": "s1"}, {"id": "s2"}], "settings": {"balancer": {"mode": "off"}},
	"databases": [{"name": "db", "primary": "s0"}], "collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [
	{"shard": "s0", "docs": 0, "max": {"x": 50}}, {"shard": "s1", "docs": 0, "max": {"x": 100}},
	{"shard": "s1", "docs": 0, "max": {"x": 200}}, {"shard": "s2", "docs": 0}]},
	{"ns": "db.pair", "key": {"a": 1, "b": 1}, "chunks": [{"shard": "s1"}]}]}`

const auditDocuments = 120

// audited is a cluster whose members are reached in memory.
type audited struct {
	testing.TB
	mock     *mock.Cluster
	client   *mongo.Client
	settings *options.ClientOptions
	clock    interface {
		Now() time.Time
		Sleep(ctx context.Context, d time.Duration) error
	}
	r    *rand.Rand
	next int
}

func newAudited(t testing.TB, release catalog.Release, seed uint64) *audited {
	t.Helper()
	cluster := mocktest.Cluster(t, auditTopology, mock.Config{
		Release: release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: seed,
	})
	routers, err := router.NewRouters(router.New(cluster, nil), 1)
	if err != nil {
		t.Fatal(err)
	}
	w := &audited{TB: t, mock: cluster, clock: cluster.Clock(), r: rand.New(rand.NewPCG(seed, 9)), next: 1e6}
	w.client = mocktest.Connect(t, routers, func(o *options.ClientOptions) {
		w.settings = options.Client().SetDialer(o.Dialer).SetServerMonitoringMode(options.ServerMonitoringModePoll)
	})
	w.index(mongo.IndexModel{Keys: bson.D{{Key: "x", Value: 1}, {Key: "u", Value: 1}}, Options: options.Index().SetUnique(true)})
	w.index(mongo.IndexModel{Keys: bson.D{{Key: "s", Value: 1}}})
	w.must(documents.CheckWatchable(t.Context(), w.client, "db.c")) // from here on the mock remembers what is written
	var docs []any
	for i := range auditDocuments {
		docs = append(docs, w.doc(idOf(i), i*300/auditDocuments))
	}
	if _, err := w.coll().InsertMany(t.Context(), docs); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Database("db").Collection("plain").InsertOne(t.Context(), bson.D{{Key: "a", Value: 1}}); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *audited) doc(id any, x int) bson.D {
	return bson.D{{Key: "_id", Value: id}, {Key: "x", Value: x}, {Key: "u", Value: id}, {Key: "s", Value: "text"}}
}

func (w *audited) raw(d bson.D) bson.Raw {
	w.Helper()
	raw, err := bson.Marshal(d)
	if err != nil {
		w.Fatal(err)
	}
	return raw
}

func (w *audited) index(m mongo.IndexModel) {
	w.Helper()
	if _, err := w.coll().Indexes().CreateOne(w.Context(), m); err != nil {
		w.Fatal(err)
	}
}

func (w *audited) coll() *mongo.Collection { return w.client.Database("db").Collection("c") }

func (w *audited) cluster() Cluster {
	return Cluster{Client: w.client, ClientOptions: w.settings, Clock: w.clock}
}

// store puts a document on a shard that does not own it. Where one waits for deletion it is
// gone before.
func (w *audited) store(doc bson.D, x int) {
	w.Helper()
	other, raw := w.other(x), w.raw(doc)
	if err := w.mock.Corrupter().Insert(other, "db.c", raw); err != nil {
		w.must(w.clock.Sleep(w.Context(), time.Hour))
		w.must(w.mock.Corrupter().Insert(other, "db.c", raw))
	}
}

func (w *audited) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatal(err)
	}
}

func anAudit() Audit { return Audit{MaxRereads: 3, RereadPause: time.Second} }

func (w *audited) audit(a Audit, c Cluster) AuditResult {
	w.Helper()
	result, err := a.Run(w.Context(), c, nil)
	w.must(err)
	return result
}

// owner returns the shard that owns a key.
func (w *audited) owner(x int) catalog.ShardID {
	w.Helper()
	docs, err := w.client.Database("config").Collection("chunks").Find(w.Context(), bson.D{})
	w.must(err)
	var chunks []struct {
		Min, Max struct{ X bson.RawValue }
		Shard    catalog.ShardID
	}
	w.must(docs.All(w.Context(), &chunks))
	for _, c := range chunks {
		lower, bounded := c.Min.X.AsInt64OK()
		upper, also := c.Max.X.AsInt64OK()
		if (!bounded || int64(x) >= lower) && (!also || int64(x) < upper) && (c.Min.X.Type != 0) {
			return c.Shard
		}
	}
	w.Fatal("no chunk has", x)
	return ""
}

// other returns a shard that does not own a key.
func (w *audited) other(x int) catalog.ShardID {
	w.Helper()
	owner := w.owner(x)
	for {
		if id := catalog.ShardID(fmt.Sprintf("s%d", w.r.IntN(3))); id != owner {
			return id
		}
	}
}

// move moves a chunk, whose old documents wait for deletion then.
func (w *audited) move() {
	w.Helper()
	x := []int{10, 70}[w.r.IntN(2)] // s1 and s2 keep what else they have
	err := w.client.Database("admin").RunCommand(w.Context(), bson.D{
		{Key: "moveChunk", Value: "db.c"}, {Key: "find", Value: bson.D{{Key: "x", Value: x}}},
		{Key: "to", Value: fmt.Sprintf("s%d", w.r.IntN(3))},
	}).Err()
	expected := func(text string) bool { return strings.Contains(err.Error(), text) }
	if err != nil && !expected("already") && !expected("range deletion") && !expected("orphans cleanup") {
		w.Fatal(err)
	}
}

// write inserts, updates and deletes documents of a range that faults stay away from.
func (w *audited) write() {
	w.Helper()
	for range 1 + w.r.IntN(3) {
		w.next++
		_, err := w.coll().InsertOne(w.Context(), w.doc(w.next, w.r.IntN(300)))
		w.must(err)
		_, err = w.coll().UpdateOne(w.Context(), bson.D{{Key: "_id", Value: idOf(2 * w.r.IntN(auditDocuments/2))}},
			bson.D{{Key: "$inc", Value: bson.D{{Key: "w", Value: 1}}}})
		w.must(err)
		_, err = w.coll().DeleteOne(w.Context(), bson.D{{Key: "_id", Value: w.next - w.r.IntN(4)}})
		w.must(err)
	}
}

// at is the shard key of a document of the world.
func at(i int) int { return i * 300 / auditDocuments }

type auditFault struct {
	kind  placement.FindingKind
	plant func(w *audited, i int)
	// quiet: writers would hide it, or it them.
	quiet bool
	// besides are what else it may be found as.
	besides []placement.FindingKind
}

func auditFaults() []auditFault {
	uuid := bson.Binary{Subtype: bson.TypeBinaryUUID, Data: []byte("0123456789abcdef")}
	config := func(w *audited) *mongo.Database { return w.client.Database("config") }
	return []auditFault{
		{kind: placement.Lone, plant: func(w *audited, i int) { // as a range deleter or a move has left it
			x := at(i)
			w.store(w.doc("lone", x), x)
		}},
		{kind: placement.Lone, plant: func(w *audited, i int) { // the owner has lost it, and a range deletion waits
			w.must(w.clock.Sleep(w.Context(), time.Hour))
			x := at(i)
			from, to := w.owner(x), w.other(x)
			w.must(w.client.Database("admin").RunCommand(w.Context(), bson.D{
				{Key: "moveChunk", Value: "db.c"}, {Key: "find", Value: bson.D{{Key: "x", Value: x}}}, {Key: "to", Value: string(to)},
			}).Err())
			doc := w.raw(bson.D{{Key: "_id", Value: idOf(i)}})
			w.must(w.mock.Corrupter().Delete(to, "db.c", doc.Lookup("_id")))
			if len(w.mock.RangeDeleter().Tasks(from)) == 0 {
				w.Fatal("no range deletion waits")
			}
		}},
		{kind: placement.Orphan, plant: func(w *audited, i int) {
			x := at(i)
			w.store(w.doc(idOf(i), x), x)
		}},
		{kind: placement.DuplicateID, plant: func(w *audited, i int) {
			w.must(w.clock.Sleep(w.Context(), time.Hour)) // an orphan of it would be in the way
			for y := range 300 {
				if w.owner(y) != w.owner(at(i)) {
					_, err := w.coll().InsertOne(w.Context(), w.doc(idOf(i), y))
					w.must(err)
					return
				}
			}
		}},
		{kind: placement.DuplicateKey, besides: []placement.FindingKind{placement.Lone}, plant: func(w *audited, i int) { // an orphan with the unique value of another document
			x := at(i)
			doc := bson.D{{Key: "_id", Value: "another"}, {Key: "x", Value: x}, {Key: "u", Value: idOf(i)}}
			w.store(doc, x)
		}},
		{kind: placement.DuplicateKey, besides: []placement.FindingKind{placement.OtherInconsistency}, plant: func(w *audited, i int) { // an index that is unique on each shard for itself
			w.must(w.clock.Sleep(w.Context(), time.Hour)) // orphans have no value
			for i := range auditDocuments {
				_, err := w.coll().UpdateOne(w.Context(), bson.D{{Key: "_id", Value: idOf(i)}}, set("k", i))
				w.must(err)
			}
			for _, id := range []catalog.ShardID{"s0", "s1", "s2"} {
				w.must(w.mock.Corrupter().AddIndex(id, "db.c", store.IndexSpec{
					Name: "k_1", Key: w.raw(bson.D{{Key: "k", Value: 1}}), Unique: true,
				}))
			}
			for j := range auditDocuments {
				if w.owner(at(j)) != w.owner(at(i)) {
					_, err := w.coll().UpdateOne(w.Context(), bson.D{{Key: "_id", Value: idOf(j)}}, set("k", i))
					w.must(err)
					return
				}
			}
		}, quiet: true},
		{kind: placement.IndexMissing, plant: func(w *audited, i int) {
			w.must(w.mock.Corrupter().DropIndex(w.owner(at(i)), "db.c", "s_1"))
		}},
		{kind: placement.IndexDiffers, plant: func(w *audited, i int) {
			id := w.owner(at(i))
			w.must(w.mock.Corrupter().DropIndex(id, "db.c", "s_1"))
			w.must(w.mock.Corrupter().AddIndex(id, "db.c", store.IndexSpec{Name: "s_1", Key: w.raw(bson.D{{Key: "s", Value: -1}})}))
		}},
		{kind: placement.OptionsDiffer, plant: func(w *audited, i int) {
			w.must(w.mock.Corrupter().SetOptions(w.owner(at(i)), "db.c", bson.D{
				{Key: "validator", Value: w.raw(bson.D{{Key: "x", Value: bson.D{{Key: "$exists", Value: true}}}})}}))
		}},
		{kind: placement.UUIDDiffers, quiet: true, besides: []placement.FindingKind{placement.Lone, placement.Orphan}, plant: func(w *audited, i int) {
			w.must(w.mock.Corrupter().SetUUID(w.owner(at(i)), "db.c", uuid))
		}},
		{kind: placement.CollectionMisplaced, plant: func(w *audited, _ int) {
			w.must(w.mock.Corrupter().CreateCollection([]catalog.ShardID{"s1", "s2"}[w.r.IntN(2)], "db.plain", uuid))
		}},
		{kind: placement.ChunkGap, quiet: true, besides: []placement.FindingKind{placement.Unplaced}, plant: func(w *audited, _ int) {
			n, hole := 0, w.r.IntN(4)
			w.mock.Corrupter().OverrideConfigChunks("db.c", func(chunk bson.Raw) bson.Raw {
				if n++; (n-1)%4 == hole {
					return nil
				}
				return chunk
			})
		}},
		{kind: placement.ChunkOverlap, quiet: true, besides: []placement.FindingKind{placement.Lone, placement.Orphan, placement.CountDiffers}, plant: func(w *audited, _ int) {
			w.mock.Corrupter().OverrideConfigChunks("db.c", func(chunk bson.Raw) bson.Raw {
				if n, ok := chunk.Lookup("min", "x").AsInt64OK(); !ok || n != 100 {
					return chunk
				}
				return changed(chunk, "min", bson.D{{Key: "x", Value: 90}})
			})
		}},
		{kind: placement.ChunkInvalid, quiet: true, besides: []placement.FindingKind{placement.Lone, placement.Orphan, placement.CountDiffers}, plant: func(w *audited, _ int) {
			w.mock.Corrupter().OverrideConfigChunks("db.c", func(chunk bson.Raw) bson.Raw {
				if n, ok := chunk.Lookup("min", "x").AsInt64OK(); !ok || n != 100 {
					return chunk
				}
				return changed(chunk, "shard", "gone")
			})
		}},
		{kind: placement.ZoneEmpty, plant: func(w *audited, _ int) {
			_, err := config(w).Collection("tags").InsertOne(w.Context(), bson.D{{Key: "ns", Value: "db.c"}, {Key: "tag", Value: "z"},
				{Key: "min", Value: bson.D{{Key: "x", Value: 7}}}, {Key: "max", Value: bson.D{{Key: "x", Value: 7}}}})
			w.must(err)
		}},
		{kind: placement.ZoneEndsEarly, plant: func(w *audited, _ int) {
			w.must(w.client.Database("admin").RunCommand(w.Context(), bson.D{{Key: "addShardToZone", Value: "s1"}, {Key: "zone", Value: "z"}}).Err())
			w.must(w.client.Database("admin").RunCommand(w.Context(), bson.D{{Key: "updateZoneKeyRange", Value: "db.pair"},
				{Key: "min", Value: bson.D{{Key: "a", Value: 5}}}, {Key: "max", Value: bson.D{{Key: "a", Value: bson.MaxKey{}}}},
				{Key: "zone", Value: "z"}}).Err())
		}},
		{kind: placement.CountDiffers, quiet: true, plant: func(w *audited, _ int) { // virtual documents are counted, and not there
			w.must(w.client.Database("admin").RunCommand(w.Context(), bson.D{{Key: "mockFill", Value: "db.pair"}, {Key: "docs", Value: 1000},
				{Key: "bytes", Value: 1 << 20}}).Err())
		}},
	}
}

// changed returns a document with another value of a field.
func changed(doc bson.Raw, name string, value any) bson.Raw {
	var d bson.D
	if err := bson.Unmarshal(doc, &d); err != nil {
		panic(err)
	}
	for i := range d {
		if d[i].Key == name {
			d[i].Value = value
		}
	}
	raw, err := bson.Marshal(d)
	if err != nil {
		panic(err)
	}
	return raw
}

// Whatever is planted is found, among moves and writers.
func TestAuditFindsFaults(t *testing.T) {
	t.Parallel()
	times := 2
	if *auditFull {
		times = 1000/len(auditFaults()) + 1
	}
	for n, fault := range auditFaults() {
		t.Run(fmt.Sprintf("%d %s", n, fault.kind), func(t *testing.T) {
			for seed := range times {
				w := newAudited(t, releases()[(times*n+seed)%len(releases())], uint64(seed))
				for range w.r.IntN(3) {
					w.move()
				}
				fault.plant(w, 2*w.r.IntN(auditDocuments/2)+1)
				c := w.cluster()
				if !fault.quiet && seed%2 == 1 {
					c.Clock = busy{stopAfter{inner: w.clock}, w.write}
				}
				result := w.audit(anAudit(), c)
				if !slices.ContainsFunc(result.Findings, func(f placement.Finding) bool { return f.Kind == fault.kind }) {
					t.Fatalf("seed %d: %+v", seed, result)
				}
				for _, f := range result.Findings {
					if f.Kind != fault.kind && !slices.Contains(fault.besides, f.Kind) {
						t.Errorf("seed %d: a false alarm: %+v", seed, f)
					}
					if len(f.RepairCommands) == 0 || f.Text == "" || f.Count == 0 || len(f.Shards) == 0 && f.Kind < "chunk" {
						t.Errorf("seed %d: %+v", seed, f)
					}
				}
			}
		})
	}
}

// Nothing is found in a healthy cluster, whatever moves, is written, and waits to be deleted.
func TestAuditRaisesNoFalseAlarm(t *testing.T) {
	times := 12
	if *auditFull {
		times = 1000
	}
	waiting := int64(0)
	for seed := range times {
		w := newAudited(t, releases()[seed%len(releases())], uint64(seed))
		for range w.r.IntN(4) {
			w.move()
			if w.r.IntN(2) == 0 { // what was deleted since its move is not lost
				_, err := w.coll().DeleteMany(t.Context(), bson.D{{Key: "x", Value: bson.D{{Key: "$mod", Value: bson.A{7, w.r.IntN(7)}}}}})
				w.must(err)
			}
		}
		c := w.cluster()
		c.Clock = busy{stopAfter{inner: w.clock}, func() {
			w.write()
			if w.r.IntN(3) == 0 {
				w.move()
			}
		}}
		a := anAudit()
		a.MaxRereads = 10
		result := w.audit(a, c)
		if len(result.Findings) > 0 || len(result.Unchecked) > 0 {
			t.Fatalf("seed %d: %+v", seed, result)
		}
		if len(result.Unsettled) == 0 && result.Verdict != AuditClean {
			t.Fatalf("seed %d: %+v", seed, result)
		}
		for _, c := range result.Collections {
			waiting += c.PendingOrphans
		}
	}
	if waiting == 0 {
		t.Error("no run had orphans")
	}
}

// What was saved can be inserted, and then nothing is lone any more.
func TestAuditExports(t *testing.T) {
	w := newAudited(t, catalog.Release80, 1)
	for i := range 3 {
		w.must(w.mock.Corrupter().Insert("s2", "db.c", w.raw(w.doc(fmt.Sprintf("lone%d", i), 10+i))))
	}
	a := anAudit()
	a.ExportDir = filepath.Join(t.TempDir(), "saved")
	result := w.audit(a, w.cluster())
	if len(result.Findings) != 1 || result.Findings[0].Count != 3 {
		t.Fatalf("%+v", result)
	}
	f := result.Findings[0]
	text, err := os.ReadFile(f.File)
	w.must(err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 3 || !strings.Contains(f.RepairCommands[0], "insertOne") {
		t.Fatalf("%s, %q", text, f.RepairCommands)
	}
	for _, line := range lines {
		var doc bson.D
		w.must(bson.UnmarshalExtJSON([]byte(line), true, &doc))
		_, err := w.coll().InsertOne(t.Context(), doc)
		w.must(err)
	}
	result = w.audit(anAudit(), w.cluster())
	if len(result.Findings) != 1 || result.Findings[0].Kind != placement.Orphan || result.Findings[0].Count != 3 {
		t.Errorf("%+v", result)
	}
	if _, err := a.Run(t.Context(), w.cluster(), nil); err != nil {
		t.Fatal(err) // the orphans are in a file of another name
	}
	if _, err := a.Run(t.Context(), w.cluster(), nil); err == nil {
		t.Error("a file that was saved is overwritten")
	}
}

// A shard that can't be reached is named, and what the others have is compared all the same.
func TestAuditSaysWhatItDidNotSee(t *testing.T) {
	w := newAudited(t, catalog.Release80, 2)
	c := w.cluster()
	c.ClientOptions = nil
	result := w.audit(anAudit(), c)
	if result.Verdict != AuditUnknown || len(result.Unchecked) != 4 || len(result.Findings) != 0 {
		t.Errorf("%+v", result)
	}
	w.must(w.mock.Corrupter().DropIndex("s1", "db.c", "s_1"))
	if result = w.audit(anAudit(), c); result.Verdict != AuditFindings || result.Findings[0].Kind != placement.IndexDiffers {
		t.Errorf("the router tells of the index: %+v", result)
	}
	set := func(update bson.D) {
		_, err := w.client.Database("config").Collection("collections").UpdateOne(t.Context(), one("_id", "db.pair"), update)
		w.must(err)
	}
	set(one("$set", one("reshardingFields", one("state", "cloning"))))
	for _, a := range []Audit{anAudit(), {MaxRereads: 3, Namespaces: []string{"db.pair"}}} {
		if got := w.audit(a, w.cluster()); len(got.Unchecked) != 1 || !strings.HasPrefix(got.Unchecked[0], "db.pair, which is being resharded") {
			t.Errorf("%v: %+v", a.Namespaces, got)
		}
	}
	set(one("$unset", one("reshardingFields", "")))
	away := w.mock.Addresses().FirstMember("s2")
	c.ClientOptions = options.Client().SetDialer(noWay{w.settings.Dialer, away}).SetServerMonitoringMode(options.ServerMonitoringModePoll)
	w.must(w.mock.Corrupter().Insert("s0", "db.c", w.raw(w.doc(idOf(auditDocuments-1), at(auditDocuments-1))))) // which s2 has
	w.must(w.mock.Corrupter().Insert("s1", "db.c", w.raw(w.doc("lone", 298))))
	result = w.audit(anAudit(), c)
	kinds := map[placement.FindingKind]int64{}
	for _, f := range result.Findings {
		kinds[f.Kind] += f.Count
	}
	if len(result.Unchecked) != 1 || !strings.Contains(result.Unchecked[0], "s2") || kinds[placement.Lone] != 1 || kinds[placement.Orphan] != 1 {
		t.Errorf("%v: %+v", kinds, result)
	}
}

// A sample that begins near the end goes on at the beginning.
func TestAuditSamples(t *testing.T) {
	w := newAudited(t, catalog.Release80, 6)
	for range 5 {
		for _, sample := range []int64{auditDocuments - 1, auditDocuments + 5} {
			a := anAudit()
			a.Namespaces, a.SampleDocs = []string{"db.c"}, sample
			if docs := w.audit(a, w.cluster()).Collections[0].Docs; docs != min(sample, auditDocuments) {
				t.Errorf("%d of a sample of %d", docs, sample)
			}
		}
	}
}

// A check audits by samples when it is asked to, and only then.
func TestCheckAudits(t *testing.T) {
	w := newAudited(t, catalog.Release80, 4)
	checked := func(rules ...string) check.Report {
		t.Helper()
		p := check.Default()
		w.must(p.EnableOnly(rules))
		report, err := Check{Policy: p}.Run(t.Context(), func(context.Context) (Source, error) {
			return Source{Client: w.client, ClientOptions: w.settings, Clock: w.clock}, nil
		}, nil)
		w.must(err)
		return report
	}
	if r := checked("audit"); r.Status() != check.Passed {
		t.Errorf("%+v", r.Result.Findings)
	}
	w.must(w.mock.Corrupter().DropIndex("s1", "db.c", "s_1"))
	r := checked("audit")
	if f := r.Result.Findings; r.Status() != check.Failed || len(f) != 1 || f[0].About.Shard != "s1" || len(f[0].Commands) != 1 {
		t.Errorf("%+v", f)
	}
	if r := checked("jumbo"); r.Status() != check.Passed {
		t.Errorf("%+v", r.Result.Findings)
	}
	w.settings = nil
	if r := checked("audit"); !slices.ContainsFunc(r.Result.Findings, func(f check.Finding) bool { return f.Unknown }) {
		t.Errorf("what was not seen is not told: %+v", r.Result.Findings)
	}
}

// Whatever breaks is read again from where it was: no document is left out or seen twice.
func TestAuditReadsOn(t *testing.T) {
	w := newAudited(t, catalog.Release80, 5)
	w.move()
	want := map[catalog.ShardID][]bson.Raw{}
	total := int64(0)
	for _, id := range w.mock.ShardIDs() {
		want[id] = w.mock.Corrupter().Documents(id, "db.c")
		total += int64(len(want[id]))
	}
	shards, err := holdings.Open(t.Context(), w.client, w.settings)
	w.must(err)
	defer shards.Close(context.Background())
	for _, every := range []int{1, 7, 1000} {
		m := &holdings.MergedReader{Namespace: "db.c", Shards: shards.ReadableShards(), Order: idPattern, Fields: []string{"x"}}
		got, n := map[catalog.ShardID]int{}, 0
		w.must(m.Each(t.Context(), func(copies []placement.Copy) error {
			for _, c := range copies {
				if here := want[c.Shard][got[c.Shard]]; !here.Lookup("_id").Equal(c.Doc.Lookup("_id")) ||
					!here.Lookup("x").Equal(c.Doc.Lookup("x")) || !c.Doc.Lookup("_id").Equal(copies[0].Doc.Lookup("_id")) {
					t.Fatalf("%s has %s, want %s", c.Shard, c.Doc, here)
				}
				got[c.Shard]++
			}
			if n++; n%every == 0 {
				m.CloseCursors(t.Context())
			}
			return nil
		}))
		for id, docs := range want {
			if got[id] != len(docs) {
				t.Errorf("every %d: %d of %d documents of %s", every, got[id], len(docs), id)
			}
		}
	}
	for _, how := range []bson.E{{Key: "closeConnection", Value: true}, {Key: "code", Value: 91}, {Key: "code", Value: 43}} {
		w.must(w.client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "mockFailNext", Value: "find"}, {Key: "times", Value: 1},
			{Key: "after", Value: 25}, how}).Err())
		if result := w.audit(anAudit(), w.cluster()); result.Verdict != AuditClean || result.Collections[0].Docs != total {
			t.Errorf("%v: %+v", how, result)
		}
	}
}

// Nothing is read faster than was asked for, and a limit of time ends it with what was found.
func TestAuditKeepsPace(t *testing.T) {
	w := newAudited(t, catalog.Release80, 6)
	docs := []any{}
	for i := range 64 {
		docs = append(docs, append(w.doc(1e6+i, i), bson.E{Key: "t", Value: strings.Repeat("x", 64<<10)}))
	}
	_, err := w.coll().InsertMany(t.Context(), docs)
	w.must(err)
	began := w.clock.Now()
	a := anAudit()
	a.MaxBytesPerSecond = 1 << 20
	if result := w.audit(a, w.cluster()); result.Verdict != AuditClean {
		t.Errorf("%+v", result)
	}
	if took := w.clock.Now().Sub(began); took < 3*time.Second || took > 8*time.Second {
		t.Errorf("4 MiB took %v", took)
	}
	w.must(w.mock.Corrupter().DropIndex("s1", "db.c", "s_1"))
	a = anAudit()
	a.MaxDuration = time.Nanosecond
	result := w.audit(a, late{w.clock}.of(w.cluster()))
	if result.Stopped == "" || result.Verdict != AuditFindings {
		t.Errorf("%+v", result)
	}
}

// The roles that the documentation names are enough; without them what is not seen is named.
func TestAuditPrivileges(t *testing.T) {
	w := newAudited(t, catalog.Release80, 7)
	w.must(w.mock.Corrupter().DropIndex("s1", "db.c", "s_1"))
	users := access.NewDirectory()
	role := func(db string, names ...string) (list []access.Role) {
		for _, n := range names {
			list = append(list, access.Role{Role: n, Database: db})
		}
		return list
	}
	for name, roles := range map[string][]access.Role{
		"auditor": slices.Concat(role("db", "read"), role("config", "read"), role("admin", "clusterManager", "directShardOperations")),
		"monitor": role("admin", "clusterMonitor"),
	} {
		w.must(users.Create("admin", name, access.UserSpec{Password: "pw", Roles: roles}))
	}
	routers, err := router.NewRouters(router.New(w.mock, nil, router.WithUsers(users, true)), 1)
	w.must(err)
	for name, want := range map[string]string{"auditor": AuditFindings, "monitor": AuditUnknown} {
		c := w.cluster()
		login := options.Credential{Username: name, Password: "pw"}
		c.Client = mocktest.Connect(t, routers, func(o *options.ClientOptions) {
			o.SetAuth(login)
			c.ClientOptions = options.Client().SetDialer(o.Dialer).SetServerMonitoringMode("poll").SetAuth(login)
		})
		result, err := anAudit().Run(t.Context(), c, nil)
		if err != nil || result.Verdict != want || want == AuditFindings && (len(result.Unchecked) > 0 || len(result.Collections) != 2) {
			t.Errorf("%s: %v, %+v", name, err, result)
		}
	}
}

// Keys that are hashed, nested or made of several fields.
func TestAuditOfOtherKeys(t *testing.T) {
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release70, catalog.Release90} {
		w := newAudited(t, release, 8)
		for name, key := range map[string]bson.D{
			"hashed": {{Key: "a.b", Value: "hashed"}}, "own": {{Key: "_id", Value: "hashed"}},
			"several": {{Key: "k", Value: 1}, {Key: "a.b", Value: 1}},
		} {
			ns := "db." + name
			w.must(w.client.Database("admin").RunCommand(t.Context(), bson.D{{Key: "shardCollection", Value: ns}, {Key: "key", Value: key}}).Err())
			coll := w.client.Database("db").Collection(name)
			for i := range 30 {
				_, err := coll.InsertOne(t.Context(), bson.D{{Key: "_id", Value: idOf(i)}, {Key: "k", Value: i % 3}, {Key: "a", Value: bson.D{{Key: "b", Value: i}}}})
				w.must(err)
			}
			a := anAudit()
			a.Namespaces = []string{ns}
			if result := w.audit(a, w.cluster()); result.Verdict != AuditClean || result.Collections[0].Docs != 30 {
				t.Fatalf("%s, %s: %+v", release, ns, result)
			}
			planted := false
			for _, from := range w.mock.ShardIDs() {
				for _, doc := range w.mock.Corrupter().Documents(from, ns) {
					to := catalog.ShardID("s0")
					if from == to {
						to = "s1"
					}
					uuid := bson.Binary{Subtype: bson.TypeBinaryUUID}
					entry, err := w.client.Database("config").Collection("collections").FindOne(t.Context(), bson.D{{Key: "_id", Value: ns}}).Raw()
					w.must(err)
					_, uuid.Data = entry.Lookup("uuid").Binary()
					_ = w.mock.Corrupter().CreateCollection(to, ns, uuid) // which it may have
					w.must(w.mock.Corrupter().Insert(to, ns, doc))
					planted = true
					break
				}
				if planted {
					break
				}
			}
			if result := w.audit(a, w.cluster()); len(result.Findings) != 1 || result.Findings[0].Kind != placement.Orphan {
				t.Fatalf("%s, %s: %+v", release, ns, result)
			}
		}
	}
}

// noWay is a dialer to which one address does not answer.
type noWay struct {
	options.ContextDialer
	away string
}

func (n noWay) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if address == n.away {
		return nil, errors.New("no route to host")
	}
	return n.ContextDialer.DialContext(ctx, network, address)
}

func TestAuditRefuses(t *testing.T) {
	w := newAudited(t, catalog.Release80, 3)
	for ns, there := range map[string]bool{"db": true, "db.c": true, "db.plain": true, "db.no": false, "no": false} {
		a := anAudit()
		a.Namespaces = []string{ns}
		if _, err := a.Run(t.Context(), w.cluster(), nil); mongoerr.Is(err, mongoerr.NamespaceNotFound) == there {
			t.Errorf("%s: %v", ns, err)
		}
	}
	for reason, change := range map[string]func(*Audit){
		"at least 1":         func(a *Audit) { a.MaxRereads = 0 },
		"can't be negative":  func(a *Audit) { a.MaxBytesPerSecond = -1 },
		"takes DB or DB.COL": func(a *Audit) { a.Namespaces = []string{"db."} },
		"twice":              func(a *Audit) { a.Namespaces = []string{"db", "db"} },
		"reads no documents": func(a *Audit) { a.MetadataOnly, a.ExportDir = true, "x" },
	} {
		a := anAudit()
		change(&a)
		if err := a.Validate(); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %v", reason, err)
		}
	}
}

// BenchmarkAudit compares an audit with a cursor that reads the same documents, of 500 bytes
// each, as they lie, and in the order of _id.
func BenchmarkAudit(b *testing.B) {
	const documents = 100_000
	w := newAudited(b, catalog.Release80, 1)
	for i := 0; i < documents; i += 1000 {
		var docs []any
		for n := range 1000 {
			docs = append(docs, append(w.doc(int64(1e6+i+n), n%300), bson.E{Key: "t", Value: strings.Repeat("x", 430)}))
		}
		if _, err := w.coll().InsertMany(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
	}
	b.Run("plain", scanning(w.coll(), false))
	b.Run("sorted", scanning(w.coll(), true))
	b.Run("audit", func(b *testing.B) {
		for range b.N {
			if result := w.audit(anAudit(), w.cluster()); result.Verdict != AuditClean {
				b.Fatalf("%+v", result)
			}
		}
	})
}
