// Package filter matches documents against queries. It implements the operators of find and $match,
// $jsonSchema, the explanation of validation failures, and the conditions for the planner. The rules are
// those of the query operators' manual pages and of the server's recorded replies (8.0), in testdata of
// the store.
package filter

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/value"
)

// Filter is a compiled query. A nil Filter matches every document.
type Filter struct {
	root  node
	Scope *expr.Scope
	now   time.Time
	// Clauses are the conditions for the planner.
	Clauses []Clause
}

// Options are the inputs of a query besides the document.
type Options struct {
	// Let holds the variables of $expr by name.
	Let bson.Raw
	// Now is $$NOW; the zero value stands for the time of the call.
	Now time.Time
	// InUpdate marks a query inside an update, in which $expr, $jsonSchema, $where and $text are not
	// allowed.
	InUpdate bool
	// Language is the expression language of the release.
	Language expr.Language
}

// node matches documents.
type node interface {
	Match(doc []byte, m *MatchState) bool
}

// ValueTest tests a single value, which may be missing.
type ValueTest interface {
	Test(v value.Value, m *MatchState) bool
}

// MatchState is the state of one match.
type MatchState struct {
	// Evaluation evaluates expressions; nil until an expression needs it.
	Evaluation *expr.Evaluation
	Filter     *Filter
	// ElementIndex is the index, in the outermost array, of the element that made the last array predicate
	// true; -1 if there is none. Updates with the positional operator use it.
	ElementIndex int
	Err          error
	// Meter is charged for matching. It is nil if there is no limit or if Evaluation has the meter.
	Meter  *quota.Meter
	finder paths.Finder // of the document's fields
}

func (m *MatchState) currentMeter() *quota.Meter {
	switch {
	case m == nil:
		return nil
	case m.Evaluation != nil:
		return m.Evaluation.Meter
	}
	return m.Meter
}

// nullsInArrays reports whether paths yield null within arrays (see Language.NullInArrays).
func (m *MatchState) nullsInArrays() bool {
	return m.Filter != nil && m.Filter.Scope.Language.NullInArrays
}

// charge charges the meter and reports whether matching may continue. It may not after an error of an
// expression or a pattern, or when the meter has ended.
func (m *MatchState) charge(bytes int) bool {
	if m.Err == nil {
		m.Err = m.currentMeter().ChargeBytes(bytes)
	}
	return m.Err == nil
}

// Compile compiles a query. Errors have the server's codes, mostly BadValue.
func Compile(filter bson.Raw) (*Filter, error) {
	return CompileWith(filter, Options{})
}

// CompileWith is Compile for a query with variables.
func CompileWith(filter bson.Raw, o Options) (*Filter, error) {
	sc, err := expr.NewScope(o.Language, o.Let)
	if err != nil {
		return nil, err
	}
	failed := sc.DeferConstantErrors()
	f, err := (&Compiler{Scope: sc, InUpdate: o.InUpdate}).compile(filter, o.Now)
	if err == nil {
		err = failed()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// CompileIn compiles a query inside a pipeline, which has its own variables.
func CompileIn(filter bson.Raw, sc *expr.Scope, now time.Time) (*Filter, error) {
	return (&Compiler{Scope: sc}).compile(filter, now)
}

func (c *Compiler) compile(filter bson.Raw, now time.Time) (*Filter, error) {
	root, err := c.CompileDocument(filter)
	if err != nil {
		return nil, err
	}
	return &Filter{root: root, Scope: c.Scope, now: now, Clauses: splitClauses(filter)}, nil
}

// Match reports whether a document matches. A document for which a $expr fails does not match; Test
// returns the error.
func (f *Filter) Match(doc bson.Raw) bool {
	ok, err := f.Test(doc)
	return ok && err == nil
}

// Test is like Match but returns the error of a failed expression.
func (f *Filter) Test(doc bson.Raw) (bool, error) { return f.TestMetered(nil, doc) }

// Tester returns a Test for many documents, which fails with the cause of ctx when ctx ends.
func (f *Filter) Tester(ctx context.Context) func(doc bson.Raw) (bool, error) {
	w := quota.New(ctx)
	return func(doc bson.Raw) (bool, error) { return f.TestMetered(w, doc) }
}

// TestMetered is like Test and charges a meter; matching stops when the meter ends.
func (f *Filter) TestMetered(w *quota.Meter, doc []byte) (bool, error) {
	if f == nil {
		return true, w.Charge(1)
	}
	return f.test(&MatchState{Meter: w, Filter: f, ElementIndex: -1}, doc)
}

// TestInEvaluation matches within an evaluation in progress and uses its variables.
func (f *Filter) TestInEvaluation(ctx *expr.Evaluation, doc []byte) (bool, error) {
	return f.test(&MatchState{Evaluation: ctx, Filter: f, ElementIndex: -1}, doc)
}

func (f *Filter) test(m *MatchState, doc []byte) (bool, error) {
	ok := f.root.Match(doc, m)
	if m.Err == nil {
		m.Err = m.currentMeter().Charge(1)
	}
	return ok && m.Err == nil, m.Err
}

// Position returns the index of the array element that made the document match, for the positional
// operator.
func (f *Filter) Position(w *quota.Meter, doc bson.Raw) (int, bool) {
	if f == nil {
		return 0, false
	}
	m := MatchState{Meter: w, Filter: f, ElementIndex: -1}
	ok := f.root.Match(doc, &m)
	return m.ElementIndex, ok && m.Err == nil && m.ElementIndex >= 0
}

// Equality returns the value that matching documents must have at path, if the filter requires one: by
// {path: value}, $eq, an $in with one value, or an $and of these. A required object requires the values
// of its fields: {a: {b: value}} requires value at a.b.
func (f *Filter) Equality(path string) (bson.RawValue, bool) {
	if f == nil {
		return bson.RawValue{}, false
	}
	for p, v := range f.Equalities() {
		if p == path {
			return v, true
		}
		if rest, inside := strings.CutPrefix(path, p+"."); inside {
			if v, ok := valueAtPath(v, paths.Split(rest)); ok {
				return v, true
			}
		}
	}
	return bson.RawValue{}, false
}

// PointEquality returns the field and the value of a filter that only requires one value of one field.
// The value has a type whose values equal only themselves.
func (f *Filter) PointEquality() (field string, v value.Value, ok bool) {
	if f == nil {
		return "", v, false
	}
	n, isPath := f.root.(*pathNode)
	if !isPath {
		return "", v, false
	}
	c, isComparison := n.test.(*comparison)
	if !isComparison || c.op != opEqual {
		return "", v, false
	}
	switch c.operand.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeString, bson.TypeObjectID, bson.TypeDateTime,
		bson.TypeBoolean, bson.TypeBinary:
		return n.name, c.operand, true
	}
	return "", v, false
}

// valueAtPath returns the value at a path of nested objects. It does not descend into arrays.
func valueAtPath(v value.Value, path []string) (value.Value, bool) {
	for _, name := range path {
		if !value.IsObject(v) {
			return v, false
		}
		if v = document.Lookup(v.Value, name); value.IsMissing(v) {
			return v, false
		}
	}
	return v, !value.IsArray(v)
}

// Equalities iterates over the (path, value) pairs that every matching document has.
func (f *Filter) Equalities() func(yield func(string, value.Value) bool) {
	return func(yield func(string, value.Value) bool) { eachEquality(f.root, yield) }
}

func eachEquality(n node, yield func(string, value.Value) bool) bool {
	switch n := n.(type) {
	case allNode:
		for _, child := range n {
			if !eachEquality(child, yield) {
				return false
			}
		}
	case *orNode:
		if len(n.branches) == 1 {
			return eachEquality(n.branches[0], yield)
		}
	case *allValuesNode:
		for _, v := range n.values {
			if !yield(n.name, v) {
				return false
			}
		}
	case *pathNode:
		switch t := n.test.(type) {
		case *comparison:
			if t.op == opEqual {
				return yield(n.name, t.operand)
			}
		case *membership:
			if t.single != nil {
				return yield(n.name, *t.single)
			}
		}
	}
	return true
}

type allNode []node

func (n allNode) Match(doc []byte, m *MatchState) bool {
	for _, child := range n {
		if !child.Match(doc, m) {
			return false
		}
	}
	return true
}

type constantNode bool

func (n constantNode) Match([]byte, *MatchState) bool { return bool(n) }

// pathNode tests the values at a path.
type pathNode struct {
	name   string
	path   []string
	test   ValueTest
	expand bool // an array at the end of the path also stands for its elements
}

func (n *pathNode) Match(doc []byte, m *MatchState) bool {
	matches := false
	walker := paths.Walker{Meter: m.currentMeter(), Finder: &m.finder, NullInArrays: m.nullsInArrays()}
	walker.Walk(doc, n.path, n.expand, func(v value.Value, index int) bool {
		if !m.charge(0) {
			return true
		}
		if !n.test.Test(v, m) {
			return false
		}
		if matches = true; index >= 0 {
			m.ElementIndex = index
		}
		return true
	})
	return matches
}

// exprNode implements $expr.
type exprNode struct{ expr expr.Expression }

func (n exprNode) Match(doc []byte, m *MatchState) bool {
	if m.Evaluation == nil {
		m.Evaluation = expr.NewEvaluation(m.Filter.Scope, m.Filter.now, m.Meter)
	}
	root := m.Evaluation.Root
	m.Evaluation.Root = value.Object(doc)
	v, err := n.expr.Eval(m.Evaluation)
	m.Evaluation.Root = root
	if err != nil && m.Err == nil {
		m.Err = err
	}
	return err == nil && value.IsTruthy(v)
}

// FixesWholeKey reports whether the query requires exactly one value for every field of a shard key, so
// that all matching documents belong to the same shard.
func (f *Filter) FixesWholeKey(names []string) bool {
	return f != nil && !slices.ContainsFunc(names, func(name string) bool {
		v, ok := f.Equality(name)
		return !ok || value.IsNullish(v) || value.IsArray(v) || v.Type == bson.TypeRegex
	})
}
