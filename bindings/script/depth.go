package script

import "github.com/dop251/goja"

// limitDepths throws a RangeError for recursion inside the engine without
// end: the engine counts no calls there. Arrays become text by those in them.
func (s limits) limitDepths() {
	depth := 0
	proto := s.Runtime.GlobalObject().Get("Array").(*goja.Object).Get("prototype").(*goja.Object)
	for _, name := range []string{"toString", "toLocaleString"} {
		original, ok := proto.Get(name).(*goja.Object)
		if !ok {
			continue
		}
		run, _ := goja.AssertFunction(original)
		limited := s.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
			depth++
			defer func() { depth-- }()
			if depth > maxCallDepth {
				s.throwRange(nestingMessage)
			}
			v, err := run(call.This, call.Arguments...)
			if err != nil {
				panic(err)
			}
			return v
		}).(*goja.Object)
		s.copyNameAndLength(limited, original)
		Define(proto, name, limited)
	}
}
