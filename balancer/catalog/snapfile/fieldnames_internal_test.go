package snapfile

import (
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

var updateFieldNames = flag.Bool("update-field-names", false, "write testdata/fieldnames.txt")

// The names of the stored fields are those of Go fields, which a rename in package catalog changes. New
// fields may be added to the list; the names in it may not change, since older files contain them.
func TestStoredFieldNames(t *testing.T) {
	stored := fieldNames(reflect.TypeFor[allRecords](), "", map[reflect.Type]bool{})
	path := filepath.Join("testdata", "fieldnames.txt")
	if *updateFieldNames {
		if err := os.WriteFile(path, []byte(strings.Join(stored, "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range strings.Fields(string(list)) {
		if !slices.Contains(stored, name) {
			t.Errorf("%s, which files contain, is not stored any more", name)
		}
	}
	for _, name := range stored {
		if !slices.Contains(strings.Fields(string(list)), name) {
			t.Errorf("%s is stored, but not in %s: -update-field-names", name, path)
		}
	}
}

// allRecords contains each kind of record.
type allRecords struct {
	Head       head
	Document   document
	Collection collection
	Zone       zone
	Sizes      sizes
}

// fieldNames returns the keys of a type in BSON, with those of the types in it.
func fieldNames(of reflect.Type, prefix string, seen map[reflect.Type]bool) (list []string) {
	for slices.Contains([]reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map}, of.Kind()) {
		of = of.Elem()
	}
	own := []reflect.Type{
		reflect.TypeFor[catalog.KeyPattern](), reflect.TypeFor[catalog.Release](), reflect.TypeFor[bson.Timestamp](),
	}
	if of.Kind() != reflect.Struct || of.PkgPath() == "time" || slices.Contains(own, of) || seen[of] {
		return nil
	}
	seen[of] = true
	defer delete(seen, of)
	for f := range of.Fields() {
		if !f.IsExported() {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("bson"), ",")
		if name == "" {
			name = strings.ToLower(f.Name)
		}
		list = append(list, prefix+name)
		list = append(list, fieldNames(f.Type, prefix+name+".", seen)...)
	}
	return list
}
