package store

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// expression is a compiled aggregation expression. It gives missing for what
// is not there.
type expression interface {
	eval(c *evaluation) (value, error)
}

// scope knows the variables an expression may use: user variables have a slot
// each, those with an initial value have it from the start. A scope is not
// changed once made.
type scope struct {
	outer  *scope // nil for the outermost
	slots  map[string]int
	size   int     // how many slots there are, those of outer scopes too
	values []value // initial, by slot
	// early has the first error that constants made. It is shared with inner scopes,
	// and nil where such an error counts at once.
	early *error
}

// slot finds a variable.
func (s *scope) slot(name string) (int, bool) {
	for ; s != nil; s = s.outer {
		if slot, ok := s.slots[name]; ok {
			return slot, true
		}
	}
	return 0, false
}

// newScope makes a scope of constant variables: those of a command's let.
func newScope(let bson.Raw) (*scope, error) { return newScopeIn(nil, let) }

func newScopeIn(w *work, let bson.Raw) (*scope, error) {
	if isEmpty(let) {
		return &scope{}, nil
	}
	sc := &scope{slots: map[string]int{}}
	ctx := newEvaluation(sc, time.Time{}, w)
	for name, v := range fields(let) {
		if err := checkVariable(string(name)); err != nil {
			return nil, err
		}
		e, err := compileExpression(v, sc)
		if err != nil {
			return nil, err
		}
		v, err := e.eval(ctx)
		if err != nil {
			return nil, err
		}
		sc.slots[string(name)] = len(sc.values)
		sc.values = append(sc.values, v)
		sc.size = len(sc.values)
	}
	return sc, nil
}

// with adds variables; their slots follow those there already.
func (s *scope) with(names ...string) (inner *scope, slots []int) {
	inner = &scope{outer: s, slots: make(map[string]int, len(names)), size: s.size, values: s.values, early: s.early}
	for _, name := range names {
		slots = append(slots, inner.size)
		inner.slots[name] = inner.size
		inner.size++
	}
	return inner, slots
}

// evaluation is what an expression sees while it is evaluated.
type evaluation struct {
	root value
	vars []value // by slot
	now  time.Time
	rand func() float64
	work *work // nil where nothing can end it
	at   finder
}

func newEvaluation(sc *scope, now time.Time, w *work) *evaluation {
	return &evaluation{vars: append([]value(nil), sc.values...), now: now, work: w}
}

func (c *evaluation) set(slot int, v value) {
	for len(c.vars) <= slot {
		c.vars = append(c.vars, value{})
	}
	c.vars[slot] = v
}

// inside evaluates with another document as the root.
func (c *evaluation) inside(doc value) *evaluation {
	inner := *c
	inner.root = doc
	return &inner
}

// maxExpressionDepth bounds the nesting of expressions, as the depth of BSON
// documents bounds it on the server.
const maxExpressionDepth = 200

type exprCompiler struct {
	depth int
	other bool // for the other engine (stage_engine.go)
	asIs  bool // constants are not computed before it runs
	forms map[string]operatorCompiler
}

// operatorCompiler compiles an operator that is not a plain function of its arguments.
type operatorCompiler func(name string, arg value, sc *scope) (expression, error)

func compileExpression(v value, sc *scope) (expression, error) {
	return (&exprCompiler{}).compile(v, sc)
}

func (c *exprCompiler) compile(v value, sc *scope) (expression, error) {
	if c.depth++; c.depth > maxExpressionDepth {
		return nil, serverError(mongoerr.Overflow, "expression exceeds depth limit of %d", maxExpressionDepth)
	}
	defer func() { c.depth-- }()
	switch v.Type {
	case bson.TypeString:
		if text := textAt(v.Value); strings.HasPrefix(text, "$") {
			return compilePath(text, sc)
		}
	case bson.TypeEmbeddedDocument:
		return c.object(v.Value, sc)
	case bson.TypeArray:
		return c.array(v, sc)
	}
	return literal(v), nil
}

func (c *exprCompiler) array(v value, sc *scope) (expression, error) {
	list, err := c.list(v, sc)
	if err != nil {
		return nil, err
	}
	constant := true
	for _, e := range list {
		_, ok := e.(literal)
		constant = constant && ok
	}
	if constant {
		return literal(v), nil
	}
	return arrayExpression(list), nil
}

func (c *exprCompiler) list(v value, sc *scope) ([]expression, error) {
	var list []expression
	for _, item := range fields(v.Value) {
		e, err := c.compile(item, sc)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// object compiles {$op: args} or an object of expressions.
func (c *exprCompiler) object(doc []byte, sc *scope) (expression, error) {
	if name, arg, ok := first(doc); ok && isOperator(name) {
		if fieldCount(doc) > 1 {
			return nil, fail(15983, "an object representing an expression must have exactly one field: %s", bson.Raw(doc))
		}
		return c.operator(name, arg, sc)
	}
	var out objectExpression
	for name, v := range fields(doc) {
		if err := checkFieldName(string(name)); err != nil {
			return nil, err
		}
		e, err := c.compile(v, sc)
		if err != nil {
			return nil, err
		}
		out = append(out, namedExpression{string(name), e})
	}
	return out, nil
}

// checkFieldName refuses names that an object expression may not make.
func checkFieldName(name string) error {
	switch {
	case strings.HasPrefix(name, "$"):
		return fail(16410, "FieldPath field names may not start with '$'. Consider using $getField or $setField.")
	case strings.Contains(name, "."):
		return fail(16405, "dotted field names are only allowed at the top level")
	case strings.ContainsRune(name, 0):
		return fail(16411, "FieldPath field names may not contain '\\0'.")
	}
	return nil
}

func (c *exprCompiler) operator(name string, arg value, sc *scope) (expression, error) {
	if f, ok := otherFunctions[name]; ok && c.other {
		return c.call(name, f, arg, sc)
	}
	e, err := c.usualOperator(name, arg, sc)
	if err != nil || !c.other || otherCodes[name] == nil || isConstant(e) {
		return e, err
	}
	return otherExpression{e, otherCodes[name]}, nil
}

func (c *exprCompiler) usualOperator(name string, arg value, sc *scope) (expression, error) {
	if f, ok := functions[name]; ok {
		return c.call(name, f, arg, sc)
	}
	if f, ok := namedFunctions[name]; ok {
		return c.callNamed(name, f, arg, sc)
	}
	if c.forms == nil {
		c.forms = c.specialForms()
	}
	if f, ok := c.forms[name]; ok {
		return f(name, arg, sc)
	}
	return nil, serverError(mongoerr.InvalidPipelineOperator, "Unrecognized expression '%s'", name)
}

func knownExpression(name string) bool {
	c := exprCompiler{}
	_, isFunction := functions[name]
	_, isNamed := namedFunctions[name]
	_, isForm := c.specialForms()[name]
	return isFunction || isNamed || isForm
}

type literal value

func (l literal) eval(*evaluation) (value, error) { return value(l), nil }

type arrayExpression []expression

func (a arrayExpression) eval(c *evaluation) (value, error) {
	vs := make([]value, len(a))
	size := 0
	for i, e := range a {
		v, err := e.eval(c)
		if err != nil {
			return value{}, err
		}
		vs[i] = v
		size += len(v.Value)
		if err := checkSize(size); err != nil {
			return value{}, err
		}
	}
	return arrayOf(vs), c.work.handle(size)
}

func evalAll(list []expression, c *evaluation) ([]value, error) {
	vs := make([]value, len(list))
	for i, e := range list {
		if e == nil {
			vs[i] = absent
			continue
		}
		v, err := e.eval(c)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	return vs, c.work.step(1)
}

type namedExpression struct {
	name string
	expr expression
}

type objectExpression []namedExpression

func (o objectExpression) eval(c *evaluation) (value, error) {
	b, start := openDocument(nil)
	for _, f := range o {
		v, err := f.expr.eval(c)
		if err != nil {
			return value{}, err
		}
		b = appendField(b, f.name, v)
		if err := checkSize(len(b)); err != nil {
			return value{}, err
		}
	}
	return objectValue(closeDocument(b, start)), c.work.handle(len(b))
}
