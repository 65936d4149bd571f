package database

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/cursor"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/write"
)

// explainable is the object that db.c.explain() returns: its methods explain commands.
type explainable struct {
	script.OpaqueObject
	coll      *Collection
	verbosity string
	object    *goja.Object
}

func (coll *Collection) newExplainable(verbosity string) *explainable {
	e := &explainable{coll: coll, verbosity: verbosity}
	e.object = coll.host.JS.NewInstance(e, script.PrototypeFromTables(coll.host.JS, "Explainable", explainMethods))
	coll.host.JS.Values.SetPrinter(e.object, func() string {
		return "Explainable(" + plaintext.EscapeLine(coll.Namespace()) + ")"
	})
	return e
}

func (e *explainable) explain(c *script.Call, body bson.D) goja.Value {
	return e.explainRead(c, body, goja.Undefined())
}

// explainRead explains a command whose options may have a read preference.
func (e *explainable) explainRead(c *script.Call, body bson.D, options goja.Value) goja.Value {
	return e.coll.host.Cursors.RunExplain(e.coll.database.Database, body, e.verbosity, readPreferenceOption(c.JS, options))
}

func explainMethods() script.Methods[*explainable] {
	return script.Methods[*explainable]{
		{"find", "query?:object projection?:object", func(c *script.Call, e *explainable) goja.Value {
			current := e.coll.host.Current.Cursor
			cur := e.coll.find(c)
			e.coll.host.Current.Cursor = current // the cursor of an explained query cannot be iterated
			cur.ExplainVerbosity = e.verbosity
			return cur.Object
		}, "Explains a find; cursor methods refine it, finish() or printing gives the plan."},
		{"aggregate", "pipeline?:object options?:object", func(c *script.Call, e *explainable) goja.Value {
			pipeline, options := stageArguments(c)
			body := bson.D{{Key: "aggregate", Value: e.coll.name}, {Key: "pipeline", Value: c.JS.BSONValue(pipeline)},
				{Key: "cursor", Value: bson.D{}}}
			return e.explainRead(c, c.JS.Merge(body, options, aggregateShellOptions()...), options)
		}, "Explains a pipeline."},
		{"count", "query?:object options?:object", func(c *script.Call, e *explainable) goja.Value {
			body := bson.D{{Key: "count", Value: e.coll.name}, {Key: "query", Value: filterArg(c, 0)}}
			return e.explainRead(c, c.JS.Merge(body, c.Arg(1), shellOnlyOptions...), c.Arg(1))
		}, "Explains a count."},
		{"distinct", "field:string query?:object options?:object", func(c *script.Call, e *explainable) goja.Value {
			body := bson.D{{Key: "distinct", Value: e.coll.name}, {Key: "key", Value: c.Text(0)},
				{Key: "query", Value: filterArg(c, 1)}}
			return e.explainRead(c, c.JS.Merge(body, c.Arg(2), shellOnlyOptions...), c.Arg(2))
		}, "Explains a distinct."},
		{"update", "filter:object update:object options?:object", func(c *script.Call, e *explainable) goja.Value {
			options := c.Object(2)
			u := c.JS.BSONValue(c.Arg(1)) // as in update(), this may be a replacement
			op := write.UpdateOp(c.JS, c.Object(0), &u, options, script.Flag(options, "multi", false))
			return e.explain(c, bson.D{{Key: "update", Value: e.coll.name}, {Key: "updates", Value: bson.A{op.Doc}}})
		}, "Explains an update."},
		{"remove", "filter:object options?:boolean|object", func(c *script.Call, e *explainable) goja.Value {
			options := c.Object(1)
			op := write.DeleteOp(c.JS, c.Object(0), options, removesOne(c, options))
			return e.explain(c, bson.D{{Key: "delete", Value: e.coll.name}, {Key: "deletes", Value: bson.A{op.Doc}}})
		}, "Explains a delete."},
		{"findAndModify", "options:object", func(c *script.Call, e *explainable) goja.Value {
			return e.explain(c, e.coll.findAndModifyBody(c))
		}, "Explains a findAndModify."},
		{"findOneAndUpdate", "filter:object update:object options?:object", func(c *script.Call, e *explainable) goja.Value {
			return e.explain(c, e.coll.findOneAndChangeBody(c, write.ParseUpdateDocument(c.JS, c.Arg(1)), c.Object(2)))
		}, "Explains a findOneAndUpdate."},
		{"findOneAndReplace", "filter:object replacement:object options?:object", func(c *script.Call,
			e *explainable) goja.Value {
			return e.explain(c, e.coll.findOneAndChangeBody(c, write.ParseReplacementDocument(c.JS, c.Arg(1)), c.Object(2)))
		}, "Explains a findOneAndReplace."},
		{"findOneAndDelete", "filter:object options?:object", func(c *script.Call, e *explainable) goja.Value {
			return e.explain(c, e.coll.findOneAndChangeBody(c, nil, c.Object(1)))
		}, "Explains a findOneAndDelete."},
		{"mapReduce", "map:any reduce:any optionsOrOut:any", func(c *script.Call, e *explainable) goja.Value {
			return e.explain(c, e.coll.mapReduceBody(c))
		}, "Explains a mapReduce."},
		{"getVerbosity", "", func(c *script.Call, e *explainable) goja.Value { return c.JS.Runtime.ToValue(e.verbosity) },
			"Returns the verbosity."},
		{"setVerbosity", "verbosity:any", func(c *script.Call, e *explainable) goja.Value {
			e.verbosity = cursor.Verbosity(c, 0)
			return nil
		}, "Sets the verbosity."},
		{"getCollection", "", func(_ *script.Call, e *explainable) goja.Value { return e.coll.object },
			"Returns the collection."},
	}
}

// planCache is the object that db.c.getPlanCache() returns.
type planCache struct {
	script.OpaqueObject
	coll *Collection
}

func (coll *Collection) newPlanCache() goja.Value {
	p := &planCache{coll: coll}
	o := coll.host.JS.NewInstance(p, script.PrototypeFromTables(coll.host.JS, "PlanCache", planCacheMethods))
	coll.host.JS.Values.SetPrinter(o, func() string {
		return "PlanCache for collection " + plaintext.EscapeLine(coll.name) + "."
	})
	return o
}

func planCacheMethods() script.Methods[*planCache] {
	return script.Methods[*planCache]{
		{"list", "pipeline?:object", func(c *script.Call, p *planCache) goja.Value {
			stages := []bson.D{{{Key: "$planCacheStats", Value: bson.D{}}}}
			if o := c.Object(0); o != nil {
				for _, st := range script.Items(o) {
					stages = append(stages, c.JS.Merge(bson.D{}, st))
				}
			}
			return c.JS.DocumentArray(p.coll.database.AggregateAll(p.coll.name, stages...))
		}, "Returns the cached plans."},
		{"clear", "", func(_ *script.Call, p *planCache) goja.Value {
			return p.coll.host.Display.ReplyValue(p.coll.database.Run(bson.D{{Key: "planCacheClear", Value: p.coll.name}}))
		}, "Forgets all plans."},
		{"clearPlansByQuery", "query:object projection?:object sort?:object", func(c *script.Call, p *planCache) goja.Value {
			body := bson.D{{Key: "planCacheClear", Value: p.coll.name}, {Key: "query", Value: c.JS.Document(c.Arg(0))}}
			for i, name := range []string{"projection", "sort"} {
				if c.Has(i + 1) {
					body = append(body, bson.E{Key: name, Value: c.JS.Document(c.Arg(i + 1))})
				}
			}
			return p.coll.host.Display.ReplyValue(p.coll.database.Run(body))
		}, "Forgets the plans of one kind of query."},
		{
			"listQueryShapes",
			"",
			func(c *script.Call, _ *planCache) goja.Value { return throwPlanCacheRemoved(c, "listQueryShapes") },
			"",
		},
		{
			"getPlansByQuery",
			"",
			func(c *script.Call, _ *planCache) goja.Value { return throwPlanCacheRemoved(c, "getPlansByQuery") },
			"",
		},
	}
}

func throwPlanCacheRemoved(c *script.Call, name string) goja.Value {
	c.JS.ThrowCoded(script.DeprecatedErrorName, script.CodeDeprecated,
		"PlanCache.%s was deprecated, please use PlanCache.list instead", name)
	return nil
}
