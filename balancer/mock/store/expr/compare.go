package expr

import "shardsh/balancer/mock/store/value"

var comparisonFunctions = map[string]function{
	"$cmp": {2, 2, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.Int32(int32(value.Compare(a[0], a[1]))), nil
	}},
	"$eq":  comparisonFunction(func(c int) bool { return c == 0 }),
	"$ne":  comparisonFunction(func(c int) bool { return c != 0 }),
	"$lt":  comparisonFunction(func(c int) bool { return c < 0 }),
	"$lte": comparisonFunction(func(c int) bool { return c <= 0 }),
	"$gt":  comparisonFunction(func(c int) bool { return c > 0 }),
	"$gte": comparisonFunction(func(c int) bool { return c >= 0 }),
}

// comparisonFunction returns an operator that compares two values of any types; missing is less than
// null.
func comparisonFunction(ok func(int) bool) function {
	return function{2, 2, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.Bool(ok(value.Compare(a[0], a[1]))), nil
	}}
}
