package keyadvice

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

func raw(t testing.TB, text string) (doc bson.Raw) {
	t.Helper()
	if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// Coefficients as tables of statistics have them.
func TestSpearman(t *testing.T) {
	for text, want := range map[string]float64{
		"abcde": 1, "edcba": -1, "aabb": 4 / math.Sqrt(20), "bacd": 0.8, "abcab": 2 / math.Sqrt(90),
	} {
		if got := spearman(strings.Split(text, "")); math.Abs(got-want) > 0.0001 {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	if got := spearman(strings.Split("aaaa", "")); !math.IsNaN(got) {
		t.Errorf("equal values: %v", got)
	}
}

func TestQueryOf(t *testing.T) {
	for text, want := range map[string]string{
		`{}`: "[] []", `{"a": 1}`: "[a] []", `{"a": {"x": 1}}`: "[a] []", `{"a": {"$eq": 1}, "b": {"$in": [1, 2]}}`: "[a " +
			"b] []",
		`{"a": {"$gte": 1, "$lt": 2}}`: "[] [a]", `{"$and": [{"a": 1}, {"b": {"$gt": 1}}, {"a": 1}]}`: "[a] [b]",
		`{"$or": [{"a": 1}, {"b": 1}]}`: "[] []", `{"a": {"$ne": 1}, "b": {"$exists": true}}`: "[] []", `{"a": {}}`: "[a] []",
		`{"a.b": {"$gt": 1}, "$and": [{"a.b": 3}]}`: "[a.b] []",
	} {
		q := QueryOf(raw(t, text))
		if got := fmt.Sprint(q.Equal, q.Range); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// A key can have the fields of an index before the first that no key can have.
func TestFieldsOfIndexes(t *testing.T) {
	for key, want := range map[string]string{
		`{"a": 1, "b": -1}`:             "[a b]",
		`{"a": "hashed", "b": 1}`:       "[a b]",
		`{"a": 1, "place": "2dsphere"}`: "[a]",
		`{"$**": 1}`:                    "[]",
		`{"a": 1, "b.$**": 1, "c": 1}`:  "[a]",
		`{"_fts": "text", "_ftsx": 1}`:  "[]",
	} {
		if got := fmt.Sprint(Index{Key: raw(t, key)}.ShardKeyFields()); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// facts are those of 400 orders: customers that are shuffled and a time that grows.
func facts(t testing.TB) Facts {
	f := Facts{Namespace: "app.orders", Shards: 4, ChunkBytes: 1 << 27, Docs: 400, Bytes: 40_000,
		Indexes: []Index{{Name: "_id_", Key: raw(t, `{"_id": 1}`)}, {Name: "c", Key: raw(t, `{"customer": 1}`)}}}
	for i := range 400 {
		f.Sample.Docs = append(f.Sample.Docs, raw(t, fmt.Sprintf(`{"_id": %d, "customer": %d, "at": %d, "kind": %d}`,
			i, i*149%400, 1000+i, i%3)))
	}
	f.Sample.Arrival = f.Sample.Docs
	return f
}

func key(t testing.TB, text string) ShardKey {
	t.Helper()
	k, err := ParseShardKey(raw(t, text))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// What a release can't do is neither proposed nor called possible.
func TestReleases(t *testing.T) {
	f := facts(t)
	f.Indexes = append(f.Indexes, Index{Name: "k", Key: raw(t, `{"kind": 1}`)})
	compound := key(t, `{"kind": 1, "_id": "hashed"}`)
	for release, want := range map[catalog.Release]bool{catalog.Release42: false, catalog.Release44: true} {
		f.Release = release
		if got := slices.ContainsFunc(Propose(f), compound.Equal); got != want {
			t.Errorf("%s proposes %s: %v", release, compound, got)
		}
		if got := Rank(f, []ShardKey{compound})[0].Impossible == ""; got != want {
			t.Errorf("%s can have %s: %v", release, compound, got)
		}
		if got := Rank(f, []ShardKey{key(t, `{"gone": 1}`)})[0].Impossible == ""; got != want {
			t.Errorf("%s can have a key that documents lack: %v", release, got)
		}
	}
}

// What to enter depends on the key that is there, and on the release.
func TestCommands(t *testing.T) {
	for name, c := range map[string]struct {
		current string
		release catalog.Release
		asked   string
		want    string
	}{
		"not sharded": {"", catalog.Release80, `{"customer": 1}`, `sh.shardCollection("app.orders", {customer: 1})`},
		"without an index": {"", catalog.Release80, `{"at": "hashed"}`,
			`db.getSiblingDB("app").getCollection("orders").createIndex({at: "hashed"})`},
		"as it is": {`{"customer": 1}`, catalog.Release80, `{"customer": 1}`, ""},
		"refined": {`{"kind": 1}`, catalog.Release44, `{"kind": 1, "customer": 1}`,
			`sh.refineCollectionShardKey("app.orders", {kind: 1, customer: 1})`},
		"resharded": {`{"at": 1}`, catalog.Release50, `{"customer": 1}`,
			`sh.reshardCollection("app.orders", {customer: 1})`},
		"not resharded":    {`{"at": 1}`, catalog.Release44, `{"customer": 1}`, ""},
		"nothing possible": {"", catalog.Release42, `{"gone": 1}`, ""},
	} {
		f := facts(t)
		if f.Release = c.release; c.current != "" {
			f.Current = key(t, c.current)
		}
		a := Advise(f, []ShardKey{key(t, c.asked)})
		if c.want == "" && len(a.Commands) > 0 || c.want != "" && !slices.Contains(a.Commands, c.want) {
			t.Errorf("%s: %q", name, a.Commands)
		}
		if text, err := json.Marshal(a); err != nil || !strings.Contains(string(text), `"verdict":"`) {
			t.Errorf("%s: %v in %s", name, err, text)
		}
	}
}

// A key that is nearly as good as the best one is kept; one that is not is left.
func TestCurrentKey(t *testing.T) {
	f := facts(t)
	f.Queries, f.QueriesFrom = []Query{{Equal: []string{"customer"}, Weight: 1}}, QueriesGiven
	for current, kept := range map[string]bool{`{"customer": "hashed"}`: true, `{"at": 1}`: false, `{"kind": 1}`: false} {
		f.Current = key(t, current)
		a := Advise(f, nil)
		if a.Best == nil || a.Best.Key.Equal(f.Current) != kept || strings.HasPrefix(a.Verdict, "keep") != kept {
			t.Errorf("%s: %s", current, a.Verdict)
		}
		if !slices.ContainsFunc(a.Candidates, func(c Candidate) bool { return c.Key.Equal(f.Current) }) {
			t.Errorf("%s is not told of", current)
		}
	}
	// A key is not better than one that wasn't rated because the user didn't ask about it.
	f.Current = key(t, `{"customer": 1}`)
	for _, asked := range []string{`{"at": 1}`, `{"kind": 1}`} {
		a := Advise(f, []ShardKey{key(t, asked)})
		if !strings.Contains(a.Verdict, "no better than {customer: 1}, by which") || len(a.Commands) > 0 {
			t.Errorf("%s: %s %q", asked, a.Verdict, a.Commands)
		}
	}
	f.Current = key(t, `{"kind": 1}`)
	better := Advise(f, []ShardKey{key(t, `{"customer": 1}`)})
	if !strings.Contains(better.Verdict, "and better than {kind: 1}, by which") {
		t.Error(better.Verdict)
	}
}

// More documents make more of a value that many have: what was fine outgrows chunks.
func TestExpect(t *testing.T) {
	f := facts(t)
	f.Sample.Docs, f.Sample.Arrival = nil, nil
	for i := range 4000 {
		f.Sample.Docs = append(f.Sample.Docs, raw(t, fmt.Sprintf(`{"_id": %d, "customer": %d}`, i, i*149%400)))
	}
	f.Sample.Arrival = f.Sample.Docs
	small := Rank(f, []ShardKey{key(t, `{"customer": 1}`)})[0]
	f.ExpectBytes = 1 << 40
	large := Rank(f, []ShardKey{key(t, `{"customer": 1}`)})[0]
	if small.JumboShare != 0 || large.JumboShare < 0.3 || small.Grade != Good || large.Score > small.Score*0.8 {
		t.Errorf("score %v, then %v, with %v outgrown", small.Score, large.Score, large.JumboShare)
	}
	if !strings.Contains(strings.Join(large.Reasons, "\n"), "outgrow a chunk of 128 MiB") {
		t.Errorf("reasons %q", large.Reasons)
	}
}

// How often indexes are used weighs what they stand for.
func TestUsedIndexes(t *testing.T) {
	f := facts(t)
	f.Indexes = append(f.Indexes, Index{Name: "a", Key: raw(t, `{"kind": 1, "customer": 1}`)})
	for _, c := range []struct {
		id, customer, kind int64
		want               string
	}{{0, 900, 10, `{customer: 1}`}, {900, 10, 0, `{_id: "hashed"}`}, {0, 1, 900, `{kind: 1, customer: 1}`}} {
		f.Indexes[0].UseCount, f.Indexes[1].UseCount, f.Indexes[2].UseCount = c.id, c.customer, c.kind
		if a := Advise(f, nil); a.Best.Key.String() != c.want || !strings.Contains(strings.Join(a.Basis, " "),
			"$indexStats") {
			t.Errorf("%+v: %s\n%q", c, a.Best.Key, a.Basis)
		}
	}
}

// What the server measured counts before the sample; a correlation that comes of equal
// values does not.
func TestMeasured(t *testing.T) {
	f := facts(t)
	k := key(t, `{"customer": 1}`)
	f.Measurements = map[string]Measurement{k.String(): {Docs: 100_000, Distinct: 3, Correlation: 0.99,
		CommonValues: []CommonValue{{raw(t, `{"customer": 5}`), 30_000}}}}
	c := Rank(f, []ShardKey{k})[0]
	if c.MeasuredBy != "analyzeShardKey" || c.Distinct != 3 || c.GrowingField != "customer" || c.InsertShards != 1 || c.JumboShare < 0.2 {
		t.Errorf("%+v", c)
	}
	f.Measurements[k.String()] = Measurement{Docs: 100_000, Distinct: 3, Correlation: 0.99,
		CommonValues: []CommonValue{{raw(t, `{"customer": 5}`), 90_000}}}
	if c := Rank(f, []ShardKey{k})[0]; c.GrowingField != "" {
		t.Errorf("%+v", c)
	}
}

// A collection whose sample is empty though it counts documents is not said to have none.
func TestAdviseEmptySample(t *testing.T) {
	for docs, want := range map[int64]string{
		0: "x.y has no documents to rate a key with",
		5: "a sample of x.y has no documents, though it counts 5 documents: no key can be rated",
	} {
		if got := Advise(Facts{Namespace: "x.y", Docs: docs}, nil).Verdict; got != want {
			t.Errorf("%d documents: %s", docs, got)
		}
	}
}
