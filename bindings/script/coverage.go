package script

import (
	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// Line is where a statement begins.
type Line struct {
	File string
	Line int
}

// coverGlobal is the hidden global that each statement of an instrumented program is preceded
// by.
const coverGlobal = "__reached"

// coverage reports executed statements to Options.Cover.
type coverage struct {
	rt       *goja.Runtime
	sources  sources
	register func([]Line) (reached func(i int)) // nil for nobody
	reached  []func()                           // by the numbers of the statements that are watched
}

// instrument marks the statements of a program. Their places, and what they give, stay as they
// are.
func (c *coverage) instrument(tree *ast.Program) {
	if c.register == nil {
		return
	}
	m := &instrumenter{sources: c.sources, tree: tree, first: len(c.reached)}
	walk(tree, m.visit)
	tree.Body = m.withMarkers(tree.Body, true)
	reached := c.register(m.lines)
	for i := range m.lines {
		c.reached = append(c.reached, func() { reached(i) })
	}
	if m.first == 0 {
		Define(c.rt.GlobalObject(), coverGlobal, c.rt.ToValue(func(call goja.FunctionCall) goja.Value {
			c.reached[call.Argument(0).ToInteger()]()
			return goja.Undefined()
		}))
	}
}

// instrumenter marks the statements of one program.
type instrumenter struct {
	sources sources
	tree    *ast.Program
	first   int // number of the program's first statement
	lines   []Line
}

// visit instruments the statements inside a node. Loops and conditions without braces
// get some.
func (c *instrumenter) visit(n ast.Node) {
	switch n := n.(type) {
	case *ast.BlockStatement:
		n.List = c.withMarkers(n.List, true)
	case *ast.CaseStatement:
		n.Consequent = c.withMarkers(n.Consequent, false)
	case *ast.IfStatement:
		n.Consequent, n.Alternate = c.inBraces(n.Consequent), c.inBraces(n.Alternate)
	case *ast.ForStatement:
		n.Body = c.inBraces(n.Body)
	case *ast.ForInStatement:
		n.Body = c.inBraces(n.Body)
	case *ast.ForOfStatement:
		n.Body = c.inBraces(n.Body)
	case *ast.WhileStatement:
		n.Body = c.inBraces(n.Body)
	case *ast.DoWhileStatement:
		n.Body = c.inBraces(n.Body)
	}
}

func (c *instrumenter) inBraces(st ast.Statement) ast.Statement {
	switch st.(type) {
	case nil, *ast.BlockStatement, *ast.EmptyStatement:
		return st
	}
	return &ast.BlockStatement{LeftBrace: st.Idx0(), List: []ast.Statement{st}, RightBrace: st.Idx1()}
}

// withMarkers puts a mark before each statement of a list. Directives stay its first.
func (c *instrumenter) withMarkers(list []ast.Statement, directives bool) []ast.Statement {
	out := make([]ast.Statement, 0, 2*len(list))
	for _, st := range list {
		if directives && isDirective(st) {
			out = append(out, st)
			continue
		}
		directives = false
		if mark := c.markerFor(st); mark != nil {
			out = append(out, mark)
		}
		out = append(out, st)
	}
	return out
}

func isDirective(st ast.Statement) bool {
	x, ok := st.(*ast.ExpressionStatement)
	if !ok {
		return false
	}
	_, ok = x.Expression.(*ast.StringLiteral)
	return ok
}

// markerFor returns the call to insert before a statement; nil for a generated one, or
// none that runs where it stands.
func (c *instrumenter) markerFor(st ast.Statement) ast.Statement {
	switch st.(type) {
	case *ast.FunctionDeclaration, *ast.EmptyStatement, *ast.BlockStatement:
		return nil
	}
	at := startOf(st)
	if at <= 0 {
		return nil
	}
	pos := originalPosition(c.tree.File, c.tree.File.Position(int(at)-c.tree.File.Base()))
	text, known := c.sources[pos.Filename]
	if !known || pos.Line == 0 || text.line(pos.Line) == "" {
		return nil // the transpiler's own
	}
	c.lines = append(c.lines, Line{File: pos.Filename, Line: pos.Line})
	return &ast.ExpressionStatement{Expression: hiddenCall(coverGlobal, at, c.numberLiteral(at, c.first+len(c.lines)-1))}
}

// startOf returns where a statement begins. The parser does not note that of all.
func startOf(st ast.Statement) file.Idx {
	switch st := st.(type) {
	case *ast.IfStatement:
		return st.Test.Idx0()
	case *ast.WhileStatement:
		return st.Test.Idx0()
	case *ast.DoWhileStatement:
		return st.Body.Idx0()
	case *ast.LabelledStatement:
		return st.Label.Idx
	}
	return st.Idx0()
}

func (c *instrumenter) numberLiteral(at file.Idx, n int) ast.Expression {
	return &ast.NumberLiteral{Idx: at, Literal: "0", Value: int64(n)}
}
