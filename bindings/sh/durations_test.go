package sh_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings/shelltest"
)

// lasting are the names of options and arguments that are how long something lasts.
var lasting = []string{"timeout", "interval", "maxTime", "for", "pauseBetween", "coolDown", "waitForLease", "opsInterval",
	"settlePause"}

// namedLike matches what may be one that the list lacks.
var namedLike = regexp.MustCompile(`(?i)time|interval|delay|pause|wait|cooldown|^for$|millis|seconds|ms$`)

// notLasting are named alike and are something else: flags, a day's window, conditions.
var notLasting = []string{"wait", "keepWaiting", "window", "pauseWhen", "pauseBalancing", "_waitForDelete", "waitForDelete", "maxTimeMS", "timeZone"}

// firstArguments are what a helper wants before its options, where that is not a
// namespace.
var firstArguments = map[string][]string{
	"apply": {`sh.plan("shop.orders")`}, "drain": {`"shard1"`}, "waitForDrain": {`"shard1"`}, "removeShard": {`"shard1"`},
	"startBalancer": {}, "stopBalancer": {}, "waitForBalancerOff": {}, "awaitBalancerRound": {}, "waitForBalancer": {`true`}, "waitForPingChange": {`[]`}, "reshardCollection": {`"shop.orders"`, `{ customer: 1 }`},
}

// before returns n arguments of a helper.
func before(helper string, n int) string {
	given, ok := firstArguments[helper]
	if !ok {
		given = []string{`"shop.orders"`}
	}
	text := ""
	for i := range n {
		argument := "undefined"
		if i < len(given) {
			argument = given[i]
		}
		text += argument + ", "
	}
	return text
}

// Every helper of sh that takes a time takes a number of milliseconds and a text such
// as "1h30m", and says of anything else which argument is wrong.
func TestHelpersTakeTimes(t *testing.T) {
	known := regexp.MustCompile(`\(options: ([^)]*)\)`)
	found := 0
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	c.Show(`sh.shardCollection("shop.orders", { customer: 1 })`)
	refused := func(call, name string) {
		t.Helper()
		for _, bad := range []string{`"soon"`, `"-1s"`, `-5`, `NaN`, `true`, `{}`} {
			got, failed := c.Show(strings.ReplaceAll(call, "TIME", bad))
			if !failed || !strings.Contains(got, "rgument") || !strings.Contains(got, name) {
				t.Errorf("%s with %s shows %s", call, bad, got)
			}
		}
	}
	for _, name := range helperNames(t) {
		of := c.JS.Runtime.GlobalObject().Get("sh").ToObject(c.JS.Runtime).Get(name)
		h, _ := c.JS.Help.Lookup(of.ToObject(c.JS.Runtime))
		for i, parameter := range parameters(h) {
			before := before(name, i)
			if slices.Contains(lasting, strings.TrimSuffix(parameter, "?")) {
				found++
				refused(fmt.Sprintf("sh.%s(%sTIME)", name, before), parameter)
			}
			if parameter != "options" {
				continue
			}
			got, _ := c.Show(fmt.Sprintf("sh.%s(%s{ bogus: 1 })", name, before))
			options := known.FindStringSubmatch(got)
			if options == nil {
				continue // those of a command, which has numbers in its own units
			}
			for option := range strings.SplitSeq(options[1], ", ") {
				switch {
				case slices.Contains(lasting, option):
					found++
					refused(fmt.Sprintf("sh.%s(%s{ %s: TIME })", name, before, option), "options."+option)
				case namedLike.MatchString(option) && !slices.Contains(notLasting, option):
					t.Errorf("is the option %s of sh.%s how long something lasts?", option, name)
				}
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d times were found", found)
	}
}

// A text is as good as its number.
func TestTimesAsTexts(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c,
		step{`const t0 = new Date(); sleep("1h30m"); Math.round((new Date() - t0) / 1000)`, "5400"},
		step{`const t1 = new Date(); sleep("1500"); const t2 = new Date(); sleep(1500); [t2 - t1, new Date() - t2].map(x => Math.round(x / 100))`, "[ 15, 15 ]"},
		step{`sleep("soon")`, `MongoshInvalidInputError: [COMMON-10001] Argument time must be a number of milliseconds, or a time such as "90s" or "1h30m", got "soon" instead (sleep)`},
		step{`const t3 = new Date(); mock.advance("1d12h") - t3 >= 129600000`, "true"},
		step{`sh.stopBalancer("30s", "1s").ok + sh.startBalancer("1m").ok`, "2"},
		step{`sh.waitForBalancerOff("1m", "100ms")`, ""},
		step{`assert.soon(() => true, "never", "1m", "1s")`, ""},
		step{`assert.soon(() => true, "never", "soon")`, `MongoshInvalidInputError: [COMMON-10001] Argument timeout must be a number of milliseconds, or a time such as "90s" or "1h30m", got "soon" instead (assert.soon)`},
		step{`sh.waitForBalance({ timeout: "2h", interval: "10s", progress: false }).waitedMS >= 0`, "true"},
		step{`db.c.find().maxTimeMS("1m").toArray().length`, "0"},
	)
	old := shelltest.ConnectMock(t, mock.Config{Release: catalog.Release24})
	shelltest.Run(t, old, step{`sh.stopBalancer("30s", "1s").ok`, "1"})
}
