package live_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/mock/wire"
	"shardsh/balancer/plan"
)

const oneLargeChunk = `{"shards": [{"id": "a"}, {"id": "b"}], "settings": {"chunkSizeMB": 1, "balancer": {"stopped": true}},
	"databases": [{"name": "shop", "primary": "a"}],
	"collections": [{"ns": "shop.large", "key": {"k": 1}, "chunks": [{"shard": "a"}]},
		{"ns": "shop.small", "key": {"k": 1}, "chunks": [{"shard": "a"}]},
		{"ns": "shop.hashed", "key": {"k": "hashed"}, "chunks": [{"shard": "a", "bytes": "1GB", "docs": 100000}]}]}`

// filled has 10 MB of documents with keys from 0 to 9999.
func filled(t *testing.T, wrap func(wire.Handler) wire.Handler) conformance {
	t.Helper()
	c := served(t, catalog.Release80, oneLargeChunk, wrap)
	padding := strings.Repeat("x", 1000)
	for i := 0; i < 10_000; i += 1000 {
		var docs bson.A
		for k := i; k < i+1000; k++ {
			docs = append(docs, bson.D{e("k", k), e("padding", padding)})
		}
		c.ok(t, "shop", e("insert", "large"), e("documents", docs))
	}
	c.ok(t, "shop", e("insert", "small"), e("documents", bson.A{bson.D{e("k", 1)}}))
	return c
}

func maxSampledKeys(t *testing.T, c conformance) *catalog.Snapshot {
	t.Helper()
	s, err := live.NewReader(c.client, live.ReaderOptions{Parts: live.DefaultParts | live.KeySamples}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// hasKeys wants keys of documents, spread over all of them, and plans that cut among them.
func hasKeys(t *testing.T, s *catalog.Snapshot, least, most int) {
	t.Helper()
	keys := s.Collection("shop.large").Sampled
	if len(keys) < least || len(keys) > most || !slices.IsSortedFunc(keys, catalog.Key.Compare) {
		t.Fatalf("%d sampled keys: %v", len(keys), keys)
	}
	at := func(k catalog.Key) int64 { n, _ := k.Values()[0].AsInt64OK(); return n }
	for part := range 10 { // a tenth of them is in each tenth, give or take a half
		n := 0
		for _, k := range keys {
			if at(k) >= int64(part)*1000 && at(k) < int64(part+1)*1000 {
				n++
			}
		}
		if n < len(keys)/20 || n > len(keys)*3/20 {
			t.Errorf("%d of %d keys are from %d on", n, len(keys), part*1000)
		}
	}
	p, err := plan.Make(s, plan.Options{Goal: plan.Goal{Namespaces: []string{"shop.large"}}})
	if err != nil || p.Totals.Moves == 0 {
		t.Fatal(p, err)
	}
	for _, step := range p.Steps {
		for _, k := range append(step.Points, step.Max) {
			if v := k.Values()[0]; v.Type != bson.TypeMaxKey && (at(k) <= 0 || at(k) > 9999) {
				t.Errorf("cut at %s", k)
			}
		}
	}
	if strings.Contains(p.Note, "guessed") {
		t.Error(p.Note)
	}
}

// A sample is read of what is larger than a chunk and not hashed.
func TestSamplesKeys(t *testing.T) {
	s := maxSampledKeys(t, filled(t, asItIs))
	hasKeys(t, s, 1000, 1000)
	for _, ns := range []string{"shop.small", "shop.hashed"} {
		if keys := s.Collection(ns).Sampled; len(keys) > 0 {
			t.Errorf("%s has %d sampled keys", ns, len(keys))
		}
	}
	if gaps := s.Parts().Source.Gaps; len(gaps) > 0 {
		t.Error(gaps)
	}
}

// Who may not read documents may have the shards say where they would cut; who may neither
// is told nothing of the reader, which could do all that a role for looking allows, and the plan
// says that it guesses.
func TestSplitPointsInPlaceOfASample(t *testing.T) {
	forbidden := []string{"aggregate large $sample"}
	c := filled(t, func(h wire.Handler) wire.Handler {
		return &meddler{Handler: h, instead: func(_ context.Context, r wire.Request) bson.Raw {
			if slices.Contains(forbidden, what(r)) {
				return refusal(13)
			}
			return nil
		}}
	})
	hasKeys(t, maxSampledKeys(t, c), 15, 25) // pieces of half a megabyte, the least that servers take
	forbidden = append(forbidden, "splitVector shop.large")
	s := maxSampledKeys(t, c)
	if gaps := s.Parts().Source.Gaps; len(gaps) > 0 {
		t.Errorf("%+v", gaps)
	}
	p, err := plan.Make(s, plan.Options{})
	if err != nil || !strings.Contains(p.Note, "where chunks of shop.large are cut is guessed") {
		t.Error(p.Note, err)
	}
}
