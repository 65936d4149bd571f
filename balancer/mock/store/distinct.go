package store

import (
	"context"
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Distinct returns the different values at a path, in the order they are first
// met. An array counts as its elements.
func Distinct(ctx context.Context, path string, docs iter.Seq[bson.Raw]) ([]bson.RawValue, error) {
	w := newWork(ctx)
	parts := splitPath(path)
	seen := map[string]bool{}
	var out []bson.RawValue
	for doc := range docs {
		if err := w.step(1); err != nil {
			return nil, err
		}
		eachValue(w, doc, parts, func(v value) {
			if isMissing(v) {
				return
			}
			if key := encoded(v); !seen[key] {
				seen[key] = true
				out = append(out, v)
			}
		})
	}
	return out, w.over()
}
