package script

import (
	"reflect"
	"regexp"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/unistring"
)

// mayShare matches the words without which a program shares no variables. Strings and comments may
// contain them, too.
var mayShare = regexp.MustCompile(`\b(eval|load|require|createRequire|` + importGlobal + `|global|globalThis|this)\b`)

// sharingNames are names that expose a program's variables to other code: to texts and files that run
// in its scope, or to code that reads the global object.
var sharingNames = map[unistring.String]bool{
	evalName: true, evalGlobal: true, "load": true, "require": true, "createRequire": true, importGlobal: true,
	"global": true, "globalThis": true,
}

// sharesVariables reports whether other code may use a program's variables heavily or declare them
// again, or whether the program uses the global object: then its variables have to be plain globals.
// Built-in modules do not use them.
func (p *program) sharesVariables(isBuiltin func(module string) bool) bool {
	if !mayShare.MatchString(p.tree.File.Source()) {
		return false
	}
	alone := map[*ast.Identifier]bool{}
	found := false
	walk(p.tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.CallExpression:
			name, ok := n.Callee.(*ast.Identifier)
			if ok && (name.Name == "require" || name.Name == importGlobal) && len(n.ArgumentList) == 1 {
				id, literal := n.ArgumentList[0].(*ast.StringLiteral)
				alone[name] = literal && isBuiltin(trimNodePrefix(id.Value.String()))
			}
		case *ast.Identifier:
			found = found || sharingNames[n.Name] && !alone[n]
		}
	})
	return found || usesGlobalThis(p.tree)
}

// usesGlobalThis reports whether a program uses this outside of functions and classes.
func usesGlobalThis(tree *ast.Program) (found bool) {
	w := walker{fields: map[reflect.Type][]int{}, visit: func(n ast.Node) {
		_, this := n.(*ast.ThisExpression)
		found = found || this
	}}
	w.enters = func(n ast.Node) bool {
		switch n.(type) {
		case *ast.FunctionLiteral, *ast.ClassLiteral:
			return false
		}
		return true
	}
	for _, st := range tree.Body {
		w.walkValue(reflect.ValueOf(st))
	}
	return found
}

// useOwnScope gives the last input its own scope, unless it shares its variables.
func (s *Engine) useOwnScope(p *program) {
	builtin := func(name string) bool { return s.Modules.builtinModule(name) != nil }
	if s.IsLastInput && !p.sharesVariables(builtin) {
		p.takenNames = map[unistring.String]bool{}
		for _, name := range s.Runtime.GlobalObject().GetOwnPropertyNames() {
			p.takenNames[unistring.NewFromString(name)] = true
		}
	}
	s.IsLastInput = false
}
