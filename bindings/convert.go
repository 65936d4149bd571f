package bindings

import (
	"errors"
	"shardsh/bindings/rawdoc"

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
		return rawdoc.Empty
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
