package placement

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

func raw(t testing.TB, d bson.D) bson.Raw {
	t.Helper()
	doc, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func pattern(t testing.TB, fields ...string) catalog.KeyPattern {
	t.Helper()
	d := bson.D{}
	for _, f := range fields {
		d = append(d, bson.E{Key: f, Value: 1})
	}
	p, err := catalog.ParseKeyPattern(raw(t, d))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var someUUID = bson.Binary{Subtype: bson.TypeBinaryUUID, Data: []byte("0123456789abcdef")}

func collection(t testing.TB, fields ...string) catalog.Collection {
	return catalog.Collection{Namespace: "db.c", UUID: someUUID, Pattern: pattern(t, fields...)}
}

// span is a chunk of keys from a number up to another; nil is the end of the key space.
type span struct {
	min, max any
	shard    catalog.ShardID
}

func (s span) doc(t testing.TB) bson.Raw {
	lower, upper := s.min, s.max
	if lower == nil {
		lower = bson.MinKey{}
	}
	if upper == nil {
		upper = bson.MaxKey{}
	}
	return raw(t, bson.D{{Key: "_id", Value: bson.NewObjectID()}, {Key: "uuid", Value: someUUID},
		{Key: "min", Value: bson.D{{Key: "x", Value: lower}}}, {Key: "max", Value: bson.D{{Key: "x", Value: upper}}},
		{Key: "shard", Value: string(s.shard)}, {Key: "lastmod", Value: bson.Timestamp{T: 1, I: 1}}})
}

func read(t testing.TB, chunks ...span) (*Owners, []Finding) {
	t.Helper()
	r := NewOwnersBuilder(collection(t, "x"), []catalog.ShardID{"a", "b"})
	for _, c := range chunks {
		r.Add(c.doc(t))
	}
	return r.Finish()
}

func at(t testing.TB, x any) catalog.Key {
	t.Helper()
	k, err := pattern(t, "x").ParseKey(raw(t, bson.D{{Key: "x", Value: x}}))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func TestChunks(t *testing.T) {
	for _, c := range []struct {
		name   string
		chunks []span
		kinds  []FindingKind
		text   string
	}{
		{"whole", []span{{nil, 10, "a"}, {10, 20, "a"}, {20, nil, "b"}}, nil, ""},
		{"a hole", []span{{nil, 10, "a"}, {20, nil, "b"}}, []FindingKind{ChunkGap}, `{"x": 10} to {"x": 20}`},
		{"no beginning", []span{{10, nil, "a"}}, []FindingKind{ChunkGap}, "MinKey"},
		{"no end", []span{{nil, 10, "a"}}, []FindingKind{ChunkGap}, "MaxKey"},
		{"nothing", nil, []FindingKind{ChunkGap}, "MaxKey"},
		{"twice", []span{{nil, 20, "a"}, {10, nil, "b"}}, []FindingKind{ChunkOverlap}, `{"x": 10} to {"x": 20}`},
		{"inside another", []span{{nil, nil, "a"}, {10, 20, "b"}}, []FindingKind{ChunkOverlap}, `{"x": 10} to {"x": 20}`},
		{"turned round", []span{{nil, nil, "a"}, {20, 10, "b"}}, []FindingKind{ChunkInvalid}, "not below"},
		{"no shard", []span{{nil, nil, "c"}}, []FindingKind{ChunkInvalid}, `"c", which is not a shard`},
		{"both", []span{{nil, 10, "a"}, {5, 12, "a"}, {15, nil, "b"}}, []FindingKind{ChunkGap, ChunkOverlap}, `{"x": 12} to {"x": 15}`},
	} {
		_, found := read(t, c.chunks...)
		var kinds []FindingKind
		text := ""
		for _, f := range found {
			kinds = append(kinds, f.Kind)
			text += f.Text
		}
		if !slices.Equal(kinds, c.kinds) || !strings.Contains(text, c.text) {
			t.Errorf("%s: %v %s", c.name, kinds, text)
		}
	}
}

// Each key belongs to the chunk that it lies in, and to none in a hole.
func TestOwners(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		cuts := rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 0, 12, rapid.ID).Draw(r, "cuts")
		slices.Sort(cuts)
		var chunks []span
		bounds := []any{nil}
		for _, c := range cuts {
			bounds = append(bounds, c)
		}
		bounds = append(bounds, nil)
		for i := range len(bounds) - 1 {
			shard := rapid.SampledFrom([]catalog.ShardID{"a", "b", ""}).Draw(r, "shard")
			if shard != "" {
				chunks = append(chunks, span{bounds[i], bounds[i+1], shard})
			}
		}
		owners, _ := read(t, chunks...)
		for x := -1; x <= 61; x++ {
			want := catalog.ShardID("")
			for _, c := range chunks {
				if (c.min == nil || x >= c.min.(int)) && (c.max == nil || x < c.max.(int)) {
					want = c.shard
				}
			}
			if got, found := owners.OwnerOf(at(t, x).Bytes()); got != want || found != (want != "") {
				r.Fatalf("%d is on %q, want %q, of %v", x, got, want, chunks)
			}
		}
	})
}

func TestZones(t *testing.T) {
	zone := func(name string, lower, upper bson.D) bson.Raw {
		return raw(t, bson.D{{Key: "tag", Value: name}, {Key: "min", Value: lower}, {Key: "max", Value: upper}})
	}
	x := func(v any) bson.D { return bson.D{{Key: "x", Value: v}} }
	xy := func(v, w any) bson.D { return bson.D{{Key: "x", Value: v}, {Key: "y", Value: w}} }
	for _, c := range []struct {
		name  string
		zones []bson.Raw
		kinds []FindingKind
		mend  string
	}{
		{"sound", []bson.Raw{zone("a", x(1), x(5)), zone("b", x(5), xy(bson.MaxKey{}, bson.MaxKey{}))}, nil, ""},
		{"to MaxKey of the first field", []bson.Raw{zone("a", x(1), x(bson.MaxKey{}))}, []FindingKind{ZoneEndsEarly}, "sh.updateZoneKeyRange"},
		{"of no key", []bson.Raw{zone("a", x(3), x(3))}, []FindingKind{ZoneEmpty}, "tags.deleteOne"},
		{"turned round", []bson.Raw{zone("a", x(4), x(3))}, []FindingKind{ZoneEmpty}, "tags.deleteOne"},
		{"overlapping", []bson.Raw{zone("b", x(3), x(9)), zone("a", x(1), x(5))}, []FindingKind{ZoneOverlap}, "sh.removeRangeFromZone"},
		{"in a larger one", []bson.Raw{zone("a", x(1), x(9)), zone("b", x(2), x(3)), zone("c", x(5), x(6))},
			[]FindingKind{ZoneOverlap, ZoneOverlap}, "sh.removeRangeFromZone"},
		{"of another key", []bson.Raw{zone("a", bson.D{{Key: "z", Value: 1}}, x(5))}, []FindingKind{ZoneInvalid}, "tags.deleteOne"},
	} {
		var kinds []FindingKind
		mend := ""
		for _, f := range CheckZones(collection(t, "x", "y"), c.zones) {
			kinds = append(kinds, f.Kind)
			mend += strings.Join(f.RepairCommands, "\n")
		}
		if !slices.Equal(kinds, c.kinds) || !strings.Contains(mend, c.mend) {
			t.Errorf("%s: %v %s", c.name, kinds, mend)
		}
	}
}

func TestJudge(t *testing.T) {
	owners, _ := read(t, span{nil, 10, "a"}, span{20, nil, "b"})
	j := Classifier{Pattern: pattern(t, "x"), UUID: someUUID, Owners: owners, Deletions: map[catalog.ShardID][]RangeDeletion{
		"b": {{UUID: someUUID, Min: at(t, 0), Max: at(t, 5), MigrationBegan: bson.Timestamp{T: 7}}},
		"a": {{UUID: bson.Binary{Data: []byte("another")}, Min: at(t, 20), Max: at(t, 30)}},
	}}
	copyOf := func(shard catalog.ShardID, x any) Copy {
		return Copy{shard, raw(t, bson.D{{Key: "_id", Value: 1}, {Key: "x", Value: x}})}
	}
	for _, c := range []struct {
		name   string
		copies []Copy
		want   []CopyState
		sound  bool
	}{
		{"at home", []Copy{copyOf("a", 1)}, []CopyState{Owned}, true},
		{"and an orphan that waits", []Copy{copyOf("a", 1), copyOf("b", 1)}, []CopyState{Owned, AwaitingDeletion}, true},
		{"and one that does not", []Copy{copyOf("a", 7), copyOf("b", 7)}, []CopyState{Owned, Stray}, false},
		{"only an orphan that waits", []Copy{copyOf("b", 4)}, []CopyState{LoneAwaitingDeletion}, false},
		{"a bound does not wait", []Copy{copyOf("b", 5)}, []CopyState{LoneStray}, false},
		{"another collection's deletion", []Copy{copyOf("a", 25)}, []CopyState{LoneStray}, false},
		{"an older key elsewhere", []Copy{copyOf("b", 7), copyOf("b", 25)}, []CopyState{Stray, Owned}, false},
		{"twice", []Copy{copyOf("a", 1), copyOf("b", 25)}, []CopyState{Owned, Owned}, false},
		{"in a hole", []Copy{copyOf("a", 15)}, []CopyState{NoChunk}, false},
		{"no key", []Copy{copyOf("a", bson.A{1})}, []CopyState{NoChunk}, false},
		{"null", []Copy{copyOf("a", nil)}, []CopyState{Owned}, true},
	} {
		v := j.Classify(c.copies)
		if !slices.Equal(v.States, c.want) || v.IsSound() != c.sound {
			t.Errorf("%s: %v, sound %v", c.name, v.States, v.IsSound())
		}
		if v.HasState(LoneAwaitingDeletion) != (v.MigrationBegan.T == 7) {
			t.Errorf("%s: since %v", c.name, v.MigrationBegan)
		}
	}
}

// The range deletion of the last chunk takes the key of all MaxKey as well.
func TestJudgeAtTheEnd(t *testing.T) {
	owners, _ := read(t, span{nil, nil, "a"})
	p := pattern(t, "x")
	j := Classifier{Pattern: p, UUID: someUUID, Owners: owners, Deletions: map[catalog.ShardID][]RangeDeletion{
		"b": {{UUID: someUUID, Min: at(t, 0), Max: p.GlobalMax()}}}}
	doc := raw(t, bson.D{{Key: "_id", Value: 1}, {Key: "x", Value: bson.MaxKey{}}})
	if v := j.Classify([]Copy{{"a", doc}, {"b", doc}}); !v.IsSound() {
		t.Errorf("%v", v.States)
	}
}

func holding(t testing.TB, shard catalog.ShardID, options bson.D, indexes ...bson.D) Holding {
	h := Holding{Shard: shard, Host: "rs/" + string(shard) + ":1", UUID: someUUID, Options: raw(t, append(bson.D{}, options...))}
	for _, spec := range indexes {
		h.Indexes = append(h.Indexes, raw(t, spec))
	}
	return h
}

func TestCompare(t *testing.T) {
	index := func(name string, key bson.D, more ...bson.E) bson.D {
		return append(bson.D{{Key: "v", Value: 2}, {Key: "key", Value: key}, {Key: "name", Value: name}}, more...)
	}
	id, s := index("_id_", bson.D{{Key: "_id", Value: 1}}), index("s_1", bson.D{{Key: "s", Value: 1}})
	later := func(h Holding) Holding { h.UUID = bson.Binary{Data: []byte("another")}; return h }
	strict := bson.D{{Key: "validator", Value: bson.D{{Key: "x", Value: 1}}}}
	sharded := func(list ...Holding) Collection {
		return Collection{Collection: collection(t, "x"), Tracked: true, Primary: "a", Owners: []catalog.ShardID{"a", "b"}, Holdings: list}
	}
	for _, c := range []struct {
		name string
		of   Collection
		want []string // kind and shards
		mend string
	}{
		{"alike", sharded(holding(t, "a", nil, id, s), holding(t, "b", nil, s, id)), nil, ""},
		{"in another order of fields", sharded(holding(t, "a", bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 1}}),
			holding(t, "b", bson.D{{Key: "b", Value: 1}, {Key: "a", Value: 1}, {Key: "uuid", Value: 3}})), nil, ""},
		{"one that owns nothing", sharded(holding(t, "a", nil, id), holding(t, "b", nil, id), holding(t, "c", strict)), nil, ""},
		{"missing", sharded(holding(t, "a", nil, id, s), holding(t, "b", nil, id)), []string{"index-missing [b]"},
			`createIndexes: "c", indexes: [{"key": {"s": 1}, "name": "s_1"}]`},
		{"missing on the primary", sharded(holding(t, "a", nil, id), holding(t, "b", nil, id, s)), []string{"index-missing [a]"}, "createIndexes"},
		{"another key", sharded(holding(t, "a", nil, s), holding(t, "b", nil, index("s_1", bson.D{{Key: "s", Value: -1}}))),
			[]string{"index-differs [b]"}, `dropIndex("s_1")`},
		{"not unique", sharded(holding(t, "a", nil, index("s_1", bson.D{{Key: "s", Value: 1}}, bson.E{Key: "unique", Value: true})),
			holding(t, "b", nil, s)), []string{"index-differs [b]"}, `"unique": true`},
		{"simple collation, as 9.0 lists it", sharded(holding(t, "a", nil, s),
			holding(t, "b", nil, index("s_1", bson.D{{Key: "s", Value: 1}}, bson.E{Key: "collation", Value: bson.D{{Key: "locale", Value: "simple"}}}))), nil, ""},
		{"a validator", sharded(holding(t, "a", strict), holding(t, "b", nil)), []string{"options-differ [b]"},
			`collMod: "c", validator: {"x": 1}`},
		{"no validator", sharded(holding(t, "a", nil), holding(t, "b", strict)), []string{"options-differ [b]"}, "validator: {}"},
		{"options that collMod turns off", sharded(holding(t, "a", nil), holding(t, "b", bson.D{{Key: "validationLevel", Value: "moderate"},
			{Key: "expireAfterSeconds", Value: 60}, {Key: "changeStreamPreAndPostImages", Value: bson.D{{Key: "enabled", Value: true}}},
			{Key: "validationAction", Value: "warn"}})), []string{"options-differ [b]"}, `collMod: "c", changeStreamPreAndPostImages: ` +
			`{enabled: false}, expireAfterSeconds: "off", validationAction: "error", validationLevel: "strict"}`},
		{"capped", sharded(holding(t, "a", nil), holding(t, "b", bson.D{{Key: "capped", Value: true}})), []string{"options-differ [b]"},
			"can't be changed"},
		{"another identity", sharded(holding(t, "a", nil), later(holding(t, "b", nil))), []string{"uuid-differs [b]"}, "mongodump --host rs/b:1"},
		{"an identity on a shard that owns nothing", sharded(holding(t, "a", nil), holding(t, "b", nil), later(holding(t, "c", nil))),
			[]string{"uuid-differs [c]"}, ""},
		{"absent", sharded(holding(t, "a", nil)), []string{"absent [b]"}, "restore"},
		{"not seen", Collection{Collection: collection(t, "x"), Tracked: true, Owners: []catalog.ShardID{"a", "b"},
			Unreadable: []catalog.ShardID{"b"}, Holdings: []Holding{holding(t, "a", nil)}}, nil, ""},
		{"not sharded", Collection{Collection: catalog.Collection{Namespace: "db.c"}, Primary: "a",
			Holdings: []Holding{holding(t, "a", nil), later(holding(t, "b", strict))}}, []string{"misplaced [b]"}, "drop()"},
		{"of a database that is not known", Collection{Collection: catalog.Collection{Namespace: "db.c"},
			Holdings: []Holding{holding(t, "a", nil)}}, nil, ""},
	} {
		var got []string
		mend := ""
		for _, f := range c.of.FindDifferences() {
			got = append(got, fmt.Sprintf("%s %v", f.Kind, f.Shards))
			mend += strings.Join(f.RepairCommands, "\n")
		}
		if !slices.Equal(got, c.want) || !strings.Contains(mend, c.mend) {
			t.Errorf("%s: %v, %s", c.name, got, mend)
		}
	}
}

func TestUniqueIndexes(t *testing.T) {
	unique := func(name string, key bson.D, more ...bson.E) bson.Raw {
		return raw(t, append(bson.D{{Key: "name", Value: name}, {Key: "key", Value: key}, {Key: "unique", Value: true}}, more...))
	}
	u, x := bson.E{Key: "u", Value: 1}, bson.E{Key: "x", Value: -1}
	german := bson.E{Key: "collation", Value: bson.D{{Key: "locale", Value: "de"}}}
	kept, apart, untold := UniqueIndexes(pattern(t, "x"), []bson.Raw{
		raw(t, bson.D{{Key: "name", Value: "plain"}, {Key: "key", Value: bson.D{u}}}),
		unique("kept", bson.D{x, u}), unique("apart", bson.D{u}), unique("after", bson.D{u, x}),
		unique("simple", bson.D{x, u}, bson.E{Key: "collation", Value: bson.D{{Key: "locale", Value: "simple"}}}), // as 9.0 lists it
		unique("collated", bson.D{u}, german), unique("collated key", bson.D{x, u}, german),
		unique("collated partial", bson.D{x, u}, german, bson.E{Key: "partialFilterExpression", Value: bson.D{}}),
		unique("partial", bson.D{u}, bson.E{Key: "partialFilterExpression", Value: bson.D{}}),
		unique("sparse", bson.D{u}, bson.E{Key: "sparse", Value: true}),
	})
	names := func(list []bson.Raw) (names []string) {
		for _, spec := range list {
			names = append(names, indexName(spec))
		}
		return names
	}
	// Values of a shard key that are equal by a collation may lie on several shards.
	if !slices.Equal(names(kept), []string{"kept", "simple"}) ||
		!slices.Equal(names(apart), []string{"apart", "after", "collated", "collated key"}) ||
		!slices.Equal(untold, []string{"collated partial", "partial", "sparse"}) {
		t.Errorf("%v, %v, %v", kept, apart, untold)
	}
}

// A request takes the collation of an index without the version of its server; the simple one is none.
func TestCollationOf(t *testing.T) {
	tests := []struct{ options, want bson.D }{
		{bson.D{}, nil},
		{bson.D{{Key: "collation", Value: bson.D{{Key: "locale", Value: "simple"}}}}, nil},
		{bson.D{{Key: "collation", Value: bson.D{{Key: "locale", Value: "sv"}, {Key: "strength", Value: 3}, {Key: "version", Value: "57.1"}}}},
			bson.D{{Key: "locale", Value: "sv"}, {Key: "strength", Value: 3}}},
	}
	for _, tt := range tests {
		var want bson.Raw
		if tt.want != nil {
			want = raw(t, tt.want)
		}
		if got := CollationOf(raw(t, tt.options)); !bytes.Equal(got, want) {
			t.Errorf("%v: %s", tt.options, got)
		}
	}
}

// What the server reports and is found already is not told twice.
func TestReported(t *testing.T) {
	found := []Finding{{Kind: IndexMissing, Namespace: "db.c", Shards: []catalog.ShardID{"b"}}, {Kind: ChunkGap, Namespace: "db.c"}}
	for _, c := range []struct {
		of    catalog.Inconsistency
		added FindingKind
	}{
		{catalog.Inconsistency{Type: "InconsistentIndex", Namespace: "db.c"}, ""},
		{catalog.Inconsistency{Type: "RoutingTableRangeGap", Namespace: "db.c"}, ""},
		{catalog.Inconsistency{Type: "MissingShardKeyIndex", Namespace: "db.c", Shard: "b"}, ""},
		{catalog.Inconsistency{Type: "MissingShardKeyIndex", Namespace: "db.c", Shard: "a"}, IndexMissing},
		{catalog.Inconsistency{Type: "InconsistentIndex", Namespace: "db.d"}, IndexDiffers},
		{catalog.Inconsistency{Type: "SomethingNew", Namespace: "db.c"}, OtherInconsistency},
	} {
		got := MergeInconsistencies(slices.Clone(found), []catalog.Inconsistency{c.of})
		added := FindingKind("")
		if len(got) > len(found) {
			added = got[len(got)-1].Kind
		}
		if added != c.added {
			t.Errorf("%+v is told as %q, want %q", c.of, added, c.added)
		}
	}
}

// Servers report a unique index without the shard key of each shard that has it: it is one finding. Other
// words, collections, and a second one of a shard are others.
func TestReportedOfSeveralShards(t *testing.T) {
	of := func(kind, ns string, shard catalog.ShardID) catalog.Inconsistency {
		return catalog.Inconsistency{Type: kind, Description: "words", Namespace: ns, Shard: shard}
	}
	const unique = "IncompatibleUniqueIndexOnShardedCollection"
	got := MergeInconsistencies(nil, []catalog.Inconsistency{
		of(unique, "db.c", "a"), of(unique, "db.c", "b"), of(unique, "db.d", "a"), of("SomethingNew", "db.c", "c"),
		of(unique, "db.c", "c"), of(unique, "db.c", "a"), of(unique, "db.c", ""),
	})
	want := [][]catalog.ShardID{{"a", "b", "c"}, {"a"}, {"c"}, {"a"}, nil}
	if len(got) != len(want) {
		t.Fatalf("%+v", got)
	}
	for i, f := range got {
		if !slices.Equal(f.Shards, want[i]) || f.Kind != OtherInconsistency {
			t.Errorf("finding %d is %+v, want shards %v", i, f, want[i])
		}
	}
}

// A command that deletes one of two documents names its shard key and _id, whatever they are.
func TestQuery(t *testing.T) {
	doc := raw(t, bson.D{{Key: "_id", Value: bson.D{{Key: "$gt", Value: 1}}}, {Key: "a", Value: bson.D{{Key: "b", Value: 2}}}})
	got := DocumentQuery(pattern(t, "a.b", "c"), doc).String()
	if want := `{"a.b": {"$eq": {"$numberInt":"2"}},"c": null,"_id": {"$eq": {"$gt": {"$numberInt":"1"}}}}`; got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// All kinds have a place in the order, once.
func TestKinds(t *testing.T) {
	list := Kinds()
	for i, k := range list {
		if slices.Contains(list[:i], k) {
			t.Errorf("%s is there twice", k)
		}
	}
	for server, k := range serverKinds {
		if !slices.Contains(list, k) {
			t.Errorf("%s is told as %s", server, k)
		}
	}
}
