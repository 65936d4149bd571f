package database

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// Write concerns that scripts of the old shell set on a database or a collection. Without one, that of
// the parent object applies.

// writeConcernMethods returns the methods of objects that have a write concern. field returns the field
// of the object.
func writeConcernMethods[T any](field func(T) *bson.Raw, inherited func(T) bson.Raw) script.Methods[T] {
	return script.Methods[T]{
		{"setWriteConcern", "w:any wtimeout?:any", func(c *script.Call, on T) goja.Value {
			if o := c.Object(0); o != nil {
				*field(on) = parseWriteConcern(c, o)
				return nil
			}
			wc := bson.D{{Key: "w", Value: c.JS.BSONValue(c.Arg(0))}}
			if c.Has(1) {
				wc = append(wc, bson.E{Key: "wtimeout", Value: c.JS.BSONValue(c.Arg(1))})
			}
			*field(on) = rawdoc.MustMarshal(wc)
			return nil
		}, "Sets the write concern of later writes."},
		{"getWriteConcern", "", func(c *script.Call, on T) goja.Value { return server.FieldValue(c.JS, inherited(on), "") },
			"Returns the write concern, if one was set."},
		{"unsetWriteConcern", "", func(_ *script.Call, on T) goja.Value { *field(on) = nil; return nil },
			"Resets the write concern to that of the parent object."},
	}
}
