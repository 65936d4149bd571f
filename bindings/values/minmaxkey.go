package values

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// minMaxKey is MinKey or MaxKey.
type minMaxKey struct {
	noFields
	max bool
}

func (b *minMaxKey) kind() kind {
	if b.max {
		return kindMaxKey
	}
	return kindMinKey
}

func (b *minMaxKey) encode(e *encoder) {
	e.typ = bson.TypeMinKey
	if b.max {
		e.typ = bson.TypeMaxKey
	}
}

func (b *minMaxKey) inspectText(*inspector) string {
	if b.max {
		return "MaxKey()"
	}
	return "MinKey()"
}

func (b *minMaxKey) writeEJSON(j *jsonWriter) {
	name := "$minKey"
	if b.max {
		name = "$maxKey"
	}
	j.open('{')
	j.key(name)
	j.raw("1")
	j.close('}')
}

func minKeyClass() classSpec { return minMaxKeyClass("MinKey", "$minKey", false) }
func maxKeyClass() classSpec { return minMaxKeyClass("MaxKey", "$maxKey", true) }

func minMaxKeyClass(name, extended string, max bool) classSpec {
	return classSpec{
		name: name, bsontype: name, parent: noParent,
		construct: func(*Realm, []goja.Value) payload { return &minMaxKey{max: max} },
		methods: func(w *Realm) []method {
			return []method{
				newMethod(w, "toJSON",
					func(*minMaxKey, []goja.Value) goja.Value { return objectWith(w.rt, extended, w.rt.ToValue(1)) }),
				newMethod(w, "toString", func(*minMaxKey, []goja.Value) goja.Value { return w.rt.ToValue(name + "()") }),
			}
		},
		// The function itself also represents the value (rules/04-outputs-and-traps §10, trap 10).
		statics: func(w *Realm, c *class) { defineHidden(c.ctor, "_bsontype", w.rt.ToValue(name)) },
	}
}

// minMaxKeyOfConstructor returns the MinKey or MaxKey that an uncalled constructor represents.
func (w *Realm) minMaxKeyOfConstructor(o *goja.Object) *minMaxKey {
	for _, k := range [...]kind{kindMinKey, kindMaxKey} {
		if c := w.classes[k]; c != nil && c.ctor == o {
			return &minMaxKey{max: k == kindMaxKey}
		}
	}
	return nil
}
