//go:build unix

package mixin

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/action"
	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/check"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

var fleetTime = flag.Duration("fleet", 45*time.Second, "how long a Prometheus watches the fleet; ten hours shrink to it")

// wall is the time on the wall.
type wall struct{}

func (wall) Now() time.Time { return time.Now() }

func (wall) Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

var _ apply.Clock = wall{}

// member is a cluster of the fleet, with what is wrong with it.
type member struct {
	name     string
	topology string
	fault    func(t *testing.T, c *mock.Cluster, client *mongo.Client)
	// alerts are those that fire, with the code of a finding. Those that are late need not in a
	// test that is over in a minute: a cluster with a shard down is read twice a minute.
	alerts []string
}

const late = "late "

// topologyOf has two shards and a collection. Each shard has two chunks of 1 MiB, or has more.
func topologyOf(shards, settings, chunks string) string {
	return `{"shards": [{"id": "s0"` + shards + `}, {"id": "s1"}], "settings": {` + settings + `},
	"databases": [{"name": "db", "primary": "s0"}], "collections": [{"ns": "db.c", "key": {"x": 1}` + chunks + `}]}`
}

const (
	evenChunks = `, "chunks": [{"shard": "s0", "bytes": 2097152, "docs": 2048, "max": {"x": 100}},
		{"shard": "s1", "bytes": 2097152, "docs": 2048}]`
	unevenChunks = `, "chunks": [{"shard": "s0", "bytes": 838860800, "docs": 819200, "max": {"x": 100}},
		{"shard": "s0", "bytes": 838860800, "docs": 819200, "max": {"x": 200}}, {"shard": "s0", "bytes": 838860800, "docs": 819200}]`
	jumboChunks = `, "chunks": [{"shard": "s0", "bytes": 2097152, "docs": 2048, "max": {"x": 100}, "jumbo": true},
		{"shard": "s1", "bytes": 2097152, "docs": 2048}]`
)

// manyChunks are 60 of 64 MiB, all on one shard.
func manyChunks() string {
	var list []string
	for i := 1; i < 60; i++ {
		list = append(list, fmt.Sprintf(`{"shard": "s0", "bytes": 67108864, "docs": 65536, "max": {"x": %d}}`, 100*i))
	}
	return `, "chunks": [` + strings.Join(list, ", ") + `, {"shard": "s0", "bytes": 67108864, "docs": 65536}]`
}

func faultyMembers() []member {
	locked := func(t *testing.T, c *mock.Cluster, work func() error) {
		t.Helper()
		c.Lock()
		defer c.Unlock()
		if err := work(); err != nil {
			t.Fatal(err)
		}
	}
	return []member{
		{"off", topologyOf("", `"balancer": {"stopped": true}`, unevenChunks), nil, []string{"ShardshFinding balancerOff"}},
		{"down", topologyOf("", "", evenChunks), nil, []string{"ShardshClusterDown"}},
		{"crashed", topologyOf("", "", evenChunks), func(t *testing.T, c *mock.Cluster, _ *mongo.Client) {
			locked(t, c, func() error { return c.Faults().Crash("s1") })
		}, []string{"ShardshCriticalFinding shardUnreachable", "ShardshFinding balanceUnknown",
			late + "ShardshFinding roundsFailing"}},
		{"jumbo", topologyOf("", "", jumboChunks), nil, []string{"ShardshFinding jumboChunks"}},
		{"held", topologyOf("", "", unevenChunks+`, "noBalance": true`), nil, []string{"ShardshFinding notBalancedHeld", "ShardshUneven"}},
		{"full", topologyOf(`, "disk": "1GB"`, `"balancer": {"stopped": true}`, `, "chunks": [
			{"shard": "s0", "bytes": 940000000, "docs": 918000, "max": {"x": 100}}, {"shard": "s1", "bytes": 940000000, "docs": 918000}]`),
			nil, []string{"ShardshDiskFull"}},
		{"paused", topologyOf("", "", evenChunks), func(t *testing.T, _ *mock.Cluster, client *mongo.Client) {
			_, err := action.PauseRuns{Reason: "incident", For: time.Hour}.Run(t.Context(), action.Cluster{Client: client, Clock: wall{}})
			if err != nil {
				t.Fatal(err)
			}
		}, []string{"ShardshRunsPaused"}},
		{"running", topologyOf("", `"balancer": {"stopped": true}`, manyChunks()), nil, []string{"ShardshFinding balancerOff"}},
		{"failing", topologyOf("", "", unevenChunks), func(t *testing.T, c *mock.Cluster, _ *mongo.Client) {
			locked(t, c, func() error { return c.Faults().Partition("s0", "s1") })
		}, []string{"ShardshFinding migrationsFailing", "ShardshMovesFail", "ShardshNothingMoves",
			"ShardshUneven"}},
	}
}

// A Prometheus watches a fleet of 20 clusters, nine of which are not well. The alerts that should
// fire do, and no others; what passes fires no more; and every panel has something to show.
func TestFleet(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute, most of it in a program that isn't ours")
	}
	t.Parallel()
	prometheus := program(t, "prometheus")
	var down atomic.Bool
	targets, want := fleet(t, &down)
	exporter, at := exportFleet(t, targets)
	run := startRun(t, targets[slices.IndexFunc(targets, func(target action.Target) bool { return target.Name == "running" })])
	server := startPrometheus(t, prometheus, at, run)
	exporter.RecordReloadFailure() // as if the file of targets were wrong
	want["ShardshTargetsNotReloaded"] = true
	began, third := time.Now(), *fleetTime/3
	firing := func() bool { return server.alerts(t, `ALERTS{alertstate="firing"}`)["ShardshClusterDown down"] }
	sleep(t, third/2)
	down.Store(true)
	await(t, third, firing)
	down.Store(false)
	await(t, third, func() bool { return !firing() })
	sleep(t, *fleetTime*2/3-time.Since(began)) // what should not fire has had the time to
	server.comparePanels(t)
	await(t, *fleetTime-time.Since(began), func() bool {
		fired := server.fired(t)
		for alert, must := range want {
			if must && !fired[alert] {
				return false
			}
		}
		return true
	})

	fired := server.fired(t)
	for alert, must := range want {
		if !fired[alert] && must {
			t.Errorf("%s has not fired", alert)
		}
	}
	for alert := range fired {
		if _, wanted := want[alert]; !wanted {
			t.Errorf("%s has fired", alert)
		}
	}
	if now := server.alerts(t, `ALERTS{alertstate="firing"}`); now["ShardshClusterDown down"] {
		t.Error("ShardshClusterDown fires on when the cluster can be read again")
	}
	t.Logf("%d alerts have fired in %v, and no others: %v", len(fired), time.Since(began), fired)
	server.draw(t)
}

// await waits until something is so, for so long at most.
func await(t *testing.T, most time.Duration, so func() bool) {
	t.Helper()
	for end := time.Now().Add(most); time.Now().Before(end) && !so(); {
		sleep(t, 500*time.Millisecond)
	}
}

func sleep(t *testing.T, d time.Duration) {
	t.Helper()
	if err := (wall{}).Sleep(t.Context(), d); err != nil {
		t.Fatal(err)
	}
}

// fleet makes the clusters, and returns which alerts may fire, and whether they must.
func fleet(t *testing.T, down *atomic.Bool) (targets []action.Target, want map[string]bool) {
	t.Helper()
	members, want := faultyMembers(), map[string]bool{}
	for i := len(members); i < 20; i++ {
		members = append(members, member{name: fmt.Sprintf("well%02d", i), topology: topologyOf("", "", evenChunks)})
	}
	for _, m := range members {
		cluster := mocktest.Cluster(t, m.topology, mock.Config{Release: catalog.Release80, RealTime: true})
		var mayFail atomic.Bool
		falls := &mayFail
		if m.name == "down" {
			falls = down
		}
		client := mocktest.Connect(t, fallible{router.New(cluster, nil), falls})
		if m.fault != nil {
			m.fault(t, cluster, client)
		}
		for _, alert := range m.alerts {
			alert, isLate := strings.CutPrefix(alert, late)
			name, code, _ := strings.Cut(alert, " ")
			want[strings.TrimSpace(name+" "+m.name+" "+code)] = !isLate || *fleetTime >= 5*time.Minute
		}
		targets = append(targets, action.Target{Name: m.name, Labels: []string{"env", "test"},
			Open: func(context.Context) (action.Source, func(), error) {
				origin := catalog.Source{Kind: catalog.SourceMock}
				return action.Source{Client: client, Clock: wall{}, Origin: origin}, func() {}, nil
			}})
	}
	return targets, want
}

// startRun has a cluster be balanced as slowly as the test takes, and returns where the run has its
// metrics.
func startRun(t *testing.T, target action.Target) (at string) {
	t.Helper()
	source, _, err := target.Open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	at = freePort(t)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := action.Balance{All: true, PlanFirst: true,
			Pace: action.Pace{Parallel: 1, MetricsAddress: at, PauseBetween: *fleetTime / 25, MaxBytes: action.NoLimit}}.Run(ctx,
			action.Cluster{Client: source.Client, Clock: wall{}}, nil)
		done <- err
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	return at
}

// fallible is a router that answers greetings alone while it is down.
type fallible struct {
	wire.Handler
	down *atomic.Bool
}

func (f fallible) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if !f.down.Load() || slices.Contains([]string{"hello", "isMaster", "ismaster"}, r.Command) {
		return f.Handler.Handle(ctx, r)
	}
	reply, err := bson.Marshal(bson.D{{Key: "ok", Value: 0}, {Key: "code", Value: 6}, {Key: "errmsg", Value: "no route to host"},
		{Key: "codeName", Value: "HostUnreachable"}})
	if err != nil {
		panic(err)
	}
	return reply
}

// exportFleet starts the exporter.
func exportFleet(t *testing.T, targets []action.Target) (x *action.Exporter, at string) {
	t.Helper()
	x, err := action.Export{Policy: check.Default(), Every: time.Second, StaleAfter: 10 * time.Second, Timeout: 20 * time.Second,
		ForecastEvery: 20 * time.Second, MaxCollections: 5, Heat: true, Clock: wall{}, Log: slog.New(slog.DiscardHandler),
		DescribeError: error.Error}.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(x.Close)
	x.SetTargets(targets)
	at, stop, err := action.ListenOptions{Address: "0"}.Serve(t.Context(), x.Handler())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return x, at
}

// promServer is a Prometheus under way.
type promServer struct{ at string }

var (
	pending = regexp.MustCompile(`(?m)for: (\w+)`)
	ranges  = regexp.MustCompile(`(\[|offset )(\d+[hm])\b`)
)

// shrunk returns a file of rules in which ten hours are as long as the test.
func shrunk(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	short := func(text string, least time.Duration) string {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		d = time.Duration(float64(d) * fleetTime.Hours() / 10)
		return fmt.Sprintf("%ds", int(max(d, least).Seconds()))
	}
	text := pending.ReplaceAllStringFunc(string(data), func(m string) string {
		return "for: " + short(pending.FindStringSubmatch(m)[1], 8*time.Second) // the first scrape takes up to six
	})
	return ranges.ReplaceAllStringFunc(text, func(m string) string {
		parts := ranges.FindStringSubmatch(m)
		return parts[1] + short(parts[2], 10*time.Second)
	})
}

func startPrometheus(t *testing.T, program string, targets ...string) *promServer {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("rules.yaml", shrunk(t, "rules.yaml"))
	write("alerts.yaml", shrunk(t, "alerts.yaml"))
	config := write("prometheus.yaml", `global: { scrape_interval: 1s, evaluation_interval: 1s }
rule_files: [rules.yaml, alerts.yaml]
scrape_configs: [{ job_name: shardsh, static_configs: [{ targets: ["`+strings.Join(targets, `", "`)+`"] }] }]
`)
	port := freePort(t)
	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+port, "--log.level=error")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var log strings.Builder
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("Prometheus says\n%s", log.String())
		}
	})
	s := &promServer{port}
	for deadline := time.Now().Add(30 * time.Second); ; sleep(t, 50*time.Millisecond) {
		if _, err := s.get(t, "/-/ready", nil); err == nil {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatal("Prometheus does not start")
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	at, stop, err := action.ListenOptions{Address: "0"}.Serve(t.Context(), http.NotFoundHandler())
	if err != nil {
		t.Fatal(err)
	}
	stop()
	return at
}

func (s *promServer) get(t *testing.T, path string, query url.Values) (body json.RawMessage, err error) {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+s.at+path+"?"+query.Encode(), nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, errors.New(answer.Status)
	}
	if !strings.HasPrefix(path, "/api") {
		return nil, nil
	}
	var reply struct {
		Data struct{ Result json.RawMessage }
	}
	err = json.NewDecoder(answer.Body).Decode(&reply)
	return reply.Data.Result, err
}

// series is a series of an answer: Value of one moment, or Values of several.
type series struct {
	Metric map[string]string
	Value  [2]any
	Values [][2]any
}

func (s *promServer) ask(t *testing.T, query string) (list []series) {
	t.Helper()
	body, err := s.get(t, "/api/v1/query", url.Values{"query": {query}})
	if err == nil {
		err = json.Unmarshal(body, &list)
	}
	if err != nil {
		t.Errorf("%s: %v", query, err)
	}
	return list
}

// alerts returns alerts with their cluster and code.
func (s *promServer) alerts(t *testing.T, query string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, a := range s.ask(t, query) {
		found[strings.Join(slices.DeleteFunc([]string{a.Metric["alertname"], a.Metric["cluster"], a.Metric["code"]},
			func(s string) bool { return s == "" }), " ")] = true
	}
	return found
}

// fired returns the alerts that have fired.
func (s *promServer) fired(t *testing.T) map[string]bool {
	t.Helper()
	return s.alerts(t, fmt.Sprintf(`max_over_time(ALERTS{alertstate="firing"}[%ds])`, int(fleetTime.Seconds())+1))
}

// filled is a query of a panel for all that there is.
func filled(query string) string {
	query = strings.NewReplacer("$cluster", ".*", "$ns", ".*").Replace(query)
	return strings.ReplaceAll(query, "[5m]", "[15s]")
}

// comparePanels compares what panels ask with what there is.
func (s *promServer) comparePanels(t *testing.T) {
	t.Helper()
	for _, d := range dashboards() {
		for _, p := range d.panels {
			for _, query := range p.queries {
				if list := s.ask(t, filled(query)); len(list) == 0 && p.may == "" {
					t.Errorf("%s: %s: there is nothing for %s", d.name, p.title, query)
				}
			}
		}
	}
}
