package keyadvice

import (
	"math"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Limits of the fields that are considered for a key.
const (
	maxFieldDepth = 3    // nesting of documents
	maxValueBytes = 64   // average bytes of a value: longer values are contents
	minPresence   = 0.75 // share of the documents that have the field
	maxFields     = 60
)

// SuitableFields returns the fields of documents whose values are suitable for a shard key: short, present in
// most documents, and neither arrays, booleans, regular expressions nor fractions.
func SuitableFields(docs []bson.Raw) []string {
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

// fieldStats holds the statistics of a field.
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

// walkFields calls show for the fields of a document and of its nested documents, with their paths.
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
		inner, ok := v.DocumentOK()
		switch {
		case ok && depth < maxFieldDepth:
			walkFields(inner, before+name+".", depth+1, show)
		case !ok:
			show(before+name, v)
		}
	}
}

// Projection returns the projection for documents that are needed to rate keys of these fields. It
// leaves out fields inside other fields of the projection.
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
