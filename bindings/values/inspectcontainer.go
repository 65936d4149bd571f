package values

import (
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/dop251/goja"
	"golang.org/x/text/width"
)

// shape is how a kind of object is shown: what stands around the entries and
// where these come from.
type shape struct {
	base     string // text before the opening bracket
	opening  string
	closing  string
	array    bool // entries may be grouped; extra properties are not
	alone    bool // base is the whole text if there are no entries
	entries  func(level int) []string
	keys     []string
	symbols  []*goja.Symbol
	depthTag string // name shown when the object is too deep
}

// container shows an object with its entries.
func (in *inspector) container(o *goja.Object, level int) string {
	name, known := in.className(o)
	s := in.shapeOf(o, name, known)
	if s.entries == nil && len(s.keys) == 0 && len(s.symbols) == 0 {
		if s.alone {
			return s.base
		}
		return s.opening + s.closing
	}
	if in.tooDeep(level) {
		if o.ClassName() == "RegExp" {
			return in.paint(styleRegExp, s.base)
		}
		return in.paint(styleSpecial, "["+s.depthTag+"]")
	}
	level++
	in.seen = append(in.seen, o)
	in.last = level
	var output []string
	if s.entries != nil {
		output = s.entries(level)
	}
	for _, key := range s.keys {
		output = append(output, in.property(o, key, level, s.array))
	}
	for _, sym := range s.symbols {
		output = append(output, in.symbolProperty(o, sym, level, s.array))
	}
	in.seen = in.seen[:len(in.seen)-1]
	if n, ok := in.circular[o]; ok {
		ref := in.paint(styleSpecial, "<ref *"+strconv.Itoa(n)+">")
		switch {
		case in.o.Compact == CompactFull:
			s.opening = ref + " " + s.opening
		case s.base == "":
			s.base = ref
		default:
			s.base = ref + " " + s.base
		}
	}
	return in.layout(output, s, level, o)
}

// property shows one entry of an object: its key and its value.
func (in *inspector) property(o *goja.Object, key string, level int, array bool) string {
	return in.key(key) + ":" + in.named(o, in.w.rt.ToValue(key), level, array)
}

func (in *inspector) symbolProperty(o *goja.Object, sym *goja.Symbol, level int, array bool) string {
	return "[" + in.paint(styleSymbol, symbolText(sym)) + "]:" + in.named(o, sym, level, array)
}

// named is what follows the colon of a property.
func (in *inspector) named(o *goja.Object, key goja.Value, level int, array bool) string {
	if in.o.Compact != CompactFull || array {
		return " " + in.slot(o, key, level, 2)
	}
	text := in.slot(o, key, level, 3)
	if in.columns(text) > in.o.Width {
		return "\n" + strings.Repeat(" ", in.indent+3) + text
	}
	return " " + text
}

// slot shows the value under a key, or what kind of accessor stands there.
// Accessors are never called.
func (in *inspector) slot(o *goja.Object, key goja.Value, level, indent int) string {
	v, accessor := in.own(o, key)
	if accessor != "" {
		return in.paint(styleSpecial, "["+accessor+"]")
	}
	in.indent += indent
	text := in.value(v, level, false)
	in.indent -= indent
	return text
}

// own reads an own property without running script code.
func (in *inspector) own(o *goja.Object, key goja.Value) (v goja.Value, accessor string) {
	d, err := in.w.runtimeObjects().getOwn(nil, o, key)
	if err != nil {
		panic(err)
	}
	descriptor, ok := d.(*goja.Object)
	if !ok {
		return goja.Undefined(), ""
	}
	if v := descriptor.Get("value"); v != nil {
		return v, ""
	}
	get, set := descriptor.Get("get"), descriptor.Get("set")
	switch hasGet, hasSet := !isMissing(get), !isMissing(set); {
	case hasGet && hasSet:
		return nil, "Getter/Setter"
	case hasGet:
		return nil, "Getter"
	case hasSet:
		return nil, "Setter"
	default:
		return goja.Undefined(), ""
	}
}

func (in *inspector) key(key string) string {
	switch {
	case key == "__proto__":
		return "['__proto__']"
	case isBareKey(key):
		return key
	default:
		return in.paint(styleString, quoteKey(key))
	}
}

func isBareKey(key string) bool {
	for i := range len(key) {
		c := key[i]
		if c != '_' && !isAlphanumeric(c) || i == 0 && c >= '0' && c <= '9' {
			return false
		}
	}
	return key != ""
}

// arrayEntries shows the items of an array, runs of holes as one entry.
func (in *inspector) arrayEntries(o *goja.Object, length int) func(level int) []string {
	return func(level int) []string {
		limit := in.maxItems()
		var output []string
		i := 0
		for i < length && len(output) < limit {
			key := strconv.Itoa(i)
			if !in.hasItem(o, key) {
				holes := 1
				for i+holes < length && !in.hasItem(o, strconv.Itoa(i+holes)) {
					holes++
				}
				output = append(output, in.paint(styleUndefined, "<"+count(holes, "empty item")+">"))
				i += holes
				continue
			}
			output = append(output, in.slot(o, in.w.rt.ToValue(key), level, 2))
			i++
		}
		return in.more(output, length-i)
	}
}

// hasItem says whether an array holds an item, rather than a hole, at key.
func (in *inspector) hasItem(o *goja.Object, key string) bool {
	return o.Get(key) != nil
}

// more appends the entry that stands for items over the limit.
func (in *inspector) more(output []string, rest int) []string {
	if rest <= 0 {
		return output
	}
	return append(output, "... "+count(rest, "more item"))
}

// count is "1 item" or "3 items".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}

// setEntries and mapEntries show the members of a Set or Map.
func (in *inspector) setEntries(o *goja.Object, size int) func(level int) []string {
	return func(level int) []string {
		var output []string
		limit := in.maxItems()
		in.indent += 2
		in.w.rt.ForOf(in.iterable(o, "Set", "values"), func(v goja.Value) bool {
			if len(output) == limit {
				return false
			}
			output = append(output, in.value(v, level, false))
			return true
		})
		in.indent -= 2
		return in.more(output, size-len(output))
	}
}

func (in *inspector) mapEntries(o *goja.Object, size int) func(level int) []string {
	return func(level int) []string {
		var output []string
		limit := in.maxItems()
		in.indent += 2
		in.w.rt.ForOf(in.iterable(o, "Map", "entries"), func(entry goja.Value) bool {
			if len(output) == limit {
				return false
			}
			pair := entry.(*goja.Object)
			output = append(output, in.value(pair.Get("0"), level, false)+" => "+in.value(pair.Get("1"), level, false))
			return true
		})
		in.indent -= 2
		return in.more(output, size-len(output))
	}
}

// iterable asks Map or Set itself for its members, whatever a subclass made of
// iteration.
func (in *inspector) iterable(o *goja.Object, class, method string) goja.Value {
	proto, _ := in.w.globalObject(class).Get("prototype").(*goja.Object)
	it, err := callable(proto.Get(method))(o)
	if err != nil {
		panic(err)
	}
	return it
}

// typedEntries shows the numbers of a typed array.
func (in *inspector) typedEntries(o *goja.Object, length int) func(level int) []string {
	return func(level int) []string {
		n := min(length, in.maxItems())
		output := make([]string, 0, n)
		for i := range n {
			output = append(output, in.value(o.Get(strconv.Itoa(i)), level, false))
		}
		return in.more(output, length-n)
	}
}

// promiseEntries shows the state of a promise.
func (in *inspector) promiseEntries(p *goja.Promise) func(level int) []string {
	return func(level int) []string {
		if p.State() == goja.PromiseStatePending {
			return []string{in.paint(styleSpecial, "<pending>")}
		}
		in.indent += 2
		text := in.value(p.Result(), level, false)
		in.indent -= 2
		if p.State() == goja.PromiseStateRejected {
			return []string{in.paint(styleSpecial, "<rejected>") + " " + text}
		}
		return []string{text}
	}
}

// layout joins the entries: on one line if the nesting and the width allow it,
// in columns for long arrays, else one to a line (spec 04 §3.2, rules 7–10).
func (in *inspector) layout(output []string, s shape, level int, o *goja.Object) string {
	if in.o.Compact == CompactFull {
		return in.layoutFull(output, s)
	}
	prefix := ""
	if s.base != "" {
		prefix = s.base + " "
	}
	if in.o.Compact > 0 {
		entries := len(output)
		if s.array && entries > 6 {
			output = in.group(output, o)
		}
		if in.last-level < in.o.Compact && entries == len(output) {
			start := len(output) + in.indent + utf16Length(s.opening) + utf16Length(s.base) + 10 // colour codes of base count, as in Node
			if in.fits(output, start, s.base) {
				return prefix + s.opening + " " + strings.Join(output, ", ") + " " + s.closing
			}
		}
	}
	line := "\n" + strings.Repeat(" ", in.indent)
	return prefix + s.opening + line + "  " + strings.Join(output, ","+line+"  ") + line + s.closing
}

// layoutFull is the layout of Compact: CompactFull.
func (in *inspector) layoutFull(output []string, s shape) string {
	base := ""
	if s.base != "" {
		base = " " + s.base
	}
	if in.fitsFull(output, s.base) {
		return s.opening + base + " " + strings.Join(output, ", ") + " " + s.closing
	}
	line := "\n" + strings.Repeat(" ", in.indent)
	start := " "
	if s.base != "" || len(s.opening) != 1 {
		start = base + line + "  "
	}
	return s.opening + start + strings.Join(output, ","+line+"  ") + " " + s.closing
}

func (in *inspector) fitsFull(output []string, base string) bool {
	total := len(output)
	if total+len(output) > in.o.Width {
		return false
	}
	for _, entry := range output {
		total += in.width(entry)
	}
	return total <= in.o.Width && !strings.Contains(base, "\n")
}

func (in *inspector) fits(output []string, start int, base string) bool {
	total := len(output) + start
	for _, entry := range output {
		if strings.Contains(entry, "\n") {
			return false
		}
		total += in.width(entry)
		if total > in.o.Width {
			return false
		}
	}
	return total <= in.o.Width && !strings.Contains(base, "\n")
}

// group puts the entries of an array into columns; it returns them unchanged
// if they do not lend themselves to that.
func (in *inspector) group(output []string, o *goja.Object) []string {
	n := len(output)
	if in.hasMore(output, o) {
		n-- // the "more items" entry stands alone
	}
	const separator = 2 // ", "
	lengths := make([]int, n)
	total, longest := 0, 0
	for i, entry := range output[:n] {
		lengths[i] = in.columns(entry)
		total += lengths[i] + separator
		longest = max(longest, lengths[i])
	}
	cell := longest + separator
	if cell*3+in.indent >= in.o.Width || !(float64(total)/float64(cell) > 5 || longest <= 6) {
		return output
	}
	bias := math.Sqrt(float64(cell) - float64(total)/float64(len(output)))
	biased := math.Max(float64(cell)-3-bias, 1)
	columns := min(
		int(math.Floor(math.Sqrt(2.5*biased*float64(n))/biased+0.5)),
		(in.o.Width-in.indent)/cell,
		in.o.Compact*4,
		15,
	)
	if columns <= 1 {
		return output
	}
	widths := make([]int, columns)
	for i, length := range lengths {
		widths[i%columns] = max(widths[i%columns], length+separator)
	}
	padLeft := in.allNumbers(o, len(output))
	var rows []string
	for i := 0; i < n; i += columns {
		rows = append(rows, in.row(output[i:min(i+columns, n)], lengths[i:], widths, padLeft))
	}
	return append(rows, output[n:]...)
}

// row joins the cells of one row; the last one is padded only on the left.
func (in *inspector) row(cells []string, lengths, widths []int, padLeft bool) string {
	var b strings.Builder
	for i, cell := range cells {
		last := i == len(cells)-1
		switch {
		case padLeft && last:
			b.WriteString(strings.Repeat(" ", max(widths[i]-2-lengths[i], 0)) + cell)
		case padLeft:
			b.WriteString(strings.Repeat(" ", max(widths[i]-2-lengths[i], 0)) + cell + ", ")
		case last:
			b.WriteString(cell)
		default:
			b.WriteString(cell + ", " + strings.Repeat(" ", max(widths[i]-2-lengths[i], 0)))
		}
	}
	return b.String()
}

// hasMore says whether the last entry stands for items over the limit.
func (in *inspector) hasMore(output []string, o *goja.Object) bool {
	return len(output) > in.maxItems()
}

// allNumbers says whether the first n items are numbers or BigInts.
func (in *inspector) allNumbers(o *goja.Object, n int) bool {
	for i := range n {
		v := o.Get(strconv.Itoa(i))
		if !goja.IsNumber(v) && !goja.IsBigInt(v) {
			return false
		}
	}
	return true
}

// width is the number of UTF-16 units without colour codes.
func (in *inspector) width(s string) int {
	if in.o.Color {
		s = stripColor(s)
	}
	return utf16Length(s)
}

// columns is the number of places s takes on a terminal, which is what the
// columns of an array are made of.
func (in *inspector) columns(s string) int {
	if in.o.Color {
		s = stripColor(s)
	}
	n := 0
	for _, r := range s {
		switch {
		case r < 0x7F && r >= 0x20:
			n++
		case r != 0xAD && unicode.In(r, unicode.Cc, unicode.Cf, unicode.Me, unicode.Mn):
		case width.LookupRune(r).Kind() == width.EastAsianWide || width.LookupRune(r).Kind() == width.EastAsianFullwidth:
			n += 2
		default:
			n++
		}
	}
	return n
}
