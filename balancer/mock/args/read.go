package args

import (
	"math"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/store/value"
	"shardsh/balancer/mongoerr"
)

// IsTrueOrNonzero returns the value of a bool, and true for a number other than zero. Any other value is
// false.
func IsTrueOrNonzero(v bson.RawValue) bool {
	if b, ok := v.BooleanOK(); ok {
		return b
	}
	n, ok := Number(v)
	return ok && n != 0
}

// IsTruthy reports whether v is anything but false, zero, null or missing.
func IsTruthy(v bson.RawValue) bool {
	if _, isNumber := Number(v); isNumber || v.Type == bson.TypeBoolean {
		return IsTrueOrNonzero(v)
	}
	return !v.IsZero() && v.Type != bson.TypeNull && v.Type != bson.TypeUndefined
}

// Number reads a number of any type. It returns false if v is not a number.
func Number(v bson.RawValue) (float64, bool) {
	if d, ok := v.Decimal128OK(); ok {
		n, err := strconv.ParseFloat(d.String(), 64)
		return n, err == nil || math.IsInf(n, 0)
	}
	return v.AsFloat64OK()
}

// ClampedInt reads a SafeInt: it truncates doubles, reads NaN as 0, and clamps values out of range.
func ClampedInt(v bson.RawValue) int64 {
	f, ok := Number(v)
	if !ok || math.IsNaN(f) {
		return 0
	}
	return int64(math.Max(math.MinInt32, math.Min(math.MaxInt32, math.Trunc(f))))
}

// Documents reads an array of documents.
func Documents(v bson.RawValue) ([]bson.Raw, error) {
	return DocumentsAt("array", v)
}

// DocumentsAt reads an array of documents; place is the array's name in error messages.
func DocumentsAt(place string, v bson.RawValue) ([]bson.Raw, error) {
	array, ok := v.ArrayOK()
	if !ok {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "BSON field '%s' is the wrong type '%s', expected type 'array'",
			place, TypeName(v.Type))
	}
	docs := make([]bson.Raw, 0, ElementCount(array))
	for w := keyorder.NewWalk(array); w.Next(); {
		if w.Value.Type != bson.TypeEmbeddedDocument {
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"BSON field '%s.%d' is the wrong type '%s', expected type 'object'", place, len(docs), TypeName(w.Value.Type))
		}
		docs = append(docs, bson.Raw(w.Value.Value))
	}
	return docs, nil
}

// ElementCount returns the number of elements of an array.
func ElementCount(array bson.RawArray) int {
	n := 0
	for w := keyorder.NewWalk(array); w.Next(); {
		n++
	}
	return n
}

// TypeName returns the server's name of a BSON type.
func TypeName(t bson.Type) string { return value.TypeName(value.Value{Type: t}) }

// Text returns a string, empty if v is not a string.
func Text(v bson.RawValue) string {
	text, _ := v.StringValueOK()
	return text
}

// FirstKey returns the name of a document's first field, empty if there is none.
func FirstKey(doc bson.Raw) string {
	elems, err := doc.Elements()
	if err != nil || len(elems) == 0 {
		return ""
	}
	return elems[0].Key()
}
