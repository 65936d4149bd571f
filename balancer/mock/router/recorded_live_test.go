package router_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/routertest"
)

// liveQuestion is what a verb asked a real cluster in a situation, and the kinds of values that the
// reply had, by path. {$uuidOf: ns} stands for a collection's UUID.
type liveQuestion struct {
	Situation, DB string
	Sent          bson.D
	Shape         map[string]string
}

// replyShape is the kinds of values in a reply, by path: the items of an array have one path, but for
// entries of logs and operations, which have one for each kind. Fields whose names are hosts have one.
// It does not go into bounds and keys, which are the user's.
type replyShape map[string]map[string]bool

var kindNames = map[bson.Type]string{
	bson.TypeDouble: "double", bson.TypeString: "string", bson.TypeEmbeddedDocument: "object", bson.TypeArray: "array",
	bson.TypeBinary: "binData", bson.TypeObjectID: "objectId", bson.TypeBoolean: "bool", bson.TypeDateTime: "date",
	bson.TypeNull: "null", bson.TypeRegex: "regex", bson.TypeInt32: "int", bson.TypeTimestamp: "timestamp",
	bson.TypeInt64: "long", bson.TypeMinKey: "minKey", bson.TypeMaxKey: "maxKey", bson.TypeDecimal128: "decimal",
}

var (
	hostName  = regexp.MustCompile(`[./:]`)
	notKind   = regexp.MustCompile(`Service.*|[0-9].*`)
	ofTheUser = []string{"min", "max", "shardKey", "key", "middle", "filter", "q", "query"}
)

// itemOf names an item of an array by its kind.
func itemOf(v bson.RawValue) string {
	doc, _ := v.DocumentOK()
	for _, field := range []string{"what", "desc"} {
		if text, is := doc.Lookup(field).StringValueOK(); is {
			return "[" + notKind.ReplaceAllString(text, "") + "]"
		}
	}
	return "[]"
}

// shapeOf is the shape of a reply without the cluster's time.
func shapeOf(reply bson.Raw) replyShape {
	shape := replyShape{}
	shape.addFields("", reply)
	maps.DeleteFunc(shape, func(path string, _ map[string]bool) bool {
		return path == "operationTime" || path == "$clusterTime" || strings.HasPrefix(path, "$clusterTime.")
	})
	return shape
}

func (s replyShape) add(path string, v bson.RawValue) {
	if s[path] == nil {
		s[path] = map[string]bool{}
	}
	s[path][kindNames[v.Type]] = true
	if array, is := v.ArrayOK(); is {
		values, _ := array.Values()
		for _, item := range values {
			s.add(path+itemOf(item), item)
		}
	}
	if doc, is := v.DocumentOK(); is && !slices.Contains(ofTheUser, path[strings.LastIndex(path, ".")+1:]) {
		s.addFields(path+".", doc)
	}
}

func (s replyShape) addFields(before string, doc bson.Raw) {
	elems, _ := doc.Elements()
	for _, e := range elems {
		name := e.Key()
		if hostName.MatchString(name) {
			name = "*"
		}
		s.add(before+name, e.Value())
	}
}

// parent is the path that a path is inside of.
func parent(path string) string {
	if strings.HasSuffix(path, "]") {
		return path[:strings.LastIndex(path, "[")]
	}
	return path[:max(0, strings.LastIndex(path, "."))]
}

// differences compares what both have; of what one lacks only the outermost path is named. Recorded kinds
// with a question mark are of what was not always there.
func (s replyShape) differences(recorded map[string]string) []string {
	var list []string
	for path, text := range recorded {
		kinds, optional := strings.CutPrefix(text, "? ")
		if s[path] == nil {
			if up := parent(path); !optional && (up == "" || s[up] != nil) {
				list = append(list, "lacks "+path)
			}
			continue
		}
		for kind := range s[path] {
			if !slices.Contains(strings.Fields(kinds), kind) {
				list = append(list, fmt.Sprintf("%s is %s, not %s", path, kind, kinds))
			}
		}
	}
	for path := range s {
		if up := parent(path); recorded[path] == "" && (up == "" || recorded[up] != "") && !strings.HasSuffix(path, "]") {
			list = append(list, "has "+path)
		}
	}
	slices.Sort(list)
	return list
}

// liveState is the cluster before all situations, with thousands of documents that are split at some keys.
func liveState(t *testing.T, start time.Time, thousands int, splits []int) *tester {
	t.Helper()
	x := routertest.New(t, mock.Config{Start: start, Topology: &mock.Topology{Shards: []mock.TopologyShard{
		{ID: "shard0", Host: "sh0/127.0.0.1:27120"}, {ID: "shard1", Host: "sh1/127.0.0.1:27121"},
		{ID: "shard2", Host: "sh2/127.0.0.1:27122"},
	}}, Parameters: map[string]any{
		"enableTestCommands": true, "orphanCleanupDelaySecs": 0, "reshardingMinimumOperationDurationMillis": 0,
	}})
	x.OK("admin", d("balancerStop", 1))
	for db, shard := range map[string]string{"shop": "shard0", "other": "shard1"} {
		x.OK("admin", d("enableSharding", db, "primaryShard", shard))
	}
	x.OK("admin", d("shardCollection", "shop.orders", "key", d("k", 1)))
	x.OK("admin", d("configureCollectionBalancing", "shop.orders", "chunkSize", 1))
	for n := range thousands {
		docs := bson.A{}
		for k := 1000 * n; k < 1000*(n+1); k++ {
			docs = append(docs, d("_id", k, "k", k, "pad", strings.Repeat("x", 4000)))
		}
		x.OK("shop", d("insert", "orders", "documents", docs))
	}
	for _, k := range splits {
		x.OK("admin", d("split", "shop.orders", "middle", d("k", k)))
	}
	x.OK("admin", d("shardCollection", "shop.hashed", "key", d("h", "hashed")))
	x.OK("admin", d("shardCollection", "shop.zoned", "key", d("region", 1, "n", 1)))
	x.OK("shop", d("insert", "hashed", "documents", bson.A{d("_id", 1, "h", 1), d("_id", 2, "h", 2)}))
	x.OK("shop", d("insert", "zoned", "documents", bson.A{d("_id", 1, "region", "EU", "n", 1), d("_id", 2, "region", "US", "n", 1)}))
	x.OK("admin", d("addShardToZone", "shard1", "zone", "EU"))
	x.OK("admin", d("updateZoneKeyRange", "shop.zoned", "min", d("region", "EU", "n", bson.MinKey{}),
		"max", d("region", "EU", "n", bson.MaxKey{}), "zone", "EU"))
	x.OK("shop", d("insert", "plain", "documents", bson.A{d("_id", 1)}))
	x.OK("other", d("insert", "unsharded", "documents", bson.A{d("_id", 1)}))
	return x
}

// situations lead the cluster to where the questions were asked.
func situations() map[string]func(x *tester) {
	on := func(x *tester, point string) { x.OK("admin", d("configureFailPoint", point, "mode", "alwaysOn")) }
	hangs := func(x *tester, command bson.D) { x.Run("admin", append(command, d("maxTimeMS", 5000)...)) }
	move := func(to string) bson.D { return d("moveRange", "shop.orders", "min", d("k", 100), "toShard", to) }
	return map[string]func(x *tester){
		"idle": func(*tester) {},
		"migrating": func(x *tester) {
			on(x, "moveChunkHangAtStep4")
			hangs(x, move("shard1"))
		},
		"resharding": func(x *tester) {
			on(x, "reshardingPauseCoordinatorBeforeBlockingWrites")
			hangs(x, d("reshardCollection", "shop.orders", "key", d("_id", 1), "numInitialChunks", 2))
		},
		"moving-collection": func(x *tester) {
			on(x, "reshardingPauseCoordinatorBeforeBlockingWrites")
			hangs(x, d("moveCollection", "shop.plain", "toShard", "shard2"))
		},
		"defragmenting": func(x *tester) {
			x.OK("admin", d("split", "shop.hashed", "middle", d("h", int64(1))))
			x.OK("admin", d("moveRange", "shop.hashed", "min", d("h", bson.MinKey{}), "toShard", "shard2"))
			on(x, "moveChunkHangAtStep4")
			x.OK("admin", d("configureCollectionBalancing", "shop.hashed", "defragmentCollection", true, "chunkSize", 1))
			x.OK("admin", d("balancerStart", 1))
			x.Sleep(time.Minute)
		},
		"pending-deletion": func(x *tester) {
			on(x, "suspendRangeDeletion")
			x.OK("admin", move("shard2"))
		},
		"window-shut": func(x *tester) {
			x.OK("admin", move("shard2"))
			x.OK("config", d("update", "settings", "updates", bson.A{d("q", d("_id", "balancer"), "u",
				d("$set", d("activeWindow", d("start", "14:00", "stop", "15:00"))), "upsert", true)}))
			x.OK("admin", d("balancerStart", 1))
		},
		"failed-migration": func(x *tester) {
			x.OK("admin", move("shard2"))
			on(x, "migrateThreadHangAtStep3")
			hangs(x, d("moveRange", "shop.orders", "min", d("k", 200), "toShard", "shard1"))
			x.OK("admin", d("mockCrash", "shard1"))
			x.OK("admin", d("configureFailPoint", "migrateThreadHangAtStep3", "mode", "off"))
			x.Sleep(time.Minute)
			x.OK("admin", d("mockRestart", "shard1"))
		},
		"draining-jumbo": func(x *tester) {
			x.OK("admin", move("shard2"))
			on(x, "moveChunkHangAtStep2")
			x.OK("admin", d("balancerStart", 1))
			x.OK("admin", d("removeShard", "shard2"))
		},
		"shard-down": func(x *tester) { x.OK("admin", d("mockCrash", "shard1")) },
		"balancing": func(x *tester) {
			x.OK("admin", d("balancerStart", 1))
			x.Sleep(10 * time.Minute)
			x.OK("admin", d("balancerStop", 1))
		},
	}
}

// withUUIDs puts the collections' UUIDs in their places.
func withUUIDs(x *tester, v any) any {
	switch v := v.(type) {
	case bson.D:
		if len(v) == 1 && v[0].Key == "$uuidOf" {
			entry := x.OK("config", d("find", "collections", "filter", d("_id", v[0].Value)))
			if uuid := entry.Lookup("cursor", "firstBatch", "0", "uuid"); !uuid.IsZero() {
				return uuid
			}
			return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: make([]byte, 16)} // of none
		}
		doc := bson.D{}
		for _, e := range v {
			doc = append(doc, bson.E{Key: e.Key, Value: withUUIDs(x, e.Value)})
		}
		return doc
	case bson.A:
		list := bson.A{}
		for _, item := range v {
			list = append(list, withUUIDs(x, item))
		}
		return list
	}
	return v
}

// What the verbs ask in the situations that were recorded is answered with the same fields, of the same
// types, as by a real cluster; liveExcuses has the others with reasons.
func TestRecordedLiveShapes(t *testing.T) {
	lead := situations()
	var x *tester
	at, asked := "", 0
	found := map[string][]string{}
	for q := range recordedLines[liveQuestion](t, "20-live-shapes.jsonl.gz") {
		if q.Situation != at {
			at = q.Situation
			x = liveState(t, time.Time{}, 1, []int{100, 200, 300, 400, 500, 600, 700, 800})
			lead[at](x)
		}
		sent := withUUIDs(x, q.Sent).(bson.D)
		asked++
		for _, difference := range shapeOf(x.Run(q.DB, sent)).differences(q.Shape) {
			what := q.Sent[0].Key + " " + fmt.Sprint(q.Sent[0].Value) + ": " + difference
			found[what] = append(found[what], at)
		}
	}
	excused := map[string]bool{}
	for what, where := range found {
		if excuse := excuseOf(what, slices.Compact(where)); excuse != "" {
			excused[excuse] = true
			continue
		}
		t.Errorf("%s (%s)", what, strings.Join(slices.Compact(where), ", "))
	}
	for _, e := range liveExcuses {
		if !excused[e.why] {
			t.Errorf("nothing differs any more for this reason: %s", e.why)
		}
	}
	if asked != 672 {
		t.Errorf("%d questions were asked", asked)
	}
}

// liveExcuses are the differences that there are to be, with the situations they are of; none for all.
var liveExcuses = []struct {
	what  *regexp.Regexp
	where string
	why   string
}{
	{regexp.MustCompile(`lockStats\.|flowControlStats\.`), "", "the mock has no locks"},
	{regexp.MustCompile(`^aggregate 1: lacks .*command\.max$`), "defragmenting", "another kind of move is under way here"},
	{regexp.MustCompile(`^aggregate .*: (has|lacks) (cursor|code|codeName|errmsg)$`), "shard-down",
		"other collections lay on the shard that is down: the situations before had moved chunks"},
	{regexp.MustCompile(`^balancerCollectionStatus config.system.sessions: lacks`), "draining-jumbo",
		"the collection of sessions is made later here"},
	{regexp.MustCompile(`^find actionlog: .*balancer.round`), "failed-migration shard-down",
		"a balancer round failed here as a shard was down"},
	{regexp.MustCompile(`^find chunks: lacks .*jumbo`), "pending-deletion window-shut failed-migration draining-jumbo shard-down",
		"a chunk had been flagged on the real cluster"},
	{regexp.MustCompile(`^balancerCollectionStatus shop.zoned: lacks (code|codeName|errmsg)$`), "shard-down",
		"the zone is violated here, which needs no measures of shards"},
}

// excuseOf is the reason for a difference, empty where there is none.
func excuseOf(what string, where []string) string {
	for _, e := range liveExcuses {
		inside := func(at string) bool { return e.where == "" || slices.Contains(strings.Fields(e.where), at) }
		if e.what.MatchString(what) && !slices.ContainsFunc(where, func(at string) bool { return !inside(at) }) {
			return e.why
		}
	}
	return ""
}
