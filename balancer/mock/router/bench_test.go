package router_test

import (
	"context"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/wire"
)

// benchDocuments are what the benchmarks of reading go over.
const benchDocuments = 100_000

// sender gives a function that sends commands to a cluster of its own, with a
// collection b.c that is sharded by k into two chunks on two shards.
func sender(b *testing.B) func(command bson.D) bson.Raw {
	b.Helper()
	cluster, err := mock.New(mock.Config{Topology: mock.DefaultTopology(2)})
	if err != nil {
		b.Fatal(err)
	}
	r := router.New(cluster, nil)
	send := func(db string, command bson.D) bson.Raw {
		body, err := bson.Marshal(command)
		if err != nil {
			b.Fatal(err)
		}
		reply := r.Handle(context.Background(), wire.Request{Database: db, Command: command[0].Key, Body: body, Client: &wire.ClientConn{ID: 1}})
		if n, _ := reply.Lookup("ok").AsFloat64OK(); n != 1 || !reply.Lookup("writeErrors").IsZero() {
			b.Fatalf("%v answered %s", command, reply)
		}
		return reply
	}
	send("admin", d("shardCollection", "b.c", "key", d("k", 1)))
	send("admin", d("split", "b.c", "middle", d("k", benchDocuments/2)))
	send("admin", d("moveRange", "b.c", "min", d("k", benchDocuments/2), "toShard", "shard1"))
	return func(command bson.D) bson.Raw { return send("b", command) }
}

// filled is sender with the documents in place.
func filled(b *testing.B) func(command bson.D) bson.Raw {
	b.Helper()
	send := sender(b)
	for from := 0; from < benchDocuments; from += 1000 {
		send(d("insert", "c", "documents", benchBatch(from, 1000)))
	}
	return send
}

func benchBatch(from, n int) bson.A {
	docs := bson.A{}
	for i := from; i < from+n; i++ {
		docs = append(docs, d("_id", i, "k", i, "g", i%100, "s", "some text of a document", "v", float64(i)/3))
	}
	return docs
}

func BenchmarkInsertThousand(b *testing.B) {
	send := sender(b)
	from := 0
	for b.Loop() {
		send(d("insert", "c", "documents", benchBatch(from, 1000)))
		from += 1000
	}
}

// What a query costs: by _id (all shards), by the shard key (one), and with a
// filter or a group over every document.
func BenchmarkQuery(b *testing.B) {
	send := filled(b)
	for name, command := range map[string]bson.D{
		"id":       d("find", "c", "filter", d("_id", 77_777)),
		"shardKey": d("find", "c", "filter", d("k", 77_777)),
		"range":    d("find", "c", "filter", d("k", d("$gte", 49_950, "$lt", 50_050))),
		"scan":     d("count", "c", "query", d("v", d("$gt", 30_000.0), "s", "some text of a document")),
		"group":    d("aggregate", "c", "pipeline", bson.A{d("$group", d("_id", "$g", "n", d("$sum", "$v")))}, "cursor", d()),
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				send(command)
			}
		})
	}
}
