package store

import "slices"

// elementOrder compiles the order of an array's elements, as $sort of $push and
// $sortArray have it: 1, -1 or a sort pattern.
func elementOrder(v value) (func(a, b value) int, error) {
	if isNumber(v) {
		direction, ok := wholeInteger(v)
		if !ok || direction != 1 && direction != -1 {
			return nil, badValue("The $sort element value must be either 1 or -1")
		}
		return func(a, b value) int { return int(direction) * compare(a, b) }, nil
	}
	if !isObject(v) {
		return nil, badValue("The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields")
	}
	if isEmpty(v.Value) {
		return nil, badValue("The $sort pattern is empty when it should be a set of fields.")
	}
	for name, direction := range fields(v.Value) {
		if n, ok := wholeInteger(direction); !ok || n != 1 && n != -1 {
			return nil, badValue("The $sort element value must be either 1 or -1")
		}
		if slices.Contains(splitPath(string(name)), "") {
			return nil, badValue("The $sort field is a dotted field but has an empty part: %s", name)
		}
	}
	s, err := CompileSort(v.Value)
	if err != nil {
		return nil, err
	}
	return func(a, b value) int { return s.Compare(asDocument(a), asDocument(b)) }, nil
}
