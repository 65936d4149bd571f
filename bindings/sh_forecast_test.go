package bindings

import (
	"strings"
	"testing"

	"shardsh/balancer/mock"
)

// TestForecast: what sh.forecast returns is an object with dates, and prints as
// its text.
func TestForecast(t *testing.T) {
	c := onMock(t, mock.Config{Seed: 7})
	run(t, c, step{`sh.forecast().headline`, "balanced: nothing is left to do"},
		step{`sh.enableSharding("shop", "shard0").ok && sh.shardCollection("shop.orders", {customer: 1}).ok`, "1"},
		step{`sh.splitAt("shop.orders", {customer: 0}).ok && sh.addShardToZone("shard1", "EU").ok`, "1"},
		step{`sh.updateZoneKeyRange("shop.orders", {customer: 0}, {customer: MaxKey}, "EU").ok && sh.stopBalancer().ok`, "1"},
		step{`const f = sh.forecast("shop.orders"); [f.never, f.ifSwitchedOn, f.moves, f.because[0].code]`,
			"[ true, true, 1, 'balancerOff' ]"},
		step{`f.latest instanceof Date && f.latest - f.at === f.highMS && f.lowMS < f.likelyMS`, "true"},
		step{`sh.forecast(["shop.orders", db.getSiblingDB("shop").orders], {goal: "zones"}).goal.namespaces`, "[ 'shop.orders' ]"},
		step{`sh.forecast({goal: {drain: "shard0"}, timeZone: "Europe/Berlin"}).goal`, "{ kind: 'drain', shard: 'shard0' }"},
	)
	text, _ := c.show(`sh.forecast()`)
	for _, part := range []string{"not balanced as things stand: the balancer is off", "\nBecause\n", "\nBasis\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	for call, want := range map[string]string{
		`sh.forecast("shop.order")`:                "Collection shop.order is not sharded; did you mean shop.orders?",
		`sh.forecast({goal: "rest"})`:              "Argument options.goal must be balance, { drain: shard }",
		`sh.forecast({goal: {drain: "shard8"}})`:   "There is no shard shard8",
		`sh.forecast({timeZone: "Mars"})`:          "Argument options.timeZone must be a name such as",
		`sh.forecast({gaol: "zones"})`:             "sh.forecast has no option gaol",
		`sh.forecast(5)`:                           "Argument ns must be of type string or object",
		`sh.forecast([5])`:                         "Argument ns must be a list of collections",
		`sh.forecast(null, {goal: "consolidate"})`: `there is none for the goal "consolidate"`,
	} {
		if got, failed := c.show(call); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %s", call, got)
		}
	}
}
