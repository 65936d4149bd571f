package sh_test

import (
	"strings"
	"testing"

	"shardsh/balancer/mock"
	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

const threeChunks = `sh.enableSharding("shop", "shard0"); sh.shardCollection("shop.orders", { k: 1 });
sh.splitAt("shop.orders", { k: 0 }); sh.splitAt("shop.orders", { k: 10 });
sh.moveChunk("shop.orders", { k: 5 }, "shard1"); 0`

// sh.map draws as wide as the terminal is, in scripts as at a prompt, and has
// fields.
func TestMap(t *testing.T) {
	// Without data all chunks are alike: 26 places each of 78, 66 of 198.
	line := func(n int) string { return strings.Repeat("─", n) }
	strip := func(n int) string { return "  A" + line(n-1) + "B" + line(n-1) + "A" + line(n-1) + "\n" }
	for name, tc := range map[string]struct {
		cfg  func(*bindings.Config)
		want string
	}{
		"in a script":          {func(cfg *bindings.Config) { cfg.Interactive = false }, strip(26)},
		"on a terminal":        {onTerminal, strip(26)},
		"on a wide terminal":   {func(cfg *bindings.Config) { cfg.Terminal, cfg.Columns = true, func() int { return 200 } }, strip(66)},
		"on no known terminal": {func(cfg *bindings.Config) { cfg.Terminal, cfg.Columns = true, func() int { return 0 } }, strip(26)},
		"on a narrow terminal": {func(cfg *bindings.Config) { cfg.Terminal, cfg.Columns = true, func() int { return 5 } },
			"  A" + line(11) + "B" + line(12) + "A" + line(12) + "\n"},
	} {
		c := shelltest.ConnectMock(t, mock.Config{Seed: 7}, tc.cfg)
		if out, failed := c.Show(threeChunks); failed {
			t.Fatal(out)
		}
		for _, input := range []string{`sh.map("shop.orders")`, `print(sh.map(db.getSiblingDB("shop").orders))`} {
			got, failed := c.Show(input)
			if failed || !strings.Contains(got, tc.want) {
				t.Errorf("%s, %s: no strip %q in\n%s", name, input, tc.want, got)
			}
		}
		shelltest.Run(t, c, step{`var m = sh.map("shop.orders"); [m.ns, m.widths, m.chunks, m.shards.map(s => s.shard + s.chunks)]`,
			"[ 'shop.orders', 'count', 3, [ 'shard02', 'shard11' ] ]"})
	}
	c := shelltest.ConnectMock(t, mock.Config{Seed: 7})
	if out, failed := c.Show(threeChunks); failed {
		t.Fatal(out)
	}
	for input, want := range map[string]string{
		`sh.map("shop.order")`:   "did you mean shop.orders?",
		`sh.map()`:               "Missing required argument ns",
		`sh.map("shop.orders,")`: "shop.orders, is not sharded",
	} {
		if got, failed := c.Show(input); !failed || !strings.Contains(got, want) {
			t.Errorf("%s: %s", input, got)
		}
	}
}
