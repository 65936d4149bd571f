package filter

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/value"
)

// The manual's and the server's own rules for null and missing on paths
// through arrays (jstests/core/query/null/null_query_semantics.js).
func TestNullAndMissing(t *testing.T) {
	docs := map[string]string{
		"no_a": `{}`, "a_null": `{"a": null}`, "a_number": `{"a": 4}`, "a_empty_object": `{"a": {}}`,
		"b_null": `{"a": {"b": null}}`, "b_number": `{"a": {"b": 4}}`, "a_empty_array": `{"a": []}`,
		"a_numbers": `{"a": [4]}`, "a_nulls": `{"a": [null]}`, "objects_without_b": `{"a": [{}]}`,
		"objects_b_null": `{"a": [{"b": null}]}`, "objects_some_b": `{"a": [{"b": 4}, {}]}`, "nested": `{"a": [[]]}`,
	}
	for query, want := range map[string][]string{
		`{"a": null}`:               {"no_a", "a_null", "a_nulls"},
		`{"a": {"$exists": false}}`: {"no_a"},
		`{"a.b": null}`: {"no_a", "a_null", "a_number", "a_empty_object", "b_null",
			"objects_without_b", "objects_b_null", "objects_some_b"},
		`{"a.b": {"$exists": false}}`: {"no_a", "a_null", "a_number", "a_empty_object", "a_empty_array", "a_numbers",
			"a_nulls", "objects_without_b", "nested"},
		`{"a.b": {"$ne": null}}`: {"b_number", "a_empty_array", "a_numbers", "a_nulls", "nested"},
		`{"a.b": {"$gte": null}}`: {"no_a", "a_null", "a_number", "a_empty_object", "b_null",
			"objects_without_b", "objects_b_null", "objects_some_b"},
		`{"a.b": {"$in": [null, 4]}}`: {"no_a", "a_null", "a_number", "a_empty_object", "b_null", "b_number",
			"objects_without_b", "objects_b_null", "objects_some_b"},
		`{"a": {"$elemMatch": {"$eq": null}}}`: {"a_nulls"},
		`{"a": {"$elemMatch": {"b": null}}}`:   {"objects_without_b", "objects_b_null", "objects_some_b", "nested"},
		`{"a": {"$not": {"$gt": 3}}}`: {"no_a", "a_null", "a_empty_object", "b_null", "b_number", "a_empty_array",
			"a_nulls", "objects_without_b", "objects_b_null", "objects_some_b", "nested"},
		`{"$nor": [{"a": 4}, {"a": null}]}`: {"a_empty_object", "b_null", "b_number", "a_empty_array", "objects_without_b",
			"objects_b_null", "objects_some_b", "nested"},
		`{"$expr": {"$eq": ["$a", null]}}`:    {"a_null"},
		`{"$expr": {"$lte": ["$a.b", null]}}`: {"no_a", "a_null", "a_number", "a_empty_object", "b_null"},
	} {
		f, err := Compile(storetest.Raw(t, query))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for name, doc := range docs {
			if f.Match(storetest.Raw(t, doc)) {
				got = append(got, name)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s:\ngot  %v\nwant %v", query, got, want)
		}
	}
}

func TestFilterOperators(t *testing.T) {
	for _, tc := range []struct {
		query, doc string
		want       bool
	}{
		// Places in arrays, and names that look like places.
		{`{"a.1": 2}`, `{"a": [1, 2]}`, true},
		{`{"a.1": 2}`, `{"a": {"1": 2}}`, true},
		{`{"a.0.1": 2}`, `{"a": [[1, 2]]}`, true},
		{`{"a.1.b": 4}`, `{"a": [5, [{"b": 4}]]}`, true},
		{`{"a.0": 1}`, `{"a": [{"0": 1}]}`, true},
		{`{"a.b.c": 1}`, `{"a": [{"b": [{"c": 1}]}]}`, true},
		{`{"a.b": [1, 2]}`, `{"a": [{"b": [1, 2]}]}`, true},
		// Several conditions may hold for different elements; $elemMatch asks for one.
		{`{"a": {"$gt": 1, "$lt": 3}}`, `{"a": [0, 5]}`, true},
		{`{"a": {"$elemMatch": {"$gt": 1, "$lt": 3}}}`, `{"a": [0, 5]}`, false},
		{`{"a": {"$elemMatch": {"$in": [5], "$ne": 4}}}`, `{"a": [4, 5]}`, true},
		{`{"a": {"$elemMatch": {"$or": [{"b": 1}, {"c": 2}]}}}`, `{"a": [{"c": 2}]}`, true},
		{`{"a": {"$elemMatch": {"0": 7}}}`, `{"a": [[7]]}`, true},
		{`{"a": {"$elemMatch": {"b": 1}}}`, `{"a": {"b": 1}}`, false},
		{`{"a": {"$all": [{"$elemMatch": {"b": 1}}, {"$elemMatch": {"b": 2}}]}}`, `{"a": [{"b": 2}, {"b": 1}]}`, true},
		{`{"a": {"$all": []}}`, `{"a": []}`, false},
		{`{"a": {"$all": [5]}}`, `{"a": 5}`, true},
		// Equality is across numeric types, order of fields counts in objects.
		{`{"a": 1}`, `{"a": {"$numberDecimal": "1.0"}}`, true},
		{`{"a": {"b": 1, "c": 2}}`, `{"a": {"c": 2, "b": 1}}`, false},
		{`{"a": {"b": 1}}`, `{"a": {"b": 1.0}}`, true},
		{`{"a": {}}`, `{"a": {}}`, true},
		{`{"a": {"$ref": "c", "$id": 1}}`, `{"a": {"$ref": "c", "$id": 1}}`, true},
		// Types keep apart.
		{`{"a": {"$gt": 1}}`, `{"a": "2"}`, false},
		{`{"a": {"$gte": false}}`, `{"a": true}`, true},
		{`{"a": {"$lt": {"$maxKey": 1}}}`, `{"a": "x"}`, true},
		{`{"a": {"$lt": {"$maxKey": 1}}}`, `{}`, true},
		{`{"a": {"$gt": {"$timestamp": {"t": 1, "i": 1}}}}`, `{"a": {"$timestamp": {"t": 1, "i": 2}}}`, true},
		{`{"a": {"$type": "number"}}`, `{"a": {"$numberDecimal": "1"}}`, true},
		{`{"a": {"$type": [2, "int"]}}`, `{"a": [1]}`, true},
		{`{"a": {"$type": -1}}`, `{"a": {"$minKey": 1}}`, true},
		// Regular expressions.
		{`{"a": {"$regex": "b.d", "$options": "s"}}`, `{"a": "ab\nd"}`, true},
		{`{"a": {"$regex": "^d", "$options": "m"}}`, `{"a": "ab\nd"}`, true},
		{`{"a": {"$regex": "a b # comment", "$options": "x"}}`, `{"a": "ab"}`, true},
		{`{"a": {"$regex": "foo(?!bar)"}}`, `{"a": "foobar"}`, false},
		{`{"a": {"$regex": "foo(?!bar)"}}`, `{"a": "foobaz"}`, true},
		{`{"a": {"$regex": "(.)\\1"}}`, `{"a": "abba"}`, true},
		{`{"a": {"$nin": [{"$regularExpression": {"pattern": "^x", "options": ""}}]}}`, `{"a": "xy"}`, false},
		{`{"a": {"$eq": {"$regularExpression": {"pattern": "x", "options": ""}}}}`, `{"a": "x"}`, false},
		// Numbers.
		{`{"a": {"$mod": [4, -1]}}`, `{"a": -5}`, true},
		{`{"a": {"$mod": [4.9, 1]}}`, `{"a": 5.8}`, true},
		{`{"a": {"$mod": [2, 0]}}`, `{"a": {"$numberDouble": "Infinity"}}`, false},
		{`{"a": {"$mod": [5, 2]}}`, `{"a": {"$numberLong": "9223372036854775807"}}`, true},
		{`{"a": {"$bitsAllSet": [1, 3]}}`, `{"a": 10}`, true},
		{`{"a": {"$bitsAnyClear": 3}}`, `{"a": 2}`, true},
		{`{"a": {"$bitsAllClear": {"$numberLong": "5"}}}`, `{"a": 10}`, true},
		{`{"a": {"$bitsAllSet": [200]}}`, `{"a": -1}`, true},
		{`{"a": {"$bitsAnySet": 1}}`, `{"a": 2.5}`, false},
		{`{"a": {"$bitsAllSet": {"$binary": {"base64": "AQ==", "subType": "00"}}}}`,
			`{"a": {"$binary": {"base64": "AwA=", "subType": "00"}}}`, true},
		{`{"a": {"$size": 2.0}}`, `{"a": [1, 2]}`, true},
		// Logic.
		{`{"$and": [{"a": 1}, {"$or": [{"b": 2}, {"b": 3}]}]}`, `{"a": 1, "b": 3}`, true},
		{`{"$alwaysFalse": 1}`, `{}`, false},
		{`{"a": {"$not": {"$not": {"$eq": 1}}}}`, `{"a": 1}`, true},
		{`{"a": {"$exists": 0}}`, `{}`, true},
		{`{"$expr": {"$divide": [1, "$z"]}}`, `{"z": 0}`, false},
		// $jsonSchema concerns values of the types its keywords are for.
		{`{"$jsonSchema": {"properties": {"a": {"minimum": 5, "exclusiveMinimum": true}}}}`, `{"a": 5}`, false},
		{`{"$jsonSchema": {"properties": {"a": {"minimum": 5}}}}`, `{"a": "x"}`, true},
		{`{"$jsonSchema": {"properties": {"a": {}}, "additionalProperties": false}}`, `{"a": 5, "b": 1}`, false},
		{`{"$jsonSchema": {"patternProperties": {"^a": {"type": "string"}}, "additionalProperties": {"bsonType": "int"}}}`,
			`{"ab": "x", "b": 1}`, true},
		{`{"$jsonSchema": {"properties": {"a": {"items": [{"type": "string"}], "additionalItems": false}}}}`,
			`{"a": ["x", 1]}`, false},
		{`{"$jsonSchema": {"properties": {"a": {"uniqueItems": true, "maxItems": 3}}}}`, `{"a": [1, 1.0]}`, false},
		{`{"$jsonSchema": {"oneOf": [{"required": ["a"]}, {"required": ["b"]}]}}`, `{"a": 1, "b": 1}`, false},
		{`{"$jsonSchema": {"not": {"required": ["b"]}, "minProperties": 1}}`, `{"a": 1}`, true},
		{`{"$jsonSchema": {"dependencies": {"a": ["b"]}}}`, `{"a": 1}`, false},
		{`{"$jsonSchema": {"dependencies": {"a": ["b"], "title": "b with a"}}}`, `{"a": 1, "b": 2, "title": 3}`, true},
		{`{"$jsonSchema": {"properties": {"a": {"enum": [1, "x"]}}}}`, `{"a": "x"}`, true},
		{`{"$jsonSchema": {"properties": {"a": {"multipleOf": 2.5}}}}`, `{"a": 7.5}`, true},
	} {
		f, err := Compile(storetest.Raw(t, tc.query))
		if err != nil {
			t.Errorf("%s: %v", tc.query, err)
		} else if got := f.Match(storetest.Raw(t, tc.doc)); got != tc.want {
			t.Errorf("%s on %s: %v", tc.query, tc.doc, got)
		}
	}
}

func TestFilterErrors(t *testing.T) {
	for query, code := range map[string]int32{
		`{"a": {"$all": [1, {"$elemMatch": {"$gt": 0}}]}}`: 2,
		`{"a": {"$all": [{"$elemMatch": {"$gt": 0}}, 1]}}`: 2,
		`{"a": {"$bad": 1}}`:        2,
		`{"a": {"$gt": 1, "b": 2}}`: 2,
		`{"a": {"$not": 5}}`:        2,
		`{"a": {"$not": {}}}`:       2,
		`{"a": {"$ne": {"$regularExpression": {"pattern": "x", "options": ""}}}}`: 2,
		`{"a": {"$gt": {"$regularExpression": {"pattern": "x", "options": ""}}}}`: 2,
		`{"a": {"$in": [{"$gt": 1}]}}`:                                            2,
		`{"a": {"$all": 5}}`:                                                      2,
		`{"a": {"$mod": [0, 1]}}`:                                                 2,
		`{"a": {"$mod": [1, 2, 3]}}`:                                              2,
		`{"a": {"$size": 1.5}}`:                                                   2,
		`{"a": {"$type": 100}}`:                                                   2,
		`{"a": {"$type": []}}`:                                                    9,
		`{"a": {"$options": "i"}}`:                                                2,
		`{"$and": 5}`:                                                             2,
		`{"$or": [5]}`:                                                            2,
		`{"$expr": {"$nope": 1}}`:                                                 168,
		`{"$expr": "$$x"}`:                                                        17276,
		`{"$where": "true"}`:                                                      2,
		`{"$text": {"$search": "x"}}`:                                             27,
		`{"a": {"$near": [1, 2]}}`:                                                291,
		`{"$alwaysTrue": 2}`:                                                      9,
		`{"$jsonSchema": 5}`:                                                      14,
		`{"$jsonSchema": {"nope": 1}}`:                                            9,
		`{"$jsonSchema": {"required": []}}`:                                       9,
		`{"$jsonSchema": {"properties": {"a": {"minLength": -1}}}}`:               9,
		// The manual: $expr and $jsonSchema stand at the top. The schema's own rules are those of its
		// page: no integer, one of type and bsonType, no value twice; names are looked at first.
		`{"a": {"$elemMatch": {"$expr": true}}}`:                                          2,
		`{"a": {"$elemMatch": {"$or": [{"$jsonSchema": {}}]}}}`:                           2,
		`{"$jsonSchema": {"type": "integer"}}`:                                            9,
		`{"$jsonSchema": {"type": "number", "bsonType": "int"}}`:                          9,
		`{"$jsonSchema": {"bsonType": ["int", "int"]}}`:                                   9,
		`{"$jsonSchema": {"properties": {"a": {"enum": [1, {"$numberDouble": "1.0"}]}}}}`: 9,
		`{"$jsonSchema": {"minimum": "x", "nope": 1}}`:                                    9,
	} {
		if _, err := Compile(storetest.Raw(t, query)); storetest.CodeOf(err) != code {
			t.Errorf("%s: code %d (%v), want %d", query, storetest.CodeOf(err), err, code)
		}
	}
}

func TestDependenciesErrorsNameTheProperty(t *testing.T) {
	for arg, want := range map[string]string{
		`[]`:         "cannot be an empty array",
		`["b", "b"]`: "array cannot contain duplicate values",
		`5`:          "must be either an object or an array",
		`"b"`:        "must be either an object or an array",
	} {
		_, err := Compile(storetest.Raw(t, `{"$jsonSchema": {"dependencies": {"a": `+arg+`}}}`))
		if want = "property 'a' in $jsonSchema keyword 'dependencies' " + want; err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", arg, err, want)
		}
	}
}

func TestFilterReportsFailingExpressions(t *testing.T) {
	f, err := Compile(storetest.Raw(t, `{"$expr": {"$divide": [1, "$z"]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if ok, err := f.Test(storetest.Raw(t, `{"z": 0}`)); ok || storetest.CodeOf(err) != 2 {
		t.Errorf("got %v, %v", ok, err)
	}
}

func TestFilterVariables(t *testing.T) {
	f, err := CompileWith(storetest.Raw(t, `{"$expr": {"$gt": ["$a", "$$least"]}}`),
		Options{Let: storetest.Raw(t, `{"least": {"$add": [1, 1]}}`)})
	if err != nil {
		t.Fatal(err)
	}
	if f.Match(storetest.Raw(t, `{"a": 2}`)) || !f.Match(storetest.Raw(t, `{"a": 3}`)) {
		t.Error("the variable was not used")
	}
}

func TestFilterEqualities(t *testing.T) {
	for _, tc := range []struct{ query, path, want string }{
		{`{"a": 1}`, "a", `1`},
		{`{"a": {"$eq": 1}}`, "a", `1`},
		{`{"b": 2, "$and": [{"a": 1}]}`, "a", `1`},
		{`{"a": {"$in": [1]}}`, "a", `1`},
		{`{"$or": [{"a": 1}]}`, "a", `1`},
		{`{"a.b": 1}`, "a.b", `1`},
		{`{"a": {"b": 1}}`, "a", `{"b": 1}`},
		{`{"a": {"$in": [1, 2]}}`, "a", ``},
		{`{"a": {"$gt": 1}}`, "a", ``},
		{`{"$or": [{"a": 1}, {"a": 2}]}`, "a", ``},
		{`{"$nor": [{"a": 1}]}`, "a", ``},
		{`{"a": {"$not": {"$eq": 1}}}`, "a", ``},
		{`{"a": {"$elemMatch": {"$eq": 1}}}`, "a", ``},
	} {
		f, err := Compile(storetest.Raw(t, tc.query))
		if err != nil {
			t.Fatal(err)
		}
		got, ok := f.Equality(tc.path)
		if ok != (tc.want != "") || ok && value.Compare(got, document.Lookup(storetest.Raw(t, `{"v":`+tc.want+`}`),
			"v")) != 0 {
			t.Errorf("%s at %s: %v %s", tc.query, tc.path, ok, got)
		}
	}
	var none *Filter
	if _, ok := none.Equality("a"); ok || !none.Match(document.Empty) {
		t.Error("a nil filter matches everything and demands nothing")
	}
}

// Negated operators are the complement of what they negate, and the
// comparisons fit together.
func TestFilterLaws(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		doc := storetest.SmallDocuments.Draw(t, "doc")
		v := expr.OrNull(storetest.SmallValues.Draw(t, "value"))
		path := rapid.SampledFrom([]string{"a", "b.c", "b"}).Draw(t, "path")
		match := func(op string, arg value.Value) bool {
			f, err := Compile(document.New(document.Field{Name: path, Value: value.Object(document.New(document.Field{Name: op,
				Value: arg}))}))
			if err != nil {
				t.Fatal(err)
			}
			return f.Match(doc)
		}
		one := document.Array([]value.Value{v})
		eq := match("$eq", v)
		switch {
		case match("$ne", v) == eq:
			t.Error("$ne is not the complement of $eq")
		case match("$in", one) != eq:
			t.Error("$in of one differs from $eq")
		case match("$nin", one) == eq:
			t.Error("$nin is not the complement of $in")
		case match("$not", value.Object(document.New(document.Field{Name: "$gt", Value: v}))) == match("$gt", v):
			t.Error("$not is not the complement")
		case eq && v.Type != bson.TypeMinKey && v.Type != bson.TypeMaxKey && (!match("$gte", v) || !match("$lte", v)):
			t.Error("equal values are within the bounds")
		case match("$gt", v) && !match("$gte", v) || match("$lt", v) && !match("$lte", v):
			t.Error("strict comparisons are narrower")
		}
	})
}

// Since 8.0 null is not equal to undefined.
func TestNullIsNotUndefined(t *testing.T) {
	undefined := document.New(document.Field{Name: "a", Value: value.Value{Type: bson.TypeUndefined}})
	for query, want := range map[string]bool{
		`{"a": null}`: false, `{"a": {"$in": [null]}}`: false, `{"a": {"$ne": null}}`: true,
		`{"a": {"$type": "undefined"}}`: true,
	} {
		f, err := Compile(storetest.Raw(t, query))
		if err != nil {
			t.Fatal(err)
		}
		if f.Match(undefined) != want {
			t.Errorf("%s matches undefined: %v, want %v", query, !want, want)
		}
	}
}
