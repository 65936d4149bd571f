package store

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// countAccumulators keep some of the values: the first, the last, the least or
// the greatest n.
var countAccumulators = map[string]func(n int) accumulator{
	"$firstN": func(n int) accumulator { return &endN{kept: kept{op: "$firstN"}, n: n} },
	"$lastN":  func(n int) accumulator { return &endN{kept: kept{op: "$lastN"}, n: n, last: true} },
	"$minN":   func(n int) accumulator { return &extremeN{kept: kept{op: "$minN"}, n: n, sign: 1} },
	"$maxN":   func(n int) accumulator { return &extremeN{kept: kept{op: "$maxN"}, n: n, sign: -1} },
}

type endN struct {
	kept
	n    int
	last bool
	list []value
}

func (e *endN) add(_ *work, args []value) error {
	switch {
	case len(e.list) < e.n || e.last && len(e.list) < 2*e.n:
	case e.last:
		e.list = cutTo(&e.kept, e.list, len(e.list)-e.n+1, len(e.list), sizeOfValue)
	default:
		return nil
	}
	e.list = append(e.list, orNull(args[0]))
	return e.keep(sizeOfValue(args[0]))
}

func (e *endN) result(*work) value {
	if e.last {
		return arrayOf(e.list[max(len(e.list)-e.n, 0):])
	}
	return arrayOf(e.list)
}

type extremeN struct {
	kept
	n, sign int
	list    []value
}

func (e *extremeN) add(w *work, args []value) error {
	if isNullish(args[0]) {
		return nil
	}
	e.list = append(e.list, args[0])
	err := e.keep(sizeOfValue(args[0]))
	if len(e.list) > roomFor(e.n) {
		e.cut(w)
	}
	return err
}

// cut leaves the n best, in order; equal values keep theirs.
func (e *extremeN) cut(w *work) {
	sortStable(w, e.list, func(a, b value) int { return compare(a, b) * e.sign })
	e.list = cutTo(&e.kept, e.list, 0, min(e.n, len(e.list)), sizeOfValue)
}

func sizeOfValue(v value) int { return len(v.Value) + itemBytes }

// cutTo leaves a part of a list that an accumulator keeps.
func cutTo[T any](k *kept, list []T, from, to int, size func(T) int) []T {
	list = list[:copy(list, list[from:to])]
	k.bytes = 0
	for _, v := range list {
		k.bytes += size(v)
	}
	return list
}

// roomFor returns how many values are kept before only n are: a cut costs no
// more than adding what it drops did.
func roomFor(n int) int { return 2*n + 6 }

func (e *extremeN) result(w *work) value {
	e.cut(w)
	return arrayOf(e.list)
}

// topN is $top, $topN, $bottom and $bottomN: the output of the documents that
// come first, or last, in an order. It takes the output and the sort key.
type topN struct {
	kept
	n              int
	bottom, single bool
	list           []topItem
}

type topItem struct {
	key    []byte
	output value
}

func (t *topN) add(w *work, args []value) error {
	_, key := binaryAt(args[1].Value)
	item := topItem{key, orNull(args[0])}
	t.list = append(t.list, item)
	err := t.keep(item.size())
	if len(t.list) > roomFor(t.n) {
		t.cut(w)
	}
	return err
}

func (i topItem) size() int { return len(i.key) + len(i.output.Value) + itemBytes }

// cut leaves the first n, or the last.
func (t *topN) cut(w *work) {
	sortStable(w, t.list, func(a, b topItem) int { return bytes.Compare(a.key, b.key) })
	from, to := 0, min(t.n, len(t.list))
	if t.bottom {
		from, to = len(t.list)-to, len(t.list)
	}
	t.list = cutTo(&t.kept, t.list, from, to, topItem.size)
}

func (t *topN) result(w *work) value {
	t.cut(w)
	var out []value
	for _, item := range t.list {
		out = append(out, item.output)
	}
	if !t.single {
		return arrayOf(out)
	}
	if len(out) == 0 {
		return nullValue()
	}
	return out[0]
}

// quantile is $percentile and $median: the value at a rank, without
// interpolation.
type quantile struct {
	kept
	ps     []float64
	single bool
	list   []float64
}

func (q *quantile) add(_ *work, args []value) error {
	if isNumber(args[0]) && !isNaN(args[0]) {
		q.list = append(q.list, toDouble(args[0]))
		q.bytes += 8
	}
	return nil
}

func (q *quantile) result(w *work) value {
	sortStable(w, q.list, cmp.Compare[float64])
	var out []value
	for _, p := range q.ps {
		if len(q.list) == 0 {
			out = append(out, nullValue())
			continue
		}
		rank := int(math.Ceil(p*float64(len(q.list)))) - 1
		out = append(out, doubleValue(q.list[max(rank, 0)]))
	}
	if q.single {
		return out[0]
	}
	return arrayOf(out)
}

// topNames are the accumulators with an order of their own.
var topNames = map[string]bool{"$top": true, "$topN": true, "$bottom": true, "$bottomN": true}

// compileAccumulator compiles an accumulator of $group; ok is false when there
// is none of that name.
func (c *exprCompiler) compileAccumulator(name string, arg value, sc *scope) (acc accumulation, ok bool, err error) {
	if name == "$accumulator" {
		_, err = noJavaScript(name, arg, sc)
		return acc, true, err
	}
	if start, ok := listAccumulators[name]; ok {
		acc, err = c.oneArgument(name, arg, sc, start)
		return acc, true, err
	}
	if start, ok := groupAccumulators[name]; ok {
		acc, err = c.oneArgument(name, arg, sc, start)
		return acc, true, err
	}
	if start, ok := countAccumulators[name]; ok {
		acc, err = c.counted(name, arg, sc, start)
		return acc, true, err
	}
	switch {
	case name == "$count":
		if !isObject(arg) || !isEmpty(arg.Value) {
			return acc, true, typeMismatch("$count takes no arguments, i.e. $count:{}")
		}
		acc = accumulation{
			args:  []expression{literal(int32Value(1))},
			start: func(*evaluation) (accumulator, error) { return &sumOf{}, nil },
		}
		return acc, true, nil
	case topNames[name]:
		acc, err = c.top(name, arg, sc)
		return acc, true, err
	case name == "$median" || name == "$percentile":
		args, start, err := c.quantile(name, arg, sc)
		return accumulation{args: args, start: start}, true, err
	}
	return acc, false, nil
}

func (c *exprCompiler) oneArgument(name string, arg value, sc *scope, start func() accumulator) (accumulation, error) {
	if isArray(arg) {
		return accumulation{}, fail(40237, "The %s accumulator is a unary operator", name)
	}
	e, err := c.compile(arg, sc)
	return accumulation{
		args:  []expression{e},
		start: func(*evaluation) (accumulator, error) { return start(), nil },
	}, err
}

var countedArguments = namedSpec{
	args: []string{"input", "n"}, notObject: 5787900, unknown: 5787901, missing: []int32{5787907, 5787906},
}

// counted is {$firstN: {input, n}} and its like.
func (c *exprCompiler) counted(name string, arg value, sc *scope, start func(int) accumulator) (accumulation, error) {
	args, err := c.named(name, arg, sc, countedArguments)
	if err != nil {
		return accumulation{}, err
	}
	n := args[1]
	return accumulation{args: args[:1], start: func(c *evaluation) (accumulator, error) {
		size, err := sizeOf(n, c)
		if err != nil {
			return nil, err
		}
		return start(size), nil
	}}, nil
}

// sizeOf evaluates n: a whole number above zero.
func sizeOf(n expression, c *evaluation) (int, error) {
	v, err := n.eval(c)
	if err != nil {
		return 0, err
	}
	size, ok := wholeInteger(v)
	switch {
	case !isNumber(v):
		return 0, fail(5787902, "Value for 'n' must be of integral type, but found %s", v)
	case !ok:
		return 0, fail(5787903, "Value for 'n' must be of integral type, but found %s", v)
	case size <= 0:
		return 0, fail(5787908, "'n' must be greater than 0, found %d", size)
	}
	return int(min(size, math.MaxInt32)), nil
}

func (c *exprCompiler) top(name string, arg value, sc *scope) (accumulation, error) {
	single := name == "$top" || name == "$bottom"
	spec := namedSpec{args: []string{"sortBy", "output", "n"}, notObject: 5788001, unknown: 5788002,
		missing: []int32{5788005, 5788004, 5788003}}
	if single {
		spec.args, spec.missing = spec.args[:2], spec.missing[:2]
	}
	raw, err := namedValues(name, arg, spec)
	if err != nil {
		return accumulation{}, err
	}
	if !isObject(raw[0]) {
		return accumulation{}, fail(5788604, "expected 'sortBy' to already be an object in the arguments to %s", name)
	}
	order, err := CompileSort(raw[0].Value)
	if err != nil {
		return accumulation{}, err
	}
	output, err := c.compile(raw[1], sc)
	if err != nil {
		return accumulation{}, err
	}
	var n expression = literal(int32Value(1))
	if !single {
		if n, err = c.compile(raw[2], sc); err != nil {
			return accumulation{}, err
		}
	}
	key := evalFunc(func(c *evaluation) (value, error) { return bytesValue(order.key(c.work, c.root.Value)), nil })
	bottom := name == "$bottom" || name == "$bottomN"
	return accumulation{args: []expression{output, key}, start: func(c *evaluation) (accumulator, error) {
		size, err := sizeOf(n, c)
		return &topN{kept: kept{op: name}, n: size, bottom: bottom, single: single}, err
	}}, nil
}

// bytesValue wraps bytes as generic binary data.
func bytesValue(b []byte) value {
	_, data, _ := bson.MarshalValue(bson.Binary{Data: b})
	return value{Type: bson.TypeBinary, Value: data}
}

func (c *exprCompiler) quantile(name string, arg value,
	sc *scope) ([]expression, func(*evaluation) (accumulator, error), error) {
	spec := namedSpec{args: []string{"input", "method", "p"}, notObject: 7436100, unknown: 40415,
		missing: []int32{40414, 40414, 40414}}
	single := name == "$median"
	if single {
		spec.args, spec.missing = spec.args[:2], spec.missing[:2]
	}
	raw, err := namedValues(name, arg, spec)
	if err != nil {
		return nil, nil, err
	}
	if m := textAt(raw[1].Value); !isString(raw[1]) || m != "approximate" {
		return nil, nil, badValue("Currently only 'approximate' can be used as percentile 'method'.")
	}
	ps := []float64{0.5}
	if !single {
		p, err := c.compile(raw[2], sc)
		if err != nil {
			return nil, nil, err
		}
		constant, ok := p.(literal)
		if !ok || !isArray(value(constant)) || isEmpty(constant.Value) {
			return nil, nil, fail(7750300, "The $percentile 'p' field must be a non-empty array of constant numbers")
		}
		ps = nil
		for _, v := range fields(constant.Value) {
			f := toDouble(v)
			if !isNumber(v) {
				return nil, nil, fail(7750302, "The $percentile 'p' field must be an array of numbers, but found %s", v)
			}
			if f < 0 || f > 1 {
				return nil, nil, fail(7750303,
					"The $percentile 'p' field must be an array of numbers from [0.0, 1.0] range, but found %s", v)
			}
			ps = append(ps, f)
		}
	}
	input, err := c.compile(raw[0], sc)
	return []expression{input}, func(*evaluation) (accumulator, error) {
		return &quantile{kept: kept{op: name}, ps: ps, single: single}, nil
	}, err
}

// accumulate is $sum and the like as an expression: over its arguments, or
// over the elements when there is one argument and it is an array.
func (c *exprCompiler) accumulate(name string, arg value, sc *scope) (expression, error) {
	args, err := c.arguments(name, 0, -1, arg, sc)
	if err != nil {
		return nil, err
	}
	start := listAccumulators[name]
	return c.folded(evalFunc(func(c *evaluation) (value, error) {
		vs, err := evalAll(args, c)
		if err != nil {
			return value{}, err
		}
		if len(vs) == 1 && isArray(vs[0]) {
			vs = c.work.items(vs[0])
		}
		return gather(c.work, start(), vs)
	}), args, sc)
}

// accumulateN is $firstN and the like as an expression over an array.
func (c *exprCompiler) accumulateN(name string, arg value, sc *scope) (expression, error) {
	args, err := c.named(name, arg, sc, countedArguments)
	if err != nil {
		return nil, err
	}
	start := countAccumulators[name]
	return c.folded(evalFunc(func(c *evaluation) (value, error) {
		n, err := sizeOf(args[1], c)
		if err != nil {
			return value{}, err
		}
		in, err := args[0].eval(c)
		if err != nil {
			return value{}, err
		}
		if !isArray(in) {
			return value{}, fail(5788200, "Input must be an array")
		}
		return gather(c.work, start(n), c.work.items(in))
	}), args, sc)
}

// quantileOf is $median and $percentile as expressions: over an array, or a
// single value.
func (c *exprCompiler) quantileOf(name string, arg value, sc *scope) (expression, error) {
	args, start, err := c.quantile(name, arg, sc)
	if err != nil {
		return nil, err
	}
	return c.folded(evalFunc(func(c *evaluation) (value, error) {
		acc, err := start(c)
		if err != nil {
			return value{}, err
		}
		in, err := args[0].eval(c)
		if err != nil {
			return value{}, err
		}
		if !isArray(in) {
			return gather(c.work, acc, []value{in})
		}
		return gather(c.work, acc, c.work.items(in))
	}), args, sc)
}

func gather(w *work, acc accumulator, vs []value) (value, error) {
	for i := range vs {
		if err := w.step(1); err != nil {
			return value{}, err
		}
		if err := acc.add(w, vs[i:i+1]); err != nil {
			return value{}, err
		}
	}
	return acc.result(w), nil
}

// Accumulators lists what gathers values of many documents, in order.
func Accumulators() []string {
	names := []string{"$count", "$median", "$percentile"}
	names = slices.AppendSeq(names, maps.Keys(listAccumulators))
	names = slices.AppendSeq(names, maps.Keys(groupAccumulators))
	names = slices.AppendSeq(names, maps.Keys(countAccumulators))
	names = slices.AppendSeq(names, maps.Keys(topNames))
	slices.Sort(names)
	return slices.Compact(names)
}
