package catalog

import (
	"errors"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// ErrNotShardKey says that a document is not a full shard key: a field is missing, unknown, or an array
// (rules/03-catalog-and-keys §4.3). Commands report it with different codes.
var ErrNotShardKey = errors.New("not a full shard key")

// Key is a value of the shard key: a bound of chunks and zones, or the key of a document. It contains
// comparable bytes, and the information to restore the BSON values with their types. Keys are immutable
// and cheap to copy. Keys of one pattern can be compared, and the zero Key is smaller than all others.
type Key struct {
	// encoded is the keyorder encoding of all fields in pattern order.
	encoded string
	// types contains the BSON type of each field, and the value itself if the encoding does not
	// determine it (see appendType).
	types string
}

// IsZero reports whether this is the zero key.
func (k Key) IsZero() bool { return k.encoded == "" }

// Compare orders keys field by field (rules/03-catalog-and-keys §4.2). Values that are equal for the
// server, such as 1 and 1.0, are equal.
func (k Key) Compare(o Key) int { return strings.Compare(k.encoded, o.encoded) }

// CompareBytes compares with a key of a document by its comparable bytes.
func (k Key) CompareBytes(b []byte) int {
	switch {
	case k.encoded < string(b):
		return -1
	case k.encoded > string(b):
		return 1
	}
	return 0
}

// Less reports whether k comes before o.
func (k Key) Less(o Key) bool { return k.encoded < o.encoded }

// Overlap reports whether the ranges [min1, max1) and [min2, max2) have keys in common.
func Overlap(min1, max1, min2, max2 Key) bool { return min1.Less(max2) && min2.Less(max1) }

// Equal reports whether both are the same key.
func (k Key) Equal(o Key) bool { return k.encoded == o.encoded }

// Bytes returns a copy of the comparable bytes: the keyorder encodings of the
// fields one after another, as in an index on the shard key.
func (k Key) Bytes() []byte { return []byte(k.encoded) }

// KeyFromBytes returns a key from comparable bytes, to search a routing table for a range of keys. The
// key can only be compared; it has no values.
func KeyFromBytes(encoded []byte) Key { return Key{encoded: string(encoded)} }

// Append adds the comparable bytes to dst.
func (k Key) Append(dst []byte) []byte { return append(dst, k.encoded...) }

// Values returns the BSON values in pattern order, with their original types.
func (k Key) Values() []bson.RawValue {
	var values []bson.RawValue
	rest, form := k.encoded, k.types
	for form != "" {
		start := len(form)
		t, value, order, left, ok := takeField(nil, rest, form)
		if !ok || len(left) >= start {
			return values
		}
		values = append(values, bson.RawValue{Type: t, Value: value})
		rest, form = order, left
	}
	return values
}

// Len returns the number of values.
func (k Key) Len() (n int) {
	for rest := k.encoded; rest != ""; n++ {
		size := keyorder.EncodedSize(rest)
		if size == 0 {
			break
		}
		rest = rest[size:]
	}
	return n
}

// String returns the values, without field names, for logs and test failures.
func (k Key) String() string {
	var b strings.Builder
	b.WriteByte('[')
	for i, v := range k.Values() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(formatValue(v))
	}
	b.WriteByte(']')
	return b.String()
}

func formatValue(v bson.RawValue) string {
	switch v.Type {
	case bson.TypeMinKey:
		return "MinKey"
	case bson.TypeMaxKey:
		return "MaxKey"
	case bson.TypeInt32, bson.TypeInt64, bson.TypeDouble:
		s := v.String()
		s = strings.TrimSuffix(s, `"}`)
		return s[strings.LastIndexByte(s, '"')+1:]
	}
	return v.String()
}

// verbatim marks an element of Key.types that contains its value: the BSON type with this bit set,
// followed by the value's bytes. MinKey has the bit anyway, and never contains a value.
const verbatim = 0x80

// appendType appends the element of Key.types for one value.
func appendType(dst []byte, v bson.RawValue) []byte {
	if v.Type == bson.TypeMinKey || keyorder.Restorable(v) {
		return append(dst, byte(v.Type))
	}
	return append(append(dst, byte(v.Type)|verbatim), v.Value...)
}

// takeField removes the first field from an encoded key and appends its BSON value to dst.
func takeField(dst []byte, encoded, types string) (t bson.Type, value []byte, restEncoded, restTypes string, ok bool) {
	code := types[0]
	if code&verbatim == 0 || code == byte(bson.TypeMinKey) {
		t = bson.Type(code)
		value, n, ok := keyorder.Restore(dst, encoded, t)
		return t, value, encoded[n:], types[1:], ok
	}
	t = bson.Type(code &^ verbatim)
	n := keyorder.EncodedSize(encoded)
	size := keyorder.ValueSize(t, []byte(types[1:]))
	if n == 0 || size < 0 || size >= len(types) {
		return t, dst, encoded, types, false
	}
	return t, append(dst, types[1:1+size]...), encoded[n:], types[1+size:], true
}
