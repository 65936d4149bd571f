package script

import (
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// eval and function constructors parse programs inside the engine, where they would not be checked. The
// text of eval calls is therefore passed through evalSourceGlobal, and other uses of eval are replaced
// by evalGlobal.
const (
	evalName         = "eval"
	evalGlobal       = "__eval"
	evalSourceGlobal = "__source"
)

// globalNames are the names of the global object, which also has eval.
var globalNames = []string{"globalThis", "global", "window", "self"}

// evalUse is a place in a program that names eval.
type evalUse struct {
	call *ast.CallExpression // nil unless eval is called directly
	name *ast.Identifier
}

// evalUses returns the uses of eval in source order.
func evalUses(tree *ast.Program) []evalUse {
	var uses []evalUse
	called := map[*ast.Identifier]bool{}
	walk(tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpression:
			if name, ok := n.Callee.(*ast.Identifier); ok && name.Name == evalName {
				called[name] = true
				uses = append(uses, evalUse{call: n, name: name})
			}
		case *ast.DotExpression:
			base, ok := n.Left.(*ast.Identifier)
			if ok && n.Identifier.Name == evalName && slices.Contains(globalNames, base.Name.String()) {
				uses = append(uses, evalUse{name: &n.Identifier})
			}
		}
	})
	walkNames(tree, func(name *ast.Identifier) {
		if name.Name == evalName && !called[name] {
			uses = append(uses, evalUse{name: name})
		}
	})
	slices.SortFunc(uses, func(a, b evalUse) int { return int(a.name.Idx) - int(b.name.Idx) })
	return uses
}

// walkNames visits the expressions that are a name, but neither declarations nor members.
func walkNames(tree *ast.Program, visit func(*ast.Identifier)) {
	rewrite(tree, func(x ast.Expression) ast.Expression {
		if name, ok := x.(*ast.Identifier); ok {
			visit(name)
		}
		return x
	})
}

// guardEvals makes a program check the source texts that it evaluates.
func guardEvals(tree *ast.Program) {
	for _, use := range evalUses(tree) {
		switch {
		case use.call == nil:
			use.name.Name = evalGlobal
		case len(use.call.ArgumentList) > 0:
			use.call.ArgumentList = []ast.Expression{hiddenCall(evalSourceGlobal, use.call.LeftParenthesis,
				use.call.ArgumentList...)}
		}
	}
}

// checkedSource checks a text that is about to run: it must not be nested too deep. It returns the text
// with checks of the texts that it evaluates itself.
func (l limits) checkedSource(text string) string {
	l.checkNesting(text)
	if !strings.Contains(text, evalName) {
		return text
	}
	tree, err := parseScript("", text)
	if err != nil {
		return text // running it reports the syntax error
	}
	return rewriteEvals(text, tree, 0)
}

// rewriteEvals works like guardEvals, for a source text; shift is how far the tree's positions are
// shifted right.
func rewriteEvals(text string, tree *ast.Program, shift int) string {
	var b strings.Builder
	done := 0
	upTo := func(idx file.Idx) {
		at := min(max(done, int(idx)-tree.File.Base()-shift), len(text))
		b.WriteString(text[done:at])
		done = at
	}
	type insertion struct {
		at   file.Idx
		text string
	}
	var list []insertion
	for _, use := range evalUses(tree) {
		if use.call == nil {
			list = append(list, insertion{use.name.Idx, strings.TrimSuffix(evalGlobal, evalName)})
			continue
		}
		list = append(list, insertion{use.call.LeftParenthesis + 1, evalSourceGlobal + "("},
			insertion{use.call.RightParenthesis, ")"})
	}
	slices.SortStableFunc(list, func(a, b insertion) int { return int(a.at) - int(b.at) })
	for _, i := range list {
		upTo(i.at)
		b.WriteString(i.text)
	}
	b.WriteString(text[done:])
	return b.String()
}

// checkNesting throws for a text that is nested too deep for a parser.
func (l limits) checkNesting(text string) {
	if nestsTooDeep(text) {
		l.throwRange(nestingMessage)
	}
}

// defineEvals defines the checks of eval and of function constructors.
func (l limits) defineEvals() {
	global := l.Runtime.GlobalObject()
	source := func(v goja.Value) goja.Value {
		if !goja.IsString(v) {
			return v
		}
		return l.Runtime.ToValue(l.checkedSource(v.String()))
	}
	l.guardFunction(global, evalName, func(call *goja.FunctionCall) {
		if len(call.Arguments) > 0 {
			call.Arguments[0] = source(call.Arguments[0])
		}
	}, evalGlobal)
	Define(global, evalSourceGlobal, l.NewFunction(evalSourceGlobal, func(c *Call) goja.Value { return source(c.Arg(0)) }))
	global.Get("Function")
	for _, sample := range []string{"(function () {})", "(function* () {})", "(async function () {})"} {
		f, err := l.Runtime.RunString(sample)
		if err != nil {
			continue
		}
		proto := f.(*goja.Object).Prototype()
		class, ok := proto.Get("constructor").(*goja.Object)
		if !ok {
			continue
		}
		guarded := l.guardedConstructor(class, l.checkFunctionText)
		if global.Get("Function").SameAs(class) {
			Define(global, "Function", guarded)
		}
		Must(proto.DefineDataProperty("constructor", guarded, goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
}

// checkFunctionText checks the parameters and the body of a function that is built from strings.
func (l limits) checkFunctionText(args []goja.Value) {
	for i, v := range args {
		text := v.String()
		l.checkNesting(text)
		const head = "(async function*(){"
		if i == len(args)-1 && strings.Contains(text, evalName) {
			if tree, err := parseScript("", head+text+"\n})"); err == nil {
				text = rewriteEvals(text, tree, len(head))
			}
		}
		args[i] = l.Runtime.ToValue(text)
	}
}
