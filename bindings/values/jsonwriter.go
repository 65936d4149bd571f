package values

import (
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// jsonWriter writes a JavaScript value as extended JSON, in the layout of JSON.stringify.
type jsonWriter struct {
	realm            *Realm
	nothingHasToBSON bool // see objectFields.prototypesLackToBSON
	canonical        bool
	legacy           bool
	ignoreUndefined  bool
	gap              string

	buf     []byte
	counts  []int // members written so far, for each open container
	path    []step
	initial struct { // initial buffers, which are usually sufficient
		counts [8]int
		path   [8]step
	}
}

// step is one level of the path to the value being written, for the message
// about cycles.
type step struct {
	name string
	obj  *goja.Object
}

func (j *jsonWriter) raw(s string) { j.buf = append(j.buf, s...) }

func (j *jsonWriter) text(s string) { j.buf = appendJSONString(j.buf, s) }

func (j *jsonWriter) open(bracket byte) {
	j.buf = append(j.buf, bracket)
	j.counts = append(j.counts, 0)
}

func (j *jsonWriter) close(bracket byte) {
	members := j.counts[len(j.counts)-1]
	j.counts = j.counts[:len(j.counts)-1]
	if members > 0 {
		j.newline()
	}
	j.buf = append(j.buf, bracket)
}

func (j *jsonWriter) newline() {
	if j.gap == "" {
		return
	}
	j.buf = append(j.buf, '\n')
	for range j.counts {
		j.buf = append(j.buf, j.gap...)
	}
}

// beginMember begins the next member of the open container.
func (j *jsonWriter) beginMember() {
	n := &j.counts[len(j.counts)-1]
	if *n > 0 {
		j.buf = append(j.buf, ',')
	}
	*n++
	j.newline()
}

func (j *jsonWriter) key(name string) {
	j.beginMember()
	j.text(name)
	j.buf = append(j.buf, ':')
	if j.gap != "" {
		j.buf = append(j.buf, ' ')
	}
}

// pair writes an object with one string member.
func (j *jsonWriter) pair(key, value string) {
	j.open('{')
	j.key(key)
	j.text(value)
	j.close('}')
}

// isOmitted reports whether JSON omits v: functions and symbols.
func (j *jsonWriter) isOmitted(v goja.Value) bool {
	switch v := v.(type) {
	case *goja.Symbol:
		return true
	case *goja.Object:
		return isFunction(v) && j.realm.minMaxKeyOfConstructor(v) == nil
	case nil:
		return false
	default:
		return j.ignoreUndefined && goja.IsUndefined(v)
	}
}

func (j *jsonWriter) value(v goja.Value) {
	switch v := v.(type) {
	case nil:
		j.raw("null")
		return
	case *goja.Object:
		j.object(v)
		return
	case goja.String:
		j.string(v)
		return
	}
	switch {
	case goja.IsUndefined(v), goja.IsNull(v):
		j.raw("null")
	case goja.IsNumber(v):
		j.rawNumber(v.ToFloat())
	case goja.IsBigInt(v):
		(&long{realm: j.realm, n: low64Bits(v.Export().(*big.Int))}).writeEJSON(j)
	case typeOf(v) == "symbol":
		j.raw("null")
	default:
		j.raw(strconv.FormatBool(v.ToBoolean()))
	}
}

// numberForm is the canonical form of a number.
type numberForm uint8

const (
	numberAny    numberForm = iota // by its value
	numberInt                      // an Int32
	numberDouble                   // a Double
)

// number writes f as js-bson does: a whole number is $numberInt or, out of its range, $numberLong,
// although it is sent as a double (rules/04-values-and-language §4.10).
func (j *jsonWriter) number(f float64, form numberForm) {
	finite := !math.IsNaN(f) && !math.IsInf(f, 0)
	text := j.realm.rt.ToValue(f).String()
	if finite && (!j.canonical || j.legacy && form != numberAny) {
		j.raw(text)
		return
	}
	if f == 0 && math.Signbit(f) {
		j.pair("$numberDouble", "-0.0")
		return
	}
	whole := finite && f == math.Trunc(f)
	switch {
	case form == numberDouble && whole && !strings.ContainsRune(text, 'e'):
		j.pair("$numberDouble", text+".0")
	case form != numberDouble && whole && f >= math.MinInt32 && f <= math.MaxInt32:
		j.pair("$numberInt", text)
	case form != numberDouble && whole && f >= -1<<63 && f <= 1<<63:
		j.pair("$numberLong", text)
	default:
		j.pair("$numberDouble", text)
	}
}

func (j *jsonWriter) object(o *goja.Object) {
	if objectKindOf(o) != otherObject {
		j.container(o)
		return
	}
	if p, ok := payloadOf(o); ok {
		j.enter(o)
		p.writeEJSON(j)
		return
	}
	if b := j.realm.minMaxKeyOfConstructor(o); b != nil {
		b.writeEJSON(j)
		return
	}
	if data, ok := bytesOf(o); ok {
		(&binaryValue{realm: j.realm, data: data}).writeEJSON(j)
		return
	}
	if isFunction(o) {
		j.raw("null")
		return
	}
	switch o.ClassName() {
	case "Date":
		j.date(o)
		return
	case "RegExp":
		source, flags := sourceAndFlags(o)
		j.regex(source, bsonOptions(flags))
		return
	}
	if boxedType(o) != "" {
		j.value(unboxed(o))
		return
	}
	j.container(o)
}

// container writes the items or fields of an object, unless the object has another form in BSON.
func (j *jsonWriter) container(o *goja.Object) {
	if l := lazyOf(o); l != nil && j.writeLazy(l) {
		return
	}
	if v, other := j.realm.fields.callToBSON(o, j.nothingHasToBSON); other {
		j.nestedValue("toBSON()", v) // the result may have a toBSON of its own, without end
		return
	}
	j.enter(o)
	switch {
	case isArray(o) || isTypedArray(o):
		j.array(o)
	case isSet(o):
		j.set(o)
	case isMap(o):
		j.mapObject(o)
	default:
		j.open('{')
		j.fields(o)
		j.close('}')
	}
}

func (j *jsonWriter) fields(o *goja.Object) { j.realm.fields.each(o, j.member) }

func (j *jsonWriter) member(key string, v goja.Value) {
	if j.isOmitted(v) {
		return
	}
	j.key(key)
	j.nestedValue(key, v)
}

// nestedValue writes v one level deeper.
func (j *jsonWriter) nestedValue(name string, v goja.Value) {
	if len(j.path) >= maxNesting {
		j.realm.Errors.throwBSON("Cannot convert a value nested more than " + strconv.Itoa(maxNesting) + " levels to EJSON")
	}
	j.path = append(j.path, step{name: name})
	j.value(v)
	j.path = j.path[:len(j.path)-1]
}

func (j *jsonWriter) element(i int, v goja.Value) {
	j.beginMember()
	if j.isOmitted(v) {
		j.raw("null")
		return
	}
	name := "" // the name is needed only for values with members
	if _, isObject := v.(*goja.Object); isObject {
		name = "index " + strconv.Itoa(i)
	}
	j.nestedValue(name, v)
}

func (j *jsonWriter) array(o *goja.Object) {
	j.open('[')
	for i := range arrayLength(o) {
		j.element(i, j.realm.fields.item(o, i))
	}
	j.close(']')
}

func (j *jsonWriter) set(o *goja.Object) {
	j.open('[')
	i := 0
	j.realm.rt.ForOf(members(o, j.realm.intrinsics.setValues), func(v goja.Value) bool {
		j.element(i, v)
		i++
		return true
	})
	j.close(']')
}

func (j *jsonWriter) mapObject(o *goja.Object) {
	j.open('{')
	j.realm.rt.ForOf(members(o, j.realm.intrinsics.mapEntries), func(entry goja.Value) bool {
		pair := entry.(*goja.Object)
		key := pair.Get("0")
		if !isString(key) {
			j.realm.Errors.throwBSON("Can only serialize maps with string keys")
		}
		j.member(key.String(), pair.Get("1"))
		return true
	})
	j.close('}')
}

// date writes a date.
func (j *jsonWriter) date(o *goja.Object) {
	if t, ok := o.Export().(time.Time); ok {
		j.dateAt(t.UnixMilli())
		return
	}
	text := "NaN"
	if ms, kept := j.realm.marks.originalDate(o); kept {
		text = strconv.FormatInt(ms, 10)
	}
	j.dateMillis(text)
}

// dateAt writes a date in the range of JavaScript. In relaxed form, the years 1970 to 9999 are plain
// text, without a fraction if it is zero.
func (j *jsonWriter) dateAt(ms int64) {
	plain := !j.canonical && ms >= 0 && ms < 253402300800000
	if j.legacy && plain {
		j.open('{')
		j.key("$date")
		j.raw(strconv.FormatInt(ms, 10))
		j.close('}')
		return
	}
	if !plain && !j.legacy {
		j.dateMillis(strconv.FormatInt(ms, 10))
		return
	}
	if !plain {
		j.pair("$date", isoDate(ms))
		return
	}
	layout := "2006-01-02T15:04:05.000Z"
	if ms%1000 == 0 {
		layout = "2006-01-02T15:04:05Z"
	}
	j.open('{')
	j.key("$date")
	j.buf = append(time.UnixMilli(ms).UTC().AppendFormat(append(j.buf, '"'), layout), '"')
	j.close('}')
}

// isoDate returns a date of any year, without a fraction if it is zero.
func isoDate(ms int64) string {
	text := isoString(time.UnixMilli(ms).UTC())
	if ms%1000 == 0 {
		text = strings.TrimSuffix(text, ".000Z") + "Z"
	}
	return text
}

func (j *jsonWriter) dateMillis(text string) {
	j.open('{')
	j.key("$date")
	j.pair("$numberLong", text)
	j.close('}')
}

// enter records that o is being written, and throws for cycles.
func (j *jsonWriter) enter(o *goja.Object) {
	for i := range len(j.path) - 1 {
		if j.path[i].obj == o {
			j.realm.Errors.throwBSON(cycleMessage(j.path, i))
		}
	}
	if len(j.path) > 0 {
		j.path[len(j.path)-1].obj = o
	}
}

// cycleMessage describes the path from the root to the value that is its own ancestor, path[again].
func cycleMessage(path []step, again int) string {
	var leading, circular strings.Builder
	for _, s := range path[:again] {
		leading.WriteString(s.name + " -> ")
	}
	seen := path[again].name
	circular.WriteString(" -> ")
	for _, s := range path[again+1 : len(path)-1] {
		circular.WriteString(s.name + " -> ")
	}
	current := path[len(path)-1].name
	space := strings.Repeat(" ", leading.Len()+len(seen)/2)
	dashes := strings.Repeat("-", max(circular.Len()+(len(seen)+len(current))/2-1, 0))
	return "Converting circular structure to EJSON:\n" +
		"    " + leading.String() + seen + circular.String() + current + "\n" +
		"    " + space + "\\" + dashes + "/"
}

// string writes a JavaScript string, including lone surrogates.
func (j *jsonWriter) string(s goja.String) {
	text := s.String()
	if !strings.ContainsRune(text, utf8.RuneError) {
		j.text(text)
		return
	}
	j.buf = append(j.buf, '"')
	for _, r := range codePoints(s) {
		j.buf = appendJSONRune(j.buf, r)
	}
	j.buf = append(j.buf, '"')
}

// quoteJSON quotes s like JSON.stringify.
func quoteJSON(s string) string { return string(appendJSONString(nil, s)) }

func appendJSONString[T string | []byte](dst []byte, s T) []byte {
	dst = append(dst, '"')
	plain := 0
	for i := range len(s) {
		if c := s[i]; c < 0x20 || c == '"' || c == '\\' {
			dst = append(dst, s[plain:i]...)
			dst = appendJSONRune(dst, rune(c))
			plain = i + 1
		}
	}
	dst = append(dst, s[plain:]...)
	return append(dst, '"')
}

const lowerHex = "0123456789abcdef"

func appendJSONRune(dst []byte, r rune) []byte {
	switch r {
	case '"', '\\':
		return append(dst, '\\', byte(r))
	case '\b':
		return append(dst, `\b`...)
	case '\t':
		return append(dst, `\t`...)
	case '\n':
		return append(dst, `\n`...)
	case '\f':
		return append(dst, `\f`...)
	case '\r':
		return append(dst, `\r`...)
	}
	if r < 0x20 || r >= 0xD800 && r <= 0xDFFF {
		return append(dst, '\\', 'u', lowerHex[r>>12], lowerHex[r>>8&15], lowerHex[r>>4&15], lowerHex[r&15])
	}
	return utf8.AppendRune(dst, r)
}
