package values

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/plaintext"
)

// entryLayout describes how a kind of object is shown: the text around its entries, and a function that
// returns the entries.
type entryLayout struct {
	base         string // text before the opening bracket
	opening      string
	closing      string
	array        bool // entries may be grouped; extra properties are not
	baseSuffices bool // base is the whole text if there are no entries
	entries      func(level int) []string
	keys         []string
	symbols      []*goja.Symbol
	depthTag     string // shown when the nesting is too deep
}

// container shows an object with its entries.
func (in *inspector) container(o *goja.Object, level int) string {
	name, known := in.className(o)
	s := in.layoutOf(o, name, known)
	s.opening = plaintext.EscapeText(s.opening)
	if in.o.ShowHidden {
		s.keys, s.symbols = in.allOwnKeys(o), in.ownSymbols(o)
	}
	if s.entries == nil && len(s.keys) == 0 && len(s.symbols) == 0 {
		if s.baseSuffices {
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
	in.lastDepth = level
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
	if in.o.Sorted {
		first := 0
		if s.array {
			first = len(output) - len(s.keys) - len(s.symbols)
		}
		in.sort(output[first:])
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
	shown := in.key(key)
	if in.o.ShowHidden && !in.enumerable(o, in.realm.rt.ToValue(key)) {
		shown = "[" + plaintext.EscapeLine(key) + "]"
	}
	return shown + ":" + in.namedValue(o, in.realm.rt.ToValue(key), level, array)
}

func (in *inspector) symbolProperty(o *goja.Object, sym *goja.Symbol, level int, array bool) string {
	return "[" + in.paint(styleSymbol, symbolText(sym)) + "]:" + in.namedValue(o, sym, level, array)
}

// namedValue returns the text after the colon of a property.
func (in *inspector) namedValue(o *goja.Object, key goja.Value, level int, array bool) string {
	if in.o.Compact != CompactFull || array {
		return " " + in.propertyValueText(o, key, level, 2)
	}
	text := in.propertyValueText(o, key, level, 3)
	if in.displayWidth(text) > in.o.Width {
		return "\n" + strings.Repeat(" ", in.indent+3) + text
	}
	return " " + text
}

// propertyValueText formats the value of a property, or describes its accessor. Accessors are never called.
func (in *inspector) propertyValueText(o *goja.Object, key goja.Value, level, indent int) string {
	v, accessor := in.ownProperty(o, key)
	if accessor != "" {
		return in.paint(styleSpecial, "["+accessor+"]")
	}
	in.indent += indent
	text := in.value(v, level, false)
	in.indent -= indent
	return text
}

// ownProperty reads an own property without running script code.
func (in *inspector) ownProperty(o *goja.Object, key goja.Value) (v goja.Value, accessor string) {
	descriptor, ok := in.descriptor(o, key)
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

// descriptor describes an own property, if there is one.
func (in *inspector) descriptor(o *goja.Object, key goja.Value) (*goja.Object, bool) {
	d, err := in.realm.intrinsics.getOwnDescriptor(nil, o, key)
	if err != nil {
		panic(err)
	}
	descriptor, ok := d.(*goja.Object)
	return descriptor, ok
}

func (in *inspector) key(key string) string {
	switch {
	case key == "__proto__":
		return "['__proto__']"
	case isBareKey(key):
		return key
	default:
		return in.paint(styleString, quoteString(key))
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

// arrayEntries formats the items of an array; consecutive holes are one entry.
func (in *inspector) arrayEntries(o *goja.Object, length int) func(level int) []string {
	return func(level int) []string {
		limit := in.maxItems()
		var output []string
		var items []int // where the array has items; read at the first hole
		i := 0
		for i < length && len(output) < limit {
			key := strconv.Itoa(i)
			if !in.hasItem(o, key) {
				if items == nil {
					items = append(itemIndexes(o), length)
				}
				at, _ := slices.BinarySearch(items, i)
				holes := max(1, items[at]-i) // an accessor that ran since may have changed the array
				output = append(output, in.paint(styleUndefined, "<"+countText(holes, "empty item")+">"))
				i += holes
				continue
			}
			output = append(output, in.propertyValueText(o, in.realm.rt.ToValue(key), level, 2))
			i++
		}
		return in.appendMore(output, length-i)
	}
}

// itemIndexes returns the indexes of an array's items, without its holes.
func itemIndexes(o *goja.Object) (list []int) {
	for _, name := range o.GetOwnPropertyNames() {
		i, err := strconv.ParseUint(name, 10, 32)
		if err == nil && i < math.MaxUint32 && strconv.FormatUint(i, 10) == name {
			list = append(list, int(i))
		}
	}
	slices.Sort(list)
	return list
}

// hasItem reports whether an array itself holds an item, rather than a hole, at key.
func (in *inspector) hasItem(o *goja.Object, key string) bool {
	_, ok := in.descriptor(o, in.realm.rt.ToValue(key))
	return ok
}

// appendMore appends the entry for the items over the limit.
func (in *inspector) appendMore(output []string, rest int) []string {
	if rest <= 0 {
		return output
	}
	return append(output, "... "+countText(rest, "more item"))
}

// countText returns text such as "1 item" or "3 items".
func countText(n int, noun string) string {
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
		in.realm.rt.ForOf(members(o, in.realm.intrinsics.setValues), func(v goja.Value) bool {
			if len(output) == limit {
				return false
			}
			output = append(output, in.value(v, level, false))
			return true
		})
		in.indent -= 2
		return in.appendMore(output, size-len(output))
	}
}

func (in *inspector) mapEntries(o *goja.Object, size int) func(level int) []string {
	return func(level int) []string {
		var output []string
		limit := in.maxItems()
		in.indent += 2
		in.realm.rt.ForOf(members(o, in.realm.intrinsics.mapEntries), func(entry goja.Value) bool {
			if len(output) == limit {
				return false
			}
			pair := entry.(*goja.Object)
			output = append(output, in.value(pair.Get("0"), level, false)+" => "+in.value(pair.Get("1"), level, false))
			return true
		})
		in.indent -= 2
		return in.appendMore(output, size-len(output))
	}
}

// members calls a built-in iteration method of Map or Set, even if a subclass overrides it.
func members(o *goja.Object, iterate goja.Callable) goja.Value {
	it, err := iterate(o)
	if err != nil {
		panic(err)
	}
	return it
}

// typedEntries formats the numbers of a typed array.
func (in *inspector) typedEntries(o *goja.Object, length int) func(level int) []string {
	return func(level int) []string {
		n := min(length, in.maxItems())
		output := make([]string, 0, n)
		for i := range n {
			output = append(output, in.value(o.Get(strconv.Itoa(i)), level, false))
		}
		return in.appendMore(output, length-n)
	}
}

// promiseEntries formats the state of a promise.
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
