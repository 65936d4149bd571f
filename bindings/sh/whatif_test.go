package sh_test

import (
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestWhatIf: changes are called as methods, stand side by side with what is, and
// change nothing.
func TestWhatIf(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c, step{`sh.enableSharding("shop", "shard0").ok && sh.shardCollection("shop.orders", {customer: 1}).ok`, "1"},
		step{`for (const at of [0, 100, 200, 300, 400]) sh.splitAt("shop.orders", {customer: at})`, "{ ok: 1 }"},
		step{`sh.stopBalancer().ok && mock.fill("shop.orders", {bytes: "3GiB"}).ok`, "1"},
		step{`const o = sh.whatIf(c => { c.addShard(3).zone("shard1", "EU"); c.chunkSize(db.getSiblingDB("shop").orders, 256) },
			{moved: c => c.zone("shard1", "EU").zone("shop.orders", {customer: 0}, {customer: MaxKey}, "EU").balancer(true)})`, ""},
		step{`o.alternatives[0].name + o.alternatives[0].mode`, "as it isoff"},
		step{`o.alternatives[1].changes`,
			"[ 'addShard 3', 'zone shard1 EU', 'chunkSize shop.orders 256' ]"},
		step{`o.alternatives[1].plan.shards.map(s => s.shard)`,
			"[ 'shard0', 'shard1', 'shard2', 'shard3', 'shard4', 'shard5' ]"},
		step{`o.alternatives[2].name + o.alternatives[2].mode`, "movedfull"},
		step{`o.alternatives[2].plan.shards.find(s => s.shard == "shard1").after.bytes > 2e9`, "true"},
		step{`o.alternatives[2].links.every(l => l.to == "shard1" || l.bytes > 0)`, "true"},
		step{`o.text(true).split("\n").every(l => l.length <= 80)`, "true"},
		step{`sh.getBalancerState() + " " + sh.listShards().length`, "false 3"},
	)
	text, _ := c.Show(`print(o)`)
	for _, part := range []string{"  A  addShard 3; zone shard1 EU; chunkSize shop.orders 256\n", "  B  moved: zone shard1 EU",
		"assumed on", "\nData over links\n", "\nBlocked: as it is\n  the balancer is off (balancerOff)\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	for call, want := range map[string]string{
		`sh.whatIf()`:                             "Missing required argument changes",
		`sh.whatIf(5)`:                            "Argument changes must be of type function or object, got number",
		`sh.whatIf({a: 5})`:                       "Argument changes.a must be a function such as c => c.addShard(), got 5",
		`sh.whatIf(c => c.drane("shard1"))`:       `unknown change "drane"`,
		`sh.whatIf(c => c.drian("shard1"))`:       "did you mean drain?",
		`sh.whatIf(c => c.drain("shrad1"))`:       `drain shrad1: the cluster has no shard "shrad1"; did you mean shard1?`,
		`sh.whatIf(c => c.drop("shop.order"))`:    "shop.order is not a sharded collection of this cluster; did you mean shop.orders?",
		`sh.whatIf(c => c.drain(null))`:           "c.drain: invalid argument null: drain SHARD",
		`sh.whatIf(c => c.chunkSize("a.b"))`:      "usage: chunkSize MB | chunkSize NS MB",
		`sh.whatIf(c => c, {sed: 7})`:             "sh.whatIf has no option sed (options: model, seed, timeZone); did you mean seed?",
		`sh.whatIf(c => c, {model: "round"})`:     `sh.whatIf: model: "round" is not a valid model of chunk contents: use even, measured or skewed`,
		`sh.whatIf(c => { throw Error("mine") })`: "mine",
		`sh.whatIf(c => c.removeShard("shard0"))`: "drain shard0 first",
		`sh.whatIf(c => c.zone("shop.orders", {customer: 0}, {customer: 1}, "DE"))`: "zone SHARD DE",
	} {
		if got, failed := c.Show(call); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %s", call, got)
		}
	}
}
