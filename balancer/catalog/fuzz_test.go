package catalog

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Whatever lies in the config database, reading it gives a value or an error.
func FuzzDamagedDocuments(f *testing.F) {
	p := keyOf(f, "x")
	whole := Chunk{Min: p.GlobalMin(), Max: p.GlobalMax(), Shard: "a", Version: ChunkVersion{1, 0},
		OnCurrentShardSince: bson.Timestamp{T: 5}}
	f.Add([]byte(doc(f, whole.Doc(p, uuid))))
	f.Add([]byte(doc(f, Shard{ID: "a", Host: "h", Zones: []string{"z"}}.Doc())))
	f.Add([]byte(doc(f, Collection{Namespace: "a.b", UUID: uuid, Pattern: p}.Doc())))
	f.Add([]byte(doc(f, ZoneRange{Min: p.GlobalMin(), Max: p.GlobalMax(), Zone: "z"}.Doc(p, "a.b"))))
	f.Add([]byte(doc(f, bson.D{e("mode", "full"), e("activeWindow", bson.D{e("start", "1:00"), e("stop", "2:00")}),
		e("_secondaryThrottle", bson.D{e("w", 2)}),
		e("value", 5), e("enabled", true)})))
	f.Add([]byte(doc(f, bson.D{e("x", bson.D{e("$eq", 1)}), e("$and", bson.A{bson.D{e("x", 1)}})})))
	f.Fuzz(func(t *testing.T, b []byte) {
		raw := bson.Raw(b)
		if c, err := ParseChunk(p, raw); err == nil {
			if again, err := ParseChunk(p, doc(t, c.Doc(p, uuid))); err != nil || !sameChunk(again, c) {
				t.Errorf("%+v comes back as %+v: %v", c, again, err)
			}
		}
		builder := NewTableBuilder(p, bson.ObjectID{}, bson.Timestamp{})
		if builder.Add(raw) == nil {
			if rt, err := builder.Table(); err == nil && rt.Len() != 1 {
				t.Errorf("%d chunks out of one", rt.Len())
			}
		}
		if s, err := ParseShard(raw); err == nil && s.ID == "" {
			t.Error("a shard without a name")
		}
		if c, err := ParseCollection(raw); err == nil && c.Pattern.IsZero() {
			t.Error("a collection without a key")
		}
		if z, err := ParseZone(p, raw); err == nil {
			if err := NewZoneSet(p).Add(z); err == nil && !z.Min.Less(z.Max) {
				t.Error("an empty zone range was added")
			}
		}
		s := DefaultSettings()
		_ = s.LoadBalancer(raw)
		_ = s.LoadChunkSize(raw)
		_ = s.LoadAutoMerge(raw)
		_ = CheckStorable(raw)
		if k, err := p.ParseKey(raw); err == nil && !k.Equal(mustKey(t, p, p.Bound(k))) {
			t.Errorf("key %v is another one when written", k)
		}
		_, _ = p.ExtendBound(raw)
		_, _ = p.DocumentKey(raw)
		_, _ = p.QueryKey(raw)
		if q, err := ParseKeyPattern(raw); err == nil && (q.Len() == 0 || !q.GlobalMin().Less(q.GlobalMax())) {
			t.Errorf("pattern %s", q)
		}
	})
}

func mustKey(t *testing.T, p KeyPattern, bound bson.Raw) Key {
	k, err := p.ParseKey(bound)
	if err != nil {
		t.Errorf("%s is not a key: %v", bound, err)
	}
	return k
}

func FuzzNamespace(f *testing.F) {
	f.Add("a.b")
	f.Fuzz(func(t *testing.T, ns string) {
		if db, coll, err := SplitNamespace(ns); err == nil && db+"."+coll != ns {
			t.Errorf("%q is split into %q and %q", ns, db, coll)
		}
	})
}

func FuzzTimeOfDay(f *testing.F) {
	f.Add("9:00")
	f.Fuzz(func(t *testing.T, s string) {
		if at, ok := parseTimeOfDay(s); ok && (at < 0 || at >= 24*60) {
			t.Errorf("%q is %d", s, at)
		}
	})
}
