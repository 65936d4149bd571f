package filter_test

import (
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/storetest"
)

// nullCases are documents, whether {"a.b": null} matches them up to 8.3, and from 9.0 on. Where
// they come from: the server's tests nin_null.js (with its twin for the old way),
// null_query_semantics.js, dotted_path_in_null.js, and the manual's "Compatibility Changes in
// MongoDB 9.0".
var nullCases = []struct {
	doc          string
	before, from bool
}{
	{`{}`, true, true},
	{`{"a": null}`, true, true},
	{`{"a": 4}`, true, true},
	{`{"a": {}}`, true, true},
	{`{"a": {"b": null}}`, true, true},
	{`{"a": {"b": "hi"}}`, false, false},
	{`{"a": {"b": {"$undefined": true}}}`, false, false},
	{`{"a": {"b": [[2]]}}`, false, false},
	{`{"a": [{}]}`, true, true},
	{`{"a": [1, {"c": 1}]}`, true, true},
	{`{"a": [{"b": 3}, {}]}`, true, true},
	{`{"a": [{"b": null}, {"b": 3}]}`, true, true},
	{`{"a": [{"b": 1}, {"b": "string"}]}`, false, false},
	{`{"a": [{"b": {"$undefined": true}}, {"b": 3}]}`, false, false},
	{`{"a": [{"b": [[3]]}]}`, false, false},
	{`{"a": []}`, false, true},
	{`{"a": [1]}`, false, true},
	{`{"a": [null, null]}`, false, true},
	{`{"a": [5, {"b": 5}]}`, false, true},
	{`{"a": [[]]}`, false, true},
	{`{"a": [[null]]}`, false, true},
	{`{"a": [[[{"b": 3}]]]}`, false, true},
	{`{"a": [[{"b": 2}], {"b": 3}]}`, false, true},
	{`{"a": [{"b": 2}, [{"b": 3}]]}`, false, true},
}

func TestNullInArrays(t *testing.T) {
	queries := map[string]bool{ // and whether they match where {"a.b": null} does
		`{"a.b": null}`:                                true,
		`{"a.b": {"$eq": null}}`:                       true,
		`{"a.b": {"$gte": null}}`:                      true,
		`{"a.b": {"$lte": null}}`:                      true,
		`{"a.b": {"$in": [null, 75]}}`:                 true,
		`{"$or": [{"a.b": null}, {"a.b": 75}]}`:        true,
		`{"a.b": {"$ne": null}}`:                       false,
		`{"a.b": {"$nin": [null, 75]}}`:                false,
		`{"a.b": {"$not": {"$gte": null}}}`:            false,
		`{"$nor": [{"a.b": {"$in": [null, "none"]}}]}`: false,
	}
	for text, same := range queries {
		for _, c := range nullCases {
			if strings.Contains(text, "te") && strings.Contains(c.doc, "$undefined") {
				continue // $gte and $lte find undefined, in both languages
			}
			for from90, want := range map[bool]bool{false: c.before, true: c.from} {
				if got := matchesIn(t, expr.Language{NullInArrays: from90}, text, c.doc); got != (want == same) {
					t.Errorf("%s matches %s: %t (9.0: %t)", text, c.doc, got, from90)
				}
			}
		}
	}
}

func matchesIn(t *testing.T, l expr.Language, query, doc string) bool {
	t.Helper()
	f, err := filter.CompileWith(storetest.Raw(t, query), filter.Options{Language: l})
	if err != nil {
		t.Fatal(err)
	}
	return f.Match(storetest.Raw(t, doc))
}

// What does not ask for null is as before: the same documents, in both languages.
func TestNullInArraysOfOthers(t *testing.T) {
	for _, text := range []string{
		`{"a.b": {"$exists": true}}`, `{"a.b": {"$exists": false}}`, `{"a.b": {"$type": "null"}}`, `{"a.b": 3}`,
		`{"a.b": {"$elemMatch": {"$eq": null}}}`, `{"a": null}`, `{"a.b": {"$gt": null}}`, `{"a.b": {"$lt": null}}`,
		// In null_query_semantics.js, of both: an array is searched as a document is.
		`{"a": {"$elemMatch": {"b": null}}}`, `{"a": {"$elemMatch": {"b": {"$ne": null}}}}`,
	} {
		var matched [2][]string
		for i, l := range []expr.Language{{}, {NullInArrays: true}} {
			for _, c := range nullCases {
				if matchesIn(t, l, text, c.doc) {
					matched[i] = append(matched[i], c.doc)
				}
			}
		}
		if !slices.Equal(matched[0], matched[1]) {
			t.Errorf("%s matches %v, from 9.0 on %v", text, matched[0], matched[1])
		}
	}
}
