package sh_test

import (
	"strings"
	"testing"

	"shardsh/bindings/shelltest"
)

func TestBalance(t *testing.T) {
	c := lopsided(t)
	shelltest.Run(t, c,
		step{`const on = s => sh.chunks("shop.orders").toArray().filter(c => c.shard == s).length`, ""},
		// A dry run is a plan, and changes nothing.
		step{`const dry = sh.balance("shop.orders", { dryRun: true, maxMoves: 1 }); [dry.goal.kind, dry.steps.length, on("a")]`,
			"[ 'balance', 1, 5 ]"},
		step{`const one = sh.balance("shop.orders", { maxMoves: 1 }); [one.reached, one.stopped, one.moves, on("a")]`,
			"[ false, 'the limit of 1 move is reached', 1, 4 ]"},
		step{`const all = sh.balance(["shop.*"], { goal: "chunks", seed: 3 }); [all.reached, all.namespaces, all.left.length]`,
			"[ true, [ 'shop.orders' ], 0 ]"},
		step{`[on("a"), on("b"), on("c")].sort()`, "[ 1, 2, 2 ]"},
		step{`db.getSiblingDB("shardsh").leases.countDocuments({})`, "0"},
		step{`sh.balance("shop.orders")`, "Balanced; 0 moves, 0 B in 0s."},
		// What it is taken over from has it again.
		step{`sh.balancerWindow("02:00", "02:01"); sh.startBalancer(); sh.balance("shop.orders", { takeOver: true }).reached`,
			"Balancing of shop.orders is on again.\ntrue"},
		step{`db.getSiblingDB("config").collections.findOne({ _id: "shop.orders" }).noBalance`, "false"},
		// Errors can be caught.
		step{`try { sh.balance("shop.orders") } catch (e) { e.message.match(/sh\.\w+\("shop.orders"\)/)[0] }`,
			`sh.disableBalancing("shop.orders")`},
	)
	for input, want := range map[string]string{
		`sh.balance("shop.nope")`:                           "Collection shop.nope is not sharded",
		`sh.balance("shop.orders", { goal: "best" })`:       "one of size, chunks, ops",
		`sh.balance("shop.orders", { gaol: "size" })`:       "has no option gaol",
		`sh.balance("shop.orders", { giveBack: true })`:     "{giveBack} is for all that a run left: it takes no collections",
		`sh.balance("shop.orders", { maxMoves: -1 })`:       "a whole number",
		`sh.balance("shop.orders", { order: "fastest" })`:   "one of chosen, largest, smallest, hottest",
		`sh.balance("shop.orders", { takeOver: "please" })`: "of type boolean",
	} {
		if text, failed := c.Show(input); !failed || !strings.Contains(text, want) {
			t.Errorf("%s: %s", input, text)
		}
	}
}
