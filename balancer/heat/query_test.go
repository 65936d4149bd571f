package heat_test

import (
	"bufio"
	"compress/gzip"
	"os"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
)

// reach returns the chunks, by number, that a filter goes to; all says that it is scattered.
func reach(t testing.TB, table *catalog.RoutingTable, filter bson.D, simple bool) (chunks []int, all bool) {
	raw, err := bson.Marshal(filter)
	if err != nil {
		t.Fatal(err)
	}
	ranges := heat.QueryRanges(table.Pattern(), raw, simple)
	for _, r := range ranges {
		for c := range table.Overlapping(r.From, r.To) {
			if i := table.IndexOf(c.Min); !slices.Contains(chunks, i) {
				chunks = append(chunks, i)
			}
		}
	}
	slices.Sort(chunks)
	return chunks, ranges == nil
}

// What a filter says of a shard key, as the manual and the server's targeting have it.
func TestRangesOf(t *testing.T) {
	type D = bson.D
	op := func(name string, v any) D { return D{{Key: name, Value: v}} }
	k := func(v any) D { return D{{Key: "k", Value: v}} }
	simple := pattern(t, D{{Key: "k", Value: 1}})
	var bounds []catalog.Key
	owners := []catalog.ShardID{"a", "b", "a", "b", "a", "b", "a"}
	for _, v := range []any{0, 100, 200, "", "m", bson.DateTime(0)} {
		bounds = append(bounds, keyOf(t, simple, k(v)))
	}
	table := tableOf(t, simple, bounds, owners) // -∞..0, ..100, ..200, ..strings, "".., "m".., dates
	for _, c := range []struct {
		filter  D
		collate bool
		want    []int // nil = all
	}{
		{k(5), false, []int{1}},
		{k(100.0), false, []int{2}},
		{k(op("$eq", 150)), false, []int{2}},
		{k(op("$in", bson.A{1, 2, 250})), false, []int{1, 3}},
		{k(op("$gt", 100)), false, []int{2, 3}}, // numbers only
		{k(op("$gte", 200)), false, []int{3}},
		{k(op("$lt", 0)), false, []int{0}},
		{k(op("$lte", 0)), false, []int{0, 1}},
		{k(D{{Key: "$gte", Value: 50}, {Key: "$lt", Value: 100}}), false, []int{1}},
		{k("a"), false, []int{4}},
		{k("a"), true, nil}, // another collation
		{k(5), true, []int{1}},
		{k(op("$gte", "n")), false, []int{5}},
		{k(bson.Regex{Pattern: "^ab"}), false, []int{4}},
		{k(bson.Regex{Pattern: "^ab", Options: "i"}), false, nil},
		{k(D{{Key: "$regex", Value: "^ab"}, {Key: "$options", Value: "i"}}), false, nil},
		{k(bson.Regex{Pattern: "(?i)^ab"}), false, nil},
		{k(bson.Regex{Pattern: "^(?i)ab"}), false, nil},
		{k(bson.Regex{Pattern: "ab"}), false, nil},
		{k(op("$ne", 1)), false, nil},
		{k(op("$exists", true)), false, nil},
		{D{{Key: "x", Value: 1}}, false, nil},
		{D{}, false, nil},
		{D{{Key: "$or", Value: bson.A{k(1), k(150)}}}, false, []int{1, 2}},
		{D{{Key: "$or", Value: bson.A{k(1), D{{Key: "x", Value: 1}}}}}, false, nil},
		{D{{Key: "$and", Value: bson.A{k(op("$gte", 10)), k(op("$lt", 150))}}}, false, []int{1, 2}},
		{D{{Key: "k", Value: 5}, {Key: "$or", Value: bson.A{D{{Key: "x", Value: 1}}, D{{Key: "y", Value: 1}}}}}, false, []int{1}},
		{k(op("$gte", bson.MinKey{})), false, nil},
	} {
		got, all := reach(t, table, c.filter, !c.collate)
		if all != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%v reaches %v (all: %v), not %v", c.filter, got, all, c.want)
		}
	}
}

// The first fields of a compound key are enough for a range, later ones alone are not.
func TestRangesOfCompoundKeys(t *testing.T) {
	type D = bson.D
	p := pattern(t, D{{Key: "region", Value: 1}, {Key: "n", Value: 1}})
	at := func(region string, n int) catalog.Key {
		return keyOf(t, p, D{{Key: "region", Value: region}, {Key: "n", Value: n}})
	}
	table := tableOf(t, p, []catalog.Key{at("EU", 0), at("EU", 100), at("US", 0), at("US", 50)},
		[]catalog.ShardID{"a", "b", "a", "b", "a"})
	for _, c := range []struct {
		filter D
		want   []int
	}{
		{D{{Key: "region", Value: "EU"}}, []int{0, 1, 2}},
		{D{{Key: "region", Value: "EU"}, {Key: "n", Value: 4}}, []int{1}},
		{D{{Key: "region", Value: "EU"}, {Key: "n", Value: D{{Key: "$lte", Value: 100}}}}, []int{0, 1, 2}},
		{D{{Key: "region", Value: "EU"}, {Key: "n", Value: D{{Key: "$gte", Value: 100}}}}, []int{2}},
		{D{{Key: "region", Value: D{{Key: "$lte", Value: "EU"}}}}, []int{0, 1, 2}},
		{D{{Key: "region", Value: D{{Key: "$gt", Value: "EU"}}}}, []int{2, 3, 4}},
		{D{{Key: "n", Value: 4}}, nil},
	} {
		if got, _ := reach(t, table, c.filter, true); !slices.Equal(got, c.want) {
			t.Errorf("%v reaches %v, not %v", c.filter, got, c.want)
		}
	}
	h := pattern(t, D{{Key: "u", Value: "hashed"}})
	table = tableOf(t, h, []catalog.Key{keyOf(t, h, D{{Key: "u", Value: int64(0)}})}, []catalog.ShardID{"a", "b"})
	// convertShardKeyToHashed(1) is 5902408780260971510.
	for _, n := range []any{1, 1.0, int64(1)} {
		if got, _ := reach(t, table, D{{Key: "u", Value: n}}, true); !slices.Equal(got, []int{1}) {
			t.Errorf("the hash of %v lies in %v", n, got)
		}
	}
	if _, all := reach(t, table, D{{Key: "u", Value: D{{Key: "$gt", Value: 1}}}}, true); !all {
		t.Error("a range of a hashed key goes to some shards only")
	}
}

// A point of a query lies in its ranges, for every document that the query would find.
func TestRangesHoldWhatMatches(t *testing.T) {
	p := pattern(t, bson.D{{Key: "a", Value: 1}, {Key: "b", Value: 1}})
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(-3, 3)
		a, b := n.Draw(t, "a"), n.Draw(t, "b")
		lo, hi := n.Draw(t, "lo"), n.Draw(t, "hi")
		filter, _ := bson.Marshal(bson.D{{Key: "a", Value: bson.D{{Key: "$gte", Value: lo}, {Key: "$lte", Value: hi}}},
			{Key: "$or", Value: bson.A{bson.D{{Key: "b", Value: lo}}, bson.D{{Key: "b", Value: bson.D{{Key: "$gt", Value: hi}}}}}}})
		doc, _ := bson.Marshal(bson.D{{Key: "a", Value: a}, {Key: "b", Value: b}})
		key, err := p.DocumentKey(doc)
		if err != nil {
			t.Fatal(err)
		}
		matches := a >= lo && a <= hi && (b == lo || b > hi)
		in := slices.ContainsFunc(heat.QueryRanges(p, filter, true), func(r heat.Range) bool {
			return !key.Less(r.From) && key.Less(r.To)
		})
		if matches && !in {
			t.Fatalf("{a: %d, b: %d} is found and lies in no range", a, b)
		}
		if in && (a < lo || a > hi) {
			t.Fatalf("{a: %d} lies in a range of %d to %d", a, lo, hi)
		}
	})
}

// recorded returns what a real 8.0.10 had in config.sampledQueries of two shards: heat.r is
// sharded by k, heat.c by region and n.
func recorded(t *testing.T) (docs []bson.Raw) {
	file, err := os.Open("testdata/load-sources.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Note      string
			Documents []bson.Raw
		}
		if err := bson.UnmarshalExtJSON(lines.Bytes(), true, &line); err != nil {
			t.Fatal(err)
		}
		if line.Note == "config.sampledQueries" {
			docs = append(docs, line.Documents...)
		}
	}
	return docs
}

// The recording ran finds, updates, deletes, findAndModify, pipelines and distinct by k, one
// find with a collation, one pipeline without a filter, and one update of k above 900.
func TestRecordedSamples(t *testing.T) {
	patterns := map[string]catalog.KeyPattern{"heat.r": pattern(t, bson.D{{Key: "k", Value: 1}}),
		"heat.c": pattern(t, bson.D{{Key: "region", Value: 1}, {Key: "n", Value: 1}}),
		"heat.h": pattern(t, bson.D{{Key: "u", Value: "hashed"}})}
	type count struct{ reads, writes, points, ranges, scattered int }
	got := map[string]count{}
	for _, doc := range recorded(t) {
		ns := doc.Lookup("ns").StringValue()
		c := got[ns]
		for _, s := range heat.ParseSampledQuery(doc) {
			if day := s.At.UTC().Format(time.DateOnly); day != "2026-11-23" && day != "2026-11-24" {
				t.Errorf("sampled on %s", s.At)
			}
			one := heat.NewSample(patterns[ns], s)
			if one.Kind == heat.Read {
				c.reads++
			} else {
				c.writes++
			}
			switch {
			case !one.Key.IsZero():
				c.points++
			case one.Ranges != nil:
				c.ranges++
			default:
				c.scattered++
			}
		}
		got[ns] = c
	}
	// Counted by hand in the recording.
	want := map[string]count{
		"heat.c": {reads: 16, writes: 8, points: 16, ranges: 8},
		"heat.h": {reads: 15, points: 10, scattered: 5},
		"heat.r": {reads: 23, writes: 33, points: 44, ranges: 1, scattered: 11},
	}
	for ns, w := range want {
		if got[ns] != w {
			t.Errorf("%s: %+v, not %+v", ns, got[ns], w)
		}
	}
}
