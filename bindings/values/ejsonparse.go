package values

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/dop251/goja"
)

// jsonReader parses JSON into JavaScript values, and converts objects with the $-keys of extended JSON,
// innermost first.
type jsonReader struct {
	realm   *Realm
	src     string
	pos     int
	depth   int
	relaxed bool
	legacy  bool
}

func (w *Realm) parseEJSON(text string, relaxed, legacy bool) goja.Value {
	r := &jsonReader{realm: w, src: text, relaxed: relaxed, legacy: legacy}
	v := r.value()
	r.skipSpace()
	if r.pos < len(r.src) {
		r.unexpected()
	}
	return v
}

// unexpected throws a SyntaxError for the character at pos.
func (r *jsonReader) unexpected() {
	if r.pos >= len(r.src) {
		panic(r.realm.Errors.New("SyntaxError", "Unexpected end of JSON input"))
	}
	c, _ := utf8.DecodeRuneInString(r.src[r.pos:])
	panic(r.realm.Errors.New("SyntaxError", fmt.Sprintf("Unexpected token '%c' in JSON at position %d", c,
		utf16Length(r.src[:r.pos]))))
}

func (r *jsonReader) skipSpace() {
	for r.pos < len(r.src) {
		switch r.src[r.pos] {
		case ' ', '\t', '\n', '\r':
			r.pos++
		default:
			return
		}
	}
}

// peek returns the next character that is not white space, 0 at the end.
func (r *jsonReader) peek() byte {
	r.skipSpace()
	if r.pos < len(r.src) {
		return r.src[r.pos]
	}
	return 0
}

func (r *jsonReader) expect(c byte) {
	if r.peek() != c {
		r.unexpected()
	}
	r.pos++
}

func (r *jsonReader) value() goja.Value {
	switch c := r.peek(); {
	case c == '{':
		return r.nested((*jsonReader).object)
	case c == '[':
		return r.nested((*jsonReader).array)
	case c == '"':
		return r.string()
	case c == '-' || c >= '0' && c <= '9':
		return r.number()
	case c == 't':
		return r.readLiteral("true", r.realm.rt.ToValue(true))
	case c == 'f':
		return r.readLiteral("false", r.realm.rt.ToValue(false))
	case c == 'n':
		return r.readLiteral("null", goja.Null())
	default:
		r.unexpected()
		return nil
	}
}

func (r *jsonReader) nested(read func(*jsonReader) goja.Value) goja.Value {
	if r.depth++; r.depth > maxNesting {
		panic(r.realm.Errors.New("RangeError", "JSON text is nested more than "+strconv.Itoa(maxNesting)+" levels"))
	}
	v := read(r)
	r.depth--
	return v
}

func (r *jsonReader) readLiteral(text string, v goja.Value) goja.Value {
	for i := range len(text) {
		if r.pos >= len(r.src) || r.src[r.pos] != text[i] {
			r.unexpected()
		}
		r.pos++
	}
	return v
}

func (r *jsonReader) array() goja.Value {
	r.pos++
	var items []any
	if r.peek() == ']' {
		r.pos++
		return r.realm.rt.NewArray()
	}
	for {
		items = append(items, r.value())
		if r.peek() == ']' {
			r.pos++
			return r.realm.rt.NewArray(items...)
		}
		r.expect(',')
	}
}

func (r *jsonReader) object() goja.Value {
	r.pos++
	o := r.realm.rt.NewObject()
	special := false
	order := orderWatch{lastIndex: -1}
	var names []string
	if r.peek() == '}' {
		r.pos++
		return o
	}
	for {
		if r.peek() != '"' {
			r.unexpected()
		}
		key := r.string().String()
		if strings.IndexByte(key, 0) >= 0 {
			r.realm.Errors.throwBSON("BSON Document field names cannot contain null bytes, found: " + quoteJSON(key))
		}
		r.expect(':')
		setField(o, key, r.value())
		order.note(key)
		names = append(names, key)
		special = special || strings.HasPrefix(key, "$")
		if r.peek() == '}' {
			r.pos++
			break
		}
		r.expect(',')
	}
	if special {
		return r.fromExtended(o)
	}
	if order.orderLost {
		r.realm.fields.keepOrder(o, names)
	}
	return o
}

// string reads a string whose opening quote is next.
func (r *jsonReader) string() goja.Value {
	r.pos++
	start := r.pos
	for r.pos < len(r.src) {
		switch c := r.src[r.pos]; {
		case c == '"':
			s := r.src[start:r.pos]
			r.pos++
			return r.realm.rt.ToValue(strings.Clone(s))
		case c == '\\':
			return r.escapedString(start)
		case c < 0x20:
			r.unexpected()
		}
		r.pos++
	}
	r.unexpected()
	return nil
}

// escapedString continues to parse a string at its first escape, and preserves lone surrogates.
func (r *jsonReader) escapedString(start int) goja.Value {
	units := utf16.Encode([]rune(r.src[start:r.pos]))
	for r.pos < len(r.src) {
		c := r.src[r.pos]
		switch {
		case c == '"':
			r.pos++
			return goja.StringFromUTF16(units)
		case c == '\\':
			r.pos++
			units = append(units, r.escape())
			continue
		case c < 0x20:
			r.unexpected()
		}
		char, size := utf8.DecodeRuneInString(r.src[r.pos:])
		units = utf16.AppendRune(units, char)
		r.pos += size
	}
	r.unexpected()
	return nil
}

func (r *jsonReader) escape() uint16 {
	if r.pos >= len(r.src) {
		r.unexpected()
	}
	c := r.src[r.pos]
	if i := strings.IndexByte(`"\/bfnrt`, c); i >= 0 {
		r.pos++
		return uint16("\"\\/\b\f\n\r\t"[i])
	}
	if c != 'u' {
		r.unexpected()
	}
	r.pos++
	var unit uint16
	for range 4 {
		if r.pos >= len(r.src) {
			r.unexpected()
		}
		digit := strings.IndexByte(lowerHex, r.src[r.pos]|0x20)
		if digit < 0 || r.src[r.pos] < '0' {
			r.unexpected()
		}
		unit = unit<<4 | uint16(digit)
		r.pos++
	}
	return unit
}

func (r *jsonReader) number() goja.Value {
	start := r.pos
	digits := func() {
		if r.pos >= len(r.src) || r.src[r.pos] < '0' || r.src[r.pos] > '9' {
			r.unexpected()
		}
		for r.pos < len(r.src) && r.src[r.pos] >= '0' && r.src[r.pos] <= '9' {
			r.pos++
		}
	}
	if r.src[r.pos] == '-' {
		r.pos++
	}
	if r.pos < len(r.src) && r.src[r.pos] == '0' {
		r.pos++
	} else {
		digits()
	}
	if r.pos < len(r.src) && r.src[r.pos] == '.' {
		r.pos++
		digits()
	}
	if r.pos < len(r.src) && r.src[r.pos]|0x20 == 'e' {
		r.pos++
		if r.pos < len(r.src) && (r.src[r.pos] == '+' || r.src[r.pos] == '-') {
			r.pos++
		}
		digits()
	}
	f, _ := strconv.ParseFloat(r.src[start:r.pos], 64) // overflow becomes infinity, as in JavaScript
	if r.relaxed || r.legacy {
		return r.realm.rt.ToValue(f)
	}
	return r.typedNumber(f)
}

// typedNumber returns the wrapper for an untyped number when types are preserved.
func (r *jsonReader) typedNumber(f float64) goja.Value {
	switch {
	case isInt32(f):
		return r.realm.wrap(&int32Value{realm: r.realm, n: int32(f)})
	case f == math.Trunc(f) && math.Abs(f) <= 1<<63 && !(f == 0 && math.Signbit(f)):
		return r.realm.newLong(clampInt64(f, false))
	default:
		return r.realm.wrap(&doubleValue{realm: r.realm, f: f})
	}
}
