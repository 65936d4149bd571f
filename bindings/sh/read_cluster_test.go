package sh_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/bindings/shelltest"
)

// what matches the name of a command and what it is about.
var what = regexp.MustCompile(`^(\w+) \{"(\w+)":(?:"([^"]+)"|1,"pipeline":\[\{"(\$\w+)")?`)

// TestHelpersReadNoMore: each helper asks for what it shows, so that a user needs
// no right beyond that, and nothing that grows with the number of chunks but the
// first of them.
func TestHelpersReadNoMore(t *testing.T) {
	c := shelltest.Connect(t)
	for _, tc := range []struct{ call, want string }{
		{`sh.zones()`, "find shards, find tags"},
		{`sh.zones("app.orders")`, "find shards, find tags"},
		{`sh.drainStatus("sh1")`, "buildInfo, find shards"},
		{`sh.defragmentStatus("app.orders")`, "balancerCollectionStatus app.orders, buildInfo"},
		{`sh.getRecentFailedRounds()`, "find actionlog"},
		{`sh.getRecentMigrations()`, "aggregate changelog, aggregate changelog"},
		{`sh.getActiveMigrations()`, "$currentOp, find locks, find migrations"},
		{`try { sh.waitForBalance("app.users") } catch (e) {}`, "balancerCollectionStatus app.users, balancerStatus, buildInfo, find changelog, find collections"},
		{`sh.balancerSummary()`, "$currentOp, $shardedDataDistribution, aggregate changelog, aggregate changelog, aggregate chunks, " +
			"balancerCollectionStatus app.orders, balancerCollectionStatus app.users, balancerStatus, buildInfo, " +
			"find actionlog, find changelog, find collections, find databases, find reshardingOperations, find settings, find shards, find tags"},
		{`sh.status()`, "$currentOp, $shardedDataDistribution, aggregate changelog, aggregate changelog, " +
			"aggregate chunks, aggregate leases, balancerStatus, find actionlog, find actionlog, find changelog, " +
			"find chunks, find chunks, " +
			"find collections, find databases, find locks, find migrations, find mongos, find mongos, " +
			"find settings, find shards, find tags, find version"},
	} {
		c.Renew(t)
		if out, failed := c.Show(tc.call); failed {
			t.Fatal(out)
		}
		var got []string
		for _, command := range c.TakeCommands() {
			m := what.FindStringSubmatch(command)
			switch {
			case m == nil:
				t.Fatal(command)
			case m[2] == "hello":
				continue // is it a mongos
			case m[4] != "":
				got = append(got, m[4])
			case m[3] != "":
				got = append(got, m[2]+" "+m[3])
			default:
				got = append(got, m[2])
			}
		}
		slices.Sort(got)
		if text := strings.Join(got, ", "); text != tc.want {
			t.Errorf("%s reads\n%s\nwant\n%s", tc.call, text, tc.want)
		}
	}
}

// TestStatusOfABalancerThatDoesNotAnswer: the rest of the status still comes.
func TestStatusOfABalancerThatDoesNotAnswer(t *testing.T) {
	refused := shelltest.Doc(field("ok", 0.0), field("errmsg", "not now"), field("code", int32(13)),
		field("codeName", "Unauthorized"))
	c := shelltest.Connect(t, onTerminal)
	c.SetAnswers(map[string]bson.D{"balancerStatus": refused, "balancerCollectionStatus": refused})
	if got, _ := c.Show(`sh.status().balancer["Currently running"]`); got != "unknown" {
		t.Errorf("running: %s", got)
	}
	got, failed := c.Show("sh.status()")
	for _, row := range []string{
		"  mode          unknown: (Unauthorized) not now", "  balanced      unknown: (Unauthorized) not now",
	} {
		if failed || !strings.Contains(words(got), words(row)) {
			t.Errorf("no line %q in\n%s", row, got)
		}
	}
}
