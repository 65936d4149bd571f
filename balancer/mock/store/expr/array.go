package expr

import (
	"cmp"
	"slices"
	"strings"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

var arrayFunctions = map[string]function{
	"$size":         {1, 1, exprSize},
	"$arrayElemAt":  {2, 2, exprArrayElemAt},
	"$first":        {1, 1, elementAt("$first", 0)},
	"$last":         {1, 1, elementAt("$last", -1)},
	"$concatArrays": {0, -1, exprConcatArrays},
	"$slice":        {2, 3, exprSlice},
	"$reverseArray": {1, 1, exprReverseArray},
	"$in":           {2, 2, exprIn},
	"$indexOfArray": {2, 4, exprIndexOfArray},
	"$isArray": {1, 1, func(_ *Evaluation, a []value.Value) (value.Value, error) {
		return value.Bool(value.IsArray(a[0])), nil
	}},
	"$range":         {2, 3, exprRange},
	"$arrayToObject": {1, 1, exprArrayToObject},
	"$objectToArray": {1, 1, exprObjectToArray},
}

func exprSize(_ *Evaluation, args []value.Value) (value.Value, error) {
	if !value.IsArray(args[0]) {
		return value.Value{}, servererr.NewCode(17124, "The argument to $size must be an array, but was of type: %s",
			value.TypeName(args[0]))
	}
	return value.Int32(int32(document.Count(args[0].Value))), nil
}

func exprArrayElemAt(c *Evaluation, args []value.Value) (value.Value, error) {
	arr, at := args[0], args[1]
	switch {
	case value.IsNullish(arr) || value.IsNullish(at):
		return value.Null(), nil
	case !value.IsArray(arr):
		return value.Value{}, servererr.NewCode(28689, "$arrayElemAt's first argument must be an array, but is %s",
			value.TypeName(arr))
	case !value.IsNumber(at):
		return value.Value{}, servererr.NewCode(28690, "$arrayElemAt's second argument must be a numeric value, but is %s",
			value.TypeName(at))
	}
	i, ok := value.WholeInt32(at)
	if !ok {
		return value.Value{}, servererr.NewCode(28691,
			"$arrayElemAt's second argument must be representable as a 32-bit integer: %s", at)
	}
	return elementByIndex(c.Meter, arr, i), nil
}

// elementByIndex returns the element at an index; a negative index counts from the end. It returns
// missing if the index is out of range.
func elementByIndex(w *quota.Meter, arr value.Value, i int) value.Value {
	list := w.Items(arr)
	if i < 0 {
		i += len(list)
	}
	if i < 0 || i >= len(list) {
		return value.Value{}
	}
	return list[i]
}

func elementAt(op string, i int) func(*Evaluation, []value.Value) (value.Value, error) {
	return func(c *Evaluation, args []value.Value) (value.Value, error) {
		switch {
		case value.IsNullish(args[0]):
			return value.Null(), nil
		case !value.IsArray(args[0]):
			return value.Value{}, servererr.NewCode(28689, "%s's argument must be an array, but is %s", op,
				value.TypeName(args[0]))
		}
		return elementByIndex(c.Meter, args[0], i), nil
	}
}

// exprConcatArrays concatenates arrays. It copies the first array as bytes, so that a $reduce that
// appends elements one by one does not encode the array again each time.
func exprConcatArrays(c *Evaluation, args []value.Value) (value.Value, error) {
	out, start := document.Open(nil)
	n := 0
	for i, v := range args {
		if value.IsNullish(v) {
			return value.Null(), nil
		}
		if !value.IsArray(v) {
			return value.Value{}, servererr.NewCode(28664, "$concatArrays only supports arrays, not %s", value.TypeName(v))
		}
		if i == 0 && !document.IsEmpty(v.Value) {
			out = append(make([]byte, 0, len(v.Value)+len(v.Value)/16+64), v.Value[:len(v.Value)-1]...)
			n = document.Count(v.Value)
			continue
		}
		for _, item := range c.Meter.Fields(v.Value) {
			out = document.AppendItem(out, n, item)
			n++
		}
		if err := checkSize(len(out)); err != nil {
			return value.Value{}, err
		}
	}
	return value.Array(document.Close(out, start)), nil
}

func exprSlice(c *Evaluation, args []value.Value) (value.Value, error) {
	if value.IsNullish(args[0]) || value.IsNullish(args[1]) {
		return value.Null(), nil
	}
	if !value.IsArray(args[0]) {
		return value.Value{}, servererr.NewCode(28724, "First argument to $slice must be an array, but is of type: %s",
			value.TypeName(args[0]))
	}
	if !value.IsNumber(args[1]) {
		return value.Value{}, servererr.NewCode(28725,
			"Second argument to $slice must be a numeric value, but is of type: %s", value.TypeName(args[1]))
	}
	n, ok := value.WholeInt32(args[1])
	if !ok {
		return value.Value{}, servererr.NewCode(28726,
			"Second argument to $slice can't be represented as a 32-bit integer: %s", args[1])
	}
	if len(args) == 3 && value.IsNullish(args[2]) {
		return value.Null(), nil
	}
	list := c.Meter.Items(args[0])
	from, to := 0, len(list)
	if len(args) == 2 {
		if n >= 0 {
			to = min(n, to)
		} else {
			from = max(to+n, 0)
		}
		return document.Array(list[from:to]), nil
	}
	if !value.IsNumber(args[2]) {
		return value.Value{}, servererr.NewCode(28727, "Third argument to $slice must be numeric, but is of type: %s",
			value.TypeName(args[2]))
	}
	count, ok := value.WholeInt32(args[2])
	switch {
	case !ok:
		return value.Value{}, servererr.NewCode(28728,
			"Third argument to $slice can't be represented as a 32-bit integer: %s", args[2])
	case count <= 0:
		return value.Value{}, servererr.NewCode(28729, "Third argument to $slice must be positive: %s", args[2])
	case n >= 0:
		from = min(n, to)
	default:
		from = max(to+n, 0)
	}
	return document.Array(list[from:min(from+count, to)]), nil
}

func exprReverseArray(c *Evaluation, args []value.Value) (value.Value, error) {
	if value.IsNullish(args[0]) {
		return value.Null(), nil
	}
	if !value.IsArray(args[0]) {
		return value.Value{}, servererr.NewCode(34435, "The argument to $reverseArray must be an array, but was of type: %s",
			value.TypeName(args[0]))
	}
	list := c.Meter.Items(args[0])
	slices.Reverse(list)
	return document.Array(list), nil
}

func exprIn(c *Evaluation, args []value.Value) (value.Value, error) {
	if !value.IsArray(args[1]) {
		return value.Value{}, servererr.NewCode(40081, "$in requires an array as a second argument, found: %s",
			value.TypeName(args[1]))
	}
	for _, v := range c.Meter.Fields(args[1].Value) {
		if value.Compare(v, args[0]) == 0 {
			return value.Bool(true), nil
		}
	}
	return value.Bool(false), nil
}

func exprIndexOfArray(c *Evaluation, args []value.Value) (value.Value, error) {
	if value.IsNullish(args[0]) {
		return value.Null(), nil
	}
	if !value.IsArray(args[0]) {
		return value.Value{}, servererr.NewCode(40090, "$indexOfArray requires an array as a first argument, found: %s",
			value.TypeName(args[0]))
	}
	list := c.Meter.Items(args[0])
	from, to, err := parseIndexRange("$indexOfArray", args[2:], len(list))
	if err != nil {
		return value.Value{}, err
	}
	for i := from; i < min(to, len(list)); i++ {
		if value.Compare(list[i], args[1]) == 0 {
			return value.Int32(int32(i)), nil
		}
	}
	return value.Int32(-1), nil
}

// exprRange evaluates $range, whose result is limited to the memory that a stage may use.
func exprRange(c *Evaluation, args []value.Value) (value.Value, error) {
	names := [3]string{"starting value", "ending value", "step value"}
	var n [3]int
	n[2] = 1
	for i, v := range args {
		var ok bool
		if n[i], ok = value.WholeInt32(v); ok {
			continue
		}
		if !value.IsNumber(v) {
			return value.Value{}, servererr.NewCode(int32(34443+2*i), "$range requires a numeric %s, found value of type: %s",
				names[i],
				value.TypeName(v))
		}
		return value.Value{}, servererr.NewCode(int32(34444+2*i),
			"$range requires a %s that can be represented as a 32-bit integer, found value: %s", names[i], v)
	}
	from, to, step := n[0], n[1], n[2]
	if step == 0 {
		return value.Value{}, servererr.NewCode(34449, "$range requires a non-zero step value")
	}
	length := max((to-from)/step, 0) // may be one too low
	if size := 24 + 16*length; size >= quota.StageMemory {
		return value.Value{}, servererr.New(mongoerr.ExceededMemoryLimit,
			"$range would use too much memory (%d bytes) and cannot spill to disk. Memory limit: %d bytes", size,
			quota.StageMemory)
	}
	var out []value.Value
	for i := from; (step > 0 && i < to || step < 0 && i > to) && c.Meter.Charge(1) == nil; i += step {
		out = append(out, value.Int32(int32(i)))
	}
	return document.Array(out), nil
}

// exprArrayToObject accepts [{k, v}, ...] or [[name, value], ...]. If a name occurs several times, the
// last value counts.
func exprArrayToObject(c *Evaluation, args []value.Value) (value.Value, error) {
	if value.IsNullish(args[0]) {
		return value.Null(), nil
	}
	if !value.IsArray(args[0]) {
		return value.Value{}, servererr.NewCode(40386, "$arrayToObject requires an array input, found: %s",
			value.TypeName(args[0]))
	}
	var out []document.Field
	index := map[string]int{}
	pairs := false
	for i, item := range c.Meter.Items(args[0]) {
		if err := c.Meter.ChargeBytes(len(item.Value)); err != nil {
			return value.Value{}, err
		}
		if i == 0 {
			pairs = value.IsArray(item)
			if !pairs && !value.IsObject(item) {
				return value.Value{}, servererr.NewCode(40398, "Unrecognised input type format for $arrayToObject: %s",
					value.TypeName(item))
			}
		}
		f, err := parseKeyAndValue(item, pairs)
		if err != nil {
			return value.Value{}, err
		}
		if at, ok := index[f.Name]; ok {
			out[at] = f
			continue
		}
		index[f.Name] = len(out)
		out = append(out, f)
	}
	return value.Object(document.New(out...)), nil
}

func parseKeyAndValue(item value.Value, pair bool) (document.Field, error) {
	var k, v value.Value
	if pair {
		if !value.IsArray(item) {
			return document.Field{}, servererr.NewCode(40396,
				"$arrayToObject requires a consistent input format. Elements must all be arrays or all be objects. Array was "+
					"detected, now found: %s", value.TypeName(item))
		}
		list := document.Items(item)
		if len(list) != 2 {
			return document.Field{}, servererr.NewCode(40397,
				"$arrayToObject requires an array of size 2 arrays,found array of size: %d", len(list))
		}
		k, v = list[0], list[1]
		if !value.IsString(k) {
			return document.Field{}, servererr.NewCode(40395,
				"$arrayToObject requires an array of key-value pairs, where the key must be of type string. Found key type: %s",
				value.TypeName(k))
		}
	} else {
		if !value.IsObject(item) {
			return document.Field{}, servererr.NewCode(40391,
				"$arrayToObject requires a consistent input format. Elements must all be arrays or all be objects. Object was "+
					"detected, now found: %s", value.TypeName(item))
		}
		if n := document.Count(item.Value); n != 2 {
			return document.Field{}, servererr.NewCode(40392,
				"$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of keys:%d", n)
		}
		k, v = document.Lookup(item.Value, "k"), document.Lookup(item.Value, "v")
		if value.IsMissing(k) || value.IsMissing(v) {
			return document.Field{}, servererr.NewCode(40393,
				"$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both keys from: %s", item)
		}
		if !value.IsString(k) {
			return document.Field{}, servererr.NewCode(40394,
				"$arrayToObject requires an object with keys 'k' and 'v', where the value of 'k' must be of type string. "+
					"Found type: %s", value.TypeName(k))
		}
	}
	name := value.TextAt(k.Value)
	if strings.ContainsRune(name, 0) {
		return document.Field{}, servererr.NewCode(4940400, "Key field cannot contain an embedded null byte")
	}
	return document.Field{Name: name, Value: v}, nil
}

func exprObjectToArray(c *Evaluation, args []value.Value) (value.Value, error) {
	if value.IsNullish(args[0]) {
		return value.Null(), nil
	}
	if !value.IsObject(args[0]) {
		return value.Value{}, servererr.NewCode(40390, "$objectToArray requires a document input, found: %s",
			value.TypeName(args[0]))
	}
	var out []value.Value
	for name, v := range c.Meter.Fields(args[0].Value) {
		out = append(out, value.Object(document.New(document.Field{Name: "k", Value: value.String(string(name))},
			document.Field{Name: "v", Value: v})))
	}
	return document.Array(out), nil
}

// compileZip compiles $zip, which transposes arrays.
func (c *Compiler) compileZip(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := ReadNamedArgs(name, arg, NamedArgs{
		Args: []string{"inputs", "useLongestLength", "defaults"}, NotObjectCode: 34460, UnknownCode: 34464,
		MissingCodes: []int32{34465},
	})
	if err != nil {
		return nil, err
	}
	if !value.IsArray(raw[0]) {
		return nil, servererr.NewCode(34461, "inputs must be an array of expressions, found %s", value.TypeName(raw[0]))
	}
	inputs, err := c.CompileList(raw[0], sc)
	if err != nil {
		return nil, err
	}
	if len(inputs) == 0 {
		return nil, servererr.NewCode(34465, "$zip requires at least one input array")
	}
	longest := false
	if !value.IsOmittedArgument(raw[1]) {
		if longest = value.IsTruthy(raw[1]); raw[1].Type != value.Bool(true).Type {
			return nil, servererr.NewCode(34463, "useLongestLength must be a bool, found %s", value.TypeName(raw[1]))
		}
	}
	var defaults []Expression
	if !value.IsOmittedArgument(raw[2]) {
		if !value.IsArray(raw[2]) {
			return nil, servererr.NewCode(34462, "defaults must be an array of expressions, found %s", value.TypeName(raw[2]))
		}
		if defaults, err = c.CompileList(raw[2], sc); err != nil {
			return nil, err
		}
		switch {
		case len(defaults) > 0 && !longest:
			return nil, servererr.NewCode(34466, "cannot specify defaults unless useLongestLength is true")
		case len(defaults) > 0 && len(defaults) != len(inputs):
			return nil, servererr.NewCode(34467, "defaults and inputs must have the same length")
		}
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) { return evalZip(c, inputs, defaults, longest) }), nil
}

func evalZip(c *Evaluation, inputs, defaults []Expression, longest bool) (value.Value, error) {
	var lists [][]value.Value
	length := -1
	for _, in := range inputs {
		v, err := in.Eval(c)
		if err != nil || value.IsNullish(v) {
			return value.Null(), err
		}
		if !value.IsArray(v) {
			return value.Value{}, servererr.NewCode(34468, "$zip found a non-array expression in input: %s", v)
		}
		list := c.Meter.Items(v)
		if length < 0 || longest == (len(list) > length) && len(list) != length {
			length = len(list)
		}
		lists = append(lists, list)
	}
	fill, err := EvalAll(defaults, c)
	if err != nil {
		return value.Value{}, err
	}
	var out []value.Value
	size := 0
	for i := range length {
		if err := cmp.Or(c.Meter.Charge(len(lists)), checkSize(size)); err != nil {
			return value.Value{}, err
		}
		row := make([]value.Value, len(lists))
		for j, list := range lists {
			switch {
			case i < len(list):
				row[j] = list[i]
			case len(fill) > 0:
				row[j] = fill[j]
			}
		}
		out = append(out, document.Array(row))
		size += len(out[i].Value)
	}
	return document.Array(out), nil
}

// compileSortArray compiles $sortArray. Its order is 1, -1 or a sort pattern.
func (c *Compiler) compileSortArray(name string, arg value.Value, sc *Scope) (Expression, error) {
	raw, err := ReadNamedArgs(name, arg, NamedArgs{
		Args: []string{"input", "sortBy"}, NotObjectCode: 2942500, UnknownCode: 2942501,
		MissingCodes: []int32{2942502, 2942503},
	})
	if err != nil {
		return nil, err
	}
	input, err := c.Compile(raw[0], sc)
	if err != nil {
		return nil, err
	}
	if n := value.ToDouble(raw[1]); value.IsNumber(raw[1]) && n != 1 && n != -1 {
		return nil, servererr.NewCode(2942506, "the $sortArray ordering must be either 1 or -1")
	}
	// $push accepts the same orders.
	by, err := order.CompileElementOrder(raw[1])
	if err != nil {
		return nil, err
	}
	return ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		in, err := input.Eval(c)
		if err != nil || value.IsNullish(in) {
			return value.Null(), err
		}
		if !value.IsArray(in) {
			return value.Value{}, servererr.NewCode(2942504,
				"The input argument to $sortArray must be an array, but was of type: %s", value.TypeName(in))
		}
		list := c.Meter.Items(in)
		quota.SortStable(c.Meter, list, by)
		return document.Array(list), nil
	}), nil
}
