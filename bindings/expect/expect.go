package expect

import (
	"errors"
	"slices"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// Matcher is one assertion about a value, such as toBe.
type Matcher struct {
	// Name and Signature are those of a [script.Method].
	Name, Signature string
	// Holds reports whether the assertion holds. It can store data for Explain in m.Found.
	Holds func(m *Match) bool
	// Explain returns the lines below the headline of a failure. A nil Explain shows the expected and
	// the received value.
	Explain func(m *Match) string
	Help    string
}

// Options are the options of expect.
type Options struct {
	// Matchers are additional matchers.
	Matchers []Matcher
	// OnExpect is called for each expectation. It may be nil.
	OnExpect func()
}

// Match is one use of a matcher.
type Match struct {
	*script.Call
	// Received is the tested value.
	Received goja.Value
	// Not says that the assertion is negated.
	Not bool
	// Settled says that the value is the outcome of a promise.
	Settled bool
	// Details is data that Holds stores for Explain.
	Details any
}

// subject is the object that expect(value) returns.
type subject struct {
	script.OpaqueObject
	e        *expectFunc
	received goja.Value
	not      bool
	// promiseMode is "resolves" or "rejects" for the outcome of a promise.
	promiseMode string
}

// expectFunc is the function expect of one runtime.
type expectFunc struct {
	js      *script.Engine
	options Options
	proto   *goja.Object
}

// Define defines the global function expect.
func Define(js *script.Engine, o Options) {
	e := &expectFunc{js: js, options: o}
	e.proto = script.Prototype(js, "Expect", e.methods())
	e.defineModifier("not", func(s subject) subject { s.not = !s.not; return s })
	e.defineModifier("resolves", func(s subject) subject { s.promiseMode = "resolves"; return s })
	e.defineModifier("rejects", func(s subject) subject { s.promiseMode = "rejects"; return s })
	const about = "Says what a value has to be: expect(value).toBe(1)."
	f := js.NewCheckedFunction("expect", "", about, func(c *script.Call) goja.Value {
		return e.newSubject(subject{e: e, received: c.Arg(0)})
	})
	e.defineAsymmetric(f)
	script.Define(f, "extend", js.NewFunction("extend", e.extend))
	script.Define(js.Runtime.GlobalObject(), "expect", f)
}

func (e *expectFunc) newSubject(s subject) *goja.Object { return e.js.NewInstance(&s, e.proto) }

// defineModifier defines a property that returns a modified subject with the same value.
func (e *expectFunc) defineModifier(name string, change func(subject) subject) {
	get := e.js.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		s, ok := script.Receiver[*subject](fc.This)
		if !ok {
			return goja.Undefined()
		}
		return e.newSubject(change(*s))
	})
	script.Must(e.proto.DefineAccessorProperty(name, get, nil, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

func (e *expectFunc) methods() []script.Method[*subject] {
	var list []script.Method[*subject]
	all := slices.Concat(equalityMatchers(), contentMatchers(), kindMatchers(), numberMatchers(), textAndThrowMatchers(),
		e.options.Matchers)
	for _, m := range all {
		list = append(list, script.Method[*subject]{Name: m.Name, Signature: m.Signature, Help: m.Help,
			Call: func(c *script.Call, on *subject) goja.Value { return e.check(c, on, m) }})
	}
	return list
}

// check checks the value with a matcher: immediately, or when its promise is settled.
func (e *expectFunc) check(c *script.Call, on *subject, m Matcher) goja.Value {
	if e.options.OnExpect != nil {
		e.options.OnExpect()
	}
	if on.promiseMode == "" {
		if text, ok := e.evaluate(c, on, on.received, m); !ok {
			panic(e.newFailure(text))
		}
		return nil
	}
	return e.checkSettled(c, on, m)
}

// evaluate runs a matcher and returns the failure message.
func (e *expectFunc) evaluate(c *script.Call, on *subject, received goja.Value, m Matcher) (text string, ok bool) {
	match := &Match{Call: c, Received: received, Not: on.not, Settled: on.promiseMode != ""}
	if m.Holds(match) != on.not {
		return "", true
	}
	say := m.Explain
	if say == nil {
		say = (*Match).expectedAndReceived
	}
	return on.headline(m) + "\n\n" + say(match), false
}

// headline returns the source text of the call.
func (s *subject) headline(m Matcher) string {
	text := "expect(received)"
	if s.promiseMode != "" {
		text += "." + s.promiseMode
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

// ErrorName is the name of the errors that expect throws.
const ErrorName = "AssertionError"

func (e *expectFunc) newFailure(text string) *goja.Object {
	o := e.js.Values.Errors.New(ErrorName, text)
	script.Must(o.Set("code", "ERR_ASSERTION"))
	return o
}

// checkSettled works like check, but on the outcome of a promise. It creates the error now, so that its
// position is that of the call.
func (e *expectFunc) checkSettled(c *script.Call, on *subject, m Matcher) goja.Value {
	failure := e.newFailure("")
	fail := func(text string) goja.Value {
		script.Must(failure.Set("message", text))
		panic(failure)
	}
	promise, ok := script.AsPromise(on.received)
	if !ok {
		return fail(on.headline(m) + "\n\nreceived has to be a promise\nReceived: " + ValueText(e.js, on.received))
	}
	args := slices.Clone(c.Args) // the engine reuses the slice
	call := &script.Call{JS: c.JS, This: c.This, Args: args}
	judge := e.js.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		if text, ok := e.evaluate(call, on, fc.Argument(0), m); !ok {
			return fail(text)
		}
		return goja.Undefined()
	})
	other := e.js.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		became := map[string]string{"resolves": "rejected", "rejects": "resolved"}[on.promiseMode]
		return fail(on.headline(m) + "\n\nThe promise was " + became + " instead: " + ValueText(e.js, fc.Argument(0)))
	})
	if on.promiseMode == "rejects" {
		judge, other = other, judge
	}
	object := e.js.Runtime.ToValue(promise).(*goja.Object)
	then, _ := goja.AssertFunction(object.Get("then"))
	v, err := then(object, judge, other)
	e.js.Check(err)
	return v
}

// extend adds a test's own matchers: {name(received, ...args) { return {pass, message} }}.
func (e *expectFunc) extend(c *script.Call) goja.Value {
	table := c.Object(0)
	if table == nil {
		e.js.ThrowInvalid("expect.extend takes an object of matchers")
	}
	for _, name := range table.Keys() {
		f, ok := goja.AssertFunction(table.Get(name))
		if !ok {
			e.js.ThrowInvalid("expect.extend: %s is not a function", name)
		}
		m := e.customMatcher(name, f)
		script.Define(e.proto, name, e.js.NewFunction(name, func(c *script.Call) goja.Value {
			on, ok := script.Receiver[*subject](c.This)
			if !ok {
				e.js.ThrowType("%s was called on something that is not an Expect", name)
			}
			return e.check(c, on, m)
		}))
	}
	return nil
}

// customMatcher returns the matcher for a function of expect.extend.
func (e *expectFunc) customMatcher(name string, f goja.Callable) Matcher {
	return Matcher{Name: name, Holds: func(m *Match) bool {
		v, err := f(goja.Undefined(), append([]goja.Value{m.Received}, m.Args...)...)
		e.js.Check(err)
		answer, ok := v.(*goja.Object)
		if !ok || script.Property(answer, "pass") == nil {
			e.js.ThrowInvalid("the matcher %s has to return {pass, message}", name)
		}
		m.Details = answer.Get("message")
		return answer.Get("pass").ToBoolean()
	}, Explain: func(m *Match) string {
		v, _ := m.Details.(goja.Value)
		if f, ok := goja.AssertFunction(v); ok {
			text, err := f(goja.Undefined())
			e.js.Check(err)
			v = text
		}
		return script.OptionalText(v)
	}}
}

// IsFailure reports whether an error was thrown by expect.
func IsFailure(err error) bool {
	e, ok := errors.AsType[*script.Error](err)
	return ok && e.Name == ErrorName
}
