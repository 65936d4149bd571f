package router_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/commands"
	"shardsh/balancer/mock/router/routertest"
	"shardsh/balancer/mock/store/pipeline"
)

// sampleOf returns a value that a field takes.
func sampleOf(kind args.Kind) any {
	return map[args.Kind]any{
		args.String: "orders", args.Namespace: "app.orders", args.OldNamespace: "app.orders",
		args.NamespaceToShard: "app.orders", args.Shard: "shard0", args.Object: d(), args.Array: bson.A{},
		args.Objects: bson.A{}, args.Bool: true, args.SafeBool: true, args.SafeInt: 1, args.OptionalBool: true,
		args.Collection: "orders", args.OldCollection: "orders", args.AnyNamespace: "app.orders", args.Database: "app",
		args.OldAnyNamespace: "app.orders", args.Names: "orders", args.QueryShape: d("find", "orders"),
		args.UUID: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)}, args.Long: int64(1),
		args.Count: 1, args.TaskCount: 1, args.Hint: "_id_", args.Any: "orders", args.Int: int32(1), args.FindObject: d(),
		args.OldObject: d(), args.CollectionOrOne: "orders", args.Update: d(), args.NumberOrZero: 1, args.BoolOrUUID: true,
		args.IndexesToDrop: "a_1", args.CommitQuorum: 1, args.Limit: 1,
		args.ClusteredIndex: d("key", d("_id", 1), "unique", true),
	}[kind]
}

// samplesByName are those of fields that take no others of their kind.
var samplesByName = map[string]any{
	"maxTimeMS": 1000, "collation": d("locale", "simple"), "timeseries": d("timeField", "t"),
	"changeStreamPreAndPostImages": d("enabled", true), "validationLevel": "strict", "validationAction": "error",
}

// Each field of each command, and one that every command takes, may come once.
func TestEveryCommandTakesAKeyOnce(t *testing.T) {
	x := routertest.New(t, mock.Config{Release: catalog.Release83, Parameters: map[string]any{"enableTestCommands": true}})
	for _, cmd := range commands.All() {
		if cmd.MembersOnly {
			continue
		}
		body, names := d(cmd.Name, 1), []string{cmd.Name, "comment"}
		for _, f := range cmd.Fields {
			if f.Name() == cmd.Name {
				body[0].Value = sampleOf(f.Kind())
			} else {
				v := sampleOf(f.Kind())
				if special, has := samplesByName[f.Name()]; has {
					v = special
				}
				body, names = append(body, bson.E{Key: f.Name(), Value: v}), append(names, f.Name())
			}
		}
		body = append(body, bson.E{Key: "comment", Value: 1})
		for _, name := range names {
			i := slices.IndexFunc(body, func(e bson.E) bool { return e.Key == name })
			reply := x.Run("admin", append(slices.Clone(body), body[i]))
			if code, _ := reply.Lookup("code").AsInt64OK(); code != 9 {
				t.Errorf("%s with two %s: %s", cmd.Name, name, reply.Lookup("errmsg"))
			}
		}
	}
}

// doubles returns the document once for each key in it, at any depth, with that
// key twice: the other value first, and last. path names the key.
func doubles(path string, doc bson.D, other func(path string, v any) any) map[string][]bson.D {
	found := map[string][]bson.D{}
	for i, e := range doc {
		at := path + "." + e.Key
		put := func(v any) bson.D {
			changed := slices.Clone(doc)
			changed[i].Value = v
			return changed
		}
		second := bson.E{Key: e.Key, Value: other(at, e.Value)}
		found[at] = append(found[at], append(slices.Clone(doc), second), slices.Insert(slices.Clone(doc), i, second))
		for name, inner := range doublesIn(at, e.Value, other) {
			for _, v := range inner {
				found[name] = append(found[name], put(v))
			}
		}
	}
	return found
}

func doublesIn(path string, v any, other func(string, any) any) map[string][]any {
	found := map[string][]any{}
	switch v := v.(type) {
	case bson.D:
		for name, docs := range doubles(path, v, other) {
			for _, doc := range docs {
				found[name] = append(found[name], doc)
			}
		}
	case bson.A:
		for i, item := range v {
			for name, inner := range doublesIn(path, item, other) {
				for _, changed := range inner {
					list := slices.Clone(v)
					list[i] = changed
					found[name] = append(found[name], list)
				}
			}
		}
	}
	return found
}

// elsewhere turns a value that names what the user may use into one that names
// what it may not.
func elsewhere(_ string, v any) any {
	switch v {
	case "mine":
		return "secret"
	case "app":
		return "other"
	case "app.mine":
		return "app.secret"
	case false:
		return true
	}
	return v
}

// onlyMine is a cluster with a user that may use app.mine and nothing else.
func onlyMine(t *testing.T) *routertest.RoleTester {
	x := routertest.NewRoleTester(t)
	x.As("root", "app", d("insert", "mine", "documents", bson.A{d("_id", 7)}))
	role := d("createRole", "onlyMine", "roles", bson.A{}, "privileges", bson.A{d("resource", d("db", "app", "collection", "mine"),
		"actions", bson.A{"find", "insert", "update", "remove", "createCollection", "collStats", "createIndex", "dropIndex"})})
	if reply := x.As("root", "admin", role); reply.Lookup("ok").AsFloat64() != 1 {
		t.Fatal(reply)
	}
	return x
}

// stagesOfAll are all stages with all their options, on app.mine. Of those
// without an entry the fields are the documents' own.
var stagesOfAll = map[string]any{
	"$lookup": d("from", "mine", "localField", "_id", "foreignField", "_id", "as", "x", "let", d("v", "$_id"), "pipeline",
		bson.A{d("$unionWith", d("coll", "mine"))}),
	"$graphLookup": d("from", "mine", "startWith", "$_id", "connectFromField", "_id", "connectToField", "_id", "as", "x",
		"depthField", "n", "maxDepth", 1, "restrictSearchWithMatch", d()),
	"$unionWith": d("coll", "mine", "pipeline", bson.A{d("$lookup", d("from", "mine", "as", "x", "pipeline", bson.A{}))}),
	"$facet":     d("one", bson.A{d("$lookup", d("from", "mine", "as", "x", "pipeline", bson.A{}))}),
	"$out":       d("db", "app", "coll", "mine"),
	"$merge": d("into", d("db", "app", "coll", "mine"), "on", "_id", "let", d("v", 1), "whenMatched",
		bson.A{d("$replaceRoot", d("newRoot", "$$ROOT"))}, "whenNotMatched", "insert"),
	"$group":      d("_id", "$_id", "n", d("$sum", 1)),
	"$bucket":     d("groupBy", "$_id", "boundaries", bson.A{0, 10}, "default", "x", "output", d("n", d("$sum", 1))),
	"$bucketAuto": d("groupBy", "$_id", "buckets", 2, "output", d("n", d("$sum", 1))),
	"$densify":    d("field", "_id", "range", d("step", 1, "bounds", "full"), "partitionByFields", bson.A{}),
	"$fill":       d("partitionBy", "$a", "sortBy", d("_id", 1), "output", d("b", d("method", "linear"))),
	"$setWindowFields": d("partitionBy", "$a", "sortBy", d("_id", 1), "output",
		d("b", d("$sum", 1, "window", d("documents", bson.A{-1, 0})))),
	"$replaceRoot":             d("newRoot", "$$ROOT"),
	"$sample":                  d("size", 1),
	"$unwind":                  d("path", "$a", "includeArrayIndex", "i", "preserveNullAndEmptyArrays", false),
	"$geoNear":                 d("near", bson.A{0, 0}, "distanceField", "a", "query", d()),
	"$changeStream":            d("fullDocument", "updateLookup", "showExpandedEvents", false),
	"$collStats":               d("storageStats", d("scale", 1), "latencyStats", d("histograms", false), "count", d()),
	"$currentOp":               d("allUsers", false, "localOps", true),
	"$indexStats":              d("x", 1),
	"$listCatalog":             d("x", 1),
	"$listClusterCatalog":      d("shards", false),
	"$listLocalSessions":       d("allUsers", false),
	"$listSampledQueries":      d("namespace", "app.mine"),
	"$listSearchIndexes":       d("name", "x"),
	"$listSessions":            d("allUsers", false),
	"$planCacheStats":          d("allHosts", false),
	"$queryStats":              d("transformIdentifiers", d("algorithm", "hmac-sha-256")),
	"$shardedDataDistribution": d("x", 1),
}

// fieldsOfDocuments are stages whose keys are the documents', or that have none.
var fieldsOfDocuments = strings.Fields(`$match $project $addFields $set $unset $sort $limit $skip $count $replaceWith
	$sortByCount $redact $documents $search $searchMeta $vectorSearch`)

// asData are the places in them where keys are the documents'.
var asData = []string{
	"$lookup.let.v", "$graphLookup.restrictSearchWithMatch", "$fill.sortBy._id", "$setWindowFields.sortBy._id",
	"$group.n.$sum", "$bucket.output.n.$sum", "$bucketAuto.output.n.$sum", "$setWindowFields.output.b.$sum",
}

// Each option of each stage may come once, whoever asks for what first.
func TestEveryStageTakesAKeyOnce(t *testing.T) {
	x := onlyMine(t)
	for _, name := range pipeline.StageNames() {
		spec, known := stagesOfAll[name]
		if !known && !slices.Contains(fieldsOfDocuments, name) {
			t.Errorf("nobody has doubled the options of %s", name)
		}
		for path, specs := range doublesIn(name, spec, elsewhere) {
			if slices.Contains(asData, path) {
				continue
			}
			for _, spec := range specs {
				reply := x.As("onlyMine", "app", d("aggregate", "mine", "pipeline", bson.A{d(name, spec)}, "cursor", d()))
				code, _ := reply.Lookup("code").AsInt64OK()
				text := fmt.Sprint(reply.Lookup("errmsg"))
				// Two _id, and two stages in one, have codes of their own.
				if !slices.Contains([]int64{9, 40413}, code) || !strings.Contains(text, "duplicate") {
					if code != 15948 && !strings.Contains(text, "must contain exactly one field") {
						t.Errorf("%s: %v: %s", path, spec, text)
					}
				}
			}
		}
	}
}

// commandsWithOptions are commands that take documents of options, with all of
// them. Places in data are those where a key may come twice.
var commandsWithOptions = []struct {
	db      string
	command bson.D
	data    string
}{
	{"app", d("insert", "mine", "documents", bson.A{d("a", 1)}, "writeConcern", d("w", 1, "wtimeout", 1)), ".documents.a"},
	{"app", d("update", "mine", "updates", bson.A{d("q", d("a", 1), "u", d("$set", d("b", 1)), "upsert", false, "multi", false,
		"collation", d("locale", "simple"), "arrayFilters", bson.A{}, "c", d("v", 1))}, "let", d("v", 1)),
		".updates.q.a .updates.u.$set .updates.u.$set.b"},
	{"app", d("delete", "mine", "deletes", bson.A{d("q", d("a", 1), "limit", 1)}), ".deletes.q.a"},
	{"app", d("findAndModify", "mine", "query", d("a", 1), "remove", false, "upsert", false, "update", d("$set", d("b", 1))),
		".query.a .update.$set .update.$set.b"},
	{"admin", d("bulkWrite", 1, "ops", bson.A{d("insert", 0, "document", d("a", 1)), d("update", 0, "filter", d("a", 1),
		"updateMods", d("$set", d("b", 1)), "upsert", false), d("delete", 0, "filter", d("a", 1))}, "nsInfo",
		bson.A{d("ns", "app.mine")}, "cursor", d("batchSize", 1), "let", d("v", 1)),
		".ops.document.a .ops.filter.a .ops.updateMods.$set .ops.updateMods.$set.b"},
	{"app", d("find", "mine", "filter", d("a", 1), "sort", d("a", 1), "readConcern", d("level", "local"), "let", d("v", 1),
		"collation", d("locale", "simple")), ".filter.a .sort.a"},
	{"app", d("aggregate", "mine", "pipeline", bson.A{d("$out", d("db", "app", "coll", "mine"))}, "cursor", d("batchSize", 1),
		"let", d("v", 1)), ".pipeline.$out"},
	{"app", d("explain", d("aggregate", "mine", "pipeline", bson.A{d("$unionWith", d("coll", "mine"))}, "cursor", d("batchSize", 1))),
		".explain.pipeline.$unionWith"},
	{"app", d("create", "mine2", "viewOn", "mine", "pipeline", bson.A{d("$unionWith", d("coll", "mine"))}), ".pipeline.$unionWith"},
	{"app", d("collMod", "mine", "viewOn", "mine", "pipeline", bson.A{d("$unionWith", d("coll", "mine"))}, "index",
		d("keyPattern", d("a", 1), "hidden", false)), ".pipeline.$unionWith .index.keyPattern.a"},
	{"app", d("createIndexes", "mine", "indexes", bson.A{d("key", d("a", 1), "name", "a_1", "unique", false,
		"partialFilterExpression", d("a", 1))}), ".indexes.key.a .indexes.partialFilterExpression.a"},
	{"admin", d("createUser", "u", "pwd", "p", "roles", bson.A{d("role", "read", "db", "app")}, "customData", d("a", 1)), ".customData.a"},
	{"admin", d("updateUser", "u", "roles", bson.A{d("role", "read", "db", "app")}), ""},
	{"admin", d("createRole", "r", "roles", bson.A{d("role", "read", "db", "app")}, "privileges",
		bson.A{d("resource", d("db", "app", "collection", "mine"), "actions", bson.A{"find"})}), ""},
	{"admin", d("grantRolesToUser", "u", "roles", bson.A{d("role", "read", "db", "app")}), ""},
	{"admin", d("grantPrivilegesToRole", "r", "privileges",
		bson.A{d("resource", d("db", "app", "collection", "mine"), "actions", bson.A{"find"})}), ""},
	{"admin", d("usersInfo", d("user", "mine", "db", "app")), ""},
	{"admin", d("rolesInfo", bson.A{d("role", "mine", "db", "app")}), ""},
	{"admin", d("setClusterParameter", d("changeStreamOptions", d("preAndPostImages", d("expireAfterSeconds", 100)))), ""},
	{"admin", d("getParameter", d("allParameters", false)), ""},
	{"admin", d("killAllSessions", bson.A{d("user", "mine", "db", "app")}), ""},
	{"admin", d("hello", 1, "speculativeAuthenticate", d("saslStart", 1, "mechanism", "SCRAM-SHA-256", "db", "app")), ""},
	{"admin", d("configureFailPoint", "failCommand", "mode", d("times", 1), "data", d("failCommands", bson.A{"x"})), ""},
	{"admin", d("listDatabases", 1, "filter", d("a", 1)), ".filter.a"},
	{"app", d("listCollections", 1, "cursor", d("batchSize", 1)), ""},
}

// Each option in the documents of commands may come once, and documents are as
// they are.
func TestEveryOptionOnce(t *testing.T) {
	x := onlyMine(t)
	for _, tt := range commandsWithOptions {
		data := strings.Fields(tt.data)
		for path, bodies := range doubles("", tt.command, elsewhere) {
			for _, body := range bodies {
				reply := x.Run(tt.db, body)
				if body[0].Key != "hello" {
					reply = x.As("onlyMine", tt.db, body)
				}
				code, _ := reply.Lookup("code").AsInt64OK()
				refused := strings.Contains(fmt.Sprint(reply.Lookup("errmsg")), "duplicate") && (code == 9 || code == 40413)
				if refused == slices.Contains(data, path) {
					t.Errorf("%s%s: %v: %s", tt.command[0].Key, path, body, reply.Lookup("errmsg"))
				}
			}
		}
	}
}

// The case that was found: the privileges read the first, the stage the last.
func TestPrivilegesAreOfWhatRuns(t *testing.T) {
	x := onlyMine(t)
	for _, stage := range []bson.D{
		d("$lookup", bson.D{{Key: "from", Value: "mine"}, {Key: "from", Value: "secret"}, {Key: "as", Value: "x"},
			{Key: "pipeline", Value: bson.A{}}}),
		d("$unionWith", bson.D{{Key: "coll", Value: "mine"}, {Key: "coll", Value: "secret"}}),
		d("$out", bson.D{{Key: "db", Value: "app"}, {Key: "db", Value: "other"}, {Key: "coll", Value: "mine"}}),
	} {
		reply := x.As("onlyMine", "app", d("aggregate", "mine", "pipeline", bson.A{stage}, "cursor", d()))
		if n, _ := reply.Lookup("ok").AsFloat64OK(); n == 1 {
			t.Errorf("%v: %s", stage, reply)
		}
	}
}
