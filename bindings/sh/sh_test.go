package sh_test

import (
	"os"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// newest is what a move reads first, to know its own entries of the change log if its answer
// is lost.
const newest = `config {"find":"changelog","filter":{},"sort":{"$natural":-1},"limit":1,"maxTimeMS":2000}` + "\n"

// TestHelpersSend is rules/04-objects §5.2, column "sends", with the changes of §5.3.
func TestHelpersSend(t *testing.T) {
	const (
		majority60 = `"writeConcern":{"w":"majority","wtimeout":60000}`
		majority30 = `"writeConcern":{"w":"majority","wtimeout":30000}`
		// What a helper asks to warn of a name that nothing has, and for the name that
		// was meant.
		inCatalog = "\n" + `config {"find":"collections","filter":{"_id":"app.x","dropped":{"$ne":true},"unsplittable":{"$ne":true}},"limit":1}`
		inTags    = `config {"find":"tags","filter":{"ns":"app.x","min":{"k":0},"max":{"k":9}},"limit":1}` + "\n"
		inZone    = `config {"find":"shards","filter":{"_id":"sh0","tags":"EU"},"limit":1}` + "\n"
		meant     = "\n" + `config {"find":"collections","filter":{"dropped":{"$ne":true}},"projection":{"_id":1}}` + "\n" + `app {"listCollections":1,"nameOnly":true}`
	)
	c := shelltest.Connect(t)
	for _, tc := range []struct{ call, want string }{
		{`sh.enableSharding("app")`, `admin {"enableSharding":"app"}`},
		{`sh.enableSharding("app", "sh1")`, `admin {"enableSharding":"app","primaryShard":"sh1"}`},
		{`sh.commitReshardCollection("app.x")`, `admin {"commitReshardCollection":"app.x"}`},
		{`sh.abortReshardCollection("app.x")`, `admin {"abortReshardCollection":"app.x"}`},
		{`sh.shardCollection("app.x", {k: 1})`, `admin {"shardCollection":"app.x","key":{"k":1}}`},
		{`sh.shardCollection("app.x", {k: 1}, true)`, `admin {"shardCollection":"app.x","key":{"k":1},"unique":true}`},
		{`sh.shardCollection("app.x", {k: 1}, false, {numInitialChunks: 4})`, `admin {"shardCollection":"app.x","key":{"k":1},"unique":false,"numInitialChunks":4}`},
		{`sh.shardCollection("app.x", {k: "hashed"}, {presplitHashedZones: true})`, `admin {"shardCollection":"app.x","key":{"k":"hashed"},"presplitHashedZones":true}`},
		{`sh.reshardCollection("app.x", {j: 1, k: 1}, {numInitialChunks: 2})`, `admin {"reshardCollection":"app.x","key":{"j":1,"k":1},"numInitialChunks":2}`},
		{`sh.addShard("rs/h:1")`, `admin {"addShard":"rs/h:1"}`},
		{`sh.addShardToZone("sh0", "EU")`, `admin {"addShardToZone":"sh0","zone":"EU"}`},
		{`sh.addShardTag("sh0", "EU")`, `admin {"addShardToZone":"sh0","zone":"EU"}`},
		{`sh.updateZoneKeyRange("app.x", {k: 0}, {k: 9}, "EU")`, `admin {"updateZoneKeyRange":"app.x","min":{"k":0},"max":{"k":9},"zone":"EU"}` + inCatalog + meant},
		{`sh.updateZoneKeyRange("app.x", {k: 0}, {k: 9}, null)`, inTags + `admin {"updateZoneKeyRange":"app.x","min":{"k":0},"max":{"k":9},"zone":null}` + meant},
		{`sh.addTagRange("app.x", {k: MinKey}, {k: MaxKey()}, "EU")`, `admin {"updateZoneKeyRange":"app.x","min":{"k":{"$minKey":1}},"max":{"k":{"$maxKey":1}},"zone":"EU"}` + inCatalog + meant},
		{`sh.removeRangeFromZone("app.x", {k: 0}, {k: 9})`, inTags + `admin {"updateZoneKeyRange":"app.x","min":{"k":0},"max":{"k":9},"zone":null}` + meant},
		{`sh.removeTagRange("app.x", {k: 0}, {k: 9}, "EU")`, inTags + `admin {"updateZoneKeyRange":"app.x","min":{"k":0},"max":{"k":9},"zone":null}` + meant},
		{`sh.removeShardFromZone("sh0", "EU")`, inZone + `admin {"removeShardFromZone":"sh0","zone":"EU"}`},
		{`sh.removeShardTag("sh0", "EU")`, inZone + `admin {"removeShardFromZone":"sh0","zone":"EU"}`},
		{`sh.enableAutoSplit()`, `admin {"buildInfo":1}` + "\n" + `config {"update":"settings","updates":[{"q":{"_id":"autosplit"},"u":{"$set":{"enabled":true}},"upsert":true}],"ordered":true,` + majority30 + `}`},
		{`sh.splitAt("app.x", {k: NumberLong(5)})`, `admin {"split":"app.x","middle":{"k":5}}`},
		{`sh.splitFind("app.x", {k: 5})`, `admin {"split":"app.x","find":{"k":5}}`},
		{`sh.moveChunk("app.x", {k: 5}, "sh1")`, newest + `admin {"moveChunk":"app.x","find":{"k":5},"to":"sh1"}`},
		{`sh.moveChunk("app.x", {k: 5}, "sh1", {forceJumbo: true})`, newest + `admin {"moveChunk":"app.x","find":{"k":5},"to":"sh1","forceJumbo":true}`},
		{`sh.moveRange("app.x", "sh1", {k: 5})`, newest + `admin {"moveRange":"app.x","toShard":"sh1","min":{"k":5}}`},
		{`sh.moveRange("app.x", "sh1", undefined, {k: 5})`, newest + `admin {"moveRange":"app.x","toShard":"sh1","max":{"k":5}}`},
		{`sh.moveRange("app.x", "sh1", {k: 5}, {k: 9}, {waitForDelete: true})`, newest + `admin {"moveRange":"app.x","toShard":"sh1","min":{"k":5},"max":{"k":9},"waitForDelete":true}`},
		{`sh.balancerCollectionStatus("app.x")`, `admin {"balancerCollectionStatus":"app.x"}`},
		{`sh.enableBalancing("app.orders")`, `config {"update":"collections","updates":[{"q":{"_id":"app.orders"},"u":{"$set":{"noBalance":false}}}],"ordered":true,` + majority60 + `}`},
		{`sh.disableBalancing(db.orders)`, `config {"update":"collections","updates":[{"q":{"_id":"app.orders"},"u":{"$set":{"noBalance":true}}}],"ordered":true,` + majority60 + `}` + "\n" +
			`shardsh {"find":"leases","filter":{"_id":{"paused":"app.orders"}}}`},
		{`sh.enableMigrations("app.x")`, `admin {"setAllowMigrations":"app.x","allowMigrations":true}`},
		{`sh.disableMigrations("app.x")`, `admin {"setAllowMigrations":"app.x","allowMigrations":false}`},
		{`sh.getBalancerState()`, `config {"find":"settings","filter":{"_id":"balancer"},"limit":1}`},
		{`sh.isBalancerRunning()`, `admin {"balancerStatus":1}`},
		{`sh.startBalancer()`, `admin {"balancerStart":1,"maxTimeMS":60000}`},
		{`sh.startBalancer(5)`, `admin {"balancerStart":1,"maxTimeMS":5}`},
		{`sh.stopBalancer(2000, 100)`, `admin {"balancerStop":1,"maxTimeMS":2000}`},
		{`sh.setBalancerState(true)`, `admin {"balancerStart":1,"maxTimeMS":60000}`},
		{`sh.setBalancerState(false)`, `admin {"balancerStop":1,"maxTimeMS":60000}`},
		{`sh.getShardedDataDistribution()`, `admin {"aggregate":1,"pipeline":[{"$shardedDataDistribution":{}}],"cursor":{}}`},
		{`sh.startAutoMerger()`, `config {"update":"settings","updates":[{"q":{"_id":"automerge"},"u":{"$set":{"enabled":true}},"upsert":true}],"ordered":true,` + majority30 + `}`},
		{`sh.stopAutoMerger()`, `config {"update":"settings","updates":[{"q":{"_id":"automerge"},"u":{"$set":{"enabled":false}},"upsert":true}],"ordered":true,` + majority30 + `}`},
		{`sh.isAutoMergerEnabled()`, `config {"find":"settings","filter":{"_id":"automerge"},"limit":1}`},
		{`sh.disableAutoMerger("app.orders")`, `config {"update":"collections","updates":[{"q":{"_id":"app.orders"},"u":{"$set":{"enableAutoMerge":false}}}],"ordered":true,` + majority60 + `}`},
		{`sh.enableAutoMerger("app.orders")`, `config {"update":"collections","updates":[{"q":{"_id":"app.orders"},"u":{"$unset":{"enableAutoMerge":1}}}],"ordered":true,` + majority60 + `}`},
		{`sh.checkMetadataConsistency({checkIndexes: true})`, `admin {"checkMetadataConsistency":1,"checkIndexes":true}`},
		{`sh.shardAndDistributeCollection("app.x", {k: 1}, false, {numInitialChunks: 3, timeseries: {timeField: "t"}})`,
			`admin {"buildInfo":1}` + "\n" + // only releases that reshard to the same key are sent the first command
				`admin {"shardCollection":"app.x","key":{"k":1},"unique":false,"numInitialChunks":3,"timeseries":{"timeField":"t"}}` + "\n" +
				`admin {"reshardCollection":"app.x","key":{"k":1},"forceRedistribution":true,"numInitialChunks":3}`},
		{`sh.moveCollection("app.x", "sh1")`, `admin {"moveCollection":"app.x","toShard":"sh1"}`},
		{`sh.abortMoveCollection("app.x")`, `admin {"abortMoveCollection":"app.x"}`},
		{`sh.unshardCollection("app.x", "sh1")`, `admin {"unshardCollection":"app.x","toShard":"sh1"}`},
		{`sh.unshardCollection("app.x")`, `admin {"unshardCollection":"app.x"}`},
		{`sh.abortUnshardCollection("app.x")`, `admin {"abortUnshardCollection":"app.x"}`},
		{`sh.listShards()`, `admin {"listShards":1}`},
		{`sh.listShards({draining: true})`, `admin {"listShards":1,"filter":{"draining":true}}`},
		{`sh.isConfigShardEnabled()`, `admin {"listShards":1}`},
		{`sh.shardDrainingStatus("sh0")`, `admin {"shardDrainingStatus":"sh0"}`},
		{`sh.shardDrainingStatus()`, `admin {"shardDrainingStatus":1}`},
		{`sh.getTransitionToDedicatedConfigServerStatus()`, `admin {"getTransitionToDedicatedConfigServerStatus":1}`},
		{`sh.mergeChunks("app.x", {k: 0}, {k: 9})`, `admin {"mergeChunks":"app.x","bounds":[{"k":0},{"k":9}]}`},
		{`sh.removeShard("sh0")`, `admin {"removeShard":"sh0"}`},
	} {
		t.Run(tc.call, func(t *testing.T) {
			c.Renew(t)
			if out, failed := c.Show(tc.call); failed {
				t.Fatal(out)
			}
			if got := strings.Join(c.TakeCommands(), "\n"); got != tc.want {
				t.Errorf("sent\n%s\nwant\n%s", got, tc.want)
			}
		})
	}
}

func TestHelpersRefuseBeforeSending(t *testing.T) {
	c := shelltest.Connect(t)
	for _, tc := range []struct{ call, want string }{
		{`sh.moveRange("app.x", "sh1")`, "MongoshInvalidInputError: [COMMON-10001] moveRange needs min or max (Shard.moveRange)"},
		{`sh.shardCollection("app.x", {b: 1, 1: 1})`, `MongoshInvalidInputError: [COMMON-10001] Key field "1" looks like an array index`},
		{`sh.waitForPingChange()`, "MongoshInvalidInputError: [COMMON-10001] Missing required argument pings (Shard.waitForPingChange)"},
	} {
		if got, _ := c.Show(tc.call); !strings.HasPrefix(got, tc.want) {
			t.Errorf("%s: %s", tc.call, got)
		}
		if sent := c.TakeCommands(); len(sent) > 0 {
			t.Errorf("%s sent %s", tc.call, sent)
		}
	}
}

// TestStatus is the whole output of rules/04-outputs-and-traps §7.1.
func TestStatus(t *testing.T) {
	want, err := os.ReadFile("testdata/status.txt")
	if err != nil {
		t.Fatal(err)
	}
	c := shelltest.Connect(t)
	got, _ := c.Show("sh.status()")
	if got+"\n" != string(want) {
		t.Errorf("sh.status() shows\n%s", got)
	}
	if again, _ := c.Show("db.printShardingStatus()"); again != got {
		t.Errorf("db.printShardingStatus() shows\n%s", again)
	}
	for input, want := range map[string]string{
		`sh.status().balancer["Currently running"]`:                            "no",
		`sh.status().value.balancer === undefined`:                             "false",
		`JSON.stringify(Object.keys(sh.status())).length > 20`:                 "true",
		`sh.status(true).databases[0].collections["app.orders"].chunks.length`: "25",
	} {
		if got, _ := c.Show(input); got != want {
			t.Errorf("%s shows %s, want %s", input, got, want)
		}
	}
}

func TestBalancerHistory(t *testing.T) {
	c := shelltest.Connect(t)
	day := field("time", c.ScriptedServer.Now.Add(-3600e9))
	add := func(ns string, doc bson.D) {
		c.ScriptedServer.Data[ns] = append(c.ScriptedServer.Data[ns], shelltest.MustMarshal(doc))
	}
	for range 2 {
		add("config.changelog", shelltest.Doc(day, field("what", "moveChunk.from"), field("details", shelltest.Doc(field("note", "success"), field("from", "sh0"), field("to", "sh1")))))
		add("config.changelog", shelltest.Doc(day, field("what", "moveChunk.from"), field("details", shelltest.Doc(field("note", "aborted"), field("from", "sh0"), field("to", "sh1")))))
	}
	add("config.actionlog", shelltest.Doc(day, field("what", "balancer.round"), field("details", shelltest.Doc(field("errorOccurred", true), field("errmsg", "newer spelling")))))
	for input, want := range map[string]string{
		`sh.status().balancer["Migration Results for the last 24 hours"]`:   "[\n  { result: 'Success', count: 2 },\n  {\n    result: \"Failed with error 'aborted'\",\n    count: 2,\n    from: 'sh0',\n    to: 'sh1'\n  }\n]",
		`sh.status().balancer["Failed balancer rounds in last 5 attempts"]`: "1",
		`sh.status().balancer["Last reported error"]`:                       "newer spelling",
		`sh.getRecentFailedRounds().count`:                                  "1",
		`sh.getRecentMigrations().map(m => m._id + m.count).join()`:         "Success2,aborted2",
	} {
		if got, _ := c.Show(input); got != want {
			t.Errorf("%s shows %s, want %s", input, got, want)
		}
	}
	compat := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Compat = true })
	compat.ScriptedServer.Data["config.changelog"] = c.ScriptedServer.Data["config.changelog"][:1]
	if got, _ := compat.Show(`sh.status().balancer["Migration Results for the last 24 hours"]`); got != "{ '1': 'Success' }" {
		t.Errorf("with Compat: %s", got)
	}
	if got, _ := compat.Show(`sh.isBalancerRunning()`); got != "false" {
		t.Errorf("with Compat isBalancerRunning gives %s", got)
	}
}

// TestWaiting: the old waiting helpers wait on the shell's clock.
func TestWaiting(t *testing.T) {
	c := shelltest.Connect(t)
	got, _ := c.Show(`sh.awaitBalancerRound(1000, 100)`)
	if !strings.Contains(got, "no balancer round within 1s") {
		t.Error(got)
	}
	if slept := c.JS.Clock.(*shelltest.StillClock).Slept.Milliseconds(); slept != 1000 {
		t.Errorf("slept %d ms", slept)
	}
	if got, failed := c.Show(`sh.waitForBalancer(false, 1000)`); failed {
		t.Error(got)
	}
}

// TestMongosCheck: one hello for each database object, and a line when it is no
// mongos.
func TestMongosCheck(t *testing.T) {
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{"hello": ok(field("isWritablePrimary", true), field("setName", "rs0"), field("minWireVersion", int32(0)), field("maxWireVersion", int32(25)))})
	got, _ := c.Show(`sh.listShards().length; sh.listShards().length`)
	want := "Warning: MongoshWarning: [SHAPI-10003] You are not connected to a mongos. This command may not work as expected.\n2"
	if got != want {
		t.Error(got)
	}
}

// What mongosh lacks refuses a server that is not a mongos: a shard without
// sharded collections would say that all of them are balanced.
func TestWhatAsksOnlyAMongos(t *testing.T) {
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{"hello": ok(field("isWritablePrimary", true), field("setName", "rs0"), field("minWireVersion", int32(0)), field("maxWireVersion", int32(25)))})
	for _, call := range []string{
		"waitForBalance()", "balancerSummary()", "isBalancerInRound()", `drain("s0")`, "zones()", "chunkSize()", "balancerWindow()",
		`defragment("db.c")`, `mergeChunks("db.c", {a: 1}, {a: 2})`, "why()",
	} {
		got, failed := c.Show("sh." + call)
		if !failed || !strings.Contains(got, "[SHAPI-10003] sh."+strings.Split(call, "(")[0]+" requires a mongos") {
			t.Errorf("sh.%s: %s", call, got)
		}
	}
}

func TestAreYouConnectedToMongos(t *testing.T) {
	c := shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{"enableSharding": {field("ok", 0.0), field("errmsg", "no such command: 'enableSharding'"), field("code", int32(59)), field("codeName", "CommandNotFound")}})
	got, _ := c.Show(`sh.enableSharding("x")`)
	if got != "MongoServerError[CommandNotFound]: no such command: 'enableSharding'. Are you connected to mongos?" {
		t.Error(got)
	}
}
