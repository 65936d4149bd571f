package expr

import (
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/value"
)

var newest = Language{ArrayAccumulators: true, CurrentDate: true, Operators83: true, NullInArrays: true}

// evalIn evaluates an expression, as {"v": expression}, on a document.
func evalIn(t *testing.T, l Language, expression, doc string) (value.Value, error) {
	t.Helper()
	sc, err := NewScope(l, nil)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Compile(storetest.Raw(t, `{"v": `+expression+`}`).Lookup("v"), sc)
	if err != nil {
		return value.Value{}, err
	}
	c := NewEvaluation(sc, time.UnixMilli(1_700_000_000_123), nil)
	c.Root = value.Object(storetest.Raw(t, doc))
	return e.Eval(c)
}

// The server's own cases, by the name of the file in jstests/aggregation/expressions.
func TestNewExpressions(t *testing.T) {
	for _, c := range []struct{ why, expression, doc, want string }{
		{"hash.js", `{"$hash": {"input": {"$concat": ["Hello", " ", "World"]}, "algorithm": "xxh64"}}`, `{}`, binary0("YzTSBxkkW8I=")},
		{"hash.js", `{"$hash": {"input": "[1, 2, 3]", "algorithm": {"$concat": ["sha", "256"]}}}`, `{}`, binary0("o2sfLD+EUi3RAFFFZGYX1wVMCFHpfHKgOcC9+sn6B/M=")},
		{"hash.js", `{"$hash": {"input": "🧐🤓😎", "algorithm": "md5"}}`, `{}`, binary0("sAZFMN8tC1iTuOxlnoqCJg==")},
		{"hash.js", `{"$hash": {"input": "", "algorithm": "xxh64"}}`, `{}`, binary0("70bbN1HY6Zk=")},
		{"hash.js: binary data of any subtype", `{"$hash": {"input": "$b", "algorithm": "sha256"}}`, `{"b": {"$binary": {"base64": "aGV5", "subType": "80"}}}`, binary0("+mkLggYe39KFJimuuoqJd7V+QPy3fRp6KLJsumJZEgQ=")},
		{"hash.js: nested", `{"$hash": {"input": {"$hash": {"input": "hey", "algorithm": "xxh64"}}, "algorithm": "xxh64"}}`, `{}`, binary0("B+qrIpasjj4=")},
		{"hash.js: null", `{"$hash": {"input": "$nope", "algorithm": "md5"}}`, `{}`, `null`},
		{"hash.js: the same in capitals", `{"$hexHash": {"input": "", "algorithm": "md5"}}`, `{}`, `"D41D8CD98F00B204E9800998ECF8427E"`},
		{"hash.js: null", `{"$hexHash": {"input": null, "algorithm": "md5"}}`, `{}`, `null`},
		{"subtype.js", `{"$subtype": "$b"}`, `{"b": {"$binary": {"base64": "gf1UcxdHTJ2HQ/EGQrO7mQ==", "subType": "04"}}}`, `4`},
		{"subtype.js", `{"$subtype": "$b"}`, `{"b": {"$binary": {"base64": "gf1UcxdHTJ2HQ/EGQrO7mQ==", "subType": "c8"}}}`, `200`},
		{"subtype.js", `{"$subtype": null}`, `{}`, `null`},
		{"subtype.js", `{"$subtype": "$nope"}`, `{}`, `null`},
		{"create_oid.js", `{"$type": {"$createObjectId": {}}}`, `{}`, `"objectId"`},
		{"current_date.js; the mock's clock stands still during a command", `{"$currentDate": {}}`, `{}`, `{"$date": {"$numberLong": "1700000000123"}}`},
		{"filter_arrayindexas.js", `{"$filter": {"input": "$b", "cond": {"$eq": ["$$this", "$$IDX"]}}}`, `{"b": [0, 7, 2, 5, 4, 0]}`, `[0, 2, 4]`},
		{"filter_arrayindexas.js", `{"$filter": {"input": "$b", "arrayIndexAs": "i", "cond": {"$eq": ["$$this", "$$i"]}, "limit": 1}}`, `{"b": [0, 7, 2, 5, 4, 0]}`, `[0]`},
		{"map_arrayindexas.js", `{"$map": {"input": "$a", "arrayIndexAs": "outer", "in": {"$map": {"input": "$a", "arrayIndexAs": "inner", "in": {"$add": [{"$multiply": [4, "$$outer"]}, "$$inner", 1]}}}}}`, `{"a": [0, 0]}`, `[[1, 2], [5, 6]]`},
		{"map_arrayindexas.js: a name inside, the default outside", `{"$map": {"input": "$a", "in": {"$map": {"input": "$a", "arrayIndexAs": "inner", "in": {"$add": ["$$IDX", "$$inner"]}}}}}`, `{"a": [0, 0]}`, `[[0, 1], [1, 2]]`},
		{"map_arrayindexas.js: the inner one hides the outer one", `{"$map": {"input": "$a", "in": {"$map": {"input": "$a", "in": "$$IDX"}}}}`, `{"a": [0, 0]}`, `[[0, 1], [0, 1]]`},
		{"reduce_arrayindexas.js", `{"$reduce": {"input": "$a", "initialValue": 0, "arrayIndexAs": "i", "in": {"$add": [{"$multiply": ["$$this", "$$i"]}, "$$value"]}}}`, `{"a": [1, 2, 3]}`, `8`},
	} {
		got, err := evalIn(t, newest, c.expression, c.doc)
		if want := storetest.Raw(t, `{"v": `+c.want+`}`).Lookup("v"); err != nil || !got.Equal(want) {
			t.Errorf("%s: %s is %s (%v), not %s", c.why, c.expression, got, err, want)
		}
	}
}

func binary0(data string) string { return `{"$binary": {"base64": "` + data + `", "subType": "00"}}` }

func TestNewExpressionsFail(t *testing.T) {
	for _, c := range []struct {
		why, expression string
		code            int32
	}{
		{"hash.js", `{"$hash": {}}`, 9},
		{"hash.js", `{"$hash": {"input": "x"}}`, 9},
		{"hash.js", `{"$hexHash": {"algorithm": "xxh64"}}`, 9},
		{"hash.js", `{"$hash": {"input": "x", "algorithm": "xxh64", "extra": 1}}`, 9},
		{"hash.js", `{"$hash": {"input": [1, 2, 3], "algorithm": "xxh64"}}`, 10754000},
		{"hash.js", `{"$hash": {"input": "x", "algorithm": [5]}}`, 10754001},
		{"hash.js", `{"$hash": {"input": "x", "algorithm": null}}`, 10754001},
		{"hash.js", `{"$hash": {"input": "x", "algorithm": "sha1"}}`, 10754002},
		{"hash.js", `{"$hexHash": {"input": "x", "algorithm": "XXH64"}}`, 10754002},
		{"subtype.js", `{"$subtype": "text"}`, 10389300},
		{"subtype.js", `{"$subtype": {"$literal": {"a": 1}}}`, 10389300},
		{"create_oid.js", `{"$createObjectId": {"key": "value"}}`, 9},
		{"create_oid.js", `{"$createObjectId": null}`, 9},
		{"create_oid.js", `{"$createObjectId": ["x"]}`, 9},
		{"filter_arrayindexas.js: the default is gone beside a name", `{"$filter": {"input": "$b", "arrayIndexAs": "i", "cond": {"$eq": ["$$this", "$$IDX"]}}}`, 17276},
		{"filter_arrayindexas.js", `{"$filter": {"input": "$b", "arrayIndexAs": "IDX", "cond": true}}`, 9},
		{"filter_arrayindexas.js", `{"$filter": {"input": "$b", "arrayIndexAs": "", "cond": true}}`, 9},
		{"filter_arrayindexas.js: only in cond", `{"$filter": {"input": "$b", "cond": true, "limit": "$$IDX"}}`, 17276},
		{"filter_arrayindexas.js", `{"$filter": {"input": "$b", "as": "i", "cond": true, "arrayIndexAs": "i"}}`, 9375802},
		{"map_arrayindexas.js", `{"$map": {"input": "$b", "as": "i", "arrayIndexAs": "i", "in": "$$i"}}`, 9375801},
		{"reduce_arrayindexas.js: two of one name", `{"$reduce": {"input": "$b", "initialValue": 0, "arrayIndexAs": "this", "in": 1}}`, 9298401},
		{"reduce_arrayindexas.js: only in in", `{"$reduce": {"input": "$b", "initialValue": "$$IDX", "in": 1}}`, 17276},
		{"serialize_ejson.js", `{"$serializeEJSON": {"input": {}, "foo": "bar"}}`, 9},
		{"serialize_ejson.js", `{"$serializeEJSON": {"input": {}, "relaxed": 1}}`, 2},
		{"serialize_ejson.js", `{"$deserializeEJSON": {"input": {}, "foo": "bar"}}`, 9},
	} {
		_, err := evalIn(t, newest, c.expression, `{"b": [1]}`)
		if got := storetest.CodeOf(err); got != c.code {
			t.Errorf("%s: %s fails with %d (%v), not %d", c.why, c.expression, got, err, c.code)
		}
	}
}

// ejsonCases are those of serialize_ejson.js; a value that is its own relaxed form has none.
var ejsonCases = []struct {
	bson, canonical, relaxed bson.D
}{
	{bson.D{{Key: "v", Value: "string"}}, bson.D{{Key: "v", Value: "string"}}, nil},
	{bson.D{{Key: "v", Value: int64(1)}}, bson.D{{Key: "v", Value: bson.D{{Key: "$numberLong", Value: "1"}}}}, nil},
	{bson.D{{Key: "v", Value: int32(1)}}, bson.D{{Key: "v", Value: bson.D{{Key: "$numberInt", Value: "1"}}}}, nil},
	{bson.D{{Key: "v", Value: bson.D{{Key: "b", Value: int32(1)}}}}, bson.D{{Key: "v", Value: bson.D{{Key: "b", Value: bson.D{{Key: "$numberInt", Value: "1"}}}}}}, nil},
	{bson.D{{Key: "v", Value: bson.A{int32(1)}}}, bson.D{{Key: "v", Value: bson.A{bson.D{{Key: "$numberInt", Value: "1"}}}}}, nil},
	{bson.D{{Key: "v", Value: 1.0}}, bson.D{{Key: "v", Value: bson.D{{Key: "$numberDouble", Value: "1"}}}}, nil},
	{bson.D{{Key: "v", Value: bson.D{{Key: "x", Value: nil}}}}, bson.D{{Key: "v", Value: bson.D{{Key: "x", Value: nil}}}}, nil},
	{bson.D{{Key: "v", Value: bson.JavaScript("function(){}")}}, bson.D{{Key: "v", Value: bson.D{{Key: "$code", Value: "function(){}"}}}}, bson.D{{Key: "v", Value: bson.D{{Key: "$code", Value: "function(){}"}}}}},
	{bson.D{{Key: "v", Value: bson.CodeWithScope{Code: "f", Scope: bson.D{{Key: "a", Value: int32(1)}}}}},
		bson.D{{Key: "v", Value: bson.D{{Key: "$code", Value: "f"}, {Key: "$scope", Value: bson.D{{Key: "a", Value: bson.D{{Key: "$numberInt", Value: "1"}}}}}}}},
		bson.D{{Key: "v", Value: bson.D{{Key: "$code", Value: "f"}, {Key: "$scope", Value: bson.D{{Key: "a", Value: int32(1)}}}}}}},
	{bson.D{{Key: "v", Value: bson.DateTime(1079895594000)}},
		bson.D{{Key: "v", Value: bson.D{{Key: "$date", Value: bson.D{{Key: "$numberLong", Value: "1079895594000"}}}}}},
		bson.D{{Key: "v", Value: bson.D{{Key: "$date", Value: "2004-03-21T18:59:54.000Z"}}}}},
	{bson.D{{Key: "v", Value: bson.Undefined{}}}, bson.D{{Key: "v", Value: bson.D{{Key: "$undefined", Value: true}}}}, bson.D{{Key: "v", Value: bson.D{{Key: "$undefined", Value: true}}}}},
}

func TestEJSON(t *testing.T) {
	eval := func(expression string, doc bson.D) string {
		raw, err := bson.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		sc, _ := NewScope(newest, nil)
		e, err := Compile(storetest.Raw(t, `{"v": `+expression+`}`).Lookup("v"), sc)
		if err != nil {
			t.Fatal(err)
		}
		c := NewEvaluation(sc, time.Time{}, nil)
		c.Root = value.Object(raw)
		v, err := e.Eval(c)
		if err != nil {
			return err.Error()
		}
		return v.Type.String() + v.String()
	}
	const canonical, relaxed = `{"$serializeEJSON": {"input": "$v", "relaxed": false}}`, `{"$serializeEJSON": {"input": "$v"}}`
	for _, c := range ejsonCases {
		if c.relaxed == nil {
			c.relaxed = c.bson
		}
		if got, want := eval(canonical, c.bson), eval(`"$v"`, c.canonical); got != want {
			t.Errorf("%v: %s, not %s", c.bson, got, want)
		}
		if got, want := eval(relaxed, c.bson), eval(`"$v"`, c.relaxed); got != want {
			t.Errorf("%v, relaxed: %s, not %s", c.bson, got, want)
		}
		for _, form := range []bson.D{c.canonical, c.relaxed} {
			if got, want := eval(`{"$deserializeEJSON": {"input": "$v"}}`, form), eval(`"$v"`, c.bson); got != want {
				t.Errorf("%v is read as %s, not %s", form, got, want)
			}
		}
	}
	for _, bad := range []any{int32(1), "bad", "--1", "Infinity"} {
		doc := bson.D{{Key: "v", Value: bson.D{{Key: "$numberLong", Value: bad}}}}
		if got := eval(`{"$deserializeEJSON": {"input": "$v", "onError": "failed"}}`, doc); got != `string"failed"` {
			t.Errorf("%v is read as %s", bad, got)
		}
	}
}

// What is new is unknown in 8.0, with the codes that it had there.
func TestNewExpressionsAreUnknownBefore(t *testing.T) {
	for expression, code := range map[string]int32{
		`{"$hash": {"input": "x", "algorithm": "md5"}}`:                                 168,
		`{"$serializeEJSON": {"input": 1}}`:                                             168,
		`{"$createObjectId": {}}`:                                                       168,
		`{"$currentDate": {}}`:                                                          168,
		`{"$map": {"input": "$b", "in": "$$IDX"}}`:                                      17276,
		`{"$map": {"input": "$b", "arrayIndexAs": "i", "in": 1}}`:                       16879,
		`{"$filter": {"input": "$b", "arrayIndexAs": "i", "cond": 1}}`:                  28647,
		`{"$reduce": {"input": "$b", "initialValue": 0, "arrayIndexAs": "i", "in": 1}}`: 40076,
	} {
		if _, err := evalIn(t, Language{}, expression, `{}`); storetest.CodeOf(err) != code {
			t.Errorf("%s: %v, not code %d", expression, err, code)
		}
	}
}
