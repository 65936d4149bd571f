package expr

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/mock/store/storetest"
)

// The cases are those of the server's tests, by the name of the file in jstests/aggregation/expressions.
func TestConversionsOf83(t *testing.T) {
	object := `{"objectId": {"$oid": "507f1f77bcf86cd799439011"}, "uuid": {"$uuid": "3b241101-e2bb-4255-8caf-4136c566a962"},
		"date": {"$date": "2018-03-27T16:58:51.538Z"}, "regex": {"$regularExpression": {"pattern": "^ABC", "options": "i"}},
		"js": {"$code": "f(\"\n\")"}, "timestamp": {"$timestamp": {"t": 1565545664, "i": 1}}}`
	for _, c := range []struct{ why, expression, in, want string }{
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `{"$regularExpression": {"pattern": "B*", "options": "is"}}`, `"/B*/is"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `{"$timestamp": {"t": 1, "i": 2}}`, `"Timestamp(1, 2)"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `{"$dbPointer": {"$ref": "co\"ll", "$id": {"$oid": "0102030405060708090a0b0c"}}}`,
			`"DBRef(\"co\"ll\", 0102030405060708090a0b0c)"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `{"$minKey": 1}`, `"MinKey"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `{"$maxKey": 1}`, `"MaxKey"`},
		{"expression_convert_test.cpp", `{"$toString": "$v"}`, `{"$code": "function() {}", "$scope": {}}`, `"CodeWScope(\"function() {}\", {})"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `{}`, `"{}"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `[]`, `"[]"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `{"foo": 1.123123}`, `"{\"foo\":1.123123}"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `["foo", {"bar": "baz"}]`, `"[\"foo\",{\"bar\":\"baz\"}]"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, object, `"{\"objectId\":\"507f1f77bcf86cd799439011\",` +
			`\"uuid\":\"3b241101-e2bb-4255-8caf-4136c566a962\",\"date\":\"2018-03-27T16:58:51.538Z\",\"regex\":\"/^ABC/i\",` +
			`\"js\":\"f(\\\"\\n\\\")\",\"timestamp\":\"Timestamp(1565545664, 1)\"}"`},
		{"convert_any_to_string.js: base and format are for what is not nested", `{"$convert": {"input": "$v", "to": "string", "base": 16, "format": "base64"}}`,
			`{"int": 10, "binData": {"$binary": {"base64": "hn3f", "subType": "04"}}}`, `"{\"int\":10,\"binData\":\"hn3f\"}"`},
		{"convert_any_to_string.js", `{"$convert": {"input": "$v", "to": "string", "onNull": "on null!"}}`, `{"foo": [null, null]}`, `"{\"foo\":[null,null]}"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`, `{"foo": "as\u0000df"}`, `"{\"foo\":\"as\\u0000df\"}"`},
		{"convert_any_to_string.js", `{"$toString": "$v"}`,
			`{"nan": {"$numberDecimal": "NaN"}, "inf": {"$numberDecimal": "-Infinity"}, "num": {"$numberDecimal": "123.123"}}`,
			`"{\"nan\":\"NaN\",\"inf\":\"-Infinity\",\"num\":123.123}"`},
		{"evaluate_convert.cpp: all finite numbers are numbers", `{"$toString": "$v"}`,
			`{"double": 1e300, "decimal": {"$numberDecimal": "1E+400"}, "inf": {"$numberDouble": "Infinity"}}`,
			`"{\"double\":1e+300,\"decimal\":1E+400,\"inf\":\"Infinity\"}"`},

		{"convert_string_to_object_array.js", `{"$toArray": "$v"}`, `"[null, true, -999, [\"nul\\u0000l\"]]"`, `[null, true, -999, ["nul\u0000l"]]`},
		{"convert_string_to_object_array.js", `{"$toObject": "$v"}`, `"{\"number\": 1.2e+3, \"large\": -18446744073709551615}"`,
			`{"number": 1200.0, "large": -18446744073709551615.0}`},
		{"convert_string_to_object_array.js: nothing runs", `{"$toObject": "$v"}`, `"{\"$toString\": \"$missing\"}"`, `{"$toString": "$missing"}`},
		{"the manual: integers by their range", `{"$toArray": "$v"}`, `"[2147483647, 2147483648]"`, `[2147483647, {"$numberLong": "2147483648"}]`},
		{"the manual: no Extended JSON", `{"$toObject": "$v"}`, `"{\"a\": {\"$numberLong\": \"1\"}}"`, `{"a": {"$numberLong ": "1"}}`},
		{"the manual: the last of a name counts", `{"$toObject": "$v"}`, `"{\"a\": 1, \"b\": 2, \"a\": 3}"`, `{"a": 3, "b": 2}`},
		{"convert_string_to_object_array.js", `{"$toArray": "$nope"}`, `1`, `null`},
		{"an array is one", `{"$toArray": ["$v"]}`, `[1]`, `[1]`},

		{"convert_with_base.js", base("string", 16), `{"$numberDecimal": "-10"}`, `"-A"`},
		{"convert_with_base.js", base("string", 2), `10.0`, `"1010"`},
		{"convert_with_base.js", base("string", 8), `{"$numberLong": "-9223372036854775808"}`, `"-1000000000000000000000"`},
		{"convert_with_base.js", base("int", 2), `"-1010"`, `-10`},
		{"convert_with_base.js", base("double", 8), `"12"`, `10.0`},
		{"convert_with_base.js", base("decimal", 16), `"a"`, `{"$numberDecimal": "10"}`},
		{"convert_with_base.js: for nothing else", base("double", 2), `1.9`, `1.9`},
		{"convert_with_base.js", base("string", 2), `"str"`, `"str"`},
		{"convert_with_base.js", base("long", 2), `{"$date": {"$numberLong": "123"}}`, `{"$numberLong": "123"}`},
		{"convert_with_base.js", `{"$convert": {"input": "$v", "to": "string", "base": null}}`, `10`, `"10"`},
	} {
		got, err := evalIn(t, newest, c.expression, `{"v": `+c.in+`}`)
		want := storetest.Raw(t, `{"v": `+strings.ReplaceAll(c.want, "$numberLong ", "x")+`}`).Lookup("v")
		if strings.Contains(c.want, "$numberLong ") { // a field of that name, which Extended JSON can't say
			if inner, ok := got.Document().Lookup("a", "$numberLong").StringValueOK(); err != nil || !ok || inner != "1" {
				t.Errorf("%s: %s is %s (%v)", c.why, c.expression, got, err)
			}
			continue
		}
		if err != nil || !got.Equal(want) {
			t.Errorf("%s: %s of %s is %s (%v), not %s", c.why, c.expression, c.in, got, err, want)
		}
	}
}

func base(to string, base int) string {
	return fmt.Sprintf(`{"$convert": {"input": "$v", "to": %q, "base": %d}}`, to, base)
}

func TestConversionsOf83Fail(t *testing.T) {
	const failure = 241
	toObject, toArray := `{"$toObject": "$v"}`, `{"$toArray": "$v"}`
	for _, c := range []struct {
		expression, in string
		code           int32
	}{
		{toObject, `"[{}]"`, failure},
		{toArray, `"{\"f\": []}"`, failure},
		{toObject, `"\"str\""`, failure},
		{toArray, `"true"`, failure},
		{toObject, `"null"`, failure},
		{toObject, `"{\"f\\u0000oo\": 1}"`, failure},
		{toObject, `"{\"foo\": \"b\u0000ar\"}"`, failure},
		{toObject, `"{\"foo\": 1}\n{\"foo\": 2}"`, failure},
		{toObject, `"{\"foo\": 1,}"`, failure},
		{toArray, `"[\"foo\",,]"`, failure},
		{toObject, `"{$literal: 123}"`, failure},
		{toObject, `"{\"n\": ` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}"`, failure},
		{toArray, `{"a": 1}`, failure},
		{toObject, `7`, failure},
		{base("int", 2), `"zzz"`, failure},
		{base("string", 10), `10.1`, failure},
		{base("int", 2), `"10000000000000000000000000000000"`, failure},
		{base("double", 10), `"9223372036854775808"`, failure},
		{base("long", 16), `"0xa"`, failure},
		{`{"$convert": {"input": "$v", "to": "string", "base": 2.1}}`, `10`, 3501300},
		{`{"$convert": {"input": "$v", "to": "string", "base": "invalid", "onError": 1}}`, `10`, 3501300},
		{base("bool", 3), `false`, 3501301},
	} {
		if got, err := evalIn(t, newest, c.expression, `{"v": `+c.in+`}`); storetest.CodeOf(err) != c.code {
			t.Errorf("%s of %s: %s, %v, not code %d", c.expression, c.in, got, err, c.code)
		}
	}
	got, err := evalIn(t, newest, `{"$convert": {"input": "[", "to": "array", "onError": "bad"}}`, `{}`)
	if err != nil || got.String() != `"bad"` {
		t.Errorf("onError: %s, %v", got, err)
	}
	for expression, code := range map[string]int32{ // in 8.0
		`{"$toArray": "[]"}`:                                             168,
		`{"$toObject": "{}"}`:                                            168,
		`{"$toString": {"$literal": {"a": 1}}}`:                          failure,
		`{"$toString": [[1]]}`:                                           failure,
		`{"$convert": {"input": "[]", "to": "array"}}`:                   failure,
		`{"$convert": {"input": "10", "to": "int", "base": 2}}`:          9,
		`{"$convert": {"input": 1, "to": "string", "format": "base64"}}`: 0,
	} {
		if got, err := evalIn(t, Language{}, expression, `{}`); storetest.CodeOf(err) != code {
			t.Errorf("%s in 8.0: %s, %v, not code %d", expression, got, err, code)
		}
	}
}

// What is JSON comes back as it was.
func TestTextOfJSONComesBack(t *testing.T) {
	var leaf *rapid.Generator[any]
	leaf = rapid.OneOf(rapid.Just[any](nil), rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Map(rapid.Int32(), func(n int32) any { return n }), rapid.Map(rapid.StringMatching(`[a-z"\\\n\t é]*`), func(s string) any { return s }),
		rapid.Map(rapid.SliceOfN(rapid.Deferred(func() *rapid.Generator[any] { return leaf }), 0, 3), func(l []any) any { return l }))
	rapid.Check(t, func(rt *rapid.T) {
		list := rapid.SliceOfN(leaf, 0, 4).Draw(rt, "list")
		text, err := json.Marshal(map[string]any{"v": list})
		if err != nil {
			rt.Fatal(err)
		}
		got, err := evalIn(t, newest, `{"$toArray": {"$toString": "$v"}}`, string(text))
		if want := storetest.Raw(t, string(text)).Lookup("v"); err != nil || !got.Equal(want) {
			rt.Fatalf("%s becomes %s, %v", want, got, err)
		}
	})
}
