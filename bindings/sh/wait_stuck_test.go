package sh_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// stuckCluster has a collection on three shards, of which one drains; words change it.
func stuckCluster(t *testing.T, release catalog.Release, change []string, sets ...func(*bindings.Config)) *connected {
	t.Helper()
	text := strings.NewReplacer(change...).Replace(`{
		"shards": [{"id": "a", "zones": ["A"]}, {"id": "b", "zones": ["B"]}, {"id": "c", "zones": ["C"], "draining": true}],
		"databases": [{"name": "shop", "primary": "a"}],
		"collections": [{"ns": "shop.orders", "key": {"k": 1}, "zones": [], "chunks": [
			{"shard": "a", "max": {"k": 100}, "bytes": "100MiB", "docs": 1000},
			{"shard": "b", "max": {"k": 200}, "bytes": "100MiB", "docs": 1000},
			{"shard": "c", "max": {"k": 300}, "bytes": "100MiB", "docs": 1000, "jumbo": false},
			{"shard": "c", "bytes": "100MiB", "docs": 1000}]}]}`)
	topology, err := mock.ParseTopology([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return shelltest.ConnectMock(t, mock.Config{Topology: topology, Release: release, Seed: 3}, sets...)
}

// What waits for something that can't come ends soon, and says what has to be done: what is
// stuck, by the server's rules, is in the second column.
func TestWaitsEndWhenStuck(t *testing.T) {
	const drains = `sh.waitForDrain("c")`
	stopped := []string{`"databases"`, `"settings": {"balancer": {"stopped": true}}, "databases"`}
	onlyOfZone := []string{`"zones": []`, `"zones": [{"zone": "C", "min": {"k": 200}, "max": {"k": {"$maxKey": 1}}}]`}
	nobody := []string{`"zones": ["A"]`, `"draining": true`, `"zones": ["B"]`, `"draining": true`}
	for _, tt := range []struct {
		name    string
		change  []string
		setup   string
		call    string
		want    []string
		release catalog.Release
	}{
		{"a jumbo chunk", []string{`"jumbo": false`, `"jumbo": true`}, "", drains,
			[]string{"move 1 jumbo chunk by force", "forceJumbo", "200", "300"}, catalog.Release82.WithPatch(6)},
		{"a jumbo chunk of an old release", []string{`"jumbo": false`, `"jumbo": true`}, "", drains,
			[]string{"move 1 jumbo chunk by force", "forceJumbo", "200", "300"}, catalog.Release50},
		{"a database", []string{`"primary": "a"`, `"primary": "c"`}, "", drains,
			[]string{"move 1 database", `sh.movePrimary("shop"`}, catalog.Release80},
		{"the balancer is off", stopped, "", drains, []string{"sh.startBalancer()"}, catalog.Release80},
		{"the balancer is off later", nil, "", `setTimeout(() => sh.stopBalancer(), 2); ` + drains,
			[]string{"sh.startBalancer()"}, catalog.Release80},
		{"no recipient", nobody, "", drains, []string{"sh.addShard"}, catalog.Release80},
		{"the only shard of a zone", onlyOfZone, "", drains, []string{`"C"`, "sh.addShardToZone"}, catalog.Release80},
		{"balancing is off", nil, `sh.disableBalancing("shop.orders")`, drains,
			[]string{`sh.enableBalancing("shop.orders")`}, catalog.Release80},
		{"to be removed, of a zone", onlyOfZone, "", `sh.drain("c", { remove: true, movePrimaries: true })`,
			[]string{"sh.addShardToZone"}, catalog.Release80},
		{"balance without the balancer", stopped, "", `sh.waitForBalance()`, []string{"sh.startBalancer()"}, catalog.Release80},
		{"defragmentation without the balancer", stopped, "", `sh.defragment("shop.orders", { wait: true })`,
			[]string{"sh.startBalancer()"}, catalog.Release80},
		{"a round without the balancer", stopped, "", `sh.waitForBalancer(true)`, []string{"sh.startBalancer()"}, catalog.Release80},
		{"an old wait for balance", stopped, "", `sh.awaitCollectionBalance("shop.orders", "1h")`,
			[]string{"sh.startBalancer()"}, catalog.Release80},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := stuckCluster(t, tt.release, tt.change)
			if tt.setup != "" {
				if text, failed := c.Show(tt.setup); failed {
					t.Fatal(text)
				}
			}
			began := c.JS.Clock.Now()
			text, failed := c.Show(tt.call)
			if !failed || !strings.Contains(text, "StuckError: ") {
				t.Fatalf("shows %s", text)
			}
			for _, want := range tt.want {
				if !strings.Contains(text, want) {
					t.Errorf("%q does not name %s", text, want)
				}
			}
			// The chunks that can move take two rounds and the deletion of what was moved.
			if took := c.JS.Clock.Now().Sub(began); took > 30*time.Minute {
				t.Errorf("took %s", took)
			}
		})
	}
}

// With keepWaiting a wait goes on, and says once what has to be done.
func TestKeepWaiting(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	c := stuckCluster(t, catalog.Release80, []string{`"primary": "a"`, `"primary": "c"`})
	text, _ := c.Show(`sh.waitForDrain("c", { keepWaiting: true, progress: false, timeout: "3h" })`)
	const last = "MongoshRuntimeError: after 3h: shard c is draining, 0 chunks left, databases to move: shop"
	if !strings.HasSuffix(text, last) || strings.Count(text, "Waiting all the same: shard c is stuck draining") != 1 {
		t.Error(text)
	}
	c = stuckCluster(t, catalog.Release80, []string{`"primary": "a"`, `"primary": "c"`})
	text, _ = c.Show(fmt.Sprintf("setTimeout(() => sh.movePrimary('shop', 'a'), %d); "+
		`sh.waitForDrain("c", { keepWaiting: true, progress: false, timeout: "3h" }).drained`, time.Hour.Milliseconds()))
	if !strings.HasSuffix(text, "true") {
		t.Error(text)
	}
}

// What looks at a cluster names the drain that is stuck, with all that is to be moved.
func TestStatusNamesAStuckDrain(t *testing.T) {
	change := []string{`"primary": "a"`, `"primary": "c"`, `"jumbo": false`, `"jumbo": true`}
	for call, sets := range map[string]func(*bindings.Config){
		`sh.balancerSummary().problems.join()`: func(*bindings.Config) {}, `sh.status()`: atPrompt, `sh.balancerSummary()`: atPrompt,
	} {
		text, _ := stuckCluster(t, catalog.Release80, change, sets).Show(call)
		text = strings.Join(strings.Fields(text), " ")
		if !strings.Contains(text, "shard c is draining; you must move 1 jumbo chunk by force, move 1 database") {
			t.Errorf("%s shows %s", call, text)
		}
	}
}
