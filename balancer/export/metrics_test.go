package export

import (
	"bytes"
	"flag"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/advisory"
	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/check"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/heat"
	"shardsh/balancer/report/machine"
)

func readingOf(s *catalog.Snapshot) ClusterReading {
	return ClusterReading{Report: check.Default().Check("eu", check.Cluster{Diagnosis: diagnosis.Diagnose(s)})}
}

// full is a reading that has a sample of every metric.
func full(s *catalog.Snapshot) ClusterReading {
	r := readingOf(s)
	r.Moves, r.Forecast = new(MoveCounter), &forecast.Forecast{Low: time.Minute, Likely: time.Hour, High: 2 * time.Hour}
	r.Advisories = []advisory.Hit{{Advisory: advisory.Advisory{ID: "SERVER-1"}}}
	r.Operations = map[catalog.ShardID]heat.Load{}
	for _, shard := range s.Shards() {
		r.Operations[shard.ID] = heat.Load{Reads: 1, Writes: 2}
	}
	return r
}

func page(t rapid.TB, list []machine.Family) string {
	t.Helper()
	var b bytes.Buffer
	for _, f := range list {
		if err := f.Write(&b); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// Names, units and kinds are as Prometheus wants them, and no series is there twice, whatever
// a cluster is like.
func TestConventions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := page(t, full(snaptest.Draw(t)).Families(rapid.IntRange(0, 3).Draw(t, "collections")))
		problems, err := promlint.New(strings.NewReader(text)).Lint()
		if err != nil || len(problems) > 0 {
			t.Fatalf("%v %v in\n%s", problems, err, text)
		}
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(text, -1) {
			if !slices.Contains(LabelNames(), label[1]) {
				t.Fatalf("Labels lacks %s", label[1])
			}
		}
		seen := map[string]bool{}
		for line := range strings.Lines(text) {
			series := line[:strings.LastIndexByte(line, ' ')]
			if line[0] != '#' && seen[series] {
				t.Fatalf("%s is there twice", series)
			}
			seen[series] = true
		}
	})
}

// Whatever is read, the metrics are the same, in the same order: pages of several clusters are
// put together by it.
func TestFamiliesAreAlwaysTheSame(t *testing.T) {
	names := func(list []machine.Family) (names []string) {
		for _, f := range list {
			names = append(names, f.Name+" "+f.Kind+" "+f.Help)
		}
		return names
	}
	want := names(ClusterReading{}.Families(0))
	rapid.Check(t, func(t *rapid.T) {
		if got := names(readingOf(snaptest.Draw(t)).Families(1)); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// value sums up the samples of a family that have some labels.
func value(list []machine.Family, name string, labels ...string) (sum float64, series int) {
	for _, f := range list {
		for _, s := range f.Samples {
			if f.Name == name && (len(labels) == 0 || has(s.Labels, labels)) {
				sum += s.Value
				series++
			}
		}
	}
	return sum, series
}

func has(labels, wanted []string) bool {
	for i := 0; i < len(wanted); i += 2 {
		at := slices.Index(labels, wanted[i])
		if at < 0 || labels[at+1] != wanted[i+1] {
			return false
		}
	}
	return true
}

// However few collections have series of their own, the sums over all stay what they are, and
// there are no more series than shards for each of those and the rest.
func TestBoundKeepsSums(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := snaptest.Draw(t)
		r, most := readingOf(s), rapid.IntRange(0, 4).Draw(t, "collections")
		all, few := r.Families(1000), r.Families(most)
		for _, name := range additiveMetrics {
			for _, shard := range s.Shards() {
				want, _ := value(all, name, "shard", string(shard.ID))
				got, series := value(few, name, "shard", string(shard.ID))
				if math.Abs(got-want) > 1e-6*math.Abs(want) {
					t.Fatalf("%s of %s is %v, all together are %v", name, shard.ID, got, want)
				}
				if series > most+1 {
					t.Fatalf("%s of %s has %d series for %d collections", name, shard.ID, series, most)
				}
			}
		}
	})
}

// The collection that is out of balance comes first, though another one is larger.
func TestWorst(t *testing.T) {
	one := func(ns string, n int, on func(i int) int) *catalog.CollectionState {
		return snaptest.NewCollection(t, ns, 2, n, func(i int) (int, int64) { return on(i), 64 << 20 })
	}
	s := snaptest.SnapshotOf(2,
		one("a.even", 200, func(i int) int { return i % 2 }),
		one("a.uneven", 40, func(int) int { return 0 }),
	)
	r := readingOf(s)
	if got := WorstCollections(r.Report.Result, 1); !got["a.uneven"] || len(got) != 1 {
		t.Errorf("the worst is %v", got)
	}
	list := r.Families(1)
	for _, want := range []struct {
		value  float64
		name   string
		labels []string
	}{
		{40, "shardsh_collection_chunks", []string{"ns", "a.uneven", "shard", "s00"}},
		{100, "shardsh_collection_chunks", []string{"ns", OtherNamespace, "shard", "s00"}},
		{100, "shardsh_collection_chunks", []string{"ns", OtherNamespace, "shard", "s01"}},
		{1, "shardsh_collections", []string{"state", "balanced"}},
		{1, "shardsh_collections", []string{"state", "unbalanced"}},
		{0, "shardsh_balanced", nil},
		{1, "shardsh_findings", []string{"code", "notBalanced"}},
	} {
		if got, series := value(list, want.name, want.labels...); got != want.value || series != 1 {
			t.Errorf("%s%v is %v in %d series, want %v", want.name, want.labels, got, series, want.value)
		}
	}
}

// A balancer that is on is 1.
func TestABalancerThatIsOnIsOne(t *testing.T) {
	s := snaptest.SnapshotOf(2)
	settings := s.Settings()
	for mode, want := range map[catalog.Mode]float64{catalog.ModeFull: 1, catalog.ModeOff: 0, catalog.ModeAutoSplitOnly: 0} {
		settings.Mode = mode
		got, series := value(readingOf(s.WithSettings(settings)).Families(0), "shardsh_balancer_enabled")
		if got != want || series != 1 {
			t.Errorf("mode %s has %v in %d series, want %v", mode, got, series, want)
		}
	}
}

// A forecast that says that the goal is not reached has no times.
func TestForecast(t *testing.T) {
	for _, tt := range []struct {
		f                 forecast.Forecast
		reachable, series float64
	}{
		{forecast.Forecast{Likely: time.Hour}, 1, 3},
		{forecast.Forecast{Likely: time.Hour, AssumesBalancerOn: true}, 0, 3},
		{forecast.Forecast{Never: true}, 0, 0},
	} {
		r := readingOf(snaptest.SnapshotOf(2))
		r.Forecast = &tt.f
		list := r.Families(0)
		got, _ := value(list, "shardsh_balance_reachable")
		_, series := value(list, "shardsh_time_to_balance_seconds")
		if got != tt.reachable || float64(series) != tt.series {
			t.Errorf("%+v is reachable %v, %d times", tt.f, got, series)
		}
	}
	_, series := value(readingOf(snaptest.SnapshotOf(2)).Families(0), "shardsh_balance_reachable")
	if series != 0 {
		t.Error("without a forecast nobody knows whether it is reached")
	}
}

// migration is the entry of a change log about a migration that ended.
func migration(t testing.TB, id string, at time.Time, problem string) catalog.LogEntry {
	t.Helper()
	details := bson.D{{Key: "min", Value: bson.D{{Key: "x", Value: 1}}}, {Key: "from", Value: "s00"},
		{Key: "to", Value: "s01"}, {Key: "note", Value: "success"}}
	if problem != "" {
		details[3] = bson.E{Key: "errmsg", Value: problem}
	}
	raw, err := bson.Marshal(bson.D{{Key: "_id", Value: id}, {Key: "time", Value: at},
		{Key: "what", Value: "moveChunk.from"}, {Key: "ns", Value: "a.b"}, {Key: "details", Value: details}})
	if err != nil {
		t.Fatal(err)
	}
	return catalog.ParseLogEntry(raw)
}

// Each migration counts once, however often its entry is read and in whatever order shards
// write it; what was over before the exporter began does not.
func TestMoves(t *testing.T) {
	at := func(seconds int) time.Time { return time.Unix(1_780_000_000+int64(seconds), 0) }
	entry := func(id string, seconds int) catalog.LogEntry { return migration(t, id, at(seconds), "") }
	var m MoveCounter
	for i, read := range []struct {
		entries []catalog.LogEntry
		want    donorCounts
	}{
		{[]catalog.LogEntry{entry("a", 0), entry("b", 10)}, donorCounts{}},
		{[]catalog.LogEntry{entry("a", 0), entry("b", 10)}, donorCounts{}},
		{[]catalog.LogEntry{entry("b", 10), entry("c", 10), entry("d", 20)}, donorCounts{moves: 2}},
		{[]catalog.LogEntry{entry("late", 5), entry("d", 20), migration(t, "bad", at(30), "lock")},
			donorCounts{moves: 3, failures: 1}},
		{[]catalog.LogEntry{entry("later", 7200)}, donorCounts{moves: 4, failures: 1}},
		{[]catalog.LogEntry{entry("d", 20), entry("later", 7200)}, donorCounts{moves: 4, failures: 1}},
	} {
		m.Add(read.entries)
		if got := m.byDonor["s00"]; got != read.want {
			t.Errorf("after read %d: %+v, want %+v", i, got, read.want)
		}
	}
}

var update = flag.Bool("update", false, "write the table of docs/export.md again")

// The page has every metric, with its labels. go test -run Page -update writes it.
func TestPage(t *testing.T) {
	const file, begin, end = "../../docs/export.md", "<!-- metrics: go test ./balancer/export -update -->\n", "\nOf the exporter itself"
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(data), begin)
	_, tail, found := strings.Cut(rest, end)
	if !found {
		t.Fatal("the page has no place for the table")
	}
	labels := map[string][]string{}
	rapid.Check(t, func(t *rapid.T) {
		for _, f := range full(leasedBy(snaptest.Draw(t))).Families(2) {
			for _, s := range f.Samples {
				for i := 2; i < len(s.Labels); i += 2 {
					if !slices.Contains(labels[f.Name], s.Labels[i]) {
						labels[f.Name] = append(labels[f.Name], s.Labels[i])
					}
				}
			}
		}
	})
	var b strings.Builder
	b.WriteString("| metric | labels | meaning |\n| --- | --- | --- |\n")
	for _, f := range (ClusterReading{}).Families(0) {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, strings.Join(labels[f.Name], ", "), f.Help)
	}
	want := head + begin + b.String() + end + tail
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want != string(data) && !*update {
		t.Error("docs/export.md is not what the table says: rewrite it with -update")
	}
}

// leasedBy has a run hold the lease.
func leasedBy(s *catalog.Snapshot) *catalog.Snapshot {
	parts := s.Parts()
	parts.Lease = &catalog.Lease{Doing: "balance", Host: "h", PID: 1, Running: true}
	return catalog.NewSnapshot(parts)
}
