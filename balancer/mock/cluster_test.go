package mock_test

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
)

// Nothing is lost, doubled or left uncovered, whatever commands and
// migrations meet; and the balancer comes to rest and stays there.
func TestRandomOperations(t *testing.T) {
	check(t, 20, func(t *rapid.T) {
		m := newModel(t)
		defer m.cluster.Close()
		t.Repeat(m.actions())
		m.comeToRest(t)
	})
}

func (m *model) comeToRest(t *rapid.T) {
	m.mend(t)
	m.drainNone(t)
	// Forced moves of jumbo chunks may go back and forth for ever.
	m.set(t, "settings", "balancer", d("$unset", d("activeWindow", "", "attemptToBalanceJumboChunks", "")))
	for _, name := range namespaces {
		m.keyIndex(name)
		m.run("admin", d("setAllowMigrations", name, "allowMigrations", true))
		m.run("admin", d("configureCollectionBalancing", name, "enableBalancing", true))
	}
	m.run("admin", d("balancerStart", 1))
	m.sleep(time.Hour)
	m.check(t)
	for _, name := range namespaces {
		reply, ok := m.run("admin", d("balancerCollectionStatus", name))
		if compliant, _ := reply.Lookup("balancerCompliant").BooleanOK(); ok && !compliant {
			t.Fatalf("%s is not at rest after an hour: %s\nafter %q", name, reply, m.log)
		}
	}
	moves := m.moves(t)
	m.sleep(20 * time.Minute)
	if got := m.moves(t); got != moves {
		t.Fatalf("%d moves after coming to rest\nafter %q", got-moves, m.log)
	}
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if left := m.cluster.Migrations().List(); len(left) > 0 {
		t.Fatalf("migrations never ended: %v\nafter %q", left, m.log)
	}
	for _, name := range namespaces {
		for _, part := range m.cluster.Statistics().Collection(name) {
			if part.Orphans != 0 {
				t.Fatalf("%s has %d orphans of %s\nafter %q", part.Shard, part.Orphans, name, m.log)
			}
		}
	}
}

// shardKeyIndex makes the index of a shard key that is hashed, which may be gone.
func (m *model) keyIndex(name string) {
	m.cluster.Lock()
	coll, err := m.cluster.ConfigDB().RequireSharded(name)
	m.cluster.Unlock()
	if err == nil {
		db, name := split(name)
		m.run(db, d("createIndexes", name, "indexes", bson.A{d("key", coll.Pattern.Doc(), "name", "of the key")}))
	}
}

func (m *model) moves(t *rapid.T) int64 {
	reply := m.must(t, "config", d("count", "changelog", "query", d("what", "moveChunk.from")))
	return reply.Lookup("n").AsInt64()
}

// The same seed gives the same run.
func TestSameSeedSameRun(t *testing.T) {
	run := func() string {
		c, err := mock.New(mock.Config{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Seed: 7,
			Topology: mock.DefaultTopology(5)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		m := &model{cluster: c, router: router.New(c, nil)}
		m.run("config", d("update", "settings", "updates", bson.A{d("q", d("_id", "chunksize"), "u", d("$set", d("value", 1)),
			"upsert", true)}))
		m.run("admin", d("shardCollection", ns, "key", d("k", 1)))
		for i := range 300 {
			m.run("db", d("insert", "c", "documents", bson.A{d("k", i, "pad", make([]byte, 50_000))}))
		}
		m.sleep(time.Hour)
		reply, _ := m.run("config", d("find", "changelog", "filter", d(), "batchSize", 10_000))
		return reply.Lookup("cursor").String()
	}
	first, second := run(), run()
	if len(first) < 1000 || first != second {
		t.Errorf("two runs with one seed differ (%d and %d bytes of change log)", len(first), len(second))
	}
}
