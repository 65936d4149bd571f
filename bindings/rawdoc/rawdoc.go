package rawdoc

import (
	"encoding/binary"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Empty is a document without fields.
var Empty = bson.Raw{5, 0, 0, 0, 0}

// MustMarshal marshals a document built in Go; it panics on errors.
func MustMarshal(d bson.D) bson.Raw {
	raw, err := bson.Marshal(d)
	if err != nil {
		panic(err)
	}
	return raw
}

// Int returns a number of any type as an integer; 0 when it is missing.
func Int(doc bson.Raw, path ...string) int64 {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return 0
	}
	if n, ok := v.AsInt64OK(); ok {
		return n
	}
	return 0
}

// Number returns a number of any type as a double; 0 when it is missing.
func Number(doc bson.Raw, path ...string) float64 {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return 0
	}
	f, _ := v.AsFloat64OK()
	return f
}

// MinimalInt returns a whole number in the BSON type of JavaScript's numbers.
func MinimalInt(n int64) any {
	if n == int64(int32(n)) {
		return int32(n)
	}
	return n
}

// IsFieldTruthy reports whether a field is true to JavaScript; a missing one is not.
func IsFieldTruthy(doc bson.Raw, path ...string) bool {
	v, err := doc.LookupErr(path...)
	return err == nil && catalog.IsTruthyInJS(v)
}

// Text returns a string field; empty for other types.
func Text(doc bson.Raw, path ...string) string {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return ""
	}
	text, _ := v.StringValueOK()
	return text
}

// Texts returns the strings of an array field.
func Texts(doc bson.Raw, field string) (list []string) {
	array, _ := doc.Lookup(field).ArrayOK()
	values, _ := array.Values()
	for _, v := range values {
		if text, ok := v.StringValueOK(); ok {
			list = append(list, text)
		}
	}
	return list
}

// WithID adds an _id at the front of a document without one.
func WithID(doc bson.Raw, id bson.ObjectID) bson.Raw {
	n := len(doc) + len("\a_id\x00") + len(id)
	out := make([]byte, 0, n)
	out = binary.LittleEndian.AppendUint32(out, uint32(n))
	out = append(append(append(out, byte(bson.TypeObjectID)), "_id\x00"...), id[:]...)
	return append(out, doc[4:]...)
}

// DocumentArray returns an array of documents.
func DocumentArray(n int, doc func(i int) bson.Raw) bson.RawValue {
	size := 5
	for i := range n {
		size += len(doc(i)) + 8
	}
	out := make([]byte, 4, size)
	for i := range n {
		out = append(out, byte(bson.TypeEmbeddedDocument))
		out = append(strconv.AppendInt(out, int64(i), 10), 0)
		out = append(out, doc(i)...)
	}
	out = append(out, 0)
	binary.LittleEndian.PutUint32(out, uint32(len(out)))
	return bson.RawValue{Type: bson.TypeArray, Value: out}
}

// Set sets a field of a document. An existing field keeps its position.
func Set(d *bson.D, key string, value any) {
	if i := slices.IndexFunc(*d, func(e bson.E) bool { return e.Key == key }); i >= 0 {
		(*d)[i].Value = value
		return
	}
	*d = append(*d, bson.E{Key: key, Value: value})
}
