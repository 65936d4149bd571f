package values

import (
	"encoding/base64"
	"reflect"
	"strings"

	"github.com/dop251/goja"
)

// newBuffer returns a Buffer of data if the runtime has Buffer, otherwise a Uint8Array. The memory is
// shared: writes change the original value.
func (w *Realm) newBuffer(data []byte) goja.Value {
	array := w.rt.ToValue(w.rt.NewArrayBuffer(data))
	if buffer, ok := w.rt.GlobalObject().Get("Buffer").(*goja.Object); ok {
		if from, ok := goja.AssertFunction(buffer.Get("from")); ok {
			if b, err := from(buffer, array); err == nil {
				return b
			}
		}
	}
	return w.intrinsics.typedArray("Uint8Array", array)
}

// bytesOf returns the memory of a Uint8Array, Buffer or ArrayBuffer.
func bytesOf(v goja.Value) ([]byte, bool) {
	o, ok := v.(*goja.Object)
	if !ok {
		return nil, false
	}
	switch t := o.ExportType(); {
	case t == nil:
		return nil, false
	case t == typeOfBuffer:
		return o.Export().(goja.ArrayBuffer).Bytes(), true
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		data, ok := o.Export().([]byte)
		return data, ok
	default:
		return nil, false
	}
}

// isTypedArray reports whether o is an Int8Array, Float64Array, ….
func isTypedArray(o *goja.Object) bool {
	t := o.ExportType()
	if t == nil || t.Kind() != reflect.Slice || o.ClassName() != "Object" {
		return false
	}
	k := t.Elem().Kind()
	return k >= reflect.Int && k <= reflect.Float64
}

func base64Text(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

// decodeBase64 decodes base64 as Node does: both alphabets, up to the first "=", ignoring invalid
// characters. strict reports whether no character was ignored.
func decodeBase64(s string) (data []byte, strict bool) {
	strict = true
	clean := make([]byte, 0, len(s))
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '-':
			c = '+'
		case c == '_':
			c = '/'
		case c == '=':
			strict = strict && strings.Trim(s[i:], "=\r\n ") == "" && (len(clean)+len(strings.Trim(s[i:], "\r\n ")))%4 == 0
			return decodeTrimmed(clean, strict)
		case c == '\n' || c == '\r' || c == ' ' || c == '\t':
			continue
		case c != '+' && c != '/' && !isAlphanumeric(c):
			strict = false
			continue
		}
		clean = append(clean, c)
	}
	return decodeTrimmed(clean, strict)
}

func decodeTrimmed(clean []byte, strict bool) ([]byte, bool) {
	if len(clean)%4 == 1 {
		clean, strict = clean[:len(clean)-1], false
	}
	data := make([]byte, base64.RawStdEncoding.DecodedLen(len(clean)))
	n, err := base64.RawStdEncoding.Decode(data, clean)
	return data[:n], strict && err == nil
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}
