package bindings

import (
	"slices"
	"strings"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/timespan"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

func (s *Shell) cursorPrototype() *goja.Object {
	if p := s.JS.Classes.Prototype("Cursor"); p != nil {
		return p
	}
	p := prototype(s, "Cursor", slices.Concat(cursorMethods(), cursorLegacyMethods()))
	iterate := s.function("[Symbol.iterator]", func(c *call) goja.Value {
		cur, ok := script.Receiver[*cursor](c.This)
		if !ok {
			c.JS.ThrowType("not a cursor")
		}
		return c.s.iterator(cur)
	})
	s.asyncIteration(p)
	refuse := s.function("toBSON", func(c *call) goja.Value { c.JS.ThrowInvalid(cursorIsNoValue); return nil })
	script.Define(p, "toBSON", refuse)
	script.Must(p.DefineDataPropertySymbol(goja.SymIterator, iterate, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
	return p
}

const cursorIsNoValue = "Cannot serialize a cursor to JSON. Did you mean to call .toArray() first?"

// asyncIteration makes "for await" work where the runtime has the symbol for it:
// the same documents, in promises.
func (s *Shell) asyncIteration(p *goja.Object) {
	class, _ := s.JS.Runtime.GlobalObject().Get("Symbol").(*goja.Object)
	symbol, ok := script.Property(class, "asyncIterator").(*goja.Symbol)
	if !ok {
		return
	}
	iterate := s.function("[Symbol.asyncIterator]", func(c *call) goja.Value {
		cur, ok := script.Receiver[*cursor](c.This)
		if !ok {
			c.JS.ThrowType("not a cursor")
		}
		from := c.s.iterator(cur)
		it := c.JS.Runtime.NewObject()
		for _, name := range []string{"next", "return"} {
			step, _ := goja.AssertFunction(from.Get(name))
			script.Define(it, name, c.s.function(name, func(c *call) goja.Value {
				promise, resolve, reject := c.JS.Runtime.NewPromise()
				v, err := step(from, c.Args...)
				if thrown := thrownBy(err); thrown != nil {
					_ = reject(thrown)
				} else if err != nil {
					c.JS.Rethrow(err)
				} else {
					_ = resolve(v)
				}
				return c.JS.Runtime.ToValue(promise)
			}))
		}
		script.Must(it.SetSymbol(symbol, c.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value { return fc.This })))
		return it
	})
	script.Must(p.DefineDataPropertySymbol(symbol, iterate, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE))
}

// iterator makes a cursor work in for…of, spread and destructuring.
func (s *Shell) iterator(cur *cursor) *goja.Object {
	it := s.JS.Runtime.NewObject()
	script.Define(it, "next", s.JS.Runtime.ToValue(func(goja.FunctionCall) goja.Value {
		v := cur.next()
		if v == nil {
			return s.JS.NewObject("value", goja.Undefined(), "done", true)
		}
		return s.JS.NewObject("value", v, "done", false)
	}))
	script.Define(it, "return", s.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		cur.close()
		return s.JS.NewObject("value", fc.Argument(0), "done", true)
	}))
	script.Must(it.SetSymbol(goja.SymIterator, s.JS.Runtime.ToValue(func(fc goja.FunctionCall) goja.Value {
		return fc.This
	})))
	return it
}

func cursorMethods() []method[*cursor] {
	return []method[*cursor]{
		{"sort", "spec:object|string", cursorSort, "Sorts the results."},
		{"projection", "spec:object", cursorDocument("projection", "$project"), "Chooses the fields of the results."},
		{"project", "spec:object", cursorDocument("projection", "$project"), "The same as projection."},
		{"limit", "n:any", cursorLimit, "Takes at most n documents."},
		{"skip", "n:any", cursorSkip, "Leaves out the first n documents."},
		{"hint", "index:string|object", cursorValue("hint"), "Forces an index."},
		{"comment", "text:any", cursorValue("comment"), "Adds a comment that shows in logs and currentOp."},
		{"collation", "spec:object", cursorValue("collation"), "Sets how strings compare."},
		{"min", "bound:object", cursorValue("min"), "Sets the lower bound of an index."},
		{"max", "bound:object", cursorValue("max"), "Sets the upper bound of an index."},
		{"let", "variables:object", cursorValue("let"), "Defines variables of the query."},
		{"maxTimeMS", "ms:any", cursorMilliseconds("maxTimeMS"), "Limits the time the server spends."},
		{"maxAwaitTimeMS", "ms:any", func(c *call, cur *cursor) goja.Value {
			if !goja.IsNumber(c.Arg(0)) {
				c.JS.Throw("MongoInvalidArgumentError", "Argument for maxAwaitTimeMS must be a number")
			}
			cur.maxAwait = time.Duration(c.Arg(0).ToInteger()) * time.Millisecond
			if cur.server != nil {
				cur.server.SetMaxAwaitTime(cur.maxAwait)
			}
			return c.This
		}, "Limits how long a tailable cursor waits."},
		{"batchSize", "n:any", func(c *call, cur *cursor) goja.Value {
			cur.batchSize, cur.batchSizeSet = int32(c.integer(0, "batchSize")), true
			if cur.server != nil {
				cur.server.SetBatchSize(cur.batchSize)
			}
			return c.This
		}, "Sets how many documents come in one batch."},
		{"readConcern", "level:string", func(c *call, cur *cursor) goja.Value {
			cur.set("readConcern", bson.D{{Key: "level", Value: c.Text(0)}})
			return c.This
		}, "Sets the read concern."},
		{"readPref", "mode:string tags?:object hedge?:object", func(c *call, cur *cursor) goja.Value {
			cur.readPreference = c.readPreferenceOf(c.Arg(0), c.Arg(1), c.Arg(2))
			return c.This
		}, "Sets the read preference."},
		{"returnKey", "on?:boolean", cursorFlag("returnKey"), "Returns index keys instead of documents."},
		{"showRecordId", "on?:boolean", cursorFlag("showRecordId"), "Adds the record id to each document."},
		{"noCursorTimeout", "on?:boolean", cursorFlag("noCursorTimeout"), "Keeps the cursor on the server."},
		{"allowPartialResults", "on?:boolean", cursorFlag("allowPartialResults"),
			"Takes the results of the shards that answer."},
		{"allowDiskUse", "on?:boolean", func(c *call, cur *cursor) goja.Value {
			if cur.kind == kindFind && !server.HasField(cur.body, "sort") {
				c.JS.Throw("MongoInvalidArgumentError", "Option \"allowDiskUse\" requires a sort specification")
			}
			return cursorFlag("allowDiskUse")(c, cur)
		}, "Lets the server use disk for sorting."},
		{"tailable", "options?:object", func(c *call, cur *cursor) goja.Value {
			cur.set("tailable", true)
			if v := script.Property(c.Object(0), "awaitData"); v != nil && v.ToBoolean() {
				cur.set("awaitData", true)
			}
			return c.This
		}, "Stays open at the end of a capped collection."},
		{"addOption", "flag:any", cursorAddOption, "Sets an option by its number in the old protocol."},
		{"pretty", "", func(c *call, _ *cursor) goja.Value { return c.This }, "Has no effect."},
		{"oplogReplay", "", func(c *call, _ *cursor) goja.Value { return c.This }, "Has no effect."},
		{"disableBlockWarnings", "", func(c *call, _ *cursor) goja.Value { return c.This }, "Has no effect."},
		{"maxScan", "", func(c *call, _ *cursor) goja.Value {
			c.JS.ThrowCoded(script.Deprecated, script.CodeDeprecated,
				"`maxScan()` was removed because it was deprecated in MongoDB 4.0")
			return nil
		}, "Removed."},
		{"hasNext", "", func(c *call, cur *cursor) goja.Value { return c.JS.Runtime.ToValue(cur.hasNext()) },
			"Tells whether there is another document."},
		{"next", "", func(_ *call, cur *cursor) goja.Value {
			if cur.explain != "" {
				return cur.plan()
			}
			return orNull(cur.next())
		}, "Returns the next document; null at the end."},
		{"finish", "", func(_ *call, cur *cursor) goja.Value { return cur.plan() },
			"Returns the plan of an explained query."},
		{"tryNext", "", func(c *call, cur *cursor) goja.Value {
			if cur.stream && cur.isClosed() {
				c.JS.Throw(script.RuntimeError, "Cannot call tryNext on closed cursor")
			}
			if cur.ahead == nil && !cur.advance(true) {
				return goja.Null()
			}
			return cur.take()
		}, "Returns the next document if there is one now."},
		{"toArray", "", func(c *call, cur *cursor) goja.Value { return c.JS.Runtime.NewArray(cur.page(everything)...) },
			"Returns all documents."},
		{"length", "", func(c *call, cur *cursor) goja.Value { return c.JS.Runtime.ToValue(len(cur.page(everything))) },
			""},
		{"showDiskLoc", "", cursorFlag("showRecordId"), ""},
		{"snapshot", "", func(c *call, _ *cursor) goja.Value { return c.This }, ""},
		{"readOnly", "", func(c *call, _ *cursor) goja.Value { return c.This }, ""},
		{"itcount", "", cursorItcount, "Counts the documents by reading them."},
		{"forEach", "f:function", cursorForEach, "Calls a function for each document, until it returns false."},
		{"map", "f:function", func(c *call, cur *cursor) goja.Value {
			f, _ := goja.AssertFunction(c.Arg(0))
			cur.maps = append(cur.maps, f)
			return c.This
		}, "Replaces each document by what a function makes of it."},
		{"count", "", cursorCount, "Counts the documents of the query."},
		{"size", "", cursorCount, "The same as count."},
		{"explain", "verbosity?:any", cursorExplain, "Returns the plan of the query."},
		{"isClosed", "", func(c *call, cur *cursor) goja.Value { return c.JS.Runtime.ToValue(cur.isClosed()) },
			"Tells whether the server has closed the cursor."},
		{"isExhausted", "", func(c *call, cur *cursor) goja.Value {
			return c.JS.Runtime.ToValue(cur.done() &&
				cur.buffered() == 0)
		},
			"Tells whether the cursor is closed and every document was read."},
		{"objsLeftInBatch", "", func(c *call, cur *cursor) goja.Value { return c.JS.Runtime.ToValue(cur.buffered()) },
			"Returns how many documents are at hand."},
		{"close", "", func(_ *call, cur *cursor) goja.Value { cur.close(); return nil }, "Closes the cursor."},
		{"toJSON", "", func(c *call, _ *cursor) goja.Value {
			c.JS.ThrowInvalid(cursorIsNoValue)
			return nil
		}, ""},
	}
}

func orNull(v goja.Value) goja.Value {
	if v == nil {
		return goja.Null()
	}
	return v
}

// integer returns an argument that must be a whole number.
func (c *call) integer(i int, operation string) int64 {
	v := c.JS.Value(c.Arg(i))
	n, ok := v.AsInt64OK()
	if f, isFloat := v.AsFloat64OK(); !ok || isFloat && f != float64(int64(f)) {
		c.JS.Throw("MongoInvalidArgumentError", "Operation %q requires an integer", operation)
	}
	return n
}

// cursorDocument sets a document; for a pipeline it adds a stage.
func cursorDocument(field, stage string) func(*call, *cursor) goja.Value {
	return func(c *call, cur *cursor) goja.Value {
		if cur.kind == kindAggregate {
			cur.addStage(stage, c.JS.Document(c.Arg(0)))
			return c.This
		}
		var doc any
		if goja.IsString(c.Arg(0)) {
			doc = bson.D{{Key: c.Text(0), Value: int32(1)}}
		} else {
			doc = c.JS.Document(c.Arg(0))
		}
		cur.set(field, doc)
		return c.This
	}
}

func (cur *cursor) addStage(name string, value any) {
	if cur.server != nil {
		cur.s.JS.Throw("MongoCursorInUseError", "Cursor is already initialized")
	}
	cur.added = append(cur.added, bson.D{{Key: name, Value: value}})
}

// cursorSort takes what the driver takes: a document, the name of a field, pairs
// of names and directions. A pipeline's directions are the server's matter.
func cursorSort(c *call, cur *cursor) goja.Value {
	o := c.Object(0)
	if o == nil || cur.kind == kindAggregate {
		return cursorDocument("sort", "$sort")(c, cur)
	}
	spec := bson.D{}
	add := func(field, direction goja.Value) {
		spec = append(spec, bson.E{Key: field.String(), Value: c.direction(direction)})
	}
	if o.ClassName() != "Array" {
		key := c.JS.Document(o)
		c.JS.CheckKeyOrder(o, key)
		elems, _ := key.Elements()
		for _, el := range elems {
			add(c.JS.Runtime.ToValue(el.Key()), c.JS.World.ToJS(el.Value()))
		}
		cur.set("sort", spec)
		return c.This
	}
	items := script.Items(o)
	if len(items) == 2 && goja.IsString(items[0]) && !isDirectionless(items[1]) {
		items = []goja.Value{c.JS.Runtime.NewArray(items[0], items[1])}
	}
	for _, item := range items {
		if pair, ok := item.(*goja.Object); ok {
			add(orUndefined(pair.Get("0")), orUndefined(pair.Get("1")))
			continue
		}
		add(item, c.JS.Runtime.ToValue(1))
	}
	cur.set("sort", spec)
	return c.This
}

// isDirectionless tells ["a", "b"], two fields, from ["a", -1].
func isDirectionless(v goja.Value) bool {
	_, known := directions()[strings.ToLower(v.String())]
	return goja.IsString(v) && !known
}

func directions() map[string]int32 {
	return map[string]int32{"1": 1, "asc": 1, "ascending": 1, "-1": -1, "desc": -1, "descending": -1}
}

// direction is 1, -1 or a $meta document.
func (c *call) direction(v goja.Value) any {
	if n, ok := directions()[strings.ToLower(v.String())]; ok {
		return n
	}
	if raw := c.JS.Value(v); raw.Type == bson.TypeEmbeddedDocument {
		return raw
	}
	c.JS.Throw("MongoInvalidArgumentError", "Invalid sort direction: %s", c.json(v))
	return nil
}

func cursorMilliseconds(field string) func(*call, *cursor) goja.Value {
	return func(c *call, cur *cursor) goja.Value {
		if d, err := timespan.Parse(script.OptionalText(c.Arg(0))); err == nil && goja.IsString(c.Arg(0)) {
			cur.set(field, d.Milliseconds())
			return c.This
		}
		if !goja.IsNumber(c.Arg(0)) {
			c.JS.Throw("MongoInvalidArgumentError", "Argument for %s must be a number", field)
		}
		return cursorValue(field)(c, cur)
	}
}

func cursorValue(field string) func(*call, *cursor) goja.Value {
	return func(c *call, cur *cursor) goja.Value {
		cur.set(field, c.JS.Value(c.Arg(0)))
		return c.This
	}
}

func cursorFlag(field string) func(*call, *cursor) goja.Value {
	return func(c *call, cur *cursor) goja.Value {
		cur.set(field, !c.Has(0) || c.Arg(0).ToBoolean())
		return c.This
	}
}

func cursorLimit(c *call, cur *cursor) goja.Value {
	n := c.integer(0, "limit")
	if cur.kind == kindAggregate {
		cur.addStage("$limit", rawdoc.Small(n))
		return c.This
	}
	cur.setLimit(n)
	return c.This
}

func cursorSkip(c *call, cur *cursor) goja.Value {
	n := c.integer(0, "skip")
	if cur.kind == kindAggregate {
		cur.addStage("$skip", rawdoc.Small(n))
		return c.This
	}
	cur.set("skip", rawdoc.Small(n))
	return c.This
}

func cursorAddOption(c *call, cur *cursor) goja.Value {
	flags := map[int64]string{2: "tailable", 8: "oplogReplay", 16: "noCursorTimeout", 32: "awaitData", 64: "exhaust",
		128: "allowPartialResults"}
	flag := int64(0)
	if goja.IsNumber(c.Arg(0)) {
		flag = c.Arg(0).ToInteger()
	}
	if flag == 4 {
		c.JS.ThrowCoded(script.Unimplemented, script.CodeNotImplemented, "the slaveOk option is not supported.")
	}
	name, ok := flags[flag]
	if !ok {
		c.JS.ThrowInvalid("Unknown option flag number: %s.", c.Arg(0))
	}
	if name != "exhaust" { // says how the driver reads, no field of the command
		cur.set(name, true)
	}
	return c.This
}

func cursorItcount(c *call, cur *cursor) goja.Value {
	n := 0
	for cur.hasNext() {
		cur.ahead = nil
		n++
	}
	return c.JS.Runtime.ToValue(n)
}

func cursorForEach(c *call, cur *cursor) goja.Value {
	f, _ := goja.AssertFunction(c.Arg(0))
	for v := cur.next(); v != nil; v = cur.next() {
		result, err := f(goja.Undefined(), v)
		if err != nil {
			c.JS.Rethrow(err)
		}
		if script.TypeOf(result) == "boolean" && !result.ToBoolean() {
			cur.close()
			break
		}
	}
	return nil
}

func cursorCount(c *call, cur *cursor) goja.Value {
	if cur.kind != kindFind {
		c.JS.ThrowType("count is for cursors of find; use itcount")
	}
	body := bson.D{{Key: "count", Value: cur.collection}}
	for _, e := range cur.body {
		switch e.Key {
		case "filter":
			body = append(body, bson.E{Key: "query", Value: e.Value})
		case "skip", "limit", "hint", "collation", "maxTimeMS", "readConcern":
			body = append(body, e)
		}
	}
	return c.count(cur.d.collection(cur.collection), body)
}

// plan explains the query.
func (cur *cursor) plan() goja.Value {
	verbosity := cur.explain
	if verbosity == "" {
		verbosity = "queryPlanner"
	}
	return cur.s.explained(cur.d, cur.command(), verbosity)
}

func cursorExplain(c *call, cur *cursor) goja.Value {
	return c.s.explained(cur.d, cur.command(), c.verbosity(0))
}
