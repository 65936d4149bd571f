package pipeline

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// windowStage implements $setWindowFields: accumulators over a window of documents around each document
// in its partition.
type windowStage struct {
	partition expr.Expression
	order     *order.Sort
	sortPath  []string // of the only sort key, for ranges
	outputs   []windowOutput
}

// windowOutput is one added field. eval computes its value for each document of a partition.
type windowOutput struct {
	path   []string
	bounds window
	eval   windowEvaluator
}

// window is the part of a partition around a document, in documents or as a range of the sort key. A nil
// bound is unbounded.
type window struct {
	isExplicit   bool // given, even if it is unbounded
	byRange      bool
	lower, upper *value.Value
	unit         *expr.TimeUnit
}

func (c *compiler) compileSetWindowFields(name string, arg value.Value) (stage, error) {
	raw, err := expr.ReadNamedArgs(name, arg, expr.NamedArgs{
		Args: []string{"partitionBy", "sortBy", "output"}, NotObjectCode: 9, UnknownCode: 40415,
		MissingCodes: []int32{0, 0, 40414},
	})
	if err != nil {
		return nil, err
	}
	s := &windowStage{}
	if !value.IsOmittedArgument(raw[0]) {
		if s.partition, err = expr.Compile(raw[0], c.scope); err != nil {
			return nil, err
		}
	}
	if !value.IsOmittedArgument(raw[1]) {
		if !value.IsObject(raw[1]) {
			return nil, servererr.TypeMismatch(
				"BSON field '$setWindowFields.sortBy' is the wrong type '%s', expected type 'object'",
				value.TypeName(raw[1]))
		}
		if s.order, err = order.Compile(raw[1].Value); err != nil {
			return nil, err
		}
		if len(s.order.Keys) == 1 {
			s.sortPath = s.order.Keys[0].Path
		}
	}
	if !value.IsObject(raw[2]) {
		return nil, servererr.TypeMismatch(
			"BSON field '$setWindowFields.output' is the wrong type '%s', expected type 'object'",
			value.TypeName(raw[2]))
	}
	for path, v := range document.Fields(raw[2].Value) {
		o, err := c.compileWindowOutput(s, string(path), v)
		if err != nil {
			return nil, err
		}
		s.outputs = append(s.outputs, o)
	}
	return blockingStage(s.apply), nil
}

func (c *compiler) compileWindowOutput(s *windowStage, path string, v value.Value) (o windowOutput, err error) {
	if o.path, err = paths.Parse(path); err != nil {
		return o, err
	}
	if !value.IsObject(v) {
		return o, servererr.FailedToParse("The field '%s' must be an object", path)
	}
	var op string
	var arg value.Value
	var windowed bool
	for n, a := range document.Fields(v.Value) {
		switch name := string(n); {
		case name == "window":
			windowed = true
			if o.bounds, err = parseWindow(s, a); err != nil {
				return o, err
			}
		case document.IsOperator(name) && op == "":
			op, arg = name, a
		default:
			return o, servererr.FailedToParse(
				"'window' must be an object and the only other field of a window function specification")
		}
	}
	if op == "" {
		return o, servererr.FailedToParse("Expected a $-prefixed window function, found none in %s", v)
	}
	if err := noWindowErrs[op]; windowed && err != nil {
		return o, err
	}
	if make, ok := windowFunctions[op]; ok {
		o.eval, err = make(c, s, op, arg, o.bounds)
		return o, err
	}
	acc, ok, err := (&expr.Compiler{}).CompileAccumulator(op, arg, c.scope)
	if !ok {
		return o, servererr.FailedToParse("Unrecognized window function, %s", op)
	}
	o.eval = func(ctx *expr.Evaluation, part []bson.Raw, held *quota.Memory) ([]value.Value, error) {
		return s.accumulate(ctx, acc, o.bounds, part, held)
	}
	return o, err
}

func parseWindow(s *windowStage, v value.Value) (w window, err error) {
	if !value.IsObject(v) {
		return w, servererr.FailedToParse("'window' field must be an object")
	}
	w.isExplicit = true
	var bounds value.Value
	for name, arg := range document.Fields(v.Value) {
		switch string(name) {
		case "documents", "range":
			if !value.IsMissing(bounds) {
				return w, servererr.FailedToParse("Window bounds can specify either 'documents' or 'range', not both.")
			}
			bounds, w.byRange = arg, string(name) == "range"
		case "unit":
			u, _, err := expr.ParseUnit(arg, "window", 9)
			if err != nil {
				return w, err
			}
			w.unit = &u
		default:
			return w, servererr.FailedToParse(
				"'window' field can only contain 'documents' as the only argument or 'range' with an " +
					"optional 'unit' field")
		}
	}
	switch {
	case w.unit != nil && !w.byRange:
		return w, servererr.FailedToParse("Window bounds can only specify 'unit' with range-based bounds.")
	case value.IsMissing(bounds):
		return w, nil
	}
	list := document.Items(bounds)
	if !value.IsArray(bounds) || len(list) != 2 {
		return w, servererr.FailedToParse("Window bounds must be a 2-element array: %s", bounds)
	}
	for i, end := range []**value.Value{&w.lower, &w.upper} {
		if *end, err = parseWindowEnd(list[i], w.byRange); err != nil {
			return w, err
		}
	}
	switch {
	case w.lower != nil && w.upper != nil && value.Compare(*w.lower, *w.upper) > 0:
		return w, servererr.NewCode(5339900, "Lower bound must not exceed upper bound: %s", bounds)
	case w.byRange && (s.sortPath == nil || s.order.Keys[0].Descending):
		return w, servererr.NewCode(5339902, "Range-based bounds require sortBy a single field in ascending order")
	case !w.byRange && s.order == nil && (w.lower != nil || w.upper != nil):
		return w, servererr.NewCode(5339901, "Document-based bounds require a sortBy")
	}
	return w, nil
}

func parseWindowEnd(v value.Value, byRange bool) (*value.Value, error) {
	switch text := value.TextAt(v.Value); {
	case value.IsString(v) && text == "unbounded":
		return nil, nil
	case value.IsString(v) && text == "current":
		zero := value.Int32(0)
		return &zero, nil
	case !value.IsNumber(v):
		return nil, servererr.FailedToParse("Window bounds must be 'unbounded', 'current', or a number.")
	}
	if _, whole := value.WholeInteger(v); !whole && !byRange {
		return nil, servererr.FailedToParse("Numeric document-based bounds must be an integer")
	}
	return &v, nil
}

func (s *windowStage) apply(r *execution, in quota.Docs) ([]bson.Raw, error) {
	held := r.stageMemory(errWindowsTooLarge)
	all, err := held.ReadAll(in)
	if err != nil {
		return nil, err
	}
	ctx := r.newEvaluation()
	s.order.SortMetered(r.meter, all)
	parts, err := partitionDocuments(ctx, s.partition, all)
	if err != nil {
		return nil, err
	}
	var out []bson.Raw
	for _, part := range parts {
		done := slices.Clone(part)
		for _, o := range s.outputs {
			values, err := o.eval(ctx, part, held)
			if err != nil {
				return nil, err
			}
			for i, v := range values {
				if err := r.meter.ChargeBytes(len(done[i])); err != nil {
					return nil, err
				}
				done[i] = setPath(done[i], o.path, v)
			}
		}
		out = append(out, done...)
	}
	return out, nil
}

// partitionDocuments groups documents by a key. The groups are sorted by key; documents within a group
// keep their order.
func partitionDocuments(ctx *expr.Evaluation, key expr.Expression, all []bson.Raw) ([][]bson.Raw, error) {
	if key == nil {
		return [][]bson.Raw{all}, nil
	}
	index := map[string][]bson.Raw{}
	for _, doc := range all {
		if err := ctx.Meter.Charge(1); err != nil {
			return nil, err
		}
		ctx.Root = value.Object(doc)
		v, err := key.Eval(ctx)
		if err != nil {
			return nil, err
		}
		if value.IsArray(v) {
			return nil, servererr.TypeMismatch("Expected a partition expression to not evaluate to an array")
		}
		id := value.EncodedKey(expr.OrNull(v))
		index[id] = append(index[id], doc)
	}
	keys := slices.Collect(maps.Keys(index))
	quota.SortStable(ctx.Meter, keys, strings.Compare)
	parts := make([][]bson.Raw, len(keys))
	for i, id := range keys {
		parts[i] = index[id]
	}
	return parts, nil
}

// accumulate runs an accumulator over each document's window.
func (s *windowStage) accumulate(ctx *expr.Evaluation, a expr.AccumulatorSpec, w window, part []bson.Raw,
	held *quota.Memory) ([]value.Value, error) {
	return s.evalWindows(ctx, w, part, held, a.New, func(i int, acc expr.Accumulator) error {
		ctx.Root = value.Object(part[i])
		args, err := expr.EvalAll(a.Args, ctx)
		if err != nil {
			return err
		}
		return acc.Add(ctx.Meter, args)
	})
}

// evalWindows returns the result of each document's window. Consecutive windows with the same start that
// only grow share one accumulator.
func (s *windowStage) evalWindows(ctx *expr.Evaluation, w window, part []bson.Raw, held *quota.Memory,
	start func(*expr.Evaluation) (expr.Accumulator, error),
	add func(i int, acc expr.Accumulator) error,
) ([]value.Value, error) {
	out := make([]value.Value, len(part))
	var acc expr.Accumulator
	begun, done := 0, 0
	for i := range part {
		from, to, err := s.windowRange(w, part, i)
		if err != nil {
			return nil, err
		}
		if acc != nil && from == begun && to == done {
			out[i] = out[i-1]
			continue
		}
		if acc == nil || from != begun || to < done {
			ctx.Root = value.Object(part[i])
			if acc, err = start(ctx); err != nil {
				return nil, err
			}
			begun, done = from, from
		}
		for ; done < to; done++ {
			if err := ctx.Meter.Charge(1); err != nil {
				return nil, err
			}
			if err := add(done, acc); err != nil {
				return nil, err
			}
		}
		out[i] = acc.Result(ctx.Meter)
		if err := held.Hold(len(out[i].Value) + quota.ItemOverheadBytes); err != nil {
			return nil, err
		}
		if err := ctx.Meter.ChargeBytes(len(out[i].Value)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// windowRange returns the half-open range of indexes of a window.
func (s *windowStage) windowRange(w window, part []bson.Raw, i int) (from, to int, err error) {
	to = len(part)
	if !w.byRange {
		if w.lower != nil {
			from = min(max(i+int(value.ToInteger(*w.lower)), 0), len(part))
		}
		if w.upper != nil {
			to = max(min(i+int(value.ToInteger(*w.upper))+1, len(part)), from)
		}
		return from, to, nil
	}
	here := paths.LookupPath(part[i], s.sortPath)
	edge := func(by value.Value) (value.Value, error) {
		switch {
		case w.unit != nil && here.Type == bson.TypeDateTime:
			t, err := expr.AddUnits(time.UnixMilli(value.Int64At(here.Value)).UTC(), *w.unit, value.ToInteger(by))
			return value.Date(t.UnixMilli()), err
		case w.unit == nil && value.IsNumber(here):
			v, _ := value.Add(here, by)
			return v, nil
		}
		return value.Value{}, servererr.NewCode(5429414,
			"Invalid range: Expected the sortBy field to be a number or, with a unit, a date, but it was %s",
			value.TypeName(here))
	}
	if w.lower != nil {
		low, err := edge(*w.lower)
		if err != nil {
			return 0, 0, err
		}
		from = sort.Search(len(part),
			func(i int) bool { return value.Compare(paths.LookupPath(part[i], s.sortPath), low) >= 0 })
	}
	if w.upper != nil {
		high, err := edge(*w.upper)
		if err != nil {
			return 0, 0, err
		}
		to = max(from, sort.Search(len(part), func(i int) bool {
			return value.Compare(paths.LookupPath(part[i], s.sortPath),
				high) > 0
		}))
	}
	return from, to, nil
}
