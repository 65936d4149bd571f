package order

import (
	"slices"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// CompileElementOrder compiles an order of array elements, as in the $sort of $push and in $sortArray:
// 1, -1 or a sort pattern.
func CompileElementOrder(v value.Value) (func(a, b value.Value) int, error) {
	if value.IsNumber(v) {
		direction, ok := value.WholeInteger(v)
		if !ok || direction != 1 && direction != -1 {
			return nil, servererr.BadValue("The $sort element value must be either 1 or -1")
		}
		return func(a, b value.Value) int { return int(direction) * value.Compare(a, b) }, nil
	}
	if !value.IsObject(v) {
		return nil, servererr.BadValue(
			"The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields")
	}
	if document.IsEmpty(v.Value) {
		return nil, servererr.BadValue("The $sort pattern is empty when it should be a set of fields.")
	}
	for name, direction := range document.Fields(v.Value) {
		if n, ok := value.WholeInteger(direction); !ok || n != 1 && n != -1 {
			return nil, servererr.BadValue("The $sort element value must be either 1 or -1")
		}
		if slices.Contains(paths.Split(string(name)), "") {
			return nil, servererr.BadValue("The $sort field is a dotted field but has an empty part: %s", name)
		}
	}
	s, err := Compile(v.Value)
	if err != nil {
		return nil, err
	}
	return func(a, b value.Value) int { return s.Compare(document.OrEmpty(a), document.OrEmpty(b)) }, nil
}
