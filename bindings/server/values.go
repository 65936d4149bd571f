package server

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/script"
)

// FieldValue returns a document, or one of its fields, as a JavaScript value; undefined for none.
func FieldValue(js *script.Engine, doc bson.Raw, field string) goja.Value {
	switch {
	case doc == nil:
		return goja.Undefined()
	case field != "":
		return js.Values.ToJS(doc.Lookup(field))
	}
	return js.Values.DocToJS(doc)
}

// ClusterTime returns the content of the driver's cluster time document.
func ClusterTime(js *script.Engine, doc bson.Raw) goja.Value {
	if inner, ok := doc.Lookup("$clusterTime").DocumentOK(); ok {
		doc = inner
	}
	return FieldValue(js, doc, "")
}
