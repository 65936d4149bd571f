package bindings

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// collBulkWrite reads a list of {operation: {…}} and does it.
func collBulkWrite(c *call, coll *collection) goja.Value {
	if c.Object(0).ClassName() != "Array" {
		c.JS.Throw("MongoInvalidArgumentError", "Argument \"operations\" must be an array of documents")
	}
	list := script.Items(c.Object(0))
	if len(list) == 0 {
		c.JS.Throw("MongoInvalidArgumentError", "Invalid BulkOperation, Batch cannot be empty")
	}
	ops := make([]writeOp, 0, len(list))
	for i, item := range list {
		ops = append(ops, c.bulkOperation(item, i))
	}
	w := coll.write(ops, c.s.writeOptions(c.Object(1)))
	c.s.throwFailures(w, ops, true)
	return c.s.bulkResult(w, ops)
}

func (c *call) bulkOperation(item goja.Value, index int) writeOp {
	entry, _ := item.(*goja.Object)
	if entry == nil || len(entry.Keys()) == 0 {
		c.throwInvalidBulk(index)
	}
	name := entry.Keys()[0]
	spec, _ := entry.Get(name).(*goja.Object)
	if spec == nil {
		c.throwInvalidBulk(index)
	}
	var op writeOp
	switch name {
	case "insertOne":
		doc := script.Property(spec, "document")
		if doc == nil {
			doc = spec
		}
		return c.s.insertion(doc, index)
	case "updateOne", "updateMany":
		op = c.s.updateStatement(c.bulkField(spec, "filter", index), c.s.updateValue(orUndefined(spec.Get("update"))),
			spec, name == "updateMany")
	case "replaceOne":
		op = c.s.updateStatement(c.bulkField(spec, "filter", index),
			c.s.replacement(orUndefined(spec.Get("replacement"))), spec, false)
	case "deleteOne", "deleteMany":
		op = c.s.deleteStatement(c.bulkField(spec, "filter", index), spec, name == "deleteOne")
	default:
		c.throwInvalidBulk(index)
	}
	op.index = index
	return op
}

func (c *call) bulkField(spec *goja.Object, name string, index int) *goja.Object {
	o, _ := script.Property(spec, name).(*goja.Object)
	if o == nil {
		c.JS.Throw("MongoInvalidArgumentError", "bulkWrite operation %d needs a document as its %s", index, name)
	}
	return o
}

func (c *call) throwInvalidBulk(index int) {
	c.JS.Throw("MongoInvalidArgumentError",
		"bulkWrite operation %d is none of insertOne, updateOne, updateMany, replaceOne, deleteOne, deleteMany", index)
}

// bulk is a list of writes that a script builds up step by step.
type bulk struct {
	script.Hidden
	coll      *collection
	unordered bool
	ops       []writeOp
	executed  bool
	object    *goja.Object
}

func (s *Shell) newBulk(coll *collection, unordered bool) *bulk {
	b := &bulk{coll: coll, unordered: unordered}
	b.object = s.JS.Instance(b, prototype(s, "Bulk", bulkMethods()))
	s.JS.World.SetPrinter(b.object, func() string { return s.display.Inspect(b.summary()) })
	return b
}

func (b *bulk) add(op writeOp) {
	if b.executed {
		b.coll.s.JS.Throw("MongoBatchReExecutionError", "This batch has already been executed, create new batch to execute")
	}
	op.index = len(b.ops)
	b.ops = append(b.ops, op)
}

func (b *bulk) summary() *goja.Object {
	var counts [3]int
	batches := 0
	last := -1
	for _, op := range b.ops {
		counts[op.kind]++
		if int(op.kind) != last {
			batches++
			last = int(op.kind)
		}
	}
	return b.coll.s.JS.NewObject("nInsertOps", counts[insertKind], "nUpdateOps", counts[updateKind],
		"nRemoveOps", counts[deleteKind], "nBatches", batches)
}

func bulkMethods() []method[*bulk] {
	return []method[*bulk]{
		{"insert", "document:object", func(c *call, b *bulk) goja.Value {
			b.add(c.s.insertion(c.Arg(0), 0))
			return c.This
		}, "Adds an insert."},
		{"find", "query:object", func(c *call, b *bulk) goja.Value {
			f := &bulkFind{bulk: b, filter: c.Object(0), options: c.JS.Runtime.NewObject()}
			return c.JS.Instance(f, prototype(c.s, "BulkFindOp", bulkFindMethods()))
		}, "Chooses the documents of the update or delete that follows."},
		{"execute", "writeConcern?:object", bulkExecute, "Does the writes."},
		{"toJSON", "", func(_ *call, b *bulk) goja.Value { return b.summary() }, ""},
		{"tojson", "", func(_ *call, b *bulk) goja.Value { return b.summary() }, ""},
		{"toString", "", func(c *call, b *bulk) goja.Value { return c.JS.Runtime.ToValue(c.s.display.Inspect(b.summary())) },
			""},
		{"getOperations", "", bulkGetOperations, "Returns the writes that were done."},
	}
}

func bulkExecute(c *call, b *bulk) goja.Value {
	if len(b.ops) == 0 {
		c.JS.Throw("MongoInvalidArgumentError", "Invalid BulkOperation, Batch cannot be empty")
	}
	if b.executed {
		c.JS.Throw("MongoBatchReExecutionError", "This batch has already been executed, create new batch to execute")
	}
	b.executed = true
	opts := writeOptions{unordered: b.unordered}
	if c.Has(0) {
		opts.writeConcern = c.JS.Document(c.Arg(0))
	}
	w := b.coll.write(b.ops, opts)
	c.s.throwFailures(w, b.ops, true)
	return c.s.bulkResult(w, b.ops)
}

func bulkGetOperations(c *call, b *bulk) goja.Value {
	if !b.executed {
		c.JS.ThrowCoded(script.InvalidInput, script.CodeInvalidOperation,
			"Cannot call getOperations on an unexecuted Bulk operation")
	}
	var groups []any
	for i := 0; i < len(b.ops); {
		n := batchLength(b.ops[i:])
		var docs []any
		for _, op := range b.ops[i : i+n] {
			docs = append(docs, c.JS.World.DocToJS(op.doc))
		}
		groups = append(groups, c.JS.NewObject("originalZeroIndex", i, "batchType", int(b.ops[i].kind)+1, "operations",
			c.JS.Runtime.NewArray(docs...)))
		i += n
	}
	return c.JS.Runtime.NewArray(groups...)
}

// bulkFind is the middle of bulk.find(…).….
type bulkFind struct {
	script.Hidden
	bulk    *bulk
	filter  *goja.Object
	options *goja.Object
}

func bulkFindMethods() []method[*bulkFind] {
	return []method[*bulkFind]{
		{"update", "update:object", func(c *call, f *bulkFind) goja.Value { return c.bulkUpdate(f, true) }, ""},
		{"updateOne", "update:object", func(c *call, f *bulkFind) goja.Value { return c.bulkUpdate(f, false) }, ""},
		{"replaceOne", "replacement:object", func(c *call, f *bulkFind) goja.Value {
			f.bulk.add(c.s.updateStatement(f.filter, c.s.replacement(c.Arg(0)), f.options, false))
			return f.bulk.object
		}, ""},
		{"upsert", "", func(c *call, f *bulkFind) goja.Value { return f.option(c, "upsert", c.JS.Runtime.ToValue(true)) },
			""},
		{"hint", "index:any", func(c *call, f *bulkFind) goja.Value { return f.option(c, "hint", c.Arg(0)) }, ""},
		{"collation", "spec:object", func(c *call, f *bulkFind) goja.Value { return f.option(c, "collation", c.Arg(0)) },
			""},
		{"arrayFilters", "filters:object", func(c *call, f *bulkFind) goja.Value {
			return f.option(c, "arrayFilters",
				c.Arg(0))
		},
			""},
		{"delete", "", func(c *call, f *bulkFind) goja.Value { return c.bulkDelete(f, false) }, ""},
		{"deleteOne", "", func(c *call, f *bulkFind) goja.Value { return c.bulkDelete(f, true) }, ""},
		{"remove", "", func(c *call, f *bulkFind) goja.Value { return c.bulkDelete(f, false) }, ""},
		{"removeOne", "", func(c *call, f *bulkFind) goja.Value { return c.bulkDelete(f, true) }, ""},
	}
}

func (f *bulkFind) option(c *call, name string, v goja.Value) goja.Value {
	script.Must(f.options.Set(name, v))
	return c.This
}

func (c *call) bulkUpdate(f *bulkFind, multi bool) goja.Value {
	f.bulk.add(c.s.updateStatement(f.filter, c.s.updateValue(c.Arg(0)), f.options, multi))
	return f.bulk.object
}

func (c *call) bulkDelete(f *bulkFind, one bool) goja.Value {
	f.bulk.add(c.s.deleteStatement(f.filter, f.options, one))
	return f.bulk.object
}
