package expr

import "shardsh/balancer/mock/store/value"

var comparisonFunctions = map[string]function{
	"$cmp": {2, 2, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.Int32(int32(value.Compare(a[0], a[1]))), nil
	}},
	"$eq":  ordered(func(c int) bool { return c == 0 }),
	"$ne":  ordered(func(c int) bool { return c != 0 }),
	"$lt":  ordered(func(c int) bool { return c < 0 }),
	"$lte": ordered(func(c int) bool { return c <= 0 }),
	"$gt":  ordered(func(c int) bool { return c > 0 }),
	"$gte": ordered(func(c int) bool { return c >= 0 }),
}

// ordered compares two values of any types; missing is below null.
func ordered(ok func(int) bool) function {
	return function{2, 2, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.Bool(ok(value.Compare(a[0], a[1]))), nil
	}}
}
