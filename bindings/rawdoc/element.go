package rawdoc

import (
	"bytes"
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Body returns the elements of a document, without its length and its final zero;
// ok is false for bytes that cannot be a document.
func Body(doc []byte) (body []byte, ok bool) {
	if len(doc) < 5 {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(doc)
	if n < 5 || uint64(n) > uint64(len(doc)) || n > math.MaxInt32 {
		return nil, false
	}
	return doc[4 : n-1], true
}

// Next reads the first element of what Body returned, and what comes after it. It
// looks at no more of the value than says how long that is. What is cut off or of
// an unknown type is not ok.
func Next(body []byte) (t bson.Type, key, value, rest []byte, ok bool) {
	if len(body) == 0 {
		return 0, nil, nil, nil, false
	}
	end := bytes.IndexByte(body[1:], 0)
	if end < 0 {
		return 0, nil, nil, nil, false
	}
	key, rest = body[1:1+end], body[end+2:]
	n := valueLength(bson.Type(body[0]), rest)
	if n < 0 || n > len(rest) {
		return 0, nil, nil, nil, false
	}
	return bson.Type(body[0]), key, rest[:n], rest[n:], true
}

// valueLength returns how long the value is that src begins with; less than 0 when
// that can't be said.
func valueLength(t bson.Type, src []byte) int {
	switch t {
	case bson.TypeInt32:
		return 4
	case bson.TypeDouble, bson.TypeInt64, bson.TypeDateTime, bson.TypeTimestamp:
		return 8
	case bson.TypeString, bson.TypeJavaScript, bson.TypeSymbol:
		return prefixed(src, 4)
	case bson.TypeEmbeddedDocument, bson.TypeArray, bson.TypeCodeWithScope:
		return prefixed(src, 0)
	case bson.TypeObjectID:
		return 12
	case bson.TypeBoolean:
		return 1
	case bson.TypeNull, bson.TypeUndefined, bson.TypeMinKey, bson.TypeMaxKey:
		return 0
	case bson.TypeBinary:
		return prefixed(src, 4+1)
	case bson.TypeDecimal128:
		return 16
	case bson.TypeDBPointer:
		return prefixed(src, 4+12)
	case bson.TypeRegex:
		pattern := bytes.IndexByte(src, 0)
		if pattern < 0 {
			return -1
		}
		flags := bytes.IndexByte(src[pattern+1:], 0)
		if flags < 0 {
			return -1
		}
		return pattern + 1 + flags + 1
	default:
		return -1
	}
}

// prefixed is the length that src begins with, and so many bytes more.
func prefixed(src []byte, more int) int {
	if len(src) < 4 {
		return -1
	}
	n := int(int32(binary.LittleEndian.Uint32(src)))
	if n < 0 || n > math.MaxInt32-more {
		return -1
	}
	return n + more
}
