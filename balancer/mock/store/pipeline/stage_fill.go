package store

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// fillStage is $fill: it replaces null and missing by a value, by the last
// value before, or by the line between the values around.
type fillStage struct {
	partition expression
	order     *Sort
	outputs   []fillOutput
}

type fillOutput struct {
	path   []string
	value  expression
	method string
}

func (c *pipelineCompiler) fill(name string, arg value) (stage, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"sortBy", "partitionBy", "partitionByFields", "output"}, notObject: 9, unknown: 40415,
		missing: []int32{0, 0, 0, 40414},
	})
	if err != nil {
		return nil, err
	}
	if err := ofTypes("$fill", raw, []typedOption{
		{"sortBy", []bson.Type{bson.TypeEmbeddedDocument}},
		{"partitionBy", []bson.Type{bson.TypeString, bson.TypeEmbeddedDocument}},
		{"partitionByFields", []bson.Type{bson.TypeArray}}, {"output", []bson.Type{bson.TypeEmbeddedDocument}},
	}); err != nil {
		return nil, err
	}
	if isEmpty(raw[3].Value) {
		return nil, fail(6050203, "The output field in '$fill' must contain an object with at least one element")
	}
	s := &fillStage{}
	if !isAbsent(raw[0]) {
		if s.order, err = CompileSort(raw[0].Value); err != nil {
			return nil, err
		}
	}
	switch {
	case !isAbsent(raw[1]) && !isAbsent(raw[2]):
		return nil, fail(6050204, "Maximum one of 'partitionBy' and 'partitionByFields can be specified in '$fill'")
	case !isAbsent(raw[1]):
		if s.partition, err = compileExpression(raw[1], c.scope); err != nil {
			return nil, err
		}
	case !isAbsent(raw[2]):
		var list arrayExpression
		for _, v := range fields(raw[2].Value) {
			path, err := fieldPath(textAt(v.Value))
			if err != nil {
				return nil, err
			}
			list = append(list, pathExpression{path: path})
		}
		s.partition = objectExpression{{"k", list}}
	}
	for path, v := range fields(raw[3].Value) {
		o, err := c.fillOutput(string(path), v, s.order != nil && len(s.order.keys) == 1)
		if err != nil {
			return nil, err
		}
		s.outputs = append(s.outputs, o)
	}
	return s, nil
}

// typedOption is an option of a stage, and what it may be.
type typedOption struct {
	name  string
	types []bson.Type
}

// ofTypes refuses options of a stage that are of another type.
func ofTypes(stage string, raw []value, options []typedOption) error {
	for i, o := range options {
		if !isAbsent(raw[i]) && o.types != nil && !slices.Contains(o.types, raw[i].Type) {
			return typeMismatch("BSON field '%s.%s' is the wrong type '%s', expected type '%s'", stage, o.name,
				typeName(raw[i]), typeName(value{Type: o.types[0]}))
		}
	}
	return nil
}

func (c *pipelineCompiler) fillOutput(name string, v value, sortedByOne bool) (o fillOutput, err error) {
	if o.path, err = fieldPath(name); err != nil {
		return o, err
	}
	raw, err := namedValues("$fill", v, namedSpec{args: []string{"value", "method"}, notObject: 9, unknown: 40415})
	if err != nil {
		return o, err
	}
	if isAbsent(raw[0]) == isAbsent(raw[1]) {
		return o, fail(6050202, "Each fill output specification must have exactly one of 'method' or 'value' fields")
	}
	if !isAbsent(raw[0]) {
		o.value, err = compileExpression(raw[0], c.scope)
		return o, err
	}
	o.method = textAt(raw[1].Value)
	switch {
	case o.method != "locf" && o.method != "linear":
		return o, badValue("Method must be either locf or linear")
	case o.method == "linear" && !sortedByOne:
		return o, fail(605001, "$linearFill must be specified with a top level sortBy expression with exactly one element")
	}
	return o, nil
}

// run gives document after document: what comes before one that fails goes on to the
// stages that follow, which may fail on it first.
func (s *fillStage) run(r *execution, in docs) docs {
	return func(yield func(bson.Raw, error) bool) {
		all, err := r.spilling(windowsTooLarge).drain(in)
		if err != nil {
			yield(nil, err)
			return
		}
		ctx := r.evaluation()
		s.order.sort(r.work, all)
		parts, err := partitioned(ctx, s.partition, all)
		if err != nil {
			yield(nil, err)
			return
		}
		for _, part := range parts {
			if !s.fillPart(ctx, part, yield) {
				return
			}
		}
	}
}

func (s *fillStage) fillPart(ctx *evaluation, part []bson.Raw, yield func(bson.Raw, error) bool) bool {
	filled := make([]filling, len(s.outputs))
	for i, o := range s.outputs {
		filled[i] = filling{o: o, sorted: s.order, part: part, last: -1}
	}
	for i, doc := range part {
		err := ctx.work.handle(len(doc))
		for k := range filled {
			if err == nil {
				doc, err = filled[k].fill(ctx, i, doc)
			}
		}
		if err != nil {
			yield(nil, err)
			return false
		}
		if !yield(doc, nil) {
			return false
		}
	}
	return true
}

// filling is an output of $fill on its way through a partition.
type filling struct {
	o      fillOutput
	sorted *Sort
	part   []bson.Raw // as they came
	last   int        // the place of the last value that was there; -1 for none
	next   int        // the place of the first one after that, once it was looked for
	line   fillLine
}

// fill returns a document with what its output fills in.
func (f *filling) fill(ctx *evaluation, i int, doc bson.Raw) (bson.Raw, error) {
	linear := f.o.method == "linear"
	if linear {
		if err := f.line.step(f.sorted, f.part[i]); err != nil {
			return nil, err
		}
	}
	v := valueAt(f.part[i], f.o.path)
	switch {
	case !isNullish(v):
		f.last = i
		return doc, f.line.check(linear, v)
	case f.o.value != nil:
		ctx.root = objectValue(doc)
		fill, err := f.o.value.eval(ctx)
		return replaceAt(doc, f.o.path, fill), err
	case f.last < 0:
		return replaceAt(doc, f.o.path, nullValue()), nil
	case !linear:
		return replaceAt(doc, f.o.path, valueAt(f.part[f.last], f.o.path)), nil
	}
	v, err := f.between(ctx.work, i)
	return replaceAt(doc, f.o.path, v), err
}

// between returns what lies on the line between the values around a place; null after
// the last one.
func (f *filling) between(w *work, i int) (value, error) {
	for f.next = max(f.next, i+1); f.next < len(f.part); f.next++ {
		if err := w.step(1); err != nil {
			return value{}, err
		}
		if !isNullish(valueAt(f.part[f.next], f.o.path)) {
			break
		}
	}
	if f.next == len(f.part) {
		return nullValue(), nil
	}
	end := valueAt(f.part[f.next], f.o.path)
	if err := f.line.check(true, end); err != nil {
		return value{}, err
	}
	var at [3]float64
	for k, doc := range []bson.Raw{f.part[f.last], f.part[i], f.part[f.next]} {
		var err error
		if at[k], err = linePlace(f.sorted, doc); err != nil {
			return value{}, err
		}
	}
	y0, y1 := toDouble(valueAt(f.part[f.last], f.o.path)), toDouble(end)
	return doubleValue(y0 + (y1-y0)*(at[1]-at[0])/(at[2]-at[0])), nil
}

// fillLine checks documents that a line is drawn through, one after the other.
type fillLine struct {
	any   bool
	place float64 // of the last document
}

// step refuses a document without a place of its own.
func (l *fillLine) step(order *Sort, doc bson.Raw) error {
	place, err := linePlace(order, doc)
	if err == nil && l.any && place == l.place {
		err = fail(6050106, "There can be no repeated values in the sort field")
	}
	l.any, l.place = true, place
	return err
}

func (*fillLine) check(linear bool, v value) error {
	if linear && !isNumber(v) {
		return typeMismatch("Value to be filled must be numeric or nullish, but found %s", typeName(v))
	}
	return nil
}

// linePlace returns a document's sort key as a number: dates in milliseconds.
func linePlace(order *Sort, doc bson.Raw) (float64, error) {
	switch k := order.keys[0].in(nil, doc); {
	case k.Type == bson.TypeDateTime:
		return float64(int64At(k.Value)), nil
	case isNumber(k):
		return toDouble(k), nil
	default:
		return 0, typeMismatch("'sortBy' value must be numeric or a date, but found %s", typeName(k))
	}
}
