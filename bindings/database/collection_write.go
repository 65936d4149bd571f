package database

import (
	"slices"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/script"
	"shardsh/bindings/server"
	"shardsh/bindings/write"
)

func writeMethods() script.Methods[*Collection] {
	return script.Methods[*Collection]{
		{"insertOne", "document:object options?:object", collInsertOne, "Inserts a document."},
		{"insertMany", "documents:object options?:object", collInsertMany, "Inserts documents."},
		{"insert", "documents:object options?:object", collInsert,
			"Deprecated: use insertOne, insertMany or bulkWrite."},
		{"save", "document:object options?:object", collSave, "Deprecated: use insertOne or replaceOne."},
		{"updateOne", "filter:object update:object options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.update(c, false)
		}, "Changes one document that matches."},
		{"updateMany", "filter:object update:object options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.update(c, true)
		}, "Changes every document that matches."},
		{"replaceOne", "filter:object replacement:object options?:object", collReplaceOne,
			"Replaces one document that matches."},
		{"update", "filter:object update:object options?:object|boolean multi?:boolean", collUpdate,
			"Deprecated: use updateOne, updateMany or bulkWrite."},
		{"deleteOne", "filter:object options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.delete(c, c.Object(1), true)
		}, "Deletes one document that matches."},
		{"deleteMany", "filter:object options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.delete(c, c.Object(1), false)
		}, "Deletes every document that matches."},
		{"remove", "filter:object options?:object|boolean", collRemove,
			"Deprecated: use deleteOne, deleteMany, findOneAndDelete or bulkWrite."},
		{"findOneAndUpdate", "filter:object update:object options?:object", func(c *script.Call,
			coll *Collection) goja.Value {
			return coll.findOneAndChange(c, write.ParseUpdateDocument(c.JS, c.Arg(1)), c.Object(2))
		}, "Changes one document and returns it."},
		{"findOneAndReplace", "filter:object replacement:object options?:object", func(c *script.Call,
			coll *Collection) goja.Value {
			return coll.findOneAndChange(c, write.ParseReplacementDocument(c.JS, c.Arg(1)), c.Object(2))
		}, "Replaces one document and returns it."},
		{"findOneAndDelete", "filter:object options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.findOneAndChange(c, nil, c.Object(1))
		}, "Deletes one document and returns it."},
		{"findAndModify", "options:object", collFindAndModify,
			"Changes one document and returns it; all arguments in one object."},
		{"bulkWrite", "operations:object options?:object", collBulkWrite, "Executes a list of writes."},
		{"initializeOrderedBulkOp", "", func(c *script.Call, coll *Collection) goja.Value {
			return write.NewBulk(c.JS, coll, false)
		},
			"Starts a list of writes done in order."},
		{"initializeUnorderedBulkOp", "", func(c *script.Call, coll *Collection) goja.Value {
			return write.NewBulk(c.JS, coll, true)
		},
			"Starts a list of writes done in any order."},
	}
}

func collInsertOne(c *script.Call, coll *Collection) goja.Value {
	ops := []write.Op{write.InsertOp(c.JS, c.Arg(0), 0)}
	w := coll.Write(ops, write.ParseOptions(c.JS, c.Object(1)))
	coll.host.results().ThrowFailures(w, ops, false)
	return coll.host.results().InsertOneResult(w, ops[0].Doc.Lookup("_id"))
}

func collInsertMany(c *script.Call, coll *Collection) goja.Value {
	list := c.Object(0)
	if list.ClassName() != "Array" {
		c.JS.Throw("MongoInvalidArgumentError", "Argument \"docs\" must be an array of documents")
	}
	return coll.insertAll(c, list, c.Object(1))
}

func (coll *Collection) insertAll(c *script.Call, list, options *goja.Object) goja.Value {
	docs := script.Items(list)
	if len(docs) == 0 {
		c.JS.Throw("MongoInvalidArgumentError", "Invalid BulkOperation, Batch cannot be empty")
	}
	ops := make([]write.Op, len(docs))
	for i, d := range docs {
		ops[i] = write.InsertOp(c.JS, d, i)
	}
	w := coll.Write(ops, write.ParseOptions(c.JS, options))
	coll.host.results().ThrowFailures(w, ops, true)
	return coll.host.results().InsertManyResult(w, ops)
}

func collInsert(c *script.Call, coll *Collection) goja.Value {
	c.JS.Out.WarnDeprecated("Collection.insert() is deprecated. Use insertOne, insertMany, or bulkWrite.")
	list := c.Object(0)
	if list.ClassName() != "Array" {
		list = c.JS.Runtime.NewArray(list)
	}
	return coll.insertAll(c, list, c.Object(1))
}

func collSave(c *script.Call, coll *Collection) goja.Value {
	c.JS.Out.WarnDeprecated("Collection.save() is deprecated. Use insertOne, insertMany, updateOne, updateMany, or " +
		"findOneAndUpdate.")
	id := script.Property(c.Object(0), "_id")
	if id == nil {
		return collInsertOne(c, coll)
	}
	op := write.UpdateOp(c.JS, c.JS.NewObject("_id", id), write.ParseReplacementDocument(c.JS, c.Arg(0)),
		c.JS.NewObject("upsert", true), false)
	return coll.runUpdate(c, op, c.Object(1))
}

func (coll *Collection) update(c *script.Call, multi bool) goja.Value {
	return coll.runUpdate(c, write.UpdateOp(c.JS, c.Object(0), write.ParseUpdateDocument(c.JS, c.Arg(1)), c.Object(2),
		multi),
		c.Object(2))
}

func (coll *Collection) runUpdate(c *script.Call, op write.Op, options *goja.Object) goja.Value {
	ops := []write.Op{op}
	w := coll.Write(ops, write.ParseOptions(c.JS, options))
	coll.host.results().ThrowFailures(w, ops, false)
	return coll.host.results().UpdateResult(w)
}

func collReplaceOne(c *script.Call, coll *Collection) goja.Value {
	return coll.runUpdate(c, write.UpdateOp(c.JS, c.Object(0), write.ParseReplacementDocument(c.JS, c.Arg(1)), c.Object(2),
		false), c.Object(2))
}

// collUpdate accepts the options of mongosh and the two booleans of the old shell.
func collUpdate(c *script.Call, coll *Collection) goja.Value {
	c.JS.Out.WarnDeprecated("Collection.update() is deprecated. Use updateOne, updateMany, or bulkWrite.")
	options := c.Object(2)
	multi := c.Arg(3).ToBoolean()
	if options == nil {
		options = c.JS.NewObject("upsert", c.Arg(2).ToBoolean())
	} else if v := script.Property(options, "multi"); v != nil {
		multi = v.ToBoolean()
	}
	return coll.runUpdate(c, write.UpdateOp(c.JS, c.Object(0), write.ParseUpdateDocument(c.JS, c.Arg(1)), options, multi),
		options)
}

func (coll *Collection) delete(c *script.Call, options *goja.Object, one bool) goja.Value {
	ops := []write.Op{write.DeleteOp(c.JS, c.Object(0), options, one)}
	w := coll.Write(ops, write.ParseOptions(c.JS, options))
	coll.host.results().ThrowFailures(w, ops, false)
	return coll.host.results().DeleteResult(w)
}

func collRemove(c *script.Call, coll *Collection) goja.Value {
	c.JS.Out.WarnDeprecated("Collection.remove() is deprecated. " +
		"Use deleteOne, deleteMany, findOneAndDelete, or bulkWrite.")
	options := c.Object(1)
	one := options == nil && c.Arg(1).ToBoolean()
	if v := script.Property(options, "justOne"); v != nil {
		one = v.ToBoolean()
	}
	return coll.delete(c, options, one)
}

// findOneAndChange runs findAndModify; without an update it removes the document.
func (coll *Collection) findOneAndChange(c *script.Call, update *bson.RawValue, options *goja.Object) goja.Value {
	return coll.findAndModify(c, coll.findOneAndChangeBody(c, update, options), options)
}

func (coll *Collection) findOneAndChangeBody(c *script.Call, update *bson.RawValue, options *goja.Object) bson.D {
	body := bson.D{{Key: "findAndModify", Value: coll.name}, {Key: "query", Value: c.JS.Document(c.Arg(0))},
		{Key: "remove", Value: update == nil}}
	if update != nil {
		upsert := script.Property(options, "upsert")
		body = append(body,
			bson.E{Key: "new", Value: returnsNewDocument(c, options)},
			bson.E{Key: "upsert", Value: upsert != nil && upsert.ToBoolean()},
			bson.E{Key: "update", Value: *update},
		)
	}
	if v := script.Property(options, "projection"); v != nil {
		body = append(body, bson.E{Key: "fields", Value: c.JS.Document(v)})
	}
	return c.JS.Merge(body, script.ObjectOrUndefined(options), append(slices.Clone(shellOnlyOptions),
		"returnDocument", "returnOriginal", "returnNewDocument", "new", "upsert", "projection", "includeResultMetadata",
		"rawResult")...)
}

// returnsNewDocument evaluates the four options that request the changed document.
func returnsNewDocument(c *script.Call, options *goja.Object) bool {
	if v := script.Property(options, "returnDocument"); v != nil {
		if v.String() != "before" && v.String() != "after" {
			c.JS.ThrowInvalid("returnDocument needs to be either 'before' or 'after'")
		}
		return v.String() == "after"
	}
	if v := script.Property(options, "returnOriginal"); v != nil {
		return !v.ToBoolean()
	}
	for _, name := range []string{"returnNewDocument", "new"} {
		if v := script.Property(options, name); v != nil && v.ToBoolean() {
			return true
		}
	}
	return false
}

func (coll *Collection) findAndModify(c *script.Call, body bson.D, options *goja.Object) goja.Value {
	if wc := coll.effectiveWriteConcern(); wc != nil && !coll.database.inTransaction() && !server.HasField(body,
		"writeConcern") {
		body = append(body, bson.E{Key: "writeConcern", Value: wc})
	}
	reply, err := coll.host.Gateway.SendRetryable(coll.database.Request(body))
	if err != nil {
		coll.host.Gateway.Throw(err)
	}
	coll.host.Gateway.CheckWriteConcern(reply)
	for _, name := range []string{"includeResultMetadata", "rawResult"} {
		if v := script.Property(options, name); v != nil && v.ToBoolean() {
			return coll.host.Display.ReplyValue(reply)
		}
	}
	v, err := reply.LookupErr("value")
	if err != nil {
		return goja.Null()
	}
	return c.JS.Values.ToJS(v)
}

func collFindAndModify(c *script.Call, coll *Collection) goja.Value {
	return coll.findAndModify(c, coll.findAndModifyBody(c), c.Object(0))
}

func (coll *Collection) findAndModifyBody(c *script.Call) bson.D {
	o := c.Object(0)
	requireProperties(c, o, "query")
	update, remove := script.Property(o, "update"), script.Property(o, "remove")
	if update == nil && (remove == nil || !remove.ToBoolean()) {
		c.JS.ThrowInvalid("Must specify options.update or options.remove")
	}
	body := bson.D{{Key: "findAndModify", Value: coll.name}, {Key: "query", Value: c.JS.Document(o.Get("query"))}}
	return c.JS.Merge(body, o, append(slices.Clone(shellOnlyOptions), "includeResultMetadata", "rawResult")...)
}

// collBulkWrite executes an array of {operation: {…}}.
func collBulkWrite(c *script.Call, coll *Collection) goja.Value {
	if c.Object(0).ClassName() != "Array" {
		c.JS.Throw("MongoInvalidArgumentError", "Argument \"operations\" must be an array of documents")
	}
	list := script.Items(c.Object(0))
	if len(list) == 0 {
		c.JS.Throw("MongoInvalidArgumentError", "Invalid BulkOperation, Batch cannot be empty")
	}
	ops := make([]write.Op, 0, len(list))
	for i, item := range list {
		ops = append(ops, write.ParseOperation(c.JS, item, i))
	}
	w := coll.Write(ops, write.ParseOptions(c.JS, c.Object(1)))
	coll.Results().ThrowFailures(w, ops, true)
	return coll.Results().BulkResult(w, ops)
}
