package sh_test

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/bindings/shelltest"
)

// A presplit is a goal of plans: where to cut, and what is wrong with what was asked.
func TestPresplitPlan(t *testing.T) {
	c := shop(t)
	shelltest.Run(t, c,
		step{`sh.stopBalancer(); sh.shardCollection("app.events", { h: "hashed" }, false, { numInitialChunks: 1 }).ok`, "1"},
		step{`const p = sh.plan("app.events", { goal: { presplit: { perShard: 4 } } }); p.goal.kind`, "presplit"},
		step{`sh.apply(p, { journal: null }).finished`, "true"},
		step{`const per = {}; sh.chunks("app.events").forEach(x => per[x.shard] = (per[x.shard] || 0) + 1); ` +
			`Object.values(per).every(n => n == 4) && Object.keys(per).length == sh.listShards().length`, "true"},
		step{`sh.plan("app.events", { goal: { presplit: { perShard: 4 } } }).steps.length`, "0"},
		step{`sh.shardCollection("app.orders", { at: 1 }).ok`, "1"},
		step{`sh.apply(sh.plan("app.orders", { goal: { presplit: { points: [{ at: 10 }, { at: 20 }] } } }), ` +
			`{ journal: null }).finished`, "true"},
		step{`sh.chunks("app.orders").toArray().map(x => x.min.at).slice(1)`, "[ 10, 20 ]"},
		step{`for (let i = 0; i < 400; i++) db.getSiblingDB("app").logs.insertOne({ n: i }); ` +
			`db.getSiblingDB("app").logs.createIndex({ n: 1 }); sh.shardCollection("app.logs", { n: 1 }).ok`, "1"},
		step{`sh.apply(sh.plan("app.logs", { goal: { presplit: { fromSample: 6 } } }), { journal: null }).finished`, "true"},
		step{`const n = sh.chunks("app.logs").toArray().map(x => ` +
			`db.getSiblingDB("app").logs.find({ n: { $gte: x.min.n, $lt: x.max.n } }).count()); ` +
			`[n.length, n.reduce((a, b) => a + b) , Math.min(...n) >= 20]`, "[ 6, 400, true ]"},
	)
	for input, want := range map[string]string{
		`sh.plan("app.events", { goal: { presplit: {} } })`:                         "give one of",
		`sh.plan("app.events", { goal: { presplit: { chunk: 4 } } })`:               "has no option chunk",
		`sh.plan("app.events", { goal: { presplit: { chunks: -4 } } })`:             "a whole number",
		`sh.plan({ goal: { presplit: { chunks: 4 } } })`:                            "for one collection",
		`sh.plan("app.orders", { goal: { presplit: { chunks: 4 } } })`:              "does not begin with a hash",
		`sh.plan("app.evens", { goal: { presplit: { chunks: 4 } } })`:               "is not sharded; did you mean app.events?",
		`sh.plan("app.orders", { goal: { presplit: { points: [{ other: 1 }] } } })`: "other",
	} {
		if text, failed := c.Show(input); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", input, text)
		}
	}
}

// A presplit of chunks that stay beside each other is undone by the auto-merger within
// hours: the plan says so, and what it says keeps them.
func TestPresplitWarnsOfTheAutoMerger(t *testing.T) {
	c := shop(t)
	const run = "Balancing of app.events is paused.\nBalancing of app.events is on again.\ntrue"
	const events = `sh.chunks("app.events").toArray().length`
	shelltest.Run(t, c,
		step{`sh.shardCollection("app.events", { h: "hashed" }).ok`, "1"},
		step{`const goal = { presplit: { perShard: 4 } }; const shards = sh.listShards().length`, ""},
		step{`sh.plan("app.events", { goal }).note.includes("disableAutoMerger(\"app.events\")")`, "true"},
		step{`sh.presplit("app.events", { perShard: 4, pauseBalancing: true, journal: null }).finished`, "The auto-merger runs every hour and will merge 9 of the new chunks with a " +
			"neighbour on the same shard; to prevent this: sh.disableAutoMerger(\"app.events\").\n" + run},
		step{events + ` == 4 * shards`, "true"},
		step{`mock.advance("3h"); ` + events + ` == shards`, "true"},
		step{`sh.disableAutoMerger("app.events"); sh.plan("app.events", { goal }).note === undefined`, "true"},
		step{`sh.presplit("app.events", { perShard: 4, pauseBalancing: true, journal: null }).finished`, run},
		step{`mock.advance("3h"); ` + events + ` == 4 * shards`, "true"},
	)
}

// A layout is taken from a file, or from another cluster. Moves that fail on the way are gone
// on with by the next call; what is done stays.
func TestPresplitLikeAnother(t *testing.T) {
	t.Chdir(t.TempDir())
	other := snaptest.SnapshotOf(3, snaptest.NewCollection(t, "app.orders", 3, 9, func(i int) (int, int64) { return i % 3, 1 << 20 }))
	if err := snapfile.Save("other.snap", other); err != nil {
		t.Fatal(err)
	}
	c := shop(t)
	const homes = `sh.chunks("app.orders").toArray().map(x => x.shard).join()`
	shelltest.Run(t, c,
		step{`sh.stopBalancer(); sh.shardCollection("app.orders", { x: 1 }).ok`, "1"},
		step{`sh.plan("app.orders", { goal: { presplit: { like: "other.snap" } } }).steps.length`, "7"},
		step{`mock.failNext("moveRange", { after: 2, times: 10, code: 91 }).ok`, "1"},
	)
	if text, failed := c.Show(`sh.presplit("app.orders", { like: "other.snap", journal: null })`); !failed ||
		!strings.Contains(text, "stopped after 10 failures in a row") {
		t.Fatal(text)
	}
	shelltest.Run(t, c,
		step{`sh.chunks("app.orders").toArray().length`, "9"},
		step{homes + ` == "shard0,shard1,shard2,shard0,shard1,shard2,shard0,shard1,shard2"`, "false"},
		step{`sh.presplit("app.orders", { like: "other.snap", journal: null }).finished`, "true"},
		step{homes, "shard0,shard1,shard2,shard0,shard1,shard2,shard0,shard1,shard2"},
		step{`sh.presplit("app.orders", { like: "other.snap", journal: null }).moves`, "0"},
		step{`sh.presplit("app.orders", { like: db, journal: null }).moves`, "0"},
	)
	for input, want := range map[string]string{
		`sh.presplit("app.orders", { like: 7 })`:                       "name of a file",
		`sh.presplit("app.orders", { like: "mongodb://h" })`:           "connect(",
		`sh.presplit("app.orders", { like: "missing.snap" })`:          "missing.snap",
		`sh.presplit("shop.orders", { like: "other.snap" })`:           "has no sharded collection shop.orders",
		`sh.presplit("app.orders", { like: "other.snap", chunks: 3 })`: "give one of",
	} {
		if text, failed := c.Show(input); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", input, text)
		}
	}
}
