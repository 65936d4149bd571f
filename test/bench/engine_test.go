//go:build unix

package bench

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

// engineWorks are those of the mock and of the engine, within this process.
func engineWorks() []work {
	var list []work
	for _, conns := range []int{1, 16, 64} {
		for _, op := range []string{"find", "insert"} {
			list = append(list, work{name: fmt.Sprintf("20,000 %ss, %d connections", op, conns),
				shardsh: func(b *testing.B) func() cost { return overLoopback(b, op, conns, 20_000) }})
		}
	}
	return append(list,
		work{name: "topology of a million chunks", shardsh: topologyOfAMillion},
		work{name: "1,000 rounds over a million chunks", shardsh: idleRounds},
		work{name: "saturated day, 100 shards", shardsh: saturatedDay},
		work{name: "defragmentation of a million chunks", shardsh: defragmentation},
		work{name: "plan of 78,000 steps", shardsh: largePlan},
	)
}

// overLoopback sends commands one at a time on each of some connections.
func overLoopback(b *testing.B, op string, conns, operations int) func() cost {
	b.Helper()
	const documents = 10_000
	address := strings.Trim(strings.TrimPrefix(mocktest.Start(b, 2), "mongodb://"), "/")
	var last, left atomic.Int64
	command := map[string]func() bson.D{
		"find": func() bson.D {
			return bson.D{{Key: "find", Value: "c"}, {Key: "filter", Value: bson.D{{Key: "k", Value: last.Add(1) % documents}}},
				{Key: "limit", Value: 1}, {Key: "$db", Value: "b"}}
		},
		"insert": func() bson.D {
			k := last.Add(1)
			doc := bson.D{{Key: "_id", Value: k}, {Key: "k", Value: k}, {Key: "s", Value: "some text of a document"}}
			return bson.D{{Key: "insert", Value: "c"}, {Key: "documents", Value: bson.A{doc}}, {Key: "$db", Value: "b"}}
		},
	}
	run := func(conns, operations int, command func() bson.D) {
		left.Store(int64(operations))
		var clients sync.WaitGroup
		for range conns {
			clients.Go(func() {
				if err := sendWhile(address, func() bool { return left.Add(-1) >= 0 }, command); err != nil {
					b.Error(err)
				}
			})
		}
		clients.Wait()
	}
	run(1, 1, func() bson.D {
		return bson.D{{Key: "shardCollection", Value: "b.c"}, {Key: "key", Value: bson.D{{Key: "k", Value: 1}}},
			{Key: "$db", Value: "admin"}}
	})
	run(1, documents, command["insert"])
	return func() cost { return timed(func() { run(conns, operations, command[op]) }) }
}

// sendWhile sends messages as a driver does, as long as there are some, and waits for
// the reply of each.
func sendWhile(address string, more func() bool, command func() bson.D) error {
	nc, err := net.Dial("tcp", address)
	if err != nil {
		return err
	}
	defer nc.Close()
	const opMsg, header = 2013, 16 + 4 + 1
	reply := make([]byte, 1<<16)
	for more() {
		doc, err := bson.Marshal(command())
		if err != nil {
			return err
		}
		message := make([]byte, header, header+len(doc))
		binary.LittleEndian.PutUint32(message, uint32(header+len(doc)))
		binary.LittleEndian.PutUint32(message[12:], opMsg)
		if _, err := nc.Write(append(message, doc...)); err != nil {
			return err
		}
		if _, err := io.ReadFull(nc, reply[:4]); err != nil {
			return err
		}
		length := binary.LittleEndian.Uint32(reply)
		if _, err := io.ReadFull(nc, reply[4:length]); err != nil {
			return err
		}
		answer := bson.Raw(reply[header:length])
		if answer.Lookup("ok").AsFloat64() != 1 || !answer.Lookup("writeErrors").IsZero() {
			return fmt.Errorf("%v answered %v", command(), answer)
		}
	}
	return nil
}

// topology is a hundred shards and one collection with chunks of some size.
func topology(chunks int, bytes int64, shard func(i int) int) *mock.Topology {
	top := &mock.Topology{}
	for i := range 100 {
		top.Shards = append(top.Shards, mock.TopologyShard{ID: fmt.Sprintf("s%02d", i)})
	}
	coll := mock.TopologyCollection{Namespace: "big.data", Key: json.RawMessage(`{"k": 1}`),
		Chunks: make([]mock.TopologyChunk, chunks)}
	size := json.RawMessage(fmt.Sprint(bytes))
	for i := range coll.Chunks {
		coll.Chunks[i] = mock.TopologyChunk{Shard: top.Shards[shard(i)].ID, Docs: 1000, Bytes: size}
		if i > 0 {
			coll.Chunks[i].Min = fmt.Appendf(nil, `{"k": %d}`, i)
		}
	}
	top.Collections = []mock.TopologyCollection{coll}
	return top
}

func spread(i int) int { return i % 100 }

func newMock(b *testing.B, top *mock.Topology) *mock.Cluster {
	b.Helper()
	c, err := mock.New(mock.Config{Topology: top, Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func topologyOfAMillion(b *testing.B) func() cost {
	top := topology(1_000_000, 100<<20, spread)
	return func() cost {
		var c *mock.Cluster
		took := timed(func() { c = newMock(b, top) })
		c.Close()
		return took
	}
}

// letPass lets a mock's time pass, a step at a time, and returns the most memory that
// was in use after one.
func letPass(b *testing.B, c *mock.Cluster, step time.Duration, more func() bool) (most int64) {
	b.Helper()
	memory := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for more() {
		if err := c.Clock().Sleep(context.Background(), step); err != nil {
			b.Fatal(err)
		}
		metrics.Read(memory)
		most = max(most, int64(memory[0].Value.Uint64()))
	}
	return most
}

// times returns a function that is true so often.
func times(n int) func() bool { return func() bool { n--; return n >= 0 } }

func idleRounds(b *testing.B) func() cost {
	c := newMock(b, topology(1_000_000, 100<<20, spread))
	b.Cleanup(c.Close)
	letPass(b, c, 10*time.Second, times(10))
	return func() cost { return timed(func() { letPass(b, c, 10*time.Second, times(1000)) }) }
}

// saturatedDay is one of a hundred shards that begin with all data on ten of them.
func saturatedDay(b *testing.B) func() cost {
	top := topology(200_000, 100<<20, func(i int) int { return i % 10 })
	return func() cost {
		c := newMock(b, top)
		defer c.Close()
		runtime.GC()
		most := int64(0)
		took := timed(func() { most = letPass(b, c, time.Minute, times(24*60)) })
		took.memory = most
		return took
	}
}

// defragmentation makes a million chunks of 1 MiB to chunks that are not small, in a
// simulation.
func defragmentation(b *testing.B) func() cost {
	coll := snaptest.NewCollection(b, "db.c", 100, 1_000_000, func(i int) (int, int64) { return i / 10 * 7919 % 100, 1 << 20 })
	coll.Defragment = true
	s := snaptest.SnapshotOf(100, coll)
	return func() cost {
		return timed(func() {
			r, err := sim.New(s, sim.Config{Location: time.UTC})
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			for at := s.Time(); r.IsDefragmenting("db.c"); {
				at = at.Add(24 * time.Hour)
				r.Advance(at)
			}
		})
	}
}

// largePlan plans for seven new shards of a hundred.
func largePlan(b *testing.B) func() cost {
	scale := snaptest.Million()
	scale.EmptyShards, scale.JumboEvery = 7, 1000
	s := snaptest.Large(b, scale)
	return func() cost {
		return timed(func() {
			p, err := plan.Make(s, plan.Options{})
			if err != nil {
				b.Fatal(err)
			}
			if n := len(p.Steps); n < 70_000 || n > 85_000 {
				b.Fatalf("%d steps", n)
			}
		})
	}
}
