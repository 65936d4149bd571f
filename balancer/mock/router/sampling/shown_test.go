package sampling

import (
	"bufio"
	"compress/gzip"
	"os"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// fieldsOf are the names of a document's fields, in order.
func fieldsOf(t *testing.T, doc bson.Raw) (names []string) {
	t.Helper()
	elements, err := doc.Elements()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range elements {
		names = append(names, e.Key())
	}
	return names
}

// Sampled queries have the fields that a real 8.0.10 gave them, in their order, but for the
// sampleId of statements.
func TestShownAsRecorded(t *testing.T) {
	file, err := os.Open("../../../heat/testdata/load-sources.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	lines := bufio.NewScanner(unzipped)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var line struct {
			Note      string
			Documents []bson.Raw
		}
		if err := bson.UnmarshalExtJSON(lines.Bytes(), true, &line); err != nil {
			t.Fatal(err)
		}
		if line.Note != "config.sampledQueries" {
			continue
		}
		for _, recorded := range line.Documents {
			name := recorded.Lookup("cmdName").StringValue()
			if seen[name] {
				continue
			}
			seen[name] = true
			set, _ := bson.Marshal(bson.D{{Key: "$set", Value: bson.D{{Key: "a", Value: 1}}}})
			q := Query{command: name, cmdDoc: newCmdDoc("heat.r", name, bson.Raw{5, 0, 0, 0, 0},
				writeStatement{update: bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: set}})}
			ours, err := bson.Marshal(q.Doc("heat.r", bson.Binary{Subtype: 4, Data: make([]byte, 16)}, 0))
			if err != nil {
				t.Fatal(err)
			}
			compare := func(path ...string) {
				t.Helper()
				want, got := recorded, bson.Raw(ours)
				if len(path) > 0 {
					want, _ = want.Lookup(path...).DocumentOK()
					got, _ = got.Lookup(path...).DocumentOK()
				}
				names := slices.DeleteFunc(fieldsOf(t, want), func(n string) bool { return n == "sampleId" })
				if is := fieldsOf(t, got); !slices.Equal(is, names) {
					t.Errorf("%s %v has %v, recorded are %v", name, path, is, names)
				}
			}
			compare()
			compare("cmd")
			if name == "update" || name == "delete" {
				compare("cmd", name+"s", "0")
			}
		}
	}
	if len(seen) != 6 {
		t.Errorf("recorded are %v", seen)
	}
}
