package catalog_test

import (
	"math"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

func linePattern(t rapid.TB, spec bson.D) catalog.KeyPattern {
	t.Helper()
	raw, err := bson.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	p, err := catalog.ParseKeyPattern(raw)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func lineKey(t rapid.TB, p catalog.KeyPattern, values ...any) catalog.Key {
	t.Helper()
	doc := bson.D{}
	for i, name := range p.Fields() {
		doc = append(doc, bson.E{Key: name, Value: values[i]})
	}
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	key, err := p.ParseKey(raw)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestKeysBetweenTwoBounds(t *testing.T) {
	single, double, hashed := bson.D{{Key: "x", Value: 1}}, bson.D{{Key: "x", Value: 1}, {Key: "y", Value: 1}},
		bson.D{{Key: "x", Value: "hashed"}}
	id := func(first, second byte) bson.ObjectID { return bson.ObjectID{first, second} }
	for name, c := range map[string]struct {
		key          bson.D
		lower, upper []any
		fraction     float64
		want         []any // nil = there is none
	}{
		"integers": {single, []any{int32(0)}, []any{int32(100)}, 0.25, []any{int32(25)}},
		"doubles":  {single, []any{1.0}, []any{2.0}, 0.5, []any{1.5}},
		"dates": {single, []any{bson.DateTime(1000)}, []any{bson.DateTime(3000)}, 0.5,
			[]any{bson.DateTime(2000)}},
		"second field": {double, []any{"a", int64(0)}, []any{"a", int64(10)}, 0.5, []any{"a", int64(5)}},
		"first field": {double, []any{int32(0), int32(7)}, []any{int32(10), int32(7)}, 0.5,
			[]any{int32(5), bson.MinKey{}}},
		"hashes":               {hashed, []any{bson.MinKey{}}, []any{bson.MaxKey{}}, 0.5, []any{int64(0)}},
		"ids":                  {single, []any{id(2, 0)}, []any{id(4, 0)}, 0.5, []any{id(3, 0)}},
		"ids, common prefix":   {single, []any{id(2, 10)}, []any{id(2, 20)}, 0.5, []any{id(2, 15)}},
		"strings":              {single, []any{"ka"}, []any{"ke"}, 0.5, []any{"kc     "}},
		"up to MaxKey, half":   {single, []any{int32(0)}, []any{bson.MaxKey{}}, 0.5, []any{int32(1e6)}},
		"nothing between":      {single, []any{int32(1)}, []any{int32(2)}, 0.5, nil},
		"booleans":             {single, []any{false}, []any{true}, 0.5, nil},
		"a number to a string": {single, []any{int32(1)}, []any{"a"}, 0.5, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := linePattern(t, c.key)
			lower, upper := lineKey(t, p, c.lower...), lineKey(t, p, c.upper...)
			got, ok := p.KeyAtFraction(lower, upper, c.fraction)
			if ok != (c.want != nil) {
				t.Fatalf("Between reports %v and %s", ok, got)
			}
			if ok && !got.Equal(lineKey(t, p, c.want...)) {
				t.Errorf("Between is %s, not %v", got, c.want)
			}
		})
	}
}

// Whatever the types of the bounds: a key between them lies strictly inside,
// and as far along as was asked for.
func TestBetweenIsTheInverseOfFraction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := linePattern(t, bson.D{{Key: "x", Value: 1}})
		value := rapid.OneOf(
			rapid.Custom(func(t *rapid.T) any { return rapid.Int64Range(-1<<50, 1<<50).Draw(t, "long") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.Float64Range(-1e9, 1e9).Draw(t, "double") }),
			rapid.Custom(func(t *rapid.T) any { return rapid.StringMatching(`[ -~]{0,12}`).Draw(t, "string") }),
			rapid.Custom(func(t *rapid.T) any {
				return bson.ObjectID(rapid.SliceOfN(rapid.Byte(), 12, 12).Draw(t, "id"))
			}),
			rapid.Custom(func(t *rapid.T) any {
				return bson.Binary{Subtype: 4, Data: rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "uuid")}
			}),
			rapid.Just[any](bson.MinKey{}), rapid.Just[any](bson.MaxKey{}),
		)
		lower, upper := lineKey(t, p, value.Draw(t, "lower")), lineKey(t, p, value.Draw(t, "upper"))
		if !lower.Less(upper) {
			t.Skip()
		}
		f := rapid.Float64Range(0.01, 0.99).Draw(t, "fraction")
		key, ok := p.KeyAtFraction(lower, upper, f)
		if !ok {
			return
		}
		if !lower.Less(key) || !key.Less(upper) {
			t.Fatalf("%s is not between %s and %s", key, lower, upper)
		}
		// Far from each other, rounding to whole numbers or few bytes plays no part.
		a, okA := lower.Values()[0].AsInt64OK()
		b, okB := upper.Values()[0].AsInt64OK()
		if got := p.Fraction(lower, upper, key); okA && okB && b-a > 1000 && math.Abs(got-f) > 0.002 {
			t.Fatalf("%s lies %f of the way between %s and %s, not %f", key, got, lower, upper, f)
		}
		near, more := p.KeyAtFraction(lower, upper, math.Min(0.999, f+0.05))
		if more && near.Less(key) {
			t.Fatalf("%s for a larger fraction than %s", near, key)
		}
	})
}
