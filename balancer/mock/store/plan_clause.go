package store

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// excludesMissing reports whether no document without the field matches.
func excludesMissing(c clause) bool {
	switch c.op {
	case "$eq", "$lte", "$gte":
		return !isNullish(c.arg) && c.arg.Type != bson.TypeMinKey && c.arg.Type != bson.TypeMaxKey
	case "$lt", "$gt":
		return c.arg.Type != bson.TypeMinKey && c.arg.Type != bson.TypeMaxKey
	case "$in":
		return !slices.ContainsFunc(items(c.arg), isNullish)
	case "$exists", "$regex", "$mod", "$elemMatch":
		return true
	}
	return false
}

// implies reports whether every document that matches c also matches o, as far
// as can be seen without trying.
func implies(c, o clause) bool {
	if c.path != o.path {
		return false
	}
	if c.op == o.op && c.arg.Type == o.arg.Type && bytes.Equal(c.arg.Value, o.arg.Value) {
		return true
	}
	if o.op == "$exists" {
		return excludesMissing(c)
	}
	narrow, exact, ok := boundsOf(c)
	wide, wideExact, wideOK := boundsOf(o)
	if !ok || !wideOK || !wideExact || !exact && c.op != "$in" {
		return false
	}
	return narrow.within(wide)
}

// isNotNull reports whether the clause is {$ne: null}, which also takes arrays
// without objects, whose elements an index has as null.
func isNotNull(c clause) bool {
	if c.op != "$not" {
		return false
	}
	op, arg, _ := first(c.arg.Value)
	return op == "$eq" && isNullish(arg)
}

// isLong reports whether a clause has more values than stretches are told apart:
// who routes a query, with others waiting, does not look at them all.
func isLong(c clause) bool {
	if c.op == "$in" {
		return fieldCount(c.arg.Value) > maxTargetRanges
	}
	return len(c.arg.Value) > 32*maxTargetRanges
}
