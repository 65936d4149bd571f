package pipeline

import (
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// groupStage gathers documents by a key. Groups come out in the order they
// were first met, or by key.
type groupStage struct {
	key    expr.Expression
	fields []groupField
	sorted bool
	sbe    bool // in SBE (expr/sbe.go)
}

type groupField struct {
	name string
	expr.Accumulation
}

func (c *compiler) group(_ string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) {
		return nil, servererr.Of(15947, "a group's fields must be specified in an object")
	}
	g, seen := &groupStage{sbe: c.sbe}, map[string]bool{}
	for name, v := range document.Fields(arg.Value) {
		if string(name) == "_id" {
			if g.key != nil {
				return nil, servererr.Of(15948, "a group's _id may only be specified once")
			}
			e, err := c.groupExpression(v)
			if err != nil {
				return nil, err
			}
			g.key = e
			continue
		}
		if seen[string(name)] {
			return nil, servererr.FailedToParse("duplicate field in $group: %s", name)
		}
		seen[string(name)] = true
		if string(name) == "$doingMerge" {
			return nil, servererr.Of(17030, "$doingMerge should be true if present")
		}
		f, err := c.groupField(string(name), v)
		if err != nil {
			return nil, err
		}
		g.fields = append(g.fields, f)
	}
	if g.key == nil {
		return nil, servererr.Of(15955, "a group specification must include an _id")
	}
	return g, nil
}

func (c *compiler) groupField(name string, v value.Value) (groupField, error) {
	none := groupField{}
	switch {
	case name == "" && c.scope.Language.GroupFieldsNamed:
		return none, servererr.Of(12116300, "The field name in $group cannot be empty")
	case strings.Contains(name, "."):
		return none, servererr.Of(40235, "The field name '%s' cannot contain '.'", name)
	case document.IsOperator(name):
		return none, servererr.Of(40236, "The field name '%s' cannot be an operator name", name)
	case !value.IsObject(v) || document.IsEmpty(v.Value):
		return none, servererr.Of(40234, "The field '%s' must be an accumulator object", name)
	case document.Count(v.Value) > 1:
		return none, servererr.Of(40238, "The field '%s' must specify one accumulator", name)
	}
	op, arg, _ := document.First(v.Value)
	if !document.IsOperator(op) {
		return none, servererr.Of(40234, "The field '%s' must be an accumulator object", name)
	}
	acc, ok, err := (&expr.Compiler{SBE: c.sbe}).CompileAccumulator(op, arg, c.scope)
	if !ok {
		return none, servererr.Of(15952, "unknown group operator '%s'", op)
	}
	return groupField{name, acc}, err
}

// group is one group under way.
type group struct {
	key  value.Value
	accs []expr.Accumulator
}

func (g *groupStage) run(r *execution, in quota.Docs) quota.Docs {
	return blocking(func(r *execution, in quota.Docs) ([]bson.Raw, error) {
		index := map[string]*group{}
		var order []*group
		ctx := r.evaluation()
		held := r.spilling(groupTooLarge)
		for doc, err := range in {
			if err != nil {
				return nil, err
			}
			ctx.Root = value.Object(doc)
			key, err := g.key.Eval(ctx)
			if err != nil {
				return nil, err
			}
			key = expr.OrNull(key)
			id := value.Encoded(key)
			one := index[id]
			if one == nil {
				if one, err = g.start(ctx, key); err != nil {
					return nil, err
				}
				index[id] = one
				order = append(order, one)
				if err := held.Keep(len(id) + len(key.Value) + quota.ItemBytes*(1+len(g.fields))); err != nil {
					return nil, err
				}
			}
			if err := g.add(ctx, one, held); err != nil {
				return nil, err
			}
		}
		if g.sorted {
			quota.SortStable(r.meter, order, func(a, b *group) int { return value.Compare(a.key, b.key) })
		}
		out := make([]bson.Raw, len(order))
		for i, one := range order {
			if err := r.meter.Step(1); err != nil {
				return nil, err
			}
			out[i] = g.document(r.meter, one)
		}
		return out, nil
	}).run(r, in)
}

// start makes the accumulators of a group; their sizes may depend on its key.
func (g *groupStage) start(ctx *expr.Evaluation, key value.Value) (*group, error) {
	one := &group{key: key, accs: make([]expr.Accumulator, len(g.fields))}
	inKey := ctx.Inside(value.Object(document.OrEmpty(key)))
	for i, f := range g.fields {
		acc, err := f.Start(inKey)
		if err != nil {
			return nil, err
		}
		one.accs[i] = acc
	}
	return one, nil
}

func (g *groupStage) add(ctx *expr.Evaluation, one *group, held *quota.Memory) error {
	for i, f := range g.fields {
		args, err := expr.EvalAll(f.Args, ctx)
		if err != nil {
			return err
		}
		if err := addTo(one.accs[i], ctx.Meter, args, held); err != nil {
			if g.sbe {
				return expr.Recoded(err, expr.SBEAccumulatorCodes)
			}
			return err
		}
	}
	return nil
}

// addTo gives values to an accumulator, and notes what it keeps of them.
func addTo(acc expr.Accumulator, w *quota.Meter, args []value.Value, held *quota.Memory) error {
	keeper, keeps := acc.(expr.KeepsValues)
	if !keeps {
		return acc.Add(w, args)
	}
	before := keeper.Keeps()
	if err := acc.Add(w, args); err != nil {
		return err
	}
	return held.Keep(keeper.Keeps() - before)
}

func (g *groupStage) document(w *quota.Meter, one *group) bson.Raw {
	b, start := document.Open(nil)
	b = document.Append(b, "_id", g.shown(one.key))
	for i, f := range g.fields {
		b = document.Append(b, f.name, g.shown(one.accs[i].Result(w)))
	}
	return document.Close(b, start)
}

// shown returns a value of a group as it comes out: SBE wraps MinKey.
func (g *groupStage) shown(v value.Value) value.Value {
	if g.sbe && v.Type == bson.TypeMinKey {
		return value.Object(document.Of(document.Field{Name: "", Value: v}))
	}
	return v
}

// countOne returns the output of buckets that say none.
func countOne() []groupField {
	return []groupField{{"count", expr.Accumulation{
		Args:  []expr.Expression{expr.Literal(value.Int32(1))},
		Start: func(*expr.Evaluation) (expr.Accumulator, error) { return &expr.SumOf{}, nil },
	}}}
}

func (c *compiler) sortByCount(_ string, arg value.Value) (stage, error) {
	switch {
	case value.IsString(arg):
		if !document.IsOperator(value.TextAt(arg.Value)) {
			return nil, servererr.Of(40148, "the sortByCount field must be defined as a $-prefixed path or an expression "+
				"inside an object")
		}
	case value.IsObject(arg):
		if !document.IsExpression(arg.Value) {
			return nil, servererr.Of(40147, "the sortByCount field must be defined as a $-prefixed path or an expression "+
				"inside an object")
		}
	default:
		return nil, servererr.Of(40149, "the sortByCount field must be specified as a string or as an object")
	}
	key, err := c.groupExpression(arg)
	if err != nil {
		return nil, err
	}
	g := &groupStage{key: key, fields: countOne(), sbe: c.sbe}
	s := &order.Sort{Keys: []order.Key{{Path: []string{"count"}, Descending: true}}}
	return stageSequence{g, sorting(s)}, nil
}

// stageSequence is several stages in one.
type stageSequence []stage

func (s stageSequence) run(r *execution, in quota.Docs) quota.Docs { return runStages(r, s, in) }

func sorting(s *order.Sort) stage {
	return blocking(func(r *execution, in quota.Docs) ([]bson.Raw, error) {
		all, err := r.spilling(sortTooLarge).Drain(in)
		s.SortIn(r.meter, all)
		return all, err
	})
}

func (c *compiler) bucketOutput(v value.Value, code int32) ([]groupField, error) {
	if value.IsAbsent(v) {
		return countOne(), nil
	}
	if !value.IsObject(v) {
		return nil, servererr.Of(code, "The $bucket 'output' field must be an object, but found type: %s", value.TypeName(v))
	}
	var out []groupField
	for name, arg := range document.Fields(v.Value) {
		f, err := c.groupField(string(name), arg)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// groupByOf refuses constants and plain objects for groupBy.
func (c *compiler) groupByOf(v value.Value, code int32) (expr.Expression, error) {
	ok := value.IsString(v) && document.IsOperator(value.TextAt(v.Value)) || value.IsObject(v) &&
		document.IsExpression(v.Value)
	if !ok {
		return nil, servererr.Of(code,
			"The 'groupBy' field must be defined as a $-prefixed path or an expression, but found: %s", v)
	}
	return c.groupExpression(v)
}

// groupExpression compiles what documents are grouped by.
func (c *compiler) groupExpression(v value.Value) (expr.Expression, error) {
	return (&expr.Compiler{SBE: c.sbe}).Compile(v, c.scope)
}

func (c *compiler) bucket(name string, arg value.Value) (stage, error) {
	raw, err := expr.NamedValues(name, arg, expr.Named{
		Args: []string{"groupBy", "boundaries", "default", "output"}, NotObject: 40201, Unknown: 40197,
		Missing: []int32{40198, 40198},
	})
	if err != nil {
		return nil, err
	}
	key, err := c.groupByOf(raw[0], 40202)
	if err != nil {
		return nil, err
	}
	if !value.IsArray(raw[1]) {
		return nil, servererr.Of(40200, "The $bucket 'boundaries' field must be an array, but found type: %s",
			value.TypeName(raw[1]))
	}
	bounds, err := c.constants(raw[1], 40191)
	if err != nil {
		return nil, err
	}
	if len(bounds) < 2 {
		return nil, servererr.Of(40192, "The $bucket 'boundaries' field must have at least 2 values, but found %d value(s).",
			len(bounds))
	}
	for i := 1; i < len(bounds); i++ {
		a, b := bounds[i-1], bounds[i]
		if value.IsNumber(a) != value.IsNumber(b) || !value.IsNumber(a) && a.Type != b.Type {
			return nil, servererr.Of(40193, "All values in the 'boundaries' option to $bucket must have the same type. Found "+
				"conflicting types %s and %s", value.TypeName(a), value.TypeName(b))
		}
		if value.Compare(a, b) >= 0 {
			return nil, servererr.Of(40194,
				"The 'boundaries' option to $bucket must be sorted, but elements %d and %d are not in "+
					"ascending order (%s is not less than %s).", i-1, i, a, b)
		}
	}
	other := raw[2]
	if !value.IsAbsent(other) {
		vs, err := c.constants(document.Array([]value.Value{other}), 40195)
		if err != nil {
			return nil, err
		}
		other = vs[0]
		if value.Compare(other, bounds[0]) >= 0 && value.Compare(other, bounds[len(bounds)-1]) < 0 {
			return nil, servererr.Of(40199,
				"The $bucket 'default' field must be less than the lowest boundary or greater than or "+
					"equal to the highest boundary.")
		}
	}
	out, err := c.bucketOutput(raw[3], 40196)
	if err != nil {
		return nil, err
	}
	g := &groupStage{fields: out, sorted: true, sbe: c.sbe}
	g.key = expr.Func(func(c *expr.Evaluation) (value.Value, error) {
		v, err := key.Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		// The bucket is the one whose upper bound is the first above v.
		i, _ := slices.BinarySearchFunc(bounds, v, func(b, v value.Value) int {
			if value.Compare(b, v) <= 0 {
				return -1
			}
			return 1
		})
		switch {
		case i > 0 && i < len(bounds):
			return bounds[i-1], nil
		case value.IsAbsent(other):
			return value.Value{}, servererr.Of(40066,
				"$switch could not find a matching branch for an input, and no default was specified.")
		}
		return other, nil
	})
	return g, nil
}

// constants evaluates a list of constant expressions.
func (c *compiler) constants(v value.Value, code int32) ([]value.Value, error) {
	list, err := (&expr.Compiler{}).List(v, c.scope)
	if err != nil {
		return nil, err
	}
	out := make([]value.Value, len(list))
	for i, e := range list {
		switch e.(type) {
		case expr.Path, expr.Root:
			return nil, servererr.Of(code, "The $bucket 'boundaries' and 'default' must be constant expressions")
		}
		if out[i], err = e.Eval(expr.NewEvaluation(c.scope, now(c.env), nil)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
