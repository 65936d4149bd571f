package values

import (
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"
)

// dbRef is a reference to a document. In BSON it is a document {$ref, $id[, $db]} with optional further
// fields, or the deprecated pointer type.
type dbRef struct {
	readOnlyFields
	realm      *Realm
	collection string
	oid        goja.Value
	db         string
	fields     *goja.Object // nil for none
	pointer    bool         // the deprecated BSON type
}

func (*dbRef) kind() kind     { return kindDBRef }
func (*dbRef) Keys() []string { return []string{"collection", "oid", "db", "fields"} }
func (d *dbRef) Has(k string) bool {
	return hasField(d, k) || (k == "$ref" || k == "$id" || k == "$db")
}

func (d *dbRef) Get(key string) goja.Value {
	switch key {
	case "collection", "namespace", "$ref":
		return d.realm.rt.ToValue(d.collection)
	case "oid", "$id":
		return d.oid
	case "db", "$db":
		if d.db == "" {
			return goja.Undefined()
		}
		return d.realm.rt.ToValue(d.db)
	case "fields":
		if d.fields == nil {
			d.fields = d.realm.rt.NewObject()
		}
		return d.fields
	}
	return nil
}

// Set sets a field: a reference is the only mutable BSON value.
func (d *dbRef) Set(key string, v goja.Value) bool {
	switch key {
	case "collection", "namespace", "$ref":
		d.collection = v.String()
	case "oid", "$id":
		d.oid, d.pointer = v, false
	case "db", "$db":
		d.db = ""
		if !isMissing(v) {
			d.db = v.String()
		}
	case "fields":
		d.fields, _ = v.(*goja.Object)
	default:
		return false
	}
	return true
}

func (d *dbRef) encode(e *encoder) {
	if p, ok := payloadOf(d.oid); ok && d.pointer {
		if id, ok := p.(*objectID); ok {
			e.buf = bsoncore.AppendDBPointer(e.buf, d.collection, id.id)
			e.typ = bson.TypeDBPointer
			return
		}
	}
	start, buf := bsoncore.AppendDocumentStart(e.buf)
	e.buf = bsoncore.AppendStringElement(buf, "$ref", d.collection)
	e.element("$id", d.oid)
	if d.db != "" {
		e.buf = bsoncore.AppendStringElement(e.buf, "$db", d.db)
	}
	if d.fields != nil {
		e.fields(d.fields)
	}
	e.end(start)
	e.typ = bson.TypeEmbeddedDocument
}

func (d *dbRef) inspectText(in *inspector) string {
	parts := []string{in.nested(d.realm.rt.ToValue(d.collection)), in.nested(d.oid)}
	if d.db != "" {
		parts = append(parts, in.nested(d.realm.rt.ToValue(d.db)))
	}
	if d.fields != nil && len(d.fields.Keys()) > 0 {
		parts = append(parts, in.nested(d.fields))
	}
	return "DBRef(" + strings.Join(parts, ", ") + ")"
}

func (d *dbRef) writeEJSON(j *jsonWriter) {
	j.open('{')
	j.key("$ref")
	j.text(d.collection)
	j.key("$id")
	j.value(d.oid)
	if d.db != "" {
		j.key("$db")
		j.text(d.db)
	}
	if d.fields != nil {
		j.fields(d.fields)
	}
	j.close('}')
}

func dbRefClass() classSpec {
	return classSpec{
		name: "DBRef", bsontype: "DBRef", parent: noParent, construct: newDBRef,
		methods: func(w *Realm) []method {
			return []method{
				newMethod(w, "toJSON", func(d *dbRef, _ []goja.Value) goja.Value {
					o := objectWith(w.rt, "$ref", w.rt.ToValue(d.collection))
					must(o.Set("$id", d.oid))
					if d.db != "" {
						must(o.Set("$db", d.db))
					}
					if d.fields != nil {
						for _, k := range d.fields.Keys() {
							must(o.Set(k, d.fields.Get(k)))
						}
					}
					return o
				}),
				newMethod(w, "toString", func(d *dbRef, _ []goja.Value) goja.Value {
					return w.rt.ToValue(w.Inspect(w.wrap(d), DefaultInspectOptions()))
				}),
			}
		},
	}
}

// splitNamespace splits a collection given as "db.collection".
func (d *dbRef) splitNamespace() {
	if parts := strings.Split(d.collection, "."); len(parts) == 2 {
		d.db, d.collection = parts[0], parts[1]
	}
}

// newDBRef implements DBRef(collection, id[, db[, fields]]).
func newDBRef(w *Realm, args []goja.Value) payload {
	c := callee{w, "DBRef"}
	if len(args) < 2 {
		any := []string{"string", "number", "object", "boolean", "bigint", "function", "symbol"}
		c.checkTypes(args, []string{"string"}, any)
	}
	c.checkTypes(args, []string{"string"})
	d := &dbRef{realm: w, collection: args[0].String(), oid: args[1]}
	if v := arg(args, 2); !isMissing(v) {
		if !isString(v) {
			c.throwArgument("Argument db must be of type string, got " + typeOf(v) + " instead")
		}
		d.db = v.String()
	}
	d.splitNamespace()
	if o, ok := arg(args, 3).(*goja.Object); ok {
		d.fields = o
	}
	return d
}
