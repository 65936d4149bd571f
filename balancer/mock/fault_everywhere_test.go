package mock_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// manyChunks is db.c in 12 chunks on three shards, a document of 100 kB in
// each, but for the first and the third: they are large, lie on one shard, and
// have a small one between them, so that every phase of a defragmentation has
// something to do.
func manyChunks(t *testing.T) *model {
	t.Helper()
	const layout = "010212012102"
	var chunks []string
	for i, shard := range layout[:11] {
		chunks = append(chunks, fmt.Sprintf(`{"shard": "shard%c", "max": {"k": %d}}`, shard, i+1))
	}
	m := newCluster(t, `{"shards": [{"id": "shard0"}, {"id": "shard1"}, {"id": "shard2"}],
	  "settings": {"balancer": {"mode": "off"}},
	  "collections": [{"ns": "db.c", "key": {"k": 1}, "chunkSizeMB": 1, "chunks": [`+strings.Join(chunks, ",")+`, {"shard": "shard2"}]}]}`,
		mock.Config{Parameters: map[string]any{"orphanCleanupDelaySecs": 0,
			"reshardingMinimumOperationDurationMillis": 2000}})
	for k := range 12 {
		size := 100_000
		if k == 0 || k == 2 {
			size = 300_000
		}
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", k, "k", k, "j", -k, "pad", make([]byte, size))}))
	}
	return m
}

// undertaking is something that takes many events.
type undertaking struct {
	name  string
	begin func(*testing.T, *model)
	// ended is asked with the lock held, and takes no time.
	ended func(*mock.Cluster) bool
	// phases of a defragmentation that must be met, in the order of their names.
	phases []string
	// check what must hold in the end besides that nothing is lost.
	check func(*testing.T, *model)
}

func undertakings() []undertaking {
	return []undertaking{
		{
			name: "defragmentation",
			begin: func(t *testing.T, m *model) {
				m.ok(t, "admin", d("configureCollectionBalancing", ns, "defragmentCollection", true))
				m.ok(t, "admin", d("balancerStart", 1))
			},
			ended: func(c *mock.Cluster) bool {
				for _, doc := range c.ConfigDB().Collection("collections").Scan() {
					if !doc.Lookup("defragmentCollection").IsZero() {
						return false
					}
				}
				return true
			},
			phases: []string{"mergeAndMeasureChunks", "mergeChunks", "moveAndMergeChunks"},
			check: func(t *testing.T, m *model) {
				// 10 × 100 kB and 2 × 300 kB in chunks of more than a quarter of 1 MiB.
				if n := m.count(t, "chunks", d()); n > 5 {
					t.Errorf("%d chunks are left, want 5 at most", n)
				}
			},
		},
		{
			name: "migration",
			begin: func(t *testing.T, m *model) {
				m.cluster.Lock()
				defer m.cluster.Unlock()
				m.cluster.Migrations().Start(mock.MoveRequest{
					Namespace: ns, From: "shard0", To: "shard1", Min: raw(t, d("k", 6)), Max: raw(t,
						d("k", 7)), MaxChunkSizeBytes: 1 << 20,
				}, func(error) {})
			},
			ended: func(c *mock.Cluster) bool {
				left := len(c.Migrations().List()) + c.Faults().State().UnfinishedMigrations
				for _, id := range []catalog.ShardID{"shard0", "shard1"} {
					left += c.Statistics().RangeDeletionCount(id)
				}
				return left == 0
			},
		},
		{
			name: "resharding",
			begin: func(_ *testing.T, m *model) {
				// Gives up waiting; the operation goes on.
				m.run("admin", d("reshardCollection", ns, "key", d("j", 1), "numInitialChunks", 3, "maxTimeMS", 1))
			},
			ended: func(c *mock.Cluster) bool { return len(c.Reshardings().List()) == 0 },
			check: func(t *testing.T, m *model) {
				if n := m.count(t, "collections", d("_id", ns, "key", d("j", 1))); n != 1 {
					t.Error("the collection has not got the new key")
				}
			},
		},
	}
}

// whole tells whether all twelve documents are visible, each once, and the
// catalog is sound.
func (m *model) whole() error {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if err := m.cluster.CheckInvariants(); err != nil {
		return err
	}
	seen := map[string]int{}
	for doc := range m.cluster.Documents(ns, (*filter.Filter)(nil)) {
		seen[doc.Lookup("_id").String()]++
	}
	for id, n := range seen {
		if n > 1 {
			return fmt.Errorf("_id %s is visible %d times", id, n)
		}
	}
	if len(seen) != 12 {
		return fmt.Errorf("%d documents are visible, want 12", len(seen))
	}
	return nil
}

// has asks the cluster something without taking time.
func (m *model) has(what func(*mock.Cluster) bool) bool {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	return what(m.cluster)
}

// nextEvent runs one event.
func (m *model) nextEvent() {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	m.cluster.RunNextEvent()
}

// await lets time go by until the undertaking has ended.
func (m *model) await(t *testing.T, u undertaking) bool {
	t.Helper()
	for range 60 {
		if m.has(u.ended) {
			return true
		}
		m.sleep(time.Minute)
	}
	return false
}

// trouble is something that happens to a cluster at one moment, and what mends
// it half a minute later.
type trouble struct {
	name  string
	begin func(*testing.T, *model)
}

// troubles are a step-down of the config server, a crash of each node, each partition between nodes,
// and, for each class of rules/02-defragmentation-and-merging §2.7, an error of the balancer's next
// command.
func troubles() []trouble {
	command := func(name string, doc bson.D) trouble {
		return trouble{name, func(t *testing.T, m *model) { m.ok(t, "admin", doc) }}
	}
	list := []trouble{command("step-down", d("mockStepDown", 1))}
	nodes := []string{"config", "shard0", "shard1", "shard2"}
	for _, node := range nodes {
		list = append(list, command("crash of "+node, d("mockCrash", node)))
	}
	for i, a := range nodes {
		for _, b := range nodes[i+1:] {
			list = append(list, command("partition of "+a+" and "+b, d("mockPartition", bson.A{a, b})))
		}
	}
	for _, class := range []struct {
		name string
		fail mock.Failure
	}{
		{"retriable error", mock.Failure{Code: mongoerr.NetworkTimeout}},
		{"stale without a wanted version", mock.Failure{Code: mongoerr.StaleConfig}},
		{"stale with a wanted version", mock.Failure{Code: mongoerr.StaleConfig, Extra: d("vWanted", d())}},
		{"too big", mock.Failure{Code: mongoerr.ChunkTooBig}},
		{"range deletion pending", mock.Failure{Code: mongoerr.OperationFailed,
			Message: "ExceededTimeLimit: range deletion"}},
		{"busy shard", mock.Failure{Code: mongoerr.ConflictingOperationInProgress}},
		{"other error", mock.Failure{Code: mongoerr.IllegalOperation}},
	} {
		list = append(list, trouble{class.name, func(t *testing.T, m *model) { m.failNextOfBalancer(t, class.fail) }})
	}
	return list
}

// failNextOfBalancer lets the next command that the balancer sends to a shard
// fail, whichever that is.
func (m *model) failNextOfBalancer(t *testing.T, f mock.Failure) {
	t.Helper()
	m.cluster.Lock()
	defer m.cluster.Unlock()
	armed := 0
	for _, name := range []string{"_shardsvrMoveRange", "mergeChunks", "dataSize"} {
		for _, shard := range []catalog.ShardID{"shard0", "shard1", "shard2"} {
			f.Command, f.Shard, f.Times = name, shard, 1
			if err := m.cluster.Faults().FailNext(f); err != nil {
				t.Fatal(err)
			}
			armed++
		}
	}
	for range 100 {
		if !m.cluster.RunNextEvent() || len(m.cluster.Faults().State().Failures) < armed {
			break
		}
	}
	if err := m.cluster.Faults().Heal(); err != nil {
		t.Fatal(err)
	}
}

// everyFault, when set, lets every trouble happen at every event; otherwise
// each event meets some of them in turn.
const everyFault = "SHARDSH_EVERY_FAULT"

// Whatever happens at whatever moment of a defragmentation, a migration or a
// resharding: it goes on or ends, and nothing is lost, doubled or left behind.
func TestFaultsAtEveryEvent(t *testing.T) {
	const inTurn = 4 // troubles an event meets in the usual run
	all := troubles()
	for _, u := range undertakings() {
		t.Run(u.name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && u.name == "defragmentation" {
				t.Skip("one goroutine, for long, like the migration, which is not skipped")
			}
			events, phases := pointsOf(t, u)
			t.Logf("%d events: %v", events, phases)
			for at := range events {
				met := all
				if os.Getenv(everyFault) == "" {
					met = nil
					for i := range inTurn {
						met = append(met, all[(at*inTurn+i)%len(all)])
					}
				}
				for _, what := range met {
					meetFault(t, u, what, at)
				}
			}
		})
	}
}

// pointsOf counts the events of an undertaking that nothing happens to, in all
// and by the phase of the defragmentation they find.
func pointsOf(t *testing.T, u undertaking) (events int, phases map[string]int) {
	t.Helper()
	m := manyChunks(t)
	u.begin(t, m)
	phases = map[string]int{}
	for ; !m.has(u.ended); events++ {
		m.has(func(c *mock.Cluster) bool {
			for _, doc := range c.ConfigDB().Collection("collections").Scan() {
				if phase, ok := doc.Lookup("defragmentationPhase").StringValueOK(); ok {
					phases[phase]++
				}
			}
			return true
		})
		m.nextEvent()
		if events > 10_000 {
			t.Fatal("it does not end even when nothing happens")
		}
	}
	if u.phases != nil && !slices.Equal(slices.Sorted(maps.Keys(phases)), u.phases) {
		t.Fatalf("events in the phases %v, want some in each of %v", phases, u.phases)
	}
	return events, phases
}

func meetFault(t *testing.T, u undertaking, what trouble, at int) {
	t.Helper()
	m := manyChunks(t)
	defer m.cluster.Close()
	u.begin(t, m)
	for range at {
		m.nextEvent()
	}
	what.begin(t, m)
	m.sleep(30 * time.Second)
	if err := m.whole(); err != nil {
		t.Errorf("%s at event %d: after half a minute: %v", what.name, at, err)
	}
	m.ok(t, "admin", d("mockRestart", 1))
	m.ok(t, "admin", d("mockHeal", 1))
	if !m.await(t, u) {
		t.Errorf("%s at event %d: it has not ended after an hour", what.name, at)
	}
	m.sleep(time.Minute) // range deletions
	if err := m.whole(); err != nil {
		t.Errorf("%s at event %d: in the end: %v", what.name, at, err)
	}
	if u.check != nil {
		u.check(t, m)
	}
	for _, part := range stats(m) {
		if part.Orphans != 0 {
			t.Errorf("%s at event %d: %d orphans on %s", what.name, at, part.Orphans, part.Shard)
		}
	}
	if t.Failed() {
		t.Fatalf("%s at event %d", what.name, at)
	}
}

func stats(m *model) []mock.LocalStats {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	return m.cluster.Statistics().Collection(ns)
}

// What the shards answer to a balancer that is gone is lost with it.
func TestRepliesOfAnOldTermAreLost(t *testing.T) {
	defragmentation := undertakings()[0]
	measured := func(m *model) (n int) {
		m.cluster.Lock()
		defer m.cluster.Unlock()
		for chunk := range m.cluster.ConfigDB().Table(ns).All() {
			if chunk.Estimate > 0 {
				n++
			}
		}
		return n
	}
	for at := range 40 {
		m := manyChunks(t)
		defragmentation.begin(t, m)
		for range at {
			m.nextEvent()
		}
		m.ok(t, "config", d("update", "settings", "updates",
			bson.A{d("q", d("_id", "balancer"), "u", d("$set", d("mode", "off")))}))
		m.ok(t, "admin", d("mockStepDown", 1)) // the next balancer does nothing
		before := measured(m)
		m.sleep(time.Second)
		if after := measured(m); after > before { // merges on their way end all the same
			t.Fatalf("event %d: %d chunks have estimates, %d had at the step-down", at, after, before)
		}
	}
}
