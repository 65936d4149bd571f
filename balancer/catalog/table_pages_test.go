package catalog

import (
	"bytes"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// throughPages returns a table made of the pages of another.
func throughPages(t testing.TB, rt *RoutingTable) *RoutingTable {
	t.Helper()
	r := NewPageReader(rt.Pattern(), rt.Epoch(), rt.Timestamp())
	for page := range rt.Pages() {
		if err := r.Add(page); err != nil {
			t.Fatal(err)
		}
	}
	again, err := r.Table()
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// Keys of all types come back as they were, in more pages than one.
func TestPagesKeepKeys(t *testing.T) {
	big, err := bson.ParseDecimal128("1.5E+14")
	if err != nil {
		t.Fatal(err)
	}
	points := []any{
		bson.Null{}, -1.5, int32(0), 0.25, int64(1 << 40), big, "", "text", bson.Symbol("zext"),
		bson.D{{Key: "a", Value: bson.D{{Key: "b", Value: 1}}}}, bson.Binary{Subtype: 4, Data: make([]byte, 16)},
		bson.ObjectID{1}, false, true, bson.DateTime(-5), bson.DateTime(5), bson.Timestamp{T: 1, I: 2},
		bson.Regex{Pattern: "p", Options: "i"},
	}
	owners := []ShardID{"a"}
	for i := range points {
		owners = append(owners, ShardID(rune('a'+i%3)))
	}
	small := table(t, chunksAt(t, points, owners...))
	var many []any
	for i := range int64(2*pageChunks + 10) {
		many = append(many, i*1000)
	}
	owners = owners[:0]
	for i := range len(many) + 1 {
		owners = append(owners, ShardID(rune('a'+i%20)))
	}
	for name, rt := range map[string]*RoutingTable{"types": small, "pages": table(t, chunksAt(t, many, owners...))} {
		again := throughPages(t, rt)
		if again.Len() != rt.Len() || again.Version() != rt.Version() {
			t.Errorf("%s: %d chunks at %s, want %d at %s", name, again.Len(), again.Version(), rt.Len(), rt.Version())
		}
		i := 0
		for c := range again.All() {
			if want := rt.At(i); !sameChunk(c, want) {
				t.Fatalf("%s: chunk %d is %+v, want %+v", name, i, c, want)
			}
			i++
		}
	}
}

func TestPagesRefuse(t *testing.T) {
	rt := table(t, chunksAt(t, []any{1, 2.5, "a"}, "a", "b", "a", "c"))
	var page []byte
	for p := range rt.Pages() {
		page = bytes.Clone(p)
	}
	reader := func() *PageReader { return NewPageReader(rt.Pattern(), rt.Epoch(), rt.Timestamp()) }
	if _, err := reader().Table(); !errors.Is(err, ErrDamagedPage) {
		t.Errorf("no page: %v", err)
	}
	for i := range page {
		if err := reader().Add(page[:i]); !errors.Is(err, ErrDamagedPage) {
			t.Errorf("cut at %d: %v", i, err)
		}
	}
	if err := reader().Add(append(bytes.Clone(page), 0)); !errors.Is(err, ErrDamagedPage) {
		t.Errorf("a byte too many: %v", err)
	}
	twice := reader()
	if err := twice.Add(page); err != nil {
		t.Fatal(err)
	}
	if err := twice.Add(page); !errors.Is(err, ErrDamagedPage) {
		t.Errorf("the same page again: %v", err)
	}
	two := NewPageReader(keyOf(t, "x", "y"), rt.Epoch(), rt.Timestamp())
	if err := two.Add(page); !errors.Is(err, ErrDamagedPage) {
		t.Errorf("keys of another pattern: %v", err)
	}
}

// Whatever a page has in it, it is refused or gives a table like those made of
// documents.
func FuzzPages(f *testing.F) {
	p := keyOf(f, "x")
	for _, points := range [][]any{nil, {1, 2.5, "a"}, {bson.D{{Key: "a", Value: 1}}, bson.Binary{Data: []byte("abc")}}} {
		owners := []ShardID{"a", "b", "c", "d"}
		chunks := chunksAt(f, points, owners[:len(points)+1]...)
		chunks[0].Jumbo, chunks[0].Estimate = JumboTrue, NewEstimate(5)
		chunks[0].OnCurrentShardSince = bson.Timestamp{T: 7, I: 1}
		chunks[0].History = []ChunkHistory{{bson.Timestamp{T: 7, I: 1}, "a"}, {bson.Timestamp{T: 3}, "z"}}
		for page := range table(f, chunks).Pages() {
			f.Add(bytes.Clone(page))
		}
	}
	f.Fuzz(func(t *testing.T, page []byte) {
		r := NewPageReader(p, bson.ObjectID{1}, bson.Timestamp{T: 1})
		if r.Add(page) != nil {
			return
		}
		rt, err := r.Table()
		if err != nil {
			return
		}
		b := NewTableBuilder(p, bson.ObjectID{1}, bson.Timestamp{T: 1})
		for c := range rt.All() {
			if c.Min.Compare(c.Max) >= 0 {
				t.Fatalf("chunk %+v", c)
			}
			if len(c.History) > 0 && !c.OnCurrentShardSince.IsZero() && c.History[0].ValidAfter != c.OnCurrentShardSince {
				return // a table can have such a chunk, a document can't
			}
			if err := b.Add(doc(t, c.Doc(p, uuid))); err != nil {
				t.Fatalf("chunk %+v: %v", c, err)
			}
		}
		built, err := b.Table()
		if err != nil || built.Len() != rt.Len() {
			t.Fatalf("%d chunks, want %d: %v", built.Len(), rt.Len(), err)
		}
		throughPages(t, rt)
	})
}

func BenchmarkPages(b *testing.B) {
	f := newFleet(b)
	rt := f.build(b, f.documents(b, 2))
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		bytes := 0
		for b.Loop() {
			bytes = 0
			for page := range rt.Pages() {
				bytes += len(page)
			}
		}
		b.ReportMetric(float64(bytes)/manyChunks, "bytes/chunk")
	})
	b.Run("read", func(b *testing.B) {
		var pages [][]byte
		for page := range rt.Pages() {
			pages = append(pages, append([]byte(nil), page...))
		}
		b.ReportAllocs()
		for b.Loop() {
			r := NewPageReader(rt.Pattern(), rt.Epoch(), rt.Timestamp())
			for _, page := range pages {
				if err := r.Add(page); err != nil {
					b.Fatal(err)
				}
			}
			if _, err := r.Table(); err != nil {
				b.Fatal(err)
			}
		}
	})
}
