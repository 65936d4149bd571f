package catalog

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"sort"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

// model is a routing table as one would write it without a care: a sorted
// slice.
type model []Chunk

func (m model) find(k Key) int {
	for i, c := range m {
		if k.Less(c.Max) {
			return i
		}
	}
	return len(m) - 1
}

func (m model) apply(changed []Chunk) model {
	changed = slices.Clone(changed)
	sort.SliceStable(changed, func(i, j int) bool { return changed[i].Version.Compare(changed[j].Version) < 0 })
	next := slices.Clone(m)
	for _, c := range changed {
		next = slices.DeleteFunc(next, func(o Chunk) bool { return o.Min.Less(c.Max) && c.Min.Less(o.Max) })
		next = append(next, c)
	}
	slices.SortFunc(next, func(a, b Chunk) int { return a.Min.Compare(b.Min) })
	return next
}

func (m model) newest() Chunk {
	return slices.MaxFunc(m, func(a, b Chunk) int { return a.Version.Compare(b.Version) })
}

// normal returns a chunk as a table gives it back: a single history entry that
// shard and since imply is always there.
func normal(c Chunk) Chunk {
	if len(c.History) == 0 && !c.OnCurrentShardSince.IsZero() {
		c.History = []ChunkHistory{{c.OnCurrentShardSince, c.Shard}}
	}
	return c
}

func sameChunk(a, b Chunk) bool {
	return a.ID == b.ID && a.Min == b.Min && a.Max == b.Max && a.Shard == b.Shard && a.Version == b.Version &&
		a.Jumbo == b.Jumbo && a.OnCurrentShardSince == b.OnCurrentShardSince &&
		a.Estimate == b.Estimate && slices.Equal(a.History, b.History)
}

func (m model) check(t interface {
	Helper()
	Fatalf(string, ...any)
}, rt *RoutingTable, from, to Key) {
	t.Helper()
	if rt.Len() != len(m) {
		t.Fatalf("%d chunks, want %d", rt.Len(), len(m))
	}
	i := 0
	for c := range rt.All() {
		if !sameChunk(c, normal(m[i])) {
			t.Fatalf("chunk %d is %+v, want %+v", i, c, normal(m[i]))
		}
		if i%7 == 0 && !sameChunk(rt.At(i), c) {
			t.Fatalf("At(%d) is %+v", i, rt.At(i))
		}
		if !rt.HasLowerBound(c.Min) {
			t.Fatalf("no chunk begins at %v", c.Min)
		}
		i++
	}
	if i != len(m) {
		t.Fatalf("All gave %d of %d chunks", i, len(m))
	}
	if begins := slices.ContainsFunc(m, func(c Chunk) bool {
		return c.Min.Equal(from)
	}); !from.IsZero() && rt.HasLowerBound(from) != begins {
		t.Fatalf("a chunk begins at %v: %v, want %v", from, !begins, begins)
	}
	newest := m.newest()
	if rt.Version().ChunkVersion != newest.Version || !sameChunk(rt.Newest(), normal(newest)) {
		t.Fatalf("newest is %v at %v, want %v", rt.Newest(), rt.Version(), newest)
	}

	counts, jumbo, versions := map[ShardID]int{}, map[ShardID]int{}, map[ShardID]ChunkVersion{}
	owned := map[ShardID][]Chunk{}
	var overlapping []Chunk
	for _, c := range m {
		counts[c.Shard]++
		if c.Jumbo == JumboTrue {
			jumbo[c.Shard]++
		}
		if versions[c.Shard].Compare(c.Version) < 0 {
			versions[c.Shard] = c.Version
		}
		if (to.IsZero() || c.Min.Less(to)) && from.Less(c.Max) && (to.IsZero() || from.Less(to)) {
			owned[c.Shard] = append(owned[c.Shard], normal(c))
			overlapping = append(overlapping, normal(c))
		}
	}
	if got, want := rt.Owners(), slices.Sorted(maps.Keys(counts)); !slices.Equal(got, want) {
		t.Fatalf("owners %v, want %v", got, want)
	}
	same := func(what string, got iter.Seq[Chunk], want []Chunk) {
		if all := slices.Collect(got); !slices.EqualFunc(all, want, sameChunk) {
			t.Fatalf("%s in [%v, %v): %d chunks, want %d", what, from, to, len(all), len(want))
		}
	}
	same("overlapping", rt.Overlapping(from, to), overlapping)
	if got, want := rt.OwnersIn(from, to), slices.Sorted(maps.Keys(owned)); !slices.Equal(got, want) {
		t.Fatalf("owners in [%v, %v): %v, want %v", from, to, got, want)
	}
	for _, s := range append(slices.Collect(maps.Keys(counts)), "nobody") {
		if rt.CountOn(s) != counts[s] || rt.JumboCount(s) != jumbo[s] || rt.ShardVersion(s) != versions[s] {
			t.Fatalf("%s has %d chunks, %d jumbo, at %v; want %d, %d, %v", s, rt.CountOn(s), rt.JumboCount(s), rt.ShardVersion(s),
				counts[s], jumbo[s], versions[s])
		}
		same("owned by "+string(s), rt.OwnedChunks(s, from, to), owned[s])
		m.checkAdjoining(t, rt, s)
		first, ok := rt.FirstNonJumbo(s, from, to)
		i := slices.IndexFunc(owned[s], func(c Chunk) bool { return c.Jumbo != JumboTrue })
		if ok != (i >= 0) || ok && !sameChunk(first, owned[s][i]) {
			t.Fatalf("first unflagged of %s in [%v, %v): %+v, %v; want number %d of %+v", s, from, to, first, ok, i, owned[s])
		}
	}
}

// checkAdjoining wants the chunks of a shard that lie beside another of its
// among those given, and all others passed over or given.
func (m model) checkAdjoining(t interface {
	Helper()
	Fatalf(string, ...any)
}, rt *RoutingTable, s ShardID) {
	t.Helper()
	var all, beside []Chunk
	for i, c := range m {
		if c.Shard == s {
			all = append(all, c)
			if i > 0 && m[i-1].Shard == s || i < len(m)-1 && m[i+1].Shard == s {
				beside = append(beside, normal(c))
			}
		}
	}
	counts := func(_ bson.Timestamp, jumbo Jumbo) bool { return jumbo != JumboTrue }
	adjoins := false
	for i := 1; i < len(m); i++ {
		adjoins = adjoins || m[i-1].Shard == s && m[i].Shard == s && m[i-1].Jumbo != JumboTrue && m[i].Jumbo != JumboTrue
	}
	if got := rt.HasMergeCandidates(s, Key{}, counts); got != adjoins {
		t.Fatalf("chunks of %s lie beside each other: %v, want %v", s, got, adjoins)
	}
	at := 0
	for passed, c := range rt.MergeCandidates(s, Key{}, func(bson.Timestamp, Jumbo) bool { return true }) {
		if at += passed; at >= len(all) || !sameChunk(c, normal(all[at])) {
			t.Fatalf("chunk %d of %s is %+v", at, s, c)
		}
		at++
		if len(beside) > 0 && sameChunk(c, beside[0]) {
			beside = beside[1:]
		}
	}
	if len(beside) > 0 {
		t.Fatalf("%d chunks of %s that lie beside others are missing", len(beside), s)
	}
}

// world draws changes to a table as splits, merges and moves make them.
type world struct {
	pattern KeyPattern
	chunks  model
	version ChunkVersion
	clock   uint32
}

func (w *world) next() ChunkVersion {
	w.version.Minor++
	return w.version
}

func (w *world) shard(t *rapid.T) ShardID {
	return ShardID(fmt.Sprintf("s%d", rapid.IntRange(0, 5).Draw(t, "shard")))
}

// ends returns the bounds of a chunk as numbers.
func (w *world) ends(c Chunk) (int64, int64) {
	number := func(k Key, other int64) int64 {
		if n, ok := k.Values()[0].AsInt64OK(); ok {
			return n
		}
		return other
	}
	return number(c.Min, -1<<40), number(c.Max, 1<<40)
}

func (w *world) key(v any) Key {
	raw, _ := bson.Marshal(bson.D{{Key: "x", Value: v}})
	k, _ := w.pattern.ParseKey(raw)
	return k
}

// between makes a key inside a chunk, as one of two types.
func (w *world) between(t *rapid.T, c Chunk) (Key, bool) {
	low, high := w.ends(c)
	if high-low < 2 {
		return Key{}, false
	}
	n := rapid.Int64Range(low+1, high-1).Draw(t, "point")
	if rapid.Bool().Draw(t, "double") {
		return w.key(float64(n)), true
	}
	return w.key(n), true
}

// evenly are up to n-1 keys that cut a chunk in even parts.
func (w *world) evenly(c Chunk, n int) []Key {
	low, high := w.ends(c)
	var keys []Key
	for i := range int64(n - 1) {
		if at := low + (high-low)/int64(n)*(i+1); at > low && at < high && (i == 0 || at > low+(high-low)/int64(n)*i) {
			keys = append(keys, w.key(at))
		}
	}
	return keys
}

func (w *world) change(t *rapid.T) []Chunk {
	i := rapid.IntRange(0, len(w.chunks)-1).Draw(t, "chunk")
	c := w.chunks[i]
	switch rapid.SampledFrom([]string{"split", "split", "split many", "merge", "move", "move part", "mark"}).Draw(t,
		"what") {
	case "split":
		middle, ok := w.between(t, c)
		if !ok {
			return nil
		}
		left, right := c, c
		left.Max, right.Min = middle, middle
		right.ID = bson.NewObjectID()
		left.Version, right.Version = w.next(), w.next()
		left.Jumbo, right.Jumbo = JumboFalse, JumboFalse
		return []Chunk{right, left}
	case "split many":
		n := rapid.SampledFrom([]int{3, 40, 600}).Draw(t, "parts")
		low := c.Min
		var parts []Chunk
		for _, middle := range w.evenly(c, n) {
			part := c
			part.Min, part.Max, part.Version = low, middle, w.next()
			parts = append(parts, part)
			low = middle
		}
		c.Min, c.Version = low, w.next()
		return append(parts, c)
	case "merge":
		n := rapid.SampledFrom([]int{1, 2, 5, 100, 600}).Draw(t, "count")
		last := w.chunks[min(i+n, len(w.chunks)-1)]
		c.Max, c.Version, c.History = last.Max, w.next(), nil
		return []Chunk{c}
	case "move", "move part":
		w.version = ChunkVersion{Major: w.version.Major + 1}
		w.clock++
		since := bson.Timestamp{T: w.clock}
		moved := c
		moved.Shard, moved.Version = w.shard(t), w.version
		moved.OnCurrentShardSince = since
		moved.History = append([]ChunkHistory{{since, moved.Shard}}, normal(c).History...)
		if len(moved.History) > 3 {
			moved.History = moved.History[:3]
		}
		changed := []Chunk{moved}
		if j := slices.IndexFunc(w.chunks, func(o Chunk) bool { return o.Shard == c.Shard && !o.Min.Equal(c.Min) }); j >= 0 {
			control := w.chunks[j]
			control.Version = w.next()
			changed = append(changed, control)
		}
		return changed
	}
	if c.OnCurrentShardSince.IsZero() && rapid.Bool().Draw(t, "old history") {
		c.History = []ChunkHistory{{bson.Timestamp{T: 7}, w.shard(t)}} // as before 7.0
	}
	c.Jumbo = rapid.SampledFrom([]Jumbo{JumboUnset, JumboFalse, JumboTrue}).Draw(t, "jumbo")
	c.Estimate = rapid.SampledFrom([]Estimate{0, NewEstimate(0), NewEstimate(5), NewEstimate(TooBig)}).Draw(t, "size")
	return []Chunk{c}
}

func TestApplyKeepsUpWithModel(t *testing.T) {
	p := keyOf(t, "x")
	rapid.Check(t, func(r *rapid.T) {
		w := &world{pattern: p, version: ChunkVersion{1, 0}, clock: 100}
		w.chunks = model{{ID: bson.ObjectID{9}, Min: p.GlobalMin(), Max: p.GlobalMax(), Shard: "s0", Version: w.version}}
		if rapid.Bool().Draw(r, "since") {
			w.chunks[0].OnCurrentShardSince = bson.Timestamp{T: 100}
		}
		// Small tables with small blocks go through the same as great ones.
		l := rapid.SampledFrom([]layout{defaultLayout(), {2, 4, 8, 2, 4, 8}, {1, 1, 1, 1, 1, 1}, {2, 3, 5, 2, 2, 3}}).Draw(r,
			"layout")
		sizes := []int{1, 60}
		if l == defaultLayout() {
			sizes = []int{1, 60, 1500}
		}
		for _, k := range w.evenly(w.chunks[0], rapid.SampledFrom(sizes).Draw(r, "chunks")) {
			last := &w.chunks[len(w.chunks)-1]
			next := *last
			last.Max, next.Min = k, k
			next.Version, next.Shard = w.next(), ShardID(fmt.Sprintf("s%d", len(w.chunks)*7%6))
			w.chunks = append(w.chunks, next)
		}
		rt, err := newRoutingTable(l, p, bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values(w.chunks))
		if err != nil {
			r.Fatal(err)
		}
		checkLayout(r, rt)
		for range rapid.IntRange(1, 12).Draw(r, "changes") {
			var changed []Chunk
			for range rapid.IntRange(1, 3).Draw(r, "batch") {
				// Changes of one batch are made one after the other, and read at once.
				more := w.change(r)
				w.chunks = w.chunks.apply(more)
				changed = append(changed, more...)
			}
			changed = visible(w.chunks, changed)
			before, old := rt, rt.Len()
			next, err := rt.Apply(changed)
			if err != nil {
				r.Fatalf("apply %d changes: %v", len(changed), err)
			}
			rt = next
			checkLayout(r, rt)
			if before.Len() != old {
				r.Fatalf("the old table changed")
			}
			from, to := Key{}, Key{}
			if rapid.Bool().Draw(r, "bounded") {
				from = w.chunks[rapid.IntRange(0, len(w.chunks)-1).Draw(r, "from")].Min
				to = w.chunks[rapid.IntRange(0, len(w.chunks)-1).Draw(r, "to")].Max
				if k, ok := w.between(r, w.chunks[w.chunks.find(from)]); ok {
					from = k
				}
				if k, ok := w.between(r, w.chunks[w.chunks.find(to)]); ok {
					to = k
				}
			}
			w.chunks.check(r, rt, from, to)
			w.chunks.checkChosen(r, rt)
			for range 3 {
				c := w.chunks[rapid.IntRange(0, len(w.chunks)-1).Draw(r, "looked up")]
				if k, ok := w.between(r, c); ok && !sameChunk(rt.Find(k), normal(c)) {
					r.Fatalf("%v found in %+v, want %+v", k, rt.Find(k), c)
				}
			}
		}
		// The same table again, from chunks and from documents.
		w.chunks.check(r, table(t, w.chunks), Key{}, Key{})
		w.chunks.check(r, throughPages(t, rt), Key{}, Key{})
		b := NewTableBuilder(p, bson.ObjectID{1}, bson.Timestamp{T: 1})
		for _, c := range w.chunks {
			raw, err := bson.Marshal(c.Doc(p, bson.Binary{Subtype: 4, Data: make([]byte, 16)}))
			if err != nil {
				r.Fatal(err)
			}
			if err := b.Add(raw); err != nil {
				r.Fatal(err)
			}
			parsed, err := ParseChunk(p, raw)
			if err != nil || !sameChunk(parsed, normal(c)) {
				r.Fatalf("parsed %+v, want %+v: %v", parsed, c, err)
			}
		}
		built, err := b.Table()
		if err != nil {
			r.Fatal(err)
		}
		w.chunks.check(r, built, Key{}, Key{})
	})
}

// checkLayout looks at what Apply must keep in order behind the scenes.
func checkLayout(t *rapid.T, rt *RoutingTable) {
	for i, s := range rt.groups {
		if len(s.blocks) == 0 || len(s.blocks) > rt.layout.maxGroupBlocks || rt.groupMins[i] != s.blockMins[0] {
			t.Fatalf("group %d has %d blocks, from %q", i, len(s.blocks), s.blockMins)
		}
		if len(s.starts) != len(s.blocks)+1 || int(rt.starts[i+1]-rt.starts[i]) != s.len() {
			t.Fatalf("group %d begins at %d and has %d chunks, the next begins at %d", i, rt.starts[i], s.len(), rt.starts[i+1])
		}
		for j, b := range s.blocks {
			if b.len() == 0 || b.len() > rt.layout.maxBlockChunks || b.encodedAt(0) != s.blockMins[j] ||
				int(s.starts[j+1]-s.starts[j]) != b.len() {
				t.Fatalf("block %d of group %d has %d chunks", j, i, b.len())
			}
		}
	}
}

// visible returns the chunks of a list that are still there: what a reader of
// config.chunks sees of a batch of changes.
func visible(m model, changed []Chunk) []Chunk {
	there := map[ChunkVersion]Chunk{}
	for _, c := range m {
		there[c.Version] = c
	}
	var out []Chunk
	for _, c := range changed {
		if now, ok := there[c.Version]; ok && now.Min.Equal(c.Min) && now.Max.Equal(c.Max) {
			out = append(out, now)
			delete(there, c.Version)
		}
	}
	return out
}

// Changed chunks that were read while they changed: of two that overlap the
// newer one counts, and what would leave a gap is refused.
func TestApplyRefusesGaps(t *testing.T) {
	rt := table(t, chunksAt(t, []any{0, 10, 20}, "a", "b", "a", "c"))
	at := func(from, to any, minor uint32) Chunk {
		return Chunk{Min: x(t, from), Max: x(t, to), Shard: "b", Version: ChunkVersion{2, minor}}
	}
	for _, c := range []struct {
		name    string
		changed []Chunk
		ok      bool
	}{
		{"whole chunk", []Chunk{at(0, 10, 0)}, true},
		{"two chunks as one", []Chunk{at(0, 20, 0)}, true},
		{"split", []Chunk{at(5, 10, 1), at(0, 5, 0)}, true},
		{"left part only", []Chunk{at(0, 5, 0)}, false},
		{"right part only", []Chunk{at(5, 10, 0)}, false},
		{"inner part only", []Chunk{at(3, 5, 0)}, false},
		{"gap inside", []Chunk{at(0, 3, 0), at(5, 10, 1)}, false},
		{"from the middle to a boundary", []Chunk{at(5, 20, 0)}, false},
		{"older whole, newer parts", []Chunk{at(0, 10, 0), at(0, 5, 1), at(5, 10, 2)}, true},
		{"older parts, newer whole", []Chunk{at(0, 5, 1), at(5, 10, 2), at(0, 10, 3)}, true},
		{"newer part of an older whole", []Chunk{at(0, 10, 0), at(0, 5, 1)}, false},
		{"empty range", []Chunk{at(5, 5, 0)}, false},
		{"reversed range", []Chunk{at(10, 0, 0)}, false},
		{"everything", []Chunk{at(bson.MinKey{}, bson.MaxKey{}, 0)}, true},
	} {
		got, err := rt.Apply(c.changed)
		if (err == nil) != c.ok {
			t.Errorf("%s: error %v", c.name, err)
		}
		if err == nil {
			var m model = chunksAt(t, []any{0, 10, 20}, "a", "b", "a", "c")
			m.apply(c.changed).check(t, got, Key{}, Key{})
		}
	}
}
