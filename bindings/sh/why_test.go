package sh_test

import (
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestWhy: what sh.why returns is the answer as an object, and prints as its text.
func TestWhy(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c, step{`sh.why()`, "nothing is wrong."},
		step{`sh.enableSharding("shop", "shard0").ok && sh.shardCollection("shop.orders", {customer: 1}).ok`, "1"},
		step{`sh.splitAt("shop.orders", {customer: 0}).ok && sh.addShardToZone("shard1", "EU").ok`, "1"},
		step{`sh.updateZoneKeyRange("shop.orders", {customer: 0}, {customer: MaxKey}, "EU").ok && sh.stopBalancer().ok`, "1"},
		step{`const w = sh.why(); [w.healthy, w.symptoms[0].code, w.causes[0].code, w.causes[0].commands[0]]`,
			"[ false, 'notBalanced', 'balancerOff', 'sh.startBalancer()' ]"},
		step{`sh.why("shop.orders").headline`, "shop.orders is not balanced (zoneViolation): the balancer is off"},
		step{`sh.why(db.getSiblingDB("shop").orders).about`, "{ ns: 'shop.orders' }"},
		step{`sh.why({shard: "shard0"}).about`, "{ shard: 'shard0' }"},
		step{`sh.why({zone: "EU"}).about`, "{ zone: 'EU' }"},
		step{`sh.explain("shop.orders", {customer: 5}).verdicts.map(v => [v.shard, v.can])`,
			"[ [ 'shard0', false ], [ 'shard1', true ], [ 'shard2', false ] ]"},
		step{`sh.explain("shop.orders", {customer: 5}).zone`, "EU"},
	)
	text, _ := c.Show(`sh.why()`)
	for _, part := range []string{"  warning   the balancer is off (balancerOff)\n            sh.startBalancer()\n",
		"\nThen by itself\n  - shop.orders is not balanced"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	whole, _ := c.Show(`print(sh.why().text(true))`)
	for _, part := range []string{"\nWrong\n  info ", "(notBalanced)", "\nBecause\n  warning   the balancer is off (balancerOff)", "operator: sh.startBalancer()"} {
		if !strings.Contains(whole, part) {
			t.Errorf("no %q in\n%s", part, whole)
		}
	}
	if printed, _ := c.Show(`print(sh.why())`); !strings.HasPrefix(printed, "shop.orders is not balanced") {
		t.Errorf("print shows %s", printed)
	}
}

// TestWhyArguments: each wrong one is named, and a name that was meant is asked for.
func TestWhyArguments(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c, step{`sh.enableSharding("shop").ok && sh.shardCollection("shop.orders", {customer: 1}).ok`, "1"},
		step{`sh.shardCollection("shop.hashed", {customer: "hashed"}).ok`, "1"})
	for call, want := range map[string]string{
		`sh.why(5)`:                                 "Argument ns must be of type string or object, got number instead",
		`sh.why({})`:                                "Argument ns must be a collection, { shard }, { zone }, { timeZone } or { advisories }, got {} instead",
		`sh.why("")`:                                `Argument ns must be a collection such as "shop.orders"`,
		`sh.why({shard: "a", zone: "b"})`:           "sh.why: ns, shard and zone exclude each other",
		`sh.why({shrad: "a"})`:                      "sh.why has no option shrad (options: shard, zone, timeZone, advisories); did you mean shard?",
		`sh.why({shard: 5})`:                        "Argument options.shard must be of type string",
		`sh.why({shard: "shard8"})`:                 "There is no shard shard8",
		`sh.why({zone: "EU"})`:                      "There is no zone EU",
		`sh.why("shop.order")`:                      "Collection shop.order is not sharded; did you mean shop.orders?",
		`sh.why("shop.orders", 5)`:                  "Argument key must be of type object, got number instead",
		`sh.why(null, {customer: 5})`:               "sh.why: key needs ns: it is the key of a chunk of a collection",
		`sh.why("shop.orders", {order: 5})`:         "sh.why: key: not a full shard key",
		`sh.why("shop.orders", {customer: MaxKey})`: "sh.why: key: no chunk contains",
	} {
		if got, failed := c.Show(call); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %s", call, got)
		}
	}
	// A document's field is hashed, the bound of a chunk is one already.
	shelltest.Run(t, c, step{`const chunk = sh.chunks("shop.hashed").toArray()[1]; EJSON.stringify(sh.why("shop.hashed", chunk.min).chunk.min) ===
		EJSON.stringify([chunk.min.customer])`, "true"},
		step{`const asked = Number(convertShardKeyToHashed("joe")); const last = sh.chunks("shop.hashed").toArray().pop()`, ""},
		step{`asked > Number(last.min.customer) && sh.why("shop.hashed", {customer: "joe"}).chunk.shard === last.shard`, "true"},
		step{`EJSON.stringify(sh.why("shop.hashed", {customer: "joe"}).chunk.min) === EJSON.stringify([last.min.customer])`, "true"})
}
