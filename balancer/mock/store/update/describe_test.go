package update

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// What a real cluster's change streams said of these updates (recording 13), and
// the same rules on other documents.
func TestDescribe(t *testing.T) {
	long := strings.Repeat("x", 40)
	for _, tt := range []struct{ name, before, update, want string }{
		{"fields", `{"o": {"p": 1, "q": 2}}`, `{"$set": {"x": 1, "o.p": 5}, "$unset": {"o.q": ""}}`,
			`{"o.p":5,"x":1} ["o.q"] []`},
		{"$pop", `{"a": [1, 2, 3]}`, `{"$pop": {"a": 1}}`, `{"a":[1,2]} [] []`},
		{"$push", `{"a": [1, 2]}`, `{"$push": {"a": 9}}`, `{"a.2":9} [] []`},
		{"an element", `{"a": [1, 2]}`, `{"$set": {"a.0": 7}}`, `{"a.0":7} [] []`},
		{"$push at a place", `{"a": [1, 2]}`, `{"$push": {"a": {"$each": [9], "$position": 0}}}`, `{"a":[9,1,2]} [] []`},
		{"$pull", `{"a": [1, 2, 1]}`, `{"$pull": {"a": 1}}`, `{"a":[2]} [] []`},
		{"$addToSet", `{"a": [1]}`, `{"$addToSet": {"a": {"$each": [1, 2, 3]}}}`, `{"a.1":2,"a.2":3} [] []`},
		{"a whole document", `{"o": {"p": 1, "q": 2}}`, `{"$set": {"o": {"p": 1, "q": 3}}}`, `{"o":{"p":1,"q":3}} [] []`},
		{"a shorter array", `{"a": [1, 2]}`, `{"$set": {"a": [1]}}`, `{"a":[1]} [] []`},
		{"all elements", `{"a": [{"n": 1}, {"n": 2}]}`, `{"$inc": {"a.$[].n": 1}}`, `{"a.0.n":2,"a.1.n":3} [] []`},
		{"$rename", `{"a": 1}`, `{"$rename": {"a": "b"}}`, `{"b":1} ["a"] []`},
		{"a new path", `{"b": 1}`, `{"$set": {"x.y": 1}}`, `{"x":{"y":1}} [] []`},
		{"a short document by a pipeline", `{"k": 1, "only": true}`,
			`[{"$set": {"only": false, "more": {"$literal": {"deep": [1]}}}}]`, "replaced"},
		{"a long one", `{"k": 1, "long": "` + long + long + `", "n": 1}`, `[{"$set": {"n": 2}}]`, `{"n":2} [] []`},
		{"an array cut by a pipeline", `{"a": ["` + long + `", "` + long + `", 3]}`,
			`[{"$set": {"a": {"$slice": ["$a", 2]}}}]`,
			`{} [] [{"field":"a","newSize":2}]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := "replaced"
			if d, ok := describe(t, tt.before, tt.update); ok {
				parts := marshalled(t, bson.D{{Key: "u", Value: d.Updated}, {Key: "r", Value: d.Removed},
					{Key: "t", Value: d.Truncated}})
				text, err := bson.MarshalExtJSON(parts, false, false)
				if err != nil {
					t.Fatal(err)
				}
				got = strings.NewReplacer(`{"u":`, "", `,"r":`, " ", `,"t":`, " ").Replace(strings.TrimSuffix(string(text), "}"))
			}
			if got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
}

// Two changes may have the path of an element: an array that one of them replaces is recorded as a whole.
func TestDescribeTwoChangesOfElements(t *testing.T) {
	d, ok := describe(t, `{"a": [[1], [2, 3]]}`, `{"$push": {"a.$[x]": 9}, "$set": {"a.$[y]": [2, 4]}}`,
		marshalled(t, bson.D{{Key: "x", Value: bson.A{1}}}), marshalled(t, bson.D{{Key: "y", Value: bson.A{2, 3}}}))
	got, err := bson.MarshalExtJSON(d.Updated, false, false)
	if want := `{"a.0.1":9,"a.1":[2,4]}`; !ok || err != nil || string(got) != want {
		t.Errorf("got  %s %v %v\nwant %s", got, ok, err, want)
	}
}

// Names that have dots or are numbers, as the manual's page "update Event" has them:
// places in arrays are numbers, and the first name of a path can't be one.
func TestDescribeAmbiguousPaths(t *testing.T) {
	long := strings.Repeat("x", 40)
	for _, tt := range []struct{ before, update, want string }{
		{`{"a": [{"b": [1, 2]}], "1": 1}`, `{"$set": {"a.0.b.1": 3, "1": 2}}`, `{}`},
		{`{"a": {"1": 1}}`, `{"$set": {"a.1": 2}}`, `{"a.1":["a","1"]}`},
		{`{"a": [{"1": 1}]}`, `{"$set": {"a.0.1": 2}}`, `{"a.0.1":["a",0,"1"]}`},
		{`{"0": {"1": 1}}`, `{"$unset": {"0.1": 1}}`, `{"0.1":["0","1"]}`},
		{`{"a": {"1": {"b": 1}}}`, `{"$inc": {"a.1.b": 1}}`, `{"a.1.b":["a","1","b"]}`},
		{`{"a.b": 1, "c": "` + long + `"}`,
			`[{"$replaceWith": {"$setField": {"field": "a.b", "input": "$$ROOT", "value": 2}}}]`,
			`{"a.b":["a.b"]}`},
		{`{"a": {"1": ["` + long + `", "` + long + `", 3]}, "b": "` + long + `"}`,
			`[{"$set": {"a.1": {"$slice": ["$a.1", 2]}}}]`,
			`{"a.1":["a","1"]}`},
	} {
		d, ok := describe(t, tt.before, tt.update)
		got, err := bson.MarshalExtJSON(d.Ambiguous, false, false)
		if !ok || err != nil || string(got) != tt.want {
			t.Errorf("%s of %s:\ngot  %s %v %v\nwant %s", tt.update, tt.before, got, ok, err, tt.want)
		}
	}
}

// describe applies an update to a document and tells what it did.
func describe(t *testing.T, before, update string, arrayFilters ...bson.Raw) (Description, bool) {
	t.Helper()
	var given struct{ Before, Update bson.RawValue }
	if err := bson.UnmarshalExtJSON([]byte(`{"before": `+before+`, "update": `+update+`}`), false, &given); err != nil {
		t.Fatal(err)
	}
	compiled, err := Compile(given.Update, Options{ArrayFilters: arrayFilters})
	if err != nil {
		t.Fatal(err)
	}
	doc := given.Before.Document()
	after, _, err := compiled.Apply(doc)
	if err != nil {
		t.Fatal(err)
	}
	return compiled.Describe(doc, after)
}

func marshalled(t *testing.T, doc bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
