package values

import (
	"math/big"
	"reflect"
	"time"

	"github.com/dop251/goja"

	"shardsh/bindings/gojamem"
)

// Options are the options of a Realm. The zero value is valid.
type Options struct {
	// Now is the clock of ISODate() and of new ObjectIds; nil means the system's clock.
	Now func() time.Time
	// Warn receives a one-line notice for the user, without the prefix "Warning:". Each text is passed
	// once for each Realm. Nil drops the notices.
	Warn func(text string)
	// SafeMemory disables reads of the engine's private memory (package gojamem). Scripts are slower,
	// and behave the same.
	SafeMemory bool
	// OnGlobalMade is called with each global object on first access. It may be nil.
	OnGlobalMade func(name string, o *goja.Object)
}

// Realm holds the data that belongs to one runtime: prototypes, constructors and the symbols that mark
// objects. The classes of values are created on first use, because their creation would take most of
// the start-up time.
type Realm struct {
	rt   *goja.Runtime
	opts Options
	// Memory reads the runtime's objects directly from the engine's memory.
	Memory *gojamem.Memory
	// Errors creates and throws errors.
	Errors Errors

	classes    [kindCount]*class
	warned     map[string]bool
	intrinsics intrinsics

	marks         marks
	customInspect *goja.Symbol // util.inspect.custom; nil before its first use
	inspectFunc   *goja.Object // util.inspect; nil before its first use
	printers      printers

	fields    objectFields
	reusable  reusableBuffers
	lazyGuard lazyGuard
}

// Install defines the BSON constructors and EJSON on the runtime's global object. Each is an accessor
// that replaces itself by the real function when it is first read, or by the value that a script
// assigns.
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
		printers: printers{text: goja.NewSymbol("shardsh.printer"), oneLine: goja.NewSymbol("shardsh.line")},
	}
	w.intrinsics = intrinsicsOf(rt)
	w.marks = marks{rt: rt, intrinsics: &w.intrinsics, fromServer: goja.NewSymbol("shardsh.fromServer"),
		original: goja.NewSymbol("shardsh.original")}
	w.Errors = Errors{rt: rt, intrinsics: &w.intrinsics, value: w.fieldValue}
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
	w.lazyGuard = lazyGuard{rt: rt, intrinsics: &w.intrinsics}
	w.fields = objectFields{rt: rt, intrinsics: &w.intrinsics, memory: w.Memory}
	w.lazyGuard.wrapMaterializingFunctions()
	return w
}

// Runtime returns the runtime of the Realm.
func (w *Realm) Runtime() *goja.Runtime { return w.rt }

// DefineLazy defines an accessor on target that becomes a plain writable value when it is first read or
// assigned (rules/04-outputs-and-traps §10, trap 31).
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

// must throws the error of a definition as a JavaScript exception. Definitions on a fresh object cannot
// fail, but a script may have frozen or replaced the target.
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

// newFunction returns a JavaScript function with a name.
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
	typeOfProxy     = reflect.TypeFor[goja.Proxy]()
	typeOfPromise   = reflect.TypeFor[*goja.Promise]()
	typeOfBuffer    = reflect.TypeFor[goja.ArrayBuffer]()
	typeOfCtor      = reflect.TypeFor[func(goja.ConstructorCall) *goja.Object]()
	typeOfMap       = reflect.TypeFor[[][2]any]()
	typeOfBig       = reflect.TypeFor[*big.Int]()
	typeOfSlice     = reflect.TypeFor[[]any]()
	typeOfStringMap = reflect.TypeFor[map[string]any]()
)
