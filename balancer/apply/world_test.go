package apply_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/enginetest"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
)

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func releases() []catalog.Release { return enginetest.Releases() }

// world is a mock cluster whose balancer is off, over the wire.
type world struct {
	testing.TB
	cluster *mock.Cluster
	client  *mongo.Client
	steps   *live.StepExecutor
}

func newWorld(t testing.TB, topology string, release catalog.Release, seed uint64) *world {
	t.Helper()
	w := &world{TB: t}
	w.cluster, w.client = mocktest.New(t, topology, mock.Config{Release: release, Start: noon, Seed: seed})
	var err error
	if w.steps, err = live.NewStepExecutor(t.Context(), live.NewCommandRunner(w.client)); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) snapshot() *catalog.Snapshot {
	w.Helper()
	s, err := live.NewReader(w.client, live.ReaderOptions{}).Read(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	return s
}

func (w *world) plan(goal plan.Goal) *plan.Plan {
	w.Helper()
	p, err := plan.Make(w.snapshot(), plan.Options{Goal: goal})
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// options are those of a run of a test: time is the mock's.
func (w *world) options() apply.Options { return apply.Options{Clock: w.cluster.Clock()} }

// pace is one by the mock's time.
func (w *world) pace(r pace.Rules) *pace.Gate { return pace.NewGate(r, w.cluster.Clock()) }

func (w *world) mustRun(p *plan.Plan, o apply.Options) apply.Result {
	w.Helper()
	r, err := apply.Run(w.Context(), w.steps, p, o)
	if err != nil || !r.Finished {
		w.Fatalf("finished %v, stopped %q, %v", r.Finished, r.Stopped, err)
	}
	return r
}

// layout lists who has what, in key order. Two layouts are equal where owners and
// bounds are.
func (w *world) layout() []string {
	w.Helper()
	var list []string
	for _, c := range w.snapshot().Collections() {
		if c.Unsplittable || strings.HasPrefix(c.Namespace, "config.") {
			continue
		}
		for chunk := range c.Table.All() {
			list = append(list, fmt.Sprintf("%s %s %s on %s", c.Namespace, chunk.Min, chunk.Max, chunk.Shard))
		}
	}
	return list
}

func (w *world) sameLayout(what string, want []string) {
	w.Helper()
	if got := w.layout(); !slices.Equal(got, want) {
		w.Errorf("%s:\n%s\nwant\n%s", what, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// uneven draws a topology: two collections, most chunks on the first shard, some
// of them larger than a chunk size, zones that chunks violate and overlap. All
// keys of a chunk are spread evenly.
func uneven(r *rand.Rand) string { return topology(r, false, true) }

// even is uneven with as much in every chunk.
func even(r *rand.Rand) string { return topology(r, true, true) }

func topology(r *rand.Rand, even, zoned bool) string {
	same := []int{40_000, 60_000, 160_000}[r.IntN(3)]
	shards := 3 + r.IntN(3)
	var b strings.Builder
	b.WriteString(`{"shards": [`)
	for i := range shards {
		zones := ""
		if i > 0 && i < 3 && zoned {
			zones = `, "zones": ["EU"]`
		}
		fmt.Fprintf(&b, `%s{"id": "s%d"%s}`, comma(i), i, zones)
	}
	b.WriteString(`], "settings": {"balancer": {"stopped": true}}, "databases": [{"name": "db", "primary": "s1"}],
		"collections": [`)
	for n := range 2 {
		fmt.Fprintf(&b, `%s{"ns": "db.c%d", "key": {"x": 1}, `, comma(n), n)
		if n == 1 && zoned {
			from := 500 + 1000*r.IntN(4)
			fmt.Fprintf(&b, `"zones": [{"zone": "EU", "min": {"x": %d}, "max": {"x": %d}}], `, from, from+1000+500*r.IntN(4))
		}
		b.WriteString(`"chunks": [`)
		chunks := 6 + r.IntN(12)
		for i := range chunks {
			documents := same // of 1 KiB
			if !even {
				documents = 40_000 + r.IntN(5)*60_000
			}
			fmt.Fprintf(&b, `%s{"shard": "s%d", "bytes": %d, "docs": %d`, comma(i), max(0, r.IntN(2*shards)-shards),
				1024*documents, documents)
			if i < chunks-1 {
				fmt.Fprintf(&b, `, "max": {"x": %d}`, 1000*(i+1))
			}
			b.WriteString("}")
		}
		b.WriteString("]}")
	}
	b.WriteString("]}")
	return b.String()
}

func comma(i int) string {
	if i == 0 {
		return ""
	}
	return ", "
}

// goals are those that the release knows.
func goals(release catalog.Release) []plan.Goal {
	list := []plan.Goal{{Kind: plan.Balance}, {Kind: plan.Drain, Shard: "s0"}, {Kind: plan.Zones}, {Kind: plan.Consolidate}}
	if release.Defragments() {
		list = append(list, plan.Goal{Kind: plan.Defragment})
	}
	return list
}
