package store

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Filter is a compiled query. A nil Filter matches everything.
type Filter struct {
	root  node
	scope *scope
	now   time.Time
	fails bool
	// clauses are what planning looks at.
	clauses []clause
}

// FilterOptions are what a query may refer to besides the document.
type FilterOptions struct {
	// Let holds the variables of $expr, name to value.
	Let bson.Raw
	// Now is $$NOW; the zero value stands for the time of the call.
	Now time.Time
	// Plain is a query inside an update, in which $expr, $jsonSchema, $where and $text
	// are not allowed.
	Plain bool
}

// node decides about a document.
type node interface {
	match(doc []byte, m *matching) bool
}

// valueTest decides about a single value; missing is one too.
type valueTest interface {
	test(v value, m *matching) bool
}

// matching is the state of one match.
type matching struct {
	// ctx is the evaluation for expressions; nil until one needs it.
	ctx    *evaluation
	filter *Filter
	// index is the place in the outermost array of the element that made the
	// last array predicate true; -1 when none did. Updates with the positional
	// operator use it.
	index int
	err   error
	// spent is what matching costs; nil where nothing can end it, or where ctx
	// says it.
	spent *work
	at    finder // of the document's fields
}

func (m *matching) work() *work {
	switch {
	case m == nil:
		return nil
	case m.ctx != nil:
		return m.ctx.work
	}
	return m.spent
}

// goOn takes a step, and reports whether matching is to go on: an expression
// or a pattern has failed, or the work has ended.
func (m *matching) goOn(bytes int) bool {
	if m.err == nil {
		m.err = m.work().handle(bytes)
	}
	return m.err == nil
}

// CompileFilter compiles a query. Errors have the server's codes: mostly
// BadValue.
func CompileFilter(filter bson.Raw) (*Filter, error) {
	return CompileFilterWith(filter, FilterOptions{})
}

// CompileFilterWith is CompileFilter for a query with variables.
func CompileFilterWith(filter bson.Raw, o FilterOptions) (*Filter, error) {
	sc, err := newScope(o.Let)
	if err != nil {
		return nil, err
	}
	failed := sc.collecting()
	f, err := (&filterCompiler{scope: sc, plain: o.Plain}).compile(filter, o.Now)
	if err == nil {
		err = failed()
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

func compileFilter(filter bson.Raw, sc *scope, now time.Time) (*Filter, error) {
	return (&filterCompiler{scope: sc}).compile(filter, now)
}

func (c *filterCompiler) compile(filter bson.Raw, now time.Time) (*Filter, error) {
	root, err := c.document(filter)
	if err != nil {
		return nil, err
	}
	return &Filter{root: root, scope: c.scope, now: now, fails: c.fails, clauses: clausesOf(filter)}, nil
}

// CanFail reports whether matching may end in an error: the filter has a $expr.
// For such a filter Test says more than Match.
func (f *Filter) CanFail() bool { return f != nil && f.fails }

// Match reports whether a document matches. A filter whose $expr fails on the
// document does not match it; Test tells why.
func (f *Filter) Match(doc bson.Raw) bool {
	ok, err := f.Test(doc)
	return ok && err == nil
}

// Test is Match with the error of an expression that failed.
func (f *Filter) Test(doc bson.Raw) (bool, error) { return f.test(nil, doc) }

// Tester returns Test for many documents, which fails with the cause of ctx
// when that ends.
func (f *Filter) Tester(ctx context.Context) func(doc bson.Raw) (bool, error) {
	w := newWork(ctx)
	return func(doc bson.Raw) (bool, error) { return f.test(w, doc) }
}

func (f *Filter) test(w *work, doc []byte) (bool, error) {
	if f == nil {
		return true, w.step(1)
	}
	return f.run(&matching{spent: w, filter: f, index: -1}, doc)
}

// testIn matches within an evaluation that is under way, for its variables.
func (f *Filter) testIn(ctx *evaluation, doc []byte) (bool, error) {
	return f.run(&matching{ctx: ctx, filter: f, index: -1}, doc)
}

func (f *Filter) run(m *matching, doc []byte) (bool, error) {
	ok := f.root.match(doc, m)
	if m.err == nil {
		m.err = m.work().step(1)
	}
	return ok && m.err == nil, m.err
}

// position returns the place of the array element that made the document match,
// for the positional operator.
func (f *Filter) position(w *work, doc bson.Raw) (int, bool) {
	if f == nil {
		return 0, false
	}
	m := matching{spent: w, filter: f, index: -1}
	ok := f.root.match(doc, &m)
	return m.index, ok && m.err == nil && m.index >= 0
}

// Equality returns the value that a document must have at path, when the filter
// demands one: by {path: value}, $eq, an $in of one, or an $and of these; also
// as a part of a whole value that it demands, as {a: {b: value}} does for a.b.
func (f *Filter) Equality(path string) (bson.RawValue, bool) {
	if f == nil {
		return bson.RawValue{}, false
	}
	for p, v := range f.equalities() {
		if p == path {
			return v, true
		}
		if rest, inside := strings.CutPrefix(path, p+"."); inside {
			if v, ok := insideOf(v, splitPath(rest)); ok {
				return v, true
			}
		}
	}
	return bson.RawValue{}, false
}

// point returns the field and the value of a filter that asks for one value of one
// field, of a type that only equals itself.
func (f *Filter) point() (field string, v value, ok bool) {
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
	switch c.to.Type {
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble, bson.TypeString, bson.TypeObjectID, bson.TypeDateTime,
		bson.TypeBoolean, bson.TypeBinary:
		return n.name, c.to, true
	}
	return "", v, false
}

// insideOf returns what a value that is a document has at a path without arrays.
func insideOf(v value, path []string) (value, bool) {
	for _, name := range path {
		if !isObject(v) {
			return v, false
		}
		if v = lookup(v.Value, name); isMissing(v) {
			return v, false
		}
	}
	return v, !isArray(v)
}

// equalities walks the (path, value) pairs that every match has.
func (f *Filter) equalities() func(yield func(string, value) bool) {
	return func(yield func(string, value) bool) { eachEquality(f.root, yield) }
}

func eachEquality(n node, yield func(string, value) bool) bool {
	switch n := n.(type) {
	case allNode:
		for _, child := range n {
			if !eachEquality(child, yield) {
				return false
			}
		}
	case *anyNode:
		if len(n.of) == 1 {
			return eachEquality(n.of[0], yield)
		}
	case *everyNode:
		for _, v := range n.values {
			if !yield(n.name, v) {
				return false
			}
		}
	case *pathNode:
		switch t := n.test.(type) {
		case *comparison:
			if t.op == opEqual {
				return yield(n.name, t.to)
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

func (n allNode) match(doc []byte, m *matching) bool {
	for _, child := range n {
		if !child.match(doc, m) {
			return false
		}
	}
	return true
}

type constantNode bool

func (n constantNode) match([]byte, *matching) bool { return bool(n) }

// pathNode tests the values at a path.
type pathNode struct {
	name   string
	path   []string
	test   valueTest
	expand bool // arrays at the end stand for their elements too
}

func (n *pathNode) match(doc []byte, m *matching) bool {
	matches := false
	pathWalk{m.work(), &m.at}.walk(doc, n.path, n.expand, func(v value, index int) bool {
		if !m.goOn(0) {
			return true
		}
		if !n.test.test(v, m) {
			return false
		}
		if matches = true; index >= 0 {
			m.index = index
		}
		return true
	})
	return matches
}

// exprNode is $expr.
type exprNode struct{ expr expression }

func (n exprNode) match(doc []byte, m *matching) bool {
	if m.ctx == nil {
		m.ctx = newEvaluation(m.filter.scope, m.filter.now, m.spent)
	}
	root := m.ctx.root
	m.ctx.root = objectValue(doc)
	v, err := n.expr.eval(m.ctx)
	m.ctx.root = root
	if err != nil && m.err == nil {
		m.err = err
	}
	return err == nil && truthy(v)
}

// WholeKey reports whether the query gives every field of a shard key exactly
// one value, so that no document found can belong to another shard.
func (f *Filter) WholeKey(names []string) bool {
	return f != nil && !slices.ContainsFunc(names, func(name string) bool {
		v, ok := f.Equality(name)
		return !ok || isNullish(v) || isArray(v) || v.Type == bson.TypeRegex
	})
}
