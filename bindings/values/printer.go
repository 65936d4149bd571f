package values

import (
	"reflect"

	"github.com/dop251/goja"
)

// Printer is implemented by the Go side of dynamic objects with their own text form; use SetPrinter for
// other objects.
type Printer interface{ PrintText() string }

// printers stores the custom texts of objects.
type printers struct {
	text           *goja.Symbol // on objects with a custom text
	oneLine        *goja.Symbol // on objects that are shown on one line
	frozenPrinters *goja.Object // the printers of frozen objects; nil before the first
	get, set       goja.Callable
}

// SetPrinter makes Inspect format obj as the text that f returns, regardless of its properties: for db,
// collections, sh and so on (rules/04-values-and-language §3.1). Scripts cannot observe the printer on
// obj, which lives as long as obj. The text may contain the shell's colours; f has to escape names in
// it.
func (w *Realm) SetPrinter(obj *goja.Object, f func() string) {
	p := &w.printers
	value := w.rt.ToValue(func(goja.FunctionCall) goja.Value { return w.rt.ToValue(f()) })
	if !IsProxy(obj) && obj.DefineDataPropertySymbol(p.text, value, goja.FLAG_TRUE, goja.FLAG_TRUE,
		goja.FLAG_FALSE) == nil {
		return
	}
	if p.frozenPrinters == nil {
		m, err := w.intrinsics.weakMap(nil)
		must(err)
		p.frozenPrinters, p.get, p.set = m, callable(m.Get("get")), callable(m.Get("set"))
	}
	_, err := p.set(p.frozenPrinters, obj, value)
	must(err)
}

// SetOneLine makes Inspect format obj, which it returns, on one line of any length, as sh.status() shows
// chunks (rules/04-objects §5.4).
func (w *Realm) SetOneLine(obj *goja.Object) *goja.Object {
	must(obj.DefineDataPropertySymbol(w.printers.oneLine, w.rt.ToValue(true), goja.FLAG_TRUE, goja.FLAG_TRUE,
		goja.FLAG_FALSE))
	return obj
}

func (p *printers) isOneLine(o *goja.Object) bool { return isMarked(o, p.oneLine) }

// isMarked reports whether an object has a symbol that is true.
func isMarked(o *goja.Object, symbol *goja.Symbol) bool {
	if IsProxy(o) {
		return false
	}
	v := o.GetSymbol(symbol)
	return v != nil && v.ToBoolean()
}

// printerText returns the text of an object with a printer.
func (p *printers) printerText(o *goja.Object) (string, bool) {
	if !IsProxy(o) {
		if f, ok := goja.AssertFunction(o.GetSymbol(p.text)); ok {
			return callPrinter(f)
		}
	}
	if t := o.ExportType(); t != nil && t.Kind() == reflect.Pointer {
		if own, ok := o.Export().(Printer); ok {
			return own.PrintText(), true
		}
	}
	if p.frozenPrinters == nil {
		return "", false
	}
	v, err := p.get(p.frozenPrinters, o)
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
