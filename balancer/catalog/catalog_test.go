package catalog

import (
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

var uuid = bson.Binary{Subtype: 4, Data: []byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}}

func TestSplitNamespace(t *testing.T) { // rules/03-commands §0.6
	for _, c := range []struct{ ns, db, coll string }{
		{"shop.orders", "shop", "orders"},
		{"shop.orders.2024", "shop", "orders.2024"},
		{"config.system.sessions", "config", "system.sessions"},
		{"a$b.c", "a$b", "c"},
		{strings.Repeat("d", 63) + ".c", strings.Repeat("d", 63), "c"},
	} {
		db, coll, err := SplitNamespace(c.ns)
		if err != nil || db != c.db || coll != c.coll {
			t.Errorf("%s is %q and %q: %v", c.ns, db, coll, err)
		}
	}
	for _, ns := range []string{"", "shop", "shop.", ".orders", "a b.c", "a/b.c", `a\b.c`, `a"b.c`, "a\x00b.c", "a.b\x00c",
		"a..b", strings.Repeat("d", 64) + ".c"} {
		_, _, err := SplitNamespace(ns)
		checkCode(t, ns, err, mongoerr.InvalidNamespace)
	}
	if ValidNewDatabaseName("a$b") || !ValidDatabaseName("a$b") || !ValidNewDatabaseName("ab") {
		t.Error("$ is for existing databases only")
	}
}

func TestParseShard(t *testing.T) { // rules/01-rounds-and-settings §3.1, rules/03-catalog-and-keys §3.1
	full := bson.D{e("_id", "shardA"), e("host", "rsA/h:1,h:2"), e("draining", true), e("tags", bson.A{"EU", "ssd"}),
		e("state", int32(1)),
		e("topologyTime", bson.Timestamp{T: 1}), e("replSetConfigVersion", int64(3)), e("maxSize", 5)}
	s, err := ParseShard(doc(t, full))
	if err != nil || s.ID != "shardA" || s.Host != "rsA/h:1,h:2" || !s.Draining || !s.HasZone("ssd") || s.HasZone("US") ||
		s.State != 1 {
		t.Errorf("%+v: %v", s, err)
	}
	if got := doc(t, s.Doc()); string(got) != string(doc(t, full[:5])) {
		t.Errorf("written as %s", got)
	}
	for _, c := range []struct {
		name string
		doc  bson.D
		code mongoerr.Code
	}{
		{"least", bson.D{e("_id", "a"), e("host", "h")}, 0},
		{"no _id", bson.D{e("host", "h")}, mongoerr.NoSuchKey},
		{"empty _id", bson.D{e("_id", ""), e("host", "h")}, mongoerr.NoSuchKey},
		{"no host", bson.D{e("_id", "a")}, mongoerr.NoSuchKey},
		{"_id number", bson.D{e("_id", 1), e("host", "h")}, mongoerr.TypeMismatch},
		{"draining number", bson.D{e("_id", "a"), e("host", "h"), e("draining", 1)}, mongoerr.TypeMismatch},
		{"tags text", bson.D{e("_id", "a"), e("host", "h"), e("tags", "x")}, mongoerr.TypeMismatch},
		{"tags of numbers", bson.D{e("_id", "a"), e("host", "h"), e("tags", bson.A{1})}, mongoerr.TypeMismatch},
	} {
		_, err := ParseShard(doc(t, c.doc))
		checkCode(t, c.name, err, c.code)
	}
}

func TestParseCollection(t *testing.T) { // rules/03-catalog-and-keys §3.3
	at := time.Date(2024, 5, 1, 10, 0, 0, 0, time.UTC)
	least := bson.D{e("_id", "shop.orders"), e("lastmodEpoch", bson.ObjectID{1}), e("lastmod", at),
		e("timestamp", bson.Timestamp{T: 9, I: 1}),
		e("uuid", uuid), e("key", bson.D{e("region", int32(1)), e("order_id", "hashed")}), e("unique", false),
		e("noBalance", false)}
	c, err := ParseCollection(doc(t, least))
	if err != nil {
		t.Fatal(err)
	}
	if c.Namespace != "shop.orders" || !c.LastMod.Equal(at) || c.Epoch != (bson.ObjectID{1}) || c.Timestamp.T != 9 ||
		c.Pattern.HashedField() != 1 {
		t.Errorf("%+v", c)
	}
	if !c.AllowMigrations || !c.PermitMigrations || !c.EnableAutoMerge || c.Unsplittable || c.MaxChunkSizeBytes != 0 ||
		!c.BalanceableIn(Release90) {
		t.Errorf("defaults %+v", c)
	}
	if got := doc(t, c.Doc()); string(got) != string(doc(t, least)) {
		t.Errorf("written as %s", got)
	}

	full := append(least[:7:7], e("maxChunkSizeBytes", int64(64<<20)), e("defragmentCollection", true),
		e("defragmentationPhase", "mergeChunks"),
		e("enableAutoMerge", false), e("noBalance", true), e("allowMigrations", false), e("permitMigrations", false),
		e("allowChunkOperations", false), e("unsplittable", true))
	c, err = ParseCollection(doc(t, append(full[:len(full):len(full)], e("reshardingFields", bson.D{}),
		e("timeseriesFields", 5))))
	if err != nil {
		t.Fatal(err)
	}
	if got := doc(t, c.Doc()); string(got) != string(doc(t, full)) {
		t.Errorf("written as %s", got)
	}

	for _, flag := range []bson.E{e("noBalance", true), e("defragmentCollection", true), e("allowMigrations", false),
		e("permitMigrations", false)} {
		c, err := ParseCollection(doc(t, append(least[:7:7], flag)))
		if err != nil || c.BalanceableIn(Release80) || c.BalanceableIn(Release90) {
			t.Errorf("%v: balanceable, %v", flag, err)
		}
	}
	// The flag of 9.0 means nothing to older servers, which keep it all the same.
	c, err = ParseCollection(doc(t, append(least[:7:7], e("allowChunkOperations", false))))
	if err != nil || c.BalanceableIn(Release90) || !c.ForbidsChunkOperations(Release90) || !c.BalanceableIn(Release83) ||
		c.ForbidsChunkOperations(Release83) {
		t.Errorf("allowChunkOperations: %+v, %v", c, err)
	}
	for _, x := range []struct {
		name string
		doc  bson.D
		code mongoerr.Code
	}{
		{"no _id", least[1:], mongoerr.IDLFailedToParse},
		{"no uuid", bson.D{least[0], least[5]}, mongoerr.IDLFailedToParse},
		{"no key", bson.D{least[0], least[4]}, mongoerr.IDLFailedToParse},
		{"null counts as absent", append(least[:7:7], e("maxChunkSizeBytes", nil), e("allowMigrations", nil)), 0},
		{"bad key", bson.D{least[0], least[4], e("key", bson.D{e("x", -1)})}, mongoerr.BadValue},
		{"bad flag", append(least[:7:7], e("noBalance", "x")), mongoerr.TypeMismatch},
		{"bad uuid", bson.D{least[0], e("uuid", "x"), least[5]}, mongoerr.TypeMismatch},
	} {
		_, err := ParseCollection(doc(t, x.doc))
		checkCode(t, x.name, err, x.code)
	}
}

// rules/02-migration-and-metadata §6.1: the document of a chunk, field by field.
func TestChunkDocument(t *testing.T) {
	p := keyOf(t, "x")
	c := Chunk{
		ID: bson.ObjectID{1}, Min: p.GlobalMin(), Max: x(t, int64(0)), Shard: "shard01", Version: ChunkVersion{5, 2},
		Jumbo: JumboFalse, OnCurrentShardSince: bson.Timestamp{T: 300, I: 4}, Estimate: NewEstimate(77),
		History: []ChunkHistory{{bson.Timestamp{T: 300, I: 4}, "shard01"}, {bson.Timestamp{T: 100, I: 1}, "shard02"}},
	}
	entry := func(seconds, increment uint32, shard string) bson.D {
		return bson.D{e("validAfter", bson.Timestamp{T: seconds, I: increment}), e("shard", shard)}
	}
	want := doc(t, bson.D{
		e("_id", c.ID), e("uuid", uuid), e("min", bson.D{e("x", bson.MinKey{})}), e("max", bson.D{e("x", int64(0))}),
		e("shard", "shard01"),
		e("lastmod", bson.Timestamp{T: 5, I: 2}), e("estimatedDataSizeBytes", int32(77)), e("jumbo", false),
		e("onCurrentShardSince", bson.Timestamp{T: 300, I: 4}),
		e("history", bson.A{entry(300, 4, "shard01"), entry(100, 1, "shard02")}),
	})
	if got := doc(t, c.Doc(p, uuid)); string(got) != string(want) {
		t.Errorf("written as %s\nwant %s", got, want)
	}
	c.Estimate, c.Jumbo, c.History = 0, JumboUnset, nil
	want = doc(t, bson.D{
		e("_id", c.ID), e("uuid", uuid), e("min", bson.D{e("x", bson.MinKey{})}), e("max", bson.D{e("x", int64(0))}),
		e("shard", "shard01"),
		e("lastmod", bson.Timestamp{T: 5, I: 2}), e("onCurrentShardSince", bson.Timestamp{T: 300, I: 4}),
		e("history", bson.A{entry(300, 4, "shard01")}),
	})
	if got := doc(t, c.Doc(p, uuid)); string(got) != string(want) {
		t.Errorf("written as %s\nwant %s", got, want)
	}
}

func TestParseChunk(t *testing.T) {
	p := keyOf(t, "x")
	base := bson.D{e("_id", bson.ObjectID{1}), e("min", bson.D{e("x", 1)}), e("max", bson.D{e("x", 2)}), e("shard", "a"),
		e("lastmod", bson.Timestamp{T: 5, I: 2})}
	with := func(more ...bson.E) bson.D { return append(base[:len(base):len(base)], more...) }
	without := func(name string) bson.D {
		var d bson.D
		for _, f := range base {
			if f.Key != name {
				d = append(d, f)
			}
		}
		return d
	}
	since := e("onCurrentShardSince", bson.Timestamp{T: 9})
	history := func(seconds uint32) bson.E {
		return e("history", bson.A{bson.D{e("validAfter", bson.Timestamp{T: seconds}), e("shard", "a")}})
	}
	for _, c := range []struct {
		name string
		doc  bson.D
		code mongoerr.Code
	}{
		{"least", base, 0},
		{"of 4.4", with(e("ns", "d.c"), e("lastmodEpoch", bson.ObjectID{3}), history(7)), 0},
		{"text _id", append(without("_id"), e("_id", "d.c-x_1")), 0},
		{"date as version", append(without("lastmod"), e("lastmod", bson.DateTime(5<<32|2))), 0},
		{"repaired", with(since, history(9), e("historyIsAt40", true), e("jumbo", true)), 0},
		{"no min", without("min"), mongoerr.NoSuchKey},
		{"no max", without("max"), mongoerr.NoSuchKey},
		{"no shard", without("shard"), mongoerr.NoSuchKey},
		{"no version", without("lastmod"), mongoerr.NoSuchKey},
		{"since differs from history", with(since, history(8)), mongoerr.BadValue},
		{"history without shard", with(e("history", bson.A{bson.D{}})), mongoerr.NoSuchKey},
		{"history of numbers", with(e("history", bson.A{1})), mongoerr.TypeMismatch},
		{"history text", with(e("history", "x")), mongoerr.TypeMismatch},
		{"min number", append(without("min"), e("min", 1)), mongoerr.TypeMismatch},
		{"max number", append(without("max"), e("max", 1)), mongoerr.TypeMismatch},
		{"shard number", append(without("shard"), e("shard", 1)), mongoerr.TypeMismatch},
		{"version number", append(without("lastmod"), e("lastmod", 1)), mongoerr.TypeMismatch},
		{"since number", with(e("onCurrentShardSince", 1)), mongoerr.TypeMismatch},
		{"jumbo number", with(e("jumbo", 1)), mongoerr.TypeMismatch},
		{"min above max", append(without("min"), e("min", bson.D{e("x", 3)})), mongoerr.BadValue},
	} {
		got, err := ParseChunk(p, doc(t, c.doc))
		checkCode(t, c.name, err, c.code)
		if err == nil && got.Version != (ChunkVersion{5, 2}) {
			t.Errorf("%s: version %v", c.name, got.Version)
		}
	}
}

// What a cursor over config.chunks can bring that is not a routing table.
func TestBuilderRefuses(t *testing.T) {
	p := keyOf(t, "x")
	low, high := bson.MinKey{}, bson.MaxKey{}
	type r struct{ from, to any }
	for _, c := range []struct {
		name   string
		ranges []r
		code   mongoerr.Code
	}{
		{"whole", []r{{low, high}}, 0},
		{"three", []r{{low, 0}, {0, 5}, {5, high}}, 0},
		{"bounds of different types", []r{{low, 0}, {int64(0), 5}, {5.0, high}}, 0},
		{"nothing", nil, mongoerr.ConflictingOperationInProgress},
		{"no beginning", []r{{0, high}}, mongoerr.ConflictingOperationInProgress},
		{"no end", []r{{low, 0}}, mongoerr.ConflictingOperationInProgress},
		{"gap", []r{{low, 0}, {1, high}}, mongoerr.ConflictingOperationInProgress},
		{"overlap", []r{{low, 2}, {1, high}}, mongoerr.ConflictingOperationInProgress},
		{"out of order", []r{{low, 0}, {5, high}, {0, 5}}, mongoerr.ConflictingOperationInProgress},
		{"backwards", []r{{low, 5}, {5, 3}, {3, high}}, mongoerr.BadValue},
		{"empty chunk", []r{{low, 5}, {5, 5}, {5, high}}, mongoerr.BadValue},
		{"empty chunk before a gap", []r{{low, 5}, {5, 5}, {6, high}}, mongoerr.BadValue},
		{"beyond the end", []r{{low, high}, {high, high}}, mongoerr.BadValue},
	} {
		b := NewTableBuilder(p, bson.ObjectID{1}, bson.Timestamp{T: 1})
		var err error
		for i, r := range c.ranges {
			raw := doc(t, bson.D{e("min", bson.D{e("x", r.from)}), e("max", bson.D{e("x", r.to)}), e("shard", "a"),
				e("lastmod", bson.Timestamp{T: 1, I: uint32(i)})})
			if err = b.Add(raw); err != nil {
				break
			}
		}
		if err == nil {
			_, err = b.Table()
		}
		checkCode(t, c.name, err, c.code)
		_, err = NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, func(yield func(Chunk) bool) {
			for _, r := range c.ranges {
				from, to := mustKey(t, p, doc(t, bson.D{e("x", r.from)})), mustKey(t, p, doc(t, bson.D{e("x", r.to)}))
				if !yield(Chunk{Min: from, Max: to, Shard: "a", Version: ChunkVersion{3, 4}}) {
					return
				}
			}
		})
		checkCode(t, c.name+", of chunks", err, c.code)
	}
	b := NewTableBuilder(p, bson.ObjectID{1}, bson.Timestamp{T: 1})
	if err := b.Add(doc(t, bson.D{e("min", bson.D{e("y", 1)}), e("max", bson.D{e("y", 2)}), e("shard", "a"),
		e("lastmod", bson.Timestamp{T: 1})})); err == nil {
		t.Error("a chunk of another key was taken")
	}
}

func TestNewRoutingTableRefuses(t *testing.T) {
	p := keyOf(t, "x")
	low, high := p.GlobalMin(), p.GlobalMax()
	for _, c := range []struct {
		name   string
		bounds [][2]Key
		code   mongoerr.Code
	}{
		{"whole", [][2]Key{{low, high}}, 0},
		{"nothing", nil, mongoerr.ConflictingOperationInProgress},
		{"gap", [][2]Key{{low, x(t, 1)}, {x(t, 2), high}}, mongoerr.ConflictingOperationInProgress},
		{"no end", [][2]Key{{low, x(t, 1)}}, mongoerr.ConflictingOperationInProgress},
		{"empty chunk", [][2]Key{{low, low}, {low, high}}, mongoerr.BadValue},
	} {
		rt, err := NewRoutingTable(p, bson.ObjectID{7}, bson.Timestamp{T: 8}, func(yield func(Chunk) bool) {
			for _, b := range c.bounds {
				if !yield(Chunk{Min: b[0], Max: b[1], Shard: "a", Version: ChunkVersion{3, 4}}) {
					return
				}
			}
		})
		checkCode(t, c.name, err, c.code)
		if err == nil {
			want := Version{bson.ObjectID{7}, bson.Timestamp{T: 8}, ChunkVersion{3, 4}}
			if rt.Version() != want || rt.Epoch() != want.Epoch || rt.Timestamp() != want.Timestamp || !rt.Pattern().Equal(p) ||
				rt.ShardOf(x(t, 5)) != "a" {
				t.Errorf("version %v", rt.Version())
			}
		}
	}
}

func TestVersions(t *testing.T) { // rules/02-migration-and-metadata §6.1
	order := []Version{
		{Timestamp: bson.Timestamp{T: 1}, ChunkVersion: ChunkVersion{9, 9}},
		{Timestamp: bson.Timestamp{T: 2}, ChunkVersion: ChunkVersion{1, 0}},
		{Timestamp: bson.Timestamp{T: 2}, ChunkVersion: ChunkVersion{1, 5}},
		{Timestamp: bson.Timestamp{T: 2}, ChunkVersion: ChunkVersion{2, 0}},
		{Timestamp: bson.Timestamp{T: 2}, ChunkVersion: ChunkVersion{1 << 31, 0}},
	}
	for i, a := range order {
		for j, b := range order {
			if got := a.Compare(b); (got < 0) != (i < j) || (got > 0) != (i > j) {
				t.Errorf("%v against %v is %d", a, b, got)
			}
		}
	}
	v := Version{bson.ObjectID{1}, bson.Timestamp{T: 2, I: 3}, ChunkVersion{4, 5}}
	if v.String() != "4|5||010000000000000000000000||Timestamp(2, 3)" || v.ChunkVersion.String() != "4|5" {
		t.Errorf("shown as %s", v)
	}
	if VersionFromTimestamp(v.ChunkVersion.Timestamp()) != v.ChunkVersion || (ChunkVersion{}).IsZero() == v.IsZero() {
		t.Error("a version does not survive as lastmod")
	}
	want := doc(t, bson.D{e("e", v.Epoch), e("t", v.Timestamp), e("v", bson.Timestamp{T: 4, I: 5})})
	if got := doc(t, v.Doc()); string(got) != string(want) {
		t.Errorf("sent as %s", got)
	}
}
