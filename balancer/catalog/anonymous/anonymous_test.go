package anonymous_test

import (
	"bytes"
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/anonymous"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/sim"
)

func redacted(t interface {
	Helper()
	Fatal(...any)
}, s *catalog.Snapshot) *catalog.Snapshot {
	t.Helper()
	next, err := anonymous.Snapshot(s, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		t.Fatal(err)
	}
	return next
}

// Whatever a cluster is made of: everything keeps its place and its shape.
func TestOrderAndShapeStay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		was := snaptest.Draw(t)
		is := redacted(t, was)
		if len(was.Collections()) != len(is.Collections()) {
			t.Fatal("collections were lost")
		}
		for i, old := range was.Collections() {
			next := is.Collections()[i]
			if len(old.Namespace) != len(next.Namespace) {
				t.Errorf("%q became %q", old.Namespace, next.Namespace)
			}
			if old.Table != nil {
				sameTable(t, old.Table, next.Table)
			}
			for j, k := range old.Sampled {
				sameKey(t, k, next.Sampled[j])
			}
			if !slices.IsSortedFunc(next.Sampled, catalog.Key.Compare) {
				t.Errorf("sampled keys are out of order: %v", next.Sampled)
			}
			if old.Table != nil && len(next.SampledKeysIn(next.Table.At(0).Min, next.Table.At(0).Max)) !=
				len(old.SampledKeysIn(old.Table.At(0).Min, old.Table.At(0).Max)) {
				t.Error("sampled keys went to other chunks")
			}
			for j, r := range old.Zones.Ranges() {
				sameKey(t, r.Min, next.Zones.Ranges()[j].Min)
				sameKey(t, r.Max, next.Zones.Ranges()[j].Max)
			}
		}
		for i, old := range was.Shards() {
			if next := is.Shards()[i]; len(old.ID) != len(next.ID) || len(old.Zones) != len(next.Zones) {
				t.Errorf("%+v became %+v", old, next)
			}
		}
	})
}

func sameTable(t *rapid.T, was, is *catalog.RoutingTable) {
	t.Helper()
	if was.Len() != is.Len() {
		t.Fatalf("%d chunks became %d", was.Len(), is.Len())
	}
	old, next := slices.Collect(was.All()), slices.Collect(is.All())
	owners := map[catalog.ShardID]catalog.ShardID{}
	for i := range old {
		a, b := old[i], next[i]
		if a.ID != b.ID || a.Version != b.Version || a.Jumbo != b.Jumbo || a.OnCurrentShardSince != b.OnCurrentShardSince {
			t.Errorf("%+v became %+v", a, b)
		}
		if was, known := owners[a.Shard]; known && was != b.Shard {
			t.Errorf("shard %s became %s and %s", a.Shard, was, b.Shard)
		}
		owners[a.Shard] = b.Shard
		sameKey(t, a.Min, b.Min)
	}
}

// sameKey: the types, and the lengths of all but numbers, whose digits are
// counted before the point.
func sameKey(t *rapid.T, was, is catalog.Key) {
	t.Helper()
	old, next := was.Values(), is.Values()
	for i := range old {
		if old[i].Type != next[i].Type {
			t.Errorf("%v became %v", old[i], next[i])
		}
		if _, isNumber := old[i].AsInt64OK(); !isNumber && len(old[i].Value) != len(next[i].Value) {
			t.Errorf("%v became %v", old[i], next[i])
		}
	}
}

// Keys of all types keep their order, however many there are of them: the table
// of chunks can't be made otherwise.
func TestManyKeys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := pattern(t, bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 1}})
		keys := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) catalog.Key { return snaptest.DrawKey(t, p) }), 1, 60).
			Draw(t, "keys")
		slices.SortFunc(keys, catalog.Key.Compare)
		keys = slices.CompactFunc(keys, catalog.Key.Equal)
		keys = slices.DeleteFunc(keys, func(k catalog.Key) bool { return k.Equal(p.GlobalMin()) || k.Equal(p.GlobalMax()) })
		s := cluster(t, p, append([]catalog.Key{p.GlobalMin()}, append(keys, p.GlobalMax())...), 2)
		redacted(t, s)
	})
}

// Fractions are replaced however large the number is, and adjacent doubles stay distinct.
func TestFractionsOfLargeNumbers(t *testing.T) {
	p := pattern(t, bson.D{{Key: "a", Value: 1}})
	key := func(v any) catalog.Key {
		k, err := p.ParseKey(raw(t, bson.D{{Key: "a", Value: v}}))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	decimal := func(text string) bson.Decimal128 {
		d, err := bson.ParseDecimal128(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	keys := []catalog.Key{p.GlobalMin(), key(-1700000000000.123), key(int64(1e12))}
	f := 1e12
	for range 3000 { // nearly half of the doubles up to 1e12 + 1
		f = math.Nextafter(f, 2e12)
		keys = append(keys, key(f))
	}
	between := decimal(new(big.Float).SetFloat64(f).Text('f', 13) + "1")
	keys = append(keys, key(between), key(math.Nextafter(f, 2e12)), key(9876543210987.125), p.GlobalMax())
	is := redacted(t, cluster(t, p, keys, 2)).Collections()[0].Table // fails if two are equal
	if was, is := keys[1].Values()[0].Double(), is.At(1).Min.Values()[0].Double(); math.Mod(is, 1) == math.Mod(was, 1) {
		t.Errorf("%.3f became %.3f", was, is)
	}
}

// What a stranger gets says nothing about the cluster.
func TestNothingIsTold(t *testing.T) {
	secret := "hushhush"
	p := pattern(t, bson.D{{Key: secret + "field", Value: 1}})
	key := func(n int) catalog.Key {
		k, err := p.ParseKey(raw(t, bson.D{{Key: secret + "field", Value: fmt.Sprintf("%s%03d", secret, n)}}))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	s := cluster(t, p, []catalog.Key{p.GlobalMin(), key(1), key(2), p.GlobalMax()}, 2)
	parts := s.Parts()
	parts.Source = catalog.Source{Name: secret, Gaps: []catalog.Gap{{What: "sizes", Shard: shardID(0), Reason: secret}}}
	parts.Shards[0].Host = secret + "/" + secret + ".example:27017," + secret + "2:1"
	parts.Shards[0].Zones, parts.Shards[0].Unreachable = []string{secret}, secret
	parts.Databases = []catalog.Database{{Name: secret, Primary: shardID(0)}}
	parts.Routers = []catalog.Router{{ID: secret + ":27017"}}
	parts.Config = map[string][]bson.Raw{"settings": {raw(t, bson.D{{Key: "_id", Value: "balancer"},
		{Key: "mode", Value: "off"}, {Key: "activeWindow", Value: bson.D{{Key: "start", Value: "22:00"}}},
		{Key: "comment", Value: "by " + secret}, {Key: "who", Value: bson.A{secret, bson.D{{Key: "x", Value: secret}}}}})}}
	entry := raw(t, bson.D{{Key: "_id", Value: secret + ":27017-2026"}, {Key: "server", Value: secret},
		{Key: "clientAddr", Value: secret}, {Key: "what", Value: "moveChunk.from"}, {Key: "ns", Value: secret + "." + secret},
		{Key: "details", Value: bson.D{
			{Key: "min", Value: bson.D{{Key: secret + "field", Value: secret + "001"}}},
			{Key: "errmsg", Value: "ChunkTooBig: " + secret + " 12"}, {Key: "note", Value: "aborted"}}}})
	parts.Changes = []catalog.LogEntry{{What: "moveChunk.from", Namespace: secret + "." + secret, Raw: entry}}
	coll := parts.Collections[0]
	coll.Namespace = secret + "." + secret
	coll.Outline = &catalog.Outline{Oldest: map[catalog.ShardID]bson.Timestamp{shardID(0): {T: 1}}}
	is := redacted(t, catalog.NewSnapshot(parts))
	if _, told := is.Parts().Collections[0].Outline.Oldest[shardID(0)]; told {
		t.Error("the outline has the shard's own name")
	}

	var file bytes.Buffer
	if err := snapfile.Write(&file, is); err != nil {
		t.Fatal(err)
	}
	if plain := unpacked(t, file.Bytes()); bytes.Contains(plain, []byte(secret)) {
		i := bytes.Index(plain, []byte(secret))
		t.Errorf("the file has %q", plain[max(0, i-40):min(len(plain), i+40)])
	}
	got := is.Parts()
	change := got.Changes[0]
	if text, _ := change.Detail("errmsg").StringValueOK(); text != "ChunkTooBig: xxxxxxxx 00" {
		t.Errorf("errmsg became %q", text)
	}
	if change.Namespace != got.Collections[0].Namespace || change.Raw.Lookup("ns").StringValue() != change.Namespace {
		t.Errorf("the namespace became %q, %q and %q", change.Namespace, change.Raw.Lookup("ns"), got.Collections[0].Namespace)
	}
	field := got.Collections[0].Pattern.Fields()[0]
	if got := change.Detail("min", field); got.Type != bson.TypeString {
		t.Errorf("details.min became %v, without the field %s", change.Detail("min"), field)
	}
	if mode := got.Config["settings"][0].Lookup("mode").StringValue(); mode != "off" {
		t.Errorf("mode became %q", mode)
	}
	if start := got.Config["settings"][0].Lookup("activeWindow", "start").StringValue(); start != "22:00" {
		t.Errorf("the window became %q", start)
	}
}

// The balancer does the same on both.
func TestSameMoves(t *testing.T) {
	p := pattern(t, bson.D{{Key: "customer", Value: 1}})
	var keys []catalog.Key
	for _, name := range []string{"adam", "berta", "carl", "carla", "dora", "emil", "emilie", "zoe"} {
		k, err := p.ParseKey(raw(t, bson.D{{Key: "customer", Value: name}}))
		if err != nil {
			t.Fatal(err)
		}
		keys = append(keys, k)
	}
	was := cluster(t, p, append([]catalog.Key{p.GlobalMin()}, append(keys, p.GlobalMax())...), 3)
	is := redacted(t, was)
	old, next := moves(t, was), moves(t, is)
	if len(old) == 0 {
		t.Fatal("nothing moves")
	}
	if !slices.Equal(old, next) {
		t.Errorf("moves were\n%s\nand are\n%s", strings.Join(old, "\n"), strings.Join(next, "\n"))
	}
}

// moves are told without names: shards by their rank, chunks by their place.
func moves(t *testing.T, s *catalog.Snapshot) (list []string) {
	run, err := sim.New(s, sim.Config{Location: time.UTC})
	if err != nil {
		t.Fatal(err)
	}
	defer run.Close()
	rank := map[catalog.ShardID]int{}
	for i, shard := range s.Shards() {
		rank[shard.ID] = i
	}
	place := map[string]int{}
	for c := range s.Collections()[0].Table.All() {
		place[string(c.Min.Bytes())] = len(place)
	}
	for e := range run.EventsToRest(s.Time().Add(24 * time.Hour)) {
		list = append(list, fmt.Sprintf("%s %d of %d to %d, %d bytes, %v", e.Kind, place[string(e.Min.Bytes())],
			rank[e.From], rank[e.To], e.Bytes, e.Reason))
	}
	return list
}

func TestServersOwnNames(t *testing.T) {
	p := pattern(t, bson.D{{Key: "_id", Value: 1}})
	s := cluster(t, p, []catalog.Key{p.GlobalMin(), p.GlobalMax()}, 2)
	coll := *s.Collections()[0]
	coll.Namespace = "config.system.sessions"
	parts := s.WithCollection(&coll).Parts()
	parts.Databases = []catalog.Database{
		{Name: "beer", Primary: shardID(0)}, {Name: "config", Primary: "config"}, {Name: "customers", Primary: shardID(0)},
	}
	is := redacted(t, catalog.NewSnapshot(parts))
	if is.Collection("config.system.sessions") == nil {
		t.Error("config.system.sessions has another name")
	}
	if got := is.Parts().Databases; got[1].Name != "config" || got[0].Name == "beer" || got[2].Name == "customers" {
		t.Errorf("databases became %v", got)
	}
	if got := is.Collections()[0].Pattern.Fields(); got[0] != "_id" {
		t.Errorf("the field _id became %v", got)
	}
}

func TestWhatCannotBeReplaced(t *testing.T) {
	p := pattern(t, bson.D{{Key: "x", Value: 1}})
	k, err := p.ParseKey(raw(t, bson.D{{Key: "x", Value: bson.DBPointer{DB: "a.b", Pointer: bson.ObjectID{1}}}}))
	if err != nil {
		t.Fatal(err)
	}
	s := cluster(t, p, []catalog.Key{p.GlobalMin(), k, p.GlobalMax()}, 2)
	if _, err := anonymous.Snapshot(s, rand.New(rand.NewPCG(1, 2))); err == nil ||
		!strings.Contains(err.Error(), "db.c") || !strings.Contains(err.Error(), "dbPointer") {
		t.Errorf("the error is %v", err)
	}
}

func shardID(i int) catalog.ShardID { return catalog.ShardID(fmt.Sprintf("shard%d", i)) }

type fataler interface {
	Helper()
	Fatal(...any)
}

func raw(t fataler, d bson.D) bson.Raw {
	t.Helper()
	doc, err := bson.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func pattern(t fataler, d bson.D) catalog.KeyPattern {
	t.Helper()
	p, err := catalog.ParseKeyPattern(raw(t, d))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// cluster has a chunk of 100 MiB between all keys, on the first shard.
func cluster(t fataler, p catalog.KeyPattern, keys []catalog.Key, shards int) *catalog.Snapshot {
	t.Helper()
	const each = 100 << 20
	parts := catalog.SnapshotParts{
		Time: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC), Version: "8.0.10", Release: catalog.Release80,
		Settings: catalog.DefaultSettingsOf(catalog.Release80), Balancer: catalog.BalancerState{Mode: catalog.ModeFull},
	}
	coll := &catalog.CollectionState{Collection: catalog.Collection{
		Namespace: "db.c", UUID: bson.Binary{Subtype: 4, Data: make([]byte, 16)}, Timestamp: bson.Timestamp{T: 1},
		Pattern: p, AllowMigrations: true, PermitMigrations: true, EnableAutoMerge: true,
	}, Sizes: map[catalog.ShardID]catalog.ShardData{}}
	for i := range shards {
		parts.Shards = append(parts.Shards, catalog.ShardState{Shard: catalog.Shard{ID: shardID(i), Host: "h", State: 1}})
		coll.Sizes[shardID(i)] = catalog.ShardData{}
	}
	n := int64(len(keys) - 1)
	coll.Sizes[shardID(0)] = catalog.ShardData{Bytes: n * each, Documents: n * 1000}
	var err error
	coll.Table, err = catalog.NewRoutingTable(p, bson.ObjectID{1}, bson.Timestamp{T: 1}, func(yield func(catalog.Chunk) bool) {
		for i, k := range keys[1:] {
			c := catalog.Chunk{Min: keys[i], Max: k, Shard: shardID(0), Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)},
				OnCurrentShardSince: bson.Timestamp{T: 1}, History: []catalog.ChunkHistory{{Shard: shardID(0),
					ValidAfter: bson.Timestamp{T: 1}}}}
			if !yield(c) {
				return
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	parts.Collections = []*catalog.CollectionState{coll}
	return catalog.NewSnapshot(parts)
}

// unpacked returns a file without its compression, as far as zstd frames are
// found in it.
func unpacked(t *testing.T, file []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	all := slices.Clone(file)
	at := bytes.Index(file, []byte{0x28, 0xb5, 0x2f, 0xfd})
	if at < 0 {
		t.Fatal("the file is not compressed")
	}
	plain, err := d.DecodeAll(file[at:], nil)
	if err != nil && len(plain) == 0 {
		t.Fatal(err)
	}
	return append(all, plain...)
}
