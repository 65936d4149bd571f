package sh_test

import (
	"os"
	"strings"
	"testing"

	"github.com/olekukonko/tablewriter/pkg/twwidth"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/bindings"
	"shardsh/bindings/display"
	"shardsh/bindings/shelltest"
)

// words is a text with one blank wherever it has some.
func words(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return "\n" + strings.Join(lines, "\n") + "\n"
}

func onTerminal(cfg *bindings.Config) { cfg.Terminal = true }

// TestStatusTables: on a terminal sh.status() is tables; everywhere else, and
// when it is asked for, mongosh's layout.
func TestStatusTables(t *testing.T) {
	want, err := os.ReadFile("testdata/status.txt")
	if err != nil {
		t.Fatal(err)
	}
	layout := strings.TrimSuffix(string(want), "\n")
	c := shelltest.Connect(t, onTerminal)
	for _, input := range []string{`sh.status({full: true})`, `print(sh.status())`} {
		if got, _ := c.Show(input); got != layout {
			t.Errorf("%s shows\n%s", input, got)
		}
	}
	script := shelltest.Connect(t, onTerminal, func(cfg *bindings.Config) { cfg.Interactive = false })
	if got, _ := script.Show("sh.status()"); got != layout {
		t.Errorf("--eval on a terminal shows\n%s", got)
	}
	got, _ := c.Show("sh.status()")
	for _, row := range []string{
		"  mode          full, no round running (77 rounds so far)",
		"  window        23:00 to 6:00 (config primary's local time)",
		"  failed rounds 0 of the last 5",
		"  last 24 hours no migrations",
		"  sh0       2.86 MiB      16         EU     sh0/h0:27018,h1:27018",
		"  test          primary sh1, no sharded collections",
		"  app           primary sh0, 2 sharded collections",
		"app.orders",
		`  shard key     { "k" : 1 }`,
		"  balanced      NO, chunksImbalance",
		"  zones         EU (1 range on sh0)",
		"  sh0        15      1  2.86 MiB      29990        10",
		`  shard key     { "h" : "hashed" }, unique`,
		"  balanced      NO, chunksImbalance; balancing is disabled",
	} {
		if !strings.Contains(words(got), words(row)) {
			t.Errorf("no line %q in\n%s", row, got)
		}
	}
}

// TestTablesOfTheOthers: each fits 80 columns and says what it is for.
func TestTablesOfTheOthers(t *testing.T) {
	c := shelltest.Connect(t, onTerminal)
	for input, row := range map[string]string{
		"sh.status()":                         "shard  sharded data",
		"sh.zones()":                          "  EU    sh0     app.orders  0     500",
		"sh.balancerSummary()":                "  app.orders  NO, chunksImbalance                        4.76 MiB      25      1",
		"db.orders.getShardDistribution()":    "  sh0    2.86 MiB  59.99      29990       10",
		"show shards":                         "  sh1        1.9 MiB      11                sh1/h2:27018",
		"show zones":                          "  EU    sh0     app.orders  0     500",
		"show chunks":                         "  app.orders  sh0        15      1",
		"show chunks app.orders":              `  … and 5 more: sh.chunks("app.orders")`,
		"show balancer":                       "  window        23:00 to 6:00",
		"show migrations":                     "  moving now    nothing",
		`sh.chunks("app.orders", {limit: 1})`: "shard: 'sh0'",
		`sh.zones().length`:                   "1",
	} {
		got, failed := c.Show(input)
		if failed || !strings.Contains(words(got), strings.Trim(words(row), "\n")) {
			t.Errorf("%s: no %q in\n%s", input, row, got)
		}
		for line := range strings.Lines(got) {
			if w := twwidth.Width(strings.TrimSuffix(line, "\n")); w > display.DefaultWidth {
				t.Errorf("%s: %d columns: %s", input, w, line)
			}
		}
	}
}

// TestStatusReadsLittle: one group for the chunks of all collections, one find for those of
// collections with few, and of the others no more chunks than it takes to know that there are
// more.
func TestStatusReadsLittle(t *testing.T) {
	c := shelltest.Connect(t)
	_, _ = c.Show("sh.status()")
	groups, together := 0, 0
	for _, text := range c.TakeCommands() {
		if strings.HasPrefix(text, `config {"aggregate":"chunks"`) {
			groups++
		}
		switch {
		case !strings.HasPrefix(text, `config {"find":"chunks"`), strings.HasSuffix(text, `"limit":21}`):
		case strings.Contains(text, `{"uuid":{"$in":[{`):
			together++
		default:
			t.Error(text)
		}
	}
	if together != 1 {
		t.Errorf("%d finds for collections with few chunks", together)
	}
	if groups != 1 {
		t.Errorf("%d aggregates on the chunks", groups)
	}
}

// TestShowZonesByRange: in the order of the ranges, not of the zones' names, which are shown as they are.
func TestShowZonesByRange(t *testing.T) {
	c := shelltest.Connect(t)
	c.ScriptedServer.Data["config.tags"] = append(c.ScriptedServer.Data["config.tags"],
		shelltest.MustMarshal(shelltest.Doc(field("ns", "app.orders"), field("tag", "A  B"), field("min", shelltest.Doc(field("k", int32(500)))), field("max", shelltest.Doc(field("k", int32(900)))))))
	shelltest.Run(t, c, step{"show zones", `{
  'app.orders': [
    { zone: 'EU', min: { k: 0 }, max: { k: 500 } },
    { zone: 'A  B', min: { k: 500 }, max: { k: 900 } }
  ]
}`})
}

func TestStatusAsJSON(t *testing.T) {
	c := shelltest.Connect(t)
	r, err := c.Eval(t.Context(), "eval", "sh.status()")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err = c.WriteJSON(t.Context(), &out, r, bindings.JSONStyle{})
	if text := out.String(); err != nil || !strings.HasPrefix(text, "{\n  \"shardingVersion\": {") || strings.Contains(text, "StatsResult") {
		t.Error(text, err)
	}
}

// TestOldStatusText is the layout of rules/04-outputs-and-traps §7.4, for the fixture.
func TestOldStatusText(t *testing.T) {
	const want = `--- Sharding Status --- 
  sharding version: {
  	"_id" : 1,
  	"clusterId" : ObjectId("65a000000000000000000001")
  }
  shards:
        {  "_id" : "sh0",  "host" : "sh0/h0:27018,h1:27018",  "state" : 1,  "topologyTime" : Timestamp(1700000000, 2),  "replSetConfigVersion" : NumberLong(-1),  "tags" : [ "EU" ] }
        {  "_id" : "sh1",  "host" : "sh1/h2:27018",  "state" : 1,  "topologyTime" : Timestamp(1700000001, 2),  "replSetConfigVersion" : NumberLong(-1) }
  active mongoses:
        "8.0.4" : 2
  autosplit:
        Currently enabled: yes
  balancer:
        Currently enabled:  yes
        Currently running:  no
        Balancer active window is set between 23:00 and 6:00 server local time
        Failed balancer rounds in last 5 attempts:  0
        Migration Results for the last 24 hours: 
                No recent migrations
  databases:
        {  "_id" : "app",  "primary" : "sh0",  "version" : { "uuid" : UUID("11111111-2222-3333-4444-555555555555"), "timestamp" : Timestamp(1700000000, 1), "lastMod" : 1 } }
                app.orders
                        shard key: { "k" : 1 }
                        unique: false
                        balancing: true
                        chunks:
                                sh0	15
                                sh1	10
                        too many chunks to print, use verbose if you want to force print
                         tag: EU  { "k" : 0 } -->> { "k" : 500 }
                app.users
                        shard key: { "h" : "hashed" }
                        unique: true
                        balancing: false
                        chunks:
                                sh0	1
                                sh1	1
                        { "h" : { "$minKey" : 1 } } -->> { "h" : NumberLong(0) } on : sh0 Timestamp(1, 0) 
                        { "h" : NumberLong(0) } -->> { "h" : { "$maxKey" : 1 } } on : sh1 Timestamp(1, 1) 
        {  "_id" : "config",  "primary" : "config",  "partitioned" : true }
        {  "_id" : "test",  "primary" : "sh1",  "version" : { "uuid" : UUID("21111111-2222-3333-4444-555555555555"), "timestamp" : Timestamp(1700000000, 2), "lastMod" : 1 } }`
	c := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Compat = true })
	for _, input := range []string{"db.printShardingStatus()", "printShardingStatus()"} {
		if got, _ := c.Show(input); got != want {
			t.Errorf("%s shows\n%s", input, got)
		}
	}
	got, _ := c.Show("db.printShardingStatus(true)")
	if chunk := "                        { \"k\" : 300 } -->> { \"k\" : 400 } on : sh0 Timestamp(4, 0) jumbo \n"; !strings.Contains(got, chunk) {
		t.Errorf("no jumbo chunk in\n%s", got)
	}
	if plain, _ := shelltest.Connect(t).Show("printShardingStatus()"); !strings.HasPrefix(plain, "shardingVersion\n") {
		t.Errorf("without Compat: %s", plain)
	}
}

// TestActiveMigrations: a migration counts once, whichever of its operations
// tell of it, and the donor's says where it goes.
func TestActiveMigrations(t *testing.T) {
	c := watching(t, map[string][]bson.D{"aggregate": {ok(field("cursor", shelltest.Doc(field("id", int64(0)), field("ns", "admin.$cmd.aggregate"), field("firstBatch", []bson.D{
		shelltest.Doc(field("desc", "migrateThread"), field("ns", "app.orders"), field("secs_running", int64(5))),
		shelltest.Doc(field("desc", "MoveChunk"), field("ns", "app.orders"), field("secs_running", int64(60)),
			field("command", shelltest.Doc(field("_shardsvrMoveRange", "app.orders"), field("fromShard", "sh0"), field("toShard", "sh1")))),
	}))))}})
	shelltest.Run(t, c,
		step{`sh.getActiveMigrations().map(m => m._id + " " + m.when.toISOString())`, "[ 'app.orders 2026-11-20T11:59:00.000Z' ]"},
	)
	// Servers up to 4.4 list them on the config server.
	c = shelltest.Connect(t)
	c.SetAnswers(map[string]bson.D{"buildInfo": ok(field("version", "4.4.29"), field("bits", int32(64)))})
	c.ScriptedServer.Data["config.migrations"] = []bson.Raw{shelltest.MustMarshal(shelltest.Doc(field("_id", "app.users-h_0"), field("ns", "app.users"), field("fromShard", "sh1"), field("toShard", "sh0")))}
	shelltest.Run(t, c,
		step{`sh.getActiveMigrations()`, "[ { _id: 'app.users', when: null } ]"},
		step{`sh.balancerSummary().activeMigrations`, "[ { ns: 'app.users', from: 'sh1', to: 'sh0', since: null } ]"},
		step{`sh.status().balancer["Collections with active migrations"]`, "[ 'app.users' ]"},
	)
}

func TestBalancerSummary(t *testing.T) {
	c := shelltest.Connect(t)
	c.ScriptedServer.Data["config.tags"] = append(c.ScriptedServer.Data["config.tags"],
		shelltest.MustMarshal(shelltest.Doc(field("ns", "app.users"), field("tag", "MOON"), field("min", shelltest.Doc(field("h", int64(0)))), field("max", shelltest.Doc(field("h", int64(9)))))))
	shelltest.Run(t, c,
		step{"sh.balancerSummary().collections", `[
  {
    ns: 'app.orders',
    balanced: false,
    violation: 'chunksImbalance',
    chunks: 25,
    jumboChunks: 1
  },
  {
    ns: 'app.users',
    balanced: false,
    violation: 'chunksImbalance',
    leftAlone: 'balancing is disabled',
    chunks: 2,
    jumboChunks: 0
  }
]`},
		step{"var b = sh.balancerSummary(); [b.balanced, b.mode, b.inBalancerRound, b.drainingShards.length]", "[ false, 'full', false, 0 ]"},
		step{"b.window", "{ start: '23:00', stop: '6:00', clock: \"config primary's local time\" }"},
		step{"b.problems.join('\\n')", `app.orders has 1 jumbo chunk, which the balancer does not move: sh.chunks("app.orders", { jumbo: true })
app.users is not balanced (chunksImbalance), but balancing is disabled for it
zone MOON has ranges but no shard: their chunks do not move`},
	)
}

// TestSummaryTellsOfFailedMigrations: why a drain stands still. What is long ago
// does not count.
func TestSummaryTellsOfFailedMigrations(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c,
		step{`function ended(minutes, note) {
  db.getSiblingDB('config').changelog.insertOne({ time: new Date(Date.now() - minutes * 60000), what: 'moveChunk.from', ns: 'shop.orders',
    details: { note, from: 'shard1', to: 'shard0' } })
}
ended(1, 'aborted'), ended(2, 'aborted'), ended(1, 'success'), ended(11, 'aborted')
sh.balancerSummary().problems`, "[\n  'migrations from shard1 to shard0 failed in the last 10 minutes: aborted, 2 times'\n]"},
	)
}

// TestChunksIsLazy: a cursor that asks for a batch at a time.
func TestChunksIsLazy(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c,
		step{"sh.enableSharding('shop', 'shard0').ok && sh.shardCollection('shop.orders', {k: 1, j: 1}).ok", "1"},
		step{"for (let k = 0; k < 250; k += 10) sh.splitAt('shop.orders', {k, j: 0})", "{ ok: 1 }"},
		step{"sh.moveChunk('shop.orders', {k: 15, j: 1}, 'shard1').ok", "1"},
		step{"sh.addShardToZone('shard1', 'EU').ok && sh.updateZoneKeyRange('shop.orders', {k: 15}, {k: 30}, 'EU').ok", "1"},
		step{"const cur = sh.chunks('shop.orders', {limit: 25}).batchSize(2); cur.next().min.k.constructor.name", "MinKey"},
		step{"[cur.objsLeftInBatch(), cur.toArray().length]", "[ 1, 24 ]"},
		step{"sh.chunks('shop.orders', {shard: 'shard1'}).map(c => c.min.k).toArray()", "[ 10 ]"},
		step{"sh.chunks('shop.orders', {zone: 'EU'}).map(c => c.min.k).toArray()", "[ 10, 20 ]"},
		step{"[sh.chunks('shop.orders', {jumbo: true}).itcount(), sh.chunks(db.getSiblingDB('shop').orders, {jumbo: false}).itcount()]", "[ 0, 26 ]"},
		step{"sh.status().databases.find(d => d.database._id == 'shop').collections['shop.orders'].chunks.length", "21"},
		step{"sh.zones('shop.orders')[0].ranges.length + sh.zones().length", "2"},
	)
}

// TestRunningAsACondition: the line is named, once for each place; what only
// looks like it is left alone (rules/04-objects §5.3).
func TestRunningAsACondition(t *testing.T) {
	const warning = "sh.isBalancerRunning() returns a document, which is always true; use sh.isBalancerInRound()"
	for program, want := range map[string]string{
		"1\ndo { break } while (sh.isBalancerRunning())":                    "Warning: repl:2: " + warning,
		"if (false && sh.isBalancerRunning()) 1":                            "Warning: repl:1: " + warning,
		"if (!sh.isBalancerRunning( )) 1":                                   "Warning: repl:1: " + warning,
		"if (sh.isBalancerRunning() && false) 1":                            "Warning: repl:1: " + warning,
		"// while (sh.isBalancerRunning())\nif (!sh.isBalancerRunning()) 1": "Warning: repl:2: " + warning,
		"// while (sh.isBalancerRunning())\nvar a":                          "",
		"while (sh.isBalancerRunning().inBalancerRound) {}":                 "",
		"var status = sh.isBalancerRunning()":                               "",
		"while (sh.isBalancerInRound()) {}":                                 "",
	} {
		if got, _ := shelltest.Connect(t).Show(program); got != want && strings.TrimSuffix(got, "\n1") != want {
			t.Errorf("%q shows %q, want %q", program, got, want)
		}
	}
	if got, _ := shelltest.Connect(t, func(cfg *bindings.Config) { cfg.Compat = true }).Show("while (sh.isBalancerRunning()) {}"); got != "" {
		t.Errorf("with Compat: %q", got)
	}
}
