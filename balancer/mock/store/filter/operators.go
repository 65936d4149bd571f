package store

import (
	"maps"
	"slices"

	"shardsh/balancer/mongoerr"
)

// topOperator compiles an operator that stands in the place of a field.
type topOperator func(name string, v value) (node, error)

func (c *filterCompiler) topOperators() map[string]topOperator {
	return map[string]topOperator{
		"$and": c.junction, "$or": c.junction, "$nor": c.junction,
		"$expr": c.expr, "$sampleRate": sampleRate,
		"$jsonSchema":  func(_ string, v value) (node, error) { return c.schema(v) },
		"$comment":     func(string, value) (node, error) { return nil, nil },
		"$alwaysTrue":  constant(true),
		"$alwaysFalse": constant(false),
		"$where": func(string, value) (node, error) {
			return nil, badValue("no globalScriptEngine in $where parsing")
		},
		"$text": func(string, value) (node, error) {
			return nil, serverError(mongoerr.IndexNotFound, "text index required for $text query")
		},
		"$ref": c.reference, "$id": c.reference, "$db": c.reference,
	}
}

// checkPlace refuses operators on whole documents where there is none, and in queries
// of updates ($pull, arrayFilters).
func (c *filterCompiler) checkPlace(name string) error {
	switch name {
	case "$expr", "$jsonSchema", "$where", "$text":
	default:
		return nil
	}
	switch {
	case c.below:
		return badValue("%s can only be applied to the top-level document", name)
	case !c.plain:
		return nil
	case name == "$expr" || name == "$jsonSchema":
		return serverError(mongoerr.QueryFeatureNotAllowed, "%s is not allowed in this context", name)
	}
	return badValue("%s is not allowed in this context", name)
}

func (c *filterCompiler) junction(name string, v value) (node, error) {
	list, err := c.clauses(name, v)
	switch {
	case err != nil:
		return nil, err
	case name == "$and":
		return c.ordered(list, true), nil
	case name == "$or":
		return newAnyNode(c.ordered(list, false)), nil
	}
	return noneNode{newAnyNode(c.ordered(list, false))}, nil
}

func (c *filterCompiler) expr(_ string, v value) (node, error) {
	e, err := compileExpression(v, c.scope)
	if err != nil {
		return nil, err
	}
	c.fails = true
	return exprNode{e}, nil
}

func constant(b bool) topOperator {
	return func(name string, v value) (node, error) {
		if !isNumber(v) || compare(v, int32Value(1)) != 0 {
			return nil, failedToParse("%s must be an integer value of 1", name)
		}
		return constantNode(b), nil
	}
}

func sampleRate(_ string, v value) (node, error) {
	rate := toDouble(v)
	if !isNumber(v) || !(rate >= 0 && rate <= 1) {
		return nil, badValue("numeric argument to $sampleRate must be in [0, 1]")
	}
	return exprNode{evalFunc(func(c *evaluation) (value, error) { return boolValue(c.random() < rate), nil })}, nil
}

// reference is a field of a DBRef.
func (c *filterCompiler) reference(name string, v value) (node, error) {
	p, err := c.predicate(name, v)
	if err != nil {
		return nil, err
	}
	return p.node(name, []string{name}), nil
}

// pathOperator compiles an operator beside a field's name.
type pathOperator func(name, op string, v value) (predicate, error)

func (c *filterCompiler) pathOperators() map[string]pathOperator {
	all := map[string]pathOperator{
		"$ne": notEqual, "$in": isIn, "$nin": isIn, "$exists": exists,
		"$not":       func(name, _ string, v value) (predicate, error) { return c.negation(name, v) },
		"$all":       func(name, _ string, v value) (predicate, error) { return c.all(name, v) },
		"$elemMatch": func(name, _ string, v value) (predicate, error) { return c.elemMatch(name, v) },
		"$type": func(name, _ string, v value) (predicate, error) {
			t, err := newTypeTest(name, v)
			return leaf(t), err
		},
		"$mod": func(_, _ string, v value) (predicate, error) {
			t, err := newModTest(v)
			return leaf(t), err
		},
		"$size": func(_, _ string, v value) (predicate, error) {
			t, err := newSizeTest(v)
			return whole(t), err
		},
	}
	for op, kind := range comparisonOps {
		all[op] = func(name, _ string, v value) (predicate, error) {
			t, err := newComparison(name, kind, v)
			return leaf(t), err
		}
	}
	for op, mode := range bitModes {
		all[op] = func(_, op string, v value) (predicate, error) {
			t, err := newBitTest(op, mode, v)
			return leaf(t), err
		}
	}
	for _, op := range []string{"$geoWithin", "$geoIntersects", "$within"} {
		all[op] = func(_, op string, _ value) (predicate, error) {
			return predicate{}, badValue("geo predicates are not available: %s", op)
		}
	}
	for _, op := range []string{"$near", "$nearSphere", "$geoNear"} {
		all[op] = func(_, _ string, _ value) (predicate, error) {
			return predicate{}, serverError(mongoerr.NoQueryExecutionPlans,
				"error processing query: unable to find index for $geoNear query")
		}
	}
	return all
}

func notEqual(name, _ string, v value) (predicate, error) {
	if isRegex(v) {
		return predicate{}, badValue("Can't have regex as arg to $ne.")
	}
	t, err := newComparison(name, opEqual, v)
	return not(leaf(t)), err
}

func isIn(_, op string, v value) (predicate, error) {
	t, err := newMembership(op, v)
	if op == "$nin" {
		return not(leaf(t)), err
	}
	return leaf(t), err
}

func exists(_, _ string, v value) (predicate, error) {
	if truthy(v) {
		return leaf(existence{}), nil
	}
	return not(leaf(existence{})), nil
}

// filterOperators lists the operators of filters, in order.
func filterOperators() []string {
	c := &filterCompiler{}
	names := slices.Collect(maps.Keys(c.topOperators()))
	names = slices.AppendSeq(names, maps.Keys(c.pathOperators()))
	slices.Sort(names)
	return slices.Compact(names)
}
