package store

import (
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Distinct returns the different values at a path, in the order they are first
// met. An array counts as its elements.
func Distinct(path string, docs iter.Seq[bson.Raw]) []bson.RawValue {
	parts := splitPath(path)
	seen := map[string]bool{}
	var out []bson.RawValue
	for doc := range docs {
		eachValue(doc, parts, func(v value) {
			if isMissing(v) {
				return
			}
			if key := encoded(v); !seen[key] {
				seen[key] = true
				out = append(out, v)
			}
		})
	}
	return out
}
