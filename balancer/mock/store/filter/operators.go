package filter

import (
	"maps"
	"slices"

	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// topOperator compiles an operator that stands in the place of a field.
type topOperator func(name string, v value.Value) (node, error)

func (c *Compiler) topOperators() map[string]topOperator {
	return map[string]topOperator{
		"$and": c.junction, "$or": c.junction, "$nor": c.junction,
		"$expr": c.expr, "$sampleRate": sampleRate,
		"$jsonSchema":  func(_ string, v value.Value) (node, error) { return c.schema(v) },
		"$comment":     func(string, value.Value) (node, error) { return nil, nil },
		"$alwaysTrue":  constant(true),
		"$alwaysFalse": constant(false),
		"$where": func(string, value.Value) (node, error) {
			return nil, servererr.BadValue("no globalScriptEngine in $where parsing")
		},
		"$text": func(string, value.Value) (node, error) {
			return nil, servererr.New(mongoerr.IndexNotFound, "text index required for $text query")
		},
		"$ref": c.reference, "$id": c.reference, "$db": c.reference,
	}
}

// checkPlace refuses operators on whole documents where there is none, and in queries
// of updates ($pull, arrayFilters).
func (c *Compiler) checkPlace(name string) error {
	switch name {
	case "$expr", "$jsonSchema", "$where", "$text":
	default:
		return nil
	}
	switch {
	case c.below:
		return servererr.BadValue("%s can only be applied to the top-level document", name)
	case !c.InUpdate:
		return nil
	case name == "$expr" || name == "$jsonSchema":
		return servererr.New(mongoerr.QueryFeatureNotAllowed, "%s is not allowed in this context", name)
	}
	return servererr.BadValue("%s is not allowed in this context", name)
}

func (c *Compiler) junction(name string, v value.Value) (node, error) {
	list, err := c.clauses(name, v)
	switch {
	case err != nil:
		return nil, err
	case name == "$and":
		return c.ordered(list, true), nil
	case name == "$or":
		return newAnyNode(c.ordered(list, false)), nil
	}
	return norNode{newAnyNode(c.ordered(list, false))}, nil
}

func (c *Compiler) expr(_ string, v value.Value) (node, error) {
	e, err := expr.Compile(v, c.Scope)
	if err != nil {
		return nil, err
	}
	c.fails = true
	return exprNode{e}, nil
}

func constant(b bool) topOperator {
	return func(name string, v value.Value) (node, error) {
		if !value.IsNumber(v) || value.Compare(v, value.Int32(1)) != 0 {
			return nil, servererr.FailedToParse("%s must be an integer value of 1", name)
		}
		return constantNode(b), nil
	}
}

func sampleRate(_ string, v value.Value) (node, error) {
	rate := value.ToDouble(v)
	if !value.IsNumber(v) || !(rate >= 0 && rate <= 1) {
		return nil, servererr.BadValue("numeric argument to $sampleRate must be in [0, 1]")
	}
	return exprNode{expr.Func(func(c *expr.Evaluation) (value.Value, error) {
		return value.Bool(c.Random() < rate),
			nil
	})}, nil
}

// reference is a field of a DBRef.
func (c *Compiler) reference(name string, v value.Value) (node, error) {
	p, err := c.Predicate(name, v)
	if err != nil {
		return nil, err
	}
	return p.node(name, []string{name}), nil
}

// pathOperator compiles an operator beside a field's name.
type pathOperator func(name, op string, v value.Value) (predicate, error)

func (c *Compiler) pathOperators() map[string]pathOperator {
	all := map[string]pathOperator{
		"$ne": notEqual, "$in": isIn, "$nin": isIn, "$exists": exists,
		"$not":       func(name, _ string, v value.Value) (predicate, error) { return c.negation(name, v) },
		"$all":       func(name, _ string, v value.Value) (predicate, error) { return c.all(name, v) },
		"$elemMatch": func(name, _ string, v value.Value) (predicate, error) { return c.ElemMatch(name, v) },
		"$type": func(name, _ string, v value.Value) (predicate, error) {
			t, err := newTypeTest(name, v)
			return leaf(t), err
		},
		"$mod": func(_, _ string, v value.Value) (predicate, error) {
			t, err := newModTest(v)
			return leaf(t), err
		},
		"$size": func(_, _ string, v value.Value) (predicate, error) {
			t, err := newSizeTest(v)
			return whole(t), err
		},
	}
	for op, kind := range comparisonOps {
		all[op] = func(name, _ string, v value.Value) (predicate, error) {
			t, err := newComparison(name, kind, v)
			return leaf(t), err
		}
	}
	for op, mode := range bitModes {
		all[op] = func(_, op string, v value.Value) (predicate, error) {
			t, err := newBitTest(op, mode, v)
			return leaf(t), err
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

func notEqual(name, _ string, v value.Value) (predicate, error) {
	if value.IsRegex(v) {
		return predicate{}, servererr.BadValue("Can't have regex as arg to $ne.")
	}
	t, err := newComparison(name, opEqual, v)
	return not(leaf(t)), err
}

func isIn(_, op string, v value.Value) (predicate, error) {
	t, err := newMembership(op, v)
	if op == "$nin" {
		return not(leaf(t)), err
	}
	return leaf(t), err
}

func exists(_, _ string, v value.Value) (predicate, error) {
	if value.Truthy(v) {
		return leaf(existence{}), nil
	}
	return not(leaf(existence{})), nil
}

// Operators lists the operators of filters, in order.
func Operators() []string {
	c := &Compiler{}
	names := slices.Collect(maps.Keys(c.topOperators()))
	names = slices.AppendSeq(names, maps.Keys(c.pathOperators()))
	slices.Sort(names)
	return slices.Compact(names)
}
