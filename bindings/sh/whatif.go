package sh

import (
	"errors"
	"strconv"
	"strings"

	"shardsh/balancer/action"
	"shardsh/balancer/plan"
	"shardsh/balancer/whatif"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// shardWhatIfMethods returns the helpers that simulate changes.
func shardWhatIfMethods() []helper {
	return []helper{
		{"whatIf", "changes:function|object alternative?:function|object{model,seed,timeZone}", withMongosWarning(shWhatIf),
			"Simulates changes, such as c => { c.addShard(2); c.drain(\"s1\") }, and compares the result with the cluster " +
				"as it is. Each further function is another alternative; {name: function} names them. Nothing is changed."},
	}
}

// shWhatIf returns the outcomes of alternatives, which print as the text of "shardsh simulate".
func shWhatIf(c *call, sh *Helpers) goja.Value {
	out, err := tryReadAction(c, sh, c.simulateArguments())
	switch {
	case errors.As(err, new(*action.OptionError)), errors.As(err, new(*action.NoAnswerError)):
		sh.throwActionError("whatIf", nil, err, "", false)
	case err != nil:
		c.JS.ThrowInvalid("%s (Shard.whatIf)", findings.WithSuggestion(err))
	}
	return c.host.outcomesObject(out)
}

// simulateArguments returns the arguments: functions, objects of functions, and finally options.
func (c *call) simulateArguments() (verb action.Simulate) {
	add := func(name string, f goja.Callable) {
		verb.Alternatives = append(verb.Alternatives, whatif.Alternative{Name: name, Changes: c.recordChanges(f)})
	}
	for i := range c.Args {
		v := c.Arg(i)
		if f, ok := goja.AssertFunction(v); ok {
			add("", f)
			continue
		}
		object, ok := v.(*goja.Object)
		if !ok {
			c.ThrowArgument("Shard.whatIf", "changes", "a function such as c => c.addShard()", c.host.Display.Inspect(v))
		}
		for _, name := range object.Keys() {
			f, ok := goja.AssertFunction(object.Get(name))
			switch {
			case ok:
				add(name, f)
			case i == len(c.Args)-1 && i > 0:
				given := c.options("whatIf", i)
				verb.SizeModel, verb.Seed, verb.TimeZone = given.text("model"), uint64(given.count("seed")), given.text("timeZone")
				return verb
			default:
				c.ThrowArgument("Shard.whatIf", "changes."+name, "a function such as c => c.addShard()",
					c.host.Display.Inspect(object.Get(name)))
			}
		}
	}
	return verb
}

// recordChanges calls a function with an object that has a method for each kind of change, and returns
// the changes that the function made.
func (c *call) recordChanges(f goja.Callable) (list []whatif.Change) {
	rt := c.JS.Runtime
	target := rt.NewObject()
	var names []string
	var proxy goja.Value
	for _, kind := range whatif.ChangeKinds() {
		names = append(names, kind.Name)
		script.Must(target.Set(kind.Name, func(call goja.FunctionCall) goja.Value {
			words := make([]string, len(call.Arguments))
			for i, v := range call.Arguments {
				words[i] = c.changeArgument(kind, v)
			}
			change, err := whatif.NewChange(kind.Name, words)
			if err != nil {
				c.JS.ThrowInvalid("%s (Shard.whatIf)", err)
			}
			list = append(list, change)
			return proxy
		}))
	}
	proxy = rt.ToValue(rt.NewProxy(target, &goja.ProxyTrapConfig{
		Get: func(target *goja.Object, name string, _ goja.Value) goja.Value {
			v := target.Get(name)
			if v == nil && name != "then" && name != "toJSON" {
				unknown := &whatif.UnknownChangeError{Name: name, Names: names}
				c.JS.ThrowInvalid("%s (Shard.whatIf)", findings.WithSuggestion(unknown))
			}
			return v
		},
	}))
	if _, err := f(goja.Undefined(), proxy); err != nil {
		c.JS.Rethrow(err)
	}
	return list
}

// changeArgument converts an argument of a change to its form on a command line.
func (c *call) changeArgument(kind whatif.ChangeKind, v goja.Value) string {
	if coll, ok := script.Receiver[Collection](v); ok {
		return coll.Namespace()
	}
	if list, ok := c.namespaceList("whatIf", v); ok {
		return strings.Join(list, ",")
	}
	switch script.TypeOf(v) {
	case "string":
		return v.String()
	case "boolean":
		if v.ToBoolean() {
			return "on"
		}
		return "off"
	case "object", "number":
		if n, ok := c.asNumber(v); ok {
			return strconv.FormatFloat(n, 'f', -1, 64)
		}
	}
	if _, ok := v.(*goja.Object); !ok {
		c.JS.ThrowInvalid("c.%s: invalid argument %s: %s (Shard.whatIf)", kind.Name, c.host.Display.Inspect(v), kind.Usage())
	}
	text, err := bson.MarshalExtJSON(c.JS.Document(v), true, false)
	if err != nil {
		c.JS.Throw(script.RuntimeErrorName, "%s", err)
	}
	return string(text)
}

// outcomesObject returns the outcomes of alternatives for scripts. Plans are built when they are read.
func (h *Host) outcomesObject(out whatif.Outcomes) goja.Value {
	plans := make([]*plan.Plan, len(out.Alternatives))
	heads := out
	heads.Alternatives = make([]whatif.Outcome, len(out.Alternatives))
	for i, a := range out.Alternatives {
		plans[i], a.Plan = a.Plan, nil
		heads.Alternatives[i] = a
	}
	o := h.printableWithFullText(heads, func(all bool) string {
		return findings.WhatIfText(out, all)
	}).ToObject(h.JS.Runtime)
	list := o.Get("alternatives").ToObject(h.JS.Runtime)
	for i, p := range plans {
		one := list.Get(strconv.Itoa(i)).ToObject(h.JS.Runtime)
		script.Must(one.Delete("plan"))
		h.JS.Values.DefineLazy(one, "plan", func() goja.Value { return h.planObject(p) })
	}
	script.Define(o, "toJSON", h.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value { return plainJSValue(h.JS, out) }))
	return o
}
