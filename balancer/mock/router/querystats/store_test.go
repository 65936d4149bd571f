package querystats

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"
)

func parsed(t testing.TB, text string) bson.Raw {
	t.Helper()
	var doc bson.D
	if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return encode(doc)
}

func shown(t testing.TB, doc any) string {
	t.Helper()
	text, err := bson.MarshalExtJSON(bson.D{{Key: "v", Value: doc}}, false, false)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(strings.TrimPrefix(string(text), `{"v":`), "}")
}

// The keys are those that an 8.0.10 showed of such queries, without the client.
func TestKeysAsRecorded(t *testing.T) {
	const concern = `,"readConcern":{"level":"local","provenance":"implicitDefault"}}`
	for _, c := range []struct{ command, body, want string }{
		{"find", `{"find": "h", "filter": {"u": {"$gt": 5}}, "limit": 1, "singleBatch": true}`,
			`{"queryShape":{"cmdNs":{"db":"heat","coll":"h"},"command":"find","filter":{"u":{"$gt":"?number"}},"limit":"?number","singleBatch":true}` + concern},
		{"find", `{"find": "c", "filter": {"region": "EU", "n": 7}, "limit": 1, "singleBatch": true}`,
			`{"queryShape":{"cmdNs":{"db":"heat","coll":"c"},"command":"find","filter":{"$and":[{"region":{"$eq":"?string"}},{"n":{"$eq":"?number"}}]},"limit":"?number","singleBatch":true}` + concern},
		{"find", `{"find": "r", "filter": {"k": "5"}, "collation": {"locale": "en"}}`,
			`{"queryShape":{"cmdNs":{"db":"heat","coll":"r"},"collation":{"locale":"en"},"command":"find","filter":{"k":{"$eq":"?string"}}}` + concern},
		{"find", `{"find": "r", "filter": {"k": {"$gte": 1, "$lt": 9}}, "limit": 5}`,
			`{"queryShape":{"cmdNs":{"db":"heat","coll":"r"},"command":"find","filter":{"$and":[{"k":{"$gte":"?number"}},{"k":{"$lt":"?number"}}]},"limit":"?number"}` + concern},
		{"aggregate", `{"aggregate": "r", "pipeline": [{"$match": {"k": {"$in": [1, 2]}}}, {"$group": {"_id": null, "n": {"$sum": 1}}}, {"$project": {"n": 1, "_id": 0}}], "cursor": {}}`,
			`{"queryShape":{"cmdNs":{"db":"heat","coll":"r"},"command":"aggregate","pipeline":[{"$match":{"k":{"$in":"?array<?number>"}}},{"$group":{"_id":"?null","n":{"$sum":"?number"}}},{"$project":{"n":true,"_id":false}}]},"cursor":{"batchSize":"?number"}}`},
		{"aggregate", `{"aggregate": "r", "pipeline": [{"$lookup": {"from": "h", "localField": "k", "foreignField": "u", "as": "x"}}, {"$limit": 1}], "cursor": {}}`,
			`{"queryShape":{"cmdNs":{"db":"heat","coll":"r"},"command":"aggregate","pipeline":[{"$lookup":{"from":"h","as":"x","localField":"k","foreignField":"u"}},{"$limit":"?number"}]},"otherNss":[{"db":"heat","coll":"h"}],"cursor":{"batchSize":"?number"}}`},
		// Not recorded: by the same rules.
		{"distinct", `{"distinct": "c", "key": "a.b", "query": {"$or": [{"x": null}, {"y": {"$not": {"$in": ["a", 1]}}}]}}`,
			`{"queryShape":{"cmdNs":{"db":"heat","coll":"c"},"command":"distinct","key":"a.b","query":{"$or":[{"x":{"$eq":"?null"}},{"y":{"$not":{"$in":"?array<>"}}}]}}}`},
	} {
		q := Query{Database: "heat", Command: c.command, Body: parsed(t, c.body)}
		if got := shown(t, q.key(sameName)); got != c.want {
			t.Errorf("%s is\n%s, not\n%s", c.body, got, c.want)
		}
	}
}

var noon = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

func TestMetricsAddUp(t *testing.T) {
	var s Store
	note := func(k int, returned, cursor int64, took time.Duration, after time.Duration) {
		s.Record(Query{Database: "app", Command: "find", Body: parsed(t, fmt.Sprintf(`{"find": "c", "filter": {"k": %d}}`, k)),
			Returned: returned, Cursor: cursor, Took: took}, Rate{PerSecond: -1}, noon.Add(after))
	}
	note(1, 1, 0, 3*time.Millisecond, 0)
	note(2, 101, 7, 2*time.Millisecond, time.Second) // its cursor goes on
	if docs := s.Documents(noon, nil, false); len(docs) != 1 {
		t.Fatalf("%d entries", len(docs))
	}
	s.AddBatch(7, 7, 200, time.Millisecond, noon.Add(2*time.Second))
	s.AddBatch(7, 0, 9, 4*time.Millisecond, noon.Add(3*time.Second))
	s.AddBatch(7, 0, 9, time.Millisecond, noon.Add(3*time.Second)) // nobody knows it any more
	docs := s.Documents(noon.Add(time.Minute), nil, false)
	if len(docs) != 1 {
		t.Fatalf("%d entries of one shape", len(docs))
	}
	raw := bson.Raw(encode(docs[0]))
	for _, c := range []struct {
		want string
		path []string
	}{
		{`{"$numberLong":"2"}`, []string{"metrics", "execCount"}},
		{`{"$numberLong":"7000"}`, []string{"metrics", "lastExecutionMicros"}},
		{`{"sum": {"$numberLong":"10000"},"max": {"$numberLong":"7000"},"min": {"$numberLong":"3000"},"sumOfSquares": {"$numberDecimal":"58000000"}}`,
			[]string{"metrics", "totalExecMicros"}},
		{`{"sum": {"$numberLong":"5000"},"max": {"$numberLong":"3000"},"min": {"$numberLong":"2000"},"sumOfSquares": {"$numberDecimal":"13000000"}}`,
			[]string{"metrics", "firstResponseExecMicros"}},
		{`{"sum": {"$numberLong":"311"},"max": {"$numberLong":"310"},"min": {"$numberLong":"1"},"sumOfSquares": {"$numberDecimal":"96101"}}`,
			[]string{"metrics", "docsReturned"}},
	} {
		if got := raw.Lookup(c.path...).String(); got != c.want {
			t.Errorf("%v is %s, not %s", c.path, got, c.want)
		}
	}
	if at := raw.Lookup("metrics", "latestSeenTimestamp").Time(); !at.Equal(noon.Add(3 * time.Second)) {
		t.Errorf("last seen %s", at)
	}
	// The groups of 9.0.
	grouped := bson.Raw(encode(s.Documents(noon, nil, true)[0])).Lookup("metrics").Document()
	for _, path := range [][]string{{"cursor", "firstResponseExecMicros", "sum"}, {"queryExec", "docsReturned", "sum"},
		{"queryPlanner", "usedDisk", "false"}, {"writes", "nMatched", "sum"}, {"totalExecMicros", "sum"}} {
		if grouped.Lookup(path...).IsZero() {
			t.Errorf("9.0 lacks %v in %s", path, grouped)
		}
	}
	if !grouped.Lookup("docsReturned").IsZero() {
		t.Error("9.0 has docsReturned outside its group")
	}
}

func TestWhatIsKept(t *testing.T) {
	one := Query{Database: "app", Command: "find", Body: parsed(t, `{"find": "c", "filter": {}}`)}
	count := func(s *Store) int64 {
		if docs := s.Documents(noon, nil, false); len(docs) > 0 {
			return bson.Raw(encode(docs[0])).Lookup("metrics", "execCount").Int64()
		}
		return 0
	}
	for _, c := range []struct {
		rate Rate
		want int64
	}{{Rate{}, 0}, {Rate{PerSecond: -1}, 1000}, {Rate{PerSecond: 3}, 30}, {Rate{Share: 0.01}, 10}, {Rate{Share: 1}, 1000}} {
		var s Store
		for i := range 1000 { // a hundred a second
			s.Record(one, c.rate, noon.Add(time.Duration(i)*10*time.Millisecond))
		}
		if got := count(&s); got != c.want {
			t.Errorf("with %+v %d are kept, not %d", c.rate, got, c.want)
		}
	}
	var s Store
	for i := range maxEntries + 10 {
		q := one
		q.Database = fmt.Sprintf("d%d", i)
		q.Cursor = int64(i + 1) // and nobody reads on
		s.Record(q, Rate{PerSecond: -1}, noon.Add(time.Duration(i)))
	}
	if len(s.entries) > maxEntries || len(s.pendingByCursor) > maxOpenCursors {
		t.Errorf("%d entries, %d open", len(s.entries), len(s.pendingByCursor))
	}
	// A query whose cursor is open is as new as one that has ended.
	s = Store{}
	record := func(at int, cursor int64) {
		q := one
		q.Database, q.Cursor = fmt.Sprintf("d%d", at), cursor
		s.Record(q, Rate{PerSecond: -1}, noon.Add(time.Duration(at)))
	}
	for i := range maxEntries - 1 {
		record(i, 0)
	}
	record(maxEntries-1, 1)
	record(maxEntries, 0)
	for _, e := range s.entries {
		if e.example.Database == "d0" {
			t.Error("the query with an open cursor was evicted before the oldest")
		}
	}
}

func TestNamesAreHidden(t *testing.T) {
	var s Store
	s.Record(Query{Database: "app", Command: "aggregate", Body: parsed(t, `{"aggregate": "people", "pipeline": [
		{"$match": {"first.name": "Ann"}}, {"$sort": {"age": 1}}, {"$project": {"city": "$town"}},
		{"$lookup": {"from": "pets", "localField": "owner", "foreignField": "who", "as": "theirs"}}], "cursor": {}}`)}, Rate{PerSecond: -1}, noon)
	text := shown(t, s.Documents(noon, func(name string) string { return "<" + name[:1] + ">" }, false)[0][0].Value)
	for _, name := range []string{"app", "people", "first", "name\"", "Ann", "age", "city", "town", "pets", "owner", "who", "theirs"} {
		if strings.Contains(text, name) {
			t.Errorf("%s shows %s", text, name)
		}
	}
	if !strings.Contains(text, `"<f>.<n>"`) || !strings.Contains(text, `"$<t>"`) {
		t.Errorf("paths are gone: %s", text)
	}
}

// Values never show in a shape, and queries that differ only in values of one type have one shape.
func TestShapesHaveNoValues(t *testing.T) {
	text := rapid.StringMatching(`secret[a-z]{8}`)
	rapid.Check(t, func(rt *rapid.T) {
		template := rapid.SampledFrom([]string{
			`{"find": "c", "filter": {"a": %q, "b": {"$in": [%q]}}, "projection": {"x": {"$concat": ["$a", %q]}}}`,
			`{"find": "c", "filter": {"$or": [{"a": {"$elemMatch": {"b": %q}}}, {"c": {"$not": {"$eq": %q}}}, {"$expr": {"$eq": ["$a", %q]}}]}}`,
			`{"aggregate": "c", "pipeline": [{"$match": {"a": %q}}, {"$addFields": {"b": {"$cond": [true, %q, "$c"]}}}, {"$group": {"_id": {"k": %q}}}], "cursor": {}}`,
			`{"distinct": "c", "key": "k", "query": {"a": [%q, %q], "b": {"c": %q}}}`,
		}).Draw(rt, "template")
		name, _, _ := strings.Cut(template[2:], `"`)
		of := func() string {
			body := fmt.Sprintf(template, text.Draw(rt, "1"), text.Draw(rt, "2"), text.Draw(rt, "3"))
			return shown(t, shaper{sameName}.command("app", name, parsed(t, body)))
		}
		one, other := of(), of()
		if one != other || strings.Contains(one, "secret") {
			rt.Fatalf("%s\n%s", one, other)
		}
	})
}
