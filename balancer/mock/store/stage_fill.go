package store

import (
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
		o, err := c.fillOutput(string(path), v, s.order != nil)
		if err != nil {
			return nil, err
		}
		s.outputs = append(s.outputs, o)
	}
	return blocking(s.apply), nil
}

func (c *pipelineCompiler) fillOutput(name string, v value, sorted bool) (o fillOutput, err error) {
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
	case o.method == "linear" && !sorted:
		return o, fail(605001, "$linearFill must be specified with a top level sortBy expression with exactly one element")
	}
	return o, nil
}

func (s *fillStage) apply(r *execution, in docs) ([]bson.Raw, error) {
	all, err := r.spilling(windowsTooLarge).drain(in)
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
		for _, o := range s.outputs {
			if err := s.fillPart(ctx, o, part); err != nil {
				return nil, err
			}
		}
		out = append(out, part...)
	}
	return out, nil
}

func (s *fillStage) fillPart(ctx *evaluation, o fillOutput, part []bson.Raw) error {
	last := -1 // the place of the last value that was there
	for i, doc := range part {
		if err := ctx.work.handle(len(doc)); err != nil {
			return err
		}
		v := valueAt(doc, o.path)
		switch {
		case !isNullish(v):
			if o.method == "linear" && last >= 0 && last < i-1 {
				if err := s.line(ctx.work, o.path, part, last, i); err != nil {
					return err
				}
			}
			last = i
		case o.value != nil:
			ctx.root = objectValue(doc)
			fill, err := o.value.eval(ctx)
			if err != nil {
				return err
			}
			part[i] = replaceAt(doc, o.path, fill)
		case o.method == "locf" && last >= 0:
			part[i] = replaceAt(doc, o.path, valueAt(part[last], o.path))
		default:
			part[i] = replaceAt(doc, o.path, nullValue())
		}
	}
	return nil
}

// line fills between two documents, in proportion to the sort key.
func (s *fillStage) line(w *work, path []string, part []bson.Raw, from, to int) error {
	at := func(i int) (x, y float64, err error) {
		k, v := s.order.keys[0].in(nil, part[i]), valueAt(part[i], path)
		if !isNumber(v) {
			return 0, 0, typeMismatch("Value to be filled must be numeric or nullish, but found %s", typeName(v))
		}
		if k.Type == bson.TypeDateTime {
			return float64(int64At(k.Value)), toDouble(v), nil
		}
		return toDouble(k), toDouble(v), nil
	}
	x0, y0, err := at(from)
	if err != nil {
		return err
	}
	x1, y1, err := at(to)
	if err != nil {
		return err
	}
	for i := from + 1; i < to; i++ {
		if err := w.handle(len(part[i])); err != nil {
			return err
		}
		k := s.order.keys[0].in(nil, part[i])
		x := toDouble(k)
		if k.Type == bson.TypeDateTime {
			x = float64(int64At(k.Value))
		}
		part[i] = replaceAt(part[i], path, doubleValue(y0+(y1-y0)*(x-x0)/(x1-x0)))
	}
	return nil
}
