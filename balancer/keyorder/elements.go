package keyorder

import (
	"bytes"
	"encoding/binary"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// maxDepth is beyond the deepest nesting the server stores (180 levels, and a
// little more in commands).
const maxDepth = 256

// Element is one field of a document. It refers to the document's bytes.
type Element struct {
	Name  []byte
	Value bson.RawValue
}

// Body returns the bytes between the length and the closing zero of a document or array: the input for
// Next. A damaged document has an empty or truncated body.
func Body(doc []byte) []byte {
	if len(doc) < 5 {
		return nil
	}
	n := int(int32(binary.LittleEndian.Uint32(doc)))
	if n < 5 {
		return nil
	}
	if n > len(doc) {
		return doc[4:]
	}
	return doc[4 : n-1]
}

// Next returns the next element, and reports whether there is one. It reports false at the end and at
// the first damaged element. Nothing is copied: to read a document once with Next is much cheaper than
// to look up its fields one by one.
func Next(body []byte) (e Element, rest []byte, ok bool) {
	w := Walk{rest: body}
	ok = w.Next()
	return w.Element, w.rest, ok
}

// Walk iterates over the elements of a document like Next, for performance-critical loops:
//
//	for w := keyorder.NewWalk(doc); w.Next(); {
//		use(w.Name, w.Value)
//	}
type Walk struct {
	Element
	rest []byte
}

// NewWalk starts a walk through a document or array.
func NewWalk(doc []byte) Walk { return Walk{rest: Body(doc)} }

// Next advances to the next element, and reports whether there is one. It reports false at the end and
// at the first damaged element.
func (w *Walk) Next() bool {
	body := w.rest
	if len(body) < 2 {
		return w.stop()
	}
	// Names are too short for bytes.IndexByte to be faster.
	i := 1
	for i < len(body) && body[i] != 0 {
		i++
	}
	if i == len(body) {
		return w.stop()
	}
	t := bson.Type(body[0])
	rest := body[i+1:]
	n := int(fixedLength[t])
	if n == 0 {
		n = ValueSize(t, rest)
	}
	if n < 0 || n > len(rest) {
		return w.stop()
	}
	w.Name = body[1:i]
	w.Value.Type = t
	w.Value.Value = rest[:n:n]
	w.rest = rest[n:]
	return true
}

func (w *Walk) stop() bool {
	*w = Walk{}
	return false
}

// fixedLength has the size of the types whose values all have the same size.
var fixedLength = [256]int8{
	bson.TypeDouble: 8, bson.TypeObjectID: 12, bson.TypeBoolean: 1, bson.TypeDateTime: 8,
	bson.TypeInt32: 4, bson.TypeTimestamp: 8, bson.TypeInt64: 8, bson.TypeDecimal128: 16,
}

// ValueSize returns the number of bytes that a BSON value of this type takes at the start of b, which
// may exceed the length of b. It returns -1 when b is too short to tell or the type is unknown.
func ValueSize(t bson.Type, b []byte) int {
	if n := fixedLength[t]; n > 0 {
		return int(n)
	}
	switch t {
	case bson.TypeNull, bson.TypeUndefined, bson.TypeMinKey, bson.TypeMaxKey:
		return 0
	case bson.TypeString, bson.TypeSymbol, bson.TypeJavaScript:
		return prefixedLength(b, 4, 1)
	case bson.TypeEmbeddedDocument, bson.TypeArray, bson.TypeCodeWithScope:
		return prefixedLength(b, 0, 5)
	case bson.TypeBinary:
		return prefixedLength(b, 5, 0)
	case bson.TypeDBPointer:
		return prefixedLength(b, 16, 1)
	case bson.TypeRegex:
		i := bytes.IndexByte(b, 0)
		if i < 0 {
			return -1
		}
		j := bytes.IndexByte(b[i+1:], 0)
		if j < 0 {
			return -1
		}
		return i + j + 2
	}
	return -1
}

// prefixedLength reads the length at the start of b. The stored length does not include extra bytes.
func prefixedLength(b []byte, extra, minLength int) int {
	if len(b) < 4 {
		return -1
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < minLength {
		return -1
	}
	return n + extra
}

// The readers below never fail: missing bytes read as zero or empty.

func padTo(b []byte, n int) []byte {
	if len(b) >= n {
		return b[:n]
	}
	return append(make([]byte, 0, n), b...)[:n]
}

func uint64At(b []byte) uint64 { return binary.LittleEndian.Uint64(padTo(b, 8)) }
func uint32At(b []byte) uint32 { return binary.LittleEndian.Uint32(padTo(b, 4)) }

// stringContent returns the content of a string, symbol or code, without its closing
// zero.
func stringContent(b []byte) []byte {
	if len(b) < 5 {
		return nil
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < 1 {
		return nil
	}
	if n > len(b)-4 {
		return b[4:]
	}
	return b[4 : 4+n-1]
}

// binaryParts returns the subtype and the bytes. The bytes of the old subtype 2 begin with their inner
// length, because the server orders them so.
func binaryParts(b []byte) (subtype byte, data []byte) {
	if len(b) < 5 {
		return 0, nil
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < 0 || n > len(b)-5 {
		n = len(b) - 5
	}
	return b[4], b[5 : 5+n]
}

func regexParts(b []byte) (pattern, flags []byte) {
	pattern, rest, _ := bytes.Cut(b, []byte{0})
	flags, _, _ = bytes.Cut(rest, []byte{0})
	return pattern, flags
}

func pointerParts(b []byte) (ns, id []byte) {
	if len(b) < 4 {
		return nil, padTo(nil, 12)
	}
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < 0 || n > len(b)-4 {
		n = len(b) - 4
	}
	return b[4 : 4+n], padTo(b[4+n:], 12)
}

func scopeParts(b []byte) (code, scope []byte) {
	if len(b) < 8 {
		return nil, nil
	}
	b = b[4:]
	n := int(int32(binary.LittleEndian.Uint32(b)))
	if n < 0 || n > len(b)-4 {
		return stringContent(b), nil
	}
	return stringContent(b), b[4+n:]
}
