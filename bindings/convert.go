package bindings

import (
	"errors"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// document is a script's object as BSON; anything else throws.
func (s *Engine) document(v goja.Value) bson.Raw {
	doc, err := s.world.DocFromJS(v)
	if err != nil {
		s.throwConversion(err)
	}
	return doc
}

// optional is document for arguments that may be missing or null: an empty
// document then.
func (s *Engine) optional(v goja.Value) bson.Raw {
	if v == nil || goja.IsUndefined(v) || goja.IsNull(v) {
		return emptyDocument
	}
	return s.document(v)
}

// value is any value of a script as BSON.
func (s *Engine) value(v goja.Value) bson.RawValue {
	raw, err := s.world.ToBSON(v)
	if err != nil {
		s.throwConversion(err)
	}
	return raw
}

func (s *Engine) throwConversion(err error) {
	var exception *goja.Exception
	if errors.As(err, &exception) {
		panic(exception)
	}
	s.throw("BSONError", "%s", err)
}

var emptyDocument = bson.Raw{5, 0, 0, 0, 0}

// rawOf marshals a document made in Go, which cannot fail.
func rawOf(d bson.D) bson.Raw {
	raw, err := bson.Marshal(d)
	if err != nil {
		panic(err)
	}
	return raw
}

// goValue shows a value the driver decoded.
func (s *Engine) goValue(v any) goja.Value {
	if v == nil {
		return goja.Null()
	}
	kind, data, err := bson.MarshalValue(v)
	if err != nil {
		s.throwConversion(err)
	}
	return s.world.ToJS(bson.RawValue{Type: kind, Value: data})
}

// merge adds the fields of a script's object to a command. A field the command
// has already keeps its place and takes the new value, as object spread does.
func (s *Engine) merge(body bson.D, options goja.Value, except ...string) bson.D {
	if options == nil || goja.IsUndefined(options) || goja.IsNull(options) {
		return body
	}
	doc := s.document(options)
	elems, err := doc.Elements()
	if err != nil {
		s.throwConversion(err)
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

// property is a field of a script's object; nil when the object or the field is
// missing.
func property(o *goja.Object, name string) goja.Value {
	if o == nil {
		return nil
	}
	v := o.Get(name)
	if v == nil || goja.IsUndefined(v) {
		return nil
	}
	return v
}

// newObject makes an object from names and values in turn.
func (s *Engine) newObject(pairs ...any) *goja.Object {
	o := s.rt.NewObject()
	for i := 0; i < len(pairs); i += 2 {
		must(o.Set(pairs[i].(string), pairs[i+1]))
	}
	return o
}

// array makes an array of documents.
func (s *Engine) array(docs []bson.Raw) *goja.Object {
	items := make([]any, len(docs))
	for i, d := range docs {
		items[i] = s.world.DocToJS(d)
	}
	return s.rt.NewArray(items...)
}

// int32Of is a number of a reply, whatever its type; 0 when it is missing.
func intOf(doc bson.Raw, path ...string) int64 {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return 0
	}
	if n, ok := v.AsInt64OK(); ok {
		return n
	}
	return 0
}

// numberOf is a number of a reply as a double; 0 when it is missing.
func numberOf(doc bson.Raw, path ...string) float64 {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return 0
	}
	f, _ := v.AsFloat64OK()
	return f
}

// small is a whole number in the type JavaScript's numbers get on the wire.
func small(n int64) any {
	if n == int64(int32(n)) {
		return int32(n)
	}
	return n
}

// truthy is what JavaScript makes of a BSON value in a condition.
func truthy(v bson.RawValue) bool {
	switch v.Type {
	case 0, bson.TypeNull, bson.TypeUndefined:
		return false
	case bson.TypeBoolean:
		return v.Boolean()
	case bson.TypeString:
		return v.StringValue() != ""
	}
	if f, ok := v.AsFloat64OK(); ok {
		return f != 0 && f == f
	}
	return true
}

func truthyAt(doc bson.Raw, path ...string) bool {
	v, err := doc.LookupErr(path...)
	return err == nil && truthy(v)
}

func textAt(doc bson.Raw, path ...string) string {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return ""
	}
	text, _ := v.StringValueOK()
	return text
}
