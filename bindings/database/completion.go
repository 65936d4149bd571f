package database

import (
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/write"

	"github.com/dop251/goja"
)

// NamespaceOf returns the database and the collection of a value; nil for values that are neither.
func NamespaceOf(v goja.Value) (d *server.Database, collectionName string) {
	if d, ok := script.Receiver[*Database](v); ok {
		return d.Database, ""
	}
	if coll, ok := script.Receiver[*Collection](v); ok {
		return coll.database.Database, coll.name
	}
	return nil, ""
}

// MethodResult returns the result of a method for completion: a value if it is known without a call,
// otherwise the prototype of the result.
func (h *Host) MethodResult(on goja.Value, method, argument string) (v goja.Value, proto *goja.Object, ours bool) {
	if d, ok := script.Receiver[*Database](on); ok {
		v, proto = h.databaseMethodResult(d, method, argument)
		return v, proto, true
	}
	if m, ok := script.Receiver[*Mongo](on); ok {
		v, proto = h.connectionMethodResult(m, method, argument)
		return v, proto, true
	}
	if coll, ok := script.Receiver[*Collection](on); ok {
		v, proto = h.collectionMethodResult(coll, method)
		return v, proto, true
	}
	return nil, nil, false
}

func (h *Host) databaseMethodResult(d *Database, method, argument string) (goja.Value, *goja.Object) {
	switch method {
	case "getSiblingDB", "getSisterDB":
		if IsValidDatabaseName(argument) {
			return d.SiblingDatabase(argument).object, nil
		}
	case "getCollection":
		if isValidCollectionName(argument) {
			return d.Collection(argument).object, nil
		}
	case "getMongo":
		return d.conn.Object(), nil
	case "aggregate", "watch":
		return nil, h.Cursors.Prototype()
	}
	return nil, nil
}

func (h *Host) connectionMethodResult(m *Mongo, method, argument string) (goja.Value, *goja.Object) {
	switch {
	case method == "getDB" && IsValidDatabaseName(argument):
		return m.Database(argument).object, nil
	case method == "startSession":
		return nil, h.Prototypes.Session()
	}
	return nil, nil
}

func (h *Host) collectionMethodResult(coll *Collection, method string) (goja.Value, *goja.Object) {
	switch method {
	case "find", "aggregate", "watch":
		return nil, h.Cursors.Prototype()
	case "explain":
		return nil, script.PrototypeFromTables(h.JS, "Explainable", explainMethods)
	case "getPlanCache":
		return nil, script.PrototypeFromTables(h.JS, "PlanCache", planCacheMethods)
	case "initializeOrderedBulkOp", "initializeUnorderedBulkOp":
		return nil, write.BulkPrototype(h.JS)
	case "getDB":
		return coll.database.object, nil
	case "getMongo":
		return coll.database.conn.Object(), nil
	}
	return nil, nil
}
