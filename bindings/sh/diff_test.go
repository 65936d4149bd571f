package sh_test

import (
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// What a script has changed since a snapshot, and nothing else.
func TestDiff(t *testing.T) {
	t.Parallel()
	c := shelltest.ConnectMock(t, mock.Config{Seed: 1})
	shelltest.Run(t, c,
		step{`sh.stopBalancer(); sh.shardCollection("shop.orders", {x: 1}).ok`, "1"},
		step{`const before = sh.snapshot(); sh.diff(before).changes.length`, "0"},
		step{`sh.splitAt("shop.orders", {x: 5}); sh.moveRange("shop.orders", "shard2", {x: 5}); sh.addShardToZone("shard1", "EU"); 1`, "1"},
		step{`sh.diff(before).changes.map(c => c.kind).join()`, "zone-shard-added,chunks-moved,chunks-split"},
		step{`sh.diff(before, null, {ignore: ["chunks-moved", "chunks-split"]}).changes.map(c => c.text).join()`,
			"shard1 is in the zone EU"},
		step{`sh.diff(before, sh.snapshot(), {ns: "other.*"}).changes.map(c => c.kind).join()`, "zone-shard-added"},
		step{`sh.diff(sh.snapshot(), before).changes.map(c => c.kind).join()`, "zone-shard-removed,chunks-moved,chunks-merged"},
		step{`Object.keys(before).includes("shardsh.snapshot")`, "false"},
	)
	for call, want := range map[string]string{
		`sh.diff({})`: "sh.snapshot()", `sh.diff(before, null, {ignore: "moved"})`: `no kind of change "moved"`,
		`sh.diff("no.snap")`: "no.snap", `sh.diff(before, null, {long: 1})`: "no option long",
	} {
		if got, failed := c.Show(call); !failed || !strings.Contains(got, want) {
			t.Errorf("%s shows %s", call, got)
		}
	}
	if got, _ := c.Show("sh.diff(before)"); !strings.Contains(got, "\n  shard1 is in the zone EU\n") {
		t.Errorf("it shows %s", got)
	}
}
