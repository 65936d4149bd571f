package write

import (
	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// bulk is a batch of writes that a script builds step by step.
type bulk struct {
	script.OpaqueObject
	JS        *script.Engine
	coll      Collection
	unordered bool
	ops       []Op
	executed  bool
	object    *goja.Object
}

// Collection is the target of a script's batch of writes.
type Collection interface {
	Write(ops []Op, opts Options) *Result
	Results() ResultBuilder
	Inspect(v goja.Value) string
}

// NewBulk returns the object of a batch of writes.
func NewBulk(js *script.Engine, coll Collection, unordered bool) *goja.Object {
	b := &bulk{JS: js, coll: coll, unordered: unordered}
	b.object = js.NewInstance(b, BulkPrototype(js))
	js.Values.SetPrinter(b.object, func() string { return coll.Inspect(b.summary()) })
	return b.object
}

// BulkPrototype returns the prototype of batches of writes.
func BulkPrototype(js *script.Engine) *goja.Object {
	return script.PrototypeFromTables(js, "Bulk", bulkMethods)
}

func (b *bulk) add(op Op) {
	if b.executed {
		b.JS.Throw("MongoBatchReExecutionError", "This batch has already been executed, create new batch to execute")
	}
	op.Index = len(b.ops)
	b.ops = append(b.ops, op)
}

func (b *bulk) summary() *goja.Object {
	var counts [3]int
	batches := 0
	last := -1
	for _, op := range b.ops {
		counts[op.Kind]++
		if int(op.Kind) != last {
			batches++
			last = int(op.Kind)
		}
	}
	return b.JS.NewObject("nInsertOps", counts[Insert], "nUpdateOps", counts[Update],
		"nRemoveOps", counts[Delete], "nBatches", batches)
}

func bulkMethods() script.Methods[*bulk] {
	return script.Methods[*bulk]{
		{"insert", "document:object", func(c *script.Call, b *bulk) goja.Value {
			b.add(InsertOp(c.JS, c.Arg(0), 0))
			return c.This
		}, "Adds an insert."},
		{"find", "query:object", func(c *script.Call, b *bulk) goja.Value {
			f := &bulkFind{bulk: b, filter: c.Object(0), options: c.JS.Runtime.NewObject()}
			return c.JS.NewInstance(f, script.PrototypeFromTables(c.JS, "BulkFindOp", bulkFindMethods))
		}, "Chooses the documents of the update or delete that follows."},
		{"execute", "writeConcern?:object", bulkExecute, "Does the writes."},
		{"toJSON", "", func(_ *script.Call, b *bulk) goja.Value { return b.summary() }, ""},
		{"tojson", "", func(_ *script.Call, b *bulk) goja.Value { return b.summary() }, ""},
		{"toString", "", func(c *script.Call, b *bulk) goja.Value {
			return c.JS.Runtime.ToValue(b.coll.Inspect(b.summary()))
		},
			""},
		{"getOperations", "", bulkGetOperations, "Returns the writes that were done."},
	}
}

func bulkExecute(c *script.Call, b *bulk) goja.Value {
	if len(b.ops) == 0 {
		c.JS.Throw("MongoInvalidArgumentError", "Invalid BulkOperation, Batch cannot be empty")
	}
	if b.executed {
		c.JS.Throw("MongoBatchReExecutionError", "This batch has already been executed, create new batch to execute")
	}
	b.executed = true
	opts := Options{Unordered: b.unordered}
	if c.Has(0) {
		opts.Concern = c.JS.Document(c.Arg(0))
	}
	w := b.coll.Write(b.ops, opts)
	results := b.coll.Results()
	results.ThrowFailures(w, b.ops, true)
	return results.BulkResult(w, b.ops)
}

func bulkGetOperations(c *script.Call, b *bulk) goja.Value {
	if !b.executed {
		c.JS.ThrowCoded(script.InvalidInputErrorName, script.CodeInvalidOperation,
			"Cannot call getOperations on an unexecuted Bulk operation")
	}
	var groups []any
	for i := 0; i < len(b.ops); {
		n := batchLength(b.ops[i:])
		var docs []any
		for _, op := range b.ops[i : i+n] {
			docs = append(docs, c.JS.Values.DocToJS(op.Doc))
		}
		groups = append(groups, c.JS.NewObject("originalZeroIndex", i, "batchType", int(b.ops[i].Kind)+1, "operations",
			c.JS.Runtime.NewArray(docs...)))
		i += n
	}
	return c.JS.Runtime.NewArray(groups...)
}

// bulkFind is the object that bulk.find() returns.
type bulkFind struct {
	script.OpaqueObject
	bulk    *bulk
	filter  *goja.Object
	options *goja.Object
}

func bulkFindMethods() script.Methods[*bulkFind] {
	return script.Methods[*bulkFind]{
		{"update", "update:object", func(c *script.Call, f *bulkFind) goja.Value { return f.update(c, true) }, ""},
		{"updateOne", "update:object", func(c *script.Call, f *bulkFind) goja.Value { return f.update(c, false) }, ""},
		{"replaceOne", "replacement:object", func(c *script.Call, f *bulkFind) goja.Value {
			f.bulk.add(UpdateOp(c.JS, f.filter, ParseReplacementDocument(c.JS, c.Arg(0)), f.options, false))
			return f.bulk.object
		}, ""},
		{"upsert", "", func(c *script.Call, f *bulkFind) goja.Value {
			return f.option(c, "upsert", c.JS.Runtime.ToValue(true))
		},
			""},
		{"hint", "index:any", func(c *script.Call, f *bulkFind) goja.Value { return f.option(c, "hint", c.Arg(0)) }, ""},
		{"collation", "spec:object", func(c *script.Call, f *bulkFind) goja.Value {
			return f.option(c, "collation", c.Arg(0))
		},
			""},
		{"arrayFilters", "filters:object", func(c *script.Call, f *bulkFind) goja.Value {
			return f.option(c, "arrayFilters",
				c.Arg(0))
		},
			""},
		{"delete", "", func(c *script.Call, f *bulkFind) goja.Value { return f.delete(c, false) }, ""},
		{"deleteOne", "", func(c *script.Call, f *bulkFind) goja.Value { return f.delete(c, true) }, ""},
		{"remove", "", func(c *script.Call, f *bulkFind) goja.Value { return f.delete(c, false) }, ""},
		{"removeOne", "", func(c *script.Call, f *bulkFind) goja.Value { return f.delete(c, true) }, ""},
	}
}

func (f *bulkFind) option(c *script.Call, name string, v goja.Value) goja.Value {
	script.Must(f.options.Set(name, v))
	return c.This
}

func (f *bulkFind) update(c *script.Call, multi bool) goja.Value {
	f.bulk.add(UpdateOp(c.JS, f.filter, ParseUpdateDocument(c.JS, c.Arg(0)), f.options, multi))
	return f.bulk.object
}

func (f *bulkFind) delete(c *script.Call, one bool) goja.Value {
	f.bulk.add(DeleteOp(c.JS, f.filter, f.options, one))
	return f.bulk.object
}
