package bindings

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
)

// Write concerns that the old shell's scripts set on a database or a collection;
// without, those of what is above count.

func (d *database) concern() bson.Raw {
	if d.writeConcern != nil {
		return d.writeConcern
	}
	return d.on.writeConcern
}

func (coll *collection) concern() bson.Raw {
	if coll.writeConcern != nil {
		return coll.writeConcern
	}
	return coll.d.concern()
}

// concernMethods are those of objects that keep a write concern; kept finds it.
func concernMethods[T any](kept func(T) *bson.Raw, inherited func(T) bson.Raw) []method[T] {
	return []method[T]{
		{"setWriteConcern", "w:any wtimeout?:any", func(c *call, on T) goja.Value {
			if o := c.Object(0); o != nil {
				*kept(on) = c.writeConcernOf(o)
				return nil
			}
			wc := bson.D{{Key: "w", Value: c.JS.Value(c.Arg(0))}}
			if c.Has(1) {
				wc = append(wc, bson.E{Key: "wtimeout", Value: c.JS.Value(c.Arg(1))})
			}
			*kept(on) = rawdoc.Of(wc)
			return nil
		}, "Sets the write concern of what is written from now on."},
		{"getWriteConcern", "", func(c *call, on T) goja.Value { return c.optionalDocument(inherited(on), "") },
			"Returns the write concern, if one was set."},
		{"unsetWriteConcern", "", func(_ *call, on T) goja.Value { *kept(on) = nil; return nil },
			"Goes back to the write concern of what is above."},
	}
}
