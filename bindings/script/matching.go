package script

import (
	"time"

	"github.com/dlclark/regexp2/v2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// MatchTimeout is how long one match of a regular expression may take. Patterns
// with alternatives inside of repetitions may try more ways than a year has
// seconds, and nothing else ends that.
const MatchTimeout = 3 * time.Second

// maxMatchStack is how many steps back a match may remember. The library's own
// limit is passed by texts of some 10,000 characters, and no match is found then.
const maxMatchStack = 1 << 27

// LimitMatching bounds the time of every regular expression that is compiled from
// then on. It is for the start of a process: the limits belong to all of it.
func LimitMatching(limit time.Duration) {
	regexp2.DefaultMatchTimeout = limit
	regexp2.DefaultOptimizationOptions.MaxBacktrackingStackSize = maxMatchStack
}

// The hidden globals that stand around a call of exec. The engine says of a match
// that took too long what it says of none, and its exec can't be guarded: that
// makes all other functions of regular expressions slow.
const (
	execSubjectGlobal = "__subject"
	execResultGlobal  = "__matched"
)

// timeExecs adds a time check to calls of exec on values that are regular expressions for
// certain.
func timeExecs(tree *ast.Program) {
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

// isRegExp reports whether an expression makes a regular expression.
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

// timeMatching throws for matches that took too long.
func (s limits) timeMatching() {
	global := s.Runtime.GlobalObject()
	proto := global.Get("RegExp").(*goja.Object).Get("prototype").(*goja.Object)
	var started time.Time
	Define(global, execSubjectGlobal, s.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		started = time.Now()
		return call.Argument(0)
	}))
	Define(global, execResultGlobal, s.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		s.checkMatching(started, goja.IsNull(call.Argument(0)))
		return call.Argument(0)
	}))
	if test, ok := goja.AssertFunction(proto.Get("test")); ok {
		s.timeMethod(proto, "test", nil, test, func(_, v goja.Value) bool { return !v.ToBoolean() })
	}
	for symbol, none := range map[*goja.Symbol]func(subject, v goja.Value) bool{
		goja.SymMatch:   func(_, v goja.Value) bool { return goja.IsNull(v) },
		goja.SymReplace: func(subject, v goja.Value) bool { return v.SameAs(subject) },
		goja.SymSearch:  func(_, v goja.Value) bool { return v.ToInteger() < 0 },
		goja.SymSplit:   func(_, v goja.Value) bool { return lengthOf(v) <= 1 },
	} {
		if method, ok := goja.AssertFunction(proto.GetSymbol(symbol)); ok {
			s.timeMethod(proto, "", symbol, method, none)
		}
	}
	s.timeIterator(proto)
}

// checkMatching throws when a match may have ended without a result because it took too long.
func (s limits) checkMatching(started time.Time, nothing bool) {
	if limit := regexp2.DefaultMatchTimeout; nothing && mayHaveTimedOut(started) {
		s.throwRange("The regular expression was stopped: one match took longer than " + limit.String())
	}
}

// mayHaveTimedOut reports whether a match that began then may have been stopped. The library reads a
// clock that lags on a busy machine, and stops too early by that much: what took half of the
// limit counts, as an error is better than a match that is not found.
func mayHaveTimedOut(started time.Time) bool {
	return time.Since(started) >= regexp2.DefaultMatchTimeout/2
}

// timeMethod puts a method in the place of one; none reports, by its subject and
// result, that nothing matched.
func (s limits) timeMethod(proto *goja.Object, name string, symbol *goja.Symbol, run goja.Callable,
	none func(subject, v goja.Value) bool) {
	timed := s.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		started := time.Now()
		v, err := run(call.This, call.Arguments...)
		if err != nil {
			panic(err)
		}
		s.checkMatching(started, mayHaveTimedOut(started) && none(call.Argument(0), v))
		return v
	}).(*goja.Object)
	if symbol == nil {
		s.copyNameAndLength(timed, proto.Get(name).(*goja.Object))
		Define(proto, name, timed)
		return
	}
	s.copyNameAndLength(timed, proto.GetSymbol(symbol).(*goja.Object))
	Must(proto.DefineDataPropertySymbol(symbol, timed, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// timeIterator does the same for what matchAll returns.
func (s limits) timeIterator(proto *goja.Object) {
	matchAll, ok := goja.AssertFunction(proto.GetSymbol(goja.SymMatchAll))
	sample, err := s.Runtime.New(s.Runtime.GlobalObject().Get("RegExp"), s.Runtime.ToValue("a"), s.Runtime.ToValue("g"))
	if !ok || err != nil {
		return
	}
	iterator, err := matchAll(sample, s.Runtime.ToValue(""))
	if err != nil {
		return
	}
	of := iterator.(*goja.Object).Prototype()
	if next, ok := goja.AssertFunction(of.Get("next")); ok {
		s.timeMethod(of, "next", nil, next, func(_, v goja.Value) bool {
			o, ok := v.(*goja.Object)
			return ok && o.Get("done").ToBoolean()
		})
	}
}
