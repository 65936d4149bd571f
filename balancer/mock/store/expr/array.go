package store

import (
	"cmp"
	"slices"
	"strings"

	"shardsh/balancer/mongoerr"
)

var arrayFunctions = map[string]function{
	"$size":          {1, 1, exprSize},
	"$arrayElemAt":   {2, 2, exprArrayElemAt},
	"$first":         {1, 1, elementAt("$first", 0)},
	"$last":          {1, 1, elementAt("$last", -1)},
	"$concatArrays":  {0, -1, exprConcatArrays},
	"$slice":         {2, 3, exprSlice},
	"$reverseArray":  {1, 1, exprReverseArray},
	"$in":            {2, 2, exprIn},
	"$indexOfArray":  {2, 4, exprIndexOfArray},
	"$isArray":       {1, 1, func(_ *evaluation, a []value) (value, error) { return boolValue(isArray(a[0])), nil }},
	"$range":         {2, 3, exprRange},
	"$arrayToObject": {1, 1, exprArrayToObject},
	"$objectToArray": {1, 1, exprObjectToArray},
}

func exprSize(_ *evaluation, args []value) (value, error) {
	if !isArray(args[0]) {
		return value{}, fail(17124, "The argument to $size must be an array, but was of type: %s", typeName(args[0]))
	}
	return int32Value(int32(fieldCount(args[0].Value))), nil
}

func exprArrayElemAt(c *evaluation, args []value) (value, error) {
	arr, at := args[0], args[1]
	switch {
	case isNullish(arr) || isNullish(at):
		return nullValue(), nil
	case !isArray(arr):
		return value{}, fail(28689, "$arrayElemAt's first argument must be an array, but is %s", typeName(arr))
	case !isNumber(at):
		return value{}, fail(28690, "$arrayElemAt's second argument must be a numeric value, but is %s", typeName(at))
	}
	i, ok := wholeInt32(at)
	if !ok {
		return value{}, fail(28691, "$arrayElemAt's second argument must be representable as a 32-bit integer: %s", at)
	}
	return pick(c.work, arr, i), nil
}

// pick returns an element counted from the start, or from the end for i < 0;
// missing outside.
func pick(w *work, arr value, i int) value {
	list := w.items(arr)
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return value{}
	}
	return list[i]
}

func elementAt(op string, i int) func(*evaluation, []value) (value, error) {
	return func(c *evaluation, args []value) (value, error) {
		switch {
		case isNullish(args[0]):
			return nullValue(), nil
		case !isArray(args[0]):
			return value{}, fail(28689, "%s's argument must be an array, but is %s", op, typeName(args[0]))
		}
		return pick(c.work, args[0], i), nil
	}
}

// exprConcatArrays takes the first array as it stands, so that a $reduce that
// adds to an array one by one does not build it anew each time.
func exprConcatArrays(c *evaluation, args []value) (value, error) {
	out, start := openDocument(nil)
	n := 0
	for i, v := range args {
		if isNullish(v) {
			return nullValue(), nil
		}
		if !isArray(v) {
			return value{}, fail(28664, "$concatArrays only supports arrays, not %s", typeName(v))
		}
		if i == 0 && len(v.Value) > 5 {
			out = append(make([]byte, 0, len(v.Value)+len(v.Value)/16+64), v.Value[:len(v.Value)-1]...)
			n = fieldCount(v.Value)
			continue
		}
		for _, item := range c.work.fields(v.Value) {
			out = appendItem(out, n, item)
			n++
		}
		if err := checkSize(len(out)); err != nil {
			return value{}, err
		}
	}
	return arrayValue(closeDocument(out, start)), nil
}

func exprSlice(c *evaluation, args []value) (value, error) {
	if isNullish(args[0]) || isNullish(args[1]) {
		return nullValue(), nil
	}
	if !isArray(args[0]) {
		return value{}, fail(28724, "First argument to $slice must be an array, but is of type: %s", typeName(args[0]))
	}
	if !isNumber(args[1]) {
		return value{}, fail(28725, "Second argument to $slice must be a numeric value, but is of type: %s",
			typeName(args[1]))
	}
	n, ok := wholeInt32(args[1])
	if !ok {
		return value{}, fail(28726, "Second argument to $slice can't be represented as a 32-bit integer: %s", args[1])
	}
	if len(args) == 3 && isNullish(args[2]) {
		return nullValue(), nil
	}
	list := c.work.items(args[0])
	from, to := 0, len(list)
	if len(args) == 2 {
		if n >= 0 {
			to = min(n, to)
		} else {
			from = max(to+n, 0)
		}
		return arrayOf(list[from:to]), nil
	}
	if !isNumber(args[2]) {
		return value{}, fail(28727, "Third argument to $slice must be numeric, but is of type: %s", typeName(args[2]))
	}
	count, ok := wholeInt32(args[2])
	switch {
	case !ok:
		return value{}, fail(28728, "Third argument to $slice can't be represented as a 32-bit integer: %s", args[2])
	case count <= 0:
		return value{}, fail(28729, "Third argument to $slice must be positive: %s", args[2])
	case n >= 0:
		from = min(n, to)
	default:
		from = max(to+n, 0)
	}
	return arrayOf(list[from:min(from+count, to)]), nil
}

func exprReverseArray(c *evaluation, args []value) (value, error) {
	if isNullish(args[0]) {
		return nullValue(), nil
	}
	if !isArray(args[0]) {
		return value{}, fail(34435, "The argument to $reverseArray must be an array, but was of type: %s", typeName(args[0]))
	}
	list := c.work.items(args[0])
	slices.Reverse(list)
	return arrayOf(list), nil
}

func exprIn(c *evaluation, args []value) (value, error) {
	if !isArray(args[1]) {
		return value{}, fail(40081, "$in requires an array as a second argument, found: %s", typeName(args[1]))
	}
	for _, v := range c.work.fields(args[1].Value) {
		if compare(v, args[0]) == 0 {
			return boolValue(true), nil
		}
	}
	return boolValue(false), nil
}

func exprIndexOfArray(c *evaluation, args []value) (value, error) {
	if isNullish(args[0]) {
		return nullValue(), nil
	}
	if !isArray(args[0]) {
		return value{}, fail(40090, "$indexOfArray requires an array as a first argument, found: %s", typeName(args[0]))
	}
	list := c.work.items(args[0])
	from, to, err := indexRange("$indexOfArray", args[2:], len(list))
	if err != nil {
		return value{}, err
	}
	for i := from; i < min(to, len(list)); i++ {
		if compare(list[i], args[1]) == 0 {
			return int32Value(int32(i)), nil
		}
	}
	return int32Value(-1), nil
}

// maxRange keeps $range within the memory an operator may take.

func exprRange(c *evaluation, args []value) (value, error) {
	names := [3]string{"starting value", "ending value", "step value"}
	var n [3]int
	n[2] = 1
	for i, v := range args {
		var ok bool
		if n[i], ok = wholeInt32(v); ok {
			continue
		}
		if !isNumber(v) {
			return value{}, fail(int32(34443+2*i), "$range requires a numeric %s, found value of type: %s", names[i],
				typeName(v))
		}
		return value{}, fail(int32(34444+2*i),
			"$range requires a %s that can be represented as a 32-bit integer, found value: %s", names[i], v)
	}
	from, to, step := n[0], n[1], n[2]
	if step == 0 {
		return value{}, fail(34449, "$range requires a non-zero step value")
	}
	length := max((to-from)/step, 0) // but for one at the end
	if size := 24 + 16*length; size >= stageMemory {
		return value{}, serverError(mongoerr.ExceededMemoryLimit,
			"$range would use too much memory (%d bytes) and cannot spill to disk. Memory limit: %d bytes", size, stageMemory)
	}
	var out []value
	for i := from; (step > 0 && i < to || step < 0 && i > to) && c.work.step(1) == nil; i += step {
		out = append(out, int32Value(int32(i)))
	}
	return arrayOf(out), nil
}

// exprArrayToObject takes [{k, v}, ...] or [[name, value], ...]; the last of
// several with one name counts.
func exprArrayToObject(c *evaluation, args []value) (value, error) {
	if isNullish(args[0]) {
		return nullValue(), nil
	}
	if !isArray(args[0]) {
		return value{}, fail(40386, "$arrayToObject requires an array input, found: %s", typeName(args[0]))
	}
	var out []field
	index := map[string]int{}
	pairs := false
	for i, item := range c.work.items(args[0]) {
		if err := c.work.handle(len(item.Value)); err != nil {
			return value{}, err
		}
		if i == 0 {
			pairs = isArray(item)
			if !pairs && !isObject(item) {
				return value{}, fail(40398, "Unrecognised input type format for $arrayToObject: %s", typeName(item))
			}
		}
		f, err := keyAndValue(item, pairs)
		if err != nil {
			return value{}, err
		}
		if at, ok := index[f.name]; ok {
			out[at] = f
			continue
		}
		index[f.name] = len(out)
		out = append(out, f)
	}
	return objectValue(documentOf(out...)), nil
}

func keyAndValue(item value, pair bool) (field, error) {
	var k, v value
	if pair {
		if !isArray(item) {
			return field{}, fail(40396,
				"$arrayToObject requires a consistent input format. Elements must all be arrays or all be objects. Array was "+
					"detected, now found: %s", typeName(item))
		}
		list := items(item)
		if len(list) != 2 {
			return field{}, fail(40397, "$arrayToObject requires an array of size 2 arrays,found array of size: %d", len(list))
		}
		k, v = list[0], list[1]
		if !isString(k) {
			return field{}, fail(40395,
				"$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: %s",
				typeName(k))
		}
	} else {
		if !isObject(item) {
			return field{}, fail(40391,
				"$arrayToObject requires a consistent input format. Elements must all be arrays or all be objects. Object was "+
					"detected, now found: %s", typeName(item))
		}
		if n := fieldCount(item.Value); n != 2 {
			return field{}, fail(40392,
				"$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:%d", n)
		}
		k, v = lookup(item.Value, "k"), lookup(item.Value, "v")
		if isMissing(k) || isMissing(v) {
			return field{}, fail(40393,
				"$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: %s", item)
		}
		if !isString(k) {
			return field{}, fail(40394,
				"$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string. "+
					"Found type: %s", typeName(k))
		}
	}
	name := textAt(k.Value)
	if strings.ContainsRune(name, 0) {
		return field{}, fail(4940400, "Key field cannot contain an embedded null byte")
	}
	return field{name, v}, nil
}

func exprObjectToArray(c *evaluation, args []value) (value, error) {
	if isNullish(args[0]) {
		return nullValue(), nil
	}
	if !isObject(args[0]) {
		return value{}, fail(40390, "$objectToArray requires a document input, found: %s", typeName(args[0]))
	}
	var out []value
	for name, v := range c.work.fields(args[0].Value) {
		out = append(out, objectValue(documentOf(field{"k", stringValue(string(name))}, field{"v", v})))
	}
	return arrayOf(out), nil
}

// zip reads lists side by side.
func (c *exprCompiler) zip(name string, arg value, sc *scope) (expression, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"inputs", "useLongestLength", "defaults"}, notObject: 34460, unknown: 34464, missing: []int32{34465},
	})
	if err != nil {
		return nil, err
	}
	if !isArray(raw[0]) {
		return nil, fail(34461, "inputs must be an array of expressions, found %s", typeName(raw[0]))
	}
	inputs, err := c.list(raw[0], sc)
	if err != nil {
		return nil, err
	}
	if len(inputs) == 0 {
		return nil, fail(34465, "$zip requires at least one input array")
	}
	longest := false
	if !isAbsent(raw[1]) {
		if longest = truthy(raw[1]); raw[1].Type != boolValue(true).Type {
			return nil, fail(34463, "useLongestLength must be a bool, found %s", typeName(raw[1]))
		}
	}
	var defaults []expression
	if !isAbsent(raw[2]) {
		if !isArray(raw[2]) {
			return nil, fail(34462, "defaults must be an array of expressions, found %s", typeName(raw[2]))
		}
		if defaults, err = c.list(raw[2], sc); err != nil {
			return nil, err
		}
		switch {
		case len(defaults) > 0 && !longest:
			return nil, fail(34466, "cannot specify defaults unless useLongestLength is true")
		case len(defaults) > 0 && len(defaults) != len(inputs):
			return nil, fail(34467, "defaults and inputs must have the same length")
		}
	}
	return evalFunc(func(c *evaluation) (value, error) { return zipped(c, inputs, defaults, longest) }), nil
}

func zipped(c *evaluation, inputs, defaults []expression, longest bool) (value, error) {
	var lists [][]value
	length := -1
	for _, in := range inputs {
		v, err := in.eval(c)
		if err != nil || isNullish(v) {
			return nullValue(), err
		}
		if !isArray(v) {
			return value{}, fail(34468, "$zip found a non-array expression in input: %s", v)
		}
		list := c.work.items(v)
		if length < 0 || longest == (len(list) > length) && len(list) != length {
			length = len(list)
		}
		lists = append(lists, list)
	}
	fill, err := evalAll(defaults, c)
	if err != nil {
		return value{}, err
	}
	var out []value
	size := 0
	for i := range length {
		if err := cmp.Or(c.work.step(len(lists)), checkSize(size)); err != nil {
			return value{}, err
		}
		row := make([]value, len(lists))
		for j, list := range lists {
			switch {
			case i < len(list):
				row[j] = list[i]
			case len(fill) > 0:
				row[j] = fill[j]
			}
		}
		out = append(out, arrayOf(row))
		size += len(out[i].Value)
	}
	return arrayOf(out), nil
}

// sortArray takes 1, -1 or a sort pattern.
func (c *exprCompiler) sortArray(name string, arg value, sc *scope) (expression, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"input", "sortBy"}, notObject: 2942500, unknown: 2942501, missing: []int32{2942502, 2942503},
	})
	if err != nil {
		return nil, err
	}
	input, err := c.compile(raw[0], sc)
	if err != nil {
		return nil, err
	}
	if n := toDouble(raw[1]); isNumber(raw[1]) && n != 1 && n != -1 {
		return nil, fail(2942506, "the $sortArray ordering must be either 1 or -1")
	}
	// The clauses of $push know the same orders.
	by, err := elementOrder(raw[1])
	if err != nil {
		return nil, err
	}
	return evalFunc(func(c *evaluation) (value, error) {
		in, err := input.eval(c)
		if err != nil || isNullish(in) {
			return nullValue(), err
		}
		if !isArray(in) {
			return value{}, fail(2942504, "The input argument to $sortArray must be an array, but was of type: %s", typeName(in))
		}
		list := c.work.items(in)
		sortStable(c.work, list, by)
		return arrayOf(list), nil
	}), nil
}
