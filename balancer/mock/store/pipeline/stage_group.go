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

// groupStage implements $group. It returns groups in the order of their first documents, or sorted by
// key.
type groupStage struct {
	key    expr.Expression
	fields []groupField
	sorted bool
	sbe    bool // runs in SBE (expr/sbe.go)
}

type groupField struct {
	name string
	expr.AccumulatorSpec
}

func (c *compiler) compileGroup(_ string, arg value.Value) (stage, error) {
	if !value.IsObject(arg) {
		return nil, servererr.NewCode(15947, "a group's fields must be specified in an object")
	}
	g, seen := &groupStage{sbe: c.sbe}, map[string]bool{}
	for name, v := range document.Fields(arg.Value) {
		if string(name) == "_id" {
			if g.key != nil {
				return nil, servererr.NewCode(15948, "a group's _id may only be specified once")
			}
			e, err := c.compileGroupKey(v)
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
			return nil, servererr.NewCode(17030, "$doingMerge should be true if present")
		}
		f, err := c.compileGroupField(string(name), v)
		if err != nil {
			return nil, err
		}
		g.fields = append(g.fields, f)
	}
	if g.key == nil {
		return nil, servererr.NewCode(15955, "a group specification must include an _id")
	}
	return g, nil
}

func (c *compiler) compileGroupField(name string, v value.Value) (groupField, error) {
	none := groupField{}
	switch {
	case name == "" && c.scope.Language.RefusesEmptyGroupFields:
		return none, servererr.NewCode(12116300, "The field name in $group cannot be empty")
	case strings.Contains(name, "."):
		return none, servererr.NewCode(40235, "The field name '%s' cannot contain '.'", name)
	case document.IsOperator(name):
		return none, servererr.NewCode(40236, "The field name '%s' cannot be an operator name", name)
	case !value.IsObject(v) || document.IsEmpty(v.Value):
		return none, servererr.NewCode(40234, "The field '%s' must be an accumulator object", name)
	case document.Count(v.Value) > 1:
		return none, servererr.NewCode(40238, "The field '%s' must specify one accumulator", name)
	}
	op, arg, _ := document.FirstField(v.Value)
	if !document.IsOperator(op) {
		return none, servererr.NewCode(40234, "The field '%s' must be an accumulator object", name)
	}
	acc, ok, err := (&expr.Compiler{SBE: c.sbe}).CompileAccumulator(op, arg, c.scope)
	if !ok {
		return none, servererr.NewCode(15952, "unknown group operator '%s'", op)
	}
	return groupField{name, acc}, err
}

// groupState is one group that is being accumulated.
type groupState struct {
	key  value.Value
	accs []expr.Accumulator
}

func (g *groupStage) run(r *execution, in quota.Docs) quota.Docs {
	return blockingStage(func(r *execution, in quota.Docs) ([]bson.Raw, error) {
		index := map[string]*groupState{}
		var order []*groupState
		ctx := r.newEvaluation()
		held := r.stageMemory(errGroupTooLarge)
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
			id := value.EncodedKey(key)
			one := index[id]
			if one == nil {
				if one, err = g.newGroup(ctx, key); err != nil {
					return nil, err
				}
				index[id] = one
				order = append(order, one)
				if err := held.Hold(len(id) + len(key.Value) + quota.ItemOverheadBytes*(1+len(g.fields))); err != nil {
					return nil, err
				}
			}
			if err := g.addDocument(ctx, one, held); err != nil {
				return nil, err
			}
		}
		if g.sorted {
			quota.SortStable(r.meter, order, func(a, b *groupState) int { return value.Compare(a.key, b.key) })
		}
		out := make([]bson.Raw, len(order))
		for i, one := range order {
			if err := r.meter.Charge(1); err != nil {
				return nil, err
			}
			out[i] = g.resultDocument(r.meter, one)
		}
		return out, nil
	}).run(r, in)
}

// newGroup creates the accumulators of a group. Their parameters may depend on the group's key.
func (g *groupStage) newGroup(ctx *expr.Evaluation, key value.Value) (*groupState, error) {
	one := &groupState{key: key, accs: make([]expr.Accumulator, len(g.fields))}
	inKey := ctx.WithRoot(value.Object(document.OrEmpty(key)))
	for i, f := range g.fields {
		acc, err := f.New(inKey)
		if err != nil {
			return nil, err
		}
		one.accs[i] = acc
	}
	return one, nil
}

func (g *groupStage) addDocument(ctx *expr.Evaluation, one *groupState, held *quota.Memory) error {
	for i, f := range g.fields {
		args, err := expr.EvalAll(f.Args, ctx)
		if err != nil {
			return err
		}
		if err := addToAccumulator(one.accs[i], ctx.Meter, args, held); err != nil {
			if g.sbe {
				return expr.WithSBECode(err, expr.SBEAccumulatorCodes)
			}
			return err
		}
	}
	return nil
}

// addToAccumulator adds values to an accumulator and charges the memory that the accumulator retains.
func addToAccumulator(acc expr.Accumulator, w *quota.Meter, args []value.Value, held *quota.Memory) error {
	keeper, keeps := acc.(expr.MemoryHolder)
	if !keeps {
		return acc.Add(w, args)
	}
	before := keeper.MemoryBytes()
	if err := acc.Add(w, args); err != nil {
		return err
	}
	return held.Hold(keeper.MemoryBytes() - before)
}

func (g *groupStage) resultDocument(w *quota.Meter, one *groupState) bson.Raw {
	b, start := document.Open(nil)
	b = document.Append(b, "_id", g.outputValue(one.key))
	for i, f := range g.fields {
		b = document.Append(b, f.name, g.outputValue(one.accs[i].Result(w)))
	}
	return document.Close(b, start)
}

// outputValue returns a value of a group as the stage outputs it. SBE wraps MinKey in an object.
func (g *groupStage) outputValue(v value.Value) value.Value {
	if g.sbe && v.Type == bson.TypeMinKey {
		return value.Object(document.New(document.Field{Name: "", Value: v}))
	}
	return v
}

// defaultBucketOutput returns the default output of buckets, a count.
func defaultBucketOutput() []groupField {
	return []groupField{{"count", expr.AccumulatorSpec{
		Args: []expr.Expression{expr.Literal(value.Int32(1))},
		New:  func(*expr.Evaluation) (expr.Accumulator, error) { return &expr.Sum{}, nil },
	}}}
}

func (c *compiler) compileSortByCount(_ string, arg value.Value) (stage, error) {
	switch {
	case value.IsString(arg):
		if !document.IsOperator(value.TextAt(arg.Value)) {
			return nil, servererr.NewCode(40148, "the sortByCount field must be defined as a $-prefixed path or an expression "+
				"inside an object")
		}
	case value.IsObject(arg):
		if !document.IsExpression(arg.Value) {
			return nil, servererr.NewCode(40147, "the sortByCount field must be defined as a $-prefixed path or an expression "+
				"inside an object")
		}
	default:
		return nil, servererr.NewCode(40149, "the sortByCount field must be specified as a string or as an object")
	}
	key, err := c.compileGroupKey(arg)
	if err != nil {
		return nil, err
	}
	g := &groupStage{key: key, fields: defaultBucketOutput(), sbe: c.sbe}
	s := &order.Sort{Keys: []order.Key{{Path: []string{"count"}, Descending: true}}}
	return stageSequence{g, newSortStage(s)}, nil
}

// stageSequence is a stage that consists of several stages.
type stageSequence []stage

func (s stageSequence) run(r *execution, in quota.Docs) quota.Docs { return runStages(r, s, in) }

func newSortStage(s *order.Sort) stage {
	return blockingStage(func(r *execution, in quota.Docs) ([]bson.Raw, error) {
		all, err := r.stageMemory(errSortTooLarge).ReadAll(in)
		s.SortMetered(r.meter, all)
		return all, err
	})
}

func (c *compiler) compileBucketOutput(v value.Value, code int32) ([]groupField, error) {
	if value.IsOmittedArgument(v) {
		return defaultBucketOutput(), nil
	}
	if !value.IsObject(v) {
		return nil, servererr.NewCode(code, "The $bucket 'output' field must be an object, but found type: %s",
			value.TypeName(v))
	}
	var out []groupField
	for name, arg := range document.Fields(v.Value) {
		f, err := c.compileGroupField(string(name), arg)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// compileGroupBy compiles groupBy. It rejects constants and plain objects.
func (c *compiler) compileGroupBy(v value.Value, code int32) (expr.Expression, error) {
	ok := value.IsString(v) && document.IsOperator(value.TextAt(v.Value)) || value.IsObject(v) &&
		document.IsExpression(v.Value)
	if !ok {
		return nil, servererr.NewCode(code,
			"The 'groupBy' field must be defined as a $-prefixed path or an expression, but found: %s", v)
	}
	return c.compileGroupKey(v)
}

// compileGroupKey compiles a group key.
func (c *compiler) compileGroupKey(v value.Value) (expr.Expression, error) {
	return (&expr.Compiler{SBE: c.sbe}).Compile(v, c.scope)
}

func (c *compiler) compileBucket(name string, arg value.Value) (stage, error) {
	raw, err := expr.ReadNamedArgs(name, arg, expr.NamedArgs{
		Args: []string{"groupBy", "boundaries", "default", "output"}, NotObjectCode: 40201, UnknownCode: 40197,
		MissingCodes: []int32{40198, 40198},
	})
	if err != nil {
		return nil, err
	}
	key, err := c.compileGroupBy(raw[0], 40202)
	if err != nil {
		return nil, err
	}
	if !value.IsArray(raw[1]) {
		return nil, servererr.NewCode(40200, "The $bucket 'boundaries' field must be an array, but found type: %s",
			value.TypeName(raw[1]))
	}
	bounds, err := c.evalConstants(raw[1], 40191)
	if err != nil {
		return nil, err
	}
	if len(bounds) < 2 {
		return nil, servererr.NewCode(40192,
			"The $bucket 'boundaries' field must have at least 2 values, but found %d value(s).", len(bounds))
	}
	for i := 1; i < len(bounds); i++ {
		a, b := bounds[i-1], bounds[i]
		if value.IsNumber(a) != value.IsNumber(b) || !value.IsNumber(a) && a.Type != b.Type {
			return nil, servererr.NewCode(40193,
				"All values in the 'boundaries' option to $bucket must have the same type. Found "+
					"conflicting types %s and %s",
				value.TypeName(a),
				value.TypeName(b))
		}
		if value.Compare(a, b) >= 0 {
			return nil, servererr.NewCode(40194,
				"The 'boundaries' option to $bucket must be sorted, but elements %d and %d are not in "+
					"ascending order (%s is not less than %s).", i-1, i, a, b)
		}
	}
	other := raw[2]
	if !value.IsOmittedArgument(other) {
		vs, err := c.evalConstants(document.Array([]value.Value{other}), 40195)
		if err != nil {
			return nil, err
		}
		other = vs[0]
		if value.Compare(other, bounds[0]) >= 0 && value.Compare(other, bounds[len(bounds)-1]) < 0 {
			return nil, servererr.NewCode(40199,
				"The $bucket 'default' field must be less than the lowest boundary or greater than or "+
					"equal to the highest boundary.")
		}
	}
	out, err := c.compileBucketOutput(raw[3], 40196)
	if err != nil {
		return nil, err
	}
	g := &groupStage{fields: out, sorted: true, sbe: c.sbe}
	g.key = expr.ExpressionFunc(func(c *expr.Evaluation) (value.Value, error) {
		v, err := key.Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		// The bucket is the first one whose upper bound is greater than v.
		i, _ := slices.BinarySearchFunc(bounds, v, func(b, v value.Value) int {
			if value.Compare(b, v) <= 0 {
				return -1
			}
			return 1
		})
		switch {
		case i > 0 && i < len(bounds):
			return bounds[i-1], nil
		case value.IsOmittedArgument(other):
			return value.Value{}, servererr.NewCode(40066,
				"$switch could not find a matching branch for an input, and no default was specified.")
		}
		return other, nil
	})
	return g, nil
}

// evalConstants evaluates a list of constant expressions.
func (c *compiler) evalConstants(v value.Value, code int32) ([]value.Value, error) {
	list, err := (&expr.Compiler{}).CompileList(v, c.scope)
	if err != nil {
		return nil, err
	}
	out := make([]value.Value, len(list))
	for i, e := range list {
		switch e.(type) {
		case expr.Path, expr.Root:
			return nil, servererr.NewCode(code, "The $bucket 'boundaries' and 'default' must be constant expressions")
		}
		if out[i], err = e.Eval(expr.NewEvaluation(c.scope, currentTime(c.env), nil)); err != nil {
			return nil, err
		}
	}
	return out, nil
}
