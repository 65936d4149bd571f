package values

import (
	"fmt"
	"testing"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

func BenchmarkInstall(b *testing.B) {
	for b.Loop() {
		b.StopTimer()
		rt := goja.New()
		b.StartTimer()
		Install(rt, Options{})
	}
}

// BenchmarkFirstUse is Install and one document of every common type.
func BenchmarkFirstUse(b *testing.B) {
	doc := chunkDocument(b)
	for b.Loop() {
		b.StopTimer()
		rt := goja.New()
		b.StartTimer()
		w := Install(rt, Options{})
		w.Inspect(w.DocToJS(doc), DefaultInspectOptions())
	}
}

func chunkDocument(tb testing.TB) bson.Raw {
	tb.Helper()
	raw, err := bson.Marshal(bson.D{
		{Key: "_id", Value: bson.NewObjectID()},
		{Key: "uuid", Value: bson.Binary{Subtype: 4, Data: make([]byte, 16)}},
		{Key: "min", Value: bson.D{{Key: "k", Value: bson.MinKey{}}}},
		{Key: "max", Value: bson.D{{Key: "k", Value: int64(5)}}},
		{Key: "shard", Value: "shard0"},
		{Key: "lastmod", Value: bson.Timestamp{T: 1, I: 2}},
		{Key: "onCurrentShardSince", Value: bson.Timestamp{T: 1, I: 2}},
		{Key: "history", Value: bson.A{bson.D{{Key: "validAfter", Value: bson.Timestamp{T: 1, I: 2}},
			{Key: "shard", Value: "shard0"}}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func wideDocument(tb testing.TB, fields int) bson.Raw {
	tb.Helper()
	var d bson.D
	for i := range fields {
		d = append(d, bson.E{Key: fmt.Sprintf("field%d", i),
			Value: []any{int32(i), "text", int64(i), 1.5, bson.DateTime(i)}[i%5]})
	}
	raw, err := bson.Marshal(d)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

func BenchmarkDocuments(b *testing.B) {
	w := Install(goja.New(), Options{})
	for _, c := range []struct {
		name string
		doc  bson.Raw
	}{{"chunk", chunkDocument(b)}, {"wide5000", wideDocument(b, 5000)}} {
		js := w.DocToJS(c.doc)
		b.Run(c.name+"/ToJS", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.DocToJS(c.doc)
			}
		})
		b.Run(c.name+"/FromJS", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.DocFromJS(js); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(c.name+"/Inspect", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w.Inspect(js, DefaultInspectOptions())
			}
		})
		b.Run(c.name+"/EJSON", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.EJSON(js, true, ""); err != nil {
					b.Fatal(err)
				}
			}
		})
		text, _ := w.EJSON(js, true, "")
		b.Run(c.name+"/ParseEJSON", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := w.ParseEJSON(text, false); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
