package catalog

import (
	"math"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/humanize"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// field is one element of a catalog document. Each of its readers accepts one type and returns
// TypeMismatch for others.
type field struct {
	name  string
	value bson.RawValue
}

// eachField calls read for each field of a document until read fails.
func eachField(doc bson.Raw, read func(field) error) error {
	for e, rest, ok := keyorder.Next(keyorder.Body(doc)); ok; e, rest, ok = keyorder.Next(rest) {
		if err := read(field{string(e.Name), e.Value}); err != nil {
			return err
		}
	}
	return nil
}

// FieldNames returns the names of a document's fields, such as those of an index's key.
func FieldNames(doc bson.Raw) (names []string) {
	elements, _ := doc.Elements()
	for _, e := range elements {
		names = append(names, e.Key())
	}
	return names
}

// Documents returns the documents in an array; none of another value.
func Documents(array bson.RawValue) (list []bson.Raw) {
	elements, _ := array.ArrayOK()
	values, _ := elements.Values()
	for _, v := range values {
		if doc, ok := v.DocumentOK(); ok {
			list = append(list, doc)
		}
	}
	return list
}

// IsTruthyInJS reports whether a value counts as true, as in JavaScript: it exists, and is neither
// false, null, 0 nor an empty string.
func IsTruthyInJS(v bson.RawValue) bool {
	switch v.Type {
	case 0, bson.TypeNull, bson.TypeUndefined:
		return false
	case bson.TypeBoolean:
		return v.Boolean()
	case bson.TypeString:
		return v.StringValue() != ""
	}
	f, isNumber := v.AsFloat64OK()
	return !isNumber || f != 0 && f == f
}

// IsFalse reports whether a field is there and false.
func IsFalse(v bson.RawValue) bool {
	b, ok := v.BooleanOK()
	return ok && !b
}

// isNull reports whether the field counts as not there, where null does so
// (rules/03-commands §0.5).
func (f field) isNull() bool {
	return f.value.Type == bson.TypeNull || f.value.Type == bson.TypeUndefined
}

func (f field) mismatchError(want string) error {
	return mongoerr.New(mongoerr.TypeMismatch, "field %q must be %s, not %s", f.name, want, f.value.Type)
}

func (f field) text(dst *string) error {
	s, ok := f.value.StringValueOK()
	if !ok {
		return f.mismatchError("a string")
	}
	*dst = s
	return nil
}

func (f field) bool(dst *bool) error {
	b, ok := f.value.BooleanOK()
	if !ok {
		return f.mismatchError("a bool")
	}
	*dst = b
	return nil
}

// lenientBool also accepts numbers: every number but zero is true.
func (f field) lenientBool(dst *bool) error {
	if keyorder.Rank(f.value.Type) == keyorder.Rank(bson.TypeInt32) {
		*dst = keyorder.Compare(f.value, int32Value(0)) != 0
		return nil
	}
	return f.bool(dst)
}

// int64 accepts any number that is a 64-bit integer.
func (f field) int64(dst *int64) error {
	switch f.value.Type {
	case bson.TypeInt32:
		*dst = int64(f.value.Int32())
		return nil
	case bson.TypeInt64:
		*dst = f.value.Int64()
		return nil
	case bson.TypeDouble, bson.TypeDecimal128:
	default:
		return f.mismatchError("a number")
	}
	order := keyorder.Append(nil, f.value)
	n, _, ok := keyorder.Restore(nil, order, bson.TypeInt64)
	if !ok {
		return mongoerr.New(mongoerr.BadValue, "field %q must be an integer of 64 bits, not %s", f.name,
			humanize.ValueLiteral(f.value))
	}
	*dst = bson.RawValue{Type: bson.TypeInt64, Value: n}.Int64()
	return nil
}

func (f field) int32(dst *int32) error {
	var n int64
	if err := f.int64(&n); err != nil {
		return err
	}
	*dst = int32(min(max(n, math.MinInt32), math.MaxInt32))
	return nil
}

func (f field) timestamp(dst *bson.Timestamp) error {
	t, i, ok := f.value.TimestampOK()
	if !ok {
		return f.mismatchError("a timestamp")
	}
	*dst = bson.Timestamp{T: t, I: i}
	return nil
}

func (f field) objectID(dst *bson.ObjectID) error {
	id, ok := f.value.ObjectIDOK()
	if !ok {
		return f.mismatchError("an ObjectId")
	}
	*dst = id
	return nil
}

func (f field) time(dst *time.Time) error {
	ms, ok := f.value.DateTimeOK()
	if !ok {
		return f.mismatchError("a date")
	}
	*dst = time.UnixMilli(ms).UTC()
	return nil
}

func (f field) document(dst *bson.Raw) error {
	d, ok := f.value.DocumentOK()
	if !ok {
		return f.mismatchError("an object")
	}
	*dst = d
	return nil
}

func (f field) uuid(dst *bson.Binary) error {
	subtype, data, ok := f.value.BinaryOK()
	if !ok || subtype != bson.TypeBinaryUUID || len(data) != 16 {
		return f.mismatchError("a UUID")
	}
	*dst = bson.Binary{Subtype: subtype, Data: append([]byte(nil), data...)}
	return nil
}

func (f field) texts(dst *[]string) error {
	array, ok := f.value.ArrayOK()
	if !ok {
		return f.mismatchError("an array of strings")
	}
	list := []string{}
	for e, rest, ok := keyorder.Next(keyorder.Body(array)); ok; e, rest, ok = keyorder.Next(rest) {
		s, ok := e.Value.StringValueOK()
		if !ok {
			return f.mismatchError("an array of strings")
		}
		list = append(list, s)
	}
	*dst = list
	return nil
}

func missingFieldError(kind, name string) error {
	return mongoerr.New(mongoerr.NoSuchKey, "%s lacks the field %q", kind, name)
}
