package access

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
)

// MayInsert reports whether the caller may insert into the collection.
func MayInsert(r Request) bool { return r.Grants.Allows(r.target(), r.withBypassAction("insert")...) }

// withBypassAction adds the bypassDocumentValidation action if the command sets that option.
func (r Request) withBypassAction(actions ...Action) []Action {
	if args.IsTrueOrNonzero(r.Body.Lookup("bypassDocumentValidation")) {
		actions = append(actions, "bypassDocumentValidation")
	}
	return actions
}

// MayUpdate reports whether the caller may update the collection. An upsert also requires insert.
func MayUpdate(r Request) bool {
	wanted := r.withBypassAction("update")
	statements, _ := args.Documents(r.Body.Lookup("updates"))
	for _, s := range statements {
		if args.IsTrueOrNonzero(s.Lookup("upsert")) {
			wanted = append(wanted, "insert")
			break
		}
	}
	return r.Grants.Allows(r.target(), wanted...)
}

// MayFindAndModify reports whether the caller has find and the action of the change.
func MayFindAndModify(r Request) bool {
	wanted := r.withBypassAction("find")
	switch {
	case args.IsTrueOrNonzero(r.Body.Lookup("remove")):
		wanted = append(wanted, "remove")
	default:
		wanted = append(wanted, "update")
	}
	if args.IsTrueOrNonzero(r.Body.Lookup("upsert")) {
		wanted = append(wanted, "insert")
	}
	return r.Grants.Allows(r.target(), wanted...)
}

// MayBulkWrite reports whether the caller may run every operation on its namespace. Invalid operations
// pass here and fail later.
func MayBulkWrite(r Request) bool {
	ops, err := args.Documents(r.Body.Lookup("ops"))
	if err != nil {
		return true
	}
	namespaces, err := args.Documents(r.Body.Lookup("nsInfo"))
	if err != nil {
		return true
	}
	actions := map[string]Action{"insert": "insert", "update": "update", "delete": "remove"}
	for _, op := range ops {
		kind := args.FirstKey(op)
		action, known := actions[kind]
		at := args.ClampedInt(op.Lookup(kind))
		if !known || at < 0 || at >= int64(len(namespaces)) {
			return true
		}
		wanted := r.withBypassAction(action)
		if args.IsTrueOrNonzero(op.Lookup("upsert")) {
			wanted = append(wanted, "insert")
		}
		if !r.Grants.Allows(NamespaceResource(args.Text(namespaces[at].Lookup("ns"))), wanted...) {
			return false
		}
	}
	return true
}

// MayAggregate reports whether the caller may run every stage. The first stage determines whether the
// pipeline reads the collection.
func MayAggregate(r Request) bool {
	stages := r.Body.Lookup("pipeline")
	if _, isNumber := r.Body.Lookup("aggregate").AsInt64OK(); isNumber {
		return mayRunPipeline(r, "$cmd.aggregate", stages)
	}
	coll := args.Text(r.Body.Lookup("aggregate"))
	if !readsNoDocuments(stages) && !r.Grants.Allows(CollectionResource(r.Database, coll), "find") {
		return false
	}
	return mayRunPipeline(r, coll, stages)
}

// readsNoDocuments reports whether the first stage generates its own documents instead of reading the
// collection.
func readsNoDocuments(pipeline bson.RawValue) bool {
	stages, _ := args.Documents(pipeline)
	if len(stages) == 0 {
		return false
	}
	_, makes := initialStageRules()[args.FirstKey(stages[0])]
	return makes
}

// stageRule reports whether a pipeline stage on a collection is allowed.
type stageRule func(r Request, coll string, spec bson.RawValue) bool

// initialStageRules returns the rules of the stages that generate their own documents.
func initialStageRules() map[string]stageRule {
	onPipelines := func(action Action) stageRule {
		return func(r Request, coll string, _ bson.RawValue) bool {
			return r.Grants.Allows(CollectionResource(r.Database, coll), action)
		}
	}
	cluster := func(action Action) stageRule {
		return func(r Request, _ string, _ bson.RawValue) bool { return r.Grants.Allows(ClusterResource(), action) }
	}
	// unlessOwn requires the action to see the entries of other users.
	unlessOwn := func(action Action) stageRule {
		return func(r Request, _ string, spec bson.RawValue) bool {
			options, _ := spec.DocumentOK()
			return !args.IsTrueOrNonzero(options.Lookup("allUsers")) || r.Grants.Allows(ClusterResource(), action)
		}
	}
	return map[string]stageRule{
		"$collStats": onPipelines("collStats"), "$indexStats": onPipelines("indexStats"),
		"$planCacheStats": onPipelines("planCacheRead"),
		"$currentOp":      mayListOperations,
		"$listSessions":   unlessOwn("listSessions"), "$listLocalSessions": unlessOwn("listSessions"),
		"$shardedDataDistribution": cluster("shardedDataDistribution"), "$listSampledQueries": cluster("listSampledQueries"),
		"$listClusterCatalog": cluster("listDatabases"),
		"$queryStats": func(r Request, coll string, spec bson.RawValue) bool {
			options, _ := spec.DocumentOK()
			if !options.Lookup("transformIdentifiers").IsZero() {
				return cluster("queryStatsReadTransformed")(r, coll, spec)
			}
			return cluster("queryStatsRead")(r, coll, spec)
		},
		"$documents": func(Request, string, bson.RawValue) bool { return true },
		"$changeStream": func(r Request, coll string, _ bson.RawValue) bool {
			if coll == "$cmd.aggregate" {
				coll = ""
			}
			return r.Grants.Allows(CollectionResource(r.Database, coll), "changeStream", "find")
		},
	}
}

// mayListOperations reports whether $currentOp is allowed. The caller's own operations on this mongos
// require no privilege.
func mayListOperations(r Request, _ string, spec bson.RawValue) bool {
	options, _ := spec.DocumentOK()
	own := args.IsTrueOrNonzero(options.Lookup("localOps")) && !args.IsTrueOrNonzero(options.Lookup("allUsers"))
	return own || r.Grants.Allows(ClusterResource(), "inprog")
}

// joinRules returns the rules of the other stages that read or write another collection.
func joinRules() map[string]stageRule {
	return map[string]stageRule{
		"$lookup": joinRuleFor("from"), "$graphLookup": joinRuleFor("from"), "$unionWith": joinRuleFor("coll"),
		"$facet": mayFacet, "$out": mayReplace, "$merge": mayMerge,
	}
}

// mayRunPipeline checks every stage. An invalid pipeline passes here and fails later.
func mayRunPipeline(r Request, coll string, pipeline bson.RawValue) bool {
	stages, err := args.Documents(pipeline)
	if err != nil {
		return true
	}
	makes, joins := initialStageRules(), joinRules()
	for _, s := range stages {
		name := args.FirstKey(s)
		of := makes[name]
		if of == nil {
			of = joins[name]
		}
		if of != nil && !of(r, coll, s.Lookup(name)) {
			return false
		}
	}
	return true
}

// joinRuleFor returns the rule of a stage that reads another collection, possibly through a pipeline.
func joinRuleFor(field string) stageRule {
	return func(r Request, coll string, spec bson.RawValue) bool {
		options, _ := spec.DocumentOK()
		pipeline := options.Lookup("pipeline")
		from := options.Lookup(field)
		if name := args.Text(spec); name != "" {
			from = spec
		}
		if from.IsZero() {
			return mayRunPipeline(r, coll, pipeline)
		}
		of := resourceOf(r.Database, from)
		if !readsNoDocuments(pipeline) && !r.Grants.Allows(of, "find") {
			return false
		}
		return mayRunPipeline(r, of.Collection, pipeline)
	}
}

// resourceOf reads the name of a collection or {db, coll}.
func resourceOf(db string, v bson.RawValue) Resource {
	if name, isText := v.StringValueOK(); isText {
		return CollectionResource(db, name)
	}
	doc, _ := v.DocumentOK()
	if other := args.Text(doc.Lookup("db")); other != "" {
		db = other
	}
	return CollectionResource(db, args.Text(doc.Lookup("coll")))
}

func mayFacet(r Request, coll string, spec bson.RawValue) bool {
	doc, _ := spec.DocumentOK()
	elems, _ := doc.Elements()
	for _, e := range elems {
		if !mayRunPipeline(r, coll, e.Value()) {
			return false
		}
	}
	return true
}

func mayReplace(r Request, _ string, spec bson.RawValue) bool {
	return r.Grants.Allows(resourceOf(r.Database, spec), r.withBypassAction("insert", "remove")...)
}

// mayMerge checks $merge. The modes determine whether the stage inserts, updates or both.
func mayMerge(r Request, _ string, spec bson.RawValue) bool {
	options, isDoc := spec.DocumentOK()
	into := spec
	if isDoc {
		into = options.Lookup("into")
	}
	var wanted []Action
	if mode := args.Text(options.Lookup("whenNotMatched")); mode == "" || mode == "insert" {
		wanted = append(wanted, "insert")
	}
	if mode := args.Text(options.Lookup("whenMatched")); mode != "keepExisting" && mode != "fail" {
		wanted = append(wanted, "update")
	}
	return r.Grants.Allows(resourceOf(r.Database, into), r.withBypassAction(wanted...)...)
}
