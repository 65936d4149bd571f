package bindings

import (
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

func readMethods() []method[*collection] {
	return []method[*collection]{
		{"find", "query?:object projection?:object options?:object", func(c *call, coll *collection) goja.Value {
			return coll.find(c).object
		}, "Returns a cursor over the documents that match."},
		{"findOne", "query?:object projection?:object options?:object", collFindOne,
			"Returns one document that matches, or null."},
		{"aggregate", "pipeline?:object options?:object", collAggregate,
			"Returns a cursor over the results of a pipeline."},
		{"countDocuments", "query?:object options?:object", collCountDocuments, "Counts the documents that match."},
		{"estimatedDocumentCount", "options?:object", func(c *call, coll *collection) goja.Value {
			return c.count(coll, c.JS.Merge(bson.D{{Key: "count", Value: coll.name}}, c.Arg(0)))
		}, "Returns the count kept in the collection's metadata."},
		{"count", "query?:object options?:object", collCount,
			"Deprecated: use countDocuments or estimatedDocumentCount."},
		{"distinct", "field:string query?:object options?:object", collDistinct,
			"Returns the distinct values of a field."},
		{"explain", "verbosity?:any", func(c *call, coll *collection) goja.Value {
			return c.s.newExplainable(coll, c.verbosity(0)).object
		}, "Returns an object whose methods explain instead of running."},
		{"latencyStats", "options?:object", func(c *call, coll *collection) goja.Value {
			return c.JS.Array(coll.d.AggregateAll(coll.name, bson.D{{Key: "$collStats",
				Value: bson.D{{Key: "latencyStats", Value: c.JS.Optional(c.Arg(0))}}}}))
		}, "Returns the collection's latencies."},
		{"watch", "pipeline?:object options?:object", func(c *call, coll *collection) goja.Value {
			return c.watch(coll.d, coll.name, nil, c.Arg(0), c.Arg(1))
		}, "Opens a change stream on this collection."},
		{"mapReduce", "map?: reduce?: optionsOrOut?:", collMapReduce, "Deprecated: use aggregate."},
		{"getPlanCache", "", func(c *call, coll *collection) goja.Value { return c.s.newPlanCache(coll) },
			"Returns the plan cache."},
	}
}

// filterArg returns a query as a script may give it: nothing is everything.
func (c *call) filterArg(i int) bson.Raw { return c.JS.Optional(c.Arg(i)) }

// readOptions are fields that go into a command as they are given; names the
// shell has for itself are translated or left out.
var notSent = []string{"explain", "session", "promoteLongs", "promoteValues", "promoteBuffers", "bsonRegExp", "raw",
	"useBigInt64", "readPreference", "timeoutMS"}

func (coll *collection) find(c *call) *cursor {
	body := bson.D{{Key: "find", Value: coll.name}, {Key: "filter", Value: c.filterArg(0)}}
	if c.Has(1) && !goja.IsNull(c.Arg(1)) {
		body = append(body, bson.E{Key: "projection", Value: c.JS.Document(c.Arg(1))})
	}
	cur := c.s.newCursor(coll.d, kindFind, c.JS.Merge(body, c.Arg(2),
		append(notSent, "tailable", "awaitData", "maxAwaitTimeMS")...))
	cur.collection = coll.name
	if o := c.Object(2); o != nil {
		if v := script.Property(o, "batchSize"); v != nil {
			cur.batchSize = int32(v.ToInteger())
		}
		if v := script.Property(o, "limit"); v != nil {
			cur.setLimit(v.ToInteger())
		}
		if v := script.Property(o, "tailable"); v != nil && v.ToBoolean() {
			cur.set("tailable", true)
		}
		if v := script.Property(o, "awaitData"); v != nil && v.ToBoolean() {
			cur.set("awaitData", true)
		}
	}
	return cur
}

func collFindOne(c *call, coll *collection) goja.Value {
	body := bson.D{{Key: "find", Value: coll.name}, {Key: "filter", Value: c.filterArg(0)}}
	if c.Has(1) && !goja.IsNull(c.Arg(1)) {
		body = append(body, bson.E{Key: "projection", Value: c.JS.Document(c.Arg(1))})
	}
	body = c.JS.Merge(body, c.Arg(2), append(notSent, "limit")...)
	body = append(body, bson.E{Key: "limit", Value: int32(1)})
	reply := c.s.gateway.MustSend(coll.d.Request(coll.d.readBody(body), server.Reads))
	docs, err := server.FirstBatch(reply).Values()
	if err != nil || len(docs) == 0 {
		return goja.Null()
	}
	doc, _ := docs[0].DocumentOK()
	return c.JS.World.LazyDoc(doc)
}

// readBody adds what the connection and the settings say about reads.
func (d *database) readBody(body bson.D) bson.D {
	if d.on.readConcern != nil && !d.inTransaction() && !server.HasField(body, "readConcern") {
		body = append(body, bson.E{Key: "readConcern", Value: d.on.readConcern})
	}
	body = d.afterWhatWasSeen(body)
	if ms := d.s.settings.maxTimeMS; ms > 0 && !server.HasField(body, "maxTimeMS") {
		body = append(body, bson.E{Key: "maxTimeMS", Value: ms})
	}
	return body
}

func collAggregate(c *call, coll *collection) goja.Value {
	pipeline, options := c.stageArguments()
	return c.aggregate(coll.d, coll.name, pipeline, options)
}

// stageArguments returns a pipeline and options, or stages given one by one.
func (c *call) stageArguments() (pipeline, options goja.Value) {
	if o := c.Object(0); o != nil && o.ClassName() == "Array" {
		return c.Arg(0), c.Arg(1)
	}
	items := make([]any, len(c.Args))
	for i, a := range c.Args {
		items[i] = a
	}
	return c.JS.Runtime.NewArray(items...), goja.Undefined()
}

// aggregate makes the cursor of a pipeline. One that writes runs at once
// (rules/04-objects §6.2); {explain} gives the plan instead.
func (c *call) aggregate(d *database, on any, pipeline, options goja.Value) goja.Value {
	stages := c.JS.Value(pipeline)
	if stages.Type != bson.TypeArray {
		c.JS.ThrowInvalid("Aggregate pipeline must be an array of stages")
	}
	body := bson.D{
		{Key: "aggregate", Value: on},
		{Key: "pipeline", Value: stages},
		{Key: "cursor", Value: bson.D{}},
	}
	opts, _ := options.(*goja.Object)
	body = c.JS.Merge(body, options, append(notSent, "batchSize", "cursor", "maxAwaitTimeMS")...)
	if v := script.Property(opts, "explain"); v != nil && v.ToBoolean() {
		verbosity := "queryPlanner"
		if goja.IsString(v) {
			verbosity = v.String()
		}
		return c.s.explained(d, body, verbosity)
	}
	cur := c.s.newCursor(d, kindAggregate, body)
	cur.pipeline = stages
	if name, ok := on.(string); ok {
		cur.collection = name
	}
	if v := script.Property(opts, "batchSize"); v != nil {
		cur.batchSize = int32(v.ToInteger())
		cur.batchSizeSet = true
	} else if v, ok := script.Property(opts, "cursor").(*goja.Object); ok {
		if n := script.Property(v, "batchSize"); n != nil {
			cur.batchSize, cur.batchSizeSet = int32(n.ToInteger()), true
		}
	}
	if writesOut(stages) {
		cur.reads = false
		if d.concern() != nil && !server.HasField(body, "writeConcern") {
			cur.body = append(cur.body, bson.E{Key: "writeConcern", Value: d.concern()})
		}
		cur.hasNext()
	}
	return cur.object
}

func writesOut(stages bson.RawValue) bool {
	list, err := stages.Array().Values()
	if err != nil || len(list) == 0 {
		return false
	}
	last, ok := list[len(list)-1].DocumentOK()
	if !ok {
		return false
	}
	first, err := last.IndexErr(0)
	return err == nil && (first.Key() == "$out" || first.Key() == "$merge")
}

func collCountDocuments(c *call, coll *collection) goja.Value {
	stages := bson.A{bson.D{{Key: "$match", Value: c.filterArg(0)}}}
	options := c.Object(1)
	for _, o := range []string{"skip", "limit"} {
		if v := script.Property(options, o); v != nil {
			stages = append(stages, bson.D{{Key: "$" + o, Value: c.JS.Value(v)}})
		}
	}
	stages = append(stages, bson.D{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: int32(1)}, {Key: "n", Value: bson.D{{Key: "$sum", Value: int32(1)}}},
	}}})
	body := bson.D{{Key: "aggregate", Value: coll.name}, {Key: "pipeline", Value: stages},
		{Key: "cursor", Value: bson.D{}}}
	body = coll.d.readBody(c.JS.Merge(body, c.Arg(1), append(notSent, "skip", "limit")...))
	docs := c.s.gateway.All(coll.d.Request(body, server.Reads))
	if len(docs) == 0 {
		return c.JS.Runtime.ToValue(0)
	}
	return c.JS.World.ToJS(docs[0].Lookup("n"))
}

// count runs a count command.
func (c *call) count(coll *collection, body bson.D) goja.Value {
	reply := c.s.gateway.MustSend(coll.d.Request(coll.d.readBody(body), server.Reads))
	n, err := reply.LookupErr("n")
	if err != nil {
		return c.JS.Runtime.ToValue(0)
	}
	return c.JS.World.ToJS(n)
}

func collCount(c *call, coll *collection) goja.Value {
	c.JS.Out.Deprecate("Collection.count() is deprecated. Use countDocuments or estimatedDocumentCount.")
	body := bson.D{{Key: "count", Value: coll.name}, {Key: "query", Value: c.filterArg(0)}}
	return c.count(coll, c.JS.Merge(body, c.Arg(1), notSent...))
}

func collDistinct(c *call, coll *collection) goja.Value {
	body := bson.D{{Key: "distinct", Value: coll.name}, {Key: "key", Value: c.Text(0)},
		{Key: "query", Value: c.filterArg(1)}}
	body = coll.d.readBody(c.JS.Merge(body, c.Arg(2), notSent...))
	return c.JS.World.ToJS(c.s.gateway.MustSend(coll.d.Request(body, server.Reads)).Lookup("values"))
}

func collMapReduce(c *call, coll *collection) goja.Value {
	c.JS.Out.Deprecate("Collection.mapReduce() is deprecated. Use an aggregation instead.\nSee " +
		"https://mongodb.com/docs/manual/core/map-reduce for details.")
	return c.s.display.Reply(coll.d.Run(c.mapReduceBody(coll)))
}

func (c *call) mapReduceBody(coll *collection) bson.D {
	c.Check("Collection.mapReduce", script.ParseSignature("map:any reduce:any optionsOrOut:any"))
	body := bson.D{{Key: "mapReduce", Value: coll.name}, {Key: "map", Value: c.JS.Value(c.Arg(0))},
		{Key: "reduce", Value: c.JS.Value(c.Arg(1))}}
	if goja.IsString(c.Arg(2)) {
		return append(body, bson.E{Key: "out", Value: c.Text(2)})
	}
	if script.Property(c.Object(2), "out") == nil {
		c.JS.ThrowInvalid("Missing 'out' option")
	}
	return c.JS.Merge(body, c.Arg(2))
}

// watch opens a change stream; base is what the stage says whatever the options.
func (c *call) watch(d *database, on any, base bson.D, pipeline, options goja.Value) goja.Value {
	opts := append(bson.D{}, base...)
	if o, ok := pipeline.(*goja.Object); ok && o.ClassName() != "Array" {
		pipeline, options = goja.Undefined(), pipeline
	}
	var batch goja.Value
	if o, ok := options.(*goja.Object); ok {
		batch = script.Property(o, "batchSize")
		opts = c.JS.Merge(opts, o, "batchSize", "maxAwaitTimeMS", "collation", "comment")
	}
	stages := bson.A{bson.D{{Key: "$changeStream", Value: opts}}}
	if o, ok := pipeline.(*goja.Object); ok {
		more, err := c.JS.Value(o).Array().Values()
		if err != nil {
			c.JS.ThrowInvalid("Aggregate pipeline must be an array of stages")
		}
		for _, st := range more {
			stages = append(stages, st)
		}
	}
	body := bson.D{{Key: "aggregate", Value: on}, {Key: "pipeline", Value: stages}, {Key: "cursor", Value: bson.D{}}}
	from, _ := options.(*goja.Object)
	for _, name := range []string{"collation", "comment"} {
		if v := script.Property(from, name); v != nil {
			body = append(body, bson.E{Key: name, Value: c.JS.Value(v)})
		}
	}
	cur := c.s.newCursor(d, kindAggregate, body)
	cur.stream = true
	if batch != nil {
		cur.batchSize, cur.batchSizeSet = int32(batch.ToInteger()), true
	}
	cur.open()
	if v := script.Property(from, "maxAwaitTimeMS"); v != nil {
		cur.server.SetMaxAwaitTime(time.Duration(v.ToInteger()) * time.Millisecond)
	}
	target := d.Name
	if base != nil { // of the whole cluster
		target = d.on.Address
	}
	if name, ok := on.(string); ok {
		target += "." + name
	}
	c.JS.World.SetPrinter(cur.object, func() string { return "ChangeStreamCursor on " + plaintext.VisibleLine(target) })
	return cur.object
}
