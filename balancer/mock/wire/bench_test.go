package wire_test

import (
	"context"
	"encoding/binary"
	"io"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/wire"
)

// constant answers pong at no cost.
type constant struct {
	toy
	reply bson.Raw
}

func pong(t testing.TB) *constant {
	reply, err := bson.Marshal(bson.D{{Key: "ok", Value: 1.0}})
	if err != nil {
		t.Fatal(err)
	}
	return &constant{reply: reply}
}

func (c *constant) Handle(ctx context.Context, r wire.Request) bson.Raw {
	if r.Command == "pong" {
		return c.reply
	}
	return c.toy.Handle(ctx, r)
}

// One command by the driver over the Pipe. Most of it is the driver: see
// BenchmarkRoundTripBare.
func BenchmarkRoundTripDriver(b *testing.B) {
	pipe := wire.NewPipe()
	serve(b, &wire.Server{Handler: pong(b)}, pipe)
	db := connect(b, pipe, "mock").Database("admin")
	ctx := context.Background()
	command := bson.D{{Key: "pong", Value: 1}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := db.RunCommand(ctx, command).Raw(); err != nil {
			b.Fatal(err)
		}
	}
}

// The same without a driver: Pipe, server and two goroutine switches.
func BenchmarkRoundTripBare(b *testing.B) {
	pipe := wire.NewPipe()
	serve(b, &wire.Server{Handler: pong(b)}, pipe)
	nc, err := pipe.DialContext(context.Background(), "", "mock")
	if err != nil {
		b.Fatal(err)
	}
	defer nc.Close()
	request := msg(b, 0, bson.D{{Key: "pong", Value: 1}, {Key: "$db", Value: "admin"}})
	reply := make([]byte, 1024)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := nc.Write(request); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(nc, reply[:4]); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(nc, reply[4:binary.LittleEndian.Uint32(reply)]); err != nil {
			b.Fatal(err)
		}
	}
}

// A batch of 10,000 documents of 1 KB: reading, checking and folding.
func BenchmarkInsertBatch(b *testing.B) {
	pipe := wire.NewPipe()
	h := pong(b)
	h.on("insert", func(context.Context, wire.Request) bson.D {
		return bson.D{{Key: "n", Value: int32(10000)}, {Key: "ok", Value: 1.0}}
	})
	serve(b, &wire.Server{Handler: h}, pipe)
	coll := connect(b, pipe, "mock").Database("app").Collection("orders")
	doc, err := bson.Marshal(bson.D{{Key: "_id", Value: 1}, {Key: "pad", Value: make([]byte, 1000)}})
	if err != nil {
		b.Fatal(err)
	}
	docs := make([]bson.Raw, 10000)
	for i := range docs {
		docs[i] = doc
	}
	b.SetBytes(int64(len(docs) * len(doc)))
	for b.Loop() {
		if _, err := coll.InsertMany(context.Background(), docs); err != nil {
			b.Fatal(err)
		}
	}
}
