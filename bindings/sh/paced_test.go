package sh_test

import (
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// With an option of the pace sh.drain and sh.defragment have our engine do what the
// cluster's balancer does else: by plan, with limits, a journal, and an undoing.
func TestDrainAtAPace(t *testing.T) {
	t.Chdir(t.TempDir())
	c := lopsided(t)
	shelltest.Run(t, c,
		step{`const on = s => sh.chunks("shop.orders").toArray().filter(c => c.shard == s).length`, ""},
		step{`const dry = sh.drain("a", { remove: true, dryRun: true }); [dry.possible, dry.finished, dry.removed, dry.moves, on("a"), ` +
			`dry.commands.length]`, "In the way: shard a is not empty; you must move 1 database: sh.movePrimary(\"shop\", <shard>); " +
			"movePrimaries moves it.\n[ true, false, false, 5, 5, 5 ]"},
		step{`sh.drainStatus("a").state`, "notDraining"},
		step{`const one = sh.drain("a", { maxMoves: 2 }); [one.finished, one.stopped, one.movesDone, on("a")]`,
			"[ false, 'the limit of 2 moves is reached', 2, 3 ]"},
		step{`sh.drainStatus("a").state`, "notDraining"},
		step{`sh.drain("a", { maxBytes: "130MiB", journal: null }).movesDone`, "1"},
		step{`const all = sh.drain("a", { parallel: 2, remove: true, movePrimaries: true, journal: "all" }); ` +
			`[all.finished, all.shard, all.removed, all.movesDone, on("a"), sh.listShards().length, all.journal]`,
			"Shard a is marked as draining.\nThe database shop is on c now.\nShard a is removed.\n" +
				"[\n  true,  'a', true,\n  2,     0,   2,\n  'all'\n]"},
		step{`sh.drain("a", { parallel: 1, remove: true }).removed`, "true"}, // and once more nothing happens
		step{`db.getSiblingDB("shardsh").leases.countDocuments({})`, "0"},
	)
	for input, want := range map[string]string{
		`sh.drain("b", { parallel: 1, timeout: 5 })`:         "option timeout is for the cluster's balancer; with parallel",
		`sh.drain("b", { maxMoves: 1, wait: false })`:        "option wait is for the cluster's balancer; with maxMoves",
		`sh.drain("d", { maxMoves: 1 })`:                     "There is no shard d",
		`sh.drain("b", { maxMoves: -1 })`:                    "a whole number",
		`sh.drain("b", { window: "22:00" })`:                 "is not a valid window",
		`sh.drain("b", { pauseWhen: "lagg > 1s" })`:          "expected one of",
		`sh.startBalancer(); sh.drain("b", { parallel: 1 })`: `pauseBalancing: true`,
	} {
		if text, failed := c.Show(input); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", input, text)
		}
	}
}

// A server without a defragmentation has ours.
func TestDefragmentAtAPace(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release80} {
		topology, err := mock.ParseTopology([]byte(`{"shards": [{"id": "a"}, {"id": "b"}], "collections": [{"ns": "shop.orders",
			"key": {"x": 1}, "chunks": [{"shard": "a", "max": {"x": 10}, "bytes": "1MiB", "docs": 10},
			{"shard": "a", "max": {"x": 20}, "bytes": "1MiB", "docs": 10}, {"shard": "b", "max": {"x": 30}, "bytes": "1MiB", "docs": 10},
			{"shard": "b", "max": {"x": 40}, "bytes": "1MiB", "docs": 10}, {"shard": "b", "bytes": "60MiB", "docs": 600}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		c := shelltest.ConnectMock(t, mock.Config{Topology: topology, Release: release})
		shelltest.Run(t, c,
			step{`const chunks = () => sh.chunks("shop.orders").itcount()`, ""},
			step{`sh.stopAutoMerger && db.version() >= "7" && sh.stopAutoMerger().modifiedCount; chunks()`, "5"},
			step{`const dry = sh.defragment("shop.orders", { pauseBalancing: true, dryRun: true }); [dry.possible, dry.commands.length > 0, ` +
				`chunks()]`, "[ true, true, 5 ]"}, // nothing was switched
			step{`const r = sh.defragment("shop.orders", { pauseBalancing: true, journal: null }); [r.finished, r.stepsDone > 0, chunks() < 5]`,
				"Balancing of shop.orders is paused.\nBalancing of shop.orders is on again.\n[ true, true, true ]"},
			step{`db.getSiblingDB("config").collections.findOne({ _id: "shop.orders" }).noBalance`, "false"},
		)
		for input, want := range map[string]string{
			`sh.defragment("shop.orders", { takeOver: true, chunkSize: 64 })`: "option chunkSize is for the cluster's balancer",
			`sh.defragment({ all: true, chunkSize: 64 })`:                     "option chunkSize is for the cluster's balancer; with all",
			`sh.defragment(["shop.orders", "shop.x"], { wait: true })`:        "option wait is for the cluster's balancer; with several collections",
			`sh.defragment({ wait: true })`:                                   "name the collections",
			`sh.defragment("shop.other", { takeOver: true })`:                 "Collection shop.other is not sharded",
		} {
			if text, failed := c.Show(input); !failed || !strings.Contains(text, want) {
				t.Errorf("%s: %s", input, text)
			}
		}
	}
	c := shelltest.ConnectMock(t, mock.Config{Release: catalog.Release44})
	if text, failed := c.Show(`sh.defragment("shop.orders")`); !failed || !strings.Contains(text,
		"sh.defragment needs MongoDB 5.3 or newer") || !strings.Contains(text, "pauseBalancing: true") {
		t.Error(text)
	}
}
