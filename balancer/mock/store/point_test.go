package store

import (
	"fmt"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/storetest"
)

// A point finds what a plan finds, in its order, or leaves it to the plan.
func TestPointIsPlan(t *testing.T) {
	filters := []string{`{"_id": 3}`, `{"a": 1}`, `{"a": 1.0}`, `{"a": "x"}`, `{"a": {"$eq": 2}}`, `{"a": null}`,
		`{"a": true}`, `{"b": 1}`, `{"c.d": 1}`, `{"a": {"$gt": 0}}`, `{"a": 1, "b": 1}`, `{}`, `{"h": 1}`,
		`{"a": {"$in": [1, 2]}}`}
	indexes := []string{`{"a": 1}`, `{"a": -1}`, `{"a": 1, "b": 1}`, `{"b": 1}`, `{"c.d": 1}`, `{"h": "hashed"}`}
	values := []string{`1`, `2`, `1.0`, `"x"`, `null`, `true`, `[1, 2]`, `{"d": 1}`, `[{"d": 1}, {"d": 2}]`}
	taken := 0
	rapid.Check(t, func(rt *rapid.T) {
		c := New()
		for i, n := range rapid.SliceOfNDistinct(rapid.IntRange(0, len(indexes)-1), 0, 3, rapid.ID).Draw(rt, "indexes") {
			if err := c.CreateIndex(IndexSpec{Name: fmt.Sprint(i), Key: storetest.Raw(t, indexes[n]),
				Sparse: rapid.Bool().Draw(rt, "sparse")}); err != nil {
				rt.Fatal(err)
			}
		}
		value := rapid.SampledFrom(values)
		for i := range rapid.IntRange(0, 30).Draw(rt, "documents") {
			doc := fmt.Sprintf(`{"_id": %d, "a": %s, "b": %s, "c": %s, "h": 1}`, i, value.Draw(rt, "a"), value.Draw(rt, "b"),
				value.Draw(rt, "c"))
			if _, err := c.Insert(storetest.Raw(t, doc)); err != nil && storetest.CodeOf(err) != 171 {
				rt.Fatal(err)
			}
		}
		f, err := filter.Compile(storetest.Raw(t, rapid.SampledFrom(filters).Draw(rt, "filter")))
		if err != nil {
			rt.Fatal(err)
		}
		got, ok := c.FindByEquality(f, nil)
		if !ok {
			return
		}
		taken++
		var want []bson.Raw
		for _, doc := range c.Find(f) {
			want = append(want, doc)
		}
		if !slices.EqualFunc(got, want, func(a, b bson.Raw) bool { return string(a) == string(b) }) {
			rt.Errorf("%v, want %v", got, want)
		}
	})
	if taken == 0 {
		t.Error("no point was taken")
	}
}
