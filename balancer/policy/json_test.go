package policy_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/policy"
)

func hashedPattern(t interface{ Fatal(...any) }) catalog.KeyPattern {
	raw, err := bson.Marshal(bson.D{{Key: "k", Value: "hashed"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The names of fields are for others to rely on.
func TestJSONForm(t *testing.T) {
	p := hashedPattern(t)
	uuid := bson.Binary{Subtype: 4, Data: []byte("0123456789abcdef")}
	for _, c := range []struct {
		value any
		want  string
	}{
		{policy.Migration{
			From: "a", To: "b", Namespace: "x.y", UUID: uuid, Min: p.GlobalMin(), ChunkVersion: catalog.ChunkVersion{Major: 3},
			Force: policy.ForceBalancer, MaxChunkSizeBytes: 1 << 27, Reason: policy.ReasonDrain,
		}, `{"ns":"x.y","uuid":"30313233-3435-3637-3839-616263646566","from":"a","to":"b","min":[{"$minKey":1}],` +
			`"chunkVersion":"3|0","forceJumbo":"balancer","maxChunkSizeBytes":134217728,"reason":"drain"}`},
		{policy.Migration{From: "a", To: "b", Namespace: "x.y", Reason: policy.ReasonUnsharded},
			`{"ns":"x.y","from":"a","to":"b","reason":"unshardedCollection"}`},
		{policy.StreamAction{Kind: policy.MeasureRange, Namespace: "x.y", Shard: "a", Min: p.GlobalMin(), Max: p.GlobalMax(),
			MaxBytes: 5},
			`{"kind":"dataSize","ns":"x.y","shard":"a","min":[{"$minKey":1}],"max":[{"$maxKey":1}],"maxBytes":5}`},
		{policy.StreamAction{Kind: policy.MergeAll, Namespace: "x.y", Shard: "a", Throttled: true},
			`{"kind":"mergeAllOnShard","ns":"x.y","shard":"a","throttled":true}`},
	} {
		if text, err := json.Marshal(c.value); err != nil || string(text) != c.want {
			t.Errorf("%s, want %s: %v", text, c.want, err)
		}
	}
	for _, bad := range []string{`{}`, `{"ns":"x.y","from":"a"}`, `{"ns":"x.y","from":"a","to":"b","forceJumbo":"yes"}`,
		`{"ns":"x.y","from":"a","to":"b","uuid":"30313233"}`, `{"ns":"x.y","from":"a","to":"b","min":[]}`} {
		if err := json.Unmarshal([]byte(bad), new(policy.Migration)); err == nil {
			t.Errorf("%s is a migration", bad)
		}
	}
	for _, bad := range []string{`{}`, `{"kind":"merge","ns":"x.y","shard":"a"}`, `{"kind":"x","ns":"x.y","shard":"a"}`} {
		if err := json.Unmarshal([]byte(bad), new(policy.StreamAction)); err == nil {
			t.Errorf("%s is an action", bad)
		}
	}
	for _, bad := range []any{policy.Migration{Force: 9}, policy.ActionKind(9),
		policy.Migration{UUID: bson.Binary{Data: []byte{1}}}} {
		if text, err := json.Marshal(bad); err == nil {
			t.Errorf("%+v is %s", bad, text)
		}
	}
}

func TestJSONRoundTrip(t *testing.T) {
	p := hashedPattern(t)
	rapid.Check(t, func(t *rapid.T) {
		shard := func() catalog.ShardID { return catalog.ShardID(rapid.StringN(1, 9, -1).Draw(t, "shard")) }
		low, high := p.GlobalMin(), snaptest.DrawKey(t, p)
		m := policy.Migration{
			From: shard(), To: shard(), Namespace: "x." + rapid.String().Draw(t, "ns"), Min: low,
			ChunkVersion: catalog.ChunkVersion{Major: rapid.Uint32().Draw(t, "major"),
				Minor: rapid.Uint32().Draw(t, "minor")},
			Force:             policy.ForceJumbo(rapid.IntRange(0, 2).Draw(t, "force")),
			MaxChunkSizeBytes: rapid.Int64().Draw(t, "size"), Reason: policy.ReasonChunksImbalance,
		}
		if rapid.Bool().Draw(t, "uuid") {
			m.UUID = bson.Binary{Subtype: 4, Data: rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")}
		}
		if rapid.Bool().Draw(t, "bound") {
			m.Max = high
		}
		again := through(t, m)
		if !reflect.DeepEqual(again, m) {
			t.Fatalf("%+v gives %+v", m, again)
		}
		a := policy.StreamAction{
			Kind: policy.ActionKind(rapid.IntRange(0, 2).Draw(t, "kind")), Namespace: m.Namespace, UUID: m.UUID, Shard: m.From,
			Min: low, Max: high, MaxBytes: m.MaxChunkSizeBytes, Throttled: rapid.Bool().Draw(t, "throttled"),
		}
		if action := through(t, a); !reflect.DeepEqual(action, a) {
			t.Fatalf("%+v gives %+v", a, action)
		}
	})
}

// through is a value written and read.
func through[T any](t *rapid.T, v T) (again T) {
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return again
}
