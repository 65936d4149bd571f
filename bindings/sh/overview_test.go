package sh_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/wire"
	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

func atPrompt(cfg *bindings.Config) { cfg.Interactive, cfg.Terminal = true, true }

// many makes collections shop.c00 and so on, all balanced but the last one.
func many(t *testing.T, n int) *connected {
	t.Helper()
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7}, atPrompt)
	out, failed := c.Show(fmt.Sprintf(`sh.stopBalancer(); sh.enableSharding("shop", "shard0");
for (let i = 0; i < %[1]d; i++) sh.shardCollection("shop.c" + String(i).padStart(2, "0"), { k: 1 });
sh.splitAt("shop.c%02[2]d", { k: 0 }); mock.fill("shop.c%02[2]d", { bytes: "9GB" }); 0`, n, n-1))
	if failed {
		t.Fatal(out)
	}
	return c
}

// However many collections are balanced, the one that is not comes first.
func TestTheBadCollectionIsNeverHidden(t *testing.T) {
	c := many(t, 31)
	for _, tc := range []struct {
		input         string
		before, after string // the bad one
		absent        string
	}{
		{"sh.balancerSummary()", "Collections\n  collection  balanced", "and 30 collections balanced: 30 chunks", "shop.c00"},
		{"sh.status()", "shop.c30\n", "And 30 collections balanced: 30 chunks", "shop.c00"},
	} {
		got, failed := c.Show(tc.input)
		bad := regexp.MustCompile(`shop\.c30(\s+NO|\n\s+shard key.*\n\s+balanced\s+NO), chunksImbalance`).FindStringIndex(got)
		before, after := strings.Index(got, tc.before), strings.Index(got, tc.after)
		if failed || bad == nil || before < 0 || before > bad[0] || after < bad[1] || strings.Contains(got, tc.absent) {
			t.Errorf("%s shows\n%s", tc.input, got)
		}
	}
	shelltest.Run(t, c, step{"sh.balancerSummary().collections.length", "31"})
}

// Of more collections than the server is asked about the rules judge whether they are
// balanced: the summary comes to what it does of few, without the server's word of each.
func TestSummaryOfManyCollections(t *testing.T) {
	const n = live.MaxStatusCollections + 5
	c := many(t, n)
	shelltest.Run(t, c, step{`const s = sh.balancerSummary();
		[s.collections.length, s.collections.filter(c => c.balanced === true).length,
		 s.collections.filter(c => c.balanced !== true).map(c => c.ns).join()].join(" ")`, fmt.Sprintf("%d %d shop.c%d", n, n-1, n-1)})
	if got, failed := c.Show("sh.balancerSummary()"); failed || !strings.Contains(got, fmt.Sprintf("shop.c%d", n-1)) ||
		!strings.Contains(got, fmt.Sprintf("and %d collections balanced", n-1)) {
		t.Errorf("the summary shows\n%s", got)
	}
}

// As long as all fit a screen, all have a row; and more than a screen of bad ones
// have all of theirs.
func TestCollectionsOfASummary(t *testing.T) {
	if got, _ := many(t, 5).Show("sh.balancerSummary()"); !strings.Contains(got, "shop.c00") || strings.Contains(got, "and 4") {
		t.Errorf("a few collections:\n%s", got)
	}
	c := shelltest.Connect(t, onTerminal)
	for i := range 25 {
		c.ScriptedServer.Data["config.collections"] = append(c.ScriptedServer.Data["config.collections"],
			shelltest.MustMarshal(shelltest.Doc(field("_id", fmt.Sprintf("app.more%d", i)), field("key", shelltest.Doc(field("k", int32(1)))),
				field("uuid", bson.Binary{Subtype: 4, Data: []byte(fmt.Sprintf("%016d", i))}), field("timestamp", bson.Timestamp{T: 5}))))
	}
	for input, shown := range map[string]string{
		"sh.balancerSummary()": `(?m)^  app\.more\d+ +NO`, "sh.status()": `(?m)^(  app\.more\d+ +NO|app\.more\d+$)`,
	} {
		got, failed := c.Show(input)
		if n := len(regexp.MustCompile(shown).FindAllString(got, -1)); failed || n != 25 {
			t.Errorf("%s shows %d of 25\n%s", input, n, got)
		}
	}
}

// Of many databases those that have sharded collections are shown.
func TestManyDatabases(t *testing.T) {
	c := shelltest.Connect(t, onTerminal)
	var others []bson.Raw
	for i := range 30 {
		others = append(others, shelltest.MustMarshal(shelltest.Doc(field("_id", fmt.Sprintf("aa%02d", i)), field("primary", "sh1"))))
	}
	c.ScriptedServer.Data["config.databases"] = append(others, c.ScriptedServer.Data["config.databases"]...)
	got, failed := c.Show("sh.status()")
	if n := strings.Count(got, ", no sharded collections"); failed || n != 19 ||
		!strings.Contains(got, "app           primary sh0, 2 sharded collections") || !strings.Contains(got, "… and 12 more: show dbs") {
		t.Errorf("%d others in\n%s", n, got)
	}
}

// Shards are sorted by what they have, and how even they are stands below.
func TestShardsByData(t *testing.T) {
	c := shelltest.Connect(t, onTerminal)
	for input, want := range map[string]string{
		"sh.balancerSummary()": "sh0 2.86 MiB +20% 16 1\n sh1 1.9 MiB -20% 11 0\n 2 shards, from 1.9 MiB to 2.86 MiB, 2.38 MiB on average",
		"show shards":          "2 shards, from 1.9 MiB to 2.86 MiB, 2.38 MiB on average",
		"sh.status()":          "2 shards, from 1.9 MiB to 2.86 MiB, 2.38 MiB on average",
	} {
		got, failed := c.Show(input)
		if failed || !strings.Contains(words(got), strings.ReplaceAll(want, "\n ", "\n")) {
			t.Errorf("%s shows\n%s", input, got)
		}
	}
	shelltest.Run(t, c, step{"sh.balancerSummary().shards.map(s => [s.shard, s.bytes, s.chunks].join(' '))", "[ 'sh0 2999000 16', 'sh1 2000000 11' ]"})
}

// reshardingSeen is a fixture on which a moveCollection is under way.
type reshardingSeen struct{ *shelltest.ScriptedServer }

func newReshardingSeen() reshardingSeen {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	data := shelltest.FixtureData(now)
	data["config.reshardingOperations"] = []bson.Raw{shelltest.MustMarshal(shelltest.Doc(field("_id", "x"), field("ns", "app.small"),
		field("state", "cloning"), field("startTime", now.Add(-time.Hour)), field("provenance", "moveCollection")))}
	return reshardingSeen{&shelltest.ScriptedServer{Data: data, CursorRest: map[int64][]bson.Raw{}, Now: now}}
}

func (r reshardingSeen) Handle(ctx context.Context, q wire.Request) bson.Raw {
	if q.Command != "aggregate" || !strings.Contains(q.Body.String(), "$currentOp") {
		return r.ScriptedServer.Handle(ctx, q)
	}
	return shelltest.MustMarshal(ok(field("cursor", shelltest.Doc(field("id", int64(0)), field("ns", "admin.$cmd.aggregate"),
		field("firstBatch", []bson.D{shelltest.Doc(
			field("desc", "ReshardingMetricsRecipientService"), field("ns", "app.small"), field("recipientState", "cloning"),
			field("bytesCopied", int64(1<<30)), field("approxBytesToCopy", int64(4<<30)),
			field("remainingOperationTimeEstimatedSecs", int64(90)), field("provenance", "moveCollection"),
		)})))))
}

// What changes a whole collection can be seen by all, as far as it is; mongosh's
// layout stays as it is.
func TestReshardingIsSeen(t *testing.T) {
	watched := func(alter ...func(*bindings.Config)) *connected {
		return shelltest.Connect(t, append(alter, func(cfg *bindings.Config) { cfg.Client = shelltest.Dial(t, newReshardingSeen()) })...)
	}
	want := words("in progress moveCollection of app.small: cloning, 1 GiB of about 4 GiB copied, 1m30s to go, for 1h")
	for _, input := range []string{"sh.status()", "sh.balancerSummary()", "show migrations", "show balancer"} {
		got, failed := watched(onTerminal).Show(input)
		got = strings.Join(strings.Fields(got), " ")
		if failed || !strings.Contains(got, strings.TrimSpace(want)) {
			t.Errorf("%s shows %s", input, got)
		}
	}
	shelltest.Run(t, watched(), step{"sh.balancerSummary().reshardings", `[
  {
    ns: 'app.small',
    command: 'moveCollection',
    phase: 'cloning',
    since: ISODate('2026-11-20T11:00:00.000Z'),
    copiedBytes: 1073741824,
    totalBytes: 4294967296,
    remainingMS: 90000
  }
]`}, step{"Object.keys(sh.status())", `[
  'shardingVersion',
  'shards',
  'active mongoses',
  'autosplit',
  'balancer',
  'shardedDataDistribution',
  'databases'
]`})
}

// show migrations has the newest first, with what they moved or why they did not.
func TestLastMigrations(t *testing.T) {
	prepare := `sh.stopBalancer(); sh.enableSharding("shop", "shard0"); sh.shardCollection("shop.orders", { k: 1 });
sh.splitAt("shop.orders", { k: 0 }); sh.splitAt("shop.orders", { k: 10 });
db.getSiblingDB("shop").orders.insertOne({ k: 5, pad: "x".repeat(100000) });
sh.moveChunk("shop.orders", { k: 5 }, "shard1");
db.getSiblingDB("config").changelog.insertOne({ time: new Date(), what: "moveChunk.from", ns: "shop.orders",
  details: { min: { k: 10 }, max: { k: MaxKey() }, from: "shard0", to: "shard1", "step 1 of 6": 2000, note: "aborted", errmsg: "no room" } }); 0`
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7}, atPrompt)
	if out, failed := c.Show(prepare); failed {
		t.Fatal(out)
	}
	got, failed := c.Show("show migrations")
	order := regexp.MustCompile(`(?s)moving now +nothing.*10 to MaxKey +shard0 +shard1 +2s +no room.*` +
		`0 to 10 +shard0 +shard1 +97\.\d+ KiB .*Migrations of the last 24 hours`)
	if failed || !order.MatchString(got) {
		t.Errorf("show migrations shows\n%s", got)
	}
	c = shelltest.ConnectMock(t, mock.Config{Seed: 7})
	if out, failed := c.Show(prepare); failed {
		t.Fatal(out)
	}
	got, failed = c.Show("show migrations")
	order = regexp.MustCompile(`(?s)active: \[\],\s+reshardings: \[\],\s+last: \[.*min: \{ k: 10 \}.*tookMS: 2000,\s+error: 'no room'.*` +
		`min: \{ k: 0 \},\s+max: \{ k: 10 \},.*bytes: 100\d\d\d\s.*'last 24 hours'`)
	if failed || !order.MatchString(got) {
		t.Errorf("in a script show migrations shows\n%s", got)
	}
}
