package store

import (
	"cmp"
	"slices"
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

// set is the values of an array by their encoding.
type set map[string]value

func setFrom(w *work, arr value) set {
	s := set{}
	for _, v := range w.fields(arr.Value) {
		if key := encoded(v); isMissing(s[key]) {
			s[key] = v
		}
	}
	return s
}

// sorted returns the members in the order of values, as the server does.
func (s set) sorted(w *work) value {
	type member struct {
		key string
		v   value
	}
	list := make([]member, 0, len(s))
	for key, v := range s {
		list = append(list, member{key, v})
	}
	sortStable(w, list, func(a, b member) int { return cmp.Compare(a.key, b.key) })
	out := make([]value, len(list))
	for i, m := range list {
		out[i] = m.v
	}
	return arrayOf(out)
}

func exprSetUnion(c *evaluation, args []value) (value, error) {
	all := set{}
	for _, v := range args {
		if isNullish(v) {
			return nullValue(), nil
		}
		if !isArray(v) {
			return value{}, fail(17043, "All operands of $setUnion must be arrays. One argument is of type: %s", typeName(v))
		}
		for _, e := range c.work.fields(v.Value) {
			if key := encoded(e); isMissing(all[key]) {
				all[key] = e
			}
		}
	}
	return all.sorted(c.work), nil
}

func exprSetIntersection(c *evaluation, args []value) (value, error) {
	var all set
	for i, v := range args {
		if isNullish(v) {
			return nullValue(), nil
		}
		if !isArray(v) {
			return value{}, fail(17047, "All operands of $setIntersection must be arrays. One argument is of type: %s",
				typeName(v))
		}
		other := setFrom(c.work, v)
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
	return all.sorted(c.work), nil
}

// exprSetDifference keeps the order of the first array.
func exprSetDifference(c *evaluation, args []value) (value, error) {
	a, b := args[0], args[1]
	switch {
	case isNullish(a) || isNullish(b):
		return nullValue(), nil
	case !isArray(a):
		return value{}, fail(17048, "both operands of $setDifference must be arrays. First argument is of type: %s",
			typeName(a))
	case !isArray(b):
		return value{}, fail(17049, "both operands of $setDifference must be arrays. Second argument is of type: %s",
			typeName(b))
	}
	seen := setFrom(c.work, b)
	var out []value
	for _, v := range c.work.fields(a.Value) {
		if key := encoded(v); isMissing(seen[key]) {
			seen[key] = v
			out = append(out, v)
		}
	}
	return arrayOf(out), nil
}

func exprSetEquals(c *evaluation, args []value) (value, error) {
	var one set
	for i, v := range args {
		if !isArray(v) {
			return value{}, fail(17044, "All operands of $setEquals must be arrays. One argument is of type: %s", typeName(v))
		}
		other := setFrom(c.work, v)
		if i == 0 {
			one = other
			continue
		}
		if len(one) != len(other) || !one.within(other) {
			return boolValue(false), nil
		}
	}
	return boolValue(true), nil
}

func (s set) within(other set) bool {
	for key := range s {
		if _, ok := other[key]; !ok {
			return false
		}
	}
	return true
}

func exprSetIsSubset(c *evaluation, args []value) (value, error) {
	switch {
	case !isArray(args[0]):
		return value{}, fail(17046, "both operands of $setIsSubset must be arrays. First argument is of type: %s",
			typeName(args[0]))
	case !isArray(args[1]):
		return value{}, fail(17042, "both operands of $setIsSubset must be arrays. Second argument is of type: %s",
			typeName(args[1]))
	}
	return boolValue(setFrom(c.work, args[0]).within(setFrom(c.work, args[1]))), nil
}

func exprAnyElementTrue(c *evaluation, args []value) (value, error) {
	if !isArray(args[0]) {
		return value{}, fail(17041, "$anyElementTrue's argument must be an array, but is %s", typeName(args[0]))
	}
	return boolValue(slices.ContainsFunc(c.work.items(args[0]), truthy)), nil
}

func exprAllElementsTrue(c *evaluation, args []value) (value, error) {
	if !isArray(args[0]) {
		return value{}, fail(17040, "$allElementsTrue's argument must be an array, but is %s", typeName(args[0]))
	}
	return boolValue(!slices.ContainsFunc(c.work.items(args[0]), func(v value) bool { return !truthy(v) })), nil
}
