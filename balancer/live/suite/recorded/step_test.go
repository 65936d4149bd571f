package recorded

import (
	"reflect"
	"regexp"
	"slices"
	"testing"
)

func TestShape(t *testing.T) {
	a := map[string]any{"x": 1.0, "y": []any{"a", "b"}}
	b := map[string]any{"x": 2.0, "y": []any{"c"}}
	if !reflect.DeepEqual(shape(a), shape(b)) {
		t.Error("values of one shape differ")
	}
	if reflect.DeepEqual(shape(a), shape(map[string]any{"x": "1", "y": []any{"a"}})) {
		t.Error("values of two shapes are the same")
	}
}

// named finds the names of databases in a script, which all begin alike.
var named = regexp.MustCompile("[\"'`](g[0-9][0-9x]*)[.\"'`]")

// The databases that a scenario names are known, so that nobody else's is dropped.
func TestDatabasesAreKnown(t *testing.T) {
	for _, s := range Scenarios() {
		text, err := files.ReadFile("testdata/" + s.Name + ".js")
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range named.FindAllSubmatch(text, -1) {
			if name := string(found[1]); !slices.Contains(Databases(), name) {
				t.Errorf("%s uses the database %s", s.Name, name)
			}
		}
	}
}
