package store

var comparisonFunctions = map[string]function{
	"$cmp": {2, 2, func(_ *evaluation, a []value) (value, error) { return int32Value(int32(compare(a[0], a[1]))), nil }},
	"$eq":  ordered(func(c int) bool { return c == 0 }),
	"$ne":  ordered(func(c int) bool { return c != 0 }),
	"$lt":  ordered(func(c int) bool { return c < 0 }),
	"$lte": ordered(func(c int) bool { return c <= 0 }),
	"$gt":  ordered(func(c int) bool { return c > 0 }),
	"$gte": ordered(func(c int) bool { return c >= 0 }),
}

// ordered compares two values of any types; missing is below null.
func ordered(ok func(int) bool) function {
	return function{2, 2, func(_ *evaluation, a []value) (value, error) {
		return boolValue(ok(compare(a[0], a[1]))), nil
	}}
}
