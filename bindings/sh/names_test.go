package sh_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings/script"
	"shardsh/bindings/shelltest"
)

// argumentsOf are arguments that all helpers take, by what they are called, and
// names that nothing has, each near one that something has.
var argumentsOf = map[string]struct{ good, typo, meant string }{
	"ns":           {`"shop.orders"`, `"shop.oders"`, "shop.orders"},
	"collection":   {`"shop.orders"`, `"shop.oders"`, "shop.orders"},
	"nsOrMB":       {`"shop.orders"`, `"shop.oders"`, "shop.orders"},
	"shard":        {`"shard1"`, `"shrd1"`, "shard1"},
	"toShard":      {`"shard1"`, `"shrd1"`, "shard1"},
	"to":           {`"shard1"`, `"shrd1"`, "shard1"},
	"primaryShard": {`"shard0"`, `"shrd0"`, "shard0"},
	"zone":         {`"Europe"`, `"Euroe"`, "Europe"},
	"database":     {`"shop"`, `"shp"`, "shop"},
	"key":          {good: `{k: 1}`},
	"min":          {good: `{k: 0}`},
	"max":          {good: `{k: 5}`},
	"middle":       {good: `{k: 3}`},
	"query":        {good: `{k: 3}`},
	"mb":           {good: `64`},
}

// TestNamesThatNothingHas walks all helpers with a typo in each argument that
// names something: each says so, and what was meant.
func TestNamesThatNothingHas(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	// These make what they name.
	makes := map[string]bool{
		"enableSharding database": true, "shardCollection ns": true, "shardAndDistributeCollection ns": true,
		"addShardToZone zone": true, "addShardTag zone": true,
		"advisePresplit ns": true, // it is for collections to be
	}
	// Servers without the command say so first.
	before83 := map[string]bool{"stopDrain": true, "shardDrainingStatus": true}
	calls := 0
	for _, name := range helperNames(t) {
		if strings.HasPrefix(name, "_") || before83[name] {
			continue
		}
		help := helperHelp(t, name)
		for i, param := range help {
			if a := argumentsOf[param]; a.typo == "" || makes[name+" "+param] {
				continue
			}
			calls++
			var args []string
			for n, p := range help {
				switch a, known := argumentsOf[p]; {
				case n == i:
					args = append(args, a.typo)
				case name == "moveCollection" && p == "ns":
					args = append(args, `"shop.small"`) // it moves what is not sharded
				case name == "configureCollectionBalancing" && p == "options":
					args = append(args, `{chunkSize: 1}`)
				case name == "presplit" && p == "options":
					args = append(args, `{perShard: 1}`)
				case known:
					args = append(args, a.good)
				case n < i:
					args = append(args, "undefined")
				}
			}
			a := argumentsOf[param]
			call := fmt.Sprintf("sh.%s(%s)", name, strings.Join(args, ", "))
			got, _ := shop(t).Show(call)
			if typo := strings.Trim(a.typo, `"`); !strings.Contains(got, typo) || !strings.Contains(got, "did you mean "+a.meant+"?") {
				t.Errorf("%s shows %s", call, got)
			}
		}
	}
	if calls < 45 {
		t.Errorf("only %d arguments that name something", calls)
	}
	for call, want := range map[string]string{
		`sh.chunks("shop.orders", {shard: "shrd1"})`:  "There is no shard shrd1 (sh.listShards() lists them); did you mean shard1?",
		`sh.chunks("shop.orders", {zone: "Euroe"})`:   "There is no zone Euroe (sh.zones() lists them); did you mean Europe?",
		`sh.zones("nope.x")`:                          "Collection nope.x is not sharded",
		`show chunks shop.oders`:                      "Collection shop.oders is not sharded; did you mean shop.orders?",
		`show zones shop.oders`:                       "Collection shop.oders is not sharded; did you mean shop.orders?",
		`sh.moveCollection("shop.smal", "shard1")`:    "did you mean shop.small?",
		`sh.removeShardFromZone("shard1", "nowhere")`: "shard shard1 is not in zone nowhere: no change",
		`sh.shardCollection("shop.order", {k: 1}).ok`: "1", // makes it: nothing to ask
		`sh.zones("shop.small2")`:                     "did you mean shop.small?",
	} {
		if got, _ := shop(t).Show(call); !strings.Contains(got, want) {
			t.Errorf("%s shows %s, want %s", call, got, want)
		}
	}
}

// shop is a shell on a mock cluster that has something of every kind.
func shop(t *testing.T) *connected {
	t.Helper()
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	shelltest.Run(t, c,
		step{"sh.enableSharding('shop', 'shard0').ok && sh.shardCollection('shop.orders', {k: 1}).ok", "1"},
		step{"sh.splitAt('shop.orders', {k: 5}).ok && sh.addShardToZone('shard2', 'Europe').ok", "1"},
		step{"sh.updateZoneKeyRange('shop.orders', {k: 100}, {k: 200}, 'Europe').ok", "1"},
		step{"db.getSiblingDB('shop').small.insertOne({k: 1}).acknowledged", "true"},
	)
	return c
}

// A zone that has ranges and no shard is completed, too.
func TestCompletionOfZonesWithoutShards(t *testing.T) {
	c := shop(t)
	shelltest.Run(t, c, step{"const tags = db.getSiblingDB('config').tags, { _id, ...range } = tags.findOne()", ""},
		step{"tags.insertOne({ ...range, _id: 1, min: { k: 300 }, max: { k: 400 }, tag: 'Lonely' }).acknowledged", "true"})
	if _, got := c.Complete("sh.addShardToZone('shard0', 'L"); !slices.Equal(got, []string{"Lonely"}) {
		t.Errorf("completed to %q", got)
	}
}

func helperNames(t *testing.T) []string {
	t.Helper()
	got, failed := shelltest.ConnectMock(t, mock.Config{}).Show("Object.getOwnPropertyNames(Object.getPrototypeOf(Object.getPrototypeOf(sh))).join(' ')")
	if failed {
		t.Fatal(got)
	}
	var names []string
	for name := range strings.FieldsSeq(got) {
		if name != "help" && name != "constructor" {
			names = append(names, name)
		}
	}
	if len(names) < 80 {
		t.Fatalf("sh has %d helpers: %s", len(names), got)
	}
	return names
}

// helperOf returns the help of a helper.
func helperOf(t *testing.T, name string) (h script.Help, ok bool) {
	t.Helper()
	c := shelltest.ConnectMock(t, mock.Config{})
	return c.JS.Help.Lookup(c.JS.Runtime.GlobalObject().Get("sh").ToObject(c.JS.Runtime).Get(name).ToObject(c.JS.Runtime))
}

// helperHelp returns the names of a helper's arguments.
func helperHelp(t *testing.T, name string) []string {
	t.Helper()
	help, ok := helperOf(t, name)
	if !ok {
		t.Fatalf("sh.%s has no help", name)
	}
	return parameters(help)
}

func parameters(h script.Help) (names []string) {
	for i := 0; h.Parameter(i) != ""; i++ {
		names = append(names, h.Parameter(i))
	}
	return names
}
