package filter

import (
	"maps"
	"slices"

	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// topOperatorCompiler compiles an operator that takes the place of a field name.
type topOperatorCompiler func(name string, v value.Value) (node, error)

func (c *Compiler) topOperators() map[string]topOperatorCompiler {
	return map[string]topOperatorCompiler{
		"$and": c.compileJunction, "$or": c.compileJunction, "$nor": c.compileJunction,
		"$expr": c.compileExpr, "$sampleRate": compileSampleRate,
		"$jsonSchema":  func(_ string, v value.Value) (node, error) { return c.compileSchema(v) },
		"$comment":     func(string, value.Value) (node, error) { return nil, nil },
		"$alwaysTrue":  compileConstant(true),
		"$alwaysFalse": compileConstant(false),
		"$where": func(string, value.Value) (node, error) {
			return nil, servererr.BadValue("no globalScriptEngine in $where parsing")
		},
		"$text": func(string, value.Value) (node, error) {
			return nil, servererr.New(mongoerr.IndexNotFound, "text index required for $text query")
		},
		"$ref": c.compileDBRefField, "$id": c.compileDBRefField, "$db": c.compileDBRefField,
	}
}

// checkPlace rejects operators on whole documents inside $elemMatch and in queries of updates ($pull,
// arrayFilters).
func (c *Compiler) checkPlace(name string) error {
	switch name {
	case "$expr", "$jsonSchema", "$where", "$text":
	default:
		return nil
	}
	switch {
	case c.inElemMatch:
		return servererr.BadValue("%s can only be applied to the top-level document", name)
	case !c.InUpdate:
		return nil
	case name == "$expr" || name == "$jsonSchema":
		return servererr.New(mongoerr.QueryFeatureNotAllowed, "%s is not allowed in this context", name)
	}
	return servererr.BadValue("%s is not allowed in this context", name)
}

func (c *Compiler) compileJunction(name string, v value.Value) (node, error) {
	list, err := c.compileClauses(name, v)
	switch {
	case err != nil:
		return nil, err
	case name == "$and":
		return c.sortForEvaluation(list, true), nil
	case name == "$or":
		return newOrNode(c.sortForEvaluation(list, false)), nil
	}
	return norNode{newOrNode(c.sortForEvaluation(list, false))}, nil
}

func (c *Compiler) compileExpr(_ string, v value.Value) (node, error) {
	e, err := expr.Compile(v, c.Scope)
	if err != nil {
		return nil, err
	}
	c.hasExpression = true
	return exprNode{e}, nil
}

func compileConstant(b bool) topOperatorCompiler {
	return func(name string, v value.Value) (node, error) {
		if !value.IsNumber(v) || value.Compare(v, value.Int32(1)) != 0 {
			return nil, servererr.FailedToParse("%s must be an integer value of 1", name)
		}
		return constantNode(b), nil
	}
}

func compileSampleRate(_ string, v value.Value) (node, error) {
	rate := value.ToDouble(v)
	if !value.IsNumber(v) || !(rate >= 0 && rate <= 1) {
		return nil, servererr.BadValue("numeric argument to $sampleRate must be in [0, 1]")
	}
	return exprNode{expr.ExpressionFunc(func(c *expr.Evaluation) (value.Value, error) {
		return value.Bool(c.Random() < rate),
			nil
	})}, nil
}

// compileDBRefField compiles a field of a DBRef.
func (c *Compiler) compileDBRefField(name string, v value.Value) (node, error) {
	p, err := c.CompilePredicate(name, v)
	if err != nil {
		return nil, err
	}
	return p.newNode(name, []string{name}), nil
}

// pathOperatorCompiler compiles an operator on a field.
type pathOperatorCompiler func(name, op string, v value.Value) (predicate, error)

func (c *Compiler) pathOperators() map[string]pathOperatorCompiler {
	all := map[string]pathOperatorCompiler{
		"$ne": compileNotEqual, "$in": compileIn, "$nin": compileIn, "$exists": compileExists,
		"$not":       func(name, _ string, v value.Value) (predicate, error) { return c.compileNot(name, v) },
		"$all":       func(name, _ string, v value.Value) (predicate, error) { return c.compileAll(name, v) },
		"$elemMatch": func(name, _ string, v value.Value) (predicate, error) { return c.CompileElemMatch(name, v) },
		"$type": func(name, _ string, v value.Value) (predicate, error) {
			t, err := newTypeTest(name, v)
			return leafPredicate(t), err
		},
		"$mod": func(_, _ string, v value.Value) (predicate, error) {
			t, err := newModTest(v)
			return leafPredicate(t), err
		},
		"$size": func(_, _ string, v value.Value) (predicate, error) {
			t, err := newSizeTest(v)
			return wholeValuePredicate(t), err
		},
	}
	for op, kind := range comparisonOps {
		all[op] = func(name, _ string, v value.Value) (predicate, error) {
			t, err := newComparison(name, kind, v)
			return leafPredicate(t), err
		}
	}
	for op, mode := range bitModes {
		all[op] = func(_, op string, v value.Value) (predicate, error) {
			t, err := newBitTest(op, mode, v)
			return leafPredicate(t), err
		}
	}
	for _, op := range []string{"$geoWithin", "$geoIntersects", "$within"} {
		all[op] = func(_, op string, _ value.Value) (predicate, error) {
			return predicate{}, servererr.BadValue("geo predicates are not available: %s", op)
		}
	}
	for _, op := range []string{"$near", "$nearSphere", "$geoNear"} {
		all[op] = func(_, _ string, _ value.Value) (predicate, error) {
			return predicate{}, servererr.New(mongoerr.NoQueryExecutionPlans,
				"error processing query: unable to find index for $geoNear query")
		}
	}
	return all
}

func compileNotEqual(name, _ string, v value.Value) (predicate, error) {
	if value.IsRegex(v) {
		return predicate{}, servererr.BadValue("Can't have regex as arg to $ne.")
	}
	t, err := newComparison(name, opEqual, v)
	return negatedPredicate(leafPredicate(t)), err
}

func compileIn(_, op string, v value.Value) (predicate, error) {
	t, err := newMembership(op, v)
	if op == "$nin" {
		return negatedPredicate(leafPredicate(t)), err
	}
	return leafPredicate(t), err
}

func compileExists(_, _ string, v value.Value) (predicate, error) {
	if value.IsTruthy(v) {
		return leafPredicate(existence{}), nil
	}
	return negatedPredicate(leafPredicate(existence{})), nil
}

// OperatorNames returns the sorted names of the query operators.
func OperatorNames() []string {
	c := &Compiler{}
	names := slices.Collect(maps.Keys(c.topOperators()))
	names = slices.AppendSeq(names, maps.Keys(c.pathOperators()))
	slices.Sort(names)
	return slices.Compact(names)
}
