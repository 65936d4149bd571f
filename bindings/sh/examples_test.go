package sh_test

import (
	"regexp"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestEveryExampleRuns: sh.help() shows each helper under a topic, and its own help
// has an example, which runs on the mock.
func TestEveryExampleRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	t.Chdir(t.TempDir())
	errors := map[string]string{
		"commitReshardCollection": "NoSuchReshardCollection", "abortReshardCollection": "NoSuchReshardCollection",
		"abortMoveCollection": "NamespaceNotFound", "abortUnshardCollection": "NoSuchReshardCollection",
	}
	listed, _ := shelltest.ConnectMock(t, mock.Config{}).Show("sh.help()")
	for _, name := range helperNames(t) {
		h, ok := helperOf(t, name)
		if !ok || h.Text == "" {
			continue
		}
		if !regexp.MustCompile(`\b` + name + `\b`).MatchString(listed) {
			t.Errorf("sh.help() lacks %s", name)
		}
		if !strings.Contains(h.Example, "sh."+name+"(") {
			t.Errorf("the help of sh.%s has no example of it: %q", name, h.Example)
			continue
		}
		c := forExample(t, name)
		got, failed := c.Show(h.Example)
		if want := errors[name]; failed != (want != "") || want != "" && !strings.Contains(got, want) || strings.Contains(got, "Warning: no") {
			t.Errorf("%s shows %s", h.Example, got)
		}
	}
	if strings.Index(listed, "Is it balanced?") > strings.Index(listed, "  Zones ") || !strings.Contains(listed, "  Zones ") {
		t.Errorf("sh.help() has no topics: %s", listed)
	}
	if lines := strings.Count(listed, "\n") + 1; lines > 40 {
		t.Errorf("sh.help() does not fit a screen: %d lines", lines)
	}
	if zones, _ := shelltest.ConnectMock(t, mock.Config{}).Show(`sh.help("zones")`); !strings.Contains(zones, "\n  addShardToZone\n    Adds") {
		t.Errorf("sh.help(\"zones\") shows %s", zones)
	}
}

// forExample is a shell in which the example of a helper can run.
func forExample(t *testing.T, name string) *connected {
	t.Helper()
	c := shelltest.ConnectMock(t, exampleCluster(name))
	prepareExample(t, c, name)
	return c
}

// exampleCluster is one of a release that has the helper.
func exampleCluster(name string) mock.Config {
	cfg := mock.Config{Seed: 7}
	switch name {
	case "stopDrain", "shardDrainingStatus", "getTransitionToDedicatedConfigServerStatus":
		cfg.Release = catalog.Release83
	case "enableAutoSplit", "disableAutoSplit":
		cfg.Release = catalog.Release50
	}
	return cfg
}

// prepareExample makes what the example of a helper is about.
func prepareExample(t *testing.T, c *connected, name string) {
	t.Helper()
	shelltest.Run(t, c,
		step{`sh.enableSharding("shop", "shard0").ok && sh.shardCollection("shop.orders", {customer: 1}).ok`, "1"},
		step{`db.getSiblingDB("shop").orders.insertMany(Array.from({length: 200}, (_, i) => ({customer: i, order: i}))).acknowledged`, "true"},
		step{`db.getSiblingDB("shop").orders.createIndex({order: 1})`, "order_1"},
		step{`db.getSiblingDB("shop").prices.insertOne({}).acknowledged`, "true"},
	)
	if text, failed := c.Show(beforeExamples()[name]); failed {
		t.Errorf("before %s: %s", name, text)
	}
}

// beforeExamples has what has to be so before the example of a helper can run.
func beforeExamples() map[string]string {
	return map[string]string{
		"waitForDrain": `sh.drain("shard2")`, "stopDrain": `sh.drain("shard2")`, "shardDrainingStatus": `sh.drain("shard2")`,
		"removeShardFromZone": `sh.addShardToZone("shard1", "EU")`, "removeShardTag": `sh.addShardToZone("shard1", "EU")`,
		"updateZoneKeyRange": `sh.addShardToZone("shard1", "EU")`, "addTagRange": `sh.addShardToZone("shard1", "EU")`,
		"removeRangeFromZone": zoned, "removeTagRange": zoned,
		"shardAndDistributeCollection": `db.getSiblingDB("shop").visits.createIndex({_id: "hashed"});
			db.getSiblingDB("shop").visits.insertMany(Array.from({length: 2000}, (_, i) => ({_id: i})))`, // for 90 chunks
		"refineCollectionShardKey": `db.getSiblingDB("shop").orders.createIndex({customer: 1, order: 1})`,
		"waitForBalancer":          `sh.stopBalancer()`,
		"getTransitionToDedicatedConfigServerStatus": "db.adminCommand({transitionFromDedicatedConfigServer: 1}); " +
			"db.adminCommand({startTransitionToDedicatedConfigServer: 1})",
		"undo": `sh.stopBalancer(); sh.apply(sh.plan("shop.orders", { goal: { drain: "shard0" } }), { journal: "orders.journal" })`,
	}
}

const zoned = `sh.addShardToZone("shard1", "EU"); sh.updateZoneKeyRange("shop.orders", {customer: 0}, {customer: 100}, "EU")`
