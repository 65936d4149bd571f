package pipeline_test

import (
	"context"
	"iter"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/storetest"
)

// runIn runs a pipeline in a language over documents; what a $lookup joins is the same ones.
func runIn(t *testing.T, l expr.Language, stages, docs string) ([]bson.Raw, error) {
	t.Helper()
	list := storetest.List(t, docs)
	p, err := pipeline.Compile(storetest.List(t, stages), pipeline.Env{Language: l,
		Collection: func(string) (iter.Seq[bson.Raw], error) { return slices.Values(list), nil }})
	if err != nil {
		return nil, err
	}
	var out []bson.Raw
	for doc, err := range p.Run(context.Background(), slices.Values(list)) {
		if err != nil {
			return nil, err
		}
		out = append(out, doc)
	}
	return out, nil
}

// The server's own cases, by the name of the file in jstests/aggregation/accumulators; the order of
// $setUnion, which a server leaves open, is that of the first of each.
func TestAccumulatorsOfArrays(t *testing.T) {
	const books = `[{"_id": 0, "p": 1, "books": ["A0", "A1"]}, {"_id": 1, "p": 1, "books": ["M0"]}, {"_id": 2, "p": 2},
		{"_id": 3, "p": 2, "books": [["B0"], "M0"]}]`
	group := func(of string) string { return `[{"$group": {"_id": null, "r": ` + of + `}}]` }
	for _, c := range []struct {
		why, stages, docs, want string
		code                    int32
	}{
		{why: "concat_arrays.js: in order, arrays inside as they are, nothing for what is missing", stages: group(`{"$concatArrays": "$books"}`), docs: books,
			want: `[{"_id": null, "r": ["A0", "A1", "M0", ["B0"], "M0"]}]`},
		{why: "concat_arrays.js: the other order", stages: `[{"$sort": {"_id": -1}}, {"$group": {"_id": null, "r": {"$concatArrays": "$books"}}}]`, docs: books,
			want: `[{"_id": null, "r": [["B0"], "M0", "M0", "A0", "A1"]}]`},
		{why: "concat_arrays.js: by group", stages: `[{"$group": {"_id": "$p", "r": {"$concatArrays": "$books"}}}, {"$sort": {"_id": 1}}]`, docs: books,
			want: `[{"_id": 1, "r": ["A0", "A1", "M0"]}, {"_id": 2, "r": [["B0"], "M0"]}]`},
		{why: "concat_arrays.js", stages: group(`{"$concatArrays": "$a"}`), docs: `[{"a": 1}]`, code: 14},
		{why: "concat_arrays.js", stages: group(`{"$concatArrays": "$a"}`), docs: `[{"a": "string"}]`, code: 14},
		{why: "concat_arrays.js", stages: group(`{"$concatArrays": "$a"}`), docs: `[{"a": null}]`, code: 14},
		{why: "set_union.js: each once", stages: group(`{"$setUnion": "$n"}`), docs: `[{"n": [1, 1, 2]}, {"n": [2, 3]}, {}]`,
			want: `[{"_id": null, "r": [1, 2, 3]}]`},
		{why: "set_union.js: arrays inside are elements", stages: group(`{"$setUnion": "$n"}`), docs: `[{"n": [["x"], 1]}, {"n": [["x"], ["x", "y"]]}]`,
			want: `[{"_id": null, "r": [["x"], 1, ["x", "y"]]}]`},
		{why: "set_union.js: the order of fields counts", stages: group(`{"$setUnion": "$n"}`), docs: `[{"n": [{"a": 1, "b": 2}]}, {"n": [{"b": 2, "a": 1}]}, {"n": [{"a": 1, "b": 2}]}]`,
			want: `[{"_id": null, "r": [{"a": 1, "b": 2}, {"b": 2, "a": 1}]}]`},
		{why: "set_union.js: an array half-way on the path", stages: group(`{"$setUnion": "$a.b"}`), docs: `[{"a": [{"b": [1]}, {"b": [2]}]}, {"a": [{"b": [1]}]}]`,
			want: `[{"_id": null, "r": [[1], [2]]}]`},
		{why: "set_union.js: $bucket", stages: `[{"$bucket": {"groupBy": "$i", "boundaries": [0, 5, 10], "output": {"r": {"$setUnion": "$n"}}}}]`,
			docs: `[{"i": 1, "n": [42]}, {"i": 2, "n": [42]}, {"i": 7, "n": [42]}]`, want: `[{"_id": 0, "r": [42]}, {"_id": 5, "r": [42]}]`},
		{why: "set_union.js", stages: group(`{"$setUnion": "$a"}`), docs: `[{"a": {"b": 1}}]`, code: 14},
	} {
		got, err := runIn(t, expr.Language{ArrayAccumulators: true}, c.stages, c.docs)
		switch {
		case c.code != 0:
			if storetest.CodeOf(err) != c.code {
				t.Errorf("%s: %v, not code %d", c.why, err, c.code)
			}
		case err != nil || !slices.EqualFunc(got, storetest.List(t, c.want), func(a, b bson.Raw) bool { return a.String() == b.String() }):
			t.Errorf("%s: %v (%v), not %s", c.why, got, err, c.want)
		}
		if _, err := runIn(t, expr.Language{}, c.stages, c.docs); storetest.CodeOf(err) != 15952 {
			t.Errorf("%s: in 8.0 it fails with %v, not 15952", c.why, err)
		}
	}
}

// From 9.0 on null meets arrays in $lookup, as in queries (manual: "Compatibility Changes in MongoDB 9.0").
func TestLookupOfNullInArrays(t *testing.T) {
	const stages = `[{"$match": {"_id": 0}}, {"$lookup": {"from": "c", "localField": "nope", "foreignField": "a.b", "as": "r"}},
		{"$project": {"r": "$r._id"}}]`
	const docs = `[{"_id": 0}, {"_id": 1, "a": []}, {"_id": 2, "a": [1]}, {"_id": 3, "a": [{"b": 1}]}, {"_id": 4, "a": [{}]}]`
	for from90, want := range map[bool]string{false: `{"_id": 0,"r": [0,4]}`, true: `{"_id": 0,"r": [0,1,2,4]}`} {
		got, err := runIn(t, expr.Language{NullInArrays: from90}, stages, docs)
		if w := storetest.Raw(t, want).String(); err != nil || len(got) != 1 || got[0].String() != w {
			t.Errorf("%v (%v), not %s", got, err, w)
		}
	}
}
