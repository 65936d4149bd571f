package store

import (
	"encoding/binary"
	"iter"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// fields walks a document or array. Names lie in the document's bytes; a
// damaged document ends early.
func fields(doc []byte) iter.Seq2[[]byte, value] {
	return func(yield func([]byte, value) bool) {
		for e, rest, ok := keyorder.Next(keyorder.Body(doc)); ok; e, rest, ok = keyorder.Next(rest) {
			if !yield(e.Name, e.Value) {
				return
			}
		}
	}
}

// lookup finds a field, or gives missing.
func lookup(doc []byte, name string) value {
	for e, rest, ok := keyorder.Next(keyorder.Body(doc)); ok; e, rest, ok = keyorder.Next(rest) {
		if string(e.Name) == name {
			return e.Value
		}
	}
	return value{}
}

// first returns the first field of a document.
func first(doc []byte) (name string, v value, ok bool) {
	e, _, ok := keyorder.Next(keyorder.Body(doc))
	return string(e.Name), e.Value, ok
}

func isEmpty(doc []byte) bool {
	_, _, ok := keyorder.Next(keyorder.Body(doc))
	return !ok
}

func fieldCount(doc []byte) int {
	n := 0
	for range fields(doc) {
		n++
	}
	return n
}

// items returns the elements of an array.
func items(arr value) []value {
	var out []value
	for _, v := range fields(arr.Value) {
		out = append(out, v)
	}
	return out
}

// openDocument starts a document or array in dst; closeDocument ends the one
// that was opened at start.
func openDocument(dst []byte) (out []byte, start int) {
	return append(dst, 0, 0, 0, 0), len(dst)
}

func closeDocument(dst []byte, start int) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst)-start))
	return dst
}

// appendField adds a field unless its value is missing.
func appendField[S ~string | ~[]byte](dst []byte, name S, v value) []byte {
	if isMissing(v) {
		return dst
	}
	dst = append(dst, byte(v.Type))
	dst = append(dst, name...)
	return append(append(dst, 0), v.Value...)
}

func appendItem(dst []byte, i int, v value) []byte {
	if isMissing(v) {
		v = nullValue()
	}
	dst = append(dst, byte(v.Type))
	dst = strconv.AppendInt(dst, int64(i), 10)
	return append(append(dst, 0), v.Value...)
}

// arrayOf builds an array; missing elements become null.
func arrayOf(vs []value) value {
	size := 5
	for _, v := range vs {
		size += len(v.Value) + 6
	}
	b, start := openDocument(make([]byte, 0, size))
	for i, v := range vs {
		b = appendItem(b, i, v)
	}
	return arrayValue(closeDocument(b, start))
}

// field is one name and value of a document under construction.
type field struct {
	name  string
	value value
}

// documentOf builds a document; fields whose value is missing are left out.
func documentOf(fs ...field) bson.Raw {
	b, start := openDocument(nil)
	for _, f := range fs {
		b = appendField(b, f.name, f.value)
	}
	return closeDocument(b, start)
}

// withField returns the document with one top-level field replaced in place,
// added at the end, or removed when v is missing.
func withField(doc []byte, name string, v value) bson.Raw {
	was := len(lookup(doc, name).Value)
	b, start := openDocument(make([]byte, 0, len(doc)-was+len(name)+len(v.Value)+2))
	found := false
	for n, old := range fields(doc) {
		if string(n) == name {
			old, found = v, true
		}
		b = appendField(b, n, old)
	}
	if !found {
		b = appendField(b, name, v)
	}
	return closeDocument(b, start)
}

var emptyDocument = bson.Raw{5, 0, 0, 0, 0}

// MaxDocumentSize is the largest document a client may store, in bytes.
const MaxDocumentSize = 16 << 20

// asDocument lets a sort look into a value that may not be a document.
func asDocument(v value) bson.Raw {
	if isObject(v) {
		return v.Value
	}
	return emptyDocument
}
