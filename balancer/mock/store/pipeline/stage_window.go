package store

import (
	"slices"
	"sort"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// windowStage is $setWindowFields: for each document, accumulators over the
// documents around it in its partition.
type windowStage struct {
	partition expression
	order     *Sort
	sortPath  []string // of the single sort key, for ranges
	outputs   []windowOutput
}

// windowOutput is one field that is added. values gives it for each document of
// a partition.
type windowOutput struct {
	path   []string
	bounds window
	values windowValues
}

// window is the part of a partition around a document: by place, or by the
// value of the sort key. Nil ends are open.
type window struct {
	byRange     bool
	lower, high *value
	unit        *timeUnit
}

func (c *pipelineCompiler) setWindowFields(name string, arg value) (stage, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"partitionBy", "sortBy", "output"}, notObject: 9, unknown: 40415, missing: []int32{0, 0, 40414},
	})
	if err != nil {
		return nil, err
	}
	s := &windowStage{}
	if !isAbsent(raw[0]) {
		if s.partition, err = compileExpression(raw[0], c.scope); err != nil {
			return nil, err
		}
	}
	if !isAbsent(raw[1]) {
		if !isObject(raw[1]) {
			return nil, typeMismatch("BSON field '$setWindowFields.sortBy' is the wrong type '%s', expected type 'object'",
				typeName(raw[1]))
		}
		if s.order, err = CompileSort(raw[1].Value); err != nil {
			return nil, err
		}
		if len(s.order.keys) == 1 {
			s.sortPath = s.order.keys[0].path
		}
	}
	if !isObject(raw[2]) {
		return nil, typeMismatch("BSON field '$setWindowFields.output' is the wrong type '%s', expected type 'object'",
			typeName(raw[2]))
	}
	for path, v := range fields(raw[2].Value) {
		o, err := c.windowOutput(s, string(path), v)
		if err != nil {
			return nil, err
		}
		s.outputs = append(s.outputs, o)
	}
	return blocking(s.apply), nil
}

func (c *pipelineCompiler) windowOutput(s *windowStage, path string, v value) (o windowOutput, err error) {
	if o.path, err = fieldPath(path); err != nil {
		return o, err
	}
	if !isObject(v) {
		return o, failedToParse("The field '%s' must be an object", path)
	}
	var op string
	var arg value
	var windowed bool
	for n, a := range fields(v.Value) {
		switch name := string(n); {
		case name == "window":
			windowed = true
			if o.bounds, err = parseWindow(s, a); err != nil {
				return o, err
			}
		case isOperator(name) && op == "":
			op, arg = name, a
		default:
			return o, failedToParse("'window' must be an object and the only other field of a window function specification")
		}
	}
	if op == "" {
		return o, failedToParse("Expected a $-prefixed window function, found none in %s", v)
	}
	if err := withoutWindow[op]; windowed && err != nil {
		return o, err
	}
	if make, ok := windowFunctions[op]; ok {
		o.values, err = make(c, s, op, arg, o.bounds)
		return o, err
	}
	acc, ok, err := (&exprCompiler{}).compileAccumulator(op, arg, c.scope)
	if !ok {
		return o, failedToParse("Unrecognized window function, %s", op)
	}
	o.values = func(ctx *evaluation, part []bson.Raw, held *memory) ([]value, error) {
		return s.accumulate(ctx, acc, o.bounds, part, held)
	}
	return o, err
}

func parseWindow(s *windowStage, v value) (w window, err error) {
	if !isObject(v) {
		return w, failedToParse("'window' field must be an object")
	}
	var bounds value
	for name, arg := range fields(v.Value) {
		switch string(name) {
		case "documents", "range":
			if !isMissing(bounds) {
				return w, failedToParse("Window bounds can specify either 'documents' or 'range', not both.")
			}
			bounds, w.byRange = arg, string(name) == "range"
		case "unit":
			u, _, err := unitOf(arg, "window", 9)
			if err != nil {
				return w, err
			}
			w.unit = &u
		default:
			return w, failedToParse("'window' field can only contain 'documents' as the only argument or 'range' with an " +
				"optional 'unit' field")
		}
	}
	switch {
	case isMissing(bounds) && w.unit != nil:
		return w, failedToParse("Window bounds can only specify 'unit' with range-based bounds.")
	case isMissing(bounds):
		return w, nil
	}
	list := items(bounds)
	if !isArray(bounds) || len(list) != 2 {
		return w, failedToParse("Window bounds must be a 2-element array: %s", bounds)
	}
	for i, end := range []**value{&w.lower, &w.high} {
		if *end, err = windowEnd(list[i], w.byRange); err != nil {
			return w, err
		}
	}
	switch {
	case w.lower != nil && w.high != nil && compare(*w.lower, *w.high) > 0:
		return w, fail(5339900, "Lower bound must not exceed upper bound: %s", bounds)
	case w.byRange && (s.sortPath == nil || s.order.keys[0].descending):
		return w, fail(5339902, "Range-based bounds require sortBy a single field in ascending order")
	case !w.byRange && s.order == nil && (w.lower != nil || w.high != nil):
		return w, fail(5339901, "Document-based bounds require a sortBy")
	}
	return w, nil
}

func windowEnd(v value, byRange bool) (*value, error) {
	switch text := textAt(v.Value); {
	case isString(v) && text == "unbounded":
		return nil, nil
	case isString(v) && text == "current":
		zero := int32Value(0)
		return &zero, nil
	case !isNumber(v):
		return nil, failedToParse("Window bounds must be 'unbounded', 'current', or a number.")
	}
	if _, whole := wholeInteger(v); !whole && !byRange {
		return nil, failedToParse("Numeric document-based bounds must be an integer")
	}
	return &v, nil
}

func (s *windowStage) apply(r *execution, in docs) ([]bson.Raw, error) {
	held := r.spilling(windowsTooLarge)
	all, err := held.drain(in)
	if err != nil {
		return nil, err
	}
	ctx := r.evaluation()
	s.order.sort(r.work, all)
	parts, err := partitioned(ctx, s.partition, all)
	if err != nil {
		return nil, err
	}
	var out []bson.Raw
	for _, part := range parts {
		done := slices.Clone(part)
		for _, o := range s.outputs {
			values, err := o.values(ctx, part, held)
			if err != nil {
				return nil, err
			}
			for i, v := range values {
				if err := r.work.handle(len(done[i])); err != nil {
					return nil, err
				}
				done[i] = replaceAt(done[i], o.path, v)
			}
		}
		out = append(out, done...)
	}
	return out, nil
}

// partitioned divides documents by a key, in the order of the keys, keeping
// their order within.
func partitioned(ctx *evaluation, key expression, all []bson.Raw) ([][]bson.Raw, error) {
	if key == nil {
		return [][]bson.Raw{all}, nil
	}
	index := map[string][]bson.Raw{}
	for _, doc := range all {
		if err := ctx.work.step(1); err != nil {
			return nil, err
		}
		ctx.root = objectValue(doc)
		v, err := key.eval(ctx)
		if err != nil {
			return nil, err
		}
		if isArray(v) {
			return nil, typeMismatch("Expected a partition expression to not evaluate to an array")
		}
		id := encoded(orNull(v))
		index[id] = append(index[id], doc)
	}
	var keys []string
	for id := range index {
		keys = append(keys, id)
	}
	sortStable(ctx.work, keys, strings.Compare)
	parts := make([][]bson.Raw, len(keys))
	for i, id := range keys {
		parts[i] = index[id]
	}
	return parts, nil
}

// accumulate runs an accumulator over each document's window.
func (s *windowStage) accumulate(ctx *evaluation, a accumulation, w window, part []bson.Raw,
	held *memory) ([]value, error) {
	return s.overWindows(ctx, w, part, held, a.start, func(i int, acc accumulator) error {
		ctx.root = objectValue(part[i])
		args, err := evalAll(a.args, ctx)
		if err != nil {
			return err
		}
		return acc.add(ctx.work, args)
	})
}

// overWindows gives each document the result of its window. As long as windows
// begin at the same place and only grow, one accumulator serves them all.
func (s *windowStage) overWindows(ctx *evaluation, w window, part []bson.Raw, held *memory,
	start func(*evaluation) (accumulator, error), add func(i int, acc accumulator) error) ([]value, error) {
	out := make([]value, len(part))
	var acc accumulator
	begun, done := 0, 0
	for i := range part {
		from, to, err := s.span(w, part, i)
		if err != nil {
			return nil, err
		}
		if acc != nil && from == begun && to == done {
			out[i] = out[i-1]
			continue
		}
		if acc == nil || from != begun || to < done {
			ctx.root = objectValue(part[i])
			if acc, err = start(ctx); err != nil {
				return nil, err
			}
			begun, done = from, from
		}
		for ; done < to; done++ {
			if err := ctx.work.step(1); err != nil {
				return nil, err
			}
			if err := add(done, acc); err != nil {
				return nil, err
			}
		}
		out[i] = acc.result(ctx.work)
		if err := held.keep(len(out[i].Value) + itemBytes); err != nil {
			return nil, err
		}
		if err := ctx.work.handle(len(out[i].Value)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// span returns the half-open range of places a window covers.
func (s *windowStage) span(w window, part []bson.Raw, i int) (from, to int, err error) {
	to = len(part)
	if !w.byRange {
		if w.lower != nil {
			from = min(max(i+int(toInteger(*w.lower)), 0), len(part))
		}
		if w.high != nil {
			to = max(min(i+int(toInteger(*w.high))+1, len(part)), from)
		}
		return from, to, nil
	}
	here := valueAt(part[i], s.sortPath)
	edge := func(by value) (value, error) {
		switch {
		case w.unit != nil && here.Type == bson.TypeDateTime:
			t, err := addUnits(time.UnixMilli(int64At(here.Value)).UTC(), *w.unit, toInteger(by))
			return dateValue(t.UnixMilli()), err
		case w.unit == nil && isNumber(here):
			v, _ := addNumbers(here, by)
			return v, nil
		}
		return value{}, fail(5429414,
			"Invalid range: Expected the sortBy field to be a number or, with a unit, a date, but it was %s", typeName(here))
	}
	if w.lower != nil {
		low, err := edge(*w.lower)
		if err != nil {
			return 0, 0, err
		}
		from = sort.Search(len(part), func(i int) bool { return compare(valueAt(part[i], s.sortPath), low) >= 0 })
	}
	if w.high != nil {
		high, err := edge(*w.high)
		if err != nil {
			return 0, 0, err
		}
		to = max(from, sort.Search(len(part), func(i int) bool { return compare(valueAt(part[i], s.sortPath), high) > 0 }))
	}
	return from, to, nil
}
