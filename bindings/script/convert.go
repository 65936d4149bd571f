package script

import (
	"errors"
	"math"
	"strconv"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
)

// Document converts a script's object to BSON. It throws for other values.
func (s *Engine) Document(v goja.Value) bson.Raw {
	doc, err := s.Values.DocFromJS(v)
	if err != nil {
		s.ThrowConversion(err)
	}
	return doc
}

// DocumentOrEmpty works like Document, for optional arguments: a missing argument or null is an empty
// document.
func (s *Engine) DocumentOrEmpty(v goja.Value) bson.Raw {
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return rawdoc.Empty
	}
	return s.Document(v)
}

// BSONValue converts any value of a script to BSON.
func (s *Engine) BSONValue(v goja.Value) bson.RawValue {
	raw, err := s.Values.ToBSON(v)
	if err != nil {
		s.ThrowConversion(err)
	}
	return raw
}

// ThrowConversion throws the error of a failed conversion to BSON.
func (s *Engine) ThrowConversion(err error) {
	if exception, ok := errors.AsType[*goja.Exception](err); ok {
		panic(exception)
	}
	s.Throw("BSONError", "%s", err)
}

// FromGo converts a Go value of the driver to a JavaScript value.
func (s *Engine) FromGo(v any) goja.Value {
	if v == nil {
		return goja.Null()
	}
	kind, data, err := bson.MarshalValue(v)
	if err != nil {
		s.ThrowConversion(err)
	}
	return s.Values.ToJS(bson.RawValue{Type: kind, Value: data})
}

// Merge adds the fields of a script's object to a command. A field that the command already has keeps
// its position and takes the new value, as with object spread.
func (s *Engine) Merge(body bson.D, options goja.Value, except ...string) bson.D {
	if options == nil || goja.IsUndefined(options) || goja.IsNull(options) {
		return body
	}
	doc := s.Document(options)
	elems, err := doc.Elements()
	if err != nil {
		s.ThrowConversion(err)
	}
next:
	for _, el := range elems {
		for _, name := range except {
			if el.Key() == name {
				continue next
			}
		}
		for i := range body {
			if body[i].Key == el.Key() {
				body[i].Value = el.Value()
				continue next
			}
		}
		body = append(body, bson.E{Key: el.Key(), Value: el.Value()})
	}
	return body
}

// Property returns a field of a script's object; nil when the object or the
// field is missing.
func Property(o *goja.Object, name string) goja.Value {
	if o == nil {
		return nil
	}
	v := o.Get(name)
	if v == nil || goja.IsUndefined(v) {
		return nil
	}
	return v
}

// Flag returns a field of a script's object as a boolean.
func Flag(o *goja.Object, name string, byDefault bool) bool {
	if v := Property(o, name); v != nil {
		return v.ToBoolean()
	}
	return byDefault
}

// NewObject returns an object with alternating names and values.
func (s *Engine) NewObject(pairs ...any) *goja.Object {
	o := s.Runtime.NewObject()
	for i := 0; i < len(pairs); i += 2 {
		Must(o.Set(pairs[i].(string), pairs[i+1]))
	}
	return o
}

// DocumentArray returns an array of documents.
func (s *Engine) DocumentArray(docs []bson.Raw) *goja.Object {
	items := make([]any, len(docs))
	for i, d := range docs {
		items[i] = s.Values.DocToJS(d)
	}
	return s.Runtime.NewArray(items...)
}

// IntegerIfExact returns an int64 if the number is an exact integer, else the float.
func IntegerIfExact(f float64) any {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return f
}

// Items returns the elements of an array. Holes are undefined.
func Items(list *goja.Object) []goja.Value {
	length := Property(list, "length")
	if length == nil {
		return nil
	}
	items := make([]goja.Value, max(0, length.ToInteger()))
	for i := range items {
		items[i] = OrUndefined(list.Get(strconv.Itoa(i)))
	}
	return items
}

// CheckKeyOrder throws for keys whose order JavaScript may have changed: integer-like fields come first
// in any object (rules/04-values-and-language §4.9).
func (s *Engine) CheckKeyOrder(given goja.Value, key bson.Raw) {
	elems, err := key.Elements()
	if err != nil || len(elems) < 2 || s.Values.KeepsOrder(given) {
		return
	}
	for _, el := range elems {
		if n, err := strconv.ParseUint(el.Key(), 10, 32); err == nil && strconv.FormatUint(n, 10) == el.Key() {
			s.ThrowInvalid("Key field %q looks like an array index: JavaScript moves such fields to the front, so the order "+
				"of this key cannot be trusted. Write it as a Map: new Map([[\"a\", 1], [\"%s\", 1]])", el.Key(), el.Key())
		}
	}
}
