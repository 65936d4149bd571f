package expect

import (
	"errors"
	"slices"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// Matcher is one thing that a value can be held to.
type Matcher struct {
	// Name and Signature are as those of a [script.Method].
	Name, Signature string
	// Holds reports whether the value is as it should be. Whatever it finds out for
	// Say it keeps in m.Found.
	Holds func(m *Match) bool
	// Say returns the lines under the headline where it does not hold, or does and
	// should not; nil shows what was expected and what was received.
	Say  func(m *Match) string
	Help string
}

// Options are what expect takes from outside.
type Options struct {
	// Matchers are more of them.
	Matchers []Matcher
	// Counted is called for each thing that is expected; may be nil.
	Counted func()
}

// Match is one use of a matcher.
type Match struct {
	*script.Call
	// Received is the value that is looked at.
	Received goja.Value
	// Not is true for what must not hold.
	Not bool
	// Found is Holds's own, for Say.
	Found any
}

// subject is what expect(value) returns.
type subject struct {
	script.Hidden
	e        *expecting
	received goja.Value
	not      bool
	// settles is "resolves" or "rejects" for the value of a promise.
	settles string
}

// expecting is the function expect of one runtime.
type expecting struct {
	js      *script.Engine
	options Options
	proto   *goja.Object
}

// Define defines the global function expect.
func Define(js *script.Engine, o Options) {
	e := &expecting{js: js, options: o}
	e.proto = script.Prototype(js, "Expect", e.methods())
	e.turn("not", func(s subject) subject { s.not = !s.not; return s })
	e.turn("resolves", func(s subject) subject { s.settles = "resolves"; return s })
	e.turn("rejects", func(s subject) subject { s.settles = "rejects"; return s })
	const about = "Says what a value has to be: expect(value).toBe(1)."
	f := js.Described("expect", "", about, func(c *script.Call) goja.Value {
		return e.object(subject{e: e, received: c.Arg(0)})
	})
	e.defineAsymmetric(f)
	script.Define(f, "extend", js.Function("extend", e.extend))
	script.Define(js.Runtime.GlobalObject(), "expect", f)
}

func (e *expecting) object(s subject) *goja.Object { return e.js.Instance(&s, e.proto) }

// turn defines a property that goes on with the same value in another way.
func (e *expecting) turn(name string, change func(subject) subject) {
	get := e.js.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		s, ok := script.Receiver[*subject](fc.This)
		if !ok {
			return goja.Undefined()
		}
		return e.object(change(*s))
	})
	script.Must(e.proto.DefineAccessorProperty(name, get, nil, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

func (e *expecting) methods() []script.Method[*subject] {
	var list []script.Method[*subject]
	for _, m := range slices.Concat(equalities(), shapes(), kinds(), numbers(), texts(), e.options.Matchers) {
		list = append(list, script.Method[*subject]{Name: m.Name, Signature: m.Signature, Help: m.Help,
			Call: func(c *script.Call, on *subject) goja.Value { return e.check(c, on, m) }})
	}
	return list
}

// check holds the value to a matcher, at once or when its promise is settled.
func (e *expecting) check(c *script.Call, on *subject, m Matcher) goja.Value {
	if e.options.Counted != nil {
		e.options.Counted()
	}
	if on.settles == "" {
		if text, ok := e.judge(c, on, on.received, m); !ok {
			panic(e.failure(text))
		}
		return nil
	}
	return e.checkSettled(c, on, m)
}

// judge returns what to say where a value is not as it should be.
func (e *expecting) judge(c *script.Call, on *subject, received goja.Value, m Matcher) (text string, ok bool) {
	match := &Match{Call: c, Received: received, Not: on.not}
	if m.Holds(match) != on.not {
		return "", true
	}
	say := m.Say
	if say == nil {
		say = (*Match).expectedAndReceived
	}
	return on.headline(m) + "\n\n" + say(match), false
}

// headline is the call as it would be written.
func (s *subject) headline(m Matcher) string {
	text := "expect(received)"
	if s.settles != "" {
		text += "." + s.settles
	}
	if s.not {
		text += ".not"
	}
	names := script.ParameterNames(m.Signature)
	if len(names) > 1 && names[0] == "expected" {
		names = names[:1]
	}
	text += "." + m.Name + "("
	for i, name := range names {
		if i > 0 {
			text += ", "
		}
		text += name
	}
	return text + ")"
}

// ErrorName is the name of the errors of expect.
const ErrorName = "AssertionError"

func (e *expecting) failure(text string) *goja.Object {
	o := e.js.Values.Errors.New(ErrorName, text)
	script.Must(o.Set("code", "ERR_ASSERTION"))
	return o
}

// checkSettled is check for what becomes of a promise. Its error is made now: its
// place is where it was asked for.
func (e *expecting) checkSettled(c *script.Call, on *subject, m Matcher) goja.Value {
	failure := e.failure("")
	fail := func(text string) goja.Value {
		script.Must(failure.Set("message", text))
		panic(failure)
	}
	promise, ok := script.AsPromise(on.received)
	if !ok {
		return fail(on.headline(m) + "\n\nreceived has to be a promise\nReceived: " + Shown(e.js, on.received))
	}
	args := slices.Clone(c.Args) // the engine uses the space again
	call := &script.Call{JS: c.JS, This: c.This, Args: args}
	judge := e.js.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		if text, ok := e.judge(call, on, fc.Argument(0), m); !ok {
			return fail(text)
		}
		return goja.Undefined()
	})
	other := e.js.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		became := map[string]string{"resolves": "rejected", "rejects": "resolved"}[on.settles]
		return fail(on.headline(m) + "\n\nThe promise was " + became + " instead: " + Shown(e.js, fc.Argument(0)))
	})
	if on.settles == "rejects" {
		judge, other = other, judge
	}
	object := e.js.Runtime.ToValue(promise).(*goja.Object)
	then, _ := goja.AssertFunction(object.Get("then"))
	v, err := then(object, judge, other)
	e.js.Check(err)
	return v
}

// extend adds matchers of a test's own: {name(received, ...args) { return {pass,
// message} }}.
func (e *expecting) extend(c *script.Call) goja.Value {
	table := c.Object(0)
	if table == nil {
		e.js.ThrowInvalid("expect.extend takes an object of matchers")
	}
	for _, name := range table.Keys() {
		f, ok := goja.AssertFunction(table.Get(name))
		if !ok {
			e.js.ThrowInvalid("expect.extend: %s is not a function", name)
		}
		m := e.own(name, f)
		script.Define(e.proto, name, e.js.Function(name, func(c *script.Call) goja.Value {
			on, ok := script.Receiver[*subject](c.This)
			if !ok {
				e.js.ThrowType("%s was called on something that is not an Expect", name)
			}
			return e.check(c, on, m)
		}))
	}
	return nil
}

// own makes a matcher of a test's function.
func (e *expecting) own(name string, f goja.Callable) Matcher {
	return Matcher{Name: name, Holds: func(m *Match) bool {
		v, err := f(goja.Undefined(), append([]goja.Value{m.Received}, m.Args...)...)
		e.js.Check(err)
		answer, ok := v.(*goja.Object)
		if !ok || script.Property(answer, "pass") == nil {
			e.js.ThrowInvalid("the matcher %s has to return {pass, message}", name)
		}
		m.Found = answer.Get("message")
		return answer.Get("pass").ToBoolean()
	}, Say: func(m *Match) string {
		v, _ := m.Found.(goja.Value)
		if f, ok := goja.AssertFunction(v); ok {
			text, err := f(goja.Undefined())
			e.js.Check(err)
			v = text
		}
		return script.OptionalText(v)
	}}
}

// IsFailure reports whether an error is one of expect.
func IsFailure(err error) bool {
	e, ok := errors.AsType[*script.Error](err)
	return ok && e.Name == ErrorName
}
