package mock_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store"
)

// manyChunks is db.c in 12 chunks that lie on three shards in turn, a document
// of 100 kB in each.
func manyChunks(t *testing.T) *model {
	t.Helper()
	var chunks []string
	for i := range 11 {
		chunks = append(chunks, fmt.Sprintf(`{"shard": "shard%d", "max": {"k": %d}}`, i%3, i+1))
	}
	m := newCluster(t, `{"shards": [{"id": "shard0"}, {"id": "shard1"}, {"id": "shard2"}],
	  "settings": {"balancer": {"mode": "off"}},
	  "collections": [{"ns": "db.c", "key": {"k": 1}, "chunkSizeMB": 1, "chunks": [`+strings.Join(chunks, ",")+`, {"shard": "shard2"}]}]}`,
		mock.Config{Parameters: map[string]any{"orphanCleanupDelaySecs": 0, "reshardingMinimumOperationDurationMillis": 2000}})
	for k := range 12 {
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", k, "k", k, "j", -k, "pad", make([]byte, 100_000))}))
	}
	return m
}

// undertaking is something that takes many events.
type undertaking struct {
	name  string
	begin func(*testing.T, *model)
	// ended is asked with the lock held, and takes no time.
	ended func(*mock.Cluster) bool
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
				for _, doc := range c.Config("collections").Scan() {
					if !doc.Lookup("defragmentCollection").IsZero() {
						return false
					}
				}
				return true
			},
			check: func(t *testing.T, m *model) {
				// 12 × 100 kB in chunks of more than a quarter of 1 MiB.
				if n := m.count(t, "chunks", d()); n > 4 {
					t.Errorf("%d chunks are left, want 4 at most", n)
				}
			},
		},
		{
			name: "migration",
			begin: func(t *testing.T, m *model) {
				m.cluster.Lock()
				defer m.cluster.Unlock()
				m.cluster.StartMove(mock.MoveRequest{
					Namespace: ns, From: "shard0", To: "shard1", Min: raw(t, d("k", 3)), Max: raw(t, d("k", 4)), MaxChunkSizeBytes: 1 << 20,
				}, func(error) {})
			},
			ended: func(c *mock.Cluster) bool {
				left := len(c.Migrations()) + c.FaultState().Unfinished
				for _, id := range []catalog.ShardID{"shard0", "shard1"} {
					left += c.ScheduledDeletions(id)
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
			ended: func(c *mock.Cluster) bool { return len(c.Reshardings()) == 0 },
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
	if err := m.cluster.Invariants(); err != nil {
		return err
	}
	seen := map[string]int{}
	for doc := range m.cluster.Documents(ns, (*store.Filter)(nil)) {
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

// Whatever happens at whatever moment of a defragmentation, a migration or a
// resharding: it goes on or ends, and nothing is lost, doubled or left behind.
func TestFaultsAtEveryEvent(t *testing.T) {
	const mostRuns = 60 // of each fault in each undertaking
	faults := []bson.D{d("mockStepDown", 1), d("mockCrash", "config"), d("mockCrash", "shard0"), d("mockCrash", "shard1"), d("mockCrash", "shard2")}
	for _, u := range undertakings() {
		t.Run(u.name, func(t *testing.T) {
			m := manyChunks(t)
			u.begin(t, m)
			events := 0
			for ; !m.has(u.ended); events++ {
				m.nextEvent()
				if events > 10_000 {
					t.Fatal("it does not end even when nothing happens")
				}
			}
			step := events/mostRuns + 1
			t.Logf("%d events, a fault at every %d", events, step)
			for i, fault := range faults {
				for at := i % step; at < events; at += step {
					meetFault(t, u, fault, at)
				}
			}
		})
	}
}

func meetFault(t *testing.T, u undertaking, fault bson.D, at int) {
	t.Helper()
	m := manyChunks(t)
	defer m.cluster.Close()
	u.begin(t, m)
	for range at {
		m.nextEvent()
	}
	m.ok(t, "admin", fault)
	m.sleep(30 * time.Second)
	if err := m.whole(); err != nil {
		t.Errorf("%v at event %d: after half a minute: %v", fault, at, err)
	}
	m.ok(t, "admin", d("mockRestart", 1))
	if !m.await(t, u) {
		t.Errorf("%v at event %d: it has not ended after an hour", fault, at)
	}
	m.sleep(time.Minute) // range deletions
	if err := m.whole(); err != nil {
		t.Errorf("%v at event %d: in the end: %v", fault, at, err)
	}
	if u.check != nil {
		u.check(t, m)
	}
	for _, part := range stats(m) {
		if part.Orphans != 0 {
			t.Errorf("%v at event %d: %d orphans on %s", fault, at, part.Orphans, part.Shard)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func stats(m *model) []mock.LocalStats {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	return m.cluster.Stats(ns)
}

// What the shards answer to a balancer that is gone is lost with it.
func TestRepliesOfAnOldTermAreLost(t *testing.T) {
	defragmentation := undertakings()[0]
	measured := func(m *model) (n int) {
		m.cluster.Lock()
		defer m.cluster.Unlock()
		for chunk := range m.cluster.Table(ns).All() {
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
		m.ok(t, "config", d("update", "settings", "updates", bson.A{d("q", d("_id", "balancer"), "u", d("$set", d("mode", "off")))}))
		m.ok(t, "admin", d("mockStepDown", 1)) // the next balancer does nothing
		before := measured(m)
		m.sleep(time.Second)
		if after := measured(m); after > before { // merges on their way end all the same
			t.Fatalf("event %d: %d chunks have estimates, %d had at the step-down", at, after, before)
		}
	}
}
