package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// KeyRange is a stretch of encoded keys: From <= key < To; a nil To is open.
type KeyRange struct{ From, To []byte }

// maxTargetRanges is how many stretches of a shard key are told apart. A query
// that has more goes to all shards.
const maxTargetRanges = 1000

// KeyRanges returns the stretches of a shard key that documents which match lie
// in; false means that the query says nothing about the key's first field. A
// shard key has no arrays, so that all clauses on a field narrow it.
func (f *Filter) KeyRanges(key bson.Raw) ([]KeyRange, bool) {
	if f == nil {
		return nil, false
	}
	clauses := f.clauses
	if len(clauses) > maxTargetRanges {
		return nil, false
	}
	var a accessPath
	for name, v := range fields(key) {
		b := allValues()
		field := indexField{name: string(name), hashed: isString(v)}
		if slices.ContainsFunc(clauses, func(c clause) bool { return c.path == field.name && c.isLong() }) {
			return nil, false
		}
		field.narrow(&b, clauses, make([]bool, len(clauses)), false)
		if len(b) > maxTargetRanges {
			return nil, false
		}
		a.bounds = append(a.bounds, b)
	}
	if len(a.bounds) == 0 || a.bounds[0].everything() {
		return nil, false
	}
	ranges, _ := a.ranges()
	out := make([]KeyRange, len(ranges))
	for i, r := range ranges {
		out[i] = KeyRange{r.from, r.to}
	}
	return out, true
}

// isLong reports whether a clause has more values than stretches are told apart:
// who routes a query, with others waiting, does not look at them all.
func (c clause) isLong() bool {
	if c.op == "$in" {
		return fieldCount(c.arg.Value) > maxTargetRanges
	}
	return len(c.arg.Value) > 32*maxTargetRanges
}

// WholeKey reports whether the query gives every field of a shard key exactly
// one value, so that no document found can belong to another shard.
func (f *Filter) WholeKey(names []string) bool {
	return f != nil && !slices.ContainsFunc(names, func(name string) bool {
		v, ok := f.Equality(name)
		return !ok || isNullish(v) || isArray(v) || v.Type == bson.TypeRegex
	})
}
