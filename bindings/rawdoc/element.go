package rawdoc

import (
	"bytes"
	"encoding/binary"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// Elements returns the elements of a document, without its length and its final zero; ok is false for
// bytes that are no document.
func Elements(doc []byte) (body []byte, ok bool) {
	if len(doc) < 5 {
		return nil, false
	}
	n := binary.LittleEndian.Uint32(doc)
	if n < 5 || uint64(n) > uint64(len(doc)) || n > math.MaxInt32 {
		return nil, false
	}
	return doc[4 : n-1], true
}

// NextElement returns the first element in the result of Elements, and the bytes after the element. It
// parses only the length of the value. ok is false for a truncated element and for an unknown type.
func NextElement(body []byte) (t bson.Type, key, value, rest []byte, ok bool) {
	if len(body) == 0 {
		return 0, nil, nil, nil, false
	}
	end := bytes.IndexByte(body[1:], 0)
	if end < 0 {
		return 0, nil, nil, nil, false
	}
	key, rest = body[1:1+end], body[end+2:]
	t = bson.Type(body[0])
	v, rest, ok := bsoncore.ReadValue(rest, bsoncore.Type(t))
	if !ok {
		return 0, nil, nil, nil, false
	}
	return t, key, v.Data, rest, true
}

// ID returns the field _id of a document that this process has built; ok is false without one.
func ID(doc bson.Raw) (id bson.RawValue, ok bool) {
	for body, whole := Elements(doc); whole; {
		var key, value []byte
		var t bson.Type
		if t, key, value, body, whole = NextElement(body); whole && string(key) == "_id" {
			return bson.RawValue{Type: t, Value: value}, true
		}
	}
	return bson.RawValue{}, false
}
