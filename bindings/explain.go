package bindings

import (
	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/server"
)

// explainable is db.c.explain(): its methods ask for plans.
type explainable struct {
	script.Hidden
	coll      *collection
	verbosity string
	object    *goja.Object
}

func (s *Shell) newExplainable(coll *collection, verbosity string) *explainable {
	e := &explainable{coll: coll, verbosity: verbosity}
	e.object = s.JS.Instance(e, prototype(s, "Explainable", explainMethods()))
	s.JS.World.SetPrinter(e.object, func() string {
		return "Explainable(" + plaintext.VisibleLine(coll.Namespace()) + ")"
	})
	return e
}

// verbosity reads the argument of explain: true and false stand for the old
// shell's two levels.
func (c *call) verbosity(i int) string {
	switch v := c.Arg(i); {
	case goja.IsUndefined(v):
		return "queryPlanner"
	case script.TypeOf(v) == "boolean":
		if v.ToBoolean() {
			return "allPlansExecution"
		}
		return "queryPlanner"
	case goja.IsString(v):
		return v.String()
	}
	c.JS.ThrowInvalid("verbosity must be a string")
	return ""
}

// explained asks for the plan of a command. Execution statistics are only kept
// when they were asked for, which some servers do not mind.
func (s *Shell) explained(d *database, body bson.D, verbosity string) goja.Value {
	reply := d.Run(bson.D{{Key: "explain", Value: body}, {Key: "verbosity", Value: verbosity}}, server.Reads)
	o := s.display.Reply(reply).(*goja.Object)
	if verbosity == "queryPlanner" && script.Property(o, "executionStats") != nil {
		script.Must(o.Delete("executionStats"))
	}
	return o
}

func (e *explainable) explain(c *call, body bson.D) goja.Value {
	return c.s.explained(e.coll.d, body, e.verbosity)
}

func explainMethods() []method[*explainable] {
	return []method[*explainable]{
		{"find", "query?:object projection?:object", func(c *call, e *explainable) goja.Value {
			current := c.s.cursor
			cur := e.coll.find(c)
			c.s.cursor = current // an explained query is nothing to iterate
			cur.explain = e.verbosity
			return cur.object
		}, "Explains a find; cursor methods refine it, finish() or printing gives the plan."},
		{"aggregate", "pipeline?:object options?:object", func(c *call, e *explainable) goja.Value {
			pipeline, options := c.stageArguments()
			body := bson.D{{Key: "aggregate", Value: e.coll.name}, {Key: "pipeline", Value: c.JS.Value(pipeline)},
				{Key: "cursor", Value: bson.D{}}}
			return e.explain(c, c.JS.Merge(body, options, notSent...))
		}, "Explains a pipeline."},
		{"count", "query?:object options?:object", func(c *call, e *explainable) goja.Value {
			body := bson.D{{Key: "count", Value: e.coll.name}, {Key: "query", Value: c.filterArg(0)}}
			return e.explain(c, c.JS.Merge(body, c.Arg(1), notSent...))
		}, "Explains a count."},
		{"distinct", "field:string query?:object options?:object", func(c *call, e *explainable) goja.Value {
			body := bson.D{{Key: "distinct", Value: e.coll.name}, {Key: "key", Value: c.Text(0)},
				{Key: "query", Value: c.filterArg(1)}}
			return e.explain(c, c.JS.Merge(body, c.Arg(2), notSent...))
		}, "Explains a distinct."},
		{"update", "filter:object update:object options?:object", func(c *call, e *explainable) goja.Value {
			options := c.Object(2)
			multi := script.Property(options, "multi")
			u := c.JS.Value(c.Arg(1)) // as update() takes it: a replacement too
			op := c.s.updateStatement(c.Object(0), &u, options, multi != nil && multi.ToBoolean())
			return e.explain(c, bson.D{{Key: "update", Value: e.coll.name}, {Key: "updates", Value: bson.A{op.doc}}})
		}, "Explains an update."},
		{"remove", "filter:object options?:boolean|object", func(c *call, e *explainable) goja.Value {
			options := c.Object(1)
			one := options == nil && c.Arg(1).ToBoolean()
			if v := script.Property(options, "justOne"); v != nil {
				one = v.ToBoolean()
			}
			op := c.s.deleteStatement(c.Object(0), options, one)
			return e.explain(c, bson.D{{Key: "delete", Value: e.coll.name}, {Key: "deletes", Value: bson.A{op.doc}}})
		}, "Explains a delete."},
		{"findAndModify", "options:object", func(c *call, e *explainable) goja.Value {
			return e.explain(c, c.findAndModifyBody(e.coll))
		}, "Explains a findAndModify."},
		{"findOneAndUpdate", "filter:object update:object options?:object", func(c *call, e *explainable) goja.Value {
			return e.explain(c, c.findOneAndBody(e.coll, c.s.updateValue(c.Arg(1)), c.Object(2)))
		}, "Explains a findOneAndUpdate."},
		{"findOneAndReplace", "filter:object replacement:object options?:object", func(c *call, e *explainable) goja.Value {
			return e.explain(c, c.findOneAndBody(e.coll, c.s.replacement(c.Arg(1)), c.Object(2)))
		}, "Explains a findOneAndReplace."},
		{"findOneAndDelete", "filter:object options?:object", func(c *call, e *explainable) goja.Value {
			return e.explain(c, c.findOneAndBody(e.coll, nil, c.Object(1)))
		}, "Explains a findOneAndDelete."},
		{"mapReduce", "map:any reduce:any optionsOrOut:any", func(c *call, e *explainable) goja.Value {
			return e.explain(c, c.mapReduceBody(e.coll))
		}, "Explains a mapReduce."},
		{"getVerbosity", "", func(c *call, e *explainable) goja.Value { return c.JS.Runtime.ToValue(e.verbosity) },
			"Returns the verbosity."},
		{"setVerbosity", "verbosity:any", func(c *call, e *explainable) goja.Value {
			e.verbosity = c.verbosity(0)
			return nil
		}, "Sets the verbosity."},
		{"getCollection", "", func(_ *call, e *explainable) goja.Value { return e.coll.object },
			"Returns the collection."},
	}
}

// planCache is db.c.getPlanCache().
type planCache struct {
	script.Hidden
	coll *collection
}

func (s *Shell) newPlanCache(coll *collection) goja.Value {
	p := &planCache{coll: coll}
	o := s.JS.Instance(p, prototype(s, "PlanCache", planCacheMethods()))
	s.JS.World.SetPrinter(o, func() string {
		return "PlanCache for collection " + plaintext.VisibleLine(coll.name) + "."
	})
	return o
}

func planCacheMethods() []method[*planCache] {
	return []method[*planCache]{
		{"list", "pipeline?:object", func(c *call, p *planCache) goja.Value {
			stages := []bson.D{{{Key: "$planCacheStats", Value: bson.D{}}}}
			if o := c.Object(0); o != nil {
				for _, st := range script.Items(o) {
					stages = append(stages, c.JS.Merge(bson.D{}, st))
				}
			}
			return c.JS.Array(p.coll.d.AggregateAll(p.coll.name, stages...))
		}, "Returns the cached plans."},
		{"clear", "", func(c *call, p *planCache) goja.Value {
			return c.s.display.Reply(p.coll.d.Run(bson.D{{Key: "planCacheClear", Value: p.coll.name}}))
		}, "Forgets all plans."},
		{"clearPlansByQuery", "query:object projection?:object sort?:object", func(c *call, p *planCache) goja.Value {
			body := bson.D{{Key: "planCacheClear", Value: p.coll.name}, {Key: "query", Value: c.JS.Document(c.Arg(0))}}
			for i, name := range []string{"projection", "sort"} {
				if c.Has(i + 1) {
					body = append(body, bson.E{Key: name, Value: c.JS.Document(c.Arg(i + 1))})
				}
			}
			return c.s.display.Reply(p.coll.d.Run(body))
		}, "Forgets the plans of one kind of query."},
		{"listQueryShapes", "", func(c *call, _ *planCache) goja.Value { return c.planCacheGone("listQueryShapes") },
			""},
		{"getPlansByQuery", "", func(c *call, _ *planCache) goja.Value { return c.planCacheGone("getPlansByQuery") },
			""},
	}
}

func (c *call) planCacheGone(name string) goja.Value {
	c.JS.ThrowCoded(script.Deprecated, script.CodeDeprecated,
		"PlanCache.%s was deprecated, please use PlanCache.list instead", name)
	return nil
}
