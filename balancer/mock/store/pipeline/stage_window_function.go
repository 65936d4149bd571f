package pipeline

import (
	"cmp"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// windowEvaluator returns a window function's value for each document of a partition.
type windowEvaluator = func(ctx *expr.Evaluation, part []bson.Raw, held *quota.Memory) ([]value.Value, error)

// windowFunctionCompiler compiles a window function that is not an accumulator.
type windowFunctionCompiler func(c *compiler, s *windowStage, op string, arg value.Value,
	w window) (windowEvaluator, error)

var windowFunctions = map[string]windowFunctionCompiler{
	"$rank": rankFunction, "$denseRank": rankFunction, "$documentNumber": rankFunction,
	"$shift": shiftFunction, "$locf": locfFunction, "$linearFill": linearFillFunction,
	"$derivative": slopeFunction, "$integral": slopeFunction, "$expMovingAvg": movingAverageFunction,
	"$covariancePop": covarianceFunction, "$covarianceSamp": covarianceFunction,
}

// noWindowErrs maps the functions that accept no window to their error for a given window.
var noWindowErrs = map[string]error{
	"$rank": errNoArguments, "$denseRank": errNoArguments, "$documentNumber": errNoArguments,
	"$shift":        servererr.FailedToParse("$shift got unexpected argument: window"),
	"$expMovingAvg": servererr.FailedToParse("'window' field is not allowed in $expMovingAvg"),
}

var errNoArguments = servererr.NewCode(5371601, "Rank style window functions take no other arguments")

func rankFunction(_ *compiler, s *windowStage, op string, arg value.Value, _ window) (windowEvaluator, error) {
	if !value.IsObject(arg) || !document.IsEmpty(arg.Value) {
		return nil, servererr.NewCode(5371603, "%s must be specified with '{}' as the value", op)
	}
	if s.order == nil || len(s.order.Keys) != 1 {
		return nil, servererr.NewCode(5371602,
			"%s must be specified with a top level sortBy expression with exactly one element", op)
	}
	return func(ctx *expr.Evaluation, part []bson.Raw, _ *quota.Memory) ([]value.Value, error) {
		out := make([]value.Value, len(part))
		rank := int64(1)
		for i := range part {
			if err := ctx.Meter.Charge(1); err != nil {
				return nil, err
			}
			tied := i > 0 && s.order.Compare(part[i-1], part[i]) == 0
			switch {
			case op == "$documentNumber":
				rank = int64(i + 1)
			case tied || i == 0:
			case op == "$denseRank":
				rank++
			default:
				rank = int64(i + 1)
			}
			out[i] = value.SmallestInt(rank)
		}
		return out, nil
	}, nil
}

// evalEach evaluates an expression for each document of a partition.
func evalEach(ctx *expr.Evaluation, e expr.Expression, part []bson.Raw) ([]value.Value, error) {
	out := make([]value.Value, len(part))
	for i, doc := range part {
		if err := ctx.Meter.Charge(1); err != nil {
			return nil, err
		}
		ctx.Root = value.Object(doc)
		v, err := e.Eval(ctx)
		if err != nil {
			return nil, err
		}
		out[i] = expr.OrNull(v)
	}
	return out, nil
}

func shiftFunction(c *compiler, s *windowStage, _ string, arg value.Value, _ window) (windowEvaluator, error) {
	raw, err := expr.ReadNamedArgs("$shift", arg, expr.NamedArgs{Args: []string{"output", "by", "default"},
		NotObjectCode: 9,
		UnknownCode:   9,
		MissingCodes:  []int32{9, 9}})
	if err != nil {
		return nil, err
	}
	if s.order == nil {
		return nil, servererr.FailedToParse("'$shift' requires a sortBy")
	}
	by, ok := value.WholeInt32(raw[1])
	if !ok {
		return nil, servererr.FailedToParse("'$shift:by' field must be an integer, but found %s", raw[1])
	}
	output, err := expr.Compile(raw[0], c.scope)
	if err != nil {
		return nil, err
	}
	var other expr.Expression = expr.Literal(value.Null())
	if !value.IsOmittedArgument(raw[2]) {
		if other, err = expr.Compile(raw[2], c.scope); err != nil {
			return nil, err
		}
		if !expr.IsConstant(other) {
			return nil, servererr.FailedToParse("'$shift:default' expression must yield a constant value, but got: %s", raw[2])
		}
	}
	return func(ctx *expr.Evaluation, part []bson.Raw, _ *quota.Memory) ([]value.Value, error) {
		all, err := evalEach(ctx, output, part)
		if err != nil {
			return nil, err
		}
		out, err := evalEach(ctx, other, part)
		for i := range out {
			if j := i + by; j >= 0 && j < len(all) {
				out[i] = all[j]
			}
		}
		return out, err
	}, nil
}

func locfFunction(c *compiler, _ *windowStage, _ string, arg value.Value, _ window) (windowEvaluator, error) {
	e, err := expr.Compile(arg, c.scope)
	if err != nil {
		return nil, err
	}
	return func(ctx *expr.Evaluation, part []bson.Raw, _ *quota.Memory) ([]value.Value, error) {
		out, err := evalEach(ctx, e, part)
		for i := 1; i < len(out); i++ {
			if value.IsNullish(out[i]) {
				out[i] = out[i-1]
			}
		}
		return out, err
	}, nil
}

func linearFillFunction(c *compiler, s *windowStage, op string, arg value.Value, _ window) (windowEvaluator, error) {
	if s.order == nil || len(s.order.Keys) != 1 {
		return nil, servererr.NewCode(605001,
			"%s must be specified with a top level sortBy expression with exactly one element", op)
	}
	e, err := expr.Compile(arg, c.scope)
	if err != nil {
		return nil, err
	}
	return func(ctx *expr.Evaluation, part []bson.Raw, _ *quota.Memory) ([]value.Value, error) {
		out, err := evalEach(ctx, e, part)
		if err != nil {
			return nil, err
		}
		last, line := -1, linearCheck{}
		places := make([]float64, len(part))
		for i, v := range out {
			if err := line.checkNext(s.order, part[i]); err != nil {
				return nil, err
			}
			places[i] = line.lastSortKey
			if value.IsNullish(v) {
				continue
			}
			if err := line.checkValue(true, v); err != nil {
				return nil, err
			}
			if last >= 0 && last < i-1 {
				x0, y0 := places[last], value.ToDouble(out[last])
				slope := (value.ToDouble(v) - y0) / (places[i] - x0)
				for j := last + 1; j < i; j++ {
					out[j] = value.Double(y0 + slope*(places[j]-x0))
				}
			}
			last = i
		}
		return out, nil
	}, nil
}

// slopeFunction compiles $derivative, the slope between the ends of a window, and $integral, the area
// under the line through the points of a window.
func slopeFunction(c *compiler, s *windowStage, op string, arg value.Value, w window) (windowEvaluator, error) {
	raw, err := expr.ReadNamedArgs(op, arg, expr.NamedArgs{Args: []string{"input", "unit"}, NotObjectCode: 9,
		UnknownCode:  40415,
		MissingCodes: []int32{40414}})
	if err != nil {
		return nil, err
	}
	if s.order == nil || len(s.order.Keys) != 1 {
		return nil, servererr.NewCode(5371801, "%s requires a sortBy with exactly one element", op)
	}
	if op == "$derivative" && !w.isExplicit {
		return nil, servererr.FailedToParse("$derivative requires explicit window bounds")
	}
	unit := 0.0 // in milliseconds, if the sort key is a date
	if !value.IsOmittedArgument(raw[1]) {
		u, _, err := expr.ParseUnit(raw[1], op, 9)
		if err != nil {
			return nil, err
		}
		if u.Months > 0 {
			return nil, servererr.NewCode(5490704, "unit must be 'week' or smaller")
		}
		unit = float64(u.Millis)
	}
	input, err := expr.Compile(raw[0], c.scope)
	if err != nil {
		return nil, err
	}
	return func(ctx *expr.Evaluation, part []bson.Raw, held *quota.Memory) ([]value.Value, error) {
		ys, err := evalEach(ctx, input, part)
		if err != nil {
			return nil, err
		}
		xs := make([]float64, len(part))
		for i, doc := range part {
			if xs[i], err = s.sortKeyInUnit(doc, unit); err != nil {
				return nil, err
			}
		}
		if op == "$integral" {
			begin := func(*expr.Evaluation) (expr.Accumulator, error) { return &integral{unit: cmp.Or(unit, 1)}, nil }
			return s.evalWindows(ctx, w, part, held, begin, func(i int, acc expr.Accumulator) error {
				return acc.Add(ctx.Meter, []value.Value{value.Double(xs[i]), ys[i]})
			})
		}
		out := make([]value.Value, len(part))
		for i := range part {
			from, to, err := s.windowRange(w, part, i)
			if err != nil {
				return nil, err
			}
			if out[i], err = slope(xs[from:to], ys[from:to], cmp.Or(unit, 1)); err != nil {
				return nil, err
			}
			if err := ctx.Meter.Charge(1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}, nil
}

// sortKeyInUnit returns a document's sort key as a number. Dates (in milliseconds) require a unit;
// numbers must not have one.
func (s *windowStage) sortKeyInUnit(doc bson.Raw, unit float64) (float64, error) {
	k := s.order.Keys[0].SortValue(nil, doc)
	isDate := k.Type == bson.TypeDateTime
	switch {
	case isDate && unit == 0:
		return 0, servererr.NewCode(5624901, "$derivative where the sortBy is a Date requires an 'unit'")
	case !isDate && unit != 0:
		return 0, servererr.NewCode(5624900, "Expected the sortBy field to be a Date, but it was %s", value.TypeName(k))
	case isDate:
		return float64(value.Int64At(k.Value)), nil
	case !value.IsNumber(k):
		return 0, servererr.NewCode(5624902, "Expected the sortBy field to be numeric, but it was %s", value.TypeName(k))
	}
	return value.ToDouble(k), nil
}

func slope(xs []float64, ys []value.Value, unit float64) (value.Value, error) {
	if len(xs) < 2 {
		return value.Null(), nil
	}
	first, last := ys[0], ys[len(ys)-1]
	if value.IsNullish(first) || value.IsNullish(last) {
		return value.Null(), nil
	}
	if !value.IsNumber(first) || !value.IsNumber(last) {
		return value.Value{}, servererr.NewCode(5624903, "$derivative input must be numbers, but found %s and %s",
			value.TypeName(first),
			value.TypeName(last))
	}
	width := xs[len(xs)-1] - xs[0]
	if width == 0 {
		return value.Null(), nil
	}
	return value.Double((value.ToDouble(last) - value.ToDouble(first)) / (width / unit)), nil
}

// integral sums trapezoids between points. It ignores values that are not numbers.
type integral struct {
	unit, sum float64
	x, y      float64 // the previous point
	hasPoint  bool
}

func (i *integral) Add(_ *quota.Meter, args []value.Value) error {
	if !value.IsNumber(args[1]) {
		return nil
	}
	x, y := value.DoubleAt(args[0].Value), value.ToDouble(args[1])
	if i.hasPoint {
		i.sum += (x - i.x) * (y + i.y) / 2
	}
	i.x, i.y, i.hasPoint = x, y, true
	return nil
}

func (i *integral) Result(*quota.Meter) value.Value {
	if !i.hasPoint {
		return value.Null()
	}
	return value.Double(i.sum / i.unit)
}

func movingAverageFunction(c *compiler, s *windowStage, op string, arg value.Value, _ window) (windowEvaluator, error) {
	raw, err := expr.ReadNamedArgs(op, arg, expr.NamedArgs{Args: []string{"input", "N", "alpha"}, NotObjectCode: 9,
		UnknownCode:  9,
		MissingCodes: []int32{9}})
	if err != nil {
		return nil, err
	}
	switch {
	case s.order == nil:
		return nil, servererr.FailedToParse("$expMovingAvg requires an explicit 'sortBy'")
	case value.IsOmittedArgument(raw[1]) == value.IsOmittedArgument(raw[2]):
		return nil, servererr.FailedToParse(
			"$expMovingAvg sub object must have exactly two fields: an 'input' field, and either an " +
				"'N' field or an 'alpha' field")
	}
	alpha := value.ToDecimal(raw[2])
	if !value.IsOmittedArgument(raw[1]) {
		n, ok := value.WholeInteger(raw[1])
		if !ok || n <= 0 {
			return nil, servererr.FailedToParse("'N' field must be a positive integer, but found %s", raw[1])
		}
		alpha = value.DecimalDivide(value.DecimalOfInt(2), value.DecimalOfInt(n+1))
	} else if a := value.ToDouble(raw[2]); !value.IsNumber(raw[2]) || a <= 0 || a >= 1 {
		return nil, servererr.FailedToParse("'alpha' must be between 0 and 1 (exclusive), found alpha: %s", raw[2])
	}
	input, err := expr.Compile(raw[0], c.scope)
	if err != nil {
		return nil, err
	}
	return func(ctx *expr.Evaluation, part []bson.Raw, _ *quota.Memory) ([]value.Value, error) {
		out, err := evalEach(ctx, input, part)
		now, rest := value.Null(), value.DecimalSubtract(value.DecimalOfInt(1), alpha)
		exact := bson.Decimal128{} // the server uses decimals
		for i, v := range out {
			switch {
			case !value.IsNumber(v):
			case value.IsNullish(now):
				now, exact = v, value.ToDecimal(v)
			default:
				exact = value.DecimalAdd(value.DecimalMultiply(value.ToDecimal(v), alpha), value.DecimalMultiply(exact, rest))
				next := value.Decimal(exact)
				if v.Type != bson.TypeDecimal128 && now.Type != bson.TypeDecimal128 {
					next = value.Double(value.ToDouble(next))
				}
				now = next
			}
			out[i] = now
		}
		return out, err
	}, nil
}

func covarianceFunction(c *compiler, s *windowStage, op string, arg value.Value, w window) (windowEvaluator, error) {
	list, err := (&expr.Compiler{}).CompileList(arg, c.scope)
	if err != nil {
		return nil, err
	}
	if !value.IsArray(arg) || len(list) != 2 {
		return nil, servererr.FailedToParse("%s requires an array of exactly two expressions", op)
	}
	return func(ctx *expr.Evaluation, part []bson.Raw, held *quota.Memory) ([]value.Value, error) {
		xs, err := evalEach(ctx, list[0], part)
		if err != nil {
			return nil, err
		}
		ys, err := evalEach(ctx, list[1], part)
		if err != nil {
			return nil, err
		}
		begin := func(*expr.Evaluation) (expr.Accumulator, error) {
			return &covariance{sample: op == "$covarianceSamp"}, nil
		}
		return s.evalWindows(ctx, w, part, held, begin, func(i int, acc expr.Accumulator) error {
			return acc.Add(ctx.Meter, []value.Value{xs[i], ys[i]})
		})
	}, nil
}

// covariance computes the covariance of pairs of numbers. The sample covariance needs at least two
// pairs.
type covariance struct {
	sample             bool
	n, meanX, meanY, c float64
}

func (c *covariance) Add(_ *quota.Meter, args []value.Value) error {
	if !value.IsNumber(args[0]) || !value.IsNumber(args[1]) {
		return nil
	}
	c.n++
	dx := value.ToDouble(args[0]) - c.meanX
	c.meanX += dx / c.n
	c.meanY += (value.ToDouble(args[1]) - c.meanY) / c.n
	c.c += dx * (value.ToDouble(args[1]) - c.meanY)
	return nil
}

func (c *covariance) Result(*quota.Meter) value.Value {
	n := c.n
	if c.sample {
		n--
	}
	if n <= 0 {
		return value.Null()
	}
	return value.Double(c.c / n)
}

// WindowFunctionNames returns the sorted names of the window functions that are not accumulators.
func WindowFunctionNames() []string { return slices.Sorted(maps.Keys(windowFunctions)) }
