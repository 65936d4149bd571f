package router_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/mongoerr"
)

const (
	busyClients = 16
	busyActions = 20
	busyChanges = 60
	// busyKeys is how many documents a client may have.
	busyKeys = 12
)

// client is one that remembers what was acknowledged of its own documents.
type client struct {
	t       *testing.T
	number  int
	routers [2]*router.Router
	rand    *rand.Rand
	has     map[int32]int32 // the value of each document, by its _id
	orphans *atomic.Int64   // documents that reads with "available" have shown, and should not have
	// past is what it had after each write, if secondaries lag, which show one of these: no
	// older one than that at surely, which a majority has acknowledged or they have shown.
	past   []map[int32]int32
	surely int
	old    *atomic.Int64 // reads that have shown an older one
}

// send sends a command to one of the routers.
func (c *client) send(db string, command bson.D) bson.Raw {
	body, err := bson.Marshal(command)
	if err != nil {
		c.t.Error(err)
		return nil
	}
	return c.routers[c.rand.IntN(2)].Handle(context.Background(),
		wire.Request{Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: int32(c.number)}})
}

// write changes one document of the client's, and has to succeed.
func (c *client) write() {
	id := int32(c.number*busyKeys + c.rand.IntN(busyKeys))
	_, there := c.has[id]
	value := c.rand.Int32()
	command := d("insert", "c", "documents", bson.A{d("_id", id, "k", busyKey(id), "v", value)})
	switch {
	case there && c.rand.IntN(3) == 0:
		command = d("delete", "c", "deletes", bson.A{d("q", d("_id", id, "k", busyKey(id)), "limit", 1)})
		delete(c.has, id)
	case there && c.rand.IntN(4) == 0: // on all shards
		command = d("update", "c", "updates", bson.A{d("q", d("_id", id), "u", d("$set", d("v", value)), "multi", true)})
		c.has[id] = value
	case there:
		command = d("update", "c", "updates", bson.A{d("q", d("k", busyKey(id)), "u", d("$set", d("v", value)))})
		c.has[id] = value
	default:
		c.has[id] = value
	}
	majority := c.rand.IntN(6) == 0
	if c.past != nil && !majority {
		command = append(command, d("writeConcern", d("w", 1))...)
	}
	reply := c.send("app", command)
	if n, _ := reply.Lookup("n").AsInt64OK(); n != 1 {
		c.t.Errorf("%v: %s", command, reply)
	}
	if c.past != nil {
		c.past = append(c.past, maps.Clone(c.has))
		if majority {
			c.surely = len(c.past) - 1
		}
	}
}

// mine returns the client's documents as they are shown, and how many there were.
func (c *client) mine(more bson.D) (seen map[int32]int32, n int) {
	mine := d("$gte", c.number*busyKeys, "$lt", (c.number+1)*busyKeys)
	reply := c.send("app", append(d("find", "c", "filter", d("_id", mine)), more...))
	found, err := reply.Lookup("cursor", "firstBatch").Array().Values()
	if err != nil {
		c.t.Errorf("%s: %s", reply, err)
	}
	seen = map[int32]int32{}
	for _, v := range found {
		seen[v.Document().Lookup("_id").Int32()] = v.Document().Lookup("v").Int32()
	}
	return seen, len(found)
}

// readLate compares what secondaries show with what the client had at some time.
func (c *client) readLate() {
	seen, n := c.mine(d("$readPreference", d("mode", "secondary")))
	for at := c.surely; at < len(c.past); at++ {
		if maps.Equal(seen, c.past[at]) && n == len(seen) {
			if at < len(c.past)-1 {
				c.old.Add(1)
			}
			c.surely = at
			return
		}
	}
	c.t.Errorf("client %d sees on secondaries %v, and had %v", c.number, seen, c.past[c.surely:])
}

func busyKey(id int32) int32 { return id * 7 % (busyClients * busyKeys) }

// read compares what the client's documents are with what was acknowledged.
func (c *client) read() {
	level := []string{"local", "majority", "available"}[c.rand.IntN(3)]
	seen, n := c.mine(d("readConcern", d("level", level)))
	switch {
	case n == len(seen) && maps.Equal(seen, c.has):
	case level == "available":
		c.orphans.Add(1)
	default:
		c.t.Errorf("client %d sees with %s %d documents, %v, and has written %v", c.number, level, n, seen, c.has)
	}
}

// administration changes where the collection lies, and counts what succeeds: splits
// and moves may find nothing to do, somebody else at work, or orphans.
func (c *client) administration() (done int) {
	shards := []string{"a", "b", "c"}
	for n := range busyChanges {
		key := c.rand.Int32N(busyClients * busyKeys)
		var command bson.D
		switch at := n % 40; {
		case at == 20 && n < 40:
			c.send("app", d("createIndexes", "c", "indexes", bson.A{d("key", d("k", 1, "_id", 1), "name", "finer")}))
			command = d("refineCollectionShardKey", "app.c", "key", d("k", 1, "_id", 1))
		case at == 30:
			c.send("app", d("drop", "other"))
			command = d("shardCollection", "app.other", "key", d("_id", 1))
		case at%4 == 0:
			command = d("split", "app.c", "find", d("k", key, "_id", key))
		case at%7 == 0:
			command = d("mergeAllChunksOnShard", "app.c", "shard", shards[c.rand.IntN(3)])
		default:
			command = d("moveChunk", "app.c", "find", d("k", key, "_id", key), "to", shards[c.rand.IntN(3)],
				"_waitForDelete", c.rand.IntN(2) == 0)
		}
		reply := c.send("admin", command)
		switch code, failed := reply.Lookup("code").AsInt64OK(); {
		case !failed:
			done++
		case mongoerr.Code(code) == mongoerr.InternalError:
			c.t.Errorf("%v: %s", command, reply)
		}
	}
	return done
}

// Sixteen clients write and read through two routers while chunks move, split and merge,
// and the key is refined: nothing that was acknowledged is lost, and nothing is seen twice,
// but with the read concern "available".
func TestClientsOfTwoRouters(t *testing.T) { busy(t, "") }

// So it is where all secondaries lag, and these show what a client had at some time since
// it was sure that they have something: nothing older, nothing else, and never less than
// before.
func TestClientsOfTwoRoutersAndSecondaries(t *testing.T) { busy(t, "300ms") }

func busy(t *testing.T, lag string) {
	p := newPair(t)
	if err := p.one.Cluster.Parameters().SetAtStart("orphanCleanupDelaySecs", 1); err != nil {
		t.Fatal(err)
	}
	p.one.OK("app", d("delete", "c", "deletes", bson.A{d("q", d(), "limit", 0)}))
	var orphans, old atomic.Int64
	newClient := func(n int) *client {
		c := &client{t: t, number: n, routers: [2]*router.Router{p.one.Router, p.two.Router},
			rand: rand.New(rand.NewPCG(7, uint64(n))), has: map[int32]int32{}, orphans: &orphans, old: &old}
		if lag != "" {
			c.past = []map[int32]int32{{}}
		}
		return c
	}
	for _, shard := range []string{"a", "b", "c"} {
		if lag != "" {
			p.one.OK("admin", d("mockSlow", shard, "secondary", lag))
		}
	}
	var changed atomic.Bool
	var clients sync.WaitGroup
	all := make([]*client, busyClients)
	for i := range all {
		all[i] = newClient(i)
		clients.Go(func() {
			for n := 0; n < busyActions || !changed.Load(); n++ {
				all[i].write()
				all[i].read()
				if lag != "" {
					all[i].readLate()
				}
			}
		})
	}
	if done := newClient(busyClients).administration(); done < busyChanges/4 {
		t.Errorf("%d of %d changes succeeded", done, busyChanges)
	}
	changed.Store(true)
	clients.Wait()
	want := 0
	for _, c := range all {
		want += len(c.has)
	}
	for _, r := range []*tester{p.one, p.two} {
		counted := r.OK("app", d("aggregate", "c", "pipeline", bson.A{d("$count", "n")}, "cursor", d()))
		if n := counted.Lookup("cursor", "firstBatch", "0", "n").AsInt64(); n != int64(want) {
			t.Errorf("%d documents, %d were acknowledged", n, want)
		}
	}
	stale := cachedVersion(p.one, "countStaleConfigErrors") + cachedVersion(p.two, "countStaleConfigErrors")
	t.Logf("%d refusals; %d reads with \"available\" were wrong, %d of secondaries old", stale, orphans.Load(), old.Load())
	if lag != "" && old.Load() == 0 {
		t.Error("secondaries have shown nothing old")
	}
	if err := p.one.Cluster.CheckInvariants(); err != nil {
		t.Error(err)
	}
}
