package store

import (
	"context"
	"iter"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/value"
)

// Distinct returns the distinct values at a path in the order of their first occurrence. The elements of
// an array count as values.
func Distinct(ctx context.Context, path string, docs iter.Seq[bson.Raw]) ([]bson.RawValue, error) {
	w := quota.New(ctx)
	parts := paths.Split(path)
	seen := map[string]bool{}
	var out []bson.RawValue
	for doc := range docs {
		if err := w.Charge(1); err != nil {
			return nil, err
		}
		paths.EachValue(w, doc, parts, func(v value.Value) {
			if value.IsMissing(v) {
				return
			}
			if key := value.EncodedKey(v); !seen[key] {
				seen[key] = true
				out = append(out, v)
			}
		})
	}
	return out, w.Err()
}
