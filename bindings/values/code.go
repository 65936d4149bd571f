package values

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// code is JavaScript code as a value, with or without a scope.
type code struct {
	readOnlyFields
	realm *Realm
	text  string
	scope *goja.Object
}

func (*code) kind() kind { return kindCode }

func (*code) Keys() []string      { return []string{"code", "scope"} }
func (c *code) Has(k string) bool { return hasField(c, k) }

func (c *code) Get(key string) goja.Value {
	switch {
	case key == "code":
		return c.realm.rt.ToValue(c.text)
	case key != "scope":
		return nil
	case c.scope == nil:
		return goja.Null()
	default:
		return c.scope
	}
}

func (c *code) encode(e *encoder) {
	if c.scope == nil {
		e.buf = bsoncore.AppendJavaScript(e.buf, c.text)
		e.typ = bson.TypeJavaScript
		return
	}
	start := int32(len(e.buf))
	e.buf = append(e.buf, 0, 0, 0, 0)
	e.buf = bsoncore.AppendString(e.buf, c.text)
	e.document(c.scope)
	e.buf = bsoncore.UpdateLength(e.buf, start, int32(len(e.buf))-start)
	e.typ = bson.TypeCodeWithScope
}

func (c *code) inspectText(in *inspector) string {
	if c.scope == nil {
		return "Code(" + in.nested(c.realm.rt.ToValue(c.text)) + ")"
	}
	return "Code(" + in.nested(c.realm.rt.ToValue(c.text)) + ", " + in.nested(c.scope) + ")"
}

func (c *code) writeEJSON(j *jsonWriter) {
	j.open('{')
	j.key("$code")
	j.text(c.text)
	if c.scope != nil {
		j.key("$scope")
		j.value(c.scope)
	}
	j.close('}')
}

func codeClass() classSpec {
	return classSpec{
		name: "Code", bsontype: "Code", parent: noParent, construct: newCode,
		methods: func(w *Realm) []method {
			return []method{
				newMethod(w, "toString", func(c *code, _ []goja.Value) goja.Value { return w.rt.ToValue(c.text) }),
				newMethod(w, "toJSON", func(c *code, _ []goja.Value) goja.Value {
					o := objectWith(w.rt, "code", w.rt.ToValue(c.text))
					if c.scope != nil {
						must(o.Set("scope", c.scope))
					}
					return o
				}),
			}
		},
	}
}

// newCode implements Code(text or function[, scope]).
func newCode(w *Realm, args []goja.Value) payload {
	callee{w, "Code"}.checkTypes(args, []string{"string", "function", optionalArg}, []string{"object", optionalArg})
	c := &code{realm: w}
	if v := arg(args, 0); !goja.IsUndefined(v) {
		c.text = v.String()
	}
	c.scope, _ = arg(args, 1).(*goja.Object)
	return c
}
