package bindings_test

import (
	"context"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// BenchmarkStart is the start of every one-liner without a connection.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := bindings.New(bindings.Config{})
		if err != nil {
			b.Fatal(err)
		}
		r, err := s.Eval(context.Background(), "eval", "1")
		if err != nil {
			b.Fatal(err)
		}
		if text, err := s.Render(context.Background(), r); err != nil || text != "1" {
			b.Fatal(text, err)
		}
	}
}

// BenchmarkFindOne is one command there and back, in memory.
func BenchmarkFindOne(b *testing.B) {
	f := &shelltest.ScriptedServer{Data: shelltest.FixtureData(time.Now()), CursorRest: map[int64][]bson.Raw{}}
	s, err := bindings.New(bindings.Config{Client: shelltest.Dial(b, f), Database: "app"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Eval(context.Background(), "eval", "db.orders.findOne({_id: 3})"); err != nil {
			b.Fatal(err)
		}
		f.TakeCommands()
	}
}

// BenchmarkIterate reads documents through a cursor.
func BenchmarkIterate(b *testing.B) {
	f := &shelltest.ScriptedServer{Data: shelltest.FixtureData(time.Now()), CursorRest: map[int64][]bson.Raw{}}
	s, err := bindings.New(bindings.Config{Client: shelltest.Dial(b, f), Database: "app"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Eval(context.Background(), "eval", "var n = 0; db.orders.find().forEach(d => { n += d._id })"); err != nil {
			b.Fatal(err)
		}
		f.TakeCommands()
	}
}
