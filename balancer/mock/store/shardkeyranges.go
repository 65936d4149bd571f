package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/value"
)

// ShardKeyRange is a range of encoded keys, [From, To); a nil To is unbounded.
type ShardKeyRange struct{ From, To []byte }

// maxTargetRanges is the maximum number of shard key ranges of a targeted query. A query with more
// ranges goes to all shards.
const maxTargetRanges = 1000

// ShardKeyRanges returns the ranges of shard keys that matching documents can have. It returns false if the
// query has no condition on the key's first field. A shard key contains no arrays, so all clauses on a
// field narrow its ranges.
func ShardKeyRanges(f *filter.Filter, key bson.Raw) ([]ShardKeyRange, bool) {
	if f == nil {
		return nil, false
	}
	clauses := f.Clauses
	if len(clauses) > maxTargetRanges {
		return nil, false
	}
	var a accessPath
	for name, v := range document.Fields(key) {
		b := everyValue
		field := indexField{name: string(name), hashed: value.IsString(v)}
		if slices.ContainsFunc(clauses, func(c filter.Clause) bool { return c.Path == field.name && hasTooManyValues(c) }) {
			return nil, false
		}
		field.narrowBounds(&b, clauses, make([]bool, len(clauses)), false)
		if len(b) > maxTargetRanges {
			return nil, false
		}
		a.bounds = append(a.bounds, b)
	}
	if len(a.bounds) == 0 || a.bounds[0].isUnbounded() {
		return nil, false
	}
	ranges, _ := a.keyRanges()
	out := make([]ShardKeyRange, len(ranges))
	for i, r := range ranges {
		out[i] = ShardKeyRange{r.from, r.to}
	}
	return out, true
}
