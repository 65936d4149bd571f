package values

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// className returns the name of the object's constructor; known is false for an object without a
// prototype.
func (in *inspector) className(o *goja.Object) (name string, known bool) {
	objects := &in.realm.intrinsics
	key := in.realm.rt.ToValue("constructor")
	switch proto := o.Prototype(); {
	case proto == nil:
		return "", false
	case in.hasItem(o, "constructor"):
	case proto == objects.objectProto && proto.Get("constructor") == objects.object:
		return "Object", true
	case proto == objects.arrayProto && proto.Get("constructor") == objects.array:
		return "Array", true
	}
	for p := o; p != nil; p = p.Prototype() {
		v, _ := in.ownProperty(p, key)
		ctor, ok := v.(*goja.Object)
		if !ok || !isFunction(ctor) || !in.isInstance(o, ctor) {
			continue
		}
		if n, _ := in.ownProperty(ctor, in.realm.rt.ToValue("name")); n != nil && isString(n) && n.String() != "" {
			return n.String(), true
		}
	}
	// a prototype chain that does not end in a class
	if inner, known := in.className(o.Prototype()); known {
		return "Object <" + inner + ">", true
	}
	return "Object <[Object: null prototype] {}>", true
}

// isInstance works like instanceof, without running script code.
func (in *inspector) isInstance(o, ctor *goja.Object) bool {
	proto, _ := in.ownProperty(ctor, in.realm.rt.ToValue("prototype"))
	for p := o.Prototype(); p != nil; p = p.Prototype() {
		if goja.Value(p) == proto {
			return true
		}
	}
	return false
}

// tag returns the object's Symbol.toStringTag, unless it is an own property that is shown.
func (in *inspector) tag(o *goja.Object) string {
	v := o.GetSymbol(goja.SymToStringTag)
	if v == nil || !isString(v) || slices.Contains(o.Symbols(), goja.SymToStringTag) {
		return ""
	}
	return v.String()
}

// prefix returns the text before an opening bracket: class name, size, tag.
func prefix(name string, known bool, tag, fallback, size string) string {
	switch {
	case !known && tag != "" && tag != fallback:
		return "[" + fallback + size + ": null prototype] [" + tag + "] "
	case !known:
		return "[" + fallback + size + ": null prototype] "
	case tag != "" && tag != name:
		return name + size + " [" + tag + "] "
	default:
		return name + size + " "
	}
}

// layoutOf determines the brackets and entries by the class of o.
func (in *inspector) layoutOf(o *goja.Object, name string, known bool) entryLayout {
	tag := in.tag(o)
	s := entryLayout{opening: "{", closing: "}"}
	s.symbols = o.Symbols()
	sized := func(n int) string { return "(" + strconv.Itoa(n) + ")" }
	braces := func(fallback, size string) {
		s.opening = prefix(name, known, tag, fallback, size) + "{"
	}
	s.depthTag = strings.TrimSuffix(prefix(name, known, tag, "Object", ""), " ")

	class := o.ClassName()
	switch {
	case class == "Array":
		n := arrayLength(o)
		s.array, s.opening, s.closing = true, "[", "]"
		if name != "Array" || tag != "" {
			s.opening = prefix(name, known, tag, "Array", sized(n)) + "["
		}
		s.depthTag = strings.TrimSuffix(prefix(name, known, tag, "Array", ""), " ")
		s.keys = extraKeys(o, n)
		if n > 0 {
			s.entries = in.arrayEntries(o, n)
		}
	case isSet(o):
		n := sizeOf(o, in.realm.intrinsics.setSize)
		braces("Set", sized(n))
		s.keys = o.Keys()
		if n > 0 {
			s.entries = in.setEntries(o, n)
		}
	case isMap(o):
		n := sizeOf(o, in.realm.intrinsics.mapSize)
		braces("Map", sized(n))
		s.keys = o.Keys()
		if n > 0 {
			s.entries = in.mapEntries(o, n)
		}
	case isTypedArray(o) && name == "Buffer":
		s.base, s.baseSuffices = bufferText(o), true
		s.keys = extraKeys(o, arrayLength(o))
	case isTypedArray(o):
		n := arrayLength(o)
		s.array, s.closing = true, "]"
		s.opening = prefix(name, known, tag, tag, sized(n)) + "["
		s.keys = extraKeys(o, n)
		if n > 0 {
			s.entries = in.typedEntries(o, n)
		}
	case class == "Arguments":
		s.opening, s.keys = "[Arguments] {", o.Keys()
	case isFunction(o):
		s.base, s.baseSuffices = plaintext.EscapeText(in.functionText(o, name, known, tag)), true
		s.keys = o.Keys()
		if len(s.keys) == 0 && len(s.symbols) == 0 {
			s.base = in.paint(styleSpecial, s.base)
		}
	default:
		in.setPlainLayout(o, &s, name, known, tag)
	}
	return s
}

// setPlainLayout works like layoutOf, for objects that are neither collections nor functions.
func (in *inspector) setPlainLayout(o *goja.Object, s *entryLayout, name string, known bool, tag string) {
	s.keys = in.realm.fields.keys(o)
	switch class := o.ClassName(); {
	case class == "RegExp":
		// The engine escapes slashes.
		s.base, s.baseSuffices = strings.ReplaceAll(o.String(), `\u002f`, `\/`), true
		if name != "RegExp" {
			s.base = prefix(name, known, tag, "RegExp", "") + s.base
		}
		s.base = plaintext.EscapeText(s.base)
		if len(s.keys) == 0 {
			s.base = in.paint(styleRegExp, s.base)
		}
	case class == "Error":
		s.base, s.baseSuffices = in.errorStack(o), true
	case boxedType(o) != "":
		s.base, s.baseSuffices = in.boxed(o, boxedType(o)), true
		if class == "String" {
			s.keys = extraKeys(o, arrayLength(o))
		}
	case o.ExportType() == typeOfPromise:
		s.opening = prefix(name, known, tag, "Promise", "") + "{"
		s.entries = in.promiseEntries(o.Export().(*goja.Promise))
	case tag == "WeakMap" || tag == "WeakSet":
		s.opening = prefix(name, known, tag, tag, "") + "{"
		s.entries = func(int) []string { return []string{in.paint(styleSpecial, "<items unknown>")} }
	case o.ExportType() == typeOfBuffer:
		s.opening = prefix(name, known, tag, "ArrayBuffer", "") + "{"
		s.entries = in.bufferEntries(o.Export().(goja.ArrayBuffer).Bytes())
	case name == "Object" && tag == "":
	default:
		s.opening = prefix(name, known, tag, "Object", "") + "{"
	}
}

// sizeOf returns the number of members of a Map or Set, by calling the built-in getter.
func sizeOf(o *goja.Object, size goja.Callable) int {
	n, err := size(o)
	if err != nil {
		panic(err)
	}
	return int(n.ToInteger())
}

// manyItems is the length from which properties of an array other than items are not shown: listing the
// keys would take longer than formatting.
const manyItems = 1 << 16

// extraKeys returns the enumerable names besides the items of an array.
func extraKeys(o *goja.Object, length int) []string {
	if length > manyItems {
		return nil
	}
	var extra []string
	for _, k := range o.Keys() {
		if !isIndex(k) {
			extra = append(extra, k)
		}
	}
	if slices.Equal(extra, []string{"input", "index", "groups"}) {
		// The result of a regular expression match, in the order of the specification.
		extra[0], extra[1] = extra[1], extra[0]
	}
	return extra
}

// maxBufferBytes is the maximum number of bytes of a Buffer or an ArrayBuffer that are shown.
const maxBufferBytes = 50

// bufferText returns text such as <Buffer 68 65 6c 6c 6f>.
func bufferText(o *goja.Object) string {
	n := arrayLength(o)
	var b strings.Builder
	b.WriteString("<Buffer")
	for i := range min(n, maxBufferBytes) {
		fmt.Fprintf(&b, " %02x", o.Get(strconv.Itoa(i)).ToInteger())
	}
	if rest := n - maxBufferBytes; rest > 0 {
		b.WriteString(" ... " + countText(rest, "more byte"))
	}
	return b.String() + ">"
}

// functionText returns text such as [Function: name] or [class A extends B].
func (in *inspector) functionText(o *goja.Object, class string, known bool, tag string) string {
	name := ""
	if n, _ := in.ownProperty(o, in.realm.rt.ToValue("name")); n != nil && isString(n) {
		name = n.String()
	}
	if o.ExportType() == typeOfCtor && strings.HasPrefix(o.String(), "class") {
		return in.classText(o, name, class, known, tag)
	}
	kind := "Function"
	switch tag {
	case "GeneratorFunction", "AsyncFunction", "AsyncGeneratorFunction":
		kind = tag
	}
	text := "[" + kind
	if !known {
		text += " (null prototype)"
	}
	if name == "" {
		text += " (anonymous)]"
	} else {
		text += ": " + name + "]"
	}
	if known && class != kind && class != "Function" {
		text += " " + class
	}
	if tag != "" && tag != class && tag != kind {
		text += " [" + tag + "]"
	}
	return text
}

func (in *inspector) classText(o *goja.Object, name, class string, known bool, tag string) string {
	name = cmp.Or(name, "(anonymous)")
	text := "class " + name
	if known && class != "Function" {
		text += " [" + class + "]"
	}
	if tag != "" && tag != class {
		text += " [" + tag + "]"
	}
	if !known {
		return "[" + text + " extends [null prototype]]"
	}
	if parent := o.Prototype(); parent != nil {
		if n, _ := in.ownProperty(parent, in.realm.rt.ToValue("name")); n != nil && isString(n) && n.String() != "" {
			text += " extends " + n.String()
		}
	}
	return "[" + text + "]"
}

// boxedType returns the type of the primitive in an object; empty if the object holds none.
func boxedType(o *goja.Object) string {
	switch class, t := o.ClassName(), o.ExportType(); {
	case class == "Number" || class == "String" || class == "Boolean":
		return class
	case t == typeOfBig:
		return "BigInt"
	case t != nil && t.Kind() == reflect.String && class == "Object":
		return "Symbol"
	default:
		return ""
	}
}

// boxed returns text such as [Number: 3].
func (in *inspector) boxed(o *goja.Object, class string) string {
	style := map[string]style{"Number": styleNumber, "String": styleString, "Boolean": styleBoolean, "BigInt": styleBigInt,
		"Symbol": styleSymbol}[class]
	plain := inspector{realm: in.realm, o: in.o, indent: in.indent}
	plain.o.Color = false
	return in.paint(style, "["+class+": "+plain.value(unboxed(o), 0, false)+"]")
}

func (in *inspector) date(o *goja.Object) string {
	t, ok := o.Export().(time.Time)
	if !ok {
		return in.paint(styleDate, "Invalid Date")
	}
	if in.o.BareDates {
		return in.paint(styleDate, isoString(t))
	}
	return "ISODate('" + isoString(t) + "')"
}

// isoString formats a time like Date.prototype.toISOString.
func isoString(t time.Time) string {
	t = t.UTC()
	switch y := t.Year(); {
	case y < 0:
		return "-" + pad6(-y) + t.Format("-01-02T15:04:05.000Z")
	case y > 9999:
		return "+" + pad6(y) + t.Format("-01-02T15:04:05.000Z")
	default:
		return t.Format("2006-01-02T15:04:05.000Z")
	}
}

func pad6(n int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(6-len(s), 0)) + s
}

// bufferEntries shows an ArrayBuffer as Node does.
func (in *inspector) bufferEntries(data []byte) func(level int) []string {
	return func(int) []string {
		n := min(len(data), in.maxItems(), maxBufferBytes)
		text := fmt.Sprintf("% x", data[:n])
		if rest := len(data) - n; rest > 0 {
			text += " ... " + countText(rest, "more byte")
		}
		return []string{
			in.paint(styleSpecial, "[Uint8Contents]") + ": <" + text + ">",
			"byteLength: " + in.paint(styleNumber, strconv.Itoa(len(data))),
		}
	}
}
