package catalog_test

import (
	"encoding/json"
	"errors"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
)

func patternOf(t interface{ Fatal(...any) }, key bson.D) catalog.KeyPattern {
	raw, err := bson.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The names of fields and the form of values are for others to rely on.
func TestJSONForm(t *testing.T) {
	p := patternOf(t, bson.D{{Key: "region", Value: 1}, {Key: "id", Value: 1}})
	key := func(values ...any) catalog.Key {
		raw, err := bson.Marshal(bson.D{{Key: "region", Value: values[0]}, {Key: "id", Value: values[1]}})
		if err != nil {
			t.Fatal(err)
		}
		k, err := p.ParseKey(raw)
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	since := bson.Timestamp{T: 1700000000, I: 2}
	chunk := catalog.Chunk{
		ID: bson.ObjectID{1}, Min: key("A", bson.MinKey{}), Max: key("B", int64(5)), Shard: "eu1",
		Version: catalog.ChunkVersion{Major: 3, Minor: 1}, Jumbo: catalog.JumboTrue, OnCurrentShardSince: since,
		History: []catalog.ChunkHistory{{ValidAfter: since, Shard: "eu1"}}, Estimate: catalog.NewEstimate(0),
	}
	text, err := json.Marshal(chunk)
	const want = `{"id":"010000000000000000000000","min":["A",{"$minKey":1}],"max":["B",{"$numberLong":"5"}],` +
		`"shard":"eu1","version":"3|1","jumbo":true,"onCurrentShardSince":{"$timestamp":{"t":1700000000,"i":2}},` +
		`"history":[{"validAfter":{"$timestamp":{"t":1700000000,"i":2}},"shard":"eu1"}],"estimatedDataSizeBytes":0}`
	if err != nil || string(text) != want {
		t.Errorf("%s, want %s: %v", text, want, err)
	}
	for _, bad := range []string{`[]`, `[[1]]`, `[{"$oid":"x"}]`, `[{"$bson":""}]`, `[{"$bson":"EAE="}]`} {
		if err := json.Unmarshal([]byte(bad), new(catalog.Key)); !errors.Is(err, catalog.ErrNotShardKey) {
			t.Errorf("%s is a key: %v", bad, err)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	p := patternOf(t, bson.D{{Key: "a", Value: 1}, {Key: "b.c", Value: "hashed"}})
	rapid.Check(t, func(t *rapid.T) {
		key := snaptest.DrawKey(t, p)
		text, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		var again catalog.Key
		if err := json.Unmarshal(text, &again); err != nil || again != key {
			t.Fatalf("%s gives %s, want %s: %v", text, again, key, err)
		}
	})
}

// A value that extended JSON can't tell comes back all the same.
func TestJSONOfBrokenText(t *testing.T) {
	p := patternOf(t, bson.D{{Key: "a", Value: 1}})
	raw := bson.Raw("\x0e\x00\x00\x00\x02a\x00\x02\x00\x00\x00\xff\x00\x00")
	key, err := p.ParseKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	var again catalog.Key
	if err := json.Unmarshal(text, &again); err != nil || again != key {
		t.Errorf("%s gives %s: %v", text, again, err)
	}
}

// Whatever JSON there is, reading it gives an error or a key that comes back.
func FuzzJSON(f *testing.F) {
	f.Add([]byte(`["A",{"$minKey":1},{"$numberLong":"5"}]`))
	f.Add([]byte(`[{"$bson":"Av8="},{"$regularExpression":{"pattern":"a","options":"i"}}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var key, again catalog.Key
		if json.Unmarshal(data, &key) != nil {
			return
		}
		text, err := json.Marshal(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &again); err != nil || again != key {
			t.Errorf("%s gives %s, want %s: %v", text, again, key, err)
		}
	})
}
