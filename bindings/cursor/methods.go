package cursor

import (
	"strings"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/timespan"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

func methods() script.Methods[*Cursor] {
	return script.Methods[*Cursor]{
		{"sort", "spec:object|string", cursorSort, "Sorts the results."},
		{"projection", "spec:object", documentSetter("projection", "$project"), "Chooses the fields of the results."},
		{"project", "spec:object", documentSetter("projection", "$project"), "The same as projection."},
		{"limit", "n:any", cursorLimit, "Takes at most n documents."},
		{"skip", "n:any", cursorSkip, "Leaves out the first n documents."},
		{"hint", "index:string|object", valueSetter("hint"), "Forces an index."},
		{"comment", "text:any", valueSetter("comment"), "Adds a comment that shows in logs and currentOp."},
		{"collation", "spec:object", valueSetter("collation"), "Sets how strings compare."},
		{"min", "bound:object", valueSetter("min"), "Sets the lower bound of an index."},
		{"max", "bound:object", valueSetter("max"), "Sets the upper bound of an index."},
		{"let", "variables:object", valueSetter("let"), "Defines variables of the query."},
		{"maxTimeMS", "ms:any", millisecondsSetter("maxTimeMS"), "Limits the time the server spends."},
		{"maxAwaitTimeMS", "ms:any", func(c *script.Call, cur *Cursor) goja.Value {
			if !goja.IsNumber(c.Arg(0)) {
				c.JS.Throw("MongoInvalidArgumentError", "Argument for maxAwaitTimeMS must be a number")
			}
			cur.SetMaxAwait(time.Duration(c.Arg(0).ToInteger()) * time.Millisecond)
			return c.This
		}, "Limits how long a tailable cursor waits."},
		{"batchSize", "n:any", func(c *script.Call, cur *Cursor) goja.Value {
			cur.SetBatchSize(int32(integerArg(c, 0, "batchSize")))
			return c.This
		}, "Sets how many documents come in one batch."},
		{"readConcern", "level:string", func(c *script.Call, cur *Cursor) goja.Value {
			cur.SetOption("readConcern", bson.D{{Key: "level", Value: c.Text(0)}})
			return c.This
		}, "Sets the read concern."},
		{"readPref", "mode:string tags?:object hedge?:object", func(c *script.Call, cur *Cursor) goja.Value {
			cur.SetReadPreference(server.ParseReadPreference(c.JS, c.Arg(0), c.Arg(1), c.Arg(2)))
			return c.This
		}, "Sets the read preference."},
		{"returnKey", "on?:boolean", flagSetter("returnKey"), "Returns index keys instead of documents."},
		{"showRecordId", "on?:boolean", flagSetter("showRecordId"), "Adds the record id to each document."},
		{"noCursorTimeout", "on?:boolean", flagSetter("noCursorTimeout"), "Keeps the cursor on the server."},
		{"allowPartialResults", "on?:boolean", flagSetter("allowPartialResults"),
			"Takes the results of the shards that answer."},
		{"allowDiskUse", "on?:boolean", func(c *script.Call, cur *Cursor) goja.Value {
			if cur.kind == Find && !server.HasField(cur.Body, "sort") {
				c.JS.Throw("MongoInvalidArgumentError", "Option \"allowDiskUse\" requires a sort specification")
			}
			return flagSetter("allowDiskUse")(c, cur)
		}, "Lets the server use disk for sorting."},
		{"tailable", "options?:object", func(c *script.Call, cur *Cursor) goja.Value {
			cur.SetOption("tailable", true)
			if script.Flag(c.Object(0), "awaitData", false) {
				cur.SetOption("awaitData", true)
			}
			return c.This
		}, "Stays open at the end of a capped collection."},
		{"addOption", "flag:any", cursorAddOption, "Sets an option by its number in the old protocol."},
		{"pretty", "", func(c *script.Call, _ *Cursor) goja.Value { return c.This }, "Has no effect."},
		{"oplogReplay", "", func(c *script.Call, _ *Cursor) goja.Value { return c.This }, "Has no effect."},
		{"disableBlockWarnings", "", func(c *script.Call, _ *Cursor) goja.Value { return c.This }, "Has no effect."},
		{"maxScan", "", func(c *script.Call, _ *Cursor) goja.Value {
			c.JS.ThrowCoded(script.DeprecatedErrorName, script.CodeDeprecated,
				"`maxScan()` was removed because it was deprecated in MongoDB 4.0")
			return nil
		}, "Removed."},
		{"hasNext", "", func(c *script.Call, cur *Cursor) goja.Value { return c.JS.Runtime.ToValue(cur.HasNext()) },
			"Returns whether there is another document."},
		{"next", "", func(_ *script.Call, cur *Cursor) goja.Value {
			if cur.ExplainVerbosity != "" {
				return cur.ExplainOutput()
			}
			return script.OrNull(cur.Next())
		}, "Returns the next document; null at the end."},
		{"finish", "", func(_ *script.Call, cur *Cursor) goja.Value { return cur.ExplainOutput() },
			"Returns the plan of an explained query."},
		{"tryNext", "", func(c *script.Call, cur *Cursor) goja.Value {
			if cur.IsChangeStream && cur.IsClosed() {
				c.JS.Throw(script.RuntimeErrorName, "Cannot call tryNext on closed cursor")
			}
			if cur.peeked == nil && !cur.advance(true) {
				return goja.Null()
			}
			return cur.takePeeked()
		}, "Returns the next document if there is one now."},
		{"toArray", "", func(c *script.Call, cur *Cursor) goja.Value {
			return c.JS.Runtime.NewArray(cur.NextPage(UnlimitedPage)...)
		},
			"Returns all documents."},
		{"length", "", func(c *script.Call, cur *Cursor) goja.Value {
			return c.JS.Runtime.ToValue(len(cur.NextPage(UnlimitedPage)))
		},
			""},
		{"showDiskLoc", "", flagSetter("showRecordId"), ""},
		{"snapshot", "", func(c *script.Call, _ *Cursor) goja.Value { return c.This }, ""},
		{"readOnly", "", func(c *script.Call, _ *Cursor) goja.Value { return c.This }, ""},
		{"itcount", "", cursorItcount, "Counts the documents by reading them."},
		{"forEach", "f:function", cursorForEach, "Calls a function for each document, until it returns false."},
		{"map", "f:function", func(c *script.Call, cur *Cursor) goja.Value {
			f, _ := goja.AssertFunction(c.Arg(0))
			cur.mappers = append(cur.mappers, f)
			return c.This
		}, "Replaces each document by what a function makes of it."},
		{"count", "", cursorCount, "Counts the documents of the query."},
		{"size", "", cursorCount, "The same as count."},
		{"explain", "verbosity?:any", cursorExplain, "Returns the plan of the query."},
		{"isClosed", "", func(c *script.Call, cur *Cursor) goja.Value { return c.JS.Runtime.ToValue(cur.IsClosed()) },
			"Returns whether the server has closed the cursor."},
		{"isExhausted", "", func(c *script.Call, cur *Cursor) goja.Value {
			return c.JS.Runtime.ToValue(cur.IsClosed())
		}, "Returns whether the cursor is closed and every document was read."},
		{"objsLeftInBatch", "", func(c *script.Call, cur *Cursor) goja.Value { return c.JS.Runtime.ToValue(cur.buffered()) },
			"Returns how many documents are at hand."},
		{"close", "", func(_ *script.Call, cur *Cursor) goja.Value { cur.Close(); return nil }, "Closes the cursor."},
		{"toJSON", "", func(c *script.Call, _ *Cursor) goja.Value {
			c.JS.ThrowInvalid(NotSerializableText)
			return nil
		}, ""},
	}
}

// integerArg returns an argument that must be a whole number.
func integerArg(c *script.Call, i int, operation string) int64 {
	v := c.JS.BSONValue(c.Arg(i))
	n, ok := v.AsInt64OK()
	if f, isFloat := v.AsFloat64OK(); !ok || isFloat && f != float64(int64(f)) {
		c.JS.Throw("MongoInvalidArgumentError", "Operation %q requires an integer", operation)
	}
	return n
}

// documentSetter returns a method that sets a document, or adds a stage to a pipeline.
func documentSetter(field, stage string) func(*script.Call, *Cursor) goja.Value {
	return func(c *script.Call, cur *Cursor) goja.Value {
		if cur.kind == Aggregate {
			cur.addStage(stage, c.JS.Document(c.Arg(0)))
			return c.This
		}
		var doc any
		if goja.IsString(c.Arg(0)) {
			doc = bson.D{{Key: c.Text(0), Value: int32(1)}}
		} else {
			doc = c.JS.Document(c.Arg(0))
		}
		cur.SetOption(field, doc)
		return c.This
	}
}

func (cur *Cursor) addStage(name string, value any) {
	if cur.serverCursor != nil {
		cur.host.JS.Throw("MongoCursorInUseError", "Cursor is already initialized")
	}
	cur.addedStages = append(cur.addedStages, bson.D{{Key: name, Value: value}})
}

// cursorSort accepts the same arguments as the driver: a document, the name of a field, pairs of names
// and directions. The server validates the directions in a pipeline.
func cursorSort(c *script.Call, cur *Cursor) goja.Value {
	o := c.Object(0)
	if o == nil || cur.kind == Aggregate {
		return documentSetter("sort", "$sort")(c, cur)
	}
	spec := bson.D{}
	add := func(field, way goja.Value) {
		spec = append(spec, bson.E{Key: field.String(), Value: direction(c, way)})
	}
	if o.ClassName() != "Array" {
		key := c.JS.Document(o)
		c.JS.CheckKeyOrder(o, key)
		elems, _ := key.Elements()
		for _, el := range elems {
			add(c.JS.Runtime.ToValue(el.Key()), c.JS.Values.ToJS(el.Value()))
		}
		cur.SetOption("sort", spec)
		return c.This
	}
	items := script.Items(o)
	if len(items) == 2 && goja.IsString(items[0]) && !isFieldName(items[1]) {
		items = []goja.Value{c.JS.Runtime.NewArray(items[0], items[1])}
	}
	for _, item := range items {
		if pair, ok := item.(*goja.Object); ok {
			add(script.OrUndefined(pair.Get("0")), script.OrUndefined(pair.Get("1")))
			continue
		}
		add(item, c.JS.Runtime.ToValue(1))
	}
	cur.SetOption("sort", spec)
	return c.This
}

// isFieldName distinguishes ["a", "b"], which are two fields, from ["a", -1].
func isFieldName(v goja.Value) bool {
	_, known := directions()[strings.ToLower(v.String())]
	return goja.IsString(v) && !known
}

func directions() map[string]int32 {
	return map[string]int32{"1": 1, "asc": 1, "ascending": 1, "-1": -1, "desc": -1, "descending": -1}
}

// direction returns 1, -1 or a $meta document.
func direction(c *script.Call, v goja.Value) any {
	if n, ok := directions()[strings.ToLower(v.String())]; ok {
		return n
	}
	if raw := c.JS.BSONValue(v); raw.Type == bson.TypeEmbeddedDocument {
		return raw
	}
	c.JS.Throw("MongoInvalidArgumentError", "Invalid sort direction: %s", c.JS.EJSONText(v))
	return nil
}

func millisecondsSetter(field string) func(*script.Call, *Cursor) goja.Value {
	return func(c *script.Call, cur *Cursor) goja.Value {
		if d, err := timespan.Parse(script.OptionalText(c.Arg(0))); err == nil && goja.IsString(c.Arg(0)) {
			cur.SetOption(field, d.Milliseconds())
			return c.This
		}
		if !goja.IsNumber(c.Arg(0)) {
			c.JS.Throw("MongoInvalidArgumentError", "Argument for %s must be a number", field)
		}
		return valueSetter(field)(c, cur)
	}
}

func valueSetter(field string) func(*script.Call, *Cursor) goja.Value {
	return func(c *script.Call, cur *Cursor) goja.Value {
		cur.SetOption(field, c.JS.BSONValue(c.Arg(0)))
		return c.This
	}
}

func flagSetter(field string) func(*script.Call, *Cursor) goja.Value {
	return func(c *script.Call, cur *Cursor) goja.Value {
		cur.SetOption(field, !c.Has(0) || c.Arg(0).ToBoolean())
		return c.This
	}
}

func cursorLimit(c *script.Call, cur *Cursor) goja.Value {
	n := integerArg(c, 0, "limit")
	if cur.kind == Aggregate {
		cur.addStage("$limit", rawdoc.MinimalInt(n))
		return c.This
	}
	cur.SetLimit(n)
	return c.This
}

func cursorSkip(c *script.Call, cur *Cursor) goja.Value {
	n := integerArg(c, 0, "skip")
	if cur.kind == Aggregate {
		cur.addStage("$skip", rawdoc.MinimalInt(n))
		return c.This
	}
	cur.SetOption("skip", rawdoc.MinimalInt(n))
	return c.This
}

func cursorAddOption(c *script.Call, cur *Cursor) goja.Value {
	flags := map[int64]string{2: "tailable", 8: "oplogReplay", 16: "noCursorTimeout", 32: "awaitData", 64: "exhaust",
		128: "allowPartialResults"}
	flag := int64(0)
	if goja.IsNumber(c.Arg(0)) {
		flag = c.Arg(0).ToInteger()
	}
	if flag == 4 {
		c.JS.ThrowCoded(script.UnimplementedErrorName, script.CodeNotImplemented, "the slaveOk option is not supported.")
	}
	name, ok := flags[flag]
	if !ok {
		c.JS.ThrowInvalid("Unknown option flag number: %s.", c.Arg(0))
	}
	if name != "exhaust" { // an option of the driver, not a field of the command
		cur.SetOption(name, true)
	}
	return c.This
}

func cursorItcount(c *script.Call, cur *Cursor) goja.Value {
	n := 0
	for cur.HasNext() {
		cur.peeked = nil
		n++
	}
	return c.JS.Runtime.ToValue(n)
}

func cursorForEach(c *script.Call, cur *Cursor) goja.Value {
	f, _ := goja.AssertFunction(c.Arg(0))
	for v := cur.Next(); v != nil; v = cur.Next() {
		result, err := f(goja.Undefined(), v)
		c.JS.Check(err)
		if script.TypeOf(result) == "boolean" && !result.ToBoolean() {
			cur.Close()
			break
		}
	}
	return nil
}

func cursorCount(c *script.Call, cur *Cursor) goja.Value {
	if cur.kind != Find {
		c.JS.ThrowType("count is for cursors of find; use itcount")
	}
	body := bson.D{{Key: "count", Value: cur.Collection}}
	for _, e := range cur.Body {
		switch e.Key {
		case "filter":
			body = append(body, bson.E{Key: "query", Value: e.Value})
		case "skip", "limit", "hint", "collation", "maxTimeMS", "readConcern":
			body = append(body, e)
		}
	}
	return cur.host.Count(cur.d, body, cur.readPreference)
}

// Count runs a count command. A nil read preference is that of the connection.
func (h *Host) Count(d Database, body bson.D, preference *readpref.ReadPref) goja.Value {
	reply := h.Gateway.MustSend(
		d.ServerDatabase().Request(d.WithReadOptions(body), server.Repeatable, server.ReadFrom(preference)))
	n, err := reply.LookupErr("n")
	if err != nil {
		return h.JS.Runtime.ToValue(0)
	}
	return h.JS.Values.ToJS(n)
}
