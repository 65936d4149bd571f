package values

import (
	"math"
	"strings"

	"github.com/dop251/goja"
)

// nodeDepth is the depth to which Node shows a value.
const nodeDepth = 2

// NodeInspectOptions returns the options of Node itself: depth 2, no colour, dates in their plain form, errors
// with their stack.
func NodeInspectOptions() InspectOptions {
	o := DefaultInspectOptions()
	o.Depth, o.BareDates, o.ErrorStacks = nodeDepth, true, true
	return o
}

// InspectFunction returns util.inspect with its member custom, the same object for each call.
func (w *Realm) InspectFunction() *goja.Object {
	if w.inspectFunc != nil {
		return w.inspectFunc
	}
	f := w.newFunction("inspect", func(call goja.FunctionCall) goja.Value {
		in := newInspector(w, inspectArguments(call.Arguments))
		return w.rt.ToValue(in.value(call.Argument(0), 0, false))
	})
	must(f.Set("custom", w.customSymbol()))
	must(f.Set("defaultOptions", newInspector(w, NodeInspectOptions()).userOptions(nodeDepth)))
	w.inspectFunc = f
	return f
}

// inspectArguments parses the arguments after the value: an object of options, or showHidden, depth and
// colors.
func inspectArguments(args []goja.Value) InspectOptions {
	o := NodeInspectOptions()
	if given, ok := arg(args, 1).(*goja.Object); ok {
		for name, set := range inspectOptionSetters() {
			if v := given.Get(name); v != nil && !goja.IsUndefined(v) {
				set(&o, v)
			}
		}
		return o
	}
	for i, name := range []string{"showHidden", "depth", "colors"} {
		if v := arg(args, i+1); !goja.IsUndefined(v) {
			inspectOptionSetters()[name](&o, v)
		}
	}
	return o
}

// inspectOptionSetters returns setters for the options of util.inspect, by name.
func inspectOptionSetters() map[string]func(o *InspectOptions, v goja.Value) {
	return map[string]func(o *InspectOptions, v goja.Value){
		"depth":           func(o *InspectOptions, v goja.Value) { o.Depth = nodeLimit(v, TopLevel) },
		"maxArrayLength":  func(o *InspectOptions, v goja.Value) { o.MaxItems = nodeLimit(v, TopLevel) },
		"maxStringLength": func(o *InspectOptions, v goja.Value) { o.MaxString = nodeLimit(v, TopLevel) },
		"breakLength":     func(o *InspectOptions, v goja.Value) { o.Width = nodeLimit(v, TopLevel) },
		"showHidden":      func(o *InspectOptions, v goja.Value) { o.ShowHidden = v.ToBoolean() },
		"colors":          func(o *InspectOptions, v goja.Value) { o.Color = v.ToBoolean() },
		"customInspect":   func(o *InspectOptions, v goja.Value) { o.IgnoreCustom = !v.ToBoolean() },
		"sorted": func(o *InspectOptions, v goja.Value) {
			o.Sorted, o.Compare = v.ToBoolean(), nil
			if compare := callable(v); compare != nil {
				o.Compare = func(a, b goja.Value) (goja.Value, error) { return compare(goja.Undefined(), a, b) }
			}
		},
		"compact": func(o *InspectOptions, v goja.Value) {
			switch n, isNumber := v.Export().(int64); {
			case isNumber && n > 0:
				o.Compact = int(min(n, math.MaxInt16))
			case !isNumber && v.ToBoolean():
				o.Compact = CompactFull
			default:
				o.Compact = MultiLine
			}
		},
	}
}

// nodeLimit converts a limit of Node: null and Infinity mean no limit.
func nodeLimit(v goja.Value, zero int) int {
	switch f := v.ToFloat(); {
	case goja.IsNull(v) || f > math.MaxInt32:
		return Unlimited
	case f >= 1:
		return int(f)
	default:
		return zero
	}
}

// userOptions returns the options for a script's custom inspection method.
func (in *inspector) userOptions(depth int) *goja.Object {
	number := func(n int) any {
		if n == math.MaxInt {
			return math.Inf(1)
		}
		return n
	}
	var compact any
	switch in.o.Compact {
	case CompactFull, MultiLine:
		compact = in.o.Compact == CompactFull
	default:
		compact = in.o.Compact
	}
	o := in.realm.rt.NewObject()
	for _, field := range []struct {
		name  string
		value any
	}{
		{"showHidden", in.o.ShowHidden}, {"depth", number(depth)}, {"colors", in.o.Color},
		{"customInspect", !in.o.IgnoreCustom},
		{"showProxy", false}, {"maxArrayLength", number(in.o.MaxItems)}, {"maxStringLength", number(in.o.MaxString)},
		{"breakLength", number(in.o.Width)}, {"compact", compact}, {"sorted", in.o.Sorted}, {"getters", false},
		{"numericSeparator", false},
	} {
		must(o.Set(field.name, field.value))
	}
	return o
}

// customSymbol returns util.inspect.custom.
func (w *Realm) customSymbol() *goja.Symbol {
	if w.customInspect == nil {
		v, err := w.intrinsics.symbolFor(goja.Undefined(), w.rt.ToValue("nodejs.util.inspect.custom"))
		must(err)
		w.customInspect = v.(*goja.Symbol)
	}
	return w.customInspect
}

// custom formats an object by its own inspection method, as Node does; ok is false when it has none.
func (in *inspector) custom(o *goja.Object, level int) (text string, ok bool) {
	if in.o.IgnoreCustom {
		return "", false
	}
	show, isCallable := goja.AssertFunction(o.GetSymbol(in.realm.customSymbol()))
	if !isCallable || isPrototype(o) {
		return "", false
	}
	depth := in.o.Depth
	if depth != math.MaxInt {
		depth -= level
	}
	options := in.userOptions(in.o.Depth)
	must(options.Set("stylize", in.realm.newFunction("stylize", func(call goja.FunctionCall) goja.Value {
		return call.Argument(0)
	})))
	levels := in.realm.rt.ToValue(depth)
	if depth == math.MaxInt {
		levels = in.realm.rt.ToValue(math.Inf(1))
	}
	v, err := show(o, levels, options, in.realm.InspectFunction())
	if err != nil {
		panic(err)
	}
	shown, isObject := v.(*goja.Object)
	switch {
	case isObject && shown == o:
		return "", false
	case !isObject && !goja.IsNull(v):
		text = v.String()
	default:
		text = in.value(v, level, false)
	}
	return strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", in.indent)), true
}

// isPrototype reports whether the object is the prototype of a class, which has methods but no values
// to show.
func isPrototype(o *goja.Object) bool {
	class, ok := o.Get("constructor").(*goja.Object)
	return ok && class.Get("prototype") == goja.Value(o)
}
