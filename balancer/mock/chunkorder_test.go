package mock_test

import (
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
)

// config.chunks leaves out what a clause excludes as an index would, and is read
// newest first from its newest chunk on: what comes is what a look at all chunks
// finds.
func TestChunksFound(t *testing.T) {
	m := newCluster(t, `{"shards": [{"id": "a"}, {"id": "b"}], "collections": [
		{"ns": "x.y", "key": {"k": 1}, "chunks": [{"shard": "a", "max": {"k": 0}, "jumbo": true}, {"shard": "b"}]},
		{"ns": "x.z", "key": {"k": 1}, "chunks": [{"shard": "b"}]}]}`, mock.Config{})
	m.ok(t, "admin", d("balancerStop", 1))
	for _, at := range []int{10, 20, 30, 40} {
		m.ok(t, "admin", d("split", "x.y", "middle", d("k", at)))
	}
	m.ok(t, "admin", d("moveChunk", "x.y", "find", d("k", 25), "to", "a"))
	m.sleep(time.Minute)
	list := func(filter bson.D, more ...any) []bson.Raw {
		command := append(d("find", "chunks", "filter", filter), d(more...)...)
		reply := m.ok(t, "config", command)
		values, err := reply.Lookup("cursor", "firstBatch").Array().Values()
		if err != nil {
			t.Fatal(err)
		}
		var docs []bson.Raw
		for _, v := range values {
			docs = append(docs, v.Document())
		}
		return docs
	}
	uuid := list(d("min.k", 20))[0].Lookup("uuid")
	all := list(d("uuid", uuid))
	if len(all) != 6 {
		t.Fatalf("%d chunks", len(all))
	}
	version := func(doc bson.Raw) bson.Timestamp {
		at, i := doc.Lookup("lastmod").Timestamp()
		return bson.Timestamp{T: at, I: i}
	}
	is := func(doc bson.Raw, field, value string) bool {
		text, _ := doc.Lookup(field).StringValueOK()
		return text == value
	}
	flagged := func(doc bson.Raw) bool { yes, _ := doc.Lookup("jumbo").BooleanOK(); return yes }
	from := bson.Timestamp{T: 1, I: 3}
	for name, c := range map[string]struct {
		filter bson.D
		wanted func(bson.Raw) bool
	}{
		"shard":      {d("shard", "a"), func(doc bson.Raw) bool { return is(doc, "shard", "a") }},
		"jumbo":      {d("jumbo", true), flagged},
		"not jumbo":  {d("jumbo", false), func(doc bson.Raw) bool { return !flagged(doc) && !doc.Lookup("jumbo").IsZero() }},
		"no flag":    {d("jumbo", nil), func(doc bson.Raw) bool { return doc.Lookup("jumbo").IsZero() }},
		"from":       {d("lastmod", d("$gte", from)), func(doc bson.Raw) bool { return !version(doc).Before(from) }},
		"above":      {d("lastmod", d("$gt", from)), func(doc bson.Raw) bool { return version(doc).After(from) }},
		"below":      {d("lastmod", d("$lt", from)), func(doc bson.Raw) bool { return version(doc).Before(from) }},
		"version":    {d("lastmod", from), func(doc bson.Raw) bool { return version(doc) == from }},
		"one of two": {d("lastmod", d("$in", bson.A{from, nil})), func(doc bson.Raw) bool { return version(doc) == from }},
		"measured":   {d("estimatedDataSizeBytes", d("$gte", 0)), func(bson.Raw) bool { return false }},
		"unmeasured": {d("estimatedDataSizeBytes", nil), func(bson.Raw) bool { return true }},
		"both": {d("shard", "a", "jumbo", true),
			func(doc bson.Raw) bool { return is(doc, "shard", "a") && flagged(doc) }},
	} {
		var want []bson.Raw
		for _, doc := range all {
			if c.wanted(doc) {
				want = append(want, doc)
			}
		}
		if got := list(append(d("uuid", uuid), c.filter...)); !slices.EqualFunc(got, want, slices.Equal[bson.Raw]) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	newest := slices.Clone(all)
	slices.SortFunc(newest, func(a, b bson.Raw) int { return version(b).Compare(version(a)) })
	for limit := range len(all) {
		want := newest[:len(all)-limit]
		got := list(d("uuid", uuid), "sort", d("lastmod", -1), "limit", len(want))
		if !slices.EqualFunc(got, want, slices.Equal[bson.Raw]) {
			t.Errorf("newest %d: %v, want %v", len(want), got, want)
		}
	}
}
