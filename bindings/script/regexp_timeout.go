package script

import (
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// MatchTimeout is the time limit for one match of a regular expression. Patterns with alternatives
// inside repetitions may need exponential time, and nothing else interrupts them.
const MatchTimeout = 3 * time.Second

// maxMatchStack limits the backtracking steps of a match. The library's own limit is exceeded by
// strings of some 10,000 characters, for which it would then find no match.
const maxMatchStack = 1 << 27

// SetMatchTimeout sets the time limit of every regular expression that is compiled afterwards. Call it at
// the start of the process: the limit applies to the whole process.
func SetMatchTimeout(limit time.Duration) {
	regexp2.DefaultMatchTimeout = limit
	regexp2.DefaultOptimizationOptions.MaxBacktrackingStackSize = maxMatchStack
}

// The hidden globals around a call of exec. The engine does not distinguish a match that timed out from
// no match, and a guarded exec would make all other functions of regular expressions slow.
const (
	execSubjectGlobal = "__subject"
	execResultGlobal  = "__matched"
)

// guardExecs adds a time check to calls of exec on values that are certainly regular expressions.
func guardExecs(tree *ast.Program) {
	patterns := map[string]bool{}
	noted := func(target, value ast.Expression) {
		if name, ok := target.(*ast.Identifier); ok && isRegExp(value) {
			patterns[name.Name.String()] = true
		}
	}
	walk(tree, func(n ast.Node) {
		switch n := n.(type) {
		case *ast.Binding:
			if n.Initializer != nil {
				noted(n.Target, n.Initializer)
			}
		case *ast.AssignExpression:
			noted(n.Left, n.Right)
		}
	})
	rewrite(tree, func(x ast.Expression) ast.Expression {
		call, ok := x.(*ast.CallExpression)
		if !ok || len(call.ArgumentList) != 1 {
			return x
		}
		member, ok := call.Callee.(*ast.DotExpression)
		if !ok || member.Identifier.Name != "exec" {
			return x
		}
		name, named := member.Left.(*ast.Identifier)
		if !isRegExp(member.Left) && (!named || !patterns[name.Name.String()]) {
			return x
		}
		at := call.LeftParenthesis
		call.ArgumentList[0] = hiddenCall(execSubjectGlobal, at, call.ArgumentList[0])
		return hiddenCall(execResultGlobal, at, call)
	})
}

// isRegExp reports whether an expression creates a regular expression.
func isRegExp(x ast.Expression) bool {
	switch x := x.(type) {
	case *ast.RegExpLiteral:
		return true
	case *ast.NewExpression:
		name, ok := x.Callee.(*ast.Identifier)
		return ok && name.Name == "RegExp"
	case *ast.CallExpression:
		name, ok := x.Callee.(*ast.Identifier)
		return ok && name.Name == "RegExp"
	}
	return false
}

// guardMatching throws for matches that took too long.
func (l limits) guardMatching() {
	global := l.Runtime.GlobalObject()
	proto := global.Get("RegExp").(*goja.Object).Get("prototype").(*goja.Object)
	var started time.Time
	Define(global, execSubjectGlobal, l.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		started = time.Now()
		return call.Argument(0)
	}))
	Define(global, execResultGlobal, l.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		l.checkMatching(started, goja.IsNull(call.Argument(0)))
		return call.Argument(0)
	}))
	if test, ok := goja.AssertFunction(proto.Get("test")); ok {
		l.guardMatchMethod(proto, "test", nil, test, func(_, v goja.Value) bool { return !v.ToBoolean() })
	}
	for symbol, none := range map[*goja.Symbol]func(subject, v goja.Value) bool{
		goja.SymMatch:   func(_, v goja.Value) bool { return goja.IsNull(v) },
		goja.SymReplace: func(subject, v goja.Value) bool { return v.SameAs(subject) },
		goja.SymSearch:  func(_, v goja.Value) bool { return v.ToInteger() < 0 },
		goja.SymSplit:   func(_, v goja.Value) bool { return lengthOf(v) <= 1 },
	} {
		if method, ok := goja.AssertFunction(proto.GetSymbol(symbol)); ok {
			l.guardMatchMethod(proto, "", symbol, method, none)
		}
	}
	l.guardMatchIterator(proto)
}

// checkMatching throws if a match may have failed because it timed out.
func (l limits) checkMatching(started time.Time, nothing bool) {
	if limit := regexp2.DefaultMatchTimeout; nothing && mayHaveTimedOut(started) {
		l.throwRange("The regular expression was stopped: one match took longer than " + limit.String())
	}
}

// mayHaveTimedOut reports whether a match that began at started may have timed out. The library uses a
// clock that lags on a busy machine, and may stop too early. Therefore a match that took half of the
// limit counts as timed out: an error is better than a wrong result.
func mayHaveTimedOut(started time.Time) bool {
	return time.Since(started) >= regexp2.DefaultMatchTimeout/2
}

// guardMatchMethod replaces a method by one with a time check; none reports, from the subject and the result,
// that nothing matched.
func (l limits) guardMatchMethod(proto *goja.Object, name string, symbol *goja.Symbol, run goja.Callable,
	none func(subject, v goja.Value) bool) {
	timed := l.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		started := time.Now()
		v, err := run(call.This, call.Arguments...)
		if err != nil {
			panic(err)
		}
		l.checkMatching(started, mayHaveTimedOut(started) && none(call.Argument(0), v))
		return v
	}).(*goja.Object)
	if symbol == nil {
		l.copyNameAndLength(timed, proto.Get(name).(*goja.Object))
		Define(proto, name, timed)
		return
	}
	l.copyNameAndLength(timed, proto.GetSymbol(symbol).(*goja.Object))
	Must(proto.DefineDataPropertySymbol(symbol, timed, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// guardMatchIterator adds the time check to the iterator that matchAll returns.
func (l limits) guardMatchIterator(proto *goja.Object) {
	matchAll, ok := goja.AssertFunction(proto.GetSymbol(goja.SymMatchAll))
	sample, err := l.Runtime.New(l.Runtime.GlobalObject().Get("RegExp"), l.Runtime.ToValue("a"), l.Runtime.ToValue("g"))
	if !ok || err != nil {
		return
	}
	iterator, err := matchAll(sample, l.Runtime.ToValue(""))
	if err != nil {
		return
	}
	of := iterator.(*goja.Object).Prototype()
	if next, ok := goja.AssertFunction(of.Get("next")); ok {
		l.guardMatchMethod(of, "next", nil, next, func(_, v goja.Value) bool {
			o, ok := v.(*goja.Object)
			return ok && o.Get("done").ToBoolean()
		})
	}
}
