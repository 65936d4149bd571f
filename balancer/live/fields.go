package live

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// text returns a field that is a string; empty if it is not.
func text(doc bson.Raw, path ...string) string {
	text, _ := doc.Lookup(path...).StringValueOK()
	return text
}

// texts returns the strings of an array.
func texts(doc bson.Raw, field string) (list []string) {
	array, _ := doc.Lookup(field).ArrayOK()
	values, _ := array.Values()
	for _, v := range values {
		if text, ok := v.StringValueOK(); ok {
			list = append(list, text)
		}
	}
	return list
}

// integer returns a field that is a number; 0 if it is not.
func integer(doc bson.Raw, path ...string) int64 {
	v := doc.Lookup(path...)
	if n, ok := v.AsInt64OK(); ok {
		return n
	}
	f, _ := v.AsFloat64OK()
	return int64(f)
}

// isFalse reports whether a field is there and false.
func isFalse(v bson.RawValue) bool {
	b, ok := v.BooleanOK()
	return ok && !b
}

// document returns a field that is a document; nil when it is not.
func document(doc bson.Raw, path ...string) bson.Raw {
	d, _ := doc.Lookup(path...).DocumentOK()
	return d
}

// date returns a field that is a date; the zero time when it is not.
func date(doc bson.Raw, path ...string) time.Time {
	ms, ok := doc.Lookup(path...).DateTimeOK()
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// seconds returns a field that is a number of seconds; 0 when it is not.
func seconds(doc bson.Raw, path ...string) time.Duration {
	n, _ := doc.Lookup(path...).AsFloat64OK()
	return time.Duration(n * float64(time.Second))
}
