package script

import (
	"regexp"
	"slices"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"
)

// spotsByPosition maps the positions in the engine's errors to the expressions that may have caused
// them.
type spotsByPosition map[file.Position][]failureSpot

// failureSpot is an expression that may fail.
type failureSpot struct {
	node     ast.Expression
	assigned bool          // the expression is the left side of an assignment
	position file.Position // the position that V8 reports
}

// indexSpots indexes the expressions of a program that may fail.
func indexSpots(tree *ast.Program) spotsByPosition {
	list := spotsByPosition{}
	position := func(idx file.Idx) file.Position {
		return originalPosition(tree.File, tree.File.Position(int(idx)-tree.File.Base()))
	}
	assigned := map[ast.Expression]bool{}
	add := func(node ast.Expression, at file.Idx, keys ...file.Idx) {
		slices.Sort(keys)
		for _, key := range slices.Compact(keys) {
			p := position(key)
			list[p] = append(list[p], failureSpot{node: node, assigned: assigned[node], position: position(at)})
		}
	}
	walk(tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.AssignExpression:
			assigned[n.Left] = true
		case *ast.CallExpression:
			add(n, memberIdx(n.Callee), n.LeftParenthesis)
		case *ast.NewExpression:
			add(n, n.New, n.New)
		case *ast.DotExpression:
			add(n, n.Identifier.Idx, n.Identifier.Idx, n.Idx0(), lastIdx(n.Left))
		case *ast.BracketExpression:
			add(n, n.LeftBracket, n.LeftBracket, n.Idx0())
		case *ast.BinaryExpression:
			if n.Operator == token.IN || n.Operator == token.INSTANCEOF {
				add(n, n.Idx0(), n.Idx0())
			}
		}
	})
	return list
}

// lastIdx returns the last position that the engine records while it compiles an expression. Calls of a
// member of null have no other position.
func lastIdx(x ast.Expression) file.Idx {
	switch x := x.(type) {
	case *ast.DotExpression:
		return x.Identifier.Idx
	case *ast.CallExpression:
		return x.LeftParenthesis
	case *ast.BracketExpression:
		return x.LeftBracket
	}
	return x.Idx0()
}

// memberIdx returns the position that V8 reports for a failed call: the name of the method.
func memberIdx(callee ast.Expression) file.Idx {
	switch callee := callee.(type) {
	case *ast.DotExpression:
		return callee.Identifier.Idx
	case *ast.PrivateDotExpression:
		return callee.Identifier.Idx
	case *ast.Optional:
		return memberIdx(callee.Expression)
	case *ast.OptionalChain:
		return memberIdx(callee.Expression)
	}
	return callee.Idx0()
}

// clarifyGlobal is the hidden global that catch clauses call.
const clarifyGlobal = "__clarify"

// clarifyCatches makes every catch clause clarify the caught error first.
func clarifyCatches(tree *ast.Program) {
	if !strings.Contains(tree.File.Source(), "catch") {
		return
	}
	walk(tree, func(n ast.Node) {
		c, ok := n.(*ast.CatchStatement)
		if !ok {
			return
		}
		caught, ok := c.Parameter.(*ast.Identifier)
		if !ok {
			return
		}
		at := caught.Idx
		c.Body.List = append([]ast.Statement{&ast.ExpressionStatement{Expression: &ast.CallExpression{
			Callee:           identifier(clarifyGlobal, at),
			LeftParenthesis:  at,
			RightParenthesis: at,
			ArgumentList:     []ast.Expression{caught},
		}}}, c.Body.List...)
	})
}

// notCallable is the engine's message for calls of DynamicObjects: ids, and documents that were not
// read yet.
const notCallable = "Dynamic object is not callable"

// engineMessagePrefixes are the prefixes of the engine's messages that clarify can improve.
var engineMessagePrefixes = []string{
	"Cannot read property '", "Object has no member '", "Value is not an object: ", "Not a function: ", notCallable,
	"Cannot convert undefined or null to object",
	"SyntaxError: <eval>: Line ",
}

// messageClarifier replaces the engine's messages by those of V8.
type messageClarifier struct {
	rt    *goja.Runtime
	texts sources
	// rewordMessage returns the shell's own words for a message, or an empty string. It may be nil.
	rewordMessage func(message string) string
	// suggestMethod suggests a method for a misspelled name. It may be nil.
	suggestMethod func(on, method string) string
}

func (d *ErrorDescriber) newClarifier() messageClarifier {
	return messageClarifier{
		rt:            d.rt,
		texts:         d.sources,
		rewordMessage: d.options.RewordMessage,
		suggestMethod: d.options.SuggestMethod,
	}
}

// clarify replaces the engine's message in an error by V8's message, if the program's text determines
// it.
func (c messageClarifier) clarify(e *goja.Object) {
	if !IsError(e) {
		return
	}
	_ = c.rt.Try(func() {
		message := OptionalText(e.Get("message"))
		for _, words := range engineMessagePrefixes {
			if strings.HasPrefix(message, words) {
				c.reword(e, message)
				return
			}
		}
	})
}

func (c messageClarifier) reword(e *goja.Object, message string) {
	stack := OptionalText(e.Get("stack"))
	head, frames, ok := strings.Cut(stack, "\n")
	if !ok {
		return
	}
	better := ""
	if c.rewordMessage != nil {
		better = c.rewordMessage(message)
	}
	if better == "" {
		better = c.v8Message(message, frames)
	}
	if better == "" || e.Set("message", better) != nil {
		return
	}
	if rest, ok := strings.CutSuffix(head, message); ok {
		_ = e.Set("stack", rest+better+"\n"+frames)
	}
}

// v8Message returns V8's message; empty if it cannot be determined. frames holds the lines of a stack.
func (c messageClarifier) v8Message(message, frames string) string {
	if strings.HasPrefix(message, "SyntaxError: <eval>: Line ") {
		text := regexp.MustCompile(`^SyntaxError: <eval>: Line \d+:\d+ (.*?)( \(and \d+ more ` +
			`errors\))?$`).FindStringSubmatch(message)
		if text == nil {
			return ""
		}
		return text[1]
	}
	first, _, _ := strings.Cut(frames, "\n")
	m := stackLine.FindStringSubmatch(first)
	if m == nil {
		return c.notFunctionMessage(message, first)
	}
	for _, sp := range c.texts.spotsAt(stackPosition(m)) {
		if text := c.spotMessage(message, sp); text != "" {
			return text
		}
	}
	if name, rest, ok := cutQuoted(message, "Cannot read property '"); ok && rest == " of undefined or null" {
		return "Cannot read properties of undefined or null (reading '" + name + "')"
	}
	return ""
}

// callbackFrame matches the stack frame of an array function that takes a callback.
const callbackFrame = `at (map|filter|forEach|some|every|find|findIndex|findLast|reduce|reduceRight|flatMap) ` +
	`\(native\)`

// notFunctionMessage returns the message for a callback argument that is not a function.
func (c messageClarifier) notFunctionMessage(message, frame string) string {
	value, ok := strings.CutPrefix(message, "Value is not an object: ")
	if !ok || !regexp.MustCompile(callbackFrame).MatchString(frame) {
		return ""
	}
	return value + " is not a function"
}

// cutQuoted cuts a quoted name out of a message.
func cutQuoted(message, before string) (name, after string, ok bool) {
	rest, ok := strings.CutPrefix(message, before)
	if !ok {
		return "", "", false
	}
	i := strings.LastIndexByte(rest, '\'')
	if i < 0 {
		return "", "", false
	}
	return rest[:i], rest[i+1:], true
}

func (c messageClarifier) spotMessage(message string, sp failureSpot) string {
	switch node := sp.node.(type) {
	case *ast.CallExpression:
		if text := notCallableMessage(message, node.Callee, "function"); text != "" {
			return text + c.suggestion(node.Callee)
		}
		return ""
	case *ast.NewExpression:
		return notCallableMessage(message, node.Callee, "constructor")
	case *ast.DotExpression:
		return c.nullishMemberMessage(message, node.Left, node.Identifier.Name.String(), sp.assigned)
	case *ast.BracketExpression:
		return c.nullishMemberMessage(message, node.Left, "", sp.assigned)
	case *ast.BinaryExpression:
		value, ok := strings.CutPrefix(message, "Value is not an object: ")
		if ok && node.Operator == token.INSTANCEOF {
			return "Right-hand side of 'instanceof' is not an object"
		}
		if key, isText := node.Left.(*ast.StringLiteral); ok && isText {
			return "Cannot use 'in' operator to search for '" + key.Value.String() + "' in " + value
		}
	}
	return ""
}

// notCallableMessage returns the message for a call of a value that is not a function.
func notCallableMessage(message string, callee ast.Expression, what string) string {
	if name, _, ok := cutQuoted(message, "Object has no member '"); ok {
		if dot, isDot := withoutOptional(callee).(*ast.DotExpression); isDot && dot.Identifier.Name.String() != name {
			return ""
		}
		return expressionText(callee) + " is not a " + what
	}
	if strings.HasPrefix(message, "Value is not an object: ") || strings.HasPrefix(message, "Not a function: ") ||
		message == notCallable {
		return expressionText(callee) + " is not a " + what
	}
	return ""
}

// nullishMemberMessage returns the message for a member access on null or undefined. An empty property
// stands for a computed one.
func (c messageClarifier) nullishMemberMessage(
	message string,
	of ast.Expression,
	property string,
	assigned bool,
) string {
	if name, _, ok := cutQuoted(message, "Cannot read property '"); ok && (property == "" || property == name) {
		return "Cannot read properties of " + c.nullishText(of) + " (reading '" + name + "')"
	}
	if message == "Cannot convert undefined or null to object" && assigned && property != "" {
		return "Cannot set properties of " + c.nullishText(of) + " (setting '" + property + "')"
	}
	return ""
}

// nullishText returns "null" or "undefined" for the value of an expression, as far as it is certain:
// the engine does not report it.
func (c messageClarifier) nullishText(x ast.Expression) string {
	const unknown = "undefined or null"
	switch x := withoutOptional(x).(type) {
	case *ast.NullLiteral:
		return "null"
	case *ast.Identifier:
		if x.Name == "undefined" {
			return "undefined"
		}
		switch v := c.rt.GlobalObject().Get(x.Name.String()); {
		case v == nil:
		case goja.IsNull(v):
			return "null"
		case goja.IsUndefined(v):
			return "undefined"
		}
	case *ast.CallExpression:
		if dot, ok := x.Callee.(*ast.DotExpression); ok && strings.HasPrefix(dot.Identifier.Name.String(), "findOne") {
			return "null"
		}
	case *ast.DotExpression, *ast.BracketExpression:
		if v := c.readNullish(x); v != nil {
			if goja.IsNull(v) {
				return "null"
			}
			return "undefined"
		}
	}
	return unknown
}

// readNullish evaluates members of global variables again, if that runs no code and yields null or
// undefined; nil otherwise.
func (c messageClarifier) readNullish(x ast.Expression) goja.Value {
	v := c.readMember(x)
	if v == nil || !goja.IsNull(v) && !goja.IsUndefined(v) {
		return nil
	}
	return v
}

func (c messageClarifier) readMember(x ast.Expression) goja.Value {
	var left ast.Expression
	var name string
	switch x := withoutOptional(x).(type) {
	case *ast.Identifier:
		if x.Name == "db" { // db is an accessor
			return nil
		}
		return c.rt.GlobalObject().Get(x.Name.String())
	case *ast.DotExpression:
		left, name = x.Left, x.Identifier.Name.String()
	case *ast.BracketExpression:
		left = x.Left
		switch key := x.Member.(type) {
		case *ast.StringLiteral:
			name = key.Value.String()
		case *ast.NumberLiteral:
			name = key.Literal
		default:
			return nil
		}
	default:
		return nil
	}
	of := c.readMember(left)
	if of == nil || goja.IsNull(of) || goja.IsUndefined(of) {
		return nil
	}
	o := of.ToObject(c.rt)
	if !slices.Contains([]string{"Object", "Array", "Number", "String", "Boolean"}, o.ClassName()) {
		return nil
	}
	describe, _ := goja.AssertFunction(c.rt.GlobalObject().Get("Object").(*goja.Object).Get("getOwnPropertyDescriptor"))
	described, err := describe(goja.Undefined(), o, c.rt.ToValue(name))
	if err != nil {
		return nil
	}
	if d, ok := described.(*goja.Object); ok {
		return d.Get("value")
	}
	if proto := o.Prototype(); proto != nil && proto.Get(name) != nil {
		return nil
	}
	return goja.Undefined()
}

func withoutOptional(x ast.Expression) ast.Expression {
	switch x := x.(type) {
	case *ast.OptionalChain:
		return withoutOptional(x.Expression)
	case *ast.Optional:
		return withoutOptional(x.Expression)
	}
	return x
}
