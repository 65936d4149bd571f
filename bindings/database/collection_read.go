package database

import (
	"slices"
	"time"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/bindings/cursor"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

func readMethods() script.Methods[*Collection] {
	return script.Methods[*Collection]{
		{"find", "query?:object projection?:object options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.find(c).Object
		}, "Returns a cursor over the documents that match."},
		{"findOne", "query?:object projection?:object options?:object", collFindOne,
			"Returns one document that matches, or null."},
		{"aggregate", "pipeline?:object options?:object", collAggregate,
			"Returns a cursor over the results of a pipeline."},
		{"countDocuments", "query?:object options?:object", collCountDocuments, "Counts the documents that match."},
		{"estimatedDocumentCount", "options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.count(c, bson.D{{Key: "count", Value: coll.name}}, c.Arg(0))
		}, "Returns the count kept in the collection's metadata."},
		{"count", "query?:object options?:object", collCount,
			"Deprecated: use countDocuments or estimatedDocumentCount."},
		{"distinct", "field:string query?:object options?:object", collDistinct,
			"Returns the distinct values of a field."},
		{"explain", "verbosity?:any", func(c *script.Call, coll *Collection) goja.Value {
			return coll.newExplainable(cursor.Verbosity(c, 0)).object
		}, "Returns an object whose methods explain instead of running."},
		{"latencyStats", "options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return c.JS.DocumentArray(coll.database.AggregateAll(coll.name, bson.D{{Key: "$collStats",
				Value: bson.D{{Key: "latencyStats", Value: c.JS.DocumentOrEmpty(c.Arg(0))}}}}))
		}, "Returns the collection's latencies."},
		{"watch", "pipeline?:object options?:object", func(c *script.Call, coll *Collection) goja.Value {
			return coll.database.watch(c, coll.name, nil, c.Arg(0), c.Arg(1))
		}, "Opens a change stream on this collection."},
		{"mapReduce", "map?: reduce?: optionsOrOut?:", collMapReduce, "Deprecated: use aggregate."},
		{"getPlanCache", "", func(_ *script.Call, coll *Collection) goja.Value { return coll.newPlanCache() },
			"Returns the plan cache."},
	}
}

// aggregateShellOptions returns the options of aggregate that are not fields of the command as they are.
func aggregateShellOptions() []string {
	return append(slices.Clone(shellOnlyOptions), "batchSize", "cursor", "maxAwaitTimeMS")
}

// filterArg returns the filter in an argument; a missing argument is an empty filter.
func filterArg(c *script.Call, i int) bson.Raw { return c.JS.DocumentOrEmpty(c.Arg(i)) }

// shellOnlyOptions are options that the shell translates or does not send. All other options are added
// to the command unchanged.
var shellOnlyOptions = []string{
	"explain",
	"session",
	"promoteLongs",
	"promoteValues",
	"promoteBuffers",
	"bsonRegExp",
	"raw",
	"useBigInt64",
	"readPreference",
	"timeoutMS",
}

// readPreferenceOption returns the option readPreference of a read: a mode, or {mode, tags, hedge}. It returns nil
// for none.
func readPreferenceOption(js *script.Engine, options goja.Value) *readpref.ReadPref {
	from, _ := options.(*goja.Object)
	v := script.Property(from, "readPreference")
	if v == nil || goja.IsNull(v) {
		return nil
	}
	o, ok := v.(*goja.Object)
	if !ok {
		return server.ParseReadPreference(js, v, goja.Undefined(), goja.Undefined())
	}
	part := func(name string) goja.Value { return script.OrUndefined(script.Property(o, name)) }
	return server.ParseReadPreference(js, part("mode"), part("tags"), part("hedge"))
}

// findBody returns the command of find and findOne, without options.
func (coll *Collection) findBody(c *script.Call) bson.D {
	body := bson.D{{Key: "find", Value: coll.name}, {Key: "filter", Value: filterArg(c, 0)}}
	if c.Has(1) && !goja.IsNull(c.Arg(1)) {
		body = append(body, bson.E{Key: "projection", Value: c.JS.Document(c.Arg(1))})
	}
	return body
}

func (coll *Collection) find(c *script.Call) *cursor.Cursor {
	cur := coll.host.Cursors.New(coll.database, cursor.Find, c.JS.Merge(coll.findBody(c), c.Arg(2),
		append(shellOnlyOptions, "tailable", "awaitData", "maxAwaitTimeMS")...))
	cur.Collection = coll.name
	cur.SetReadPreference(readPreferenceOption(c.JS, c.Arg(2)))
	if o := c.Object(2); o != nil {
		if v := script.Property(o, "batchSize"); v != nil {
			cur.SetBatchSize(int32(v.ToInteger()))
		}
		if v := script.Property(o, "limit"); v != nil {
			cur.SetLimit(v.ToInteger())
		}
		for _, name := range []string{"tailable", "awaitData"} {
			if script.Flag(o, name, false) {
				cur.SetOption(name, true)
			}
		}
	}
	return cur
}

func collFindOne(c *script.Call, coll *Collection) goja.Value {
	body := c.JS.Merge(coll.findBody(c), c.Arg(2), append(shellOnlyOptions, "limit")...)
	body = append(body, bson.E{Key: "limit", Value: int32(1)})
	reply := coll.host.Gateway.MustSend(coll.database.Request(coll.database.WithReadOptions(body), server.Repeatable,
		server.ReadFrom(readPreferenceOption(c.JS, c.Arg(2)))))
	docs, err := server.FirstBatch(reply).Values()
	if err != nil || len(docs) == 0 {
		return goja.Null()
	}
	doc, _ := docs[0].DocumentOK()
	return c.JS.Values.LazyDoc(doc)
}

// WithReadOptions adds the read options of the connection and of the settings to a command.
func (d *Database) WithReadOptions(body bson.D) bson.D {
	if d.conn.readConcern != nil && !d.inTransaction() && !server.HasField(body, "readConcern") {
		body = append(body, bson.E{Key: "readConcern", Value: d.conn.readConcern})
	}
	body = d.withAfterClusterTime(body)
	if ms := d.host.MaxTimeMS(); ms > 0 && !server.HasField(body, "maxTimeMS") {
		body = append(body, bson.E{Key: "maxTimeMS", Value: ms})
	}
	return body
}

func collAggregate(c *script.Call, coll *Collection) goja.Value {
	pipeline, options := stageArguments(c)
	return coll.database.aggregate(c, coll.name, pipeline, options)
}

// stageArguments returns the pipeline and the options, or the stages given as separate arguments.
func stageArguments(c *script.Call) (pipeline, options goja.Value) {
	if o := c.Object(0); o != nil && o.ClassName() == "Array" {
		return c.Arg(0), c.Arg(1)
	}
	items := make([]any, len(c.Args))
	for i, a := range c.Args {
		items[i] = a
	}
	return c.JS.Runtime.NewArray(items...), goja.Undefined()
}

// aggregate returns the cursor of a pipeline. A pipeline that writes runs at once (rules/04-objects
// §6.2). With {explain}, aggregate returns the plan.
func (d *Database) aggregate(c *script.Call, on any, pipeline, options goja.Value) goja.Value {
	stages := c.JS.BSONValue(pipeline)
	if stages.Type != bson.TypeArray {
		c.JS.ThrowInvalid("Aggregate pipeline must be an array of stages")
	}
	body := bson.D{
		{Key: "aggregate", Value: on},
		{Key: "pipeline", Value: stages},
		{Key: "cursor", Value: bson.D{}},
	}
	opts, _ := options.(*goja.Object)
	preference := readPreferenceOption(c.JS, options)
	body = c.JS.Merge(body, options, aggregateShellOptions()...)
	if v := script.Property(opts, "explain"); v != nil && v.ToBoolean() {
		verbosity := "queryPlanner"
		if goja.IsString(v) {
			verbosity = v.String()
		}
		return d.host.Cursors.RunExplain(d.Database, body, verbosity, preference)
	}
	cur := d.host.Cursors.New(d, cursor.Aggregate, body)
	cur.SetReadPreference(preference)
	cur.Pipeline = stages
	if name, ok := on.(string); ok {
		cur.Collection = name
	}
	if v := script.Property(opts, "batchSize"); v != nil {
		cur.SetBatchSize(int32(v.ToInteger()))
	} else if v, ok := script.Property(opts, "cursor").(*goja.Object); ok {
		if n := script.Property(v, "batchSize"); n != nil {
			cur.SetBatchSize(int32(n.ToInteger()))
		}
	}
	if endsWithWriteStage(stages) {
		cur.IsReadOnly = false
		if d.effectiveWriteConcern() != nil && !server.HasField(body, "writeConcern") {
			cur.Body = append(cur.Body, bson.E{Key: "writeConcern", Value: d.effectiveWriteConcern()})
		}
		cur.HasNext()
	}
	return cur.Object
}

func endsWithWriteStage(stages bson.RawValue) bool {
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

func collCountDocuments(c *script.Call, coll *Collection) goja.Value {
	stages := bson.A{bson.D{{Key: "$match", Value: filterArg(c, 0)}}}
	options := c.Object(1)
	for _, o := range []string{"skip", "limit"} {
		if v := script.Property(options, o); v != nil {
			stages = append(stages, bson.D{{Key: "$" + o, Value: c.JS.BSONValue(v)}})
		}
	}
	stages = append(stages, bson.D{{Key: "$group", Value: bson.D{
		{Key: "_id", Value: int32(1)}, {Key: "n", Value: bson.D{{Key: "$sum", Value: int32(1)}}},
	}}})
	body := bson.D{{Key: "aggregate", Value: coll.name}, {Key: "pipeline", Value: stages},
		{Key: "cursor", Value: bson.D{}}}
	body = coll.database.WithReadOptions(c.JS.Merge(body, c.Arg(1), append(shellOnlyOptions, "skip", "limit")...))
	docs := coll.host.Gateway.ReadAll(coll.database.Request(body, server.Repeatable,
		server.ReadFrom(readPreferenceOption(c.JS, c.Arg(1)))))
	if len(docs) == 0 {
		return c.JS.Runtime.ToValue(0)
	}
	return c.JS.Values.ToJS(docs[0].Lookup("n"))
}

// count runs a count command with the options of a script.
func (coll *Collection) count(c *script.Call, body bson.D, options goja.Value) goja.Value {
	return coll.host.Cursors.Count(coll.database, c.JS.Merge(body, options, shellOnlyOptions...),
		readPreferenceOption(c.JS, options))
}

func collCount(c *script.Call, coll *Collection) goja.Value {
	c.JS.Out.WarnDeprecated("Collection.count() is deprecated. Use countDocuments or estimatedDocumentCount.")
	body := bson.D{{Key: "count", Value: coll.name}, {Key: "query", Value: filterArg(c, 0)}}
	return coll.count(c, body, c.Arg(1))
}

func collDistinct(c *script.Call, coll *Collection) goja.Value {
	body := bson.D{{Key: "distinct", Value: coll.name}, {Key: "key", Value: c.Text(0)},
		{Key: "query", Value: filterArg(c, 1)}}
	body = coll.database.WithReadOptions(c.JS.Merge(body, c.Arg(2), shellOnlyOptions...))
	reply := coll.host.Gateway.MustSend(coll.database.Request(body, server.Repeatable,
		server.ReadFrom(readPreferenceOption(c.JS, c.Arg(2)))))
	return c.JS.Values.ToJS(reply.Lookup("values"))
}

func collMapReduce(c *script.Call, coll *Collection) goja.Value {
	c.JS.Out.WarnDeprecated("Collection.mapReduce() is deprecated. Use an aggregation instead.\nSee " +
		"https://mongodb.com/docs/manual/core/map-reduce for details.")
	return coll.host.Display.ReplyValue(coll.database.Run(coll.mapReduceBody(c)))
}

func (coll *Collection) mapReduceBody(c *script.Call) bson.D {
	c.Check("Collection.mapReduce", script.ParseSignature("map:any reduce:any optionsOrOut:any"))
	body := bson.D{{Key: "mapReduce", Value: coll.name}, {Key: "map", Value: c.JS.BSONValue(c.Arg(0))},
		{Key: "reduce", Value: c.JS.BSONValue(c.Arg(1))}}
	if goja.IsString(c.Arg(2)) {
		return append(body, bson.E{Key: "out", Value: c.Text(2)})
	}
	if script.Property(c.Object(2), "out") == nil {
		c.JS.ThrowInvalid("Missing 'out' option")
	}
	return c.JS.Merge(body, c.Arg(2))
}

// watch opens a change stream. base has the fields of the stage that are always set.
func (d *Database) watch(c *script.Call, on any, base bson.D, pipeline, options goja.Value) goja.Value {
	opts := append(bson.D{}, base...)
	if o, ok := pipeline.(*goja.Object); ok && o.ClassName() != "Array" {
		pipeline, options = goja.Undefined(), pipeline
	}
	var batch goja.Value
	if o, ok := options.(*goja.Object); ok {
		batch = script.Property(o, "batchSize")
		opts = c.JS.Merge(opts, o, "batchSize", "maxAwaitTimeMS", "collation", "comment", "readPreference")
	}
	stages := bson.A{bson.D{{Key: "$changeStream", Value: opts}}}
	if o, ok := pipeline.(*goja.Object); ok {
		more, err := c.JS.BSONValue(o).Array().Values()
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
			body = append(body, bson.E{Key: name, Value: c.JS.BSONValue(v)})
		}
	}
	cur := d.host.Cursors.New(d, cursor.Aggregate, body)
	cur.IsChangeStream = true
	cur.SetReadPreference(readPreferenceOption(c.JS, options))
	if batch != nil {
		cur.SetBatchSize(int32(batch.ToInteger()))
	}
	cur.Open()
	if v := script.Property(from, "maxAwaitTimeMS"); v != nil {
		cur.SetMaxAwait(time.Duration(v.ToInteger()) * time.Millisecond)
	}
	target := d.Name
	if base != nil { // a change stream of the whole cluster
		target = d.conn.Address
	}
	if name, ok := on.(string); ok {
		target += "." + name
	}
	c.JS.Values.SetPrinter(cur.Object, func() string { return "ChangeStreamCursor on " + plaintext.EscapeLine(target) })
	return cur.Object
}
