package router_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// bareMessage is an OP_MSG as a driver sends it.
func bareMessage(tb testing.TB, command bson.D) []byte {
	tb.Helper()
	doc, err := bson.Marshal(command)
	if err != nil {
		tb.Fatal(err)
	}
	const opMsg, header = 2013, 16 + 4 + 1
	b := make([]byte, header, header+len(doc))
	binary.LittleEndian.PutUint32(b, uint32(header+len(doc)))
	binary.LittleEndian.PutUint32(b[12:], opMsg)
	return append(b, doc...)
}

// exchange sends a message and reads the reply.
func exchange(nc net.Conn, message, reply []byte) error {
	if _, err := nc.Write(message); err != nil {
		return err
	}
	if _, err := io.ReadFull(nc, reply[:4]); err != nil {
		return err
	}
	_, err := io.ReadFull(nc, reply[4:binary.LittleEndian.Uint32(reply)])
	return err
}

// loopback serves a sharded collection of benchDocuments on a TCP port.
func loopback(b *testing.B) net.Addr {
	b.Helper()
	cluster, err := mock.New(mock.Config{Topology: mock.DefaultTopology(2)})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(cluster.Close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	server := &wire.Server{Handler: router.New(cluster, nil)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(context.Background(), l) }()
	b.Cleanup(func() {
		if err := server.Close(); err != nil {
			b.Error(err)
		}
		<-served
	})
	nc, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	reply := make([]byte, 1<<16)
	say := func(command bson.D) {
		if err := exchange(nc, bareMessage(b, command), reply); err != nil {
			b.Fatal(err)
		}
	}
	say(d("shardCollection", "b.c", "key", d("k", 1), "$db", "admin"))
	for from := 0; from < benchDocuments; from += 1000 {
		say(d("insert", "c", "documents", benchBatch(from, 1000), "$db", "b"))
	}
	return l.Addr()
}

// One document found by the shard key or inserted at a time, over loopback TCP,
// by clients that wait for each reply. Operations a second are of all clients
// together.
func BenchmarkLoopback(b *testing.B) {
	address := loopback(b)
	var last atomic.Int64
	last.Store(benchDocuments)
	for _, conns := range []int{1, 16, 64} {
		for name, command := range map[string]func() bson.D{
			"find": func() bson.D {
				return d("find", "c", "filter", d("k", int(last.Add(1)%benchDocuments)), "limit", 1, "$db", "b")
			},
			"insert": func() bson.D {
				return d("insert", "c", "documents", benchBatch(int(last.Add(1)), 1), "$db", "b")
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", name, conns), func(b *testing.B) {
				var clients sync.WaitGroup
				var left atomic.Int64
				left.Store(int64(b.N))
				for range conns {
					nc, err := net.Dial("tcp", address.String())
					if err != nil {
						b.Fatal(err)
					}
					defer nc.Close()
					clients.Go(func() {
						reply := make([]byte, 1<<16)
						for left.Add(-1) >= 0 {
							if err := exchange(nc, bareMessage(b, command()), reply); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				clients.Wait()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ops/s")
			})
		}
	}
}

// What a document takes in memory, besides its BSON.
func BenchmarkMemoryPerDocument(b *testing.B) {
	const documents = 1_000_000
	for b.Loop() {
		b.StopTimer()
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		b.StartTimer()
		send := sender(b)
		for from := 0; from < documents; from += 1000 {
			send(d("insert", "c", "documents", benchBatch(from, 1000)))
		}
		b.StopTimer()
		runtime.GC()
		runtime.ReadMemStats(&after)
		doc, err := bson.Marshal(benchBatch(documents, 1)[0])
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/documents, "heapB/doc")
		b.ReportMetric(float64(len(doc)), "bsonB/doc")
		send(d("count", "c")) // it is alive until here
		b.StartTimer()
	}
}
