package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/access"
	"shardsh/balancer/mock/args"
)

func mayInsert(a asking) bool { return a.may.Allows(a.target(), a.unvalidated("insert")...) }

// unvalidated adds the action of bypassDocumentValidation where it is asked
// for.
func (c *call) unvalidated(actions ...access.Action) []access.Action {
	if args.Truth(c.body.Lookup("bypassDocumentValidation")) {
		actions = append(actions, "bypassDocumentValidation")
	}
	return actions
}

func mayUpdate(a asking) bool {
	wanted := a.unvalidated("update")
	statements, _ := args.Documents(a.body.Lookup("updates"))
	for _, s := range statements {
		if args.Truth(s.Lookup("upsert")) {
			wanted = append(wanted, "insert")
			break
		}
	}
	return a.may.Allows(a.target(), wanted...)
}

func mayFindAndModify(a asking) bool {
	wanted := a.unvalidated("find")
	switch {
	case args.Truth(a.body.Lookup("remove")):
		wanted = append(wanted, "remove")
	default:
		wanted = append(wanted, "update")
	}
	if args.Truth(a.body.Lookup("upsert")) {
		wanted = append(wanted, "insert")
	}
	return a.may.Allows(a.target(), wanted...)
}

// mayBulkWrite: each operation's namespace must allow it.
func mayBulkWrite(a asking) bool {
	ops, err := a.bulkStatements()
	if err != nil {
		return true // the command fails
	}
	actions := map[string]access.Action{"insert": "insert", "update": "update", "delete": "remove"}
	for _, op := range ops {
		wanted := a.unvalidated(actions[op.kind])
		if args.Truth(op.doc.Lookup("upsert")) {
			wanted = append(wanted, "insert")
		}
		if !a.may.Allows(access.OnNamespace(op.ns), wanted...) {
			return false
		}
	}
	return true
}

// mayAggregate: each stage has its own needs; reading is the first's.
func mayAggregate(a asking) bool {
	stages := a.body.Lookup("pipeline")
	if _, isNumber := a.body.Lookup("aggregate").AsInt64OK(); isNumber {
		return mayRunPipeline(a, "$cmd.aggregate", stages)
	}
	coll := args.Text(a.body.Lookup("aggregate"))
	if !readsNoDocuments(stages) && !a.may.Allows(access.On(a.db, coll), "find") {
		return false
	}
	return mayRunPipeline(a, coll, stages)
}

// readsNoDocuments: the first stage makes documents of its own.
func readsNoDocuments(pipeline bson.RawValue) bool {
	stages, _ := args.Documents(pipeline)
	if len(stages) == 0 {
		return false
	}
	_, makes := sourceRules()[args.FirstKey(stages[0])]
	return makes
}

// stageRule tells whether a stage of a pipeline on a collection is allowed.
type stageRule func(a asking, coll string, spec bson.RawValue) bool

// sourceRules are what the stages need that make documents of their own.
func sourceRules() map[string]stageRule {
	onPipelines := func(action access.Action) stageRule {
		return func(a asking, coll string, _ bson.RawValue) bool { return a.may.Allows(access.On(a.db, coll), action) }
	}
	cluster := func(action access.Action) stageRule {
		return func(a asking, _ string, _ bson.RawValue) bool { return a.may.Allows(access.TheCluster(), action) }
	}
	// unlessOwn needs the action to see others' things.
	unlessOwn := func(action access.Action) stageRule {
		return func(a asking, _ string, spec bson.RawValue) bool {
			options, _ := spec.DocumentOK()
			return !args.Truth(options.Lookup("allUsers")) || a.may.Allows(access.TheCluster(), action)
		}
	}
	return map[string]stageRule{
		"$collStats": onPipelines("collStats"), "$indexStats": onPipelines("indexStats"), "$planCacheStats": onPipelines("planCacheRead"),
		"$currentOp":    mayListOperations,
		"$listSessions": unlessOwn("listSessions"), "$listLocalSessions": unlessOwn("listSessions"),
		"$shardedDataDistribution": cluster("shardedDataDistribution"), "$listSampledQueries": cluster("listSampledQueries"),
		"$queryStats": cluster("queryStatsRead"), "$listClusterCatalog": cluster("listDatabases"), "$documents": func(asking, string, bson.RawValue) bool { return true },
		"$changeStream": func(a asking, coll string, _ bson.RawValue) bool {
			if coll == "$cmd.aggregate" {
				coll = ""
			}
			return a.may.Allows(access.On(a.db, coll), "changeStream", "find")
		},
	}
}

// mayListOperations: one's own on this mongos need nothing.
func mayListOperations(a asking, _ string, spec bson.RawValue) bool {
	options, _ := spec.DocumentOK()
	own := args.Truth(options.Lookup("localOps")) && !args.Truth(options.Lookup("allUsers"))
	return own || a.may.Allows(access.TheCluster(), "inprog")
}

// joinRules are what the other stages need that read or write another
// collection.
func joinRules() map[string]stageRule {
	return map[string]stageRule{
		"$lookup": mayJoin("from"), "$graphLookup": mayJoin("from"), "$unionWith": mayJoin("coll"),
		"$facet": mayFacet, "$out": mayReplace, "$merge": mayMerge,
	}
}

// mayRunPipeline looks at the stages. What is no pipeline fails later anyway.
func mayRunPipeline(a asking, coll string, pipeline bson.RawValue) bool {
	stages, err := args.Documents(pipeline)
	if err != nil {
		return true
	}
	makes, joins := sourceRules(), joinRules()
	for _, s := range stages {
		name := args.FirstKey(s)
		of := makes[name]
		if of == nil {
			of = joins[name]
		}
		if of != nil && !of(a, coll, s.Lookup(name)) {
			return false
		}
	}
	return true
}

// mayJoin reads another collection, perhaps through a pipeline.
func mayJoin(field string) stageRule {
	return func(a asking, coll string, spec bson.RawValue) bool {
		options, _ := spec.DocumentOK()
		pipeline := options.Lookup("pipeline")
		from := options.Lookup(field)
		if name := args.Text(spec); name != "" {
			from = spec
		}
		if from.IsZero() {
			return mayRunPipeline(a, coll, pipeline)
		}
		of := namespaceOf(a.db, from)
		if !readsNoDocuments(pipeline) && !a.may.Allows(of, "find") {
			return false
		}
		return mayRunPipeline(a, of.Collection, pipeline)
	}
}

// namespaceOf reads a collection's name or {db, coll}.
func namespaceOf(db string, v bson.RawValue) access.Resource {
	if name, isText := v.StringValueOK(); isText {
		return access.On(db, name)
	}
	doc, _ := v.DocumentOK()
	if other := args.Text(doc.Lookup("db")); other != "" {
		db = other
	}
	return access.On(db, args.Text(doc.Lookup("coll")))
}

func mayFacet(a asking, coll string, spec bson.RawValue) bool {
	doc, _ := spec.DocumentOK()
	elems, _ := doc.Elements()
	for _, e := range elems {
		if !mayRunPipeline(a, coll, e.Value()) {
			return false
		}
	}
	return true
}

func mayReplace(a asking, _ string, spec bson.RawValue) bool {
	return a.may.Allows(namespaceOf(a.db, spec), a.unvalidated("insert", "remove")...)
}

// mayMerge: the modes say whether it inserts, updates or both.
func mayMerge(a asking, _ string, spec bson.RawValue) bool {
	options, isDoc := spec.DocumentOK()
	into := spec
	if isDoc {
		into = options.Lookup("into")
	}
	var wanted []access.Action
	if mode := args.Text(options.Lookup("whenNotMatched")); mode == "" || mode == "insert" {
		wanted = append(wanted, "insert")
	}
	if mode := args.Text(options.Lookup("whenMatched")); mode != "keepExisting" && mode != "fail" {
		wanted = append(wanted, "update")
	}
	return a.may.Allows(namespaceOf(a.db, into), a.unvalidated(wanted...)...)
}
