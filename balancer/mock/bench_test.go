package mock_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/metrics"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/wire"
)

// handle sends one command without keeping a record.
func (m *model) handle(b *testing.B, db string, command bson.D) bson.Raw {
	b.Helper()
	body := raw(b, command)
	reply := m.router.Handle(context.Background(), wire.Request{Database: db, Command: command[0].Key, Body: body,
		Client: &wire.ClientConn{ID: 1}})
	if n, _ := reply.Lookup("ok").AsFloat64OK(); n != 1 {
		b.Fatalf("%s answered %s", command[0].Key, reply)
	}
	return reply
}

// One command through the router, without a driver.
func BenchmarkCommand(b *testing.B) {
	m := newCluster(b, topologyOf(b, 3, 10, "1MB", 10), mock.Config{})
	m.ok(b, "admin", d("balancerStop", 1))
	m.ok(b, "db", d("insert", "c", "documents", bson.A{d("_id", 1, "k", 1)}))
	for name, command := range map[string]bson.D{
		"find": d("find", "c", "filter", d("_id", 1)), "listCollections": d("listCollections", 1),
		"update": d("update", "c", "updates", bson.A{d("q", d("_id", 1), "u", d("$inc", d("k", 1)))}),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.handle(b, "db", command)
			}
		})
	}
}

// A virtual hour of an idle cluster: 360 rounds that find nothing to do.
func BenchmarkIdleHour(b *testing.B) {
	m := newCluster(b, topologyOf(b, 10, 100, "1MB", 10), mock.Config{})
	for b.Loop() {
		m.sleep(time.Hour)
	}
}

// A virtual day of a hundred shards that begin with all data on ten of them.
func BenchmarkDay(b *testing.B) {
	var top mock.Topology
	for i := range 100 {
		top.Shards = append(top.Shards, mock.TopologyShard{ID: fmt.Sprintf("s%02d", i)})
	}
	coll := mock.TopologyCollection{Namespace: "big.data", Key: json.RawMessage(`{"k": 1}`),
		Chunks: make([]mock.TopologyChunk, 200_000)}
	for i := range coll.Chunks {
		coll.Chunks[i] = mock.TopologyChunk{Shard: top.Shards[i%10].ID, Docs: 1000, Bytes: json.RawMessage("104857600")}
		if i > 0 {
			coll.Chunks[i].Min = json.RawMessage(fmt.Sprintf(`{"k": %d}`, i))
		}
	}
	top.Collections = []mock.TopologyCollection{coll}
	c, err := mock.New(mock.Config{Topology: &top, Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(c.Close)
	m := newModelOn(c)
	most := uint64(0)
	memory := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	for b.Loop() {
		for range 24 * 60 {
			m.sleep(time.Minute)
			metrics.Read(memory)
			most = max(most, memory[0].Value.Uint64())
		}
	}
	b.ReportMetric(float64(c.Balancer().Status().Rounds)/float64(b.N), "rounds/op")
	moved := c.ConfigDB().Table("big.data").Version().Major // each migration makes the next
	b.ReportMetric(float64(moved)/b.Elapsed().Seconds(), "moves/s")
	b.ReportMetric(float64(most)/(1<<20), "peak-MiB")
}

// A topology of a million chunks on a hundred shards, from the text of its file to
// the cluster. Expected: under 0.7 s.
func BenchmarkTopology(b *testing.B) {
	const chunks, shards = 1_000_000, 100
	text := []byte(`{"shards": [`)
	for i := range shards {
		text = fmt.Appendf(text, `{"id": "s%02d"}, `, i)
	}
	text = append(text[:len(text)-2], `], "collections": [{"ns": "big.data", "key": {"k": 1}, "chunks": [`...)
	for i := range chunks {
		text = append(text, "\n  {"...)
		if i > 0 {
			text = fmt.Appendf(text, `"min": {"k": %d}, `, i)
		}
		text = fmt.Appendf(text, `"shard": "s%02d", "docs": 1000, "bytes": "100MiB"},`, i%shards)
	}
	text = append(text[:len(text)-1], "]}]}"...)
	b.ReportAllocs()
	for b.Loop() {
		top, err := mock.ParseTopology(text)
		if err != nil {
			b.Fatal(err)
		}
		c, err := mock.New(mock.Config{Topology: top, Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)})
		if err != nil {
			b.Fatal(err)
		}
		if n := c.ConfigDB().Table("big.data").Len(); n != chunks {
			b.Fatalf("%d chunks", n)
		}
		c.Close()
	}
}

// million is a cluster with a million chunks on a hundred shards, evened out.
var million = sync.OnceValues(func() (*model, bson.RawValue) {
	const chunks, shards = 1_000_000, 100
	var top mock.Topology
	for i := range shards {
		top.Shards = append(top.Shards, mock.TopologyShard{ID: fmt.Sprintf("s%02d", i)})
	}
	coll := mock.TopologyCollection{Namespace: "big.data", Key: json.RawMessage(`{"k": 1}`),
		Chunks: make([]mock.TopologyChunk, chunks)}
	for i := range coll.Chunks {
		coll.Chunks[i] = mock.TopologyChunk{Shard: top.Shards[i%shards].ID, Docs: 1000, Bytes: json.RawMessage("104857600")}
		if i > 0 {
			coll.Chunks[i].Min = json.RawMessage(fmt.Sprintf(`{"k": %d}`, i))
		}
	}
	top.Collections = []mock.TopologyCollection{coll}
	c, err := mock.New(mock.Config{Topology: &top, Start: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)})
	if err != nil {
		panic(err)
	}
	m := newModelOn(c)
	reply, _ := m.run("config", d("find", "collections", "filter", d("_id", "big.data")))
	return m, reply.Lookup("cursor", "firstBatch", "0", "uuid")
})

func BenchmarkMillionChunks(b *testing.B) {
	m, uuid := million()
	b.Run("round", func(b *testing.B) {
		for b.Loop() {
			m.sleep(10 * time.Second)
		}
	})
	for name, bench := range map[string]struct {
		db      string
		command bson.D
	}{
		"status":       {"admin", d("balancerCollectionStatus", "big.data")},
		"first20":      {"config", d("find", "chunks", "filter", d("uuid", uuid), "sort", d("min", 1), "limit", 20)},
		"count":        {"config", d("count", "chunks", "query", d("uuid", uuid))},
		"countOfShard": {"config", d("count", "chunks", "query", d("uuid", uuid, "shard", "s07"))},
		"groupOfShard": {"config", d("aggregate", "chunks", "pipeline", bson.A{d("$match", d("uuid", uuid, "shard", "s07")),
			d("$group", d("_id", nil, "n", d("$sum", 1)))}, "cursor", d())},
		"groupByShard": {"config", d("aggregate", "chunks", "pipeline", bson.A{d("$match", d("uuid", uuid)),
			d("$group", d("_id", "$shard", "n", d("$sum", 1)))}, "cursor", d())},
		"countDocuments": {"config", d("aggregate", "chunks", "pipeline", bson.A{d("$match", d("uuid", uuid)),
			d("$group", d("_id", 1, "n", d("$sum", 1)))}, "cursor", d())},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				m.handle(b, bench.db, bench.command)
			}
		})
	}
}
