package bindings

import (
	"context"
	"testing"
	"time"
)

// BenchmarkStart is the start of every one-liner without a connection.
func BenchmarkStart(b *testing.B) {
	for b.Loop() {
		s, err := New(Config{})
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
	f := &fixture{data: fixtureData(time.Now()), next: map[int64][]rawDocument{}}
	s, err := New(Config{Client: dial(b, f), Database: "app"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Eval(context.Background(), "eval", "db.orders.findOne({_id: 3})"); err != nil {
			b.Fatal(err)
		}
		f.commands()
	}
}

// BenchmarkIterate reads documents through a cursor.
func BenchmarkIterate(b *testing.B) {
	f := &fixture{data: fixtureData(time.Now()), next: map[int64][]rawDocument{}}
	s, err := New(Config{Client: dial(b, f), Database: "app"})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := s.Eval(context.Background(), "eval", "var n = 0; db.orders.find().forEach(d => { n += d._id })"); err != nil {
			b.Fatal(err)
		}
		f.commands()
	}
}
