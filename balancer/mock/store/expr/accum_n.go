package expr

import (
	"bytes"
	"cmp"
	"maps"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// nAccumulators return n values: the first, last, smallest or largest n.
var nAccumulators = map[string]func(n int) Accumulator{
	"$firstN": func(n int) Accumulator { return &firstOrLastN{memoryCounter: memoryCounter{op: "$firstN"}, n: n} },
	"$lastN": func(n int) Accumulator {
		return &firstOrLastN{memoryCounter: memoryCounter{op: "$lastN"}, n: n, last: true}
	},
	"$minN": func(n int) Accumulator { return &extremeN{memoryCounter: memoryCounter{op: "$minN"}, n: n, sign: 1} },
	"$maxN": func(n int) Accumulator { return &extremeN{memoryCounter: memoryCounter{op: "$maxN"}, n: n, sign: -1} },
}

type firstOrLastN struct {
	memoryCounter
	n    int
	last bool
	list []value.Value
}

func (f *firstOrLastN) Add(_ *quota.Meter, args []value.Value) error {
	switch {
	case len(f.list) < f.n || f.last && len(f.list) < 2*f.n:
	case f.last:
		f.list = trimTo(&f.memoryCounter, f.list, len(f.list)-f.n+1, len(f.list), valueMemory)
	default:
		return nil
	}
	f.list = append(f.list, OrNull(args[0]))
	return f.addBytes(valueMemory(args[0]))
}

func (f *firstOrLastN) Result(*quota.Meter) value.Value {
	if f.last {
		return document.Array(f.list[max(len(f.list)-f.n, 0):])
	}
	return document.Array(f.list)
}

type extremeN struct {
	memoryCounter
	n, sign int
	list    []value.Value
}

func (e *extremeN) Add(w *quota.Meter, args []value.Value) error {
	if value.IsNullish(args[0]) {
		return nil
	}
	e.list = append(e.list, args[0])
	err := e.addBytes(valueMemory(args[0]))
	if len(e.list) > maxBuffered(e.n) {
		e.trim(w)
	}
	return err
}

// trim keeps the n best values, sorted; equal values keep their order.
func (e *extremeN) trim(w *quota.Meter) {
	quota.SortStable(w, e.list, func(a, b value.Value) int { return value.Compare(a, b) * e.sign })
	e.list = trimTo(&e.memoryCounter, e.list, 0, min(e.n, len(e.list)), valueMemory)
}

func valueMemory(v value.Value) int { return len(v.Value) + quota.ItemOverheadBytes }

// trimTo keeps a part of an accumulator's list.
func trimTo[T any](k *memoryCounter, list []T, from, to int, size func(T) int) []T {
	list = list[:copy(list, list[from:to])]
	k.bytes = 0
	for _, v := range list {
		k.bytes += size(v)
	}
	return list
}

// maxBuffered returns how many values are buffered before they are trimmed to n. With this limit,
// trimming costs no more than adding the dropped values did.
func maxBuffered(n int) int { return 2*n + 6 }

func (e *extremeN) Result(w *quota.Meter) value.Value {
	e.trim(w)
	return document.Array(e.list)
}

// topN implements $top, $topN, $bottom and $bottomN: the output of the first or last documents in a sort
// order. Its arguments are the output and the sort key.
type topN struct {
	memoryCounter
	n              int
	bottom, single bool
	list           []topItem
}

type topItem struct {
	key    []byte
	output value.Value
}

func (t *topN) Add(w *quota.Meter, args []value.Value) error {
	_, key := value.BinaryAt(args[1].Value)
	item := topItem{key, OrNull(args[0])}
	t.list = append(t.list, item)
	err := t.addBytes(item.size())
	if len(t.list) > maxBuffered(t.n) {
		t.trim(w)
	}
	return err
}

func (i topItem) size() int { return len(i.key) + len(i.output.Value) + quota.ItemOverheadBytes }

// trim keeps the first or last n items.
func (t *topN) trim(w *quota.Meter) {
	quota.SortStable(w, t.list, func(a, b topItem) int { return bytes.Compare(a.key, b.key) })
	from, to := 0, min(t.n, len(t.list))
	if t.bottom {
		from, to = len(t.list)-to, len(t.list)
	}
	t.list = trimTo(&t.memoryCounter, t.list, from, to, topItem.size)
}

func (t *topN) Result(w *quota.Meter) value.Value {
	t.trim(w)
	var out []value.Value
	for _, item := range t.list {
		out = append(out, item.output)
	}
	if !t.single {
		return document.Array(out)
	}
	if len(out) == 0 {
		return value.Null()
	}
	return out[0]
}

// quantile implements $percentile and $median: the value at a rank, without interpolation.
type quantile struct {
	memoryCounter
	ps     []float64
	single bool
	list   []float64
}

func (q *quantile) Add(_ *quota.Meter, args []value.Value) error {
	if value.IsNumber(args[0]) && !value.IsNaN(args[0]) {
		q.list = append(q.list, value.ToDouble(args[0]))
		q.bytes += 8
	}
	return nil
}

func (q *quantile) Result(w *quota.Meter) value.Value {
	quota.SortStable(w, q.list, cmp.Compare[float64])
	var out []value.Value
	for _, p := range q.ps {
		if len(q.list) == 0 {
			out = append(out, value.Null())
			continue
		}
		rank := int(math.Ceil(p*float64(len(q.list)))) - 1
		out = append(out, value.Double(q.list[max(rank, 0)]))
	}
	if q.single {
		return out[0]
	}
	return document.Array(out)
}

// topAccumulators are the accumulators that have their own sort order.
var topAccumulators = map[string]bool{"$top": true, "$topN": true, "$bottom": true, "$bottomN": true}

// CompileAccumulator compiles an accumulator of $group. ok is false if the accumulator does not exist.
func (c *Compiler) CompileAccumulator(
	name string,
	arg value.Value,
	sc *Scope,
) (acc AccumulatorSpec, ok bool, err error) {
	if name == "$accumulator" {
		_, err = rejectJavaScript(name, arg, sc)
		return acc, true, err
	}
	if start, ok := expressionAccumulators[name]; ok {
		acc, err = c.compileUnaryAccumulator(name, arg, sc, start)
		return acc, true, err
	}
	if start, ok := sc.Language.groupAccumulator(name); ok {
		acc, err = c.compileUnaryAccumulator(name, arg, sc, start)
		return acc, true, err
	}
	if start, ok := nAccumulators[name]; ok {
		acc, err = c.compileNAccumulator(name, arg, sc, start)
		return acc, true, err
	}
	switch {
	case name == "$count":
		if !value.IsObject(arg) || !document.IsEmpty(arg.Value) {
			return acc, true, servererr.TypeMismatch("$count takes no arguments, i.e. $count:{}")
		}
		acc = AccumulatorSpec{
			Args: []Expression{Literal(value.Int32(1))},
			New:  func(*Evaluation) (Accumulator, error) { return &Sum{}, nil },
		}
		return acc, true, nil
	case topAccumulators[name]:
		acc, err = c.compileTop(name, arg, sc)
		return acc, true, err
	case name == "$median" || name == "$percentile":
		args, start, err := c.compileQuantile(name, arg, sc)
		return AccumulatorSpec{Args: args, New: start}, true, err
	}
	return acc, false, nil
}

func (c *Compiler) compileUnaryAccumulator(name string, arg value.Value, sc *Scope, start func() Accumulator,
) (AccumulatorSpec, error) {
	if value.IsArray(arg) {
		return AccumulatorSpec{}, servererr.NewCode(40237, "The %s accumulator is a unary operator", name)
	}
	e, err := c.Compile(arg, sc)
	return AccumulatorSpec{
		Args: []Expression{e},
		New:  func(*Evaluation) (Accumulator, error) { return start(), nil },
	}, err
}

var inputAndN = NamedArgs{
	Args: []string{"input", "n"}, NotObjectCode: 5787900, UnknownCode: 5787901, MissingCodes: []int32{5787907, 5787906},
}

// compileNAccumulator compiles {$firstN: {input, n}} and similar accumulators.
func (c *Compiler) compileNAccumulator(
	name string,
	arg value.Value,
	sc *Scope,
	start func(int) Accumulator,
) (AccumulatorSpec, error) {
	args, err := c.compileNamedArguments(name, arg, sc, inputAndN)
	if err != nil {
		return AccumulatorSpec{}, err
	}
	n := args[1]
	return AccumulatorSpec{Args: args[:1], New: func(c *Evaluation) (Accumulator, error) {
		size, err := evalN(n, c)
		if err != nil {
			return nil, err
		}
		return start(size), nil
	}}, nil
}

// evalN evaluates n, which must be a positive integer.
func evalN(n Expression, c *Evaluation) (int, error) {
	v, err := n.Eval(c)
	if err != nil {
		return 0, err
	}
	size, ok := value.WholeInteger(v)
	switch {
	case !value.IsNumber(v):
		return 0, servererr.NewCode(5787902, "Value for 'n' must be of integral type, but found %s", v)
	case !ok:
		return 0, servererr.NewCode(5787903, "Value for 'n' must be of integral type, but found %s", v)
	case size <= 0:
		return 0, servererr.NewCode(5787908, "'n' must be greater than 0, found %d", size)
	}
	return int(min(size, math.MaxInt32)), nil
}

func (c *Compiler) compileTop(name string, arg value.Value, sc *Scope) (AccumulatorSpec, error) {
	single := name == "$top" || name == "$bottom"
	spec := NamedArgs{Args: []string{"sortBy", "output", "n"}, NotObjectCode: 5788001, UnknownCode: 5788002,
		MissingCodes: []int32{5788005, 5788004, 5788003}}
	if single {
		spec.Args, spec.MissingCodes = spec.Args[:2], spec.MissingCodes[:2]
	}
	raw, err := ReadNamedArgs(name, arg, spec)
	if err != nil {
		return AccumulatorSpec{}, err
	}
	if !value.IsObject(raw[0]) {
		return AccumulatorSpec{}, servererr.NewCode(5788604,
			"expected 'sortBy' to already be an object in the arguments to %s", name)
	}
	order, err := order.Compile(raw[0].Value)
	if err != nil {
		return AccumulatorSpec{}, err
	}
	output, err := c.Compile(raw[1], sc)
	if err != nil {
		return AccumulatorSpec{}, err
	}
	var n Expression = Literal(value.Int32(1))
	if !single {
		if n, err = c.Compile(raw[2], sc); err != nil {
			return AccumulatorSpec{}, err
		}
	}
	key := ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		return bytesValue(order.SortKeyMetered(c.Meter, c.Root.Value)), nil
	})
	bottom := name == "$bottom" || name == "$bottomN"
	return AccumulatorSpec{Args: []Expression{output, key}, New: func(c *Evaluation) (Accumulator, error) {
		size, err := evalN(n, c)
		return &topN{memoryCounter: memoryCounter{op: name}, n: size, bottom: bottom, single: single}, err
	}}, nil
}

// bytesValue wraps bytes as generic binary data.
func bytesValue(b []byte) value.Value {
	_, data, _ := bson.MarshalValue(bson.Binary{Data: b})
	return value.Value{Type: bson.TypeBinary, Value: data}
}

func (c *Compiler) compileQuantile(name string, arg value.Value,
	sc *Scope) ([]Expression, func(*Evaluation) (Accumulator, error), error) {
	spec := NamedArgs{Args: []string{"input", "method", "p"}, NotObjectCode: 7436100, UnknownCode: 40415,
		MissingCodes: []int32{40414, 40414, 40414}}
	single := name == "$median"
	if single {
		spec.Args, spec.MissingCodes = spec.Args[:2], spec.MissingCodes[:2]
	}
	raw, err := ReadNamedArgs(name, arg, spec)
	if err != nil {
		return nil, nil, err
	}
	if m := value.TextAt(raw[1].Value); !value.IsString(raw[1]) || m != "approximate" {
		return nil, nil, servererr.BadValue("Currently only 'approximate' can be used as percentile 'method'.")
	}
	ps := []float64{0.5}
	if !single {
		p, err := c.Compile(raw[2], sc)
		if err != nil {
			return nil, nil, err
		}
		constant, ok := p.(Literal)
		if !ok || !value.IsArray(value.Value(constant)) || document.IsEmpty(constant.Value) {
			return nil, nil, servererr.NewCode(7750300,
				"The $percentile 'p' field must be a non-empty array of constant numbers")
		}
		ps = nil
		for _, v := range document.Fields(constant.Value) {
			f := value.ToDouble(v)
			if !value.IsNumber(v) {
				return nil, nil, servererr.NewCode(7750302, "The $percentile 'p' field must be an array of numbers, but found %s",
					v)
			}
			if f < 0 || f > 1 {
				return nil, nil, servererr.NewCode(7750303,
					"The $percentile 'p' field must be an array of numbers from [0.0, 1.0] range, but found %s", v)
			}
			ps = append(ps, f)
		}
	}
	input, err := c.Compile(raw[0], sc)
	return []Expression{input}, func(*Evaluation) (Accumulator, error) {
		return &quantile{memoryCounter: memoryCounter{op: name}, ps: ps, single: single}, nil
	}, err
}

// compileAccumulate compiles $sum and similar accumulators as expressions: over their arguments, or over
// the elements of a single array argument.
func (c *Compiler) compileAccumulate(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.compileArguments(name, 0, -1, arg, sc)
	if err != nil {
		return nil, err
	}
	start := expressionAccumulators[name]
	return c.fold(ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		vs, err := EvalAll(args, c)
		if err != nil {
			return value.Value{}, err
		}
		if len(vs) == 1 && value.IsArray(vs[0]) {
			vs = c.Meter.Items(vs[0])
		}
		return accumulateAll(c.Meter, start(), vs)
	}), args, sc)
}

// compileAccumulateN compiles $firstN and similar accumulators as expressions over an array.
func (c *Compiler) compileAccumulateN(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, err := c.compileNamedArguments(name, arg, sc, inputAndN)
	if err != nil {
		return nil, err
	}
	start := nAccumulators[name]
	return c.fold(ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		n, err := evalN(args[1], c)
		if err != nil {
			return value.Value{}, err
		}
		in, err := args[0].Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		if !value.IsArray(in) {
			return value.Value{}, servererr.NewCode(5788200, "Input must be an array")
		}
		return accumulateAll(c.Meter, start(n), c.Meter.Items(in))
	}), args, sc)
}

// compileQuantileExpression compiles $median and $percentile as expressions over an array or a single
// value.
func (c *Compiler) compileQuantileExpression(name string, arg value.Value, sc *Scope) (Expression, error) {
	args, start, err := c.compileQuantile(name, arg, sc)
	if err != nil {
		return nil, err
	}
	return c.fold(ExpressionFunc(func(c *Evaluation) (value.Value, error) {
		acc, err := start(c)
		if err != nil {
			return value.Value{}, err
		}
		in, err := args[0].Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		if !value.IsArray(in) {
			return accumulateAll(c.Meter, acc, []value.Value{in})
		}
		return accumulateAll(c.Meter, acc, c.Meter.Items(in))
	}), args, sc)
}

func accumulateAll(w *quota.Meter, acc Accumulator, vs []value.Value) (value.Value, error) {
	for i := range vs {
		if err := w.Charge(1); err != nil {
			return value.Value{}, err
		}
		if err := acc.Add(w, vs[i:i+1]); err != nil {
			return value.Value{}, err
		}
	}
	return acc.Result(w), nil
}

// AccumulatorNames returns the sorted names of all accumulators.
func AccumulatorNames() []string {
	names := []string{"$count", "$median", "$percentile"}
	names = slices.AppendSeq(names, maps.Keys(expressionAccumulators))
	names = slices.AppendSeq(names, maps.Keys(groupAccumulators))
	names = slices.AppendSeq(names, maps.Keys(arrayAccumulators))
	names = slices.AppendSeq(names, maps.Keys(nAccumulators))
	names = slices.AppendSeq(names, maps.Keys(topAccumulators))
	slices.Sort(names)
	return slices.Compact(names)
}
