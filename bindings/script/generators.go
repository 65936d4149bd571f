package script

import "github.com/dop251/goja"

// maxGeneratorDepth is how many generators may wait for each other. The engine does not count calls
// between them, and its own stack would grow until the process dies.
const maxGeneratorDepth = 500

// limitGenerators throws a RangeError for infinite recursion of generators. Unlike that of functions,
// scripts can catch it.
func limitGenerators(rt *goja.Runtime) {
	sample, err := rt.RunString("(function* () {})()")
	if err != nil {
		return
	}
	proto := sample.(*goja.Object)
	for range 2 { // the prototype of the function, and that of all generators
		proto = proto.Prototype()
	}
	rangeError := rt.GlobalObject().Get("RangeError")
	depth := 0
	for _, name := range []string{"next", "return", "throw"} {
		resume, ok := goja.AssertFunction(proto.Get(name))
		if !ok {
			continue
		}
		limited := rt.ToValue(func(fc goja.FunctionCall) goja.Value {
			depth++
			defer func() { depth-- }()
			if depth > maxGeneratorDepth {
				e, err := rt.New(rangeError, rt.ToValue("Maximum call stack size exceeded"))
				if err != nil {
					panic(err)
				}
				panic(e)
			}
			v, err := resume(fc.This, fc.Arguments...)
			if err != nil {
				panic(err)
			}
			return v
		}).(*goja.Object)
		for property, value := range map[string]any{"name": name, "length": 1} {
			Must(limited.DefineDataProperty(property, rt.ToValue(value), goja.FLAG_FALSE, goja.FLAG_TRUE,
				goja.FLAG_FALSE))
		}
		Define(proto, name, limited)
	}
}
