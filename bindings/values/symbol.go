package values

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// bsonSymbol is the deprecated BSON type symbol.
type bsonSymbol struct {
	readOnlyFields
	realm *Realm
	text  string
}

func (*bsonSymbol) kind() kind        { return kindSymbol }
func (*bsonSymbol) Keys() []string    { return []string{"value"} }
func (*bsonSymbol) Has(k string) bool { return k == "value" }

func (s *bsonSymbol) Get(key string) goja.Value {
	if key == "value" {
		return s.realm.rt.ToValue(s.text)
	}
	return nil
}

func (s *bsonSymbol) encode(e *encoder) {
	e.buf = bsoncore.AppendSymbol(e.buf, s.text)
	e.typ = bson.TypeSymbol
}

func (s *bsonSymbol) inspectText(in *inspector) string {
	return "BSONSymbol(" + in.nested(s.realm.rt.ToValue(s.text)) + ")"
}

func (s *bsonSymbol) writeEJSON(j *jsonWriter) { j.pair("$symbol", s.text) }

func symbolClass() classSpec {
	return classSpec{
		name: "BSONSymbol", bsontype: "BSONSymbol", parent: noParent,
		construct: func(w *Realm, args []goja.Value) payload {
			callee{w, "BSONSymbol"}.checkTypes(args, []string{"string"})
			return &bsonSymbol{realm: w, text: args[0].String()}
		},
		methods: func(w *Realm) []method {
			text := func(s *bsonSymbol, _ []goja.Value) goja.Value { return w.rt.ToValue(s.text) }
			return []method{newMethod(w, "toString", text), newMethod(w, "valueOf", text), newMethod(w, "toJSON", text)}
		},
	}
}
