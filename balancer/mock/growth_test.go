package mock_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
)

// labour is work that can be done for ever, and leaves the cluster as it was.
type labour struct {
	name string
	do   func(m *model, i int)
}

// labours are what administrators, the balancer and clients do all day.
func labours() []labour {
	admin := func(m *model, pairs ...any) { m.run("admin", d(pairs...)) }
	shard := func(i int) string { return fmt.Sprintf("shard%d", i%3) }
	kill := func(m *model, name string, query bson.D) {
		reply, _ := m.run("db", query)
		m.run("db", d("killCursors", name, "cursors", bson.A{reply.Lookup("cursor", "id")}))
	}
	session := func(i int) bson.D {
		id := make([]byte, 16)
		id[0], id[1], id[2] = byte(i), byte(i>>8), byte(i>>16)
		return d("id", bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id})
	}
	return []labour{
		{"moves", func(m *model, i int) {
			admin(m, "moveRange", ns, "min", d("k", i%4*5), "toShard", shard(i/4))
			admin(m, "mockAdvance", "1s")
		}},
		{"splits and merges", func(m *model, i int) {
			admin(m, "split", ns, "middle", d("k", 1+i%4))
			admin(m, "mergeAllChunksOnShard", ns, "shard", "shard0")
			admin(m, "mockAdvance", "1s")
		}},
		{"reshardings", func(m *model, _ int) {
			admin(m, "reshardCollection", ns, "key", d("k", 1), "forceRedistribution", true, "numInitialChunks", 3)
		}},
		{"collections that come and go", func(m *model, i int) {
			name := fmt.Sprintf("t%d", i)
			admin(m, "shardCollection", "tmp."+name, "key", d("_id", 1))
			m.run("tmp", d("drop", name))
		}},
		{"collections that move", func(m *model, i int) {
			m.run("tmp", d("insert", "u", "documents", bson.A{d("_id", i)}))
			admin(m, "moveCollection", "tmp.u", "toShard", shard(i))
			m.run("tmp", d("drop", "u"))
		}},
		{"databases that come and go", func(m *model, i int) {
			db := fmt.Sprintf("db%d", i)
			admin(m, "enableSharding", db)
			m.run(db, d("insert", "c", "documents", bson.A{d("_id", 1)}))
			m.run(db, d("dropDatabase", 1))
		}},
		{"renames", func(m *model, i int) {
			m.run("tmp", d("create", "from"))
			admin(m, "renameCollection", "tmp.from", "to", fmt.Sprintf("tmp.to%d", i%2), "dropTarget", true)
		}},
		{"indexes", func(m *model, i int) {
			m.run("db", d("createIndexes", "c", "indexes", bson.A{d("key", d("z", 1), "name", fmt.Sprint("z", i))}))
			m.run("db", d("dropIndexes", "c", "index", fmt.Sprint("z", i)))
		}},
		{"views", func(m *model, i int) {
			m.run("tmp", d("create", fmt.Sprint("v", i), "viewOn", "c", "pipeline", bson.A{}))
			m.run("tmp", d("drop", fmt.Sprint("v", i)))
		}},
		{"zones", func(m *model, i int) {
			zone := fmt.Sprint("zone", i)
			admin(m, "addShardToZone", "shard0", "zone", zone)
			admin(m, "updateZoneKeyRange", ns, "min", d("k", -9), "max", d("k", -8), "zone", zone)
			admin(m, "updateZoneKeyRange", ns, "min", d("k", -9), "max", d("k", -8), "zone", nil)
			admin(m, "removeShardFromZone", "shard0", "zone", zone)
		}},
		{"draining", func(m *model, _ int) {
			for range 8 {
				admin(m, "removeShard", "shard2")
				admin(m, "movePrimary", "db", "to", "shard0")
				admin(m, "mockAdvance", "1m")
			}
			admin(m, "addShard", "rs2/127.0.0.1:27022", "name", "shard2")
			admin(m, "mockAddShard", d("name", "shard2", "host", "rs2/127.0.0.1:27022"))
		}},
		{"rounds of the balancer", func(m *model, _ int) { admin(m, "mockAdvance", "10m") }},
		{"defragmentations", func(m *model, i int) {
			admin(m, "configureCollectionBalancing", ns, "defragmentCollection", i%2 == 0)
			admin(m, "mockAdvance", "1m")
		}},
		{"step-downs", func(m *model, _ int) { admin(m, "mockStepDown", 1) }},
		{"crashes", func(m *model, i int) {
			admin(m, "mockCrash", shard(i))
			m.run("db", d("find", "c"))
			admin(m, "mockRestart", 1)
			admin(m, "mockAdvance", "1s")
		}},
		{"armed failures", func(m *model, _ int) {
			admin(m, "mockFailNext", "find")
			m.run("db", d("find", "c"))
		}},
		{"users", func(m *model, i int) {
			m.run("db", d("createUser", fmt.Sprint("u", i), "pwd", "p", "roles", bson.A{}))
			m.run("db", d("dropUser", fmt.Sprint("u", i)))
		}},
		{"sessions", func(m *model, i int) {
			m.run("db", d("find", "c", "lsid", session(i)))
			admin(m, "endSessions", bson.A{session(i)})
		}},
		{"retryable writes", func(m *model, i int) {
			m.run("db", d("update", "c", "updates", bson.A{d("q", d("_id", 1), "u", d("$inc", d("n", 1)))},
				"lsid", session(i), "txnNumber", int64(1)))
			admin(m, "endSessions", bson.A{session(i)})
		}},
		{"cursors", func(m *model, _ int) {
			kill(m, "c", d("find", "c", "batchSize", 1))
		}},
		{"change streams", func(m *model, _ int) {
			kill(m, "c", d("aggregate", "c", "pipeline", bson.A{d("$changeStream", d())}, "cursor", d()))
		}},
		{"writes", func(m *model, i int) {
			m.run("db", d("insert", "c", "documents", bson.A{d("_id", 1000+i, "k", i%20)}))
			m.run("db", d("delete", "c", "deletes", bson.A{d("q", d("_id", 1000+i), "limit", 1)}))
		}},
		{"names that nothing has", func(m *model, i int) {
			name := fmt.Sprint("none", i)
			for _, db := range []string{"config", "admin", "local", "db", name} {
				m.run(db, d("find", name))
				m.run(db, d("count", name))
				m.run(db, d("aggregate", name, "pipeline", bson.A{d("$collStats", d("count", d()))}, "cursor", d()))
			}
			m.run("db", d("collStats", name)) // makes a database
			admin(m, fmt.Sprint("noSuchCommand", i), 1)
			admin(m, "flushRouterConfig", 1) // routers know names, 10,000 at most
		}},
		{"samples of queries", func(m *model, _ int) {
			admin(m, "configureQueryAnalyzer", ns, "mode", "full", "samplesPerSecond", 50)
			m.run("db", d("find", "c")) // of queries, 5000 are kept
			admin(m, "configureQueryAnalyzer", ns, "mode", "off")
			admin(m, "analyzeShardKey", ns, "key", d("k", 1))
		}},
	}
}

const (
	// labourRounds is how often each labour is done at first; then three times as often.
	labourRounds = 80
	// mayGrow is how much more memory is taken afterwards, in bytes: less than a
	// hundred for each time.
	mayGrow = 3 * labourRounds * 100
)

// However long a cluster is at work, what it remembers of it stays bounded.
func TestWorkLeavesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	for _, l := range labours() {
		t.Run(l.name, func(t *testing.T) {
			m := busy(t)
			n := 0
			work := func(times int) uint64 {
				for range times {
					l.do(m, n)
					m.log = nil
					n++
				}
				return liveHeap()
			}
			before := work(labourRounds)
			after := work(3 * labourRounds)
			if after > before+mayGrow {
				t.Errorf("%d kB after %d times, %d kB after %d", before>>10, labourRounds, after>>10, n)
			}
			runtime.KeepAlive(m)
		})
	}
}

// Nor does it in the file of a cluster on disk.
func TestWorkLeavesNothingOnDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	const times = 40
	for _, l := range labours() {
		t.Run(l.name, func(t *testing.T) {
			m := busy(t, t.TempDir())
			n := 0
			work := func(times int) (entries int) {
				for range times {
					l.do(m, n)
					m.log = nil
					n++
				}
				m.cluster.Lock()
				written := m.cluster.Storage().StartFlush()
				m.cluster.Unlock()
				if err := written(t.Context()); err != nil {
					t.Fatal(err)
				}
				stored, err := m.cluster.OnDisk()
				if err != nil {
					t.Fatal(err)
				}
				for _, bucket := range stored {
					entries += len(bucket)
				}
				return entries
			}
			before := work(times)
			if after := work(3 * times); after > before+times/2 {
				t.Errorf("%d entries after %d times, %d after %d", before, times, after, n)
			}
		})
	}
}

// busy is a cluster whose logs are short; on disk where a directory is given.
func busy(t *testing.T, dir ...string) *model {
	t.Helper()
	c, err := mock.New(mock.Config{DBPath: strings.Join(dir, ""), Topology: mock.DefaultTopology(3), Seed: 1, Parameters: map[string]any{
		"orphanCleanupDelaySecs": 0, "reshardingMinimumOperationDurationMillis": 0, "minSnapshotHistoryWindowInSeconds": 0,
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	c.Lock()
	if len(dir) > 0 {
		c.DontSync()
	}
	c.KeepOfLogs(8<<10, 50)
	c.Unlock()
	m := &model{cluster: c, router: router.New(c, nil)}
	m.run("admin", d("shardCollection", ns, "key", d("k", 1)))
	for k := range 20 {
		m.run("db", d("insert", "c", "documents", bson.A{d("_id", k, "k", k)}))
	}
	for _, k := range []int{5, 10, 15} {
		m.run("admin", d("split", ns, "middle", d("k", k)))
	}
	return m
}

func liveHeap() uint64 {
	var stats runtime.MemStats
	runtime.GC()
	runtime.GC() // what a pool gave up at the first is gone at the second
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}
