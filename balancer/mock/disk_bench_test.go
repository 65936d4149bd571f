package mock_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// BenchmarkKeptInsert is one insert of a small document a command: in memory,
// on disk by one client, and by sixteen a processor at once.
func BenchmarkKeptInsert(b *testing.B) {
	for _, bc := range []struct {
		name    string
		disk    bool
		clients int
	}{{"memory", false, 1}, {"disk", true, 1}, {"disk-many-clients", true, 16}} {
		b.Run(bc.name, func(b *testing.B) {
			cfg := mock.Config{RealTime: true}
			if bc.disk {
				cfg.DBPath = b.TempDir()
			}
			c, err := mock.New(cfg)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			r := router.New(c, nil)
			var next atomic.Int64
			b.SetParallelism(bc.clients)
			b.ResetTimer()
			if bc.clients == 1 {
				for b.Loop() {
					insertOne(b, r, next.Add(1))
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					insertOne(b, r, next.Add(1))
				}
			})
		})
	}
}

// padding makes a small document one of some hundred bytes.
const padding = "one hundred bytes, more or less, of text that says nothing at all"

func insertOne(b *testing.B, r *router.Router, id int64) {
	body, err := bson.Marshal(d("insert", "c", "documents", bson.A{d("_id", id, "k", id, "text", padding)}))
	if err != nil {
		b.Fatal(err)
	}
	reply := r.Handle(context.Background(), wire.Request{
		Database: "db", Command: "insert", Body: body, Client: &wire.ClientConn{ID: 1},
	})
	if reply.Lookup("n").AsInt64() != 1 {
		b.Fatal(reply)
	}
}

// BenchmarkOpen is a start with a directory that holds 100,000 documents, or a
// collection of a million chunks.
func BenchmarkOpen(b *testing.B) {
	for _, bc := range []struct {
		name string
		fill func(b *testing.B, r *router.Router)
		n    int
	}{{"documents", fillDocuments, 100_000}, {"chunks", fillChunks, 1_000_000}} {
		b.Run(fmt.Sprintf("%s=%d", bc.name, bc.n), func(b *testing.B) {
			dir := b.TempDir()
			c, err := mock.New(mock.Config{DBPath: dir})
			if err != nil {
				b.Fatal(err)
			}
			bc.fill(b, router.New(c, nil))
			c.Close()
			info, err := os.Stat(filepath.Join(dir, "mock.db"))
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				c, err := mock.New(mock.Config{DBPath: dir})
				if err != nil {
					b.Fatal(err)
				}
				b.StopTimer()
				c.Close()
				b.StartTimer()
			}
			b.ReportMetric(float64(info.Size())/float64(bc.n), "bytes/entry")
		})
	}
}

func fillDocuments(b *testing.B, r *router.Router) {
	for id := int64(0); id < 100_000; {
		var docs bson.A
		for range 1000 {
			docs = append(docs, d("_id", id, "k", id, "text", padding))
			id++
		}
		command(b, r, "db", d("insert", "c", "documents", docs))
	}
}

func fillChunks(b *testing.B, r *router.Router) {
	command(b, r, "admin", d("shardCollection", ns, "key", d("_id", "hashed")))
	command(b, r, "admin", d("balancerStop", 1))
	command(b, r, "admin", d("reshardCollection", ns, "key", d("k", "hashed"), "numInitialChunks", 1_000_000))
}

func command(b *testing.B, r *router.Router, db string, command bson.D) {
	b.Helper()
	body, err := bson.Marshal(command)
	if err != nil {
		b.Fatal(err)
	}
	reply := r.Handle(context.Background(), wire.Request{
		Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: 1},
	})
	if n, _ := reply.Lookup("ok").AsFloat64OK(); n != 1 {
		b.Fatal(reply)
	}
}
