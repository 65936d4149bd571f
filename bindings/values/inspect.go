package values

import (
	"cmp"
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// The default limits of rules/04-values-and-language §3.2.
const (
	defaultDepth     = 6
	defaultMaxItems  = 100
	defaultMaxString = 10_000
	defaultCompact   = 3
	lineWidth        = 80
)

// Special values of InspectOptions fields.
const (
	Unlimited   = -1            // Depth, MaxItems, MaxString, Width: no limit
	TopLevel    = math.MinInt   // Depth: only the entries of the value itself
	MultiLine   = -1            // Compact: every entry on a separate line
	CompactFull = math.MaxInt32 // Compact: as true in Node: no limit on levels, and brackets share lines
)

// InspectOptions say how much of a value is shown, and how. In each field, 0 stands for print()'s
// default, and a negative limit for none. The limits do not apply to documents from a server
// (rules/04-values-and-language §3.6).
type InspectOptions struct {
	Depth        int  // levels below the value that are shown, default 6; TopLevel for none
	MaxItems     int  // items of an array, Set or Map, default 100
	MaxString    int  // UTF-16 units of a string, default 10,000
	Width        int  // columns of a line, default 80 regardless of the terminal
	Compact      int  // levels that may share a line, default 3; MultiLine, CompactFull
	Color        bool // SGR colour codes (rules/04-values-and-language §3.7)
	ErrorStacks  bool // show the stack and fields of errors inside values
	ShowHidden   bool // show properties that are not enumerable, too, in brackets
	IgnoreCustom bool // ignore custom inspection methods of objects
	BareDates    bool // dates without ISODate(…)

	Sorted  bool                                      // sort the entries of objects
	Compare func(a, b goja.Value) (goja.Value, error) // order of entry texts; nil orders by bytes
}

// DefaultInspectOptions returns the options of print(): depth 6, 100 items, no colour.
func DefaultInspectOptions() InspectOptions {
	return InspectOptions{Depth: defaultDepth, MaxItems: defaultMaxItems, MaxString: defaultMaxString, Width: lineWidth,
		Compact: defaultCompact}
}

// UnlimitedInspectOptions returns the options for the final result of --eval and for explain output, without
// limits.
func UnlimitedInspectOptions() InspectOptions {
	return InspectOptions{Depth: Unlimited, MaxItems: Unlimited, MaxString: Unlimited}
}

// Inspect formats a value as it is shown inside another one (rules/04-values-and-language §3.2–3.4):
// strings are quoted. Objects with a printer are formatted by the printer.
func (w *Realm) Inspect(v goja.Value, o InspectOptions) string {
	return newInspector(w, o).text(v)
}

// InspectOutput formats a value as the result of an input or, unless result is set, as an argument of
// print() (rules/04-values-and-language §3.1). Strings are raw, but in a result not those with control
// characters. An error is formatted by ErrorText in a result, and as [Name: message] in print().
// undefined is an empty string.
func (w *Realm) InspectOutput(v goja.Value, o InspectOptions, result bool) string {
	if v == nil || goja.IsUndefined(v) {
		return ""
	}
	if s, ok := v.(goja.String); ok {
		if result && strings.ContainsFunc(s.String(), isControl) {
			return w.Inspect(v, o)
		}
		return s.String()
	}
	if e, ok := v.(*goja.Object); ok && result && e.ClassName() == "Error" {
		return w.ErrorText(v, o)
	}
	return w.Inspect(v, o)
}

// isControl reports whether a character is a control character other than tab and line feed.
func isControl(r rune) bool { return r <= 0x9f && plaintext.IsControl(r) }

// PrintjsonText formats a value for printjson: strings raw, other values without limits and with every
// entry on a separate line.
func (w *Realm) PrintjsonText(v goja.Value) string {
	if s, ok := v.(goja.String); ok {
		return s.String()
	}
	if goja.IsUndefined(v) {
		return ""
	}
	o := UnlimitedInspectOptions()
	o.Compact = MultiLine
	return w.Inspect(v, o)
}

// text inspects a value. It catches exceptions of a script's own methods.
func (in *inspector) text(v goja.Value) (text string) {
	if ex := in.realm.rt.Try(func() { text = in.value(v, 0, false) }); ex != nil {
		// a trap or a toString of the script's own failed
		return "[Uninspectable: " + plaintext.EscapeText(ex.Value().String()) + "]"
	}
	return text
}

// inspector is the state of one call of Inspect. It follows Node's algorithm step by step, because the
// layout depends on the order in which values are visited.
type inspector struct {
	realm *Realm
	o     InspectOptions

	indent      int // column at which the value begins
	lastDepth   int // depth of the most recently entered non-empty container
	serverDepth int // number of server documents around the value
	seen        []*goja.Object
	circular    map[*goja.Object]int
}

func newInspector(w *Realm, o InspectOptions) *inspector {
	limit := func(n, standard int) int {
		switch {
		case n == 0:
			return standard
		case n == TopLevel:
			return 0
		case n < 0:
			return math.MaxInt
		default:
			return n
		}
	}
	o.Depth = limit(o.Depth, defaultDepth)
	o.MaxItems = limit(o.MaxItems, defaultMaxItems)
	o.MaxString = limit(o.MaxString, defaultMaxString)
	o.Width = limit(o.Width, lineWidth)
	o.Compact = cmp.Or(o.Compact, defaultCompact)
	return &inspector{realm: w, o: o}
}

func (in *inspector) maxItems() int {
	if in.serverDepth > 0 {
		return math.MaxInt
	}
	return in.o.MaxItems
}

// maxInspectDepth limits the nesting if no other limit does: each level copies the text of its inner
// levels.
const maxInspectDepth = 400

func (in *inspector) tooDeep(level int) bool {
	return in.serverDepth == 0 && level > in.o.Depth || len(in.seen) >= maxInspectDepth
}

// nested formats a part of a leaf, such as the scope of Code.
func (in *inspector) nested(v goja.Value) string {
	last := in.lastDepth
	text := in.value(v, 0, true)
	in.lastDepth = last
	return text
}

// value formats v at the given level. single requests a string in one piece.
func (in *inspector) value(v goja.Value, level int, single bool) string {
	switch v := v.(type) {
	case nil:
		return in.paint(styleUndefined, "undefined")
	case *goja.Object:
		return in.object(v, level)
	case goja.String:
		return in.string(v, single)
	case *goja.Symbol:
		return in.paint(styleSymbol, symbolText(v))
	}
	switch {
	case goja.IsUndefined(v):
		return in.paint(styleUndefined, "undefined")
	case goja.IsNull(v):
		return in.paint(styleNull, "null")
	case goja.IsBigInt(v):
		return in.paint(styleBigInt, v.String()+"n")
	case goja.IsNumber(v):
		return in.paint(styleNumber, numberText(in.realm.rt, v.ToFloat()))
	default:
		return in.paint(styleBoolean, strconv.FormatBool(v.ToBoolean()))
	}
}

func symbolText(s *goja.Symbol) string { return "Symbol(" + s.String() + ")" }

// object formats values other than primitives.
func (in *inspector) object(o *goja.Object, level int) string {
	materializeTarget(o)
	if text, ok := in.printerText(o); ok {
		return text
	}
	if p, ok := payloadOf(o); ok {
		return p.inspectText(in)
	}
	if in.realm.printers.isOneLine(o) {
		return in.oneLine(o)
	}
	if IsProxy(o) {
		target := o.Export().(goja.Proxy).Target()
		if target == nil {
			return in.paint(styleSpecial, "<Revoked Proxy>")
		}
		o = target
		if text, ok := in.printerText(o); ok {
			return text
		}
		if p, ok := payloadOf(o); ok {
			return p.inspectText(in)
		}
	}
	if text, ok := in.custom(o, level); ok {
		return text
	}
	if b := in.realm.minMaxKeyOfConstructor(o); b != nil {
		return b.inspectText(in)
	}
	if o.ClassName() == "Date" {
		return in.date(o)
	}
	for _, outer := range in.seen {
		if outer == o {
			return in.paint(styleSpecial, "[Circular *"+strconv.Itoa(in.reference(o))+"]")
		}
	}
	if o.ClassName() == "Error" && !in.o.ErrorStacks {
		return in.errorLine(o)
	}
	if in.realm.marks.isFromServer(o) {
		in.serverDepth++
		defer func() { in.serverDepth-- }()
	}
	return in.container(o, level)
}

// printerText returns the text of an object with a printer. The text may contain the shell's colours.
func (in *inspector) printerText(o *goja.Object) (string, bool) {
	text, ok := in.realm.printers.printerText(o)
	if in.o.Color {
		return plaintext.EscapeStyled(text), ok
	}
	return plaintext.EscapeText(text), ok
}

// reference returns the number of an object that contains itself.
func (in *inspector) reference(o *goja.Object) int {
	if n, ok := in.circular[o]; ok {
		return n
	}
	if in.circular == nil {
		in.circular = make(map[*goja.Object]int)
	}
	n := len(in.circular) + 1
	in.circular[o] = n
	return n
}

// oneLine formats an object as a leaf on a line of any width.
func (in *inspector) oneLine(o *goja.Object) string {
	line := &inspector{realm: in.realm, o: in.o, serverDepth: in.serverDepth}
	line.o.Width = math.MaxInt
	line.o.Compact = CompactFull
	return line.container(o, 0)
}
