package sh_test

import (
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// The load is on maps that are asked for it, and a goal of forecasts and simulations.
func TestHeatInHelpers(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	if out, failed := c.Show(threeChunks); failed {
		t.Fatal(out)
	}
	// What counts says so before its result.
	for _, s := range [][2]string{
		{`sh.stopBalancer().ok && mock.fill("shop.orders", { bytes: "60MB" }).ok`, "1"},
		{`mock.workload({ ns: "shop.orders", rate: 900, keys: "hot 10% 90%", mix: { reads: 60, updates: 40 } }).ok`, "1"},
		{`"heat" in sh.map("shop.orders")`, "false"},
		{`const m = sh.map("shop.orders", { heat: "1m" }); [m.heat.cells.length, m.heat.shards.length]`, "[ 0, 2 ]"},
		{`db.getSiblingDB("shop").orders.configureQueryAnalyzer({ mode: "full", samplesPerSecond: 50 }).ok`, "1"},
		{`mock.advance("10m"); const h = sh.map("shop.orders", { heat: "1m" }).heat; h.cells.length`, "78"},
		{`Math.abs(h.shards[0] + h.shards[1] - 900) < 50`, "true"},
		{`sh.heat("shop.orders").collections[0].overTime.ranges.length`, "3"},
		{`const f = sh.forecast("shop.orders", { goal: { load: "reads" } }); [f.goal.kind, f.goal.by, f.likelyMS > 0]`,
			"[ 'load', 'reads', true ]"},
		{`const a = sh.whatIf(c => c.goal("load")).alternatives[1].plan; [a.load.before > a.load.after, a.goal.kind]`,
			"[ true, 'load' ]"},
	} {
		if got, failed := c.Show(s[0]); failed || !strings.HasSuffix(got, s[1]) {
			t.Errorf("%s\n shows %s", s[0], got)
		}
	}
	for input, want := range map[string]string{
		`sh.heat({ sample: 0.5, log: ["none.log"] })`: "log and sample exclude each other",
		`sh.heat({ sample: -1 })`:                     "options.sample must be a number",
		`sh.heat({ sample: Infinity })`:               "sample is up to",
		`sh.forecast({ goal: { load: "bytes" } })`:    "Argument options.goal must be",
		`sh.plan({ goal: "load" })`:                   "can't be planned ahead",
		`sh.whatIf(c => c.goal("balance"))`:           "is simulated by default",
		`sh.map("shop.orders", { heat: "soon" })`:     "options.heat",
	} {
		if got, failed := c.Show(input); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %s", input, got)
		}
	}
}
