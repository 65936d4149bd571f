// Package expr compiles and evaluates aggregation expressions, and the accumulators that $group, windows
// and expressions share. The rules are those of the operators' manual pages. The order of errors and the
// constant folding follow recordings of a server (8.0.10).
package expr

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/paths"
	"shardsh/balancer/mock/store/quota"
	"shardsh/balancer/mock/store/servererr"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// Expression is a compiled aggregation expression. Its result is missing if a field does not exist.
type Expression interface {
	Eval(c *Evaluation) (value.Value, error)
}

// Scope defines the variables that an expression may use. Each user variable has a slot. Variables with
// an initial value have it from the start. A Scope is immutable.
type Scope struct {
	outer         *Scope // nil for the outermost
	slots         map[string]int
	slotCount     int           // number of slots, including those of outer scopes
	InitialValues []value.Value // by slot
	// Language is the expression language of the release.
	Language Language
	// deferredErr is the first error of constant folding. Inner scopes share it. It is nil if such an
	// error is returned at once.
	deferredErr *error
}

// slot returns the slot of a variable.
func (s *Scope) slot(name string) (int, bool) {
	for ; s != nil; s = s.outer {
		if slot, ok := s.slots[name]; ok {
			return slot, true
		}
	}
	return 0, false
}

// VariableCount returns the number of variables, including those of outer scopes.
func (s *Scope) VariableCount() int { return s.slotCount }

// NewScope returns a scope of constant variables, such as those of a command's let.
func NewScope(l Language, let bson.Raw) (*Scope, error) { return newScopeIn(nil, l, let) }

func newScopeIn(w *quota.Meter, l Language, let bson.Raw) (*Scope, error) {
	if document.IsEmpty(let) {
		return &Scope{Language: l}, nil
	}
	sc := &Scope{slots: map[string]int{}, Language: l}
	ctx := NewEvaluation(sc, time.Time{}, w)
	for name, v := range document.Fields(let) {
		if err := CheckVariable(string(name)); err != nil && string(name) != nowName {
			return nil, err
		}
		e, err := Compile(v, sc)
		if err != nil {
			return nil, err
		}
		v, err := e.Eval(ctx)
		if err != nil {
			return nil, err
		}
		sc.slots[string(name)] = len(sc.InitialValues)
		sc.InitialValues = append(sc.InitialValues, v)
		sc.slotCount = len(sc.InitialValues)
	}
	return sc, nil
}

// WithVariables returns an inner scope with additional variables, which get the next slots.
func (s *Scope) WithVariables(names ...string) (inner *Scope, slots []int) {
	inner = &Scope{outer: s, slots: make(map[string]int, len(names)), slotCount: s.slotCount,
		InitialValues: s.InitialValues,
		Language:      s.Language, deferredErr: s.deferredErr}
	for _, name := range names {
		slots = append(slots, inner.slotCount)
		inner.slots[name] = inner.slotCount
		inner.slotCount++
	}
	return inner, slots
}

// Evaluation is the context in which an expression is evaluated.
type Evaluation struct {
	Root  value.Value
	Vars  []value.Value // by slot
	Now   time.Time
	Rand  func() float64
	Meter *quota.Meter // nil if there is no limit
	// Language is the expression language of the release.
	Language Language
	finder   paths.Finder
}

// NewEvaluation starts an evaluation of the expressions of a scope, with now as $$NOW and w as its
// meter.
func NewEvaluation(sc *Scope, now time.Time, w *quota.Meter) *Evaluation {
	return &Evaluation{Vars: append([]value.Value(nil), sc.InitialValues...), Now: now, Meter: w, Language: sc.Language}
}

// Set sets a variable.
func (c *Evaluation) Set(slot int, v value.Value) {
	for len(c.Vars) <= slot {
		c.Vars = append(c.Vars, value.Value{})
	}
	c.Vars[slot] = v
}

// WithRoot returns a copy of the evaluation with another document as $$ROOT.
func (c *Evaluation) WithRoot(doc value.Value) *Evaluation {
	inner := *c
	inner.Root = doc
	return &inner
}

// MaxDepth limits the nesting of expressions. On the server, the depth limit of BSON documents has that
// effect.
const MaxDepth = 200

// Compiler compiles expressions for one of the server's two engines.
type Compiler struct {
	depth     int
	SBE       bool // for the SBE engine (sbe.go)
	noFolding bool // no constant folding
	forms     map[string]operatorCompiler
}

// operatorCompiler compiles an operator that is not just a function of its arguments.
type operatorCompiler func(name string, arg value.Value, sc *Scope) (Expression, error)

// Compile compiles an expression. Errors have the server's codes.
func Compile(v value.Value, sc *Scope) (Expression, error) {
	return (&Compiler{}).Compile(v, sc)
}

// Compile compiles an expression for the compiler's engine.
func (c *Compiler) Compile(v value.Value, sc *Scope) (Expression, error) {
	if c.depth++; c.depth > MaxDepth {
		return nil, servererr.New(mongoerr.Overflow, "expression exceeds depth limit of %d", MaxDepth)
	}
	defer func() { c.depth-- }()
	switch v.Type {
	case bson.TypeString:
		if text := value.TextAt(v.Value); strings.HasPrefix(text, "$") {
			return compilePath(text, sc)
		}
	case bson.TypeEmbeddedDocument:
		return c.compileObject(v.Value, sc)
	case bson.TypeArray:
		return c.compileArray(v, sc)
	}
	return Literal(v), nil
}

func (c *Compiler) compileArray(v value.Value, sc *Scope) (Expression, error) {
	list, err := c.CompileList(v, sc)
	if err != nil {
		return nil, err
	}
	values := make([]value.Value, len(list))
	for i, e := range list {
		literal, ok := e.(Literal)
		if !ok {
			return Array(list), nil
		}
		values[i] = value.Value(literal)
	}
	return Literal(document.Array(values)), nil
}

// CompileList compiles the elements of an array.
func (c *Compiler) CompileList(v value.Value, sc *Scope) ([]Expression, error) {
	var list []Expression
	for _, item := range document.Fields(v.Value) {
		e, err := c.Compile(item, sc)
		if err != nil {
			return nil, err
		}
		list = append(list, e)
	}
	return list, nil
}

// compileObject compiles {$op: args} or an object of expressions.
func (c *Compiler) compileObject(doc []byte, sc *Scope) (Expression, error) {
	if name, arg, ok := document.FirstField(doc); ok && document.IsOperator(name) {
		if document.Count(doc) > 1 {
			return nil, servererr.NewCode(15983, "an object representing an expression must have exactly one field: %s",
				bson.Raw(doc))
		}
		return c.compileOperator(name, arg, sc)
	}
	var out Object
	for name, v := range document.Fields(doc) {
		if err := checkFieldName(string(name)); err != nil {
			return nil, err
		}
		e, err := c.Compile(v, sc)
		if err != nil {
			return nil, err
		}
		out = append(out, namedExpression{string(name), e})
	}
	return out, nil
}

// checkFieldName rejects names that an object expression must not use.
func checkFieldName(name string) error {
	switch {
	case strings.HasPrefix(name, "$"):
		return servererr.NewCode(16410,
			"FieldPath field names may not start with '$'. Consider using $getField or $setField.")
	case strings.Contains(name, "."):
		return servererr.NewCode(16405, "dotted field names are only allowed at the top level")
	case strings.ContainsRune(name, 0):
		return servererr.NewCode(16411, "FieldPath field names may not contain '\\0'.")
	}
	return nil
}

func (c *Compiler) compileOperator(name string, arg value.Value, sc *Scope) (Expression, error) {
	if f, ok := sbeFunctions[name]; ok && c.SBE {
		return c.compileCall(name, f, arg, sc)
	}
	e, err := c.compileClassicOperator(name, arg, sc)
	if err != nil || !c.SBE || sbeCodes[name] == nil || IsConstant(e) {
		return e, err
	}
	return sbeExpression{e, sbeCodes[name]}, nil
}

func (c *Compiler) compileClassicOperator(name string, arg value.Value, sc *Scope) (Expression, error) {
	if f, ok := functions[name]; ok {
		return c.compileCall(name, f, arg, sc)
	}
	if f, ok := namedFunctions[name]; ok {
		return c.compileNamedCall(name, f, arg, sc)
	}
	if c.forms == nil {
		c.forms = c.specialForms(sc.Language)
	}
	if f, ok := c.forms[name]; ok {
		return f(name, arg, sc)
	}
	return nil, servererr.New(mongoerr.InvalidPipelineOperator, "Unrecognized expression '%s'", name)
}

// HasOperator reports whether the language has the operator.
func (l Language) HasOperator(name string) bool {
	c := Compiler{}
	_, isFunction := functions[name]
	_, isNamed := namedFunctions[name]
	_, isForm := c.specialForms(l)[name]
	return isFunction || isNamed || isForm
}

// Literal is a constant value.
type Literal value.Value

// Eval returns the value.
func (l Literal) Eval(*Evaluation) (value.Value, error) { return value.Value(l), nil }

// Array is an array expression.
type Array []Expression

// Eval evaluates the elements; missing values become null.
func (a Array) Eval(c *Evaluation) (value.Value, error) {
	vs := make([]value.Value, len(a))
	size := 0
	for i, e := range a {
		v, err := e.Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		vs[i] = v
		size += len(v.Value)
		if err := checkSize(size); err != nil {
			return value.Value{}, err
		}
	}
	return document.Array(vs), c.Meter.ChargeBytes(size)
}

// EvalAll evaluates a list of expressions.
func EvalAll(list []Expression, c *Evaluation) ([]value.Value, error) {
	vs := make([]value.Value, len(list))
	for i, e := range list {
		if e == nil {
			vs[i] = value.OmittedArgument
			continue
		}
		v, err := e.Eval(c)
		if err != nil {
			return nil, err
		}
		vs[i] = v
	}
	return vs, c.Meter.Charge(1)
}

type namedExpression struct {
	Name string
	Expr Expression
}

// Object is an object expression.
type Object []namedExpression

// Eval evaluates the fields; fields with a missing value are omitted.
func (o Object) Eval(c *Evaluation) (value.Value, error) {
	b, start := document.Open(nil)
	for _, f := range o {
		v, err := f.Expr.Eval(c)
		if err != nil {
			return value.Value{}, err
		}
		b = document.Append(b, f.Name, v)
		if err := checkSize(len(b)); err != nil {
			return value.Value{}, err
		}
	}
	return value.Object(document.Close(b, start)), c.Meter.ChargeBytes(len(b))
}
