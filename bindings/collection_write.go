package bindings

import (
	"slices"
	"strings"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

func writeMethods() []method[*collection] {
	return []method[*collection]{
		{"insertOne", "document:object options?:object", collInsertOne, "Inserts a document."},
		{"insertMany", "documents:object options?:object", collInsertMany, "Inserts documents."},
		{"insert", "documents:object options?:object", collInsert,
			"Deprecated: use insertOne, insertMany or bulkWrite."},
		{"save", "document:object options?:object", collSave, "Deprecated: use insertOne or replaceOne."},
		{"updateOne", "filter:object update:object options?:object", func(c *call, coll *collection) goja.Value {
			return c.update(coll, false)
		}, "Changes one document that matches."},
		{"updateMany", "filter:object update:object options?:object", func(c *call, coll *collection) goja.Value {
			return c.update(coll, true)
		}, "Changes every document that matches."},
		{"replaceOne", "filter:object replacement:object options?:object", collReplaceOne,
			"Replaces one document that matches."},
		{"update", "filter:object update:object options?:object|boolean multi?:boolean", collUpdate,
			"Deprecated: use updateOne, updateMany or bulkWrite."},
		{"deleteOne", "filter:object options?:object", func(c *call, coll *collection) goja.Value {
			return c.delete(coll, c.Object(1), true)
		}, "Deletes one document that matches."},
		{"deleteMany", "filter:object options?:object", func(c *call, coll *collection) goja.Value {
			return c.delete(coll, c.Object(1), false)
		}, "Deletes every document that matches."},
		{"remove", "filter:object options?:object|boolean", collRemove,
			"Deprecated: use deleteOne, deleteMany, findOneAndDelete or bulkWrite."},
		{"findOneAndUpdate", "filter:object update:object options?:object", func(c *call, coll *collection) goja.Value {
			return c.findOneAnd(coll, c.s.updateValue(c.Arg(1)), c.Object(2))
		}, "Changes one document and returns it."},
		{"findOneAndReplace", "filter:object replacement:object options?:object", func(c *call, coll *collection) goja.Value {
			return c.findOneAnd(coll, c.s.replacement(c.Arg(1)), c.Object(2))
		}, "Replaces one document and returns it."},
		{"findOneAndDelete", "filter:object options?:object", func(c *call, coll *collection) goja.Value {
			return c.findOneAnd(coll, nil, c.Object(1))
		}, "Deletes one document and returns it."},
		{"findAndModify", "options:object", collFindAndModify,
			"Changes one document and returns it; all arguments in one object."},
		{"bulkWrite", "operations:object options?:object", collBulkWrite, "Does a list of writes."},
		{"initializeOrderedBulkOp", "", func(c *call, coll *collection) goja.Value { return c.s.newBulk(coll, false).object },
			"Starts a list of writes done in order."},
		{"initializeUnorderedBulkOp", "", func(c *call, coll *collection) goja.Value {
			return c.s.newBulk(coll,
				true).object
		},
			"Starts a list of writes done in any order."},
	}
}

// insertion makes the operation for a document; one without an _id gets one, in
// the script's own object too.
func (s *Shell) insertion(v goja.Value, index int) writeOp {
	obj, ok := v.(*goja.Object)
	if !ok {
		s.JS.Throw("MongoInvalidArgumentError", "Document must be a valid JavaScript object")
	}
	doc := s.JS.Document(obj)
	if _, has := rawdoc.ID(doc); !has {
		id := bson.NewObjectIDFromTimestamp(s.JS.Clock.Now())
		script.Must(obj.Set("_id", s.JS.World.ObjectID(id)))
		doc = rawdoc.WithID(doc, id)
	}
	return writeOp{kind: insertKind, doc: doc, index: index}
}

// writeOptions reads the options all writes share.
func (s *Shell) writeOptions(o *goja.Object) writeOptions {
	var opts writeOptions
	if v := script.Property(o, "ordered"); v != nil {
		opts.unordered = !v.ToBoolean()
	}
	if v := script.Property(o, "writeConcern"); v != nil {
		opts.writeConcern = s.JS.Document(v)
	} else if w := script.Property(o, "w"); w != nil {
		opts.writeConcern = rawdoc.Of(bson.D{{Key: "w", Value: s.JS.Value(w)}})
	}
	for _, name := range []string{"bypassDocumentValidation", "comment", "let", "maxTimeMS"} {
		if v := script.Property(o, name); v != nil {
			opts.extra = append(opts.extra, bson.E{Key: name, Value: s.JS.Value(v)})
		}
	}
	return opts
}

func collInsertOne(c *call, coll *collection) goja.Value {
	ops := []writeOp{c.s.insertion(c.Arg(0), 0)}
	w := coll.write(ops, c.s.writeOptions(c.Object(1)))
	c.s.throwFailures(w, ops, false)
	return c.s.insertOneResult(w, ops[0].doc.Lookup("_id"))
}

func collInsertMany(c *call, coll *collection) goja.Value {
	list := c.Object(0)
	if list.ClassName() != "Array" {
		c.JS.Throw("MongoInvalidArgumentError", "Argument \"docs\" must be an array of documents")
	}
	return c.insertAll(coll, list, c.Object(1))
}

func (c *call) insertAll(coll *collection, list, options *goja.Object) goja.Value {
	docs := script.Items(list)
	if len(docs) == 0 {
		c.JS.Throw("MongoInvalidArgumentError", "Invalid BulkOperation, Batch cannot be empty")
	}
	ops := make([]writeOp, len(docs))
	for i, d := range docs {
		ops[i] = c.s.insertion(d, i)
	}
	w := coll.write(ops, c.s.writeOptions(options))
	c.s.throwFailures(w, ops, true)
	return c.s.insertManyResult(w, ops)
}

func collInsert(c *call, coll *collection) goja.Value {
	c.JS.Out.Deprecate("Collection.insert() is deprecated. Use insertOne, insertMany, or bulkWrite.")
	list := c.Object(0)
	if list.ClassName() != "Array" {
		list = c.JS.Runtime.NewArray(list)
	}
	return c.insertAll(coll, list, c.Object(1))
}

func collSave(c *call, coll *collection) goja.Value {
	c.JS.Out.Deprecate("Collection.save() is deprecated. Use insertOne, insertMany, updateOne, updateMany, or " +
		"findOneAndUpdate.")
	id := script.Property(c.Object(0), "_id")
	if id == nil {
		return collInsertOne(c, coll)
	}
	op := c.s.updateStatement(c.JS.NewObject("_id", id), c.s.replacement(c.Arg(0)), c.JS.NewObject("upsert", true), false)
	return c.updated(coll, op, c.Object(1))
}

// updateValue returns an update document or pipeline; a document without
// operators is refused as the driver would (rules/04-objects §6.3).
func (s *Shell) updateValue(v goja.Value) *bson.RawValue {
	raw := s.JS.Value(v)
	if !hasOperators(raw) {
		s.JS.Throw("MongoInvalidArgumentError", "Update document requires atomic operators")
	}
	return &raw
}

// hasOperators looks at the first field of a document, and of the stages of a
// pipeline.
func hasOperators(v bson.RawValue) bool {
	if v.Type == bson.TypeArray {
		stages, err := v.Array().Values()
		return err == nil && slices.ContainsFunc(stages, hasOperators)
	}
	doc, ok := v.DocumentOK()
	if !ok {
		return false
	}
	first, err := doc.IndexErr(0)
	return err == nil && strings.HasPrefix(first.Key(), "$")
}

func (s *Shell) replacement(v goja.Value) *bson.RawValue {
	raw := s.JS.Value(v)
	doc, ok := raw.DocumentOK()
	if !ok {
		s.JS.Throw("MongoInvalidArgumentError", "Replacement document must be an object")
	}
	if first, err := doc.IndexErr(0); err == nil && strings.HasPrefix(first.Key(), "$") {
		s.JS.Throw("MongoInvalidArgumentError", "Replacement document must not contain atomic operators")
	}
	return &raw
}

// updateStatement makes one entry of an update command.
func (s *Shell) updateStatement(filter *goja.Object, u *bson.RawValue, options *goja.Object, multi bool) writeOp {
	st := bson.D{{Key: "q", Value: s.JS.Document(filter)}, {Key: "u", Value: *u}}
	if v := script.Property(options, "upsert"); v != nil {
		st = append(st, bson.E{Key: "upsert", Value: v.ToBoolean()})
	}
	if multi {
		st = append(st, bson.E{Key: "multi", Value: true})
	}
	for _, name := range []string{"arrayFilters", "collation", "hint", "sort"} {
		if v := script.Property(options, name); v != nil {
			st = append(st, bson.E{Key: name, Value: s.JS.Value(v)})
		}
	}
	return writeOp{kind: updateKind, doc: rawdoc.Of(st), many: multi}
}

func (s *Shell) deleteStatement(filter, options *goja.Object, one bool) writeOp {
	limit := int32(0)
	if one {
		limit = 1
	}
	st := bson.D{{Key: "q", Value: s.JS.Document(filter)}, {Key: "limit", Value: limit}}
	for _, name := range []string{"collation", "hint"} {
		if v := script.Property(options, name); v != nil {
			st = append(st, bson.E{Key: name, Value: s.JS.Value(v)})
		}
	}
	return writeOp{kind: deleteKind, doc: rawdoc.Of(st), many: !one}
}

func (c *call) update(coll *collection, multi bool) goja.Value {
	return c.updated(coll, c.s.updateStatement(c.Object(0), c.s.updateValue(c.Arg(1)), c.Object(2), multi), c.Object(2))
}

func (c *call) updated(coll *collection, op writeOp, options *goja.Object) goja.Value {
	ops := []writeOp{op}
	w := coll.write(ops, c.s.writeOptions(options))
	c.s.throwFailures(w, ops, false)
	return c.s.updateResult(w)
}

func collReplaceOne(c *call, coll *collection) goja.Value {
	return c.updated(coll, c.s.updateStatement(c.Object(0), c.s.replacement(c.Arg(1)), c.Object(2), false), c.Object(2))
}

// collUpdate takes options as mongosh does and the two booleans of the old
// shell.
func collUpdate(c *call, coll *collection) goja.Value {
	c.JS.Out.Deprecate("Collection.update() is deprecated. Use updateOne, updateMany, or bulkWrite.")
	options := c.Object(2)
	multi := c.Arg(3).ToBoolean()
	if options == nil {
		options = c.JS.NewObject("upsert", c.Arg(2).ToBoolean())
	} else if v := script.Property(options, "multi"); v != nil {
		multi = v.ToBoolean()
	}
	return c.updated(coll, c.s.updateStatement(c.Object(0), c.s.updateValue(c.Arg(1)), options, multi), options)
}

func (c *call) delete(coll *collection, options *goja.Object, one bool) goja.Value {
	ops := []writeOp{c.s.deleteStatement(c.Object(0), options, one)}
	w := coll.write(ops, c.s.writeOptions(options))
	c.s.throwFailures(w, ops, false)
	return c.s.deleteResult(w)
}

func collRemove(c *call, coll *collection) goja.Value {
	c.JS.Out.Deprecate("Collection.remove() is deprecated. Use deleteOne, deleteMany, findOneAndDelete, or bulkWrite.")
	options := c.Object(1)
	one := options == nil && c.Arg(1).ToBoolean()
	if v := script.Property(options, "justOne"); v != nil {
		one = v.ToBoolean()
	}
	return c.delete(coll, options, one)
}

// findOneAnd runs findAndModify; without an update it removes.
func (c *call) findOneAnd(coll *collection, update *bson.RawValue, options *goja.Object) goja.Value {
	return c.findAndModify(coll, c.findOneAndBody(coll, update, options), options)
}

func (c *call) findOneAndBody(coll *collection, update *bson.RawValue, options *goja.Object) bson.D {
	body := bson.D{{Key: "findAndModify", Value: coll.name}, {Key: "query", Value: c.JS.Document(c.Arg(0))},
		{Key: "remove", Value: update == nil}}
	if update != nil {
		upsert := script.Property(options, "upsert")
		body = append(body,
			bson.E{Key: "new", Value: c.wantsAfter(options)},
			bson.E{Key: "upsert", Value: upsert != nil && upsert.ToBoolean()},
			bson.E{Key: "update", Value: *update},
		)
	}
	if v := script.Property(options, "projection"); v != nil {
		body = append(body, bson.E{Key: "fields", Value: c.JS.Document(v)})
	}
	return c.JS.Merge(body, optionsOrUndefined(options), append(slices.Clone(notSent),
		"returnDocument", "returnOriginal", "returnNewDocument", "new", "upsert", "projection", "includeResultMetadata",
		"rawResult")...)
}

// wantsAfter reads the four ways to ask for the changed document.
func (c *call) wantsAfter(options *goja.Object) bool {
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

func optionsOrUndefined(o *goja.Object) goja.Value {
	if o == nil {
		return goja.Undefined()
	}
	return o
}

func (c *call) findAndModify(coll *collection, body bson.D, options *goja.Object) goja.Value {
	if wc := coll.concern(); wc != nil && !coll.d.inTransaction() && !server.HasField(body, "writeConcern") {
		body = append(body, bson.E{Key: "writeConcern", Value: wc})
	}
	reply, err := c.s.gateway.SendRetryable(coll.d.Request(body))
	if err != nil {
		c.s.gateway.Throw(err)
	}
	for _, name := range []string{"includeResultMetadata", "rawResult"} {
		if v := script.Property(options, name); v != nil && v.ToBoolean() {
			return c.s.display.Reply(reply)
		}
	}
	v, err := reply.LookupErr("value")
	if err != nil {
		return goja.Null()
	}
	return c.JS.World.ToJS(v)
}

func collFindAndModify(c *call, coll *collection) goja.Value {
	return c.findAndModify(coll, c.findAndModifyBody(coll), c.Object(0))
}

func (c *call) findAndModifyBody(coll *collection) bson.D {
	o := c.Object(0)
	c.requireProperties(o, "query")
	update, remove := script.Property(o, "update"), script.Property(o, "remove")
	if update == nil && (remove == nil || !remove.ToBoolean()) {
		c.JS.ThrowInvalid("Must specify options.update or options.remove")
	}
	body := bson.D{{Key: "findAndModify", Value: coll.name}, {Key: "query", Value: c.JS.Document(o.Get("query"))}}
	return c.JS.Merge(body, o, append(slices.Clone(notSent), "includeResultMetadata", "rawResult")...)
}
