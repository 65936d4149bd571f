package store

import (
	"math/rand/v2"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/storetest"
	"shardsh/balancer/mock/store/value"
)

// planValues returns what documents and queries of the plan tests are made of.
func planValues(t testing.TB) []value.Value {
	return document.Items(extendedJSON(t,
		[]byte(`[0, 1, 2, 2.5, {"$numberLong": "3"}, {"$numberDecimal": "2.5"}, {"$numberDouble": "NaN"},
	  "", "a", "ab", "b", null, true, false, [], [1], [1, 2], ["a", null], [[1, 2]], {}, {"b": 1}, {"b": [1, 2]},
	  {"b": null}, {"c": 2},
	  [{"b": 1}, {"b": 5}], [{"c": 1}], {"b": {"c": 1}}, {"$date": {"$numberLong": "1767225600000"}},
	  {"$oid": "507f1f77bcf86cd799439011"},
	  {"$minKey": 1}, {"$maxKey": 1}, {"$regularExpression": {"pattern": "^a", "options": ""}},
	  {"$binary": {"base64": "AQ==", "subType": "00"}},
	  {"$timestamp": {"t": 1, "i": 1}}]`)))
}

func condition(r *rand.Rand, values []value.Value) value.Value {
	pick := func() value.Value { return values[r.IntN(len(values))] }
	one := func(op string, v value.Value) value.Value {
		return value.Object(document.New(document.Field{Name: op, Value: v}))
	}
	switch r.IntN(14) {
	case 0, 1:
		return pick()
	case 2:
		return one("$in", document.Array([]value.Value{pick(), pick(), pick()}))
	case 3:
		return one("$nin", document.Array([]value.Value{pick(), pick()}))
	case 4:
		return one("$ne", pick())
	case 5:
		return one("$exists", value.Bool(r.IntN(2) == 0))
	case 6:
		return one("$not", one("$gt", pick()))
	case 7:
		return one("$elemMatch", value.Object(document.New(document.Field{Name: "$gte", Value: pick()},
			document.Field{Name: "$lt", Value: pick()})))
	case 8:
		return one("$regex", value.String([]string{"^a", "^ab", "^a*", "b", "^a.b"}[r.IntN(5)]))
	case 9:
		return one("$all", document.Array([]value.Value{pick(), pick()}))
	case 10:
		return value.Object(document.New(document.Field{Name: "$gte", Value: pick()},
			document.Field{Name: "$lte", Value: pick()}))
	case 11:
		return one("$mod", document.Array([]value.Value{value.Int32(2), value.Int32(int32(r.IntN(2)))}))
	}
	return one([]string{"$gt", "$gte", "$lt", "$lte"}[r.IntN(4)], pick())
}

// Whatever index is used, the same documents are found, and in the order asked
// for.
func TestPlansFindWhatAScanFinds(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	values := planValues(t)
	r := rand.New(rand.NewPCG(1, 2))
	paths := []string{"a", "a.b", "x"}
	indexes := []string{`{"a": 1}`, `{"a": -1}`, `{"a.b": 1}`, `{"a": 1, "x": 1}`, `{"a": 1, "a.b": 1}`,
		`{"x": 1, "a": -1}`, `{"x": "hashed"}`, `{"a.b": 1, "x": 1}`}
	used := map[string]int{}
	for round := range 120 {
		scanned, indexed := New(), New()
		for i, key := range indexes {
			if r.IntN(2) == 0 {
				continue
			}
			spec := IndexSpec{Name: key, Key: storetest.Raw(t, key), Sparse: r.IntN(4) == 0}
			if i != 6 && r.IntN(4) == 0 {
				spec.Options = storetest.Raw(t, []string{`{"partialFilterExpression": {"x": {"$exists": true}}}`,
					`{"partialFilterExpression": {"a": {"$gt": 1}}}`}[r.IntN(2)])
			}
			if err := indexed.CreateIndex(spec); err != nil {
				t.Fatal(err)
			}
		}
		for id := range int32(40) {
			fs := []document.Field{{Name: "_id", Value: value.Int32(id)}}
			for _, name := range []string{"a", "x"} {
				if r.IntN(4) > 0 {
					fs = append(fs, document.Field{Name: name, Value: values[r.IntN(len(values))]})
				}
			}
			doc := document.New(fs...)
			if _, err := indexed.Insert(doc); err != nil {
				continue // two arrays side by side, or one in a hashed field
			}
			if _, err := scanned.Insert(doc); err != nil {
				t.Fatal(err)
			}
		}
		for range 30 {
			query := randomQuery(r, values, paths)
			f, err := filter.Compile(query)
			if err != nil {
				continue
			}
			q := Query{Filter: f}
			if r.IntN(2) == 0 {
				q.Sort = storetest.Raw(t, []string{`{"a": 1}`, `{"a": -1}`, `{"x": 1, "a": 1}`, `{"x": 1, "a": -1}`,
					`{"a.b": -1}`}[r.IntN(5)])
			}
			plan, err := indexed.Plan(q)
			if err != nil {
				t.Fatal(err)
			}
			got := idsOf(t, plan)
			if plan.index != nil {
				used[plan.index.spec.Name]++
			}
			all, _ := scanned.Plan(Query{Filter: f, Sort: storetest.Raw(t, `{"$natural": 1}`)})
			want := idsOf(t, all)
			if sorted := slices.Sorted(slices.Values(got)); !slices.Equal(sorted, want) {
				shape, _ := plan.Stages(ResultShape{}, RunStats{})
				t.Fatalf("round %d: %s finds %v, want %v, by %v", round, query, sorted, want, shape.PlannerDoc())
			}
			checkOrder(t, plan, q)
		}
	}
	for _, key := range indexes {
		if used[key] == 0 {
			t.Errorf("no query used the index %s", key)
		}
	}
}

func randomQuery(r *rand.Rand, values []value.Value, paths []string) bson.Raw {
	path := func() string { return paths[r.IntN(len(paths))] }
	switch r.IntN(5) {
	case 0:
		branch := func() value.Value {
			return value.Object(document.New(document.Field{Name: path(), Value: condition(r, values)}))
		}
		return document.New(document.Field{Name: "$or", Value: document.Array([]value.Value{branch(), branch()})})
	case 1:
		return document.New(document.Field{Name: path(), Value: condition(r, values)})
	}
	a, b := path(), path()
	if a == b {
		both := []value.Value{value.Object(document.New(document.Field{Name: a, Value: condition(r, values)})),
			value.Object(document.New(document.Field{Name: b, Value: condition(r, values)}))}
		return document.New(document.Field{Name: "$and", Value: document.Array(both)})
	}
	return document.New(document.Field{Name: a, Value: condition(r, values)},
		document.Field{Name: b, Value: condition(r, values)})
}

func idsOf(t *testing.T, p *Plan) []int32 {
	t.Helper()
	var ids []int32
	for found, err := range p.Run(t.Context(), &Counts{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, value.Int32At(document.Lookup(found.Doc, "_id").Value))
	}
	return ids
}

func checkOrder(t *testing.T, p *Plan, q Query) {
	t.Helper()
	if document.IsEmpty(q.Sort) || !p.IsSorted() {
		return
	}
	order, err := order.Compile(q.Sort)
	if err != nil {
		t.Fatal(err)
	}
	var last bson.Raw
	for found := range p.Run(t.Context(), &Counts{}) {
		if last != nil && order.Compare(last, found.Doc) > 0 {
			t.Fatalf("by %s, %s comes before %s", p.index.spec.Key, last, found.Doc)
		}
		last = found.Doc
	}
}

// Bounds as the server writes them.
func TestBounds(t *testing.T) {
	tests := []struct{ index, query, sort, want string }{
		{`{"k": 1}`, `{"k": 5}`, ``, `["[5, 5]"]`},
		{`{"k": 1}`, `{"k": {"$lt": 60}}`, ``, `["[-inf.0, 60)"]`},
		{`{"k": 1}`, `{"k": {"$gte": 2.5}}`, ``, `["[2.5, inf.0]"]`},
		{`{"k": 1}`, `{"k": {"$gt": 1, "$lte": 5}}`, ``, `["(1, 5]"]`},
		{`{"k": 1}`, `{"k": {"$in": [3, 1]}}`, ``, `["[1, 1]", "[3, 3]"]`},
		{`{"k": 1}`, `{"k": {"$ne": 5}}`, ``, `["[MinKey, 5)", "(5, MaxKey]"]`},
		{`{"k": 1}`, `{"k": {"$gt": "a"}}`, ``, `["(\"a\", {})"]`},
		{`{"k": 1}`, `{"k": {"$regex": "^ab"}}`, ``, `["[\"ab\", \"ac\")", "[/^ab/, /^ab/]"]`},
		{`{"k": 1}`, `{"k": {"$exists": true}}`, ``, `["[MinKey, MaxKey]"]`},
		{`{"k": 1}`, `{}`, `{"k": -1}`, `["[MaxKey, MinKey]"]`},
		{`{"k": -1}`, `{"k": {"$gt": 1}}`, ``, `["[inf.0, 1)"]`},
		{`{"k": 1}`, `{"k": {"$gt": 1, "$lt": 0}}`, ``, `[]`},
		{`{"k": 1}`, `{"k": true}`, ``, `["[true, true]"]`},
		{`{"k": 1}`, `{"k": {"$gte": {"$date": {"$numberLong": "1767225600000"}}}}`, ``,
			`["[new Date(1767225600000), new Date(9223372036854775807)]"]`},
	}
	for _, tt := range tests {
		c := New()
		if err := c.CreateIndex(IndexSpec{Name: "k", Key: storetest.Raw(t, tt.index)}); err != nil {
			t.Fatal(err)
		}
		f, err := filter.Compile(storetest.Raw(t, tt.query))
		if err != nil {
			t.Fatal(err)
		}
		q := Query{Filter: f}
		if tt.sort != "" {
			q.Sort = storetest.Raw(t, tt.sort)
		}
		p, err := c.Plan(q)
		if err != nil || p.index == nil {
			t.Fatalf("%s does not use the index: %v", tt.query, err)
		}
		var want bson.A
		for _, v := range document.Items(extendedJSON(t, []byte(tt.want))) {
			want = append(want, value.TextAt(v.Value))
		}
		if got := p.explainBounds(0); !slices.EqualFunc(got, want, func(a, b any) bool { return a == b }) {
			t.Errorf("%s: bounds %v, want %v", tt.query, got, want)
		}
	}
}

// An $or with a branch without an index does not hide another one whose branches all have indexes.
func TestSecondOrUsesIndexes(t *testing.T) {
	c := New()
	for _, name := range []string{"a", "b"} {
		if err := c.CreateIndex(IndexSpec{Name: name, Key: storetest.Raw(t, `{"`+name+`": 1}`)}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := filter.Compile(storetest.Raw(t, `{"$and": [{"$or": [{"a": 1}, {"x": 1}]}, {"$or": [{"a": 2}, {"b": 2}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Plan(Query{Filter: f})
	if err != nil || len(p.branches) != 2 {
		t.Errorf("%d branches use indexes, want 2: %v", len(p.branches), err)
	}
}

// A parsed query lists its conditions as the server does.
func TestParsedQuery(t *testing.T) {
	for query, want := range map[string]string{
		`{}`:                                      `{}`,
		`{"a": 1}`:                                `{"a": {"$eq": 1}}`,
		`{"b": {"$gte": 1, "$lt": 5}, "a": 1}`:    `{"$and": [{"a": {"$eq": 1}}, {"b": {"$lt": 5}}, {"b": {"$gte": 1}}]}`,
		`{"a": {"$ne": 1}}`:                       `{"a": {"$not": {"$eq": 1}}}`,
		`{"a": {"$in": [1]}}`:                     `{"a": {"$eq": 1}}`,
		`{"a": {"$in": [2, 1, 2]}}`:               `{"a": {"$in": [1, 2]}}`,
		`{"a": {"$exists": false}}`:               `{"a": {"$not": {"$exists": true}}}`,
		`{"$or": [{"a": 1}, {"b": 2}]}`:           `{"$or": [{"a": {"$eq": 1}}, {"b": {"$eq": 2}}]}`,
		`{"a": {"$regex": "x", "$options": "i"}}`: `{"a": {"$regex": "x", "$options": "i"}}`,
	} {
		f, err := filter.Compile(storetest.Raw(t, query))
		if err != nil {
			t.Fatal(err)
		}
		if got := f.ParsedQuery(); !value.Object(got).Equal(value.Object(storetest.Raw(t, want))) {
			t.Errorf("%s is %s, want %s", query, got, want)
		}
	}
}
