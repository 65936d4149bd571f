package catalog

import (
	"errors"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

func parsePattern(t testing.TB, fields bson.D) KeyPattern {
	t.Helper()
	p, err := ParseKeyPattern(doc(t, fields))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParseKeyPattern(t *testing.T) { // rules/03-catalog-and-keys §4.1
	decimal, _ := bson.ParseDecimal128("1")
	good := []bson.D{
		{e("x", 1)}, {e("x", 1.0)}, {e("x", 1.9)}, {e("x", int64(1))}, {e("x", decimal)}, {e("x", "hashed")},
		{e("a", 1), e("b", "hashed"), e("c", 1)}, {e("a.b.c", 1)}, {e("_id", "hashed")}, {e("a.$id", 1)},
		{e("a.$ref", 1), e("a.$db", 1)},
	}
	for _, d := range good {
		p := parsePattern(t, d)
		if string(p.Doc()) != string(doc(t, d)) || p.Len() != len(d) {
			t.Errorf("%v is kept as %s", d, p)
		}
	}
	bad := []bson.D{
		{}, {e("x", -1)}, {e("x", 0)}, {e("x", 2)}, {e("x", 0.9)}, {e("x", true)}, {e("x", "1")}, {e("x", "text")},
		{e("x", "2d")}, {e("x", nil)},
		{e("x", "hashed"), e("y", "hashed")}, {e("", 1)}, {e("a.", 1)}, {e(".a", 1)}, {e("a..b", 1)}, {e("$a", 1)},
		{e("$id", 1)}, {e("a.$b", 1)},
	}
	for _, d := range bad {
		_, err := ParseKeyPattern(doc(t, d))
		checkCode(t, doc(t, d).String(), err, mongoerr.BadValue)
	}
}

// A field that was hashed and is not any more, or the other way round, is another
// field: its values are.
func TestKeyPatternExtends(t *testing.T) {
	a, hashed := e("a", 1), e("a", "hashed")
	for _, c := range []struct {
		is, was bson.D
		want    bool
	}{
		{bson.D{a, e("b", 1)}, bson.D{a}, true},
		{bson.D{a, e("b", "hashed")}, bson.D{a}, true},
		{bson.D{hashed, e("b", 1)}, bson.D{hashed}, true},
		{bson.D{e("a", 1.0)}, bson.D{a}, true},
		{bson.D{a, e("b", 1)}, bson.D{hashed}, false},
		{bson.D{hashed, e("b", 1)}, bson.D{a}, false},
		{bson.D{a, e("b", 1)}, bson.D{e("b", 1)}, false},
		{bson.D{a}, bson.D{a, e("b", 1)}, false},
		{bson.D{e("a.b", 1), e("c", 1)}, bson.D{a}, false},
	} {
		if got := parsePattern(t, c.is).Extends(parsePattern(t, c.was)); got != c.want {
			t.Errorf("%v extends %v: %t", c.is, c.was, got)
		}
	}
}

func TestKeyPatternProperties(t *testing.T) {
	p := parsePattern(t, bson.D{e("a.b", 1), e("c", "hashed")})
	if !slices.Equal(p.Fields(), []string{"a.b", "c"}) || p.HashedField() != 1 || keyOf(t, "x").HashedField() != -1 {
		t.Errorf("fields %v, hashed %d", p.Fields(), p.HashedField())
	}
	if !p.Equal(parsePattern(t, bson.D{e("a.b", 1.0), e("c", "hashed")})) || p.Equal(keyOf(t, "a.b", "c")) ||
		p.Equal(KeyPattern{}) {
		t.Error("patterns compare wrongly")
	}
	want := doc(t, bson.D{e("a.b", bson.MinKey{}), e("c", bson.MinKey{})})
	if string(p.Bound(p.GlobalMin())) != string(want) || !p.GlobalMin().Less(p.GlobalMax()) {
		t.Errorf("global minimum %s", p.Bound(p.GlobalMin()))
	}
	var none KeyPattern
	if !none.IsZero() || !none.Equal(none) || none.Len() != 0 || none.Doc() != nil || none.HashedField() != -1 ||
		!none.GlobalMin().IsZero() {
		t.Error("the zero pattern is not empty")
	}
	if _, err := none.ParseKey(doc(t, bson.D{e("x", 1)})); !errors.Is(err, ErrNotShardKey) {
		t.Errorf("a key of no pattern: %v", err)
	}
	if _, ok := none.QueryKey(doc(t, bson.D{})); ok {
		t.Error("a query key of no pattern")
	}
}

func TestFullShardKey(t *testing.T) { // rules/03-catalog-and-keys §4.3
	p := keyOf(t, "a.b", "c")
	for _, c := range []struct {
		doc bson.D
		ok  bool
	}{
		{bson.D{e("a.b", 1), e("c", "x")}, true},
		{bson.D{e("c", "x"), e("a.b", 1)}, true}, // reordered
		{bson.D{e("a.b", nil), e("c", bson.MinKey{})}, true},
		{bson.D{e("a.b", bson.D{e("z", bson.A{1})}), e("c", 1)}, true},
		{bson.D{e("a", bson.D{e("b", 1)}), e("c", 1)}, false}, // names are literal
		{bson.D{e("a.b", 1)}, false},
		{bson.D{}, false},
		{bson.D{e("a.b", 1), e("c", 1), e("d", 1)}, false},
		{bson.D{e("a.b", 1), e("a.b", 1)}, false},
		{bson.D{e("a.b", 1), e("c", bson.A{1})}, false},
	} {
		k, err := p.ParseKey(doc(t, c.doc))
		if (err == nil) != c.ok || err != nil && !errors.Is(err, ErrNotShardKey) {
			t.Errorf("%v: %v", c.doc, err)
		}
		if err == nil && p.Bound(k).Index(0).Key() != "a.b" {
			t.Errorf("%v is kept as %s", c.doc, p.Bound(k))
		}
	}
}

// Keys give back the values they were made from, types and all.
func TestBoundKeepsTypes(t *testing.T) {
	p := keyOf(t, "x", "y")
	decimal, _ := bson.ParseDecimal128("1.50")
	values := []any{
		int32(5), int64(5), 5.0, 5.5, -0.25, decimal, "text", bson.Symbol("text"), nil, true, bson.DateTime(-5),
		bson.Timestamp{T: 1, I: 2},
		bson.ObjectID{1}, bson.Binary{Subtype: 4, Data: make([]byte, 16)}, bson.MinKey{}, bson.MaxKey{},
		bson.D{e("a", bson.A{1, "x"})},
		bson.Regex{Pattern: "a", Options: "i"}, bson.JavaScript("f"), bson.CodeWithScope{Code: "f", Scope: bson.D{}},
		bson.Undefined{}, bson.DBPointer{DB: "d"},
	}
	for _, v := range values {
		for _, w := range values {
			d := doc(t, bson.D{e("x", v), e("y", w)})
			k, err := p.ParseKey(d)
			if err != nil {
				t.Fatal(err)
			}
			if string(p.Bound(k)) != string(d) {
				t.Errorf("%s is given back as %s", d, p.Bound(k))
			}
			got := k.Values()
			if len(got) != 2 || k.Len() != 2 || !got[0].Equal(value(t, v)) || !got[1].Equal(value(t, w)) {
				t.Errorf("%s has the values %v", d, got)
			}
			if string(k.Bytes()) != string(keyorder.Append(keyorder.Append(nil, got[0]), got[1])) ||
				string(k.Append(nil)) != string(k.Bytes()) {
				t.Errorf("%s has other bytes than its fields", d)
			}
		}
	}
	one, _ := p.ParseKey(doc(t, bson.D{e("x", 1), e("y", 2.0)}))
	same, _ := p.ParseKey(doc(t, bson.D{e("x", 1.0), e("y", int64(2))}))
	if !one.Equal(same) || one.Compare(same) != 0 || one.Less(same) {
		t.Error("equal numbers of different types are different keys")
	}
	if one.String() != "[1, 2.0]" || p.GlobalMin().String() != "[MinKey, MinKey]" {
		t.Errorf("shown as %s and %s", one, p.GlobalMin())
	}
}

func TestDocumentKey(t *testing.T) { // rules/03-catalog-and-keys §4.3
	p := parsePattern(t, bson.D{e("a.b", 1), e("h", "hashed")})
	hash := func(v any) int64 { return keyorder.Hash(value(t, v)) }
	for _, c := range []struct {
		doc  bson.D
		want bson.D
	}{
		{bson.D{e("a", bson.D{e("b", 7)}), e("h", "x")}, bson.D{e("a.b", 7), e("h", hash("x"))}},
		{bson.D{}, bson.D{e("a.b", nil), e("h", hash(nil))}},
		{bson.D{e("a", nil), e("h", nil)}, bson.D{e("a.b", nil), e("h", hash(nil))}},
		{bson.D{e("a", 5), e("h", 1.7)}, bson.D{e("a.b", nil), e("h", hash(int32(1)))}},
		{bson.D{e("a.b", 5)}, bson.D{e("a.b", nil), e("h", hash(nil))}}, // a literal dot is not a path
		{bson.D{e("a", bson.D{e("b", bson.D{e("c", bson.A{})})})},
			bson.D{e("a.b", bson.D{e("c", bson.A{})}), e("h", hash(nil))}},
		{bson.D{e("a", bson.A{bson.D{e("b", 1)}})}, nil},
		{bson.D{e("a", bson.D{e("b", bson.A{1})})}, nil},
		{bson.D{e("h", bson.A{})}, nil},
	} {
		k, err := p.DocumentKey(doc(t, c.doc))
		if c.want == nil {
			checkCode(t, "array", err, mongoerr.ShardKeyNotFound)
			continue
		}
		if err != nil || string(p.Bound(k)) != string(doc(t, c.want)) {
			t.Errorf("%v has the key %s, want %v (%v)", c.doc, p.Bound(k), c.want, err)
		}
	}
}

func TestQueryKey(t *testing.T) { // rules/03-catalog-and-keys §4.3
	p := parsePattern(t, bson.D{e("a.b", 1), e("h", "hashed")})
	want := bson.D{e("a.b", 7), e("h", keyorder.Hash(value(t, "x")))}
	h := e("h", "x")
	for _, c := range []struct {
		name   string
		filter bson.D
		ok     bool
	}{
		{"literals", bson.D{e("a.b", 7), h}, true},
		{"other predicates too", bson.D{h, e("z", bson.D{e("$gt", 1)}), e("a.b", 7), e("$comment", "x")}, true},
		{"$eq", bson.D{e("a.b", bson.D{e("$eq", 7)}), e("h", bson.D{e("$eq", "x")})}, true},
		{"$eq among others", bson.D{e("a.b", bson.D{e("$gt", 1), e("$eq", 7)}), h}, true},
		{"$and", bson.D{e("$and", bson.A{bson.D{e("a.b", 7)}, bson.D{e("$and", bson.A{bson.D{h}})}})}, true},
		{"nested form", bson.D{e("a", bson.D{e("b", 7)}), h}, true},
		{"nested form with more", bson.D{e("a", bson.D{e("b", 7), e("c", 1)}), h}, true},
		{"twice the same", bson.D{e("a.b", 7), e("$and", bson.A{bson.D{e("a.b", 7)}}), h}, true},
		{"twice, not the same", bson.D{e("a.b", 7), e("$and", bson.A{bson.D{e("a.b", 8)}}), h}, false},
		{"field missing", bson.D{e("a.b", 7)}, false},
		{"$in", bson.D{e("a.b", bson.D{e("$in", bson.A{7})}), h}, false},
		{"range", bson.D{e("a.b", bson.D{e("$gte", 7), e("$lte", 7)}), h}, false},
		{"$or", bson.D{e("$or", bson.A{bson.D{e("a.b", 7)}}), h}, false},
		{"regular expression", bson.D{e("a.b", bson.Regex{Pattern: "x"}), h}, false},
		{"array", bson.D{e("a.b", bson.A{7}), h}, false},
		{"empty", bson.D{}, false},
	} {
		k, ok := p.QueryKey(doc(t, c.filter))
		if ok != c.ok || ok && string(p.Bound(k)) != string(doc(t, want)) {
			t.Errorf("%s: %v, %s", c.name, ok, p.Bound(k))
		}
	}
	if k, ok := keyOf(t, "x").QueryKey(doc(t, bson.D{e("x", nil)})); !ok || !k.Equal(x(t, nil)) {
		t.Error("null is an equality like any other")
	}
}

func TestCheckHashed(t *testing.T) { // rules/03-catalog-and-keys §4.7
	p := parsePattern(t, bson.D{e("a", 1), e("h", "hashed")})
	for _, c := range []struct {
		value any
		code  mongoerr.Code
	}{
		{int64(5), 0}, {bson.MinKey{}, 0}, {bson.MaxKey{}, 0},
		{int32(5), mongoerr.InvalidOptions}, {5.0, mongoerr.InvalidOptions}, {"x", mongoerr.InvalidOptions},
		{nil, mongoerr.InvalidOptions},
	} {
		k, err := p.ParseKey(doc(t, bson.D{e("a", "x"), e("h", c.value)}))
		if err != nil {
			t.Fatal(err)
		}
		checkCode(t, k.String(), p.CheckHashed(k), c.code)
	}
	checkCode(t, "not hashed", keyOf(t, "x").CheckHashed(x(t, "text")), 0)
	checkCode(t, "no key", p.CheckHashed(Key{}), mongoerr.InvalidOptions)
}

func TestCheckStorable(t *testing.T) { // rules/03-catalog-and-keys §4.3
	for _, c := range []struct {
		value any
		code  mongoerr.Code
	}{
		{1, 0}, {bson.D{e("a", 1)}, 0}, {"$a", 0},
		{bson.Regex{Pattern: "x"}, mongoerr.BadValue}, {bson.D{e("$a", 1)}, mongoerr.BadValue},
		{bson.D{e("a", bson.A{bson.D{e("$b", 1)}})}, mongoerr.BadValue},
	} {
		checkCode(t, "bound", CheckStorable(doc(t, bson.D{e("x", c.value)})), c.code)
	}
}
