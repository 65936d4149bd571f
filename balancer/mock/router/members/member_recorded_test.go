package members_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router"
	"shardsh/balancer/mock/router/routertest"
)

// recordedQuestions are those of the recording, in their order: what was asked of
// which database, and where in the reply the answer is.
func recordedQuestions() []struct {
	name, db string
	command  bson.D
	at       []string
} {
	batch := []string{"cursor", "firstBatch"}
	find := func(coll string, filter bson.D) bson.D { return d("find", coll, "filter", filter) }
	pipeline := func(stage bson.D) bson.D { return d("aggregate", "c", "pipeline", bson.A{stage}, "cursor", d()) }
	return []struct {
		name, db string
		command  bson.D
		at       []string
	}{
		{"hello", "admin", d("hello", 1), nil},
		{"replSetGetConfig", "admin", d("replSetGetConfig", 1), nil},
		{"replSetGetStatus", "admin", d("replSetGetStatus", 1), nil},
		{"getCmdLineOpts", "admin", d("getCmdLineOpts", 1), nil},
		{"featureCompatibilityVersion", "admin", d("getParameter", 1, "featureCompatibilityVersion", 1), nil},
		{"listDatabases", "admin", d("listDatabases", 1, "nameOnly", true), nil},
		{"databases of local", "local", d("listCollections", 1, "nameOnly", true), batch},
		{"collections of config", "config", d("listCollections", 1), batch},
		{"listCollections sharded", "sr", d("listCollections", 1), batch},
		{"dbStats", "sr", d("dbStats", 1), nil},
		{"collStats", "sr", d("collStats", "c"), nil},
		{"indexStats", "sr", pipeline(d("$indexStats", d())), batch},
		{"collStats stage", "sr", pipeline(d("$collStats", d("storageStats", d(), "count", d()))), batch},
		{"cache.databases", "config", find("cache.databases", d("_id", "sr")), batch},
		{"cache.collections", "config", find("cache.collections", d("_id", "sr.c")), batch},
		{"cache.chunks", "config", d("find", "cache.chunks.sr.c", "sort", d("_id", 1)), batch},
		{"rangeDeletions", "config", find("rangeDeletions", d("nss", "sr.c")), batch},
		{"getShardVersion", "admin", d("getShardVersion", "sr.c"), nil},
		{"splitVector", "sr", d("splitVector", "sr.c", "keyPattern", d("k", 1), "min", d("k", bson.MinKey{}), "max", d("k", 100),
			"maxChunkSizeBytes", 20000), nil},
		{"shardingState", "admin", d("shardingState", 1), nil},
		{"currentOp", "admin", d("currentOp", 1), nil},
		{"getDiagnosticData", "admin", d("getDiagnosticData", 1), []string{"data"}},
		{"profile", "sr", d("profile", -1), nil},
		{"serverStatus sections", "admin", d("serverStatus", 1), nil},
		{"shardingStatistics", "admin", d("serverStatus", 1), []string{"shardingStatistics"}},
		{"serverStatus repl", "admin", d("serverStatus", 1), []string{"repl"}},
		{"top", "admin", d("top", 1), nil},
		{"connectionStatus", "admin", d("connectionStatus", 1, "showPrivileges", true), nil},
		{"listCommands", "admin", d("listCommands", 1), []string{"commands"}},
		{"find with a stale router", "sr", find("c", d("k", 1)), batch},
		{"insert into a sharded collection", "sr", d("insert", "c", "documents", bson.A{d("_id", "direct", "k", 1)}), nil},
		{"move on a shard", "admin", d("moveChunk", "sr.c", "find", d("k", 1), "to", "shard1"), nil},
		{"oplog entry", "local", d("find", "oplog.rs", "filter", d("ns", "sr.c"), "sort", d("$natural", -1), "limit", 1), batch},
	}
}

// Every question that was asked of a real shard and a real config server, asked
// of the mock's: the same fields of the same types and, where the recording has
// them, the same values.
func TestMembersAnswerAsRecorded(t *testing.T) {
	front := recordedCluster(t)
	for _, m := range []router.Member{
		{Shard: "shard0", Set: "shard0", Address: "127.0.0.1:27120"}, {Shard: catalog.ConfigServerID, Set: "cfg", Address: "127.0.0.1:27119"},
	} {
		kind := "shard"
		if m.Shard == catalog.ConfigServerID {
			kind = "config"
		}
		t.Run(kind, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join("testdata", "member-"+kind+".json"))
			if err != nil {
				t.Fatal(err)
			}
			var answers bson.D
			if err := bson.UnmarshalExtJSON(data, true, &answers); err != nil {
				t.Fatal(err)
			}
			member := &tester{T: t, Router: m.NewNode(front.Router), Cluster: front.Cluster}
			questions := recordedQuestions()
			if len(questions) != len(answers) {
				t.Errorf("%d questions and %d answers", len(questions), len(answers))
			}
			for _, q := range questions {
				reply := member.Run(q.db, q.command)
				for _, problem := range compareRecorded(q.name, field(answers, q.name).(bson.D), reply, q.at) {
					t.Error(problem)
				}
			}
		})
	}
}

// recordedCluster is the cluster that was asked: sr.c by {k: 1} with 1,000
// documents, split at 100 and 700, the last chunk moved to shard1. A database that
// is gone had taken every section of resharding into the statistics of members.
func recordedCluster(t *testing.T) *tester {
	t.Helper()
	x := routertest.New(t, mock.Config{Topology: &mock.Topology{Shards: []mock.TopologyShard{
		{ID: "shard0", Host: "shard0/127.0.0.1:27120"}, {ID: "shard1", Host: "shard1/127.0.0.1:27121"},
	}}, ConfigServer: "127.0.0.1:27119", Parameters: map[string]any{"enableTestCommands": true}}) // its members list some
	x.OK("admin", d("refreshLogicalSessionCacheNow", 1))
	x.OK("admin", d("enableSharding", "gone", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "gone.c", "key", d("k", 1)))
	x.OK("admin", d("reshardCollection", "gone.c", "key", d("l", 1), "numInitialChunks", 1))
	x.OK("admin", d("unshardCollection", "gone.c", "toShard", "shard1"))
	x.OK("admin", d("moveCollection", "gone.c", "toShard", "shard0"))
	x.OK("gone", d("dropDatabase", 1))
	x.OK("admin", d("enableSharding", "sr", "primaryShard", "shard0"))
	x.OK("admin", d("shardCollection", "sr.c", "key", d("k", 1)))
	var docs bson.A
	for i := range 1000 {
		docs = append(docs, d("_id", i, "k", i, "pad", strings.Repeat("x", 100)))
	}
	x.OK("sr", d("insert", "c", "documents", docs))
	x.OK("admin", d("split", "sr.c", "middle", d("k", 100)))
	x.OK("admin", d("split", "sr.c", "middle", d("k", 700)))
	x.OK("admin", d("moveChunk", "sr.c", "find", d("k", 700), "to", "shard1"))
	return x
}

func field(doc bson.D, name string) any {
	for _, e := range doc {
		if e.Key == name {
			return e.Value
		}
	}
	return nil
}

// compareRecorded compares one answer.
func compareRecorded(name string, want bson.D, reply bson.Raw, at []string) []string {
	code, _ := reply.Lookup("code").AsInt64OK()
	if wanted := field(want, "code"); wanted != nil || code != 0 {
		if fmt.Sprint(wanted) != fmt.Sprint(code) && !excused(name) {
			return []string{fmt.Sprintf("%s: code %d, recorded %v: %s", name, code, wanted, reply)}
		}
		return nil
	}
	v := bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: reply}
	if at != nil {
		v = reply.Lookup(at...)
	}
	var got any
	if err := v.Unmarshal(&got); err != nil {
		return []string{fmt.Sprintf("%s: %v in %s", name, err, reply)}
	}
	got = prepared(name, got)
	c := recordedComparison{values: true}
	if shape := field(want, "shape"); shape != nil {
		c.values = false
		c.shape(name, shape, got)
	} else {
		c.value(name, field(want, "value"), got)
	}
	return c.problems
}

// prepared is what the recorder made of some replies before it wrote them.
func prepared(name string, got any) any {
	switch name {
	case "currentOp", "getDiagnosticData", "serverStatus sections":
		var keys bson.A
		for _, e := range got.(bson.D) {
			keys = append(keys, e.Key)
		}
		return keys
	case "databases of local":
		var names bson.A
		for _, c := range got.(bson.A) {
			names = append(names, field(c.(bson.D), "name"))
		}
		return names
	case "listCommands":
		var names bson.A
		for _, e := range got.(bson.D) {
			if !strings.HasPrefix(e.Key, "_") && !strings.HasPrefix(e.Key, "mock") {
				names = append(names, e.Key)
			}
		}
		return names
	case "collections of config":
		var list bson.A
		for _, c := range got.(bson.A) {
			entry := bson.A{field(c.(bson.D), "name"), field(c.(bson.D), "type")}
			for _, of := range []string{"options", "info"} {
				keys := bson.A{}
				for _, e := range field(c.(bson.D), of).(bson.D) {
					keys = append(keys, e.Key)
				}
				entry = append(entry, keys)
			}
			list = append(list, entry)
		}
		return list
	case "indexStats": // in the order of the recording
		list := got.(bson.A)
		slices.Reverse(list)
		return list
	case "top":
		return d("totals", "object by namespace")
	}
	return got
}

type recordedComparison struct {
	values   bool
	problems []string
}

func (c *recordedComparison) add(format string, a ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, a...))
}

func excused(path string) bool {
	for known := range lacking {
		if path == known || strings.HasPrefix(known, "*") && strings.HasSuffix(path, "."+known[1:]) {
			return true
		}
	}
	return false
}

// gossipFields are the fields that the recorder left out.
var gossipFields = []string{"$clusterTime", "operationTime", "$configTime", "$topologyTime", "electionId"}

// shape compares the names of fields and the types of values, as the recorder
// named them.
func (c *recordedComparison) shape(path string, want, got any) {
	if excused(path) {
		return
	}
	switch want := want.(type) {
	case bson.D:
		doc, isDoc := got.(bson.D)
		if !isDoc {
			c.add("%s is %T, recorded as an object", path, got)
			return
		}
		for _, e := range want {
			if v, there := lookUp(doc, e.Key); there {
				c.shape(path+"."+e.Key, e.Value, v)
			} else if !excused(path + "." + e.Key) {
				c.add("%s.%s is missing", path, e.Key)
			}
		}
		c.noMore(path, want, doc)
	case bson.A:
		list, isArray := got.(bson.A)
		switch {
		case !isArray:
			c.add("%s is %T, recorded as an array", path, got)
		case len(want) > 0 && len(list) == 0:
			c.add("%s is empty", path)
		case len(want) > 0:
			c.shape(path, want[0], list[0])
		}
	case string:
		if kind := kindOf(got); kind != want && !strings.HasPrefix(want, "object") {
			c.add("%s is %s, recorded as %s", path, kind, want)
		}
	}
}

func (c *recordedComparison) noMore(path string, want, got bson.D) {
	for _, e := range got {
		if _, there := lookUp(want, e.Key); !there && !slices.Contains(gossipFields, e.Key) && !excused(path+"."+e.Key) {
			c.add("%s.%s was not recorded", path, e.Key)
		}
	}
}

func lookUp(doc bson.D, name string) (any, bool) {
	for _, e := range doc {
		if e.Key == name {
			return e.Value, true
		}
	}
	return nil, false
}

// kindOf names a type as the recorder did: numbers of 32 bits and doubles are one
// to JavaScript.
func kindOf(v any) string {
	switch v.(type) {
	case int32, float64:
		return "number"
	case int64:
		return "Long"
	case string:
		return "string"
	case bool:
		return "boolean"
	case bson.DateTime:
		return "Date"
	case bson.Timestamp:
		return "Timestamp"
	case bson.ObjectID:
		return "ObjectId"
	case bson.Binary:
		return "Binary"
	case bson.D:
		return "object"
	}
	return fmt.Sprintf("%T", v)
}

// value compares values, too, but for what differs from run to run: times, ids,
// and versions that are times.
func (c *recordedComparison) value(path string, want, got any) {
	if excused(path) {
		return
	}
	switch want := want.(type) {
	case bson.D:
		doc, isDoc := got.(bson.D)
		if !isDoc {
			c.add("%s is %T, recorded as an object", path, got)
			return
		}
		for _, e := range want {
			if v, there := lookUp(doc, e.Key); there {
				c.value(path+"."+e.Key, e.Value, v)
			} else if !excused(path + "." + e.Key) {
				c.add("%s.%s is missing", path, e.Key)
			}
		}
		c.noMore(path, want, doc)
	case bson.A:
		list, isArray := got.(bson.A)
		if !isArray {
			c.add("%s is %T, recorded as an array", path, got)
			return
		}
		c.list(path, want, list)
	case bson.ObjectID, bson.DateTime, bson.Binary:
		if kindOf(got) != kindOf(want) {
			c.add("%s is %s, recorded as %s", path, kindOf(got), kindOf(want))
		}
	case bson.Timestamp:
		at, isTimestamp := got.(bson.Timestamp)
		if version := want.T < 1000; !isTimestamp || version && at != want {
			c.add("%s is %v, recorded as %v", path, got, want)
		}
	default:
		if kindOf(got) != kindOf(want) || fmt.Sprint(got) != fmt.Sprint(want) && !strings.HasSuffix(path, "connectionId") {
			c.add("%s is %s %v, recorded as %s %v", path, kindOf(got), got, kindOf(want), want)
		}
	}
}

// list compares arrays: those of names, or of entries that begin with one, as
// sets, of which some may be missing with a reason, but none may be there that no
// server has.
func (c *recordedComparison) list(path string, want, got bson.A) {
	if wanted := named(want); len(wanted) > 0 {
		have := named(got)
		for name := range have {
			if _, recorded := wanted[name]; !recorded {
				c.add("%s has %s, which was not recorded", path, name)
			}
		}
		for name, v := range wanted {
			is, there := have[name]
			switch _, isEntry := v.(bson.A); {
			case !there && !slices.Contains(absent(path), name):
				c.add("%s lacks %s", path, name)
			case there && slices.Contains(absent(path), name):
				c.add("%s has %s: it is not absent any more", path, name)
			case there && isEntry && !excused(path+"."+name) && fmt.Sprint(is) != fmt.Sprint(v):
				c.add("%s has %v, recorded %v", path, is, v)
			}
		}
		return
	}
	if len(want) != len(got) {
		c.add("%s has %d, recorded %d: %v", path, len(got), len(want), got)
		return
	}
	for i := range want {
		c.value(path, want[i], got[i])
	}
}

// named returns the values of an array by their names; none where they have none.
func named(list bson.A) map[string]any {
	byName := map[string]any{}
	for _, v := range list {
		name, isText := v.(string)
		if entry, isEntry := v.(bson.A); isEntry && len(entry) > 0 {
			name, isText = entry[0].(string)
		}
		if isText && !slices.Contains(gossipFields, name) {
			byName[name] = v
		}
	}
	return byName
}
