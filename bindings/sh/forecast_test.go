package sh_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// TestForecast: what sh.forecast returns is an object with dates, and prints as
// its text.
func TestForecast(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c, step{`sh.forecast().headline`, "balanced: nothing to do"},
		step{`sh.enableSharding("shop", "shard0").ok && sh.shardCollection("shop.orders", {customer: 1}).ok`, "1"},
		step{`sh.splitAt("shop.orders", {customer: 0}).ok && sh.addShardToZone("shard1", "EU").ok`, "1"},
		step{`sh.updateZoneKeyRange("shop.orders", {customer: 0}, {customer: MaxKey}, "EU").ok && sh.stopBalancer().ok`, "1"},
		step{`const f = sh.forecast("shop.orders"); [f.never, f.ifSwitchedOn, f.moves, f.because[0].code]`,
			"[ true, true, 1, 'balancerOff' ]"},
		step{`f.latest instanceof Date && f.latest - f.at === f.highMS && f.lowMS < f.likelyMS`, "true"},
		step{`sh.forecast(["shop.orders", db.getSiblingDB("shop").orders], {goal: "zones"}).goal.namespaces`, "[ 'shop.orders' ]"},
		step{`sh.forecast({goal: {drain: "shard0"}, timeZone: "Europe/Berlin"}).goal`, "{ kind: 'drain', shard: 'shard0' }"},
	)
	text, _ := c.Show(`sh.forecast()`)
	for _, part := range []string{"not balanced as things stand: the balancer is off", "\nBecause\n", "\nBasis\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	for call, want := range map[string]string{
		`sh.forecast("shop.order")`:                "Collection shop.order is not sharded; did you mean shop.orders?",
		`sh.forecast({goal: "rest"})`:              "Argument options.goal must be balance, { drain: shard }",
		`sh.forecast({goal: {drain: "shard8"}})`:   "There is no shard shard8",
		`sh.forecast({timeZone: "Mars"})`:          `sh.forecast: timeZone: "Mars" is not a valid time zone`,
		`sh.forecast({gaol: "zones"})`:             "sh.forecast has no option gaol",
		`sh.forecast(5)`:                           "Argument ns must be of type string or object",
		`sh.forecast([5])`:                         "Argument ns must be a list of collections",
		`sh.forecast(null, {goal: "consolidate"})`: "sh.forecast: goal consolidate has no forecast",
	} {
		if got, failed := c.Show(call); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %s", call, got)
		}
	}
}

// TestWaitsTellTheForecast: a wait shows a range that shrinks as time passes, and
// holds what the wait took. Draining, it does the same.
func TestWaitsTellTheForecast(t *testing.T) {
	for name, wait := range map[string]string{
		"balance": `sh.waitForBalance("shop.orders").waitedMS`,
		"drain":   `sh.drain("shard0", {wait: true}).waitedMS`,
	} {
		t.Run(name, func(t *testing.T) {
			c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
			shelltest.Run(t, c, step{`sh.enableSharding("shop", "shard1").ok && sh.stopBalancer().ok`, "1"},
				step{`sh.shardCollection("shop.orders", {customer: 1}).ok && sh.moveRange("shop.orders", "shard0", {customer: 0}).ok`, "1"},
				step{`mock.advance("20m"); 1`, "1"}, // the range deletion is over
				step{`for (let i = 1; i < 120; i++) sh.splitAt("shop.orders", {customer: i * 100}); 1`, "1"},
				step{`mock.fill("shop.orders", {bytes: "3GB"}).ok && mock.slow("shard0", {bandwidth: "3MB"}).ok`, "1"},
				// A history, as the forecast would be no more than a guess without.
				step{`for (let i = 0; i < 6; i++) sh.moveRange("shop.orders", "shard2", {customer: i * 700}); 1`, "1"},
				step{`sh.startBalancer().ok`, "1"},
			)
			shown, failed := c.Show(wait)
			if failed {
				t.Fatal(shown)
			}
			lines := strings.Split(shown, "\n") // the last one is the result
			ms, err := strconv.Atoi(lines[len(lines)-1])
			if err != nil || ms < 3*60_000 || len(lines) < 3 {
				t.Fatalf("%v: %s", err, shown)
			}
			ranges := regexp.MustCompile(`, (\S+) to (\S+) to go$`)
			for i, line := range lines[:2] {
				found := ranges.FindStringSubmatch(line)
				if found == nil {
					t.Fatalf("no range in %q", line)
				}
				low, errLow := time.ParseDuration(found[1])
				high, errHigh := time.ParseDuration(found[2])
				left := time.Duration(ms)*time.Millisecond - time.Duration(i+1)*time.Minute
				if errLow != nil || errHigh != nil || left < low || left > high+time.Minute {
					t.Errorf("%q, and it was %v", line, left)
				}
			}
		})
	}
}
