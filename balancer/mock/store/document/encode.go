package document

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/value"
)

// Encode is a fast bson.Marshal for documents that this program makes. A busy cluster writes millions of
// log entries and replies. Their common types are encoded without reflection; the driver encodes all
// others.
func Encode(doc bson.D) (bson.Raw, error) {
	b, err := appendD(make([]byte, 0, encodedSize(doc)), doc)
	return bson.Raw(b), err
}

// EncodeWith is like Encode and appends fields that are already encoded.
func EncodeWith(doc bson.D, tail []byte) (bson.Raw, error) {
	b, err := appendD(make([]byte, 0, encodedSize(doc)+len(tail)), doc)
	if err != nil {
		return nil, err
	}
	return Close(append(b[:len(b)-1], tail...), 0), nil
}

// SmallestInt returns an int32 if n fits, else an int64, like the server's "append as smallest number".
func SmallestInt(n int64) any {
	if n == int64(int32(n)) {
		return int32(n)
	}
	return n
}

// encodedSize returns the encoded size of a document. It is exact for the types that are common in log
// entries, otherwise an estimate.
func encodedSize(doc bson.D) int {
	n := len(Empty)
	for _, e := range doc {
		n += len(e.Key) + 2
		switch v := e.Value.(type) {
		case string:
			n += len(v) + 5
		case int32:
			n += 4
		case bson.D:
			n += encodedSize(v)
		case bson.Raw:
			n += len(v)
		case []bson.Raw:
			for _, doc := range v {
				n += len(doc) + len("0: 1234")
			}
		case bson.A:
			for _, item := range v {
				doc, _ := item.(bson.Raw)
				n += len(doc) + len("0: 1234")
			}
		case bson.ObjectID:
			n += len(v)
		case bool:
			n++
		case nil:
		default:
			n += 8
		}
	}
	return n
}

func appendD(dst []byte, doc bson.D) ([]byte, error) {
	dst, start := Open(dst)
	var err error
	for _, e := range doc {
		if strings.IndexByte(e.Key, 0) >= 0 {
			_, err := bson.Marshal(bson.D{e}) // returns the error
			return nil, err
		}
		if dst, err = appendAny(dst, e.Key, e.Value); err != nil {
			return nil, err
		}
	}
	return Close(dst, start), nil
}

// appendDocuments is like appendArray, for documents.
func appendDocuments(dst []byte, name string, docs []bson.Raw) ([]byte, error) {
	dst, start := Open(appendHead(dst, bson.TypeArray, name))
	for i, doc := range docs {
		if len(doc) < len(Empty) || int(binary.LittleEndian.Uint32(doc)) != len(doc) {
			_, err := bson.Marshal(bson.D{{Key: strconv.Itoa(i), Value: doc}}) // returns the error
			return nil, err
		}
		dst = AppendItem(dst, i, value.Object(doc))
	}
	return Close(dst, start), nil
}

func appendArray[T any](dst []byte, name string, items []T) ([]byte, error) {
	dst, start := Open(appendHead(dst, bson.TypeArray, name))
	var err error
	for i, v := range items {
		if dst, err = appendAny(dst, strconv.Itoa(i), v); err != nil {
			return nil, err
		}
	}
	return Close(dst, start), nil
}

func appendAny(dst []byte, name string, v any) ([]byte, error) {
	switch v := v.(type) {
	case string:
		dst = appendHead(dst, bson.TypeString, name)
		dst = binary.LittleEndian.AppendUint32(dst, uint32(len(v)+1))
		return append(append(dst, v...), 0), nil
	case int32:
		return binary.LittleEndian.AppendUint32(appendHead(dst, bson.TypeInt32, name), uint32(v)), nil
	case int64:
		return binary.LittleEndian.AppendUint64(appendHead(dst, bson.TypeInt64, name), uint64(v)), nil
	case float64:
		return binary.LittleEndian.AppendUint64(appendHead(dst, bson.TypeDouble, name), math.Float64bits(v)), nil
	case bson.DateTime:
		return binary.LittleEndian.AppendUint64(appendHead(dst, bson.TypeDateTime, name), uint64(v)), nil
	case bson.Timestamp:
		dst = binary.LittleEndian.AppendUint32(appendHead(dst, bson.TypeTimestamp, name), v.I)
		return binary.LittleEndian.AppendUint32(dst, v.T), nil
	case bson.ObjectID:
		return append(appendHead(dst, bson.TypeObjectID, name), v[:]...), nil
	case bool:
		dst = appendHead(dst, bson.TypeBoolean, name)
		if v {
			return append(dst, 1), nil
		}
		return append(dst, 0), nil
	case bson.D:
		if v != nil {
			return appendD(appendHead(dst, bson.TypeEmbeddedDocument, name), v)
		}
	case bson.Raw:
		if len(v) >= len(Empty) && int(binary.LittleEndian.Uint32(v)) == len(v) {
			return append(appendHead(dst, bson.TypeEmbeddedDocument, name), v...), nil
		}
	case bson.A:
		if v != nil {
			return appendArray(dst, name, v)
		}
	case []bson.Raw:
		if v != nil {
			return appendDocuments(dst, name, v)
		}
	case nil:
		return appendHead(dst, bson.TypeNull, name), nil
	}
	t, data, err := bson.MarshalValue(v)
	if err != nil {
		return nil, err
	}
	return append(appendHead(dst, t, name), data...), nil
}

func appendHead(dst []byte, t bson.Type, name string) []byte {
	return append(append(append(dst, byte(t)), name...), 0)
}
