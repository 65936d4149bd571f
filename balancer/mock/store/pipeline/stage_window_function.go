package store

import (
	"cmp"
	"maps"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// windowValues gives a window function's value for each document of a
// partition.
type windowValues = func(ctx *evaluation, part []bson.Raw, held *memory) ([]value, error)

// windowFunction compiles one of the functions that are no accumulators.
type windowFunction func(c *pipelineCompiler, s *windowStage, op string, arg value, w window) (windowValues, error)

var windowFunctions = map[string]windowFunction{
	"$rank": rankFunction, "$denseRank": rankFunction, "$documentNumber": rankFunction,
	"$shift": shiftFunction, "$locf": locfFunction, "$linearFill": linearFillFunction,
	"$derivative": slopeFunction, "$integral": slopeFunction, "$expMovingAvg": movingAverageFunction,
	"$covariancePop": covarianceFunction, "$covarianceSamp": covarianceFunction,
}

// withoutWindow are the functions that take no bounds, and what they say to some.
var withoutWindow = map[string]error{
	"$rank": errNoArguments, "$denseRank": errNoArguments, "$documentNumber": errNoArguments,
	"$shift":        failedToParse("$shift got unexpected argument: window"),
	"$expMovingAvg": failedToParse("'window' field is not allowed in $expMovingAvg"),
}

var errNoArguments = fail(5371601, "Rank style window functions take no other arguments")

func rankFunction(_ *pipelineCompiler, s *windowStage, op string, arg value, _ window) (windowValues, error) {
	if !isObject(arg) || !isEmpty(arg.Value) {
		return nil, fail(5371603, "%s must be specified with '{}' as the value", op)
	}
	if s.order == nil || len(s.order.keys) != 1 {
		return nil, fail(5371602, "%s must be specified with a top level sortBy expression with exactly one element", op)
	}
	return func(ctx *evaluation, part []bson.Raw, _ *memory) ([]value, error) {
		out := make([]value, len(part))
		rank := int64(1)
		for i := range part {
			if err := ctx.work.step(1); err != nil {
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
			out[i] = smallestInt(rank)
		}
		return out, nil
	}, nil
}

// valuesOf evaluates an expression over a partition.
func valuesOf(ctx *evaluation, e expression, part []bson.Raw) ([]value, error) {
	out := make([]value, len(part))
	for i, doc := range part {
		if err := ctx.work.step(1); err != nil {
			return nil, err
		}
		ctx.root = objectValue(doc)
		v, err := e.eval(ctx)
		if err != nil {
			return nil, err
		}
		out[i] = orNull(v)
	}
	return out, nil
}

func shiftFunction(c *pipelineCompiler, s *windowStage, _ string, arg value, _ window) (windowValues, error) {
	raw, err := namedValues("$shift", arg, namedSpec{args: []string{"output", "by", "default"}, notObject: 9, unknown: 9,
		missing: []int32{9, 9}})
	if err != nil {
		return nil, err
	}
	if s.order == nil {
		return nil, failedToParse("'$shift' requires a sortBy")
	}
	by, ok := wholeInt32(raw[1])
	if !ok {
		return nil, failedToParse("'$shift:by' field must be an integer, but found %s", raw[1])
	}
	output, err := compileExpression(raw[0], c.scope)
	if err != nil {
		return nil, err
	}
	var other expression = literal(nullValue())
	if !isAbsent(raw[2]) {
		if other, err = compileExpression(raw[2], c.scope); err != nil {
			return nil, err
		}
		if !isConstant(other) {
			return nil, failedToParse("'$shift:default' expression must yield a constant value, but got: %s", raw[2])
		}
	}
	return func(ctx *evaluation, part []bson.Raw, _ *memory) ([]value, error) {
		all, err := valuesOf(ctx, output, part)
		if err != nil {
			return nil, err
		}
		out, err := valuesOf(ctx, other, part)
		for i := range out {
			if j := i + by; j >= 0 && j < len(all) {
				out[i] = all[j]
			}
		}
		return out, err
	}, nil
}

func locfFunction(c *pipelineCompiler, _ *windowStage, _ string, arg value, _ window) (windowValues, error) {
	e, err := compileExpression(arg, c.scope)
	if err != nil {
		return nil, err
	}
	return func(ctx *evaluation, part []bson.Raw, _ *memory) ([]value, error) {
		out, err := valuesOf(ctx, e, part)
		for i := 1; i < len(out); i++ {
			if isNullish(out[i]) {
				out[i] = out[i-1]
			}
		}
		return out, err
	}, nil
}

func linearFillFunction(c *pipelineCompiler, s *windowStage, op string, arg value, _ window) (windowValues, error) {
	if s.order == nil || len(s.order.keys) != 1 {
		return nil, fail(605001, "%s must be specified with a top level sortBy expression with exactly one element", op)
	}
	e, err := compileExpression(arg, c.scope)
	if err != nil {
		return nil, err
	}
	return func(ctx *evaluation, part []bson.Raw, _ *memory) ([]value, error) {
		out, err := valuesOf(ctx, e, part)
		if err != nil {
			return nil, err
		}
		last, line := -1, fillLine{}
		places := make([]float64, len(part))
		for i, v := range out {
			if err := line.step(s.order, part[i]); err != nil {
				return nil, err
			}
			places[i] = line.place
			if isNullish(v) {
				continue
			}
			if err := line.check(true, v); err != nil {
				return nil, err
			}
			if last >= 0 && last < i-1 {
				x0, y0 := places[last], toDouble(out[last])
				slope := (toDouble(v) - y0) / (places[i] - x0)
				for j := last + 1; j < i; j++ {
					out[j] = doubleValue(y0 + slope*(places[j]-x0))
				}
			}
			last = i
		}
		return out, nil
	}, nil
}

// slopeFunction is $derivative, the slope between the ends of a window, and
// $integral, the area under the line through its points.
func slopeFunction(c *pipelineCompiler, s *windowStage, op string, arg value, w window) (windowValues, error) {
	raw, err := namedValues(op, arg, namedSpec{args: []string{"input", "unit"}, notObject: 9, unknown: 40415,
		missing: []int32{40414}})
	if err != nil {
		return nil, err
	}
	if s.order == nil || len(s.order.keys) != 1 {
		return nil, fail(5371801, "%s requires a sortBy with exactly one element", op)
	}
	if op == "$derivative" && w == (window{}) {
		return nil, failedToParse("$derivative requires explicit window bounds")
	}
	unit := 0.0 // milliseconds, when the sort key is a date
	if !isAbsent(raw[1]) {
		u, _, err := unitOf(raw[1], op, 9)
		if err != nil {
			return nil, err
		}
		if u.months > 0 {
			return nil, fail(5490704, "unit must be 'week' or smaller")
		}
		unit = float64(u.ms)
	}
	input, err := compileExpression(raw[0], c.scope)
	if err != nil {
		return nil, err
	}
	return func(ctx *evaluation, part []bson.Raw, held *memory) ([]value, error) {
		ys, err := valuesOf(ctx, input, part)
		if err != nil {
			return nil, err
		}
		xs := make([]float64, len(part))
		for i, doc := range part {
			if xs[i], err = s.across(doc, unit); err != nil {
				return nil, err
			}
		}
		if op == "$integral" {
			begin := func(*evaluation) (accumulator, error) { return &area{unit: cmp.Or(unit, 1)}, nil }
			return s.overWindows(ctx, w, part, held, begin, func(i int, acc accumulator) error {
				return acc.add(ctx.work, []value{doubleValue(xs[i]), ys[i]})
			})
		}
		out := make([]value, len(part))
		for i := range part {
			from, to, err := s.span(w, part, i)
			if err != nil {
				return nil, err
			}
			if out[i], err = slope(xs[from:to], ys[from:to], cmp.Or(unit, 1)); err != nil {
				return nil, err
			}
			if err := ctx.work.step(1); err != nil {
				return nil, err
			}
		}
		return out, nil
	}, nil
}

// across returns a document's sort key: dates, in milliseconds, need a unit,
// and numbers none.
func (s *windowStage) across(doc bson.Raw, unit float64) (float64, error) {
	k := s.order.keys[0].in(nil, doc)
	isDate := k.Type == bson.TypeDateTime
	switch {
	case isDate && unit == 0:
		return 0, fail(5624901, "$derivative where the sortBy is a Date requires an 'unit'")
	case !isDate && unit != 0:
		return 0, fail(5624900, "Expected the sortBy field to be a Date, but it was %s", typeName(k))
	case isDate:
		return float64(int64At(k.Value)), nil
	case !isNumber(k):
		return 0, fail(5624902, "Expected the sortBy field to be numeric, but it was %s", typeName(k))
	}
	return toDouble(k), nil
}

func slope(xs []float64, ys []value, unit float64) (value, error) {
	if len(xs) < 2 {
		return nullValue(), nil
	}
	first, last := ys[0], ys[len(ys)-1]
	if isNullish(first) || isNullish(last) {
		return nullValue(), nil
	}
	if !isNumber(first) || !isNumber(last) {
		return value{}, fail(5624903, "$derivative input must be numbers, but found %s and %s", typeName(first),
			typeName(last))
	}
	width := xs[len(xs)-1] - xs[0]
	if width == 0 {
		return nullValue(), nil
	}
	return doubleValue((toDouble(last) - toDouble(first)) / (width / unit)), nil
}

// area sums trapezoids between points; what is no number does not count.
type area struct {
	unit, sum float64
	x, y      float64 // the last point
	any       bool
}

func (a *area) add(_ *work, args []value) error {
	if !isNumber(args[1]) {
		return nil
	}
	x, y := doubleAt(args[0].Value), toDouble(args[1])
	if a.any {
		a.sum += (x - a.x) * (y + a.y) / 2
	}
	a.x, a.y, a.any = x, y, true
	return nil
}

func (a *area) result(*work) value {
	if !a.any {
		return nullValue()
	}
	return doubleValue(a.sum / a.unit)
}

func movingAverageFunction(c *pipelineCompiler, s *windowStage, op string, arg value, w window) (windowValues, error) {
	raw, err := namedValues(op, arg, namedSpec{args: []string{"input", "N", "alpha"}, notObject: 9, unknown: 9,
		missing: []int32{9}})
	if err != nil {
		return nil, err
	}
	switch {
	case w != (window{}):
		return nil, failedToParse("$expMovingAvg does not accept a 'window' field")
	case s.order == nil:
		return nil, failedToParse("$expMovingAvg requires an explicit 'sortBy'")
	case isAbsent(raw[1]) == isAbsent(raw[2]):
		return nil, failedToParse("$expMovingAvg sub object must have exactly two fields: an 'input' field, and either an " +
			"'N' field or an 'alpha' field")
	}
	alpha := toDecimal(raw[2])
	if !isAbsent(raw[1]) {
		n, ok := wholeInteger(raw[1])
		if !ok || n <= 0 {
			return nil, failedToParse("'N' field must be a positive integer, but found %s", raw[1])
		}
		alpha = decimalDivide(decimalOfInt(2), decimalOfInt(n+1))
	} else if a := toDouble(raw[2]); !isNumber(raw[2]) || a <= 0 || a >= 1 {
		return nil, failedToParse("'alpha' must be between 0 and 1 (exclusive), found alpha: %s", raw[2])
	}
	input, err := compileExpression(raw[0], c.scope)
	if err != nil {
		return nil, err
	}
	return func(ctx *evaluation, part []bson.Raw, _ *memory) ([]value, error) {
		out, err := valuesOf(ctx, input, part)
		now, rest := nullValue(), decimalSubtract(decimalOfInt(1), alpha)
		exact := bson.Decimal128{} // the server computes in decimals
		for i, v := range out {
			switch {
			case !isNumber(v):
			case isNullish(now):
				now, exact = v, toDecimal(v)
			default:
				exact = decimalAdd(decimalMultiply(toDecimal(v), alpha), decimalMultiply(exact, rest))
				next := decimalValue(exact)
				if v.Type != bson.TypeDecimal128 && now.Type != bson.TypeDecimal128 {
					next = doubleValue(toDouble(next))
				}
				now = next
			}
			out[i] = now
		}
		return out, err
	}, nil
}

func covarianceFunction(c *pipelineCompiler, s *windowStage, op string, arg value, w window) (windowValues, error) {
	list, err := (&exprCompiler{}).list(arg, c.scope)
	if err != nil {
		return nil, err
	}
	if !isArray(arg) || len(list) != 2 {
		return nil, failedToParse("%s requires an array of exactly two expressions", op)
	}
	return func(ctx *evaluation, part []bson.Raw, held *memory) ([]value, error) {
		xs, err := valuesOf(ctx, list[0], part)
		if err != nil {
			return nil, err
		}
		ys, err := valuesOf(ctx, list[1], part)
		if err != nil {
			return nil, err
		}
		begin := func(*evaluation) (accumulator, error) { return &covariance{sample: op == "$covarianceSamp"}, nil }
		return s.overWindows(ctx, w, part, held, begin, func(i int, acc accumulator) error {
			return acc.add(ctx.work, []value{xs[i], ys[i]})
		})
	}, nil
}

// covariance of the pairs of numbers; a sample needs two.
type covariance struct {
	sample             bool
	n, meanX, meanY, c float64
}

func (c *covariance) add(_ *work, args []value) error {
	if !isNumber(args[0]) || !isNumber(args[1]) {
		return nil
	}
	c.n++
	dx := toDouble(args[0]) - c.meanX
	c.meanX += dx / c.n
	c.meanY += (toDouble(args[1]) - c.meanY) / c.n
	c.c += dx * (toDouble(args[1]) - c.meanY)
	return nil
}

func (c *covariance) result(*work) value {
	n := c.n
	if c.sample {
		n--
	}
	if n <= 0 {
		return nullValue()
	}
	return doubleValue(c.c / n)
}

// windowNames lists the functions of windows that are no accumulators, in order.
func windowNames() []string { return slices.Sorted(maps.Keys(windowFunctions)) }
