package values

import (
	"strings"

	"github.com/dop251/goja"
)

// EJSON formats v as extended JSON (rules/04-values-and-language §4.10), relaxed or canonical. With an
// indent, every member is on a separate line. It returns "" for a function or symbol, which JSON cannot
// represent. Errors are *goja.Exception: a BSONError for cycles, or the exception of a getter.
func (w *Realm) EJSON(v goja.Value, canonical bool, indent string) (string, error) {
	j := jsonWriter{realm: w, canonical: canonical, gap: indent}
	var text string
	if ex := w.rt.Try(func() { text, _ = j.write(v) }); ex != nil {
		return "", ex
	}
	return text, nil
}

// ParseEJSON parses extended JSON. If relaxed, typed numbers become JavaScript numbers where they stay
// exact; otherwise every number becomes a wrapper.
func (w *Realm) ParseEJSON(text string, relaxed bool) (goja.Value, error) {
	var v goja.Value
	if ex := w.rt.Try(func() { v = w.parseEJSON(text, relaxed, false) }); ex != nil {
		return nil, ex
	}
	return v, nil
}

// write returns the text of v; ok is false if v has none.
func (j *jsonWriter) write(v goja.Value) (text string, ok bool) {
	if j.isOmitted(v) && !goja.IsUndefined(v) {
		return "", false
	}
	j.path = append(j.initial.path[:0], step{name: "(root)"})
	j.counts = j.initial.counts[:0]
	j.buf, j.nothingHasToBSON = j.realm.reusable.takeBuffer(), j.realm.fields.prototypesLackToBSON()
	j.value(v)
	defer j.realm.reusable.giveBuffer(j.buf)
	return string(j.buf), true
}

// makeEJSON builds the global object EJSON.
func (w *Realm) makeEJSON() goja.Value {
	o := w.rt.NewObject()
	define := func(name string, f func(args []goja.Value) goja.Value) {
		must(o.Set(name, w.newFunction(name, func(call goja.FunctionCall) goja.Value { return f(call.Arguments) })))
	}
	define("stringify", w.ejsonStringify)
	define("parse", func(args []goja.Value) goja.Value {
		relaxed, legacy := readOptions(arg(args, 1))
		return w.parseEJSON(arg(args, 0).String(), relaxed, legacy)
	})
	define("serialize", func(args []goja.Value) goja.Value {
		text, ok := newJSONWriter(w, arg(args, 1), "").write(arg(args, 0))
		if !ok {
			return goja.Undefined()
		}
		return w.intrinsics.parseJSON(w.rt, text)
	})
	define("deserialize", func(args []goja.Value) goja.Value {
		relaxed, legacy := readOptions(arg(args, 1))
		text, err := w.intrinsics.stringify(nil, arg(args, 0))
		if err != nil {
			panic(err)
		}
		if goja.IsUndefined(text) {
			return text
		}
		return w.parseEJSON(text.String(), relaxed, legacy)
	})
	return o
}

func newJSONWriter(w *Realm, options goja.Value, gap string) *jsonWriter {
	relaxed, legacy := readOptions(options)
	j := &jsonWriter{realm: w, canonical: !relaxed, legacy: legacy, gap: gap}
	if o, ok := options.(*goja.Object); ok {
		v := o.Get("ignoreUndefined")
		j.ignoreUndefined = v != nil && v.ToBoolean()
	}
	return j
}

func readOptions(v goja.Value) (relaxed, legacy bool) {
	relaxed = true
	o, ok := v.(*goja.Object)
	if !ok {
		return relaxed, false
	}
	if r := o.Get("relaxed"); !isMissing(r) {
		relaxed = r.ToBoolean()
	}
	if l := o.Get("legacy"); l != nil {
		legacy = l.ToBoolean()
	}
	return relaxed, legacy
}

// ejsonStringify implements EJSON.stringify(v[, replacer][, space][, options]); the options may take
// the place of replacer or space.
func (w *Realm) ejsonStringify(args []goja.Value) goja.Value {
	replacer, space, options := arg(args, 1), arg(args, 2), arg(args, 3)
	if o, ok := space.(*goja.Object); ok {
		options, space = o, goja.Undefined()
	}
	if o, ok := replacer.(*goja.Object); ok && !isArray(o) && !isFunction(o) {
		options, replacer, space = o, goja.Undefined(), goja.Undefined()
	}
	if _, ok := replacer.(*goja.Object); !ok {
		text, ok := newJSONWriter(w, options, gapOf(space)).write(arg(args, 0))
		if !ok {
			return goja.Undefined()
		}
		return w.rt.ToValue(text)
	}
	text, ok := newJSONWriter(w, options, "").write(arg(args, 0))
	if !ok {
		return goja.Undefined()
	}
	replaced, err := w.intrinsics.stringify(nil, w.intrinsics.parseJSON(w.rt, text), replacer, space)
	if err != nil {
		panic(err)
	}
	return replaced
}

// gapOf evaluates the third argument of JSON.stringify: a number of spaces, or a string, limited to ten
// characters.
func gapOf(space goja.Value) string {
	switch {
	case goja.IsNumber(space):
		return strings.Repeat(" ", int(min(max(space.ToInteger(), 0), 10)))
	case isString(space):
		s := []rune(space.String())
		return string(s[:min(len(s), 10)])
	default:
		return ""
	}
}
