package action

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/export"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// handClock goes on when it is told to.
type handClock struct {
	mu      sync.Mutex
	changed *sync.Cond
	now     time.Time
	asleep  int
}

func newHandClock() *handClock {
	c := &handClock{now: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)}
	c.changed = sync.NewCond(&c.mu)
	return c
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *handClock) Sleep(ctx context.Context, d time.Duration) error {
	defer context.AfterFunc(ctx, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.changed.Broadcast()
	})()
	c.mu.Lock()
	defer c.mu.Unlock()
	until := c.now.Add(d)
	c.asleep++
	c.changed.Broadcast()
	for c.now.Before(until) && ctx.Err() == nil {
		c.changed.Wait()
	}
	c.asleep--
	return ctx.Err()
}

// settle waits until so many sleep.
func (c *handClock) settle(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.asleep != n {
		c.changed.Wait()
	}
}

// pass lets time pass, in which nobody wakes up who sleeps longer.
func (c *handClock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
	c.changed.Broadcast()
}

// exporting is an exporter of a test.
type exporting struct {
	testing.TB
	*Exporter
	clock *handClock
	log   *bytes.Buffer
}

func startExport(t testing.TB) *exporting {
	t.Helper()
	e := &exporting{TB: t, clock: newHandClock(), log: new(bytes.Buffer)}
	x, err := Export{
		Policy: check.Default(), Every: time.Minute, Timeout: time.Minute, MaxCollections: 10, Clock: e.clock,
		Log:           slog.New(slog.NewTextHandler(e.log, nil)),
		DescribeError: func(err error) string { return strings.ReplaceAll(err.Error(), "hunter2", "…") },
	}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	e.Exporter = x
	return e
}

// metrics is the page, as Prometheus reads it.
func (e *exporting) metrics() map[string]*dto.MetricFamily {
	e.Helper()
	var page bytes.Buffer
	if err := e.Write(&page, false); err != nil {
		e.Fatal(err)
	}
	if problems, err := promlint.New(bytes.NewReader(page.Bytes())).Lint(); err != nil || len(problems) > 0 {
		e.Errorf("promlint: %v, %v", problems, err)
	}
	var parser expfmt.TextParser
	families, err := parser.TextToMetricFamilies(&page)
	if err != nil {
		e.Fatal(err)
	}
	return families
}

// value sums up the samples of a metric with some labels; NaN without one.
func (e *exporting) value(name string, labels ...string) float64 {
	e.Helper()
	sum, found := 0.0, false
	for _, m := range e.metrics()[name].GetMetric() {
		has := map[string]string{}
		for _, l := range m.Label {
			has[l.GetName()] = l.GetValue()
		}
		matches := true
		for i := 0; i < len(labels); i += 2 {
			matches = matches && has[labels[i]] == labels[i+1]
		}
		if matches {
			sum, found = sum+m.GetGauge().GetValue()+m.GetCounter().GetValue(), true
		}
	}
	if !found {
		return math.NaN()
	}
	return sum
}

func (e *exporting) want(want float64, name string, labels ...string) {
	e.Helper()
	got := e.value(name, labels...)
	if got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
		e.Errorf("%s%v is %v, want %v", name, labels, got, want)
	}
}

func (w *world) target(name string) Target {
	return Target{Name: name, Open: func(context.Context) (Source, func(), error) {
		return Source{Client: w.client, ClientOptions: w.settings, Clock: w.cluster.Clock(),
			Origin: catalog.Source{Kind: catalog.SourceMock}}, func() {}, nil
	}}
}

const twoShards = `{"shards": [{"id": "s0"}, {"id": "s1"}], "settings": {"balancer": {"stopped": true}},
	"databases": [{"name": "db", "primary": "s0"}], "collections": [{"ns": "db.c", "key": {"x": 1}, "chunks": [
		{"shard": "s0", "bytes": 1048576, "docs": 1024, "max": {"x": 100}}, {"shard": "s0", "bytes": 1048576, "docs": 1024}]}]}`

// The page says what the cluster is like, and what changed in it since it was read before.
func TestExportFollowsACluster(t *testing.T) {
	w, e := newWorld(t, twoShards, catalog.Release80, 1), startExport(t)
	one := w.target("eu")
	one.Labels = []string{"team", "shop"}
	e.SetTargets([]Target{one})
	e.clock.settle(1)
	e.want(1, export.UpMetric, "cluster", "eu", "team", "shop")
	e.want(2, "shardsh_collection_chunks", "ns", "db.c", "shard", "s0", "team", "shop")
	e.want(0, "shardsh_balancer_enabled")
	e.want(1, "shardsh_findings", "code", string(diagnosis.BalancerOff))
	e.want(0, "shardsh_moves_total")
	w.run(bson.D{{Key: "moveRange", Value: "db.c"}, {Key: "toShard", Value: "s1"},
		{Key: "min", Value: bson.D{{Key: "x", Value: 100}}}})
	w.run(bson.D{{Key: "balancerStart", Value: 1}})
	e.want(2, "shardsh_collection_chunks", "shard", "s0") // as it was read
	e.clock.pass(time.Minute)
	e.until(2, "shardsh_export_reads_total")
	e.want(1, "shardsh_collection_chunks", "shard", "s0")
	e.want(1, "shardsh_moves_total", "shard", "s0")
	e.want(1<<20, "shardsh_moved_bytes_total", "shard", "s0")
	e.want(0, "shardsh_moves_total", "shard", "s1")
	e.want(1, "shardsh_balancer_enabled")
	e.want(math.NaN(), "shardsh_findings", "code", string(diagnosis.BalancerOff))
	e.want(float64(e.clock.Now().Unix()), "shardsh_export_last_read_timestamp_seconds")
}

func (w *world) run(command bson.D) {
	w.Helper()
	if err := w.client.Database("admin").RunCommand(w.Context(), command).Err(); err != nil {
		w.Fatal(err)
	}
}

// until waits for a value.
func (e *exporting) until(want float64, name string, labels ...string) {
	e.Helper()
	for e.value(name, labels...) != want {
		if e.Context().Err() != nil {
			e.Fatalf("%s is %v, want %v", name, e.value(name, labels...), want)
		}
	}
}

// A cluster that does not answer keeps nobody waiting: not the page, and not the other
// clusters. What is known of it is told until it is too old, and it is never told that it is up.
func TestExportOfAClusterThatIsDown(t *testing.T) {
	w, e := newWorld(t, twoShards, catalog.Release80, 1), startExport(t)
	var down atomic.Bool
	us := w.target("us")
	open := us.Open
	us.Open = func(ctx context.Context) (Source, func(), error) {
		if down.Load() {
			return Source{}, nil, errors.New("can't log in with hunter2")
		}
		return open(ctx)
	}
	hangs := Target{Name: "hangs", Open: func(ctx context.Context) (Source, func(), error) {
		<-ctx.Done()
		return Source{}, nil, ctx.Err()
	}}
	e.SetTargets([]Target{w.target("eu"), us, hangs})
	e.clock.settle(2)
	for name, up := range map[string]float64{"eu": 1, "us": 1, "hangs": math.NaN()} { // nobody knows yet
		e.want(up, export.UpMetric, "cluster", name)
	}
	e.want(0, "shardsh_export_stale", "cluster", "us")
	e.want(1, "shardsh_export_stale", "cluster", "hangs")
	down.Store(true)
	e.broken("us")
	e.clock.pass(time.Minute)
	e.until(1, "shardsh_export_read_failures_total", "cluster", "us")
	e.until(2, "shardsh_export_reads_total", "cluster", "eu")
	e.want(0, export.UpMetric, "cluster", "us")
	e.want(0, export.OKMetric, "cluster", "us")
	e.want(2, "shardsh_collection_chunks", "cluster", "us")
	for range 5 {
		e.clock.settle(2)
		reads := e.value("shardsh_export_reads_total", "cluster", "eu")
		e.clock.pass(time.Minute)
		e.until(reads+1, "shardsh_export_reads_total", "cluster", "eu")
	}
	e.want(math.NaN(), "shardsh_collection_chunks", "cluster", "us")
	e.want(1, "shardsh_export_stale", "cluster", "us")
	e.want(0, export.UpMetric, "cluster", "us")
	e.want(2, "shardsh_collection_chunks", "cluster", "eu")
	e.clock.settle(2)
	if text := e.log.String(); strings.Contains(text, "hunter2") || strings.Count(text, "can't log in") != 1 {
		t.Errorf("the log says\n%s", text)
	}
}

// broken has the connection of a cluster be gone.
func (e *exporting) broken(name string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, c := range e.clusters {
		if c.target.Name == name {
			c.closeSource = nil
		}
	}
}

// Of new targets those that are the same as before are not connected to again, and those that
// are gone are not on the page any more.
func TestExportOfOtherTargets(t *testing.T) {
	w, e := newWorld(t, twoShards, catalog.Release80, 1), startExport(t)
	opened := map[string]*atomic.Int32{}
	target := func(name, identity string) Target {
		one := w.target(name)
		open, n := one.Open, opened[name]
		if n == nil {
			n = new(atomic.Int32)
			opened[name] = n
		}
		one.Identity, one.Open = identity, func(ctx context.Context) (Source, func(), error) {
			n.Add(1)
			return open(ctx)
		}
		return one
	}
	e.SetTargets([]Target{target("a", "1"), target("b", "1"), target("c", "1")})
	e.clock.settle(3)
	e.Exporter.RecordReloadFailure()
	e.want(0, "shardsh_export_reload_successful")
	e.want(3, "shardsh_export_targets")
	e.SetTargets([]Target{target("b", "1"), target("c", "2"), target("d", "1")})
	e.until(1, export.UpMetric, "cluster", "d")
	e.until(1, export.UpMetric, "cluster", "c")
	for name, want := range map[string]int32{"a": 1, "b": 1, "c": 2, "d": 1} {
		if got := opened[name].Load(); got != want {
			t.Errorf("%s was opened %d times, want %d", name, got, want)
		}
	}
	e.want(math.NaN(), export.UpMetric, "cluster", "a")
	e.want(1, "shardsh_export_reload_successful")
}

// A forecast is made beside the reads, and told with the next one.
func TestExportForecasts(t *testing.T) {
	w := newWorld(t, strings.Replace(twoShards, `"stopped": true`, `"stopped": false`, 1), catalog.Release80, 1)
	e := startExport(t)
	e.Exporter.ForecastEvery = time.Hour
	e.SetTargets([]Target{w.target("eu")})
	for math.IsNaN(e.value("shardsh_balance_reachable")) {
		e.clock.settle(1)
		reads := e.value("shardsh_export_reads_total")
		e.clock.pass(time.Minute)
		e.until(reads+1, "shardsh_export_reads_total")
	}
	e.want(1, "shardsh_balance_reachable")
	e.want(0, "shardsh_time_to_balance_seconds", "bound", "high") // two small chunks are not moved
}

// The page of a cluster of a million chunks is there in less than 50 ms.
func TestExportOfAMillionChunks(t *testing.T) {
	if testing.Short() {
		t.Skip("a limit of time says nothing beside the race detector")
	}
	e := largeExport(t)
	began, size := time.Now(), new(bytes.Buffer)
	if err := e.Write(size, true); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 50*time.Millisecond {
		t.Errorf("the page of %d bytes took %v", size.Len(), took)
	}
	if !strings.Contains(size.String(), `ns="other"`) || size.Len() < 100_000 {
		t.Errorf("the page has %d bytes", size.Len())
	}
}

func largeExport(t testing.TB) *exporting {
	t.Helper()
	e := startExport(t)
	s := snaptest.Large(t, snaptest.Scale{Shards: 100, Collections: 50, Chunks: 1_000_000, SameChunkCounts: true})
	c := &exportTarget{Exporter: e.Exporter, target: Target{Name: "large"}, cancel: func() {}, up: true, readAt: e.clock.Now()}
	c.publish(export.ClusterReading{Report: check.Default().Check("large", check.Cluster{Diagnosis: diagnosis.Diagnose(s)}), Moves: &c.moves})
	e.clusters = append(e.clusters, c)
	return e
}

func BenchmarkExportPage(b *testing.B) {
	e := largeExport(b)
	for b.Loop() {
		if err := e.Write(&bytes.Buffer{}, false); err != nil {
			b.Fatal(err)
		}
	}
}

// Who asks for OpenMetrics gets it: counters are named without their end, and the page has one.
func TestExportSpeaksOpenMetrics(t *testing.T) {
	w, e := newWorld(t, twoShards, catalog.Release80, 1), startExport(t)
	e.SetTargets([]Target{w.target("eu")})
	e.clock.settle(1)
	ask := func(accept string) (kind, text string) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", nil)
		r.Header.Set("Accept", accept)
		answer := httptest.NewRecorder()
		e.Handler().ServeHTTP(answer, r)
		return answer.Header().Get("Content-Type"), answer.Body.String()
	}
	kind, text := ask("application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5")
	for _, part := range []string{"# TYPE shardsh_moves counter\nshardsh_moves_total{", "# TYPE shardsh_check_up gauge\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q", part)
		}
	}
	if !strings.HasSuffix(text, "\n# EOF\n") || !strings.HasPrefix(kind, "application/openmetrics-text; version=1.0.0") {
		t.Errorf("%s ends with %q", kind, text[len(text)-20:])
	}
	if kind, text := ask("*/*"); kind != plainMetrics || strings.Contains(text, "EOF") {
		t.Errorf("without asking it is %s", kind)
	}
}

func TestListen(t *testing.T) {
	page := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "page") })
	at, stop, err := ListenOptions{Address: "0", Users: map[string]string{"prom": "hunter2", "empty": ""}}.Serve(t.Context(), page)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	for _, tt := range []struct {
		user, password string
		want           int
	}{{"", "", 401}, {"prom", "hunter", 401}, {"other", "hunter2", 401}, {"other", "", 401}, {"prom", "hunter2", 200}} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+at, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.user != "" {
			r.SetBasicAuth(tt.user, tt.password)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != tt.want {
			t.Errorf("%s:%s gets %d, want %d", tt.user, tt.password, answer.StatusCode, tt.want)
		}
	}
	for address, local := range map[string]bool{"1": true, ":1": true, "127.0.0.1:1": true, "localhost:1": true, "[::1]:1": true,
		"0.0.0.0:1": false, "[::]:1": false, "10.0.0.1:1": false, "host:1": false} {
		if got := (ListenOptions{Address: address}).IsLocal(); got != local {
			t.Errorf("%s is local: %v", address, got)
		}
	}
}

func TestExportValidates(t *testing.T) {
	good := Export{Every: time.Minute, Timeout: time.Minute}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Export){
		"every": func(e *Export) { e.Every = time.Millisecond }, "stale": func(e *Export) { e.StaleAfter = time.Minute },
		"timeout": func(e *Export) { e.Timeout = 0 }, "forecast": func(e *Export) { e.ForecastEvery = -1 },
		"collections": func(e *Export) { e.MaxCollections = -1 },
	} {
		bad := good
		change(&bad)
		if err := bad.Validate(); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// asked notes the commands that a router gets.
type asked struct {
	wire.Handler
	mu    *sync.Mutex
	names map[string]bool
}

func (a asked) Handle(ctx context.Context, r wire.Request) bson.Raw {
	a.mu.Lock()
	a.names[r.Command] = true
	a.mu.Unlock()
	return a.Handler.Handle(ctx, r)
}

// Whatever is exported, no command changes anything.
func TestExportChangesNothing(t *testing.T) {
	w, e := newWorld(t, twoShards, catalog.Release80, 1), startExport(t)
	seen := asked{router.New(w.cluster, nil), new(sync.Mutex), map[string]bool{}}
	w.client = mocktest.Connect(t, seen)
	e.Heat, e.ForecastEvery = true, time.Hour
	e.SetTargets([]Target{w.target("eu")})
	for range 3 {
		e.clock.settle(1)
		reads := e.value("shardsh_export_reads_total")
		e.clock.pass(time.Hour)
		e.until(reads+1, "shardsh_export_reads_total")
	}
	seen.mu.Lock()
	defer seen.mu.Unlock()
	for name := range seen.names {
		if !live.IsReadCommand(name) {
			t.Errorf("it sends %s", name)
		}
	}
	if !seen.names["find"] || !seen.names["aggregate"] {
		t.Errorf("it sends only %v", seen.names)
	}
}
