package filter

import (
	"cmp"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
)

// maxFilterDepth is the maximum nesting depth of $and, $or and similar operators.
const maxFilterDepth = 100

// Compiler compiles queries.
type Compiler struct {
	Scope         *expr.Scope
	depth         int
	hasExpression bool // in any clause
	inElemMatch   bool // inside $elemMatch
	InUpdate      bool // the query is part of an update, in which $expr, $jsonSchema, $where and $text are not allowed
	top           map[string]topOperatorCompiler
	ops           map[string]pathOperatorCompiler
}

// CompileDocument compiles a query or a part of one that has fields at the top level.
func (c *Compiler) CompileDocument(doc []byte) (node, error) {
	if c.depth++; c.depth > maxFilterDepth {
		return nil, servererr.BadValue("exceeded maximum query tree depth of %d at %s", maxFilterDepth, bson.Raw(doc))
	}
	defer func() { c.depth-- }()
	var all allNode
	for name, v := range document.Fields(doc) {
		n, err := c.compileEntry(string(name), v)
		if err != nil {
			return nil, err
		}
		if n != nil {
			all = append(all, n)
		}
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return c.sortForEvaluation(all, true), nil
}

// sortForEvaluation sorts clauses into the server's order of evaluation, if the order matters:
// expressions may fail, and are evaluated last. Conjunctions and disjunctions come before clauses on one
// path, negations after them. With isConjunction, nested
// conjunctions are flattened.
func (c *Compiler) sortForEvaluation(list allNode, isConjunction bool) allNode {
	if !c.hasExpression {
		return list
	}
	var flat allNode
	for _, n := range list {
		if inner, isAnd := n.(allNode); isConjunction && isAnd {
			flat = append(flat, inner...)
			continue
		}
		flat = append(flat, n)
	}
	slices.SortStableFunc(flat, func(a, b node) int { return cmp.Compare(evaluationRank(a), evaluationRank(b)) })
	return flat
}

func evaluationRank(n node) int {
	switch n.(type) {
	case allNode:
		return 0
	case *orNode:
		return 1
	case norNode:
		return 3
	case exprNode:
		return 4
	}
	return 2
}

func (c *Compiler) compileEntry(name string, v value.Value) (node, error) {
	if !strings.HasPrefix(name, "$") {
		p, err := c.CompilePredicate(name, v)
		if err != nil {
			return nil, err
		}
		return p.newNode(name, paths.Split(name)), nil
	}
	if c.top == nil {
		c.top = c.topOperators()
	}
	if err := c.checkPlace(name); err != nil {
		return nil, err
	}
	if f, ok := c.top[name]; ok {
		return f(name, v)
	}
	return nil, servererr.BadValue(
		"unknown top level operator: %s. If you have a field name that starts with a '$' symbol, "+
			"consider using $getField or $setField.", name)
}

func (c *Compiler) compileClauses(name string, v value.Value) ([]node, error) {
	if !value.IsArray(v) {
		return nil, servererr.BadValue("%s must be an array", name)
	}
	var list []node
	for _, item := range document.Fields(v.Value) {
		if !value.IsObject(item) {
			return nil, servererr.BadValue("$or/$and/$nor entries need to be full objects")
		}
		n, err := c.CompileDocument(item.Value)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	if len(list) == 0 {
		return nil, servererr.BadValue("$and/$or/$nor must be a nonempty array")
	}
	return list, nil
}

// predicate is a condition on one path: a test, or a conjunction of predicates that may be negated. It
// can be applied to a path or, inside $elemMatch, to a single value.
type predicate struct {
	Leaf          ValueTest
	expandsArrays bool
	all           []predicate
	negate        bool
	allValues     *allValuesNode // equivalent to all, for many values at a path
}

func (p predicate) newNode(name string, path []string) node {
	if p.Leaf != nil {
		return &pathNode{name: name, path: path, test: p.Leaf, expand: p.expandsArrays}
	}
	if p.allValues != nil {
		return &allValuesNode{name: name, path: path, values: p.allValues.values, encoded: p.allValues.encoded}
	}
	all := make(allNode, len(p.all))
	for i, child := range p.all {
		all[i] = child.newNode(name, path)
	}
	switch {
	case p.negate:
		return norNode{newOrNode([]node{all})}
	case len(all) == 1:
		return all[0]
	}
	return all
}

func (p predicate) Test(v value.Value, m *MatchState) bool {
	if p.Leaf != nil {
		return p.Leaf.Test(v, m)
	}
	for _, child := range p.all {
		if !child.Test(v, m) {
			return p.negate
		}
	}
	return !p.negate
}

func leafPredicate(t ValueTest) predicate        { return predicate{Leaf: t, expandsArrays: true} }
func wholeValuePredicate(t ValueTest) predicate  { return predicate{Leaf: t} }
func negatedPredicate(ps ...predicate) predicate { return predicate{all: ps, negate: true} }
func andPredicate(ps []predicate) predicate      { return predicate{all: ps} }

// CompilePredicate compiles the condition on a field.
func (c *Compiler) CompilePredicate(name string, v value.Value) (predicate, error) {
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		if op, _, ok := document.FirstField(v.Value); ok && document.IsOperator(op) && !document.IsReference(op) {
			ps, err := c.compileOperators(name, v.Value)
			if err != nil {
				return predicate{}, err
			}
			return andPredicate(ps), nil
		}
	case bson.TypeRegex:
		pattern, options := value.RegexAt(v.Value)
		t, err := newRegexTest(pattern, options)
		return leafPredicate(t), err
	case bson.TypeUndefined:
		return predicate{}, servererr.BadValue("cannot compare to undefined")
	}
	return leafPredicate(&comparison{op: opEqual, operand: v}), nil
}

// compileOperators compiles {$op: ..., $op: ...}.
func (c *Compiler) compileOperators(name string, doc []byte) ([]predicate, error) {
	if c.depth++; c.depth > maxFilterDepth {
		return nil, servererr.BadValue("exceeded maximum query tree depth of %d at %s", maxFilterDepth, bson.Raw(doc))
	}
	defer func() { c.depth-- }()
	var ps []predicate
	for op, v := range document.Fields(doc) {
		switch string(op) {
		case "$regex":
			t, err := compileRegex(v, document.Lookup(doc, "$options"))
			if err != nil {
				return nil, err
			}
			ps = append(ps, leafPredicate(t))
			continue
		case "$options":
			if value.IsMissing(document.Lookup(doc, "$regex")) {
				return nil, servererr.BadValue("$options needs a $regex")
			}
			continue
		}
		p, err := c.compileOperator(name, string(op), v)
		if err != nil {
			return nil, err
		}
		ps = append(ps, p)
	}
	return ps, nil
}

// IsComparison reports whether an operator compares with a single value.
func IsComparison(op string) bool {
	_, ok := comparisonOps[op]
	return ok
}

var comparisonOps = map[string]comparisonOp{
	"$eq": opEqual, "$gt": opGreater, "$gte": opGreaterEqual, "$lt": opLess, "$lte": opLessEqual,
}

func (c *Compiler) compileOperator(name, op string, v value.Value) (predicate, error) {
	if c.ops == nil {
		c.ops = c.pathOperators()
	}
	if f, ok := c.ops[op]; ok {
		return f(name, op, v)
	}
	return predicate{}, servererr.BadValue("unknown operator: %s", op)
}

func (c *Compiler) compileNot(name string, v value.Value) (predicate, error) {
	if v.Type == bson.TypeRegex {
		p, err := c.CompilePredicate(name, v)
		return negatedPredicate(p), err
	}
	if !value.IsObject(v) {
		return predicate{}, servererr.BadValue("$not needs a regex or a document")
	}
	if document.IsEmpty(v.Value) {
		return predicate{}, servererr.BadValue("$not cannot be empty")
	}
	ps, err := c.compileOperators(name, v.Value)
	return negatedPredicate(ps...), err
}
