package load_test

import (
	"context"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/live"
	"shardsh/balancer/live/load"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/workload"
	"shardsh/balancer/mongoerr"
)

const orders = "shop.orders"

// topology has three shards, and shop.orders on two of them: twelve chunks of 1,000 keys.
func topology(key string) string {
	chunks := ""
	for i := range 12 {
		from, to := `{"k": {"$minKey": 1}}`, `{"k": {"$maxKey": 1}}`
		at := func(i int) string {
			if key == "hashed" {
				return `{"k": ` + catalog64(catalog.HashedPoints(12)[i-1]) + `}`
			}
			return `{"k": ` + catalog64(int64(i*1000)) + `}`
		}
		if i > 0 {
			from = at(i)
		}
		if i < 11 {
			to = at(i + 1)
		}
		if i > 0 {
			chunks += ", "
		}
		chunks += `{"min": ` + from + `, "max": ` + to + `, "shard": "` + []string{"a", "b"}[i/6] + `"}`
	}
	spec := "1"
	if key == "hashed" {
		spec = `"hashed"`
	}
	return `{"shards": [{"id": "a"}, {"id": "b"}, {"id": "c"}], "databases": [{"name": "shop", "primary": "a"}],
		"settings": {"balancer": {"mode": "off"}},
		"collections": [{"ns": "shop.orders", "key": {"k": ` + spec + `}, "chunks": [` + chunks + `]}]}`
}

func catalog64(n int64) string {
	raw, _ := bson.MarshalExtJSON(bson.D{{Key: "n", Value: n}}, true, false)
	return string(raw[5 : len(raw)-1])
}

// world is a mock cluster whose time is virtual.
type world struct {
	t       *testing.T
	cluster *mock.Cluster
	client  *mongo.Client
}

func newWorld(t *testing.T, key string, s workload.Spec, rate float64) *world {
	w := &world{t: t}
	w.cluster, w.client = mocktest.New(t, topology(key), mock.Config{Release: catalog.Release80,
		Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: 1})
	w.cluster.Lock()
	s.Namespace = orders
	if err := w.cluster.Workloads().Start(s); err != nil {
		t.Fatal(err)
	}
	w.cluster.Unlock()
	if rate > 0 {
		w.ok(bson.D{{Key: "configureQueryAnalyzer", Value: orders}, {Key: "mode", Value: "full"},
			{Key: "samplesPerSecond", Value: rate}})
	}
	return w
}

func (w *world) ok(command bson.D) {
	w.t.Helper()
	if err := w.client.Database("admin").RunCommand(w.t.Context(), command).Err(); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) advance(d time.Duration) {
	w.ok(bson.D{{Key: "mockAdvance", Value: d.Milliseconds()}})
}

func (w *world) read(o load.Options) load.CollectionLoad {
	w.t.Helper()
	runner := live.NewCommandRunner(w.client)
	look, err := live.NewReader(w.client, live.ReaderOptions{Parts: live.BalancerParts}).Read(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	o.Clock = w.cluster.Clock()
	list, err := load.Read(w.t.Context(), runner, look, []string{orders}, o)
	if err != nil {
		w.t.Fatal(err)
	}
	if len(list[0].Notes) > 0 {
		w.t.Fatal(list[0].Notes)
	}
	return list[0]
}

// Counters and samples of a workload that is known come to what it is: reads of the hot
// tenth of the keys are on the first chunks, and the sums are right within the noise.
func TestReadsWhatAWorkloadDoes(t *testing.T) {
	for _, key := range []string{"ranged", "hashed"} {
		w := newWorld(t, key, workload.Spec{Rate: 1000, KeyDistribution: "hot 10% 80%",
			Mix: workload.Mix{Reads: 50, Updates: 30, Deletes: 10, Inserts: 10}, ScatterShare: 0.2}, 50)
		w.advance(10 * time.Minute)
		got := w.read(load.Options{Duration: 2 * time.Minute})
		m := got.Map
		if !m.Counted || !got.Analyzer.On || got.Analyzer.SamplesPerSecond != 50 || m.Samples < 20_000 {
			t.Fatalf("%s: counted: %v, analyzer %+v, %d samples", key, m.Counted, got.Analyzer, m.Samples)
		}
		// 500 reads, of which the scattered fifth is one on each of two shards.
		if math.Abs(m.Total.Reads-600) > 20 || math.Abs(m.Total.Writes-500) > 20 {
			t.Errorf("%s: %+v", key, m.Total)
		}
		if math.Abs(m.ScatteredShare.Reads-0.2) > 0.02 {
			t.Errorf("%s: %.3f of the reads go to all shards", key, m.ScatteredShare.Reads)
		}
		if (m.ReadTime-400*time.Microsecond).Abs() > 5*time.Microsecond ||
			(m.WriteTime-900*time.Microsecond).Abs() > 5*time.Microsecond {
			t.Errorf("%s: a read takes %v, a write %v", key, m.ReadTime, m.WriteTime)
		}
		if m.InsertSamples < 200 || m.Monotonic != nil || len(m.HotKeys) != 0 {
			t.Errorf("%s: %d new documents, monotonic %v, hot keys %v", key, m.InsertSamples, m.Monotonic, m.HotKeys)
		}
		if key == "hashed" {
			continue // the hot keys are all over the chunks
		}
		hottest := m.Hottest(heat.Weights{Read: 1, Write: 1}, 2)
		// The tenth is 1.2 of 12 chunks: 80 % of 900 point operations, 2/3 of them in the first.
		if n := hottest[0].Load.Total(); hottest[0].Min.String() != "[MinKey]" || n < 560 || n > 680 {
			t.Errorf("the hottest chunk is %s with %.0f", hottest[0].Min, n)
		}
	}
}

// New keys above all others: nobody samples inserts, the newest documents tell.
func TestReadsMonotonicKeys(t *testing.T) {
	w := newWorld(t, "ranged", workload.Spec{Rate: 500, KeyDistribution: "latest", Mix: workload.Mix{Reads: 50, Inserts: 50}}, 20)
	w.advance(5 * time.Minute)
	is := w.read(load.Options{Duration: 2 * time.Minute}).Map.Monotonic
	if is == nil || !is.AtMax || is.Shard != "b" || math.Abs(is.InsertsPerSecond-250) > 20 {
		t.Errorf("%+v", is)
	}
}

// Without samples there are the counters of shards, and nothing of chunks; and nobody
// switches the sampling on unasked.
func TestReadsWithoutSamples(t *testing.T) {
	w := newWorld(t, "ranged", workload.Spec{Rate: 300, KeyDistribution: "uniform"}, 0)
	got := w.read(load.Options{Duration: time.Minute})
	if got.Map.Samples != 0 || got.Analyzer.On || math.Abs(got.Map.Total.Reads-300) > 20 {
		t.Errorf("%+v, %d samples, %+v", got.Analyzer, got.Map.Samples, got.Map.Total)
	}
	for _, s := range got.Map.Shards {
		if s.Unplaced != s.Load {
			t.Errorf("%s: %v of %v are placed", s.Shard, s.Load, s.Unplaced)
		}
	}
	got = w.read(load.Options{Duration: time.Minute, SamplesPerSecond: 30})
	if !got.Analyzer.Temporary || got.Map.Samples < 1500 {
		t.Errorf("asked for: %+v, %d samples", got.Analyzer, got.Map.Samples)
	}
	reply, err := w.client.Database("config").Collection("queryAnalyzers").CountDocuments(t.Context(),
		bson.D{{Key: "mode", Value: "full"}})
	if err != nil || reply != 0 {
		t.Errorf("%d collections are still sampled: %v", reply, err)
	}
	if !slices.ContainsFunc(got.Map.Chunks, func(c heat.ChunkHeat) bool { return c.Samples > 50 }) {
		t.Error("no chunk has samples")
	}
}

// A meter tells nothing at first, and then what was done since.
func TestMeter(t *testing.T) {
	w := newWorld(t, "ranged", workload.Spec{Rate: 1000, KeyDistribution: "uniform", Mix: workload.Mix{Reads: 60, Updates: 40}}, 0)
	m := load.Meter{Runner: live.NewCommandRunner(w.client), Clock: w.cluster.Clock()}
	look, err := live.NewReader(w.client, live.ReaderOptions{Parts: live.BalancerParts}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if first, err := m.Read(t.Context(), look); err != nil || first != nil {
		t.Fatalf("%v, %v", first, err)
	}
	for range 2 {
		w.advance(time.Minute)
		got, err := m.Read(t.Context(), look)
		if err != nil || len(got) != 2 || math.Abs(got["a"].Reads+got["b"].Reads-600) > 30 ||
			math.Abs(got["a"].Writes+got["b"].Writes-400) > 30 {
			t.Errorf("%v, %v", got, err)
		}
	}
}

// With a shard down it is told within seconds what is missing, and nothing waits to count what
// nobody tells.
func TestReadsWithAShardDown(t *testing.T) {
	w := newWorld(t, "ranged", workload.Spec{Rate: 100, KeyDistribution: "uniform"}, 50)
	w.advance(5 * time.Minute)
	look, err := live.NewReader(w.client, live.ReaderOptions{Parts: live.BalancerParts}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	w.ok(bson.D{{Key: "mockCrash", Value: "b"}})
	began, real := w.cluster.Now(), time.Now()
	list, err := load.Read(t.Context(), live.NewCommandRunner(w.client), look, []string{orders},
		load.Options{Duration: time.Hour, Clock: w.cluster.Clock()})
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	if notes := strings.Join(list[0].Notes, "; "); !strings.Contains(notes, "the counters could not be read") {
		t.Errorf("%q", notes)
	}
	if waited := w.cluster.Now().Sub(began); waited > time.Minute || time.Since(real) > 30*time.Second {
		t.Errorf("it took %v of the cluster, %v in truth", waited, time.Since(real))
	}
}

// A sampling whose start got no reply is stopped, too: it may have started.
func TestStopsSamplingWithoutReply(t *testing.T) {
	w := newWorld(t, "ranged", workload.Spec{Rate: 100, KeyDistribution: "uniform"}, 0)
	look, err := live.NewReader(w.client, live.ReaderOptions{Parts: live.BalancerParts}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = load.Read(t.Context(), lostReplies{live.NewCommandRunner(w.client)}, look, []string{orders},
		load.Options{SamplesPerSecond: 5, Clock: w.cluster.Clock()})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	var analyzer struct{ Mode string }
	found := w.client.Database("config").Collection("queryAnalyzers").FindOne(t.Context(),
		bson.D{{Key: "_id", Value: orders}})
	if err := found.Decode(&analyzer); err != nil || analyzer.Mode != "off" {
		t.Errorf("mode %q, %v", analyzer.Mode, err)
	}
}

// lostReplies loses the replies to commands that start a sampling.
type lostReplies struct{ live.CommandRunner }

func (r lostReplies) RunCommand(ctx context.Context, db string, command bson.D) (bson.Raw, error) {
	reply, err := r.CommandRunner.RunCommand(ctx, db, command)
	if command[0].Key == "configureQueryAnalyzer" && command[1].Value == "full" {
		return nil, &mongoerr.UnansweredError{Cause: io.ErrUnexpectedEOF}
	}
	return reply, err
}
