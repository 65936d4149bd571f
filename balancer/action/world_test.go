package action

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/plan"
)

var full = flag.Bool("full", false, "many random clusters and moments, not a few")

func releases() []catalog.Release {
	return []catalog.Release{
		catalog.Release44, catalog.Release50, catalog.Release60, catalog.Release70, catalog.Release80, catalog.Release83,
		catalog.Release80.WithPatch(20), catalog.Release82.WithPatch(5), catalog.Release82.WithPatch(6), catalog.Release90,
	}
}

// world is a mock cluster over the wire.
type world struct {
	testing.TB
	cluster   *mock.Cluster
	client    *mongo.Client
	release   catalog.Release
	documents map[string]int64
	settings  *options.ClientOptions // with which members are reached; nil reaches none
	runner    *mongo.Client          // of a user who has no more than a run needs; nil where all may do all
}

func newWorld(t testing.TB, topology string, release catalog.Release, seed uint64) *world {
	t.Helper()
	w := &world{TB: t, release: release}
	w.cluster, w.client = mocktest.New(t, topology, mock.Config{
		Release: release, Start: time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC), Seed: seed,
	})
	w.documents = w.count()
	return w
}

// scattered draws a topology: small chunks of two collections, most of them beside
// one of another shard, one collection with zones. The balancer is on or off.
func scattered(r *rand.Rand, balancer string) string {
	shards := 3 + r.IntN(2)
	var b strings.Builder
	b.WriteString(`{"shards": [`)
	for i := range shards {
		zones := ""
		if i == 1 || i == 2 {
			zones = `, "zones": ["EU"]`
		}
		fmt.Fprintf(&b, `%s{"id": "s%d"%s}`, comma(i), i, zones)
	}
	fmt.Fprintf(&b, `], "settings": {%s}, "databases": [{"name": "db", "primary": "s1"}, {"name": "app", "primary": "s0"}],
		"collections": [`, balancer)
	for n := range 2 {
		fmt.Fprintf(&b, `%s{"ns": "db.c%d", "key": {"x": 1}, `, comma(n), n)
		chunks := 12 + r.IntN(12)
		if n == 1 {
			fmt.Fprintf(&b, `"zones": [{"zone": "EU", "min": {"x": 3000}, "max": {"x": %d}}], `, 5000+500*r.IntN(4))
		}
		b.WriteString(`"chunks": [`)
		for i := range chunks {
			documents := 1000 + r.IntN(30)*1000 // of 1 KiB
			on := r.IntN(shards)
			if n == 1 && i >= 3 && i < 7 {
				on = 1 + r.IntN(2)
			}
			fmt.Fprintf(&b, `%s{"shard": "s%d", "bytes": %d, "docs": %d`, comma(i), on, 1024*documents, documents)
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
	p, err := plan.Make(w.snapshot(), plan.Options{Goal: goal, IgnoreWindow: true})
	if err != nil {
		w.Fatal(err)
	}
	return p
}

func (w *world) actionCluster() Cluster {
	return Cluster{Client: w.client, ClientOptions: w.settings, Clock: w.cluster.Clock()}
}

// reach carries a plan to a goal out.
func (w *world) reach(goal plan.Goal, change func(*apply.Options, *leasedRun)) (apply.Result, error) {
	w.Helper()
	l, err := w.actionCluster().acquire(w.Context(), live.NewCommandRunner(w.client), string(goal.Kind), false)
	if err != nil {
		w.Fatal(err)
	}
	work, err := apply.Begin(w.plan(goal), "")
	if err != nil {
		w.Fatal(err)
	}
	o := apply.Options{Clock: w.cluster.Clock(), ChangePolicy: apply.ReplanOnChange, PauseBalancing: true, Parallel: 2}
	if change != nil {
		change(&o, l)
	}
	return l.run(w.Context(), work, o, nil, &serialReporter{})
}

// count counts the documents of all collections.
func (w *world) count() map[string]int64 {
	w.Helper()
	list := map[string]int64{}
	for _, ns := range []string{"db.c0", "db.c1", "app.small"} {
		database, name, _ := strings.Cut(ns, ".")
		n, err := w.client.Database(database).Collection(name).CountDocuments(w.Context(), bson.D{})
		if err != nil {
			w.Fatal(err)
		}
		list[ns] = n
	}
	return list
}

// well checks that the cluster is consistent, has all documents, that nothing stays
// switched off, and nobody's turn.
func (w *world) well() {
	w.Helper()
	if err := w.cluster.CheckInvariants(); err != nil {
		w.Error(err)
	}
	for ns, n := range w.count() {
		if n != w.documents[ns] {
			w.Errorf("%s has %d documents, had %d", ns, n, w.documents[ns])
		}
	}
	for _, c := range w.snapshot().Collections() {
		if c.NoBalance {
			w.Errorf("the balancing of %s is off", c.Namespace)
		}
	}
	leases, err := live.LeaseCollectionOf(w.client).CountDocuments(w.Context(), bson.D{})
	if err != nil || leases != 0 {
		w.Errorf("%d leases stay, %v", leases, err)
	}
}

// chunks counts those of each collection.
func (w *world) chunks() map[string]int64 {
	w.Helper()
	list := map[string]int64{}
	for _, c := range w.snapshot().Collections() {
		if strings.HasPrefix(c.Namespace, "db.") {
			list[c.Namespace] = c.Count().Chunks
		}
	}
	return list
}
