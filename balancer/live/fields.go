package live

import (
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// text returns a string field; empty if the field is not a string.
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

// integer returns a number field; 0 if the field is not a number.
func integer(doc bson.Raw, path ...string) int64 {
	v := doc.Lookup(path...)
	if n, ok := v.AsInt64OK(); ok {
		return n
	}
	f, _ := v.AsFloat64OK()
	return int64(f)
}

// document returns a document field; nil if the field is not a document.
func document(doc bson.Raw, path ...string) bson.Raw {
	d, _ := doc.Lookup(path...).DocumentOK()
	return d
}

// date returns a date field; the zero time if the field is not a date.
func date(doc bson.Raw, path ...string) time.Time {
	ms, ok := doc.Lookup(path...).DateTimeOK()
	if !ok {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// seconds returns a field with a number of seconds; 0 if the field is not a number.
func seconds(doc bson.Raw, path ...string) time.Duration {
	n, _ := doc.Lookup(path...).AsFloat64OK()
	return time.Duration(n * float64(time.Second))
}
