package mock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/wire"
)

const ns = "db.c"

// model drives a cluster with random commands and remembers what must be
// readable.
type model struct {
	cluster *mock.Cluster
	router  *router.Router
	docs    map[int64]int64 // _id to the value last acknowledged
	next    int64
	shards  int
	zones   []string
	log     []string
}

func (m *model) run(db string, command bson.D) (bson.Raw, bool) {
	body, err := bson.Marshal(command)
	if err != nil {
		panic(err)
	}
	reply := m.router.Handle(context.Background(), wire.Request{
		Database: db, Command: command[0].Key, Body: body, Client: &wire.Client{ID: 1},
	})
	n, _ := reply.Lookup("ok").AsFloat64OK()
	ok := n == 1 && reply.Lookup("writeErrors").IsZero()
	if command[0].Key == "insert" {
		command = d("insert", "some")
	}
	m.log = append(m.log, fmt.Sprintf("%v -> %v", command, ok))
	return reply, ok
}

func (m *model) must(t *rapid.T, db string, command bson.D) bson.Raw {
	reply, ok := m.run(db, command)
	if !ok {
		t.Fatalf("%v answered %s", command, reply)
	}
	return reply
}

func (m *model) sleep(d time.Duration) {
	if err := m.cluster.Clock().Sleep(context.Background(), d); err != nil {
		panic(err)
	}
}

func d(pairs ...any) bson.D {
	doc := bson.D{}
	for i := 0; i < len(pairs); i += 2 {
		doc = append(doc, bson.E{Key: pairs[i].(string), Value: pairs[i+1]})
	}
	return doc
}

func newModel(t *rapid.T) *model {
	shards := rapid.IntRange(2, 5).Draw(t, "shards")
	c, err := mock.New(mock.Config{
		Topology: mock.DefaultTopology(shards),
		Start:    time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		Seed:     rapid.Uint64().Draw(t, "seed"),
		Parameters: map[string]any{
			"orphanCleanupDelaySecs": rapid.SampledFrom([]int{0, 5, 900}).Draw(t, "orphanCleanupDelaySecs"),
			"rangeDeleterBatchSize":  rapid.SampledFrom([]int{0, 3}).Draw(t, "rangeDeleterBatchSize"),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{cluster: c, router: router.New(c, nil), docs: map[int64]int64{}, shards: shards}
	m.must(t, "config", d("update", "settings", "updates", bson.A{d("q", d("_id", "chunksize"), "u", d("$set", d("value", 1)), "upsert", true)}))
	key := rapid.SampledFrom([]bson.D{d("k", 1), d("k", "hashed"), d("k", 1, "j", 1)}).Draw(t, "key")
	m.must(t, "admin", d("shardCollection", ns, "key", key))
	return m
}

// key of a document: a bound of the collection's own shape.
func (m *model) bound(t *rapid.T) bson.D {
	m.cluster.Lock()
	coll, err := m.cluster.Sharded(ns)
	m.cluster.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	bound := bson.D{}
	for i, field := range coll.Pattern.Fields() {
		if coll.Pattern.HashedField() == i {
			bound = append(bound, bson.E{Key: field, Value: rapid.Int64().Draw(t, "hash")})
		} else {
			bound = append(bound, bson.E{Key: field, Value: rapid.Int32Range(-60, 60).Draw(t, "bound")})
		}
	}
	return bound
}

func (m *model) chunk(t *rapid.T) (min, max bson.Raw) {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	table := m.cluster.Table(ns)
	chunk := table.At(rapid.IntRange(0, table.Len()-1).Draw(t, "chunk"))
	return table.Pattern().Bound(chunk.Min), table.Pattern().Bound(chunk.Max)
}

func (m *model) shard(t *rapid.T) string {
	return fmt.Sprintf("shard%d", rapid.IntRange(0, m.shards-1).Draw(t, "shard"))
}

func (m *model) anyID(t *rapid.T) int64 {
	if m.next == 0 {
		return 0
	}
	return rapid.Int64Range(0, m.next-1).Draw(t, "id")
}

// actions of the random walk. Refused commands must change nothing; that is
// what the check after each action sees.
func (m *model) actions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"insert": func(t *rapid.T) {
			n := rapid.IntRange(1, 12).Draw(t, "n")
			for range n {
				id := m.next
				m.next++
				k, j := rapid.Int32Range(-60, 60).Draw(t, "k"), rapid.Int32Range(-3, 3).Draw(t, "j")
				m.must(t, "db", d("insert", "c", "documents", bson.A{d("_id", id, "k", k, "j", j, "v", id, "pad", make([]byte, 40_000))}))
				m.docs[id] = id
			}
		},
		"update": func(t *rapid.T) {
			id, v := m.anyID(t), rapid.Int64().Draw(t, "v")
			reply := m.must(t, "db", d("update", "c", "updates", bson.A{d("q", d("_id", id), "u", d("$set", d("v", v)))}))
			_, known := m.docs[id]
			if n, _ := reply.Lookup("n").AsInt64OK(); (n == 1) != known {
				t.Fatalf("update of _id %d matched %d, known %v", id, n, known)
			}
			if known {
				m.docs[id] = v
			}
		},
		"change key": func(t *rapid.T) {
			// Refused with a duplicate key where the new owner still holds an
			// orphan with this _id, as on the server.
			id := m.anyID(t)
			m.run("db", d("update", "c", "updates", bson.A{d("q", d("_id", id), "u", d("$set", d("k", rapid.Int32Range(-60, 60).Draw(t, "k"))))}))
		},
		"delete": func(t *rapid.T) {
			id := m.anyID(t)
			m.must(t, "db", d("delete", "c", "deletes", bson.A{d("q", d("_id", id), "limit", 1)}))
			delete(m.docs, id)
		},
		"split":  func(t *rapid.T) { m.run("admin", d("split", ns, "middle", m.bound(t))) },
		"median": func(t *rapid.T) { min, max := m.chunk(t); m.run("admin", d("split", ns, "bounds", bson.A{min, max})) },
		"move": func(t *rapid.T) {
			min, max := m.chunk(t)
			m.run("admin", d("moveRange", ns, "min", min, "max", max, "toShard", m.shard(t), "waitForDelete", rapid.Bool().Draw(t, "wait")))
		},
		"move by one bound": func(t *rapid.T) {
			min, _ := m.chunk(t)
			m.run("admin", d("moveRange", ns, "min", min, "toShard", m.shard(t)))
		},
		"start a move": func(t *rapid.T) { m.startMove(t) },
		"merge all":    func(t *rapid.T) { m.run("admin", d("mergeAllChunksOnShard", ns, "shard", m.shard(t))) },
		"zone": func(t *rapid.T) {
			zone := rapid.SampledFrom([]string{"east", "west"}).Draw(t, "zone")
			m.run("admin", d("addShardToZone", m.shard(t), "zone", zone))
			m.run("admin", d("updateZoneKeyRange", ns, "min", m.bound(t), "max", m.bound(t), "zone", zone))
		},
		"balancer off": func(*rapid.T) { m.run("admin", d("balancerStop", 1)) },
		"balancer on":  func(*rapid.T) { m.run("admin", d("balancerStart", 1)) },
		"time":         func(t *rapid.T) { m.sleep(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond) },
		"":             m.check,
	}
}

// startMove begins a migration and does not wait, so that later actions meet
// it half way.
func (m *model) startMove(t *rapid.T) {
	min, max := m.chunk(t)
	to := m.shard(t)
	m.cluster.Lock()
	defer m.cluster.Unlock()
	table := m.cluster.Table(ns)
	key, err := table.Pattern().Key(min)
	if err != nil {
		t.Fatal(err)
	}
	m.cluster.StartMove(mock.MoveRequest{
		Namespace: ns, From: table.Find(key).Shard, To: catalog.ShardID(to), Min: min, Max: max,
		MaxChunkSizeBytes: 1 << 20,
	}, func(error) {})
	m.log = append(m.log, "start a move to "+to)
}

// check compares what the router shows with what was acknowledged.
func (m *model) check(t *rapid.T) {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if err := m.cluster.Invariants(); err != nil {
		t.Fatalf("%v\nafter %q", err, m.log)
	}
	seen := map[int64]bool{}
	for doc := range m.cluster.Documents(ns, (*store.Filter)(nil)) {
		id := doc.Lookup("_id").AsInt64()
		if seen[id] {
			t.Fatalf("_id %d is visible twice\nafter %q", id, m.log)
		}
		seen[id] = true
		want, known := m.docs[id]
		if got := doc.Lookup("v").AsInt64(); !known || got != want {
			t.Fatalf("_id %d shows %d, want %d (known %v)\nafter %q", id, got, want, known, m.log)
		}
	}
	if len(seen) != len(m.docs) {
		t.Fatalf("%d documents are visible, %d were acknowledged\nafter %q", len(seen), len(m.docs), m.log)
	}
}

// Nothing is lost, doubled or left uncovered, whatever commands and
// migrations meet; and the balancer comes to rest and stays there.
func TestRandomOperations(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newModel(t)
		defer m.cluster.Close()
		t.Repeat(m.actions())

		m.run("admin", d("balancerStart", 1))
		m.sleep(2 * time.Hour)
		m.check(t)
		reply := m.must(t, "admin", d("balancerCollectionStatus", ns))
		if compliant, _ := reply.Lookup("balancerCompliant").BooleanOK(); !compliant {
			t.Fatalf("not at rest after two hours: %s\nafter %q", reply, m.log)
		}
		moves := m.moves(t)
		m.sleep(time.Hour)
		if got := m.moves(t); got != moves {
			t.Fatalf("%d moves after coming to rest\nafter %q", got-moves, m.log)
		}
	})
}

func (m *model) moves(t *rapid.T) int64 {
	reply := m.must(t, "config", d("count", "changelog", "query", d("what", "moveChunk.from")))
	return reply.Lookup("n").AsInt64()
}

// The same seed gives the same run.
func TestSameSeedSameRun(t *testing.T) {
	run := func() string {
		c, err := mock.New(mock.Config{Start: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Seed: 7, Topology: mock.DefaultTopology(5)})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		m := &model{cluster: c, router: router.New(c, nil)}
		m.run("config", d("update", "settings", "updates", bson.A{d("q", d("_id", "chunksize"), "u", d("$set", d("value", 1)), "upsert", true)}))
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
