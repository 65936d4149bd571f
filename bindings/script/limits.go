package script

import "github.com/dop251/goja"

// limits limits single calls of engine functions, which cannot be interrupted.
type limits struct{ *Engine }

func (l limits) define() {
	l.defineEvals()
	l.defineBigInts()
	l.limitSizes()
	l.limitRecursion()
	l.guardMatching()
}

// guardFunction adds a check to one of the engine's functions; the check may change the arguments. If
// as has a name, the guarded function is defined under that name, and the original is kept.
func (l limits) guardFunction(owner *goja.Object, name string, check func(call *goja.FunctionCall), as ...string) {
	original, ok := owner.Get(name).(*goja.Object)
	if !ok {
		return
	}
	run, ok := goja.AssertFunction(original)
	if !ok {
		return
	}
	guarded := l.Runtime.ToValue(func(call goja.FunctionCall) goja.Value {
		check(&call)
		v, err := run(call.This, call.Arguments...)
		if err != nil {
			panic(err)
		}
		return v
	}).(*goja.Object)
	l.copyNameAndLength(guarded, original)
	for _, other := range as {
		name = other
	}
	Define(owner, name, guarded)
}

// copyNameAndLength copies the properties name and length from another function.
func (l limits) copyNameAndLength(f, original *goja.Object) {
	for _, property := range []string{"name", "length"} {
		Must(f.DefineDataProperty(property, original.Get(property), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
}

// guardedConstructor returns a class that checks its arguments and otherwise behaves like one of the
// engine's classes. The check may change the arguments.
func (l limits) guardedConstructor(original *goja.Object, check func(args []goja.Value)) *goja.Object {
	construct, _ := goja.AssertConstructor(original)
	class := l.Runtime.ToValue(func(call goja.ConstructorCall) *goja.Object {
		newTarget := call.NewTarget
		if newTarget == nil {
			newTarget = original
		}
		check(call.Arguments)
		o, err := construct(newTarget, call.Arguments...)
		l.Check(err)
		return o
	}).(*goja.Object)
	proto := original.Get("prototype")
	Must(class.DefineDataProperty("prototype", proto, goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE))
	l.copyNameAndLength(class, original)
	Must(class.SetPrototype(original)) // for static members
	return class
}
