package database

import (
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/write"
)

// clientBulk is a batch of writes to several collections, sent as one bulkWrite command (MongoDB 8.0).
type clientBulk struct {
	ops, namespaces bson.A
	namespaceIndex  map[string]int
	inserted        map[int]bson.RawValue // ids, by position
	deletes         map[int]bool
	isMulti         bool // an operation is on several documents
}

// clientBulkWrite accepts [{namespace: "db.coll", name: "insertOne", …}, …].
func (d *Database) clientBulkWrite(c *script.Call) goja.Value {
	list := c.Object(0)
	if list.ClassName() != "Array" || len(list.Keys()) == 0 {
		c.JS.Throw("MongoClientBulkWriteExecutionError", "Models can not be empty.")
	}
	b := &clientBulk{namespaceIndex: map[string]int{}, inserted: map[int]bson.RawValue{}, deletes: map[int]bool{}}
	for i, v := range script.Items(list) {
		b.add(c, i, v)
	}
	options := c.Object(1)
	ordered, verbose := script.Flag(options, "ordered", true), script.Flag(options, "verboseResults", false)
	body := server.Command("bulkWrite",
		bson.E{Key: "errorsOnly", Value: !verbose}, bson.E{Key: "ordered", Value: ordered},
		bson.E{Key: "ops", Value: b.ops}, bson.E{Key: "nsInfo", Value: b.namespaces})
	for _, name := range []string{"bypassDocumentValidation", "comment", "let"} {
		if v := script.Property(options, name); v != nil {
			body = append(body, bson.E{Key: name, Value: c.JS.BSONValue(v)})
		}
	}
	concern := d.conn.writeConcern
	if v := script.Property(options, "writeConcern"); v != nil {
		concern = c.JS.Document(v)
	} else if d.inTransaction() {
		concern = nil
	}
	if concern != nil {
		body = append(body, bson.E{Key: "writeConcern", Value: concern})
	}
	send := d.host.Gateway.SendRetryable
	if b.isMulti || write.IsUnacknowledged(concern) {
		send = d.host.Gateway.Send
	}
	reply, err := send(d.Request(body))
	if err != nil {
		d.host.Gateway.Throw(err)
	}
	return b.newResult(c, d, reply, ordered, verbose)
}

func (b *clientBulk) add(c *script.Call, i int, v goja.Value) {
	model, _ := v.(*goja.Object)
	ns := script.OptionalText(script.Property(model, "namespace"))
	if _, coll, ok := strings.Cut(ns, "."); !ok || coll == "" {
		c.JS.ThrowInvalid("bulkWrite model %d needs a namespace \"<db>.<collection>\"", i)
	}
	at, ok := b.namespaceIndex[ns]
	if !ok {
		at = len(b.namespaces)
		b.namespaceIndex[ns] = at
		b.namespaces = append(b.namespaces, bson.D{{Key: "ns", Value: ns}})
	}
	name := script.OptionalText(script.Property(model, "name"))
	filter := func() bson.RawValue { return c.JS.BSONValue(write.RequireDocument(c.JS, model, "filter", i)) }
	var op bson.D
	switch name {
	case "insertOne":
		w := write.InsertOp(c.JS, script.OrUndefined(script.Property(model, "document")), i)
		b.inserted[i] = w.Doc.Lookup("_id")
		op = bson.D{{Key: "insert", Value: int32(at)}, {Key: "document", Value: w.Doc}}
	case "updateOne", "updateMany", "replaceOne":
		u := replacementOrUpdate(c, model, name)
		b.isMulti = b.isMulti || name == "updateMany"
		op = bson.D{{Key: "update", Value: int32(at)}, {Key: "filter", Value: filter()}, {Key: "updateMods", Value: *u},
			{Key: "multi", Value: name == "updateMany"}}
	case "deleteOne", "deleteMany":
		b.deletes[i] = true
		b.isMulti = b.isMulti || name == "deleteMany"
		op = bson.D{{Key: "delete", Value: int32(at)}, {Key: "filter", Value: filter()},
			{Key: "multi", Value: name == "deleteMany"}}
	default:
		write.ThrowUnknownOperation(c.JS, i)
	}
	for _, field := range []string{"upsert", "arrayFilters", "collation", "hint", "sort"} {
		if v := script.Property(model, field); v != nil && name != "insertOne" {
			op = append(op, bson.E{Key: field, Value: c.JS.BSONValue(v)})
		}
	}
	b.ops = append(b.ops, op)
}

func replacementOrUpdate(c *script.Call, model *goja.Object, name string) *bson.RawValue {
	if name == "replaceOne" {
		return write.ParseReplacementDocument(c.JS, script.OrUndefined(script.Property(model, "replacement")))
	}
	return write.ParseUpdateDocument(c.JS, script.OrUndefined(script.Property(model, "update")))
}

// newResult returns the result object. It throws for the first error of an ordered batch, for any error of an
// unordered one, and for a write concern that was not satisfied.
func (b *clientBulk) newResult(c *script.Call, admin *Database, reply bson.Raw, ordered, verbose bool) goja.Value {
	o := c.JS.NewObject(
		"acknowledged", true,
		"insertedCount", rawdoc.Int(reply, "nInserted"),
		"matchedCount", rawdoc.Int(reply, "nMatched"),
		"modifiedCount", rawdoc.Int(reply, "nModified"),
		"deletedCount", rawdoc.Int(reply, "nDeleted"),
		"upsertedCount", rawdoc.Int(reply, "nUpserted"),
		"insertResults", goja.Undefined(), "updateResults", goja.Undefined(), "deleteResults", goja.Undefined(),
	)
	if verbose {
		for _, name := range []string{"insertResults", "updateResults", "deleteResults"} {
			script.Must(o.Set(name, newMap(c.JS)))
		}
	}
	failures := newMap(c.JS)
	failed := false
	for _, doc := range admin.readAllBatches(reply) {
		i := int(rawdoc.Int(doc, "idx"))
		if rawdoc.Int(doc, "ok") != 1 {
			failed = true
			setMapEntry(c.JS, failures, i, c.JS.NewObject("code", c.JS.Values.ToJS(doc.Lookup("code")), "message",
				rawdoc.Text(doc, "errmsg")))
			continue
		}
		if verbose {
			b.addOperationResult(c, o, i, doc)
		}
	}
	concerns := c.JS.Runtime.NewArray()
	if concern, ok := reply.Lookup("writeConcernError").DocumentOK(); ok {
		concerns = c.JS.Runtime.NewArray(c.JS.NewObject("code", c.JS.Values.ToJS(concern.Lookup("code")),
			"message", rawdoc.Text(concern, "errmsg")))
	}
	var message string
	switch {
	case failed && ordered:
		message = "Mongo client ordered bulk write encountered a write error."
	case failed:
		message = "Mongo client unordered bulk write encountered write errors."
	case len(concerns.Keys()) > 0:
		message = "Mongo client bulk write encountered errors during execution."
	default:
		return o
	}
	e := c.JS.Values.Errors.New("MongoClientBulkWriteError", message)
	admin.host.Gateway.AddLabels(e, nil)
	script.Must(e.Set("writeErrors", failures))
	script.Must(e.Set("writeConcernErrors", concerns))
	script.Must(e.Set("partialResult", o))
	panic(e)
}

func (b *clientBulk) addOperationResult(c *script.Call, o *goja.Object, i int, doc bson.Raw) {
	in := func(name string) *goja.Object { m, _ := o.Get(name).(*goja.Object); return m }
	if id, ok := b.inserted[i]; ok {
		setMapEntry(c.JS, in("insertResults"), i, c.JS.NewObject("insertedId", c.JS.Values.ToJS(id)))
		return
	}
	if b.deletes[i] {
		setMapEntry(c.JS, in("deleteResults"), i, c.JS.NewObject("deletedCount", rawdoc.Int(doc, "n")))
		return
	}
	one := c.JS.NewObject("matchedCount", rawdoc.Int(doc, "n"), "modifiedCount", rawdoc.Int(doc, "nModified"),
		"didUpsert", false)
	if id, err := doc.LookupErr("upserted", "_id"); err == nil {
		script.Must(one.Set("didUpsert", true))
		script.Must(one.Set("upsertedId", c.JS.Values.ToJS(id)))
	}
	setMapEntry(c.JS, in("updateResults"), i, one)
}

// readAllBatches returns all documents of a reply's cursor.
func (d *Database) readAllBatches(reply bson.Raw) []bson.Raw {
	var docs []bson.Raw
	batch := server.FirstBatch(reply)
	for {
		values, _ := batch.Values()
		for _, v := range values {
			doc, _ := v.DocumentOK()
			docs = append(docs, doc)
		}
		id := rawdoc.Int(reply, "cursor", "id")
		if id == 0 {
			return docs
		}
		_, name, _ := strings.Cut(rawdoc.Text(reply, "cursor", "ns"), ".")
		reply = d.Run(bson.D{{Key: "getMore", Value: id}, {Key: "collection", Value: name}})
		batch, _ = reply.Lookup("cursor", "nextBatch").ArrayOK()
	}
}

func newMap(js *script.Engine) *goja.Object {
	m, err := js.Runtime.New(js.Runtime.GlobalObject().Get("Map"))
	js.Check(err)
	return m
}

func setMapEntry(js *script.Engine, m *goja.Object, key int, v goja.Value) {
	set, _ := goja.AssertFunction(m.Get("set"))
	if _, err := set(m, js.Runtime.ToValue(key), v); err != nil {
		js.Rethrow(err)
	}
}
