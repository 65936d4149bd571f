package catalog

import (
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mongoerr"
)

func zoneRange(t testing.TB, from, to any, zone string) ZoneRange {
	return ZoneRange{Min: x(t, from), Max: x(t, to), Zone: zone}
}

// northAndSouth returns the ranges the cases of rules/01-examples-and-traps §11.6 begin with.
func northAndSouth(t testing.TB) *ZoneSet {
	z := NewZoneSet(keyOf(t, "x"))
	for _, r := range []ZoneRange{zoneRange(t, 300, 400, "south"), zoneRange(t, 100, 200, "north")} {
		if err := z.Add(r); err != nil {
			t.Fatal(err)
		}
	}
	return z
}

// rules/03-catalog-and-keys §4.5 and rules/01-rounds-and-settings §4.1.
func TestZoneBoundsGivenAsPrefix(t *testing.T) {
	p := keyOf(t, "a", "b", "c")
	low, high := bson.MinKey{}, bson.MaxKey{}
	for _, c := range []struct {
		given, want bson.D
		code        mongoerr.Code // of ExtendBound
		stored      mongoerr.Code // of ParseZone
	}{
		{bson.D{e("a", 5)}, bson.D{e("a", 5), e("b", low), e("c", low)}, 0, 0},
		{bson.D{e("a", 5), e("b", "x")}, bson.D{e("a", 5), e("b", "x"), e("c", low)}, 0, 0},
		{bson.D{e("a", high)}, bson.D{e("a", high), e("b", low), e("c", low)}, 0, 0},
		{bson.D{e("a", high), e("b", high), e("c", high)}, bson.D{e("a", high), e("b", high), e("c", high)}, 0, 0},
		{bson.D{e("b", 5)}, nil, mongoerr.ShardKeyNotFound, mongoerr.BoundFieldMismatch},
		{bson.D{e("a", 5), e("c", 5)}, nil, mongoerr.ShardKeyNotFound, mongoerr.BoundFieldMismatch},
		{bson.D{e("a", 5), e("b", 5), e("c", 5), e("d", 5)}, nil, mongoerr.ShardKeyNotFound,
			mongoerr.KeyPatternShorterThanBound},
	} {
		k, err := p.ExtendBound(doc(t, c.given))
		checkCode(t, "given", err, c.code)
		if err == nil && string(p.Bound(k)) != string(doc(t, c.want)) {
			t.Errorf("%v is extended to %s, want %v", c.given, p.Bound(k), c.want)
		}
		z, err := ParseZone(p, doc(t, bson.D{e("_id", bson.ObjectID{1}), e("ns", "d.c"), e("min", bson.D{e("a", low)}),
			e("max", c.given), e("tag", "z")}))
		checkCode(t, "stored", err, c.stored)
		if err == nil && (!z.Max.Equal(k) || z.Zone != "z" || z.ID != bson.ObjectID{1}) {
			t.Errorf("%v is read as %+v", c.given, z)
		}
	}
	if k, _ := p.ExtendBound(doc(t, bson.D{e("a", high)})); k.Equal(p.GlobalMax()) {
		t.Error("a MaxKey prefix became the global maximum")
	}
}

func TestParseZone(t *testing.T) {
	p := keyOf(t, "x")
	bound := bson.D{e("x", 1)}
	for _, c := range []struct {
		name string
		doc  bson.D
		code mongoerr.Code
	}{
		{"old _id", bson.D{e("_id", bson.D{e("ns", "d.c"), e("min", bound)}), e("min", bound), e("max", bound), e("tag", "z"),
			e("more", 1)}, 0},
		{"no min", bson.D{e("max", bound), e("tag", "z")}, mongoerr.NoSuchKey},
		{"no max", bson.D{e("min", bound), e("tag", "z")}, mongoerr.NoSuchKey},
		{"no tag", bson.D{e("min", bound), e("max", bound)}, mongoerr.NoSuchKey},
		{"tag number", bson.D{e("min", bound), e("max", bound), e("tag", 1)}, mongoerr.TypeMismatch},
		{"min number", bson.D{e("min", 1), e("max", bound), e("tag", "z")}, mongoerr.TypeMismatch},
	} {
		_, err := ParseZone(p, doc(t, c.doc))
		checkCode(t, c.name, err, c.code)
	}
	r := zoneRange(t, 1, 2, "z")
	r.ID = bson.ObjectID{3}
	want := doc(t, bson.D{e("_id", r.ID), e("ns", "d.c"), e("min", bson.D{e("x", int32(1))}),
		e("max", bson.D{e("x", int32(2))}), e("tag", "z")})
	if got := doc(t, r.Doc(p, "d.c")); string(got) != string(want) {
		t.Errorf("written as %s, want %s", got, want)
	}
}

func TestNoZones(t *testing.T) {
	var none *ZoneSet
	if none.ZoneOf(x(t, 1), x(t, 2)) != NoZone || none.Len() != 0 || none.Ranges() != nil || none.Names() != nil {
		t.Error("no set is not an empty one")
	}
}

// However ranges are added, those that got in are apart and in order, and each
// key is in the zone of the range it lies in.
func TestZoneSetInvariants(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		z := NewZoneSet(keyOf(t, "x"))
		var in [60]string
		for range rapid.IntRange(1, 12).Draw(r, "ranges") {
			from := rapid.IntRange(0, 58).Draw(r, "from")
			to := rapid.IntRange(from+1, 59).Draw(r, "to")
			zone := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(r, "zone")
			free := true
			for _, taken := range in[from:to] {
				free = free && taken == ""
			}
			before := z.Len()
			err := z.Add(zoneRange(t, from, to, zone))
			if free && err != nil {
				r.Fatalf("[%d, %d) refused: %v", from, to, err)
			}
			if !free && z.Len() != before {
				r.Fatalf("[%d, %d) got in beside another", from, to)
			}
			if free {
				for i := from; i < to; i++ {
					in[i] = zone
				}
			}
		}
		for i, zone := range in[:59] {
			if got := z.ZoneOf(x(t, i), x(t, i+1)); got != zone {
				r.Fatalf("[%d, %d) is in %q, want %q", i, i+1, got, zone)
			}
		}
	})
}
