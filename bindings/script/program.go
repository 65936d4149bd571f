package script

import (
	"errors"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/parser"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// program is one parsed input, prepared for the shared global scope.
type program struct {
	tree *ast.Program
	// directCommandLines are the lines that are direct commands rather than JavaScript.
	directCommandLines map[int]bool
	// async says that the program returns a promise of its value.
	async  bool
	source source
	// takenNames are the names of globals, for a program with its own scope; nil for a program whose
	// variables are globals.
	takenNames map[unistring.String]bool
}

// parseProgram parses one input. Direct commands on separate lines become calls. A program that is only
// valid inside a function is wrapped in one (top-level await and return, rules/04-values-and-language
// §4.1). Program-level let, const and class become var, so that a later input can declare them again.
//
// Syntax that the engine does not support — TypeScript, import, for await — is translated first
// (rules/04-values-and-language §4.3).
func parseProgram(name, text string) (*program, error) {
	if nestsTooDeep(text) {
		return nil, errNesting(name)
	}
	if isTypeScript(name) {
		return transpiledProgram(name, text)
	}
	p, err := parsePlain(name, text)
	var usage *usageError
	switch {
	case err != nil && !errors.As(err, &usage) && mayNeedTranspiling(text), err == nil && hasUncompilableSyntax(text):
		return transpiledProgram(name, text)
	}
	return p, err
}

func parsePlain(name, text string) (*program, error) {
	p := &program{source: source{text: text}}
	tree, err := parseScript(name, text)
	if err != nil {
		tree, err = p.parseCommands(name, text, err)
	}
	if err != nil {
		if wrapped, ok := p.parseWrapped(name, text); ok {
			tree, err = wrapped, nil
		}
	}
	if err != nil {
		return nil, err
	}
	p.tree, p.source.tree = tree, tree
	prepareTree(tree)
	makeRedeclarable(tree)
	return p, nil
}

func parseScript(name, text string) (*ast.Program, error) {
	return parser.ParseFile(nil, name, text, 0, parser.WithDisableSourceMaps)
}

// Wrappers that preserve line numbers; only the columns of the first line are shifted.
const (
	awaitPrefix  = "(async()=>{"
	returnPrefix = "(()=>{"
	wrapSuffix   = "\n})()"
)

// parseWrapped parses a program that is only valid inside a function, because it has await or return at
// its top level.
func (p *program) parseWrapped(name, text string) (*ast.Program, bool) {
	body := text
	if strings.HasPrefix(body, "#!") {
		body = "//" + body[2:]
	}
	switch {
	case strings.Contains(body, "await"):
		tree, err := parseScript(name, awaitPrefix+body+wrapSuffix)
		if err != nil {
			return nil, false
		}
		p.async = true
		p.source.wrapperColumns = len(awaitPrefix)
		hoistToProgram(tree, func(string) bool { return true })
		return tree, true
	case strings.Contains(body, "return"):
		tree, err := parseScript(name, returnPrefix+body+wrapSuffix)
		if err != nil {
			return nil, false
		}
		p.source.wrapperColumns = len(returnPrefix)
		return tree, true
	}
	return nil, false
}

// makeRedeclarable turns program-level let, const and class into var, so that they can be repeated.
// Positions are preserved.
func makeRedeclarable(tree *ast.Program) {
	for i, st := range tree.Body {
		switch st := st.(type) {
		case *ast.LexicalDeclaration:
			tree.Body[i] = asVar(tree, st.Idx, st.List)
		case *ast.ClassDeclaration:
			tree.Body[i] = asVar(tree, st.Class.Class, []*ast.Binding{{Target: st.Class.Name, Initializer: st.Class}})
		}
	}
}

func asVar(tree *ast.Program, at file.Idx, list []*ast.Binding) *ast.VariableStatement {
	for _, b := range list {
		if b.Initializer == nil { // "let x" resets an existing x, "var x" would not
			b.Initializer = undefinedAt(b.Target.Idx0())
		}
	}
	tree.DeclarationList = append(tree.DeclarationList, &ast.VariableDeclaration{Var: at, List: list})
	return &ast.VariableStatement{Var: at, List: list}
}

func undefinedAt(at file.Idx) ast.Expression {
	return &ast.UnaryExpression{Operator: token.VOID, Idx: at, Operand: &ast.NumberLiteral{Idx: at, Literal: "0",
		Value: int64(0)}}
}

// hoistToProgram moves the declarations of a wrapped program out of the wrapping function, so that they
// are globals, and returns the value of its last expression. Generated names stay inside.
func hoistToProgram(tree *ast.Program, isUserName func(name string) bool) {
	arrow := tree.Body[0].(*ast.ExpressionStatement).Expression.(*ast.CallExpression).Callee.(*ast.ArrowFunctionLiteral)
	block := arrow.Body.(*ast.BlockStatement)
	inner := &ast.Program{Body: block.List, DeclarationList: arrow.DeclarationList}
	makeRedeclarable(inner)
	arrow.DeclarationList = nil
	for _, d := range inner.DeclarationList {
		if name, ok := d.List[0].Target.(*ast.Identifier); ok && !isUserName(name.Name.String()) {
			arrow.DeclarationList = append(arrow.DeclarationList, d)
		} else {
			tree.DeclarationList = append(tree.DeclarationList, d)
		}
	}

	var functions, rest []ast.Statement
	for _, st := range inner.Body {
		switch st := st.(type) {
		case *ast.FunctionDeclaration:
			functions = append(functions, functionAssignment(st))
			tree.DeclarationList = append(tree.DeclarationList, &ast.VariableDeclaration{
				Var: st.Function.Function, List: []*ast.Binding{{Target: st.Function.Name}},
			})
		case *ast.VariableStatement:
			rest = append(rest, assignments(st)...)
		default:
			rest = append(rest, st)
		}
	}
	if n := len(inner.Body); n > 0 {
		if last, ok := inner.Body[n-1].(*ast.ExpressionStatement); ok {
			rest[len(rest)-1] = &ast.ReturnStatement{Return: last.Idx0(), Argument: last.Expression}
		}
	}
	block.List = append(functions, rest...)
}

func functionAssignment(st *ast.FunctionDeclaration) ast.Statement {
	return &ast.ExpressionStatement{Expression: &ast.AssignExpression{Operator: token.ASSIGN, Left: st.Function.Name,
		Right: st.Function}}
}

func assignments(st *ast.VariableStatement) []ast.Statement {
	var list []ast.Statement
	for _, b := range st.List {
		if b.Initializer == nil {
			continue
		}
		list = append(list, &ast.ExpressionStatement{
			Expression: &ast.AssignExpression{Operator: token.ASSIGN, Left: b.Target, Right: b.Initializer},
		})
	}
	return list
}

// compile compiles the whole program. If the program ends in a declaration of a function or class, that
// function or class is its value, unlike in JavaScript (rules/04-values-and-language §4.1).
func (p *program) compile() (*goja.Program, error) {
	if name := lastDeclaredName(p.tree.Body); name != nil && !p.async {
		p.tree.Body = append(p.tree.Body, &ast.ExpressionStatement{Expression: name})
	}
	compiled, err := goja.CompileAST(p.tree, false)
	if err != nil || p.takenNames == nil {
		return compiled, err
	}
	if own, err := goja.CompileAST(p.wrapInOwnScope(), false); err == nil {
		return own, nil
	}
	return compiled, nil
}

func lastDeclaredName(body []ast.Statement) *ast.Identifier {
	if len(body) == 0 {
		return nil
	}
	switch st := body[len(body)-1].(type) {
	case *ast.FunctionDeclaration:
		return st.Function.Name
	case *ast.VariableStatement:
		if len(st.List) != 1 {
			return nil
		}
		name, _ := st.List[0].Target.(*ast.Identifier)
		class, ok := st.List[0].Initializer.(*ast.ClassLiteral)
		if ok && name != nil && class.Name != nil && class.Name.Name == name.Name && class.Name.Idx == name.Idx {
			return name
		}
	}
	return nil
}

// statementPrograms splits the program into its statements, for runs that show the value of each
// (rules/04-command-line-and-prompt §1.9). The first part has all declarations.
func (p *program) statementPrograms() []*ast.Program {
	head := &ast.Program{File: p.tree.File, DeclarationList: p.tree.DeclarationList}
	list := []*ast.Program{head}
	for _, st := range p.tree.Body {
		if _, ok := st.(*ast.FunctionDeclaration); ok {
			head.Body = append(head.Body, st)
			continue
		}
		list = append(list, &ast.Program{File: p.tree.File, Body: []ast.Statement{st}})
	}
	return list
}

func (p *program) lineOf(n ast.Node) int {
	return p.tree.File.Position(int(n.Idx0()) - p.tree.File.Base()).Line
}

// Incomplete reports whether a program is incomplete, so that a REPL should read another line
// (rules/04-command-line-and-prompt §2.3): the parser reached the end and expected more.
func Incomplete(text string) bool {
	if nestsTooDeep(text) { // running it reports the error
		return false
	}
	_, err := parseScript("", text)
	if err == nil {
		return false
	}
	if mayNeedTranspiling(text) {
		if _, err := transpile("", text); err == nil {
			return false
		} else if transpileFailsAtEnd(err) {
			return true
		}
	}
	if failsAtEnd(err, text) {
		p := &program{}
		_, ok := p.parseWrapped("", text)
		return !ok
	}
	if !strings.Contains(text, "await") {
		return false
	}
	if _, err := parseScript("", awaitPrefix+text+wrapSuffix); err == nil {
		return false
	}
	_, err = parseScript("", awaitPrefix+text)
	return err != nil && failsAtEnd(err, awaitPrefix+text)
}

func failsAtEnd(err error, text string) bool {
	first, ok := firstError(err)
	if !ok || first.Message != "Unexpected end of input" {
		return false
	}
	end := file.NewFile("", text, 1).Position(len(text))
	return first.Position.Line == end.Line && first.Position.Column >= end.Column
}

func firstError(err error) (*parser.Error, bool) {
	if list, ok := errors.AsType[parser.ErrorList](err); ok && len(list) > 0 {
		return list[0], true
	}
	if one, ok := errors.AsType[*parser.Error](err); ok {
		return one, true
	}
	return nil, false
}

func identifier(name string, at file.Idx) *ast.Identifier {
	return &ast.Identifier{Name: unistring.NewFromString(name), Idx: at}
}
