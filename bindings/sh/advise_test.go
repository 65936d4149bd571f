package sh_test

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

// ordersToJudge are 300 orders, most of them of one customer.
const ordersToJudge = `db.getSiblingDB("app").orders.insertMany(Array.from({length: 300}, (_, i) => ` +
	`({customer: i % 2 ? i * 7 % 300 : 0, order: String(i * 7919 % 1000) + i, tags: [i, 2]}))); ` +
	`db.getSiblingDB("app").orders.createIndex({customer: 1, order: 1})`

func TestAdviseKey(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c, step{ordersToJudge, "customer_1_order_1"},
		step{`const a = sh.adviseKey(db.getSiblingDB("app").orders); [a.best.key, a.best.grade, a.best.from, a.best.toAll]`,
			"[ { customer: 1, order: 1 }, 'good', 'analyzeShardKey', 0.2 ]"},
		step{`a.commands`, "[ 'sh.shardCollection(\"app.orders\", {customer: 1, order: 1})' ]"},
		step{`sh.adviseKey("app.orders", {tags: 1}).candidates[0].grade`, "impossible"},
		step{`sh.adviseKey("app.orders", null, {queries: [{filter: {_id: 1}}]}).best.key`, "{ _id: 'hashed' }"},
		step{`sh.adviseKey("app.orders", null, {analyze: false, sampleDocs: 100}).best.looked`, "100"},
		step{`sh.adviseKey("app.orders", {customer: 1}).notes.some(n => n.includes("order: 1} would be better"))`,
			"true"},
	)
	text, _ := c.Show(`sh.adviseKey("app.orders")`)
	for _, part := range []string{"shard app.orders by {customer: 1, order: 1}, which is good.\n", "\nKeys\n",
		"\nEnter\n  sh.shardCollection"} {
		if !strings.Contains(text, part) {
			t.Errorf("no %q in\n%s", part, text)
		}
	}
	for call, want := range map[string]string{
		`sh.adviseKey()`:                                "Missing required argument ns",
		`sh.adviseKey("app.order")`:                     "did you mean app.orders?",
		`sh.adviseKey("app.orders", {expect: "5GB"})`:   "Argument keys must be a shard key such as",
		`sh.adviseKey("app.orders", [5])`:               "Argument keys must be a shard key such as",
		`sh.adviseKey("app.orders", {customer: -1})`:    "Argument keys must be a shard key such as",
		`sh.adviseKey("app.orders", null, {expext: 1})`: "did you mean expect?",
		`sh.adviseKey("app.orders", null, {queries: [{customer: 1}]})`: "Argument options.queries must be an array of { " +
			"filter, weight }",
		`sh.adviseKey("app.orders", null, {expect: "much"})`: "Argument options.expect must be a size such as 10GB",
	} {
		if got, failed := c.Show(call); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %s", call, got)
		}
	}
}

// TestAdviceWithoutMeasuring: where commands are guarded analyzeShardKey is not sent, and
// that is told; releases without it are judged by the sample, too.
func TestAdviceWithoutMeasuring(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7}, func(cfg *bindings.Config) {
		cfg.Guard = func(string, bson.Raw) (bson.Raw, error) { return nil, nil }
	})
	shelltest.Run(t, c, step{ordersToJudge, "customer_1_order_1"},
		step{`sh.adviseKey("app.orders").best.from`, "sample"},
		step{`sh.adviseKey("app.orders").notes.some(n => n.startsWith("analyzeShardKey was not run"))`, "true"})
	old := shelltest.ConnectMock(t, mock.Config{Seed: 7, Release: catalog.Release50})
	shelltest.Run(t, old, step{ordersToJudge, "customer_1_order_1"},
		step{`const a = sh.adviseKey("app.orders"); [a.best.key, a.best.from]`, "[ { customer: 1, order: 1 }, 'sample' ]"})
}

// TestAdviceIsFollowed: what advice says to enter can be entered, and is what it says.
func TestAdviceIsFollowed(t *testing.T) {
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c, step{ordersToJudge, "customer_1_order_1"},
		step{`sh.addShardToZone("shard1", "low").ok`, "1"},
		step{`sh.updateZoneKeyRange("app.orders", {customer: 1}, {customer: 100}, "low").ok`,
			"Warning: app.orders is not sharded: the range applies once it is\n1"},
		step{`sh.adviseKey("app.orders").commands.length`, "3"},
		step{`sh.adviseKey("app.orders").commands.every(c => eval(c).ok)`,
			"Warning: app.orders is not sharded: the range applies once it is\ntrue"},
		step{`sh.adviseKey("app.orders").verdict.startsWith("keep {customer: 1, order: 1}")`, "true"},
		step{`sh.stopBalancer().ok && sh.advisePresplit("app.orders", {expect: "100GB"}).chunks`, "24"},
		step{`const p = sh.advisePresplit("app.orders"); [p.chunks, p.zones.map(z => z.zone)]`, "[ 3, [ 'low', '' ] ]"},
		step{`const wide = sh.advisePresplit("app.orders", {docs: 1e9}); wide.points.length`, "23"},
		step{`eval(wide.commands[0].replace("pauseBalancing: true", "journal: null")).finished`, "true"},
		step{`sh.chunks("app.orders").toArray().length >= 20`, "true"},
		step{`const hits = sh.advisePresplit("app.hits", {key: {h: "hashed"}, expect: 1e11}); eval(hits.commands[0]).ok`,
			"1"},
		step{`eval(hits.commands[1].replace("pauseBalancing: true", "journal: null")).finished`, "true"},
		step{`sh.chunks("app.hits").toArray().length`, "24"},
		step{`const s = sh.adviseChunkSize("app.orders", {expect: "2GB"}); [s.mb, s.commands]`,
			"[ 32, [ 'sh.chunkSize(\"app.orders\", 32)' ] ]"}, // a fifteenth of a third is 42 MB
		step{`eval(s.commands[0]).ok && sh.adviseChunkSize("app.orders", {expect: "2GB"}).mb`, "32"},
	)
	for call, want := range map[string]string{
		`sh.adviseChunkSize("app.order")`:                      "did you mean app.orders?",
		`sh.advisePresplit("app.new")`:                         "no shard key can be recommended",
		`sh.advisePresplit("app.new", {key: {a: "x"}})`:        "Argument options.key must be a shard key",
		`sh.advisePresplit("app.new", {key: {a: 1}, docs: 5})`: "pass the expected bytes",
		`sh.advisePresplit("app.orders", {expect: "x"})`:       "Argument options.expect must be a size",
		`sh.adviseChunkSize("app.orders", {queries: []})`:      "sh.adviseChunkSize has no option queries",
	} {
		if got, failed := c.Show(call); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %s", call, got)
		}
	}
}
