package pipeline

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// fillStage implements $fill: it replaces null and missing values by a constant, by the last value
// before, or by linear interpolation.
type fillStage struct {
	partition expr.Expression
	order     *order.Sort
	outputs   []fillOutput
}

type fillOutput struct {
	path   []string
	value  expr.Expression
	method string
}

func (c *compiler) compileFill(name string, arg value.Value) (stage, error) {
	raw, err := expr.ReadNamedArgs(name, arg, expr.NamedArgs{
		Args: []string{"sortBy", "partitionBy", "partitionByFields", "output"}, NotObjectCode: 9, UnknownCode: 40415,
		MissingCodes: []int32{0, 0, 0, 40414},
	})
	if err != nil {
		return nil, err
	}
	if err := checkOptionTypes("$fill", raw, []typedOption{
		{"sortBy", []bson.Type{bson.TypeEmbeddedDocument}},
		{"partitionBy", []bson.Type{bson.TypeString, bson.TypeEmbeddedDocument}},
		{"partitionByFields", []bson.Type{bson.TypeArray}}, {"output", []bson.Type{bson.TypeEmbeddedDocument}},
	}); err != nil {
		return nil, err
	}
	if document.IsEmpty(raw[3].Value) {
		return nil, servererr.NewCode(6050203, "The output field in '$fill' must contain an object with at least one element")
	}
	s := &fillStage{}
	if !value.IsOmittedArgument(raw[0]) {
		if s.order, err = order.Compile(raw[0].Value); err != nil {
			return nil, err
		}
	}
	switch {
	case !value.IsOmittedArgument(raw[1]) && !value.IsOmittedArgument(raw[2]):
		return nil, servererr.NewCode(6050204,
			"Maximum one of 'partitionBy' and 'partitionByFields can be specified in '$fill'")
	case !value.IsOmittedArgument(raw[1]):
		if s.partition, err = expr.Compile(raw[1], c.scope); err != nil {
			return nil, err
		}
	case !value.IsOmittedArgument(raw[2]):
		var list expr.Array
		for _, v := range document.Fields(raw[2].Value) {
			path, err := paths.Parse(value.TextAt(v.Value))
			if err != nil {
				return nil, err
			}
			list = append(list, expr.Path{Path: path})
		}
		s.partition = expr.Object{{Name: "k", Expr: list}}
	}
	for path, v := range document.Fields(raw[3].Value) {
		o, err := c.compileFillOutput(string(path), v, s.order != nil && len(s.order.Keys) == 1)
		if err != nil {
			return nil, err
		}
		s.outputs = append(s.outputs, o)
	}
	return s, nil
}

// typedOption is an option of a stage with its allowed types.
type typedOption struct {
	name  string
	types []bson.Type
}

// checkOptionTypes rejects options of a stage that have the wrong type.
func checkOptionTypes(stage string, raw []value.Value, options []typedOption) error {
	for i, o := range options {
		if !value.IsOmittedArgument(raw[i]) && o.types != nil && !slices.Contains(o.types, raw[i].Type) {
			return servererr.TypeMismatch("BSON field '%s.%s' is the wrong type '%s', expected type '%s'", stage, o.name,
				value.TypeName(raw[i]), value.TypeName(value.Value{Type: o.types[0]}))
		}
	}
	return nil
}

func (c *compiler) compileFillOutput(name string, v value.Value, sortedByOne bool) (o fillOutput, err error) {
	if o.path, err = paths.Parse(name); err != nil {
		return o, err
	}
	raw, err := expr.ReadNamedArgs("$fill", v,
		expr.NamedArgs{Args: []string{"value", "method"}, NotObjectCode: 9, UnknownCode: 40415})
	if err != nil {
		return o, err
	}
	if value.IsOmittedArgument(raw[0]) == value.IsOmittedArgument(raw[1]) {
		return o, servererr.NewCode(6050202,
			"Each fill output specification must have exactly one of 'method' or 'value' fields")
	}
	if !value.IsOmittedArgument(raw[0]) {
		o.value, err = expr.Compile(raw[0], c.scope)
		return o, err
	}
	o.method = value.TextAt(raw[1].Value)
	switch {
	case o.method != "locf" && o.method != "linear":
		return o, servererr.BadValue("Method must be either locf or linear")
	case o.method == "linear" && !sortedByOne:
		return o, servererr.NewCode(605001,
			"$linearFill must be specified with a top level sortBy expression with exactly one element")
	}
	return o, nil
}

// run yields documents one by one. The documents before a failing one reach the following stages, which
// may fail on them first.
func (s *fillStage) run(r *execution, in quota.Docs) quota.Docs {
	return func(yield func(bson.Raw, error) bool) {
		all, err := r.stageMemory(errWindowsTooLarge).ReadAll(in)
		if err != nil {
			yield(nil, err)
			return
		}
		ctx := r.newEvaluation()
		s.order.SortMetered(r.meter, all)
		parts, err := partitionDocuments(ctx, s.partition, all)
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

func (s *fillStage) fillPart(ctx *expr.Evaluation, part []bson.Raw, yield func(bson.Raw, error) bool) bool {
	filled := make([]fillState, len(s.outputs))
	for i, o := range s.outputs {
		filled[i] = fillState{output: o, sortOrder: s.order, part: part, lastValueIndex: -1}
	}
	for i, doc := range part {
		err := ctx.Meter.ChargeBytes(len(doc))
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

// fillState is the state of one $fill output within a partition.
type fillState struct {
	output         fillOutput
	sortOrder      *order.Sort
	part           []bson.Raw // in sort order
	lastValueIndex int        // the index of the last document with a value; -1 for none
	nextValueIndex int        // the index of the next document with a value, once searched
	line           linearCheck
}

// fill returns a document with the missing value of its output filled in.
func (f *fillState) fill(ctx *expr.Evaluation, i int, doc bson.Raw) (bson.Raw, error) {
	linear := f.output.method == "linear"
	if linear {
		if err := f.line.checkNext(f.sortOrder, f.part[i]); err != nil {
			return nil, err
		}
	}
	v := paths.LookupPath(f.part[i], f.output.path)
	switch {
	case !value.IsNullish(v):
		f.lastValueIndex = i
		return doc, f.line.checkValue(linear, v)
	case f.output.value != nil:
		ctx.Root = value.Object(doc)
		fill, err := f.output.value.Eval(ctx)
		return setPath(doc, f.output.path, fill), err
	case f.lastValueIndex < 0:
		return setPath(doc, f.output.path, value.Null()), nil
	case !linear:
		return setPath(doc, f.output.path, paths.LookupPath(f.part[f.lastValueIndex], f.output.path)), nil
	}
	v, err := f.interpolate(ctx.Meter, i)
	return setPath(doc, f.output.path, v), err
}

// interpolate returns the linear interpolation between the values around index i; null after
// the last one.
func (f *fillState) interpolate(w *quota.Meter, i int) (value.Value, error) {
	for f.nextValueIndex = max(f.nextValueIndex, i+1); f.nextValueIndex < len(f.part); f.nextValueIndex++ {
		if err := w.Charge(1); err != nil {
			return value.Value{}, err
		}
		if !value.IsNullish(paths.LookupPath(f.part[f.nextValueIndex], f.output.path)) {
			break
		}
	}
	if f.nextValueIndex == len(f.part) {
		return value.Null(), nil
	}
	end := paths.LookupPath(f.part[f.nextValueIndex], f.output.path)
	if err := f.line.checkValue(true, end); err != nil {
		return value.Value{}, err
	}
	var at [3]float64
	for k, doc := range []bson.Raw{f.part[f.lastValueIndex], f.part[i], f.part[f.nextValueIndex]} {
		var err error
		if at[k], err = sortKeyAsNumber(f.sortOrder, doc); err != nil {
			return value.Value{}, err
		}
	}
	y0, y1 := value.ToDouble(paths.LookupPath(f.part[f.lastValueIndex], f.output.path)), value.ToDouble(end)
	return value.Double(y0 + (y1-y0)*(at[1]-at[0])/(at[2]-at[0])), nil
}

// linearCheck checks the documents that an interpolation uses, in order.
type linearCheck struct {
	started     bool
	lastSortKey float64 // sort key of the last document
}

// checkNext rejects a document with the same sort key as the previous one.
func (l *linearCheck) checkNext(order *order.Sort, doc bson.Raw) error {
	place, err := sortKeyAsNumber(order, doc)
	if err == nil && l.started && place == l.lastSortKey {
		err = servererr.NewCode(6050106, "There can be no repeated values in the sort field")
	}
	l.started, l.lastSortKey = true, place
	return err
}

func (*linearCheck) checkValue(linear bool, v value.Value) error {
	if linear && !value.IsNumber(v) {
		return servererr.TypeMismatch("Value to be filled must be numeric or nullish, but found %s", value.TypeName(v))
	}
	return nil
}

// sortKeyAsNumber returns a document's sort key as a number, for a date its milliseconds.
func sortKeyAsNumber(order *order.Sort, doc bson.Raw) (float64, error) {
	switch k := order.Keys[0].SortValue(nil, doc); {
	case k.Type == bson.TypeDateTime:
		return float64(value.Int64At(k.Value)), nil
	case value.IsNumber(k):
		return value.ToDouble(k), nil
	default:
		return 0, servererr.TypeMismatch("'sortBy' value must be numeric or a date, but found %s", value.TypeName(k))
	}
}
