package store

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/value"
)

// excludesMissing reports whether the clause never matches a document without the field.
func excludesMissing(c filter.Clause) bool {
	switch c.Op {
	case "$eq", "$lte", "$gte":
		return !value.IsNullish(c.Arg) && c.Arg.Type != bson.TypeMinKey && c.Arg.Type != bson.TypeMaxKey
	case "$lt", "$gt":
		return c.Arg.Type != bson.TypeMinKey && c.Arg.Type != bson.TypeMaxKey
	case "$in":
		return !slices.ContainsFunc(document.Items(c.Arg), value.IsNullish)
	case "$exists", "$regex", "$mod", "$elemMatch":
		return true
	}
	return false
}

// implies reports whether every document that matches c also matches o. It may return false for an
// implication that is hard to see.
func implies(c, o filter.Clause) bool {
	if c.Path != o.Path {
		return false
	}
	if c.Op == o.Op && c.Arg.Type == o.Arg.Type && bytes.Equal(c.Arg.Value, o.Arg.Value) {
		return true
	}
	if o.Op == "$exists" {
		return excludesMissing(c)
	}
	narrow, exact, ok := boundsOf(c)
	wide, wideExact, wideOK := boundsOf(o)
	if !ok || !wideOK || !wideExact || !exact && c.Op != "$in" {
		return false
	}
	return narrow.isSubsetOf(wide)
}

// isNotNull reports whether the clause is {$ne: null}. It also matches arrays without objects, whose
// elements an index stores as null.
func isNotNull(c filter.Clause) bool {
	if c.Op != "$not" {
		return false
	}
	op, arg, _ := document.FirstField(c.Arg.Value)
	return op == "$eq" && value.IsNullish(arg)
}

// hasTooManyValues reports whether a clause has more values than maxTargetRanges. A router does not
// evaluate so many values, because that would delay other queries.
func hasTooManyValues(c filter.Clause) bool {
	if c.Op == "$in" {
		return document.Count(c.Arg.Value) > maxTargetRanges
	}
	return len(c.Arg.Value) > 32*maxTargetRanges
}
