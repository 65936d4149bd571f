package keyadvice

import (
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Limits of what is taken for a field that a key could have.
const (
	maxFieldDepth = 3    // fields of documents in documents
	maxValueBytes = 64   // bytes of a value on average: longer ones are contents
	minPresence   = 0.75 // of the documents have it
	maxFields     = 60
)

// FieldsOf lists the fields of documents whose values could be those of a shard key:
// short, in most documents, and neither arrays nor measured numbers.
func FieldsOf(docs []bson.Raw) []string {
	found := map[string]*fieldStats{}
	var order []string
	for _, doc := range docs {
		walkFields(doc, "", 1, func(path string, v bson.RawValue) {
			if found[path] == nil {
				found[path] = &fieldStats{}
				order = append(order, path)
			}
			found[path].add(v)
		})
	}
	var names []string
	for _, path := range order {
		if found[path].isSuitable(len(docs)) && len(names) < maxFields {
			names = append(names, path)
		}
	}
	return names
}

// fieldStats has the statistics of a field.
type fieldStats struct{ n, bytes, unsuited int }

func (s *fieldStats) add(v bson.RawValue) {
	s.n++
	s.bytes += len(v.Value)
	if v.Type == bson.TypeArray || v.Type == bson.TypeRegex || v.Type == bson.TypeBoolean ||
		v.Type == bson.TypeDouble && v.Double() != math.Trunc(v.Double()) {
		s.unsuited++
	}
}

func (s *fieldStats) isSuitable(of int) bool {
	return float64(s.n) >= minPresence*float64(of) && s.bytes <= maxValueBytes*s.n && s.unsuited == 0
}

// walkFields shows the fields of a document and of those in it, with their paths.
func walkFields(doc bson.Raw, before string, depth int, show func(path string, v bson.RawValue)) {
	elements, err := doc.Elements()
	if err != nil {
		return
	}
	for _, e := range elements {
		name, v := e.Key(), e.Value()
		if name == "" || strings.HasPrefix(name, "$") || strings.Contains(name, ".") {
			continue
		}
		inner, is := v.DocumentOK()
		switch {
		case is && depth < maxFieldDepth:
			walkFields(inner, before+name+".", depth+1, show)
		case !is:
			show(before+name, v)
		}
	}
}

// Projection returns what to read of documents to judge keys of these fields: those,
// without what lies within another one of them.
func Projection(names []string) bson.D {
	names = slices.Compact(slices.Sorted(slices.Values(names)))
	doc := bson.D{}
	if !slices.Contains(names, "_id") {
		doc = append(doc, bson.E{Key: "_id", Value: int32(1)})
	}
	for _, name := range names {
		inside := slices.ContainsFunc(names, func(o string) bool { return strings.HasPrefix(name, o+".") })
		if !inside {
			doc = append(doc, bson.E{Key: name, Value: int32(1)})
		}
	}
	return doc
}
