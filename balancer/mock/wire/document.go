package wire

import (
	"bytes"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

const (
	// maxDepth is the maximum nesting depth of documents in a command.
	maxDepth = 200
	// maxDocumentBytes is the server's internal limit for one document: 16 MiB, and 16 KiB for the
	// command around it.
	maxDocumentBytes = 16<<20 + 16<<10

	minDocumentBytes = 5
	objectIDBytes    = 12
)

// errTooDeep is the reply to a message with a document that is nested too deeply. It is not a protocol
// error, so the connection stays open.
var errTooDeep = mongoerr.New(mongoerr.Overflow, "BSONObj exceeds maximum nested object depth: %d", maxDepth)

// cutDocument splits one document off the front and validates all nested values, so that reading it
// cannot fail later. (bson.Raw.Validate validates only the top level.) Like the server, it does not
// check that strings are valid UTF-8.
func cutDocument(b []byte) (doc bson.Raw, rest []byte, err error) {
	return cutNested(b, 0)
}

func cutNested(b []byte, depth int) (doc bson.Raw, rest []byte, err error) {
	if depth > maxDepth {
		return nil, nil, errTooDeep
	}
	size, _, ok := cutInt32(b)
	if !ok || size < minDocumentBytes || int(size) > len(b) {
		return nil, nil, malformed("BSON length %d in %d bytes", size, len(b))
	}
	doc, rest = b[:size:size], b[size:]
	if doc[size-1] != 0 {
		return nil, nil, malformed("BSON document without its final zero")
	}
	for in := doc[4 : size-1]; len(in) > 0; {
		kind := bson.Type(in[0])
		end := bytes.IndexByte(in[1:], 0)
		if end < 0 {
			return nil, nil, malformed("BSON field name without its end")
		}
		if in, err = skipValue(in[end+2:], kind, depth); err != nil {
			return nil, nil, err
		}
	}
	return doc, rest, nil
}

// fixedBytesPlusOne is the size, plus one, of the values whose size depends only on the type. Other types read
// as 0.
var fixedBytesPlusOne = [256]uint8{
	bson.TypeDouble:     8 + 1,
	bson.TypeUndefined:  0 + 1,
	bson.TypeObjectID:   objectIDBytes + 1,
	bson.TypeDateTime:   8 + 1,
	bson.TypeNull:       0 + 1,
	bson.TypeInt32:      4 + 1,
	bson.TypeTimestamp:  8 + 1,
	bson.TypeInt64:      8 + 1,
	bson.TypeDecimal128: 16 + 1,
	bson.TypeMinKey:     0 + 1,
	bson.TypeMaxKey:     0 + 1,
}

func skipValue(b []byte, kind bson.Type, depth int) (rest []byte, err error) {
	if size := int(fixedBytesPlusOne[kind]); size > 0 {
		return skipBytes(b, size-1)
	}
	switch kind {
	case bson.TypeBoolean:
		if len(b) < 1 || b[0] > 1 {
			return nil, malformed("BSON boolean")
		}
		return b[1:], nil
	case bson.TypeString, bson.TypeJavaScript, bson.TypeSymbol:
		return skipString(b)
	case bson.TypeEmbeddedDocument, bson.TypeArray:
		_, rest, err = cutNested(b, depth+1)
		return rest, err
	case bson.TypeBinary:
		return skipBinary(b)
	case bson.TypeRegex:
		return skipRegex(b)
	case bson.TypeDBPointer:
		if b, err = skipString(b); err != nil {
			return nil, err
		}
		return skipBytes(b, objectIDBytes)
	case bson.TypeCodeWithScope:
		return skipCodeWithScope(b, depth)
	}
	return nil, malformed("BSON type 0x%02x", byte(kind))
}

func skipBytes(b []byte, n int) ([]byte, error) {
	if len(b) < n {
		return nil, malformed("BSON value cut short")
	}
	return b[n:], nil
}

// skipString skips a string: the length, which includes the terminating zero, and the bytes.
func skipString(b []byte) ([]byte, error) {
	size, b, ok := cutInt32(b)
	if !ok || size < 1 || int(size) > len(b) || b[size-1] != 0 {
		return nil, malformed("BSON string")
	}
	return b[size:], nil
}

func skipBinary(b []byte) ([]byte, error) {
	size, b, ok := cutInt32(b)
	if !ok || size < 0 || int(size) >= len(b) {
		return nil, malformed("BSON binary")
	}
	subtype, data := b[0], b[1:size+1]
	if subtype == bson.TypeBinaryBinaryOld {
		// The old binary subtype 2 repeats the length inside.
		if inner, rest, ok := cutInt32(data); !ok || int(inner) != len(rest) {
			return nil, malformed("BSON binary of subtype 2")
		}
	}
	return b[size+1:], nil
}

func skipRegex(b []byte) ([]byte, error) {
	for range 2 { // pattern, options
		end := bytes.IndexByte(b, 0)
		if end < 0 {
			return nil, malformed("BSON regular expression")
		}
		b = b[end+1:]
	}
	return b, nil
}

func skipCodeWithScope(b []byte, depth int) ([]byte, error) {
	size, inside, ok := cutInt32(b)
	if !ok || size < 4 || int(size) > len(b) {
		return nil, malformed("BSON code with scope")
	}
	inside, err := skipString(inside[:size-4])
	if err != nil {
		return nil, err
	}
	_, inside, err = cutNested(inside, depth+1)
	if err != nil {
		return nil, err
	}
	if len(inside) > 0 {
		return nil, malformed("BSON code with scope")
	}
	return b[size:], nil
}
