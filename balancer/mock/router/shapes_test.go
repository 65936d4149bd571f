package router_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/router/routertest"
)

// recorded is a value of a real reply: objects keep the order of their fields.
type recorded struct {
	fields []recordedField // of an object
	items  []recorded      // of an array
	kind   string          // object, array, or the type of a value
}

type recordedField struct {
	name  string
	value recorded
}

// extended are the names that make an object a value of extended JSON.
var extended = regexp.MustCompile(`^\$(number|date|timestamp|oid|binary|minKey|maxKey)`)

var port = regexp.MustCompile(`127\.0\.0\.1:\d+`)

// hostless makes field names that hold addresses comparable.
func hostless(name string) string { return port.ReplaceAllString(name, "HOST") }

func (r recorded) get(name string) (recorded, int) {
	for i, f := range r.fields {
		if hostless(f.name) == hostless(name) {
			return f.value, i
		}
	}
	return recorded{}, -1
}

// readRecorded reads canonical extended JSON as a shell wrote it: it does not
// tell whole doubles from integers.
func readRecorded(t *testing.T, dec *json.Decoder) recorded {
	t.Helper()
	token, err := dec.Token()
	if err != nil {
		t.Fatal(err)
	}
	switch v := token.(type) {
	case json.Delim:
		r := recorded{kind: "array"}
		if v == '{' {
			r.kind = "object"
		}
		for dec.More() {
			if v == '[' {
				r.items = append(r.items, readRecorded(t, dec))
				continue
			}
			name, err := dec.Token()
			if err != nil {
				t.Fatal(err)
			}
			r.fields = append(r.fields, recordedField{name.(string), readRecorded(t, dec)})
		}
		if _, err := dec.Token(); err != nil {
			t.Fatal(err)
		}
		if len(r.fields) == 1 && extended.MatchString(r.fields[0].name) {
			return recorded{kind: r.fields[0].name}
		}
		return r
	case string:
		return recorded{kind: "string"}
	case bool:
		return recorded{kind: "bool"}
	case float64:
		return recorded{kind: "part of a value"}
	}
	return recorded{kind: "null"}
}

// fits tells whether a value has a recorded type. The recorder wrote doubles
// that are whole as integers.
func (r recorded) fits(v bson.RawValue) bool {
	kinds := map[bson.Type][]string{
		bson.TypeInt32: {"$numberInt"}, bson.TypeInt64: {"$numberLong"}, bson.TypeDouble: {"$numberDouble", "$numberInt", "$numberLong"},
		bson.TypeString: {"string"}, bson.TypeBoolean: {"bool"}, bson.TypeNull: {"null"}, bson.TypeDateTime: {"$date"},
		bson.TypeTimestamp: {"$timestamp"}, bson.TypeObjectID: {"$oid"}, bson.TypeBinary: {"$binary"},
		bson.TypeEmbeddedDocument: {"object"}, bson.TypeArray: {"array"}, bson.TypeMinKey: {"$minKey"}, bson.TypeMaxKey: {"$maxKey"},
	}
	return slices.Contains(kinds[v.Type], r.kind)
}

// compare reports what a reply has otherwise than the recording, and the
// fields it lacks.
func (r recorded) compare(path string, v bson.RawValue, differ func(string, ...any), lack func(string)) {
	if !r.fits(v) {
		differ("%s is a %s, recorded as %s", path, v.Type, r.kind)
		return
	}
	switch v.Type {
	case bson.TypeEmbeddedDocument:
		elems, err := v.Document().Elements()
		if err != nil {
			differ("%s: %v", path, err)
			return
		}
		last := -1
		have := map[string]bool{}
		for _, e := range elems {
			want, at := r.get(e.Key())
			have[hostless(e.Key())] = true
			switch {
			case e.Key() == "buildEnvironment" || e.Key() == "network": // the recorder left them out
				continue
			case at < 0:
				differ("%s.%s was not recorded", path, e.Key())
				continue
			case at < last && !strings.HasSuffix(path, ".raw") && !strings.HasSuffix(path, ".shards") && !strings.Contains(path, "getShardMap"):
				differ("%s.%s comes too late", path, e.Key())
			}
			last = max(last, at)
			want.compare(path+"."+hostless(e.Key()), e.Value(), differ, lack)
		}
		for _, f := range r.fields {
			if !have[hostless(f.name)] {
				lack(path + "." + hostless(f.name))
			}
		}
	case bson.TypeArray:
		values, err := v.Array().Values()
		if err != nil {
			differ("%s: %v", path, err)
			return
		}
		for i, item := range values {
			if len(r.items) > 0 {
				r.items[min(i, len(r.items)-1)].compare(fmt.Sprintf("%s.%d", path, i), item, differ, lack)
			}
		}
	}
}

// unmeasured are the parts of serverStatus that the mock has nothing to say on.
func unmeasured() []string {
	var list []string
	under := func(section string, names ...string) {
		for i, name := range names {
			names[i] = section + "." + name
		}
		list = append(names, list...)
	}
	under("logicalSessionRecordCache", "sessionsCollectionJobCount", "lastSessionsCollectionJobDurationMillis", "lastSessionsCollectionJobTimestamp",
		"lastSessionsCollectionJobEntriesRefreshed", "lastSessionsCollectionJobEntriesEnded", "lastSessionsCollectionJobCursorsClosed",
		"transactionReaperJobCount", "lastTransactionReaperJobDurationMillis", "lastTransactionReaperJobTimestamp", "lastTransactionReaperJobEntriesCleanedUp")
	under("extra_info", "user_time_us", "system_time_us", "maximum_resident_set_kb", "input_blocks", "output_blocks", "page_reclaims", "page_faults",
		"voluntary_context_switches", "involuntary_context_switches", "pressure")
	return list
}

// Replies have the fields of recorded ones, in their order and with their
// types. What is left out is listed here.
func TestReplyShapes(t *testing.T) {
	data, err := os.ReadFile("testdata/documents.json")
	if err != nil {
		t.Fatal(err)
	}
	all := readRecorded(t, json.NewDecoder(bytes.NewReader(data)))
	log := func(what string) bson.D {
		return d("find", "changelog", "filter", d("what", what), "projection", d("_id", 0))
	}
	shardTimes := func() []string {
		return []string{"shards.shard0.$clusterTime", "shards.shard0.$configTime", "shards.shard0.$topologyTime", "shards.shard0.operationTime"}
	}
	explainedSession := func() []string { return []string{"command.lsid", "command.$clusterTime"} }
	tests := []struct {
		name, db string
		command  bson.D
		inside   string // compare this part of the reply, with the first item of the recording
		without  []string
		classic  bool // the plan's own fields differ
	}{
		{name: "hello", db: "admin", command: d("hello", 1)},
		{name: "isMaster", db: "admin", command: d("isMaster", 1)},
		{name: "buildInfo", db: "admin", command: d("buildInfo", 1)},
		{name: "connectionStatus", db: "admin", command: d("connectionStatus", 1, "showPrivileges", true)},
		{name: "whatsmyuri", db: "admin", command: d("whatsmyuri", 1)},
		{name: "getLog", db: "admin", command: d("getLog", "global")},
		{name: "serverStatus", db: "admin", command: d("serverStatus", 1, "globalLock", 0, "indexBulkBuilder", 0,
			"locks", 0, "queryAnalyzers", 0, "metrics", 0, "mem", 1), without: unmeasured()},
		{name: "collStats", db: "doc1", command: d("collStats", "c"), without: shardTimes()},
		{name: "collStatsUnsharded", db: "doc1", command: d("collStats", "u"), without: shardTimes()},
		{name: "dbStats", db: "doc1", command: d("dbStats", 1)},
		{name: "listDatabases", db: "admin", command: d("listDatabases", 1, "filter", d("name", "admin"))},
		{name: "getShardVersion", db: "admin", command: d("getShardVersion", "doc1.c")},
		{name: "getShardMap", db: "admin", command: d("getShardMap", 1)},
		{name: "balancerStatus", db: "admin", command: d("balancerStatus", 1)},
		{name: "dataSizeEstimate", db: "doc1", command: d("dataSize", "doc1.c", "estimate", true)},
		{name: "insertReply", db: "doc1", command: d("insert", "c", "documents", bson.A{d("_id", 1, "k", 1)})},
		{name: "updateReply", db: "doc1", command: d("update", "u", "updates", bson.A{d("q", d("z", 9), "u", d("$set", d("y", 1)), "upsert", true)})},
		{name: "deleteReply", db: "doc1", command: d("delete", "u", "deletes", bson.A{d("q", d("z", 1), "limit", 0)})},
		{name: "findReply", db: "doc1", command: d("find", "c", "projection", d("_id", 0, "k", 1, "i", 1))},
		{name: "aggregateReply", db: "doc1", command: d("aggregate", "c", "pipeline", bson.A{d("$count", "n")}, "cursor", d())},
		{name: "countReply", db: "doc1", command: d("count", "c")},
		{name: "distinctReply", db: "doc1", command: d("distinct", "c", "key", "k")},
		{name: "createIndexesReply", db: "doc1", command: d("createIndexes", "c", "indexes", bson.A{d("key", d("x", 1), "name", "x_1")})},
		{name: "findAndModifyReply", db: "doc1", command: d("findAndModify", "u", "query", d("z", 1), "update", d("$set", d("y", 1)), "fields", d("_id", 0, "z", 1))},
		{name: "listCollectionsReply", db: "doc1", command: d("listCollections", 1)},
		{name: "listIndexesReply", db: "doc1", command: d("listIndexes", "c")},
		{name: "explainOneShard", db: "doc1", command: d("explain", d("find", "c", "filter", d("k", 5)), "verbosity", "queryPlanner"), without: explainedSession()},
		{name: "explainAll", db: "doc1", command: d("explain", d("find", "c", "filter", d("i", 5), "sort", d("k", 1), "limit", 3), "verbosity", "executionStats"), without: explainedSession()},
		{name: "explainAgg", db: "doc1", command: d("explain", d("aggregate", "c", "pipeline", bson.A{d("$match", d("k", d("$lt", 60)))}, "cursor", d()), "verbosity", "queryPlanner"),
			// The recording is of the slot-based engine, and has a $group.
			without: []string{"shards.shard0.queryPlanner.winningPlan.queryPlan", "shards.shard0.queryPlanner.winningPlan.slotBasedPlan"}, classic: true},
		{name: "moveChunk", db: "admin", command: d("moveChunk", "doc1.c", "find", d("k", 1), "to", "shard2")},
		{name: "changelog", db: "config", command: log("shardCollection.start"), inside: "0", without: []string{"_id"}},
		{name: "changelog", db: "config", command: log("shardCollection.end"), inside: "1", without: []string{"_id"}},
		{name: "actionlog", db: "config", command: d("find", "actionlog"), inside: "0"},
		{name: "placementHistory", db: "config", command: d("find", "placementHistory", "filter", d("nss", "doc1")), inside: "0"},
		{name: "placementHistory", db: "config", command: d("find", "placementHistory", "filter", d("nss", "doc1.c")), inside: "1"},
	}
	for _, tt := range tests {
		t.Run(tt.name+tt.inside, func(t *testing.T) {
			x := routertest.NewRecordedState(t)
			want, at := all.get(tt.name)
			if at < 0 {
				t.Fatal("there is no such recording")
			}
			reply := x.Run(tt.db, tt.command)
			v := bson.RawValue{Type: bson.TypeEmbeddedDocument, Value: reply}
			if tt.inside != "" {
				v = reply.Lookup("cursor", "firstBatch", "0")
				want = want.items[int(tt.inside[0]-'0')]
			}
			var lacks []string
			differ := t.Errorf
			if tt.classic {
				differ = func(format string, args ...any) {
					if text := fmt.Sprintf(format, args...); !strings.Contains(text, "winningPlan") {
						t.Error(text)
					}
				}
			}
			want.compare(tt.name, v, differ, func(path string) { lacks = append(lacks, strings.TrimPrefix(path, tt.name+".")) })
			if !slices.Equal(lacks, tt.without) {
				t.Errorf("the reply lacks %q, expected to lack %q\n%s", lacks, tt.without, reply)
			}
		})
	}
}

// The change log of a migration, entry by entry.
func TestMigrationLogShapes(t *testing.T) {
	data, err := os.ReadFile("testdata/documents.json")
	if err != nil {
		t.Fatal(err)
	}
	want, _ := readRecorded(t, json.NewDecoder(bytes.NewReader(data))).get("changelogMove")
	x := routertest.NewRecordedState(t)
	x.OK("admin", d("split", "doc1.c", "middle", d("k", 5)))
	x.OK("admin", d("moveChunk", "doc1.c", "find", d("k", 7), "to", "shard2"))
	for i, what := range []string{"moveChunk.start", "moveChunk.to", "moveChunk.commit", "moveChunk.from"} {
		entry := x.OK("config", d("find", "changelog", "filter", d("what", what))).Lookup("cursor", "firstBatch", "0")
		if i < len(want.items) {
			want.items[i].compare(what, entry, t.Errorf, func(path string) { t.Errorf("%s is missing", path) })
		}
	}
}
