package script

import (
	"slices"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
	"github.com/dop251/goja/unistring"
)

// shareGlobal is the hidden global that exposes variables of a block to other code.
const shareGlobal = "__share"

// wrapInOwnScope moves the program's variables and functions into a block, where the engine accesses
// them by index. It accesses globals by name, which takes twice the time. The variables stay available
// on the global object as accessors, for modules, for the text of new Function, and for this and
// globalThis.
//
// Only the last input is wrapped: accessors would be slower than plain globals for a later input. Names
// of existing globals are not moved.
func (p *program) wrapInOwnScope() *ast.Program {
	functions, unique := functionNames(p.tree.Body)
	if !unique {
		return p.tree
	}
	var shared, variables []unistring.String
	declared := map[unistring.String]bool{} // functions that the block declares
	for _, name := range functions {
		if !p.takenNames[name] {
			shared, declared[name] = append(shared, name), true
		}
	}
	for _, name := range variableNames(p.tree.DeclarationList) {
		if name == "let" { // no block may declare this name
			return p.tree
		}
		if !p.takenNames[name] && !declared[name] {
			variables = append(variables, name)
		}
	}
	if shared = append(shared, variables...); len(shared) == 0 {
		return p.tree
	}
	at := p.tree.Body[0].Idx0()
	block := &ast.BlockStatement{
		LeftBrace:  at,
		List:       []ast.Statement{declareAndShare(variables, shared, at)},
		RightBrace: at,
	}
	outside := &ast.Program{File: p.tree.File}
	for i, st := range p.tree.Body {
		f, isFunction := st.(*ast.FunctionDeclaration)
		if isDirective(st) && i == len(outside.Body) || isFunction && !declared[f.Function.Name.Name] {
			outside.Body = append(outside.Body, st)
		} else {
			block.List = append(block.List, varsToAssignments(st))
		}
	}
	outside.Body = append(outside.Body, block)
	return outside
}

// functionNames returns the names of the functions that statements declare; unique is false if they
// can't all be declared in one block.
func functionNames(body []ast.Statement) (names []unistring.String, unique bool) {
	seen := map[unistring.String]bool{}
	for _, st := range body {
		switch st := st.(type) {
		case *ast.FunctionDeclaration:
			name := st.Function.Name.Name
			if seen[name] {
				return nil, false
			}
			seen[name] = true
			names = append(names, name)
		case *ast.LabelledStatement:
			if _, isFunction := st.Statement.(*ast.FunctionDeclaration); isFunction {
				return nil, false
			}
		}
	}
	return names, true
}

// variableNames returns the names that declarations declare, each once.
func variableNames(list []*ast.VariableDeclaration) (names []unistring.String) {
	seen := map[unistring.String]bool{}
	for _, d := range list {
		for _, b := range d.List {
			eachName(b.Target, func(name unistring.String) {
				if !seen[name] {
					seen[name] = true
					names = append(names, name)
				}
			})
		}
	}
	return names
}

// eachName calls each for the names that a declaration's target binds.
func eachName(target ast.Expression, each func(name unistring.String)) {
	switch target := target.(type) {
	case *ast.Identifier:
		each(target.Name)
	case *ast.AssignExpression: // with a default value
		eachName(target.Left, each)
	case *ast.ArrayPattern:
		for _, x := range target.Elements {
			eachName(x, each)
		}
		eachName(target.Rest, each)
	case *ast.ObjectPattern:
		for _, property := range target.Properties {
			switch property := property.(type) {
			case *ast.PropertyShort:
				each(property.Name.Name)
			case *ast.PropertyKeyed:
				eachName(property.Value, each)
			}
		}
		eachName(target.Rest, each)
	}
}

// unusedVariable is the name of variables whose value is not used.
const unusedVariable = "__unused"

// declareAndShare returns a statement that declares variables, and shares them and functions: let a, b,
// __unused = __share("a", () => a, v => a = v, …).
func declareAndShare(variables, shared []unistring.String, at file.Idx) ast.Statement {
	list := make([]*ast.Binding, 0, len(variables)+1)
	for _, name := range variables {
		list = append(list, &ast.Binding{Target: &ast.Identifier{Name: name, Idx: at}})
	}
	args := make([]ast.Expression, 0, 3*len(shared))
	for _, name := range shared {
		variable, value := &ast.Identifier{Name: name, Idx: at}, identifier("value", at)
		if name == "value" {
			value = identifier("v", at)
		}
		args = append(args, &ast.StringLiteral{Idx: at, Literal: name.String(), Value: name}, arrowFunction(at, variable),
			arrowFunction(at, &ast.AssignExpression{Operator: token.ASSIGN, Left: variable, Right: value}, value))
	}
	list = append(list,
		&ast.Binding{Target: identifier(unusedVariable, at), Initializer: hiddenCall(shareGlobal, at, args...)})
	return &ast.LexicalDeclaration{Idx: at, Token: token.LET, List: list}
}

// arrowFunction returns an arrow function with parameters that returns an expression.
func arrowFunction(at file.Idx, x ast.Expression, parameters ...*ast.Identifier) ast.Expression {
	list := &ast.ParameterList{Opening: at, Closing: at}
	for _, name := range parameters {
		list.List = append(list.List, &ast.Binding{Target: name})
	}
	return &ast.ArrowFunctionLiteral{Start: at, ParameterList: list, Body: &ast.ExpressionBody{Expression: x}}
}

// varsToAssignments replaces var declarations by assignments in a statement, except inside functions,
// because the variables are declared elsewhere.
func varsToAssignments(st ast.Statement) ast.Statement {
	switch st := st.(type) {
	case *ast.VariableStatement:
		return silentAssignment(st)
	case *ast.BlockStatement:
		allVarsToAssignments(st.List)
	case *ast.IfStatement:
		st.Consequent, st.Alternate = varsToAssignments(st.Consequent), varsToAssignments(st.Alternate)
	case *ast.ForStatement:
		if vars, ok := st.Initializer.(*ast.ForLoopInitializerVarDeclList); ok {
			st.Initializer = nil
			if x := assignmentOf(vars.List); x != nil {
				st.Initializer = &ast.ForLoopInitializerExpression{Expression: x}
			}
		}
		st.Body = varsToAssignments(st.Body)
	case *ast.ForInStatement:
		st.Into, st.Body = forIntoAssignment(st.Into), varsToAssignments(st.Body)
	case *ast.ForOfStatement:
		st.Into, st.Body = forIntoAssignment(st.Into), varsToAssignments(st.Body)
	case *ast.WhileStatement:
		st.Body = varsToAssignments(st.Body)
	case *ast.DoWhileStatement:
		st.Body = varsToAssignments(st.Body)
	case *ast.LabelledStatement:
		st.Statement = varsToAssignments(st.Statement)
	case *ast.WithStatement:
		st.Body = varsToAssignments(st.Body)
	case *ast.SwitchStatement:
		for _, c := range st.Body {
			allVarsToAssignments(c.Consequent)
		}
	case *ast.TryStatement:
		for _, block := range []*ast.BlockStatement{st.Body, st.Finally} {
			if block != nil {
				allVarsToAssignments(block.List)
			}
		}
		if st.Catch != nil {
			allVarsToAssignments(st.Catch.Body.List)
		}
	}
	return st
}

func allVarsToAssignments(list []ast.Statement) {
	for i, st := range list {
		list[i] = varsToAssignments(st)
	}
}

func forIntoAssignment(into ast.ForInto) ast.ForInto {
	if v, ok := into.(*ast.ForIntoVar); ok && v.Binding.Initializer == nil {
		return &ast.ForIntoExpression{Expression: v.Binding.Target}
	}
	return into
}

// assignmentOf returns an expression that assigns the initial values of variables; nil if they have
// none.
func assignmentOf(list []*ast.Binding) ast.Expression {
	var all []ast.Expression
	for _, b := range list {
		if b.Initializer != nil {
			all = append(all, &ast.AssignExpression{Operator: token.ASSIGN, Left: b.Target, Right: b.Initializer})
		}
	}
	switch len(all) {
	case 0:
		return nil
	case 1:
		return all[0]
	}
	return &ast.SequenceExpression{Sequence: all}
}

// silentAssignment returns a statement that assigns the initial values of variables. Unlike a
// declaration, an expression would be a completion value of the program; the statement is therefore {
// let __unused = (a = 1) }.
func silentAssignment(st *ast.VariableStatement) ast.Statement {
	x := assignmentOf(st.List)
	if x == nil {
		return &ast.EmptyStatement{Semicolon: st.Var}
	}
	return &ast.BlockStatement{LeftBrace: st.Var, RightBrace: st.Var, List: []ast.Statement{&ast.LexicalDeclaration{
		Idx: st.Var, Token: token.LET, List: []*ast.Binding{{Target: identifier(unusedVariable, st.Var), Initializer: x}},
	}}}
}

// defineSharing defines the function that shares variables as globals. Its arguments are a name, a
// getter and a setter for each variable.
func defineSharing(rt *goja.Runtime) {
	global := rt.GlobalObject()
	Define(global, shareGlobal, rt.ToValue(func(call goja.FunctionCall) goja.Value {
		for v := range slices.Chunk(call.Arguments, 3) {
			Must(global.DefineAccessorProperty(v[0].String(), v[1], v[2], goja.FLAG_FALSE, goja.FLAG_TRUE))
		}
		return goja.Undefined()
	}))
}
