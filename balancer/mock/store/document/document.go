// Package document reads and builds BSON documents and arrays and avoids copies. Fields are read in
// place, documents are built field by field, and values are formatted as in the server's messages. The
// format is defined by the BSON specification.
package document

import (
	"encoding/binary"
	"iter"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/value"
)

// Fields iterates over a document or array. The names are slices of the document. Iteration over a
// corrupt document ends early.
func Fields(doc []byte) iter.Seq2[[]byte, value.Value] {
	return func(yield func([]byte, value.Value) bool) {
		for e, rest, ok := keyorder.Next(keyorder.Body(doc)); ok; e, rest, ok = keyorder.Next(rest) {
			if !yield(e.Name, e.Value) {
				return
			}
		}
	}
}

// Lookup returns a field's value, or missing.
func Lookup(doc []byte, name string) value.Value {
	for e, rest, ok := keyorder.Next(keyorder.Body(doc)); ok; e, rest, ok = keyorder.Next(rest) {
		if string(e.Name) == name {
			return e.Value
		}
	}
	return value.Value{}
}

// FirstField returns the first field of a document.
func FirstField(doc []byte) (name string, v value.Value, ok bool) {
	e, _, ok := keyorder.Next(keyorder.Body(doc))
	return string(e.Name), e.Value, ok
}

// IsEmpty reports whether a document or array has no fields.
func IsEmpty(doc []byte) bool {
	_, _, ok := keyorder.Next(keyorder.Body(doc))
	return !ok
}

// Count returns the number of fields or elements.
func Count(doc []byte) int {
	n := 0
	for range Fields(doc) {
		n++
	}
	return n
}

// ListOf returns the items as an array for the driver's encoder.
func ListOf[T any](items []T) bson.A {
	list := make(bson.A, len(items))
	for i, item := range items {
		list[i] = item
	}
	return list
}

// Items returns the elements of an array.
func Items(arr value.Value) []value.Value {
	var out []value.Value
	for _, v := range Fields(arr.Value) {
		out = append(out, v)
	}
	return out
}

// Open starts a document or array in dst. Close ends the document that was opened at start.
func Open(dst []byte) (out []byte, start int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

// Close ends the document or array that was opened at start.
func Close(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// Append adds a field unless its value is missing.
func Append[S ~string | ~[]byte](dst []byte, name S, v value.Value) []byte {
	if value.IsMissing(v) {
		return dst
	}
	dst = append(dst, byte(v.Type))
	dst = append(dst, name...)
	return append(append(dst, 0), v.Value...)
}

// AppendItem adds an element to an array at index i; a missing value becomes null.
func AppendItem(dst []byte, i int, v value.Value) []byte {
	if value.IsMissing(v) {
		v = value.Null()
	}
	dst = append(dst, byte(v.Type))
	dst = strconv.AppendInt(dst, int64(i), 10)
	return append(append(dst, 0), v.Value...)
}

// Array returns an array; missing elements become null.
func Array(vs []value.Value) value.Value {
	size := 5
	for _, v := range vs {
		size += len(v.Value) + 6
	}
	b, start := Open(make([]byte, 0, size))
	for i, v := range vs {
		b = AppendItem(b, i, v)
	}
	return value.Array(Close(b, start))
}

// Field is the name and the value of a field for New.
type Field struct {
	Name  string
	Value value.Value
}

// New returns a document; fields with a missing value are omitted.
func New(fs ...Field) bson.Raw {
	b, start := Open(nil)
	for _, f := range fs {
		b = Append(b, f.Name, f.Value)
	}
	return Close(b, start)
}

// WithField returns the document with one top-level field replaced in place, appended, or removed if v
// is missing.
func WithField(doc []byte, name string, v value.Value) bson.Raw {
	oldSize := len(Lookup(doc, name).Value)
	b, start := Open(make([]byte, 0, len(doc)-oldSize+len(name)+len(v.Value)+2))
	found := false
	for n, old := range Fields(doc) {
		if string(n) == name {
			old, found = v, true
		}
		b = Append(b, n, old)
	}
	if !found {
		b = Append(b, name, v)
	}
	return Close(b, start)
}

// Empty is the document without fields. It must not be changed.
var Empty = bson.Raw{5, 0, 0, 0, 0}

// MaxSize is the maximum size, in bytes, of a document that a client may store.
const MaxSize = 16 << 20

// OrEmpty returns v as a document, or an empty document if v is none.
func OrEmpty(v value.Value) bson.Raw {
	if value.IsObject(v) {
		return v.Value
	}
	return Empty
}
