package catalog

import (
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

// A draft is at any time what the table would be to which each change was applied at
// once.
func TestDraftKeepsUpWithModel(t *testing.T) {
	p := keyOf(t, "x")
	rapid.Check(t, func(r *rapid.T) {
		w := &world{pattern: p, version: ChunkVersion{1, 0}, clock: 100}
		w.chunks = model{{Min: p.GlobalMin(), Max: p.GlobalMax(), Shard: "s0", Version: w.version}}
		for _, k := range w.evenly(w.chunks[0], rapid.SampledFrom([]int{1, 8, 60}).Draw(r, "chunks")) {
			last := &w.chunks[len(w.chunks)-1]
			next := *last
			last.Max, next.Min = k, k
			next.Version, next.Shard = w.next(), ShardID(fmt.Sprintf("s%d", len(w.chunks)*7%6))
			w.chunks = append(w.chunks, next)
		}
		first, err := NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values(w.chunks))
		if err != nil {
			r.Fatal(err)
		}
		d := NewDraft(first)
		for range rapid.IntRange(1, 30).Draw(r, "changes") {
			changed := w.change(r)
			w.chunks = w.chunks.apply(changed)
			if err := d.Put(changed...); err != nil {
				r.Fatalf("put %d changes: %v", len(changed), err)
			}
			w.checkDraft(r, d)
			if rapid.IntRange(0, 4).Draw(r, "read") == 0 {
				w.chunks.check(r, d.Table(), Key{}, Key{})
				w.checkDraft(r, d)
			}
		}
		w.chunks.check(r, d.Table(), Key{}, Key{})
	})
}

func (w *world) checkDraft(r *rapid.T, d *Draft) {
	if newest := w.chunks.newest().Version; d.Version().ChunkVersion != newest {
		r.Fatalf("at %v, want %v", d.Version(), newest)
	}
	from := w.chunks[rapid.IntRange(0, len(w.chunks)-1).Draw(r, "from")]
	to := w.chunks[rapid.IntRange(0, len(w.chunks)-1).Draw(r, "to")]
	lower, upper := from.Min, to.Max
	if k, ok := w.between(r, from); ok {
		lower = k
	}
	for _, k := range []Key{lower, upper} {
		if got, want := d.Find(k), normal(w.chunks[w.chunks.find(k)]); !sameChunk(got, want) {
			r.Fatalf("%v found in %+v, want %+v", k, got, want)
		}
	}
	var want []Chunk
	for _, c := range w.chunks {
		if c.Min.Less(upper) && lower.Less(c.Max) && lower.Less(upper) {
			want = append(want, normal(c))
		}
	}
	if got := slices.Collect(d.Overlapping(lower, upper)); !slices.EqualFunc(got, want, sameChunk) {
		r.Fatalf("in [%v, %v): %v, want %v", lower, upper, got, want)
	}
	counts := map[ShardID]int{}
	for _, c := range w.chunks {
		counts[c.Shard]++
	}
	for i := range 6 {
		s := ShardID(fmt.Sprintf("s%d", i))
		if d.CountOn(s) != counts[s] {
			r.Fatalf("%s has %d chunks, want %d", s, d.CountOn(s), counts[s])
		}
		other := slices.IndexFunc(w.chunks, func(c Chunk) bool { return c.Shard == s && !c.Min.Equal(from.Min) })
		got, ok := d.FirstOnShardExcept(s, from.Min)
		if ok != (other >= 0) || ok && !sameChunk(got, normal(w.chunks[other])) {
			r.Fatalf("first of %s but %v: %+v, want number %d of %v", s, from.Min, got, other, w.chunks)
		}
	}
}

// What does not fit is refused, and changes nothing.
func TestDraftRefuses(t *testing.T) {
	first := table(t, chunksAt(t, []any{10, 20}, "a", "b", "a"))
	d := NewDraft(first)
	good := first.At(1)
	good.Shard, good.Version = "a", ChunkVersion{Major: 9}
	bad := good
	bad.Min, bad.Max = x(t, 5), good.Min
	if err := d.Put(good, bad); err == nil {
		t.Error("a chunk that begins inside of another is taken")
	}
	empty := good
	empty.Max = empty.Min
	if err := d.Put(empty); err == nil {
		t.Error("an empty chunk is taken")
	}
	if d.Table() != first || d.Version() != first.Version() {
		t.Error("a refused change is there")
	}
}
