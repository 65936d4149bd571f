package expr

import (
	"maps"
	"slices"
	"strings"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

var setFunctions = map[string]function{
	"$setUnion":        {0, -1, exprSetUnion},
	"$setIntersection": {0, -1, exprSetIntersection},
	"$setDifference":   {2, 2, exprSetDifference},
	"$setEquals":       {2, -1, exprSetEquals},
	"$setIsSubset":     {2, 2, exprSetIsSubset},
	"$anyElementTrue":  {1, 1, exprAnyElementTrue},
	"$allElementsTrue": {1, 1, exprAllElementsTrue},
}

// Set is a set of values, by their encoding.
type Set map[string]value.Value

// NewSet returns the set of an array's elements. Of equal elements it keeps the first.
func NewSet(w *quota.Meter, arr value.Value) Set {
	s := Set{}
	s.addAll(w, arr)
	return s
}

// addAll adds the elements of an array that the set does not have.
func (s Set) addAll(w *quota.Meter, arr value.Value) {
	for _, v := range w.Fields(arr.Value) {
		if key := value.EncodedKey(v); value.IsMissing(s[key]) {
			s[key] = v
		}
	}
}

// sortedArray returns the members sorted, as the server does.
func (s Set) sortedArray(w *quota.Meter) value.Value {
	keys := slices.Collect(maps.Keys(s))
	quota.SortStable(w, keys, strings.Compare)
	out := make([]value.Value, len(keys))
	for i, key := range keys {
		out[i] = s[key]
	}
	return document.Array(out)
}

func exprSetUnion(c *Evaluation, args []value.Value) (value.Value, error) {
	all := Set{}
	for _, v := range args {
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		if !value.IsArray(v) {
			return value.Value{}, servererr.NewCode(17043,
				"All operands of $setUnion must be arrays. One argument is of type: %s", value.TypeName(v))
		}
		all.addAll(c.Meter, v)
	}
	return all.sortedArray(c.Meter), nil
}

func exprSetIntersection(c *Evaluation, args []value.Value) (value.Value, error) {
	var all Set
	for i, v := range args {
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		if !value.IsArray(v) {
			return value.Value{}, servererr.NewCode(17047,
				"All operands of $setIntersection must be arrays. One argument is of type: %s",
				value.TypeName(v))
		}
		other := NewSet(c.Meter, v)
		if i == 0 {
			all = other
			continue
		}
		for key := range all {
			if _, ok := other[key]; !ok {
				delete(all, key)
			}
		}
	}
	return all.sortedArray(c.Meter), nil
}

// exprSetDifference returns the elements of the first array that are not in the second, in order.
func exprSetDifference(c *Evaluation, args []value.Value) (value.Value, error) {
	a, b := args[0], args[1]
	switch {
	case value.IsNullish(a) || value.IsNullish(b):
		return value.Null(), nil
	case !value.IsArray(a):
		return value.Value{}, servererr.NewCode(17048,
			"both operands of $setDifference must be arrays. First argument is of type: %s",
			value.TypeName(a))
	case !value.IsArray(b):
		return value.Value{}, servererr.NewCode(17049,
			"both operands of $setDifference must be arrays. Second argument is of type: %s",
			value.TypeName(b))
	}
	seen := NewSet(c.Meter, b)
	var out []value.Value
	for _, v := range c.Meter.Fields(a.Value) {
		if key := value.EncodedKey(v); value.IsMissing(seen[key]) {
			seen[key] = v
			out = append(out, v)
		}
	}
	return document.Array(out), nil
}

func exprSetEquals(c *Evaluation, args []value.Value) (value.Value, error) {
	var one Set
	for i, v := range args {
		if !value.IsArray(v) {
			return value.Value{}, servererr.NewCode(17044,
				"All operands of $setEquals must be arrays. One argument is of type: %s", value.TypeName(v))
		}
		other := NewSet(c.Meter, v)
		if i == 0 {
			one = other
			continue
		}
		if len(one) != len(other) || !one.isSubsetOf(other) {
			return value.Bool(false), nil
		}
	}
	return value.Bool(true), nil
}

func (s Set) isSubsetOf(other Set) bool {
	for key := range s {
		if _, ok := other[key]; !ok {
			return false
		}
	}
	return true
}

func exprSetIsSubset(c *Evaluation, args []value.Value) (value.Value, error) {
	switch {
	case !value.IsArray(args[0]):
		return value.Value{}, servererr.NewCode(17046,
			"both operands of $setIsSubset must be arrays. First argument is of type: %s",
			value.TypeName(args[0]))
	case !value.IsArray(args[1]):
		return value.Value{}, servererr.NewCode(17042,
			"both operands of $setIsSubset must be arrays. Second argument is of type: %s",
			value.TypeName(args[1]))
	}
	return value.Bool(NewSet(c.Meter, args[0]).isSubsetOf(NewSet(c.Meter, args[1]))), nil
}

func exprAnyElementTrue(c *Evaluation, args []value.Value) (value.Value, error) {
	if !value.IsArray(args[0]) {
		return value.Value{}, servererr.NewCode(17041, "$anyElementTrue's argument must be an array, but is %s",
			value.TypeName(args[0]))
	}
	return value.Bool(slices.ContainsFunc(c.Meter.Items(args[0]), value.IsTruthy)), nil
}

func exprAllElementsTrue(c *Evaluation, args []value.Value) (value.Value, error) {
	if !value.IsArray(args[0]) {
		return value.Value{}, servererr.NewCode(17040, "$allElementsTrue's argument must be an array, but is %s",
			value.TypeName(args[0]))
	}
	isFalse := func(v value.Value) bool { return !value.IsTruthy(v) }
	return value.Bool(!slices.ContainsFunc(c.Meter.Items(args[0]), isFalse)), nil
}
