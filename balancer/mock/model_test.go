package mock_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/wire"
)

const ns = "db.c"

// model drives a cluster with random commands and remembers what must be
// readable.
type model struct {
	cluster *mock.Cluster
	router  *router.Router
	colls   map[string]*contents
	next    int64
	shards  int
	log     []string
	// faulty: something was made to fail, so commands may be refused.
	faulty bool
}

// contents are a collection's documents: _id to the value last acknowledged.
type contents map[int64]int64

func (m *model) run(db string, command bson.D) (bson.Raw, bool) {
	body, err := bson.Marshal(command)
	if err != nil {
		panic(err)
	}
	reply := m.router.Handle(context.Background(), wire.Request{
		Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: 1},
	})
	n, _ := reply.Lookup("ok").AsFloat64OK()
	ok := n == 1 && reply.Lookup("writeErrors").IsZero()
	if command[0].Key == "insert" {
		command = d("insert", command[0].Value)
	}
	m.log = append(m.log, fmt.Sprintf("%v -> %v", command, ok))
	return reply, ok
}

func (m *model) must(t *rapid.T, db string, command bson.D) bson.Raw {
	reply, ok := m.run(db, command)
	if !ok {
		t.Fatalf("%s answered %s\nafter %q", command[0].Key, reply, m.log)
	}
	return reply
}

// sleep lets time pass. Before hours do, lost indexes of shard keys are there again: without,
// a defragmentation measures and fails as fast as it can, as the server's does
// (rules/02-defragmentation-and-merging §2.4).
func (m *model) sleep(d time.Duration) {
	if d >= time.Hour {
		m.restoreKeyIndexes()
	}
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

// namespaces the walk works on.
var namespaces = []string{ns, "db.other", "more.c"}

func newModel(t *rapid.T, change ...func(*mock.Config)) *model {
	shards := rapid.IntRange(2, 5).Draw(t, "shards")
	cfg := mock.Config{
		Topology: mock.DefaultTopology(shards),
		Start:    time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		Seed:     rapid.Uint64().Draw(t, "seed"),
		Parameters: map[string]any{
			"orphanCleanupDelaySecs":            rapid.SampledFrom([]int{0, 5, 900}).Draw(t, "orphanCleanupDelaySecs"),
			"rangeDeleterBatchSize":             rapid.SampledFrom([]int{0, 3}).Draw(t, "rangeDeleterBatchSize"),
			"minSnapshotHistoryWindowInSeconds": rapid.SampledFrom([]int{0, 300}).Draw(t, "minSnapshotHistoryWindowInSeconds"),
		},
	}
	for _, c := range change {
		c(&cfg)
	}
	c, err := mock.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	m := &model{cluster: c, router: router.New(c, nil), colls: map[string]*contents{}, shards: shards}
	for _, name := range namespaces {
		m.colls[name] = &contents{}
	}
	m.set(t, "settings", "chunksize", d("$set", d("value", 1)))
	m.shardCollection(t, ns)
	return m
}

// set writes a document of the config database by hand.
func (m *model) set(t *rapid.T, collection, id string, update bson.D) {
	upsert := collection == "settings"
	m.attempt(t, "config", d("update", collection, "updates", bson.A{d("q", d("_id", id), "u", update, "upsert", upsert)}))
}

func split(name string) (db, coll string) {
	db, coll, _ = strings.Cut(name, ".")
	return db, coll
}

// shardCollection shards a namespace by some key, with the index it needs.
func (m *model) shardCollection(t *rapid.T, name string) {
	key := rapid.SampledFrom([]bson.D{d("k", 1), d("k", "hashed"), d("k", 1, "j", 1), d("_id", "hashed"),
		d("j", "hashed", "k", 1)}).Draw(t, "key")
	db, coll := split(name)
	m.run(db, d("createIndexes", coll, "indexes", bson.A{d("key", key, "name", fmt.Sprint(key))}))
	m.run("admin", d("shardCollection", name, "key", key))
}

// sharded is one of the sharded namespaces; false when there is none.
func (m *model) sharded(t *rapid.T) (catalog.Collection, *catalog.RoutingTable, bool) {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	var colls []catalog.Collection
	for _, name := range namespaces {
		if coll, err := m.cluster.ConfigDB().RequireSharded(name); err == nil {
			colls = append(colls, coll)
		}
	}
	if len(colls) == 0 {
		return catalog.Collection{}, nil, false
	}
	coll := colls[rapid.IntRange(0, len(colls)-1).Draw(t, "collection")]
	return coll, m.cluster.ConfigDB().Table(coll.Namespace), true
}

// bound of the collection's own shape.
func bound(t *rapid.T, coll catalog.Collection) bson.D {
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

func anyChunk(t *rapid.T, table *catalog.RoutingTable) (chunk catalog.Chunk, min, max bson.Raw) {
	chunk = table.At(rapid.IntRange(0, table.Len()-1).Draw(t, "chunk"))
	return chunk, table.Pattern().Bound(chunk.Min), table.Pattern().Bound(chunk.Max)
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

func anyNamespace(t *rapid.T) string { return rapid.SampledFrom(namespaces).Draw(t, "namespace") }

func (m *model) insert(t *rapid.T, name string, n int, k func() int32) {
	db, coll := split(name)
	for range n {
		id := m.next
		m.next++
		doc := d("_id", id, "k", k(), "j", rapid.Int32Range(-3, 3).Draw(t, "j"), "v", id, "pad", make([]byte, 40_000))
		if _, ok := m.attempt(t, db, d("insert", coll, "documents", bson.A{doc})); ok {
			(*m.colls[name])[id] = id
		}
	}
}

// restoreKeyIndexes creates the indexes that shard keys need.
func (m *model) restoreKeyIndexes() {
	for _, name := range namespaces {
		m.cluster.Lock()
		coll, err := m.cluster.ConfigDB().RequireSharded(name)
		m.cluster.Unlock()
		if err == nil {
			db, c := split(name)
			m.run(db, d("createIndexes", c, "indexes", bson.A{d("key", coll.Pattern.Doc(), "name", coll.Pattern.Doc().String())}))
		}
	}
}

// withChunk gives an action some chunk to work on, when there is one.
func (m *model) withChunk(act func(t *rapid.T, coll catalog.Collection, chunk catalog.Chunk, min,
	max bson.Raw)) func(*rapid.T) {
	return func(t *rapid.T) {
		if coll, table, ok := m.sharded(t); ok {
			chunk, min, max := anyChunk(t, table)
			act(t, coll, chunk, min, max)
		}
	}
}

// actions of the random walk. Refused commands must change nothing; that is
// what the check after each action sees.
func (m *model) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){"": m.check}
	for _, group := range []map[string]func(*rapid.T){m.writes(), m.chunkActions(), m.administration(), m.faults()} {
		maps.Copy(all, group)
	}
	return all
}

func (m *model) writes() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"insert": func(t *rapid.T) {
			m.insert(t, anyNamespace(t), rapid.IntRange(1, 12).Draw(t, "n"),
				func() int32 { return rapid.Int32Range(-60, 60).Draw(t, "k") })
		},
		"insert one key": func(t *rapid.T) { // what jumbo chunks are made of
			k := rapid.Int32Range(-60, 60).Draw(t, "k")
			m.insert(t, anyNamespace(t), rapid.IntRange(50, 110).Draw(t, "n"), func() int32 { return k })
		},
		"update": func(t *rapid.T) {
			id, v, name := m.anyID(t), rapid.Int64().Draw(t, "v"), anyNamespace(t)
			db, coll := split(name)
			reply, ok := m.attempt(t, db, d("update", coll, "updates", bson.A{d("q", d("_id", id), "u", d("$set", d("v", v)))}))
			if !ok {
				return
			}
			_, known := (*m.colls[name])[id]
			if n, _ := reply.Lookup("n").AsInt64OK(); (n == 1) != known {
				t.Fatalf("update of _id %d matched %d, known %v\nafter %q", id, n, known, m.log)
			}
			if known {
				(*m.colls[name])[id] = v
			}
		},
		"change key": func(t *rapid.T) {
			// Refused with a duplicate key where the new owner still holds an
			// orphan with this _id, as on the server.
			db, coll := split(anyNamespace(t))
			update := d("q", d("_id", m.anyID(t)), "u", d("$set", d("k", rapid.Int32Range(-60, 60).Draw(t, "k"))))
			m.run(db, d("update", coll, "updates", bson.A{update}, "txnNumber", int64(1)))
		},
		"delete": func(t *rapid.T) {
			id, name := m.anyID(t), anyNamespace(t)
			db, coll := split(name)
			if _, ok := m.attempt(t, db, d("delete", coll, "deletes", bson.A{d("q", d("_id", id), "limit", 1)})); ok {
				delete(*m.colls[name], id)
			}
		},
		"drop": func(t *rapid.T) {
			name := anyNamespace(t)
			db, coll := split(name)
			if _, ok := m.attempt(t, db, d("drop", coll)); !ok {
				return
			}
			m.colls[name] = &contents{}
			if rapid.Bool().Draw(t, "again") {
				m.shardCollection(t, name)
			}
		},
		"drop database": func(t *rapid.T) {
			if _, ok := m.attempt(t, "more", d("dropDatabase", 1)); ok {
				m.colls["more.c"] = &contents{}
			}
		},
		"shard": func(t *rapid.T) { m.shardCollection(t, anyNamespace(t)) },
	}
}

func (m *model) chunkActions() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"split": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, _, _ bson.Raw) {
			m.run("admin", d("split", coll.Namespace, "middle", bound(t, coll)))
		}),
		"median": m.withChunk(func(_ *rapid.T, coll catalog.Collection, _ catalog.Chunk, min, max bson.Raw) {
			m.run("admin", d("split", coll.Namespace, "bounds", bson.A{min, max}))
		}),
		"merge": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, min, _ bson.Raw) {
			m.run("admin", d("mergeChunks", coll.Namespace, "bounds", bson.A{min, bound(t, coll)}))
		}),
		"merge all": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, _, _ bson.Raw) {
			m.run("admin", d("mergeAllChunksOnShard", coll.Namespace, "shard", m.shard(t)))
		}),
		"clear jumbo": m.withChunk(func(_ *rapid.T, coll catalog.Collection, _ catalog.Chunk, min, max bson.Raw) {
			m.run("admin", d("clearJumboFlag", coll.Namespace, "bounds", bson.A{min, max}))
		}),
		"move": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, min, max bson.Raw) {
			m.run("admin", d("moveRange", coll.Namespace, "min", min, "max", max, "toShard", m.shard(t),
				"waitForDelete", rapid.Bool().Draw(t, "wait"), "forceJumbo", rapid.Bool().Draw(t, "force")))
		}),
		"move by one bound": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, min, max bson.Raw) {
			if rapid.Bool().Draw(t, "from below") {
				m.run("admin", d("moveRange", coll.Namespace, "min", min, "toShard", m.shard(t)))
			} else {
				m.run("admin", d("moveRange", coll.Namespace, "max", max, "toShard", m.shard(t)))
			}
		}),
		"move any range": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, _, _ bson.Raw) {
			m.run("admin", d("moveRange", coll.Namespace, "min", bound(t, coll), "max", bound(t, coll), "toShard", m.shard(t)))
		}),
		// Migrations that later actions meet half way.
		"start a move": m.withChunk(m.startMove), "start another move": m.withChunk(m.startMove),
	}
}

func (m *model) administration() map[string]func(*rapid.T) {
	return map[string]func(*rapid.T){
		"zone": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, _, _ bson.Raw) {
			zone := rapid.SampledFrom([]string{"east", "west"}).Draw(t, "zone")
			m.run("admin", d("addShardToZone", m.shard(t), "zone", zone))
			m.run("admin", d("updateZoneKeyRange", coll.Namespace, "min", bound(t, coll), "max", bound(t, coll), "zone", zone))
		}),
		"shard out of zone": func(t *rapid.T) {
			m.run("admin", d("removeShardFromZone", m.shard(t), "zone", rapid.SampledFrom([]string{"east", "west"}).Draw(t,
				"zone")))
		},
		"drain": func(t *rapid.T) {
			// The first shard stays: databases must go somewhere.
			if id := m.shard(t); id != "shard0" {
				m.set(t, "shards", id, d("$set", d("draining", true)))
			}
		},
		"remove shard": func(t *rapid.T) {
			if id := m.shard(t); id != "shard0" {
				m.run("admin", d("removeShard", id))
			}
		},
		"add shard": func(t *rapid.T) {
			n := rapid.IntRange(0, m.shards-1).Draw(t, "shard")
			m.run("admin", d("addShard", fmt.Sprintf("rs%d/127.0.0.1:%d", n, 27018+n), "name", fmt.Sprintf("shard%d", n)))
		},
		"move primary": func(t *rapid.T) {
			m.run("admin", d("movePrimary", rapid.SampledFrom([]string{"db", "more"}).Draw(t, "db"), "to", m.shard(t)))
		},
		"drain none": func(t *rapid.T) { m.drainNone(t) },
		"window": func(t *rapid.T) {
			m.set(t, "settings", "balancer", d("$set", d("activeWindow", d("start", "12:05", "stop", "12:20"))))
		},
		"no window": func(t *rapid.T) { m.set(t, "settings", "balancer", d("$unset", d("activeWindow", ""))) },
		"balancer's options": func(t *rapid.T) {
			m.set(t, "settings", "balancer", d("$set", d("_waitForDelete", rapid.Bool().Draw(t, "wait"),
				"attemptToBalanceJumboChunks", rapid.Bool().Draw(t, "jumbo"))))
		},
		"allow": func(t *rapid.T) {
			m.run("admin", d("setAllowMigrations", anyNamespace(t), "allowMigrations", rapid.Bool().Draw(t, "allow")))
		},
		"configure": func(t *rapid.T) {
			m.run("admin", d("configureCollectionBalancing", anyNamespace(t), "enableBalancing", rapid.Bool().Draw(t, "balance"),
				"chunkSize", rapid.SampledFrom([]int{0, 1, 2}).Draw(t, "MB")))
		},
		"defragment": func(t *rapid.T) {
			m.run("admin", d("configureCollectionBalancing", anyNamespace(t), "defragmentCollection",
				rapid.IntRange(0, 3).Draw(t, "not off") > 0))
		},
		"reshard": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, _, _ bson.Raw) {
			key := rapid.SampledFrom([]bson.D{d("k", 1), d("_id", 1), d("_id", "hashed"), d("j", 1, "_id", 1),
				d("k", "hashed")}).Draw(t, "new key")
			m.run("admin", d("reshardCollection", coll.Namespace, "key", key, "numInitialChunks", rapid.IntRange(1, 4).Draw(t,
				"chunks"),
				"forceRedistribution", rapid.Bool().Draw(t, "force")))
		}),
		"start to reshard": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, _, _ bson.Raw) {
			// Gives up waiting; the operation goes on.
			m.run("admin", d("reshardCollection", coll.Namespace, "key", d("_id", 1), "numInitialChunks", 1, "maxTimeMS",
				rapid.IntRange(1, 400).Draw(t, "ms")))
		}),
		"abort resharding": func(t *rapid.T) { m.run("admin", d("abortReshardCollection", anyNamespace(t))) },
		"refine": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, _, _ bson.Raw) {
			var key bson.D
			if err := bson.Unmarshal(coll.Pattern.Doc(), &key); err != nil {
				t.Fatal(err)
			}
			key = append(key, bson.E{Key: fmt.Sprint("r", len(key)), Value: 1})
			db, name := split(coll.Namespace)
			m.run(db, d("createIndexes", name, "indexes", bson.A{d("key", key, "name", "refined")}))
			m.run("admin", d("refineCollectionShardKey", coll.Namespace, "key", key))
		}),
		"unshard": m.withChunk(func(t *rapid.T, coll catalog.Collection, _ catalog.Chunk, _, _ bson.Raw) {
			m.run("admin", d("unshardCollection", coll.Namespace, "toShard", m.shard(t)))
		}),
		"move collection": func(t *rapid.T) { m.run("admin", d("moveCollection", anyNamespace(t), "toShard", m.shard(t))) },
		"hours":           func(t *rapid.T) { m.sleep(time.Duration(rapid.IntRange(1, 3).Draw(t, "hours")) * time.Hour) },
		"index": func(t *rapid.T) {
			db, coll := split(anyNamespace(t))
			m.run(db, d("createIndexes", coll, "indexes", bson.A{d("key", d("v", 1), "name", "v")}))
		},
		"no index": func(t *rapid.T) {
			db, coll := split(anyNamespace(t))
			m.run(db, d("dropIndexes", coll, "index",
				"*"))
		},
		"balancer off": func(*rapid.T) { m.run("admin", d("balancerStop", 1)) },
		"balancer on":  func(*rapid.T) { m.run("admin", d("balancerStart", 1)) },
		"time": func(t *rapid.T) {
			m.sleep(time.Duration(rapid.IntRange(1, 20_000).Draw(t,
				"ms")) * time.Millisecond)
		},
	}
}

func (m *model) drainNone(t *rapid.T) {
	for i := range m.shards {
		m.set(t, "shards", fmt.Sprintf("shard%d", i), d("$unset", d("draining", "")))
	}
}

// startMove begins a migration and does not wait.
func (m *model) startMove(t *rapid.T, coll catalog.Collection, chunk catalog.Chunk, min, max bson.Raw) {
	to := m.shard(t)
	m.cluster.Lock()
	defer m.cluster.Unlock()
	m.cluster.Migrations().Start(mock.MoveRequest{
		Namespace: coll.Namespace, From: chunk.Shard, To: catalog.ShardID(to), Min: min, Max: max,
		MaxChunkSizeBytes: 1 << 20, WaitForDelete: rapid.Bool().Draw(t, "wait"),
	}, func(error) {})
	m.log = append(m.log, "start a move of "+coll.Namespace+" to "+to)
}

// check compares what the router shows with what was acknowledged.
func (m *model) check(t *rapid.T) {
	m.cluster.Lock()
	defer m.cluster.Unlock()
	if found, err := m.cluster.Inconsistencies("", "", true); err != nil || len(found) > 0 {
		t.Fatalf("inconsistent: %v %v\nafter %q", found, err, m.log)
	}
	if err := m.cluster.CheckInvariants(); err != nil {
		t.Fatalf("%v\nafter %q", err, m.log)
	}
	for _, name := range namespaces {
		docs := *m.colls[name]
		seen := map[int64]bool{}
		for doc := range m.cluster.Documents(name, (*filter.Filter)(nil)) {
			id := doc.Lookup("_id").AsInt64()
			if seen[id] {
				t.Fatalf("%s: _id %d is visible twice\nafter %q", name, id, m.log)
			}
			seen[id] = true
			want, known := docs[id]
			if got := doc.Lookup("v").AsInt64(); !known || got != want {
				t.Fatalf("%s: _id %d shows %d, want %d (known %v)\nafter %q", name, id, got, want, known, m.log)
			}
		}
		if len(seen) != len(docs) {
			t.Fatalf("%s: %d documents are visible, %d were acknowledged\nafter %q", name, len(seen), len(docs), m.log)
		}
	}
}
