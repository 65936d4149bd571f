package store

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// groupStage gathers documents by a key. Groups come out in the order they
// were first met, or by key.
type groupStage struct {
	key    expression
	fields []groupField
	sorted bool
	other  bool // in the other engine (stage_engine.go)
}

type groupField struct {
	name string
	accumulation
}

func (c *pipelineCompiler) group(_ string, arg value) (stage, error) {
	if !isObject(arg) {
		return nil, fail(15947, "a group's fields must be specified in an object")
	}
	g, seen := &groupStage{other: c.other}, map[string]bool{}
	for name, v := range fields(arg.Value) {
		if string(name) == "_id" {
			if g.key != nil {
				return nil, fail(15948, "a group's _id may only be specified once")
			}
			e, err := c.groupExpression(v)
			if err != nil {
				return nil, err
			}
			g.key = e
			continue
		}
		if seen[string(name)] {
			return nil, failedToParse("duplicate field in $group: %s", name)
		}
		seen[string(name)] = true
		if string(name) == "$doingMerge" {
			return nil, fail(17030, "$doingMerge should be true if present")
		}
		f, err := c.groupField(string(name), v)
		if err != nil {
			return nil, err
		}
		g.fields = append(g.fields, f)
	}
	if g.key == nil {
		return nil, fail(15955, "a group specification must include an _id")
	}
	return g, nil
}

func (c *pipelineCompiler) groupField(name string, v value) (groupField, error) {
	none := groupField{}
	switch {
	case strings.Contains(name, "."):
		return none, fail(40235, "The field name '%s' cannot contain '.'", name)
	case isOperator(name):
		return none, fail(40236, "The field name '%s' cannot be an operator name", name)
	case !isObject(v) || isEmpty(v.Value):
		return none, fail(40234, "The field '%s' must be an accumulator object", name)
	case fieldCount(v.Value) > 1:
		return none, fail(40238, "The field '%s' must specify one accumulator", name)
	}
	op, arg, _ := first(v.Value)
	if !isOperator(op) {
		return none, fail(40234, "The field '%s' must be an accumulator object", name)
	}
	acc, ok, err := (&exprCompiler{other: c.other}).compileAccumulator(op, arg, c.scope)
	if !ok {
		return none, fail(15952, "unknown group operator '%s'", op)
	}
	return groupField{name, acc}, err
}

// group is one group under way.
type group struct {
	key  value
	accs []accumulator
}

func (g *groupStage) run(r *execution, in docs) docs {
	return blocking(func(r *execution, in docs) ([]bson.Raw, error) {
		index := map[string]*group{}
		var order []*group
		ctx := r.evaluation()
		held := r.spilling(groupTooLarge)
		for doc, err := range in {
			if err != nil {
				return nil, err
			}
			ctx.root = objectValue(doc)
			key, err := g.key.eval(ctx)
			if err != nil {
				return nil, err
			}
			key = orNull(key)
			id := encoded(key)
			one := index[id]
			if one == nil {
				if one, err = g.start(ctx, key); err != nil {
					return nil, err
				}
				index[id] = one
				order = append(order, one)
				if err := held.keep(len(id) + len(key.Value) + itemBytes*(1+len(g.fields))); err != nil {
					return nil, err
				}
			}
			if err := g.add(ctx, one, held); err != nil {
				return nil, err
			}
		}
		if g.sorted {
			sortStable(r.work, order, func(a, b *group) int { return compare(a.key, b.key) })
		}
		out := make([]bson.Raw, len(order))
		for i, one := range order {
			if err := r.work.step(1); err != nil {
				return nil, err
			}
			out[i] = g.document(r.work, one)
		}
		return out, nil
	}).run(r, in)
}

// start makes the accumulators of a group; their sizes may depend on its key.
func (g *groupStage) start(ctx *evaluation, key value) (*group, error) {
	one := &group{key: key, accs: make([]accumulator, len(g.fields))}
	inKey := ctx.inside(objectValue(asDocument(key)))
	for i, f := range g.fields {
		acc, err := f.start(inKey)
		if err != nil {
			return nil, err
		}
		one.accs[i] = acc
	}
	return one, nil
}

func (g *groupStage) add(ctx *evaluation, one *group, held *memory) error {
	for i, f := range g.fields {
		args, err := evalAll(f.args, ctx)
		if err != nil {
			return err
		}
		if err := addTo(one.accs[i], ctx.work, args, held); err != nil {
			if g.other {
				return recoded(err, otherAccumulatorCodes)
			}
			return err
		}
	}
	return nil
}

// addTo gives values to an accumulator, and notes what it keeps of them.
func addTo(acc accumulator, w *work, args []value, held *memory) error {
	keeper, keeps := acc.(keepsValues)
	if !keeps {
		return acc.add(w, args)
	}
	before := keeper.keeps()
	if err := acc.add(w, args); err != nil {
		return err
	}
	return held.keep(keeper.keeps() - before)
}

func (g *groupStage) document(w *work, one *group) bson.Raw {
	b, start := openDocument(nil)
	b = appendField(b, "_id", g.shown(one.key))
	for i, f := range g.fields {
		b = appendField(b, f.name, g.shown(one.accs[i].result(w)))
	}
	return closeDocument(b, start)
}

// shown returns a value of a group as it comes out: the other engine wraps MinKey.
func (g *groupStage) shown(v value) value {
	if g.other && v.Type == bson.TypeMinKey {
		return objectValue(documentOf(field{"", v}))
	}
	return v
}

// countOne returns the output of buckets that say none.
func countOne() []groupField {
	return []groupField{{"count", accumulation{
		args:  []expression{literal(int32Value(1))},
		start: func(*evaluation) (accumulator, error) { return &sumOf{}, nil },
	}}}
}

func (c *pipelineCompiler) sortByCount(_ string, arg value) (stage, error) {
	switch {
	case isString(arg):
		if !isOperator(textAt(arg.Value)) {
			return nil, fail(40148, "the sortByCount field must be defined as a $-prefixed path or an expression "+
				"inside an object")
		}
	case isObject(arg):
		if !isExpressionDoc(arg.Value) {
			return nil, fail(40147, "the sortByCount field must be defined as a $-prefixed path or an expression "+
				"inside an object")
		}
	default:
		return nil, fail(40149, "the sortByCount field must be specified as a string or as an object")
	}
	key, err := c.groupExpression(arg)
	if err != nil {
		return nil, err
	}
	g := &groupStage{key: key, fields: countOne(), other: c.other}
	s := &Sort{keys: []sortKey{{path: []string{"count"}, descending: true}}}
	return sequenceOf{g, sorting(s)}, nil
}

// sequenceOf is several stages in one.
type sequenceOf []stage

func (s sequenceOf) run(r *execution, in docs) docs { return runStages(r, s, in) }

func sorting(s *Sort) stage {
	return blocking(func(r *execution, in docs) ([]bson.Raw, error) {
		all, err := r.spilling(sortTooLarge).drain(in)
		s.sort(r.work, all)
		return all, err
	})
}

func (c *pipelineCompiler) bucketOutput(v value, code int32) ([]groupField, error) {
	if isAbsent(v) {
		return countOne(), nil
	}
	if !isObject(v) {
		return nil, fail(code, "The $bucket 'output' field must be an object, but found type: %s", typeName(v))
	}
	var out []groupField
	for name, arg := range fields(v.Value) {
		f, err := c.groupField(string(name), arg)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// groupByOf refuses constants and plain objects for groupBy.
func (c *pipelineCompiler) groupByOf(v value, code int32) (expression, error) {
	ok := isString(v) && isOperator(textAt(v.Value)) || isObject(v) && isExpressionDoc(v.Value)
	if !ok {
		return nil, fail(code, "The 'groupBy' field must be defined as a $-prefixed path or an expression, but found: %s", v)
	}
	return c.groupExpression(v)
}

// groupExpression compiles what documents are grouped by.
func (c *pipelineCompiler) groupExpression(v value) (expression, error) {
	return (&exprCompiler{other: c.other}).compile(v, c.scope)
}

func (c *pipelineCompiler) bucket(name string, arg value) (stage, error) {
	raw, err := namedValues(name, arg, namedSpec{
		args: []string{"groupBy", "boundaries", "default", "output"}, notObject: 40201, unknown: 40197,
		missing: []int32{40198, 40198},
	})
	if err != nil {
		return nil, err
	}
	key, err := c.groupByOf(raw[0], 40202)
	if err != nil {
		return nil, err
	}
	if !isArray(raw[1]) {
		return nil, fail(40200, "The $bucket 'boundaries' field must be an array, but found type: %s", typeName(raw[1]))
	}
	bounds, err := c.constants(raw[1], 40191)
	if err != nil {
		return nil, err
	}
	if len(bounds) < 2 {
		return nil, fail(40192, "The $bucket 'boundaries' field must have at least 2 values, but found %d value(s).",
			len(bounds))
	}
	for i := 1; i < len(bounds); i++ {
		a, b := bounds[i-1], bounds[i]
		if isNumber(a) != isNumber(b) || !isNumber(a) && a.Type != b.Type {
			return nil, fail(40193, "All values in the 'boundaries' option to $bucket must have the same type. Found "+
				"conflicting types %s and %s", typeName(a), typeName(b))
		}
		if compare(a, b) >= 0 {
			return nil, fail(40194, "The 'boundaries' option to $bucket must be sorted, but elements %d and %d are not in "+
				"ascending order (%s is not less than %s).", i-1, i, a, b)
		}
	}
	other := raw[2]
	if !isAbsent(other) {
		vs, err := c.constants(arrayOf([]value{other}), 40195)
		if err != nil {
			return nil, err
		}
		other = vs[0]
		if compare(other, bounds[0]) >= 0 && compare(other, bounds[len(bounds)-1]) < 0 {
			return nil, fail(40199, "The $bucket 'default' field must be less than the lowest boundary or greater than or "+
				"equal to the highest boundary.")
		}
	}
	out, err := c.bucketOutput(raw[3], 40196)
	if err != nil {
		return nil, err
	}
	g := &groupStage{fields: out, sorted: true, other: c.other}
	g.key = evalFunc(func(c *evaluation) (value, error) {
		v, err := key.eval(c)
		if err != nil {
			return value{}, err
		}
		// The bucket is the one whose upper bound is the first above v.
		i, _ := slices.BinarySearchFunc(bounds, v, func(b, v value) int {
			if compare(b, v) <= 0 {
				return -1
			}
			return 1
		})
		switch {
		case i > 0 && i < len(bounds):
			return bounds[i-1], nil
		case isAbsent(other):
			return value{}, fail(40066, "$switch could not find a matching branch for an input, and no default was specified.")
		}
		return other, nil
	})
	return g, nil
}

// constants evaluates a list of constant expressions.
func (c *pipelineCompiler) constants(v value, code int32) ([]value, error) {
	list, err := (&exprCompiler{}).list(v, c.scope)
	if err != nil {
		return nil, err
	}
	out := make([]value, len(list))
	for i, e := range list {
		switch e.(type) {
		case pathExpression, rootVariable:
			return nil, fail(code, "The $bucket 'boundaries' and 'default' must be constant expressions")
		}
		if out[i], err = e.eval(newEvaluation(c.scope, now(c.env), nil)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
