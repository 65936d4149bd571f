package values

import (
	"reflect"

	"github.com/dop251/goja"
)

// Printer is implemented by the Go side of dynamic objects that print as a
// text of their own; for other objects there is SetPrinter.
type Printer interface{ PrintText() string }

// weakPrinters holds the printers of objects that take no properties.
type weakPrinters struct {
	m        *goja.Object
	get, set goja.Callable
}

// SetPrinter makes Inspect show obj as the text that f returns, whatever its
// properties are: for db, collections, sh and the like (spec 04 §3.1). It
// leaves nothing on obj that a script would meet, and lives as long as obj. The
// text may have the shell's colours: names in it are f's to make visible.
func (w *World) SetPrinter(obj *goja.Object, f func() string) {
	value := w.rt.ToValue(func(goja.FunctionCall) goja.Value { return w.rt.ToValue(f()) })
	if !isProxy(obj) && obj.DefineDataPropertySymbol(w.printer, value, goja.FLAG_TRUE, goja.FLAG_TRUE,
		goja.FLAG_FALSE) == nil {
		return
	}
	p := &w.printers
	if p.m == nil {
		m, err := w.js.weakMap(nil)
		must(err)
		p.m, p.get, p.set = m, callable(m.Get("get")), callable(m.Get("set"))
	}
	_, err := p.set(p.m, obj, value)
	must(err)
}

// SetOneLine makes Inspect show obj on one line however long that is, as
// sh.status() shows chunks (spec 04 §5.4).
func (w *World) SetOneLine(obj *goja.Object) {
	must(obj.DefineDataPropertySymbol(w.line, w.rt.ToValue(true), goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

func (w *World) isOneLine(o *goja.Object) bool {
	if isProxy(o) {
		return false
	}
	v := o.GetSymbol(w.line)
	return v != nil && v.ToBoolean()
}

// printed returns the text of an object that has one.
func (w *World) printed(o *goja.Object) (string, bool) {
	if !isProxy(o) {
		if f, ok := goja.AssertFunction(o.GetSymbol(w.printer)); ok {
			return callPrinter(f)
		}
	}
	if t := o.ExportType(); t != nil && t.Kind() == reflect.Pointer {
		if p, ok := o.Export().(Printer); ok {
			return p.PrintText(), true
		}
	}
	if w.printers.m == nil {
		return "", false
	}
	v, err := w.printers.get(w.printers.m, o)
	must(err)
	if f, ok := goja.AssertFunction(v); ok {
		return callPrinter(f)
	}
	return "", false
}

func callPrinter(f goja.Callable) (string, bool) {
	text, err := f(goja.Undefined())
	if err != nil {
		panic(err)
	}
	return text.String(), true
}
