package script

import "github.com/dop251/goja"

// limitRecursion throws a RangeError for infinite recursion inside the engine, which does not count such
// calls: for example, the conversion of nested arrays to strings.
func (l limits) limitRecursion() {
	depth := 0
	proto := l.Runtime.GlobalObject().Get("Array").(*goja.Object).Get("prototype").(*goja.Object)
	for _, name := range []string{"toString", "toLocaleString"} {
		original, ok := proto.Get(name).(*goja.Object)
		if !ok {
			continue
		}
		run, _ := goja.AssertFunction(original)
		limited := l.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
			depth++
			defer func() { depth-- }()
			if depth > maxCallDepth {
				l.throwRange(nestingMessage)
			}
			v, err := run(call.This, call.Arguments...)
			if err != nil {
				panic(err)
			}
			return v
		}).(*goja.Object)
		l.copyNameAndLength(limited, original)
		Define(proto, name, limited)
	}
}
