package values

import (
	"math/big"
	"reflect"
	"time"

	"github.com/dop251/goja"

	"shardsh/bindings/gojamem"
)

// Options are what a Realm needs from its surroundings. The zero value works.
type Options struct {
	// Now is the clock behind ISODate(), and behind the time inside new
	// ObjectIds; nil is the wall clock.
	Now func() time.Time
	// Warn receives a one-line notice for the user, without the word
	// "Warning:" in front; each text is passed once per Realm. nil drops them.
	Warn func(text string)
	// SafeMemory has nothing read from the engine's private memory (package gojamem): slower,
	// and the same to scripts.
	SafeMemory bool
	// OnGlobalMade is called with each global object on first access; may be nil.
	OnGlobalMade func(name string, o *goja.Object)
}

// Realm holds what belongs to one runtime: prototypes, constructors and the
// symbols that mark objects. The classes of values are made when they are
// first used, because that is most of what start-up would cost.
type Realm struct {
	rt   *goja.Runtime
	opts Options
	// Memory reads the runtime's objects where the engine keeps them.
	Memory *gojamem.Memory
	// Errors makes and throws errors.
	Errors Errors

	classes [kindCount]*class
	warned  map[string]bool
	js      intrinsics

	marks         marks
	customInspect *goja.Symbol // util.inspect.custom; nil before the first look
	inspectFunc   *goja.Object // util.inspect; nil before the first look
	printers      printers

	fields   objectFields
	reusable reusableBuffers
	settling lazyGuard
}

// Install defines the BSON constructors and EJSON on the runtime's global
// object. Each is an accessor that replaces itself by the real function when
// it is first read, and by whatever a script assigns to it.
func Install(rt *goja.Runtime, opts Options) *Realm {
	if opts.Now == nil {
		opts.Now = time.Now
	}
	if opts.Warn == nil {
		opts.Warn = func(string) {}
	}
	w := &Realm{
		rt:       rt,
		opts:     opts,
		printers: printers{text: goja.NewSymbol("shardsh.printer"), line: goja.NewSymbol("shardsh.line")},
	}
	w.js = intrinsicsOf(rt)
	w.marks = marks{rt: rt, js: &w.js, fromServer: goja.NewSymbol("shardsh.fromServer"),
		original: goja.NewSymbol("shardsh.original")}
	w.Errors = Errors{rt: rt, js: &w.js, value: w.fieldValue}
	global := rt.GlobalObject()
	for _, g := range globals() {
		w.DefineLazy(global, g.name, func() goja.Value {
			v := g.make(w)
			if o, ok := v.(*goja.Object); ok && opts.OnGlobalMade != nil {
				opts.OnGlobalMade(g.name, o)
			}
			return v
		})
	}
	w.defineExactBigInt()
	w.Memory = gojamem.New(rt, opts.SafeMemory)
	w.settling = lazyGuard{rt: rt, js: &w.js}
	w.fields = objectFields{rt: rt, js: &w.js, memory: w.Memory}
	w.settling.wrapSettlers()
	return w
}

// Runtime returns the runtime the Realm was installed in.
func (w *Realm) Runtime() *goja.Runtime { return w.rt }

// DefineLazy puts an accessor on target that becomes a plain writable value
// when first read or assigned (rules/04-outputs-and-traps §10, trap 31).
func (w *Realm) DefineLazy(target *goja.Object, name string, create func() goja.Value) {
	settle := func(v goja.Value) {
		must(target.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	}
	get := func(goja.FunctionCall) goja.Value {
		v := create()
		settle(v)
		return v
	}
	set := func(call goja.FunctionCall) goja.Value {
		settle(call.Argument(0))
		return goja.Undefined()
	}
	must(target.DefineAccessorProperty(name, w.rt.ToValue(get), w.rt.ToValue(set), goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// must turns a failure that a definition on a fresh object cannot have into a
// JavaScript exception, in case a script froze or replaced the target.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (w *Realm) warnOnce(text string) {
	if w.warned[text] {
		return
	}
	if w.warned == nil {
		w.warned = make(map[string]bool)
	}
	w.warned[text] = true
	w.opts.Warn(text)
}

// newFunction makes a JavaScript function with a name of its own.
func (w *Realm) newFunction(name string, f func(goja.FunctionCall) goja.Value) *goja.Object {
	return newFunction(w.rt, name, f)
}

func newFunction(rt *goja.Runtime, name string, f func(goja.FunctionCall) goja.Value) *goja.Object {
	o := rt.ToValue(f).(*goja.Object)
	must(o.DefineDataProperty("name", rt.ToValue(name), goja.FLAG_FALSE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return o
}

// defineHidden defines a non-enumerable, writable property.
func defineHidden(o *goja.Object, name string, v goja.Value) {
	must(o.DefineDataProperty(name, v, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

var (
	typeOfProxy   = reflect.TypeFor[goja.Proxy]()
	typeOfPromise = reflect.TypeFor[*goja.Promise]()
	typeOfBuffer  = reflect.TypeFor[goja.ArrayBuffer]()
	typeOfCtor    = reflect.TypeFor[func(goja.ConstructorCall) *goja.Object]()
	typeOfMap     = reflect.TypeFor[[][2]any]()
	typeOfBig     = reflect.TypeFor[*big.Int]()
	typeOfItems   = reflect.TypeFor[[]any]()
	typeOfPlain   = reflect.TypeFor[map[string]any]()
)
