package suite

import (
	"path/filepath"
	"strings"
	"testing"
)

// plans makes a plan, carries it out, and takes it back.
func plans(t *testing.T, c *target) {
	c.script("heap.js")
	dir := t.TempDir()
	plan, journal := filepath.Join(dir, "plan.json"), filepath.Join(dir, "plan.journal")
	before := c.owners()
	spread := c.ranges()
	last := c.shards[len(c.shards)-1]
	well(t, "plan", c.uri, "--ns", database+".orders", "--goal", "drain="+last, "--json", "-o", plan, "--quiet")
	if now := c.owners(); now != before {
		t.Errorf("planning has moved something: %s, before %s", now, before)
	}
	for range 2 { // the second time all is done already
		well(t, "apply", plan, c.uri, "--yes", "--quiet", "--journal", journal)
		if now := c.owners(); strings.Contains(now, last) || now == before {
			t.Errorf("after the plan: %s", now)
		}
		journal = filepath.Join(dir, "again.journal")
	}
	well(t, "apply", "--undo", filepath.Join(dir, "plan.journal"), c.uri, "--yes", "--quiet")
	if now := c.ranges(); now != spread {
		t.Errorf("after the undoing: %s, before the plan %s", now, spread)
	}
}

// owners are the shards of the collection's chunks, in the order of keys.
func (c *target) owners() string {
	c.t.Helper()
	return strings.TrimSpace(well(c.t, c.uri, "--quiet", "--eval",
		`print(sh.chunks("`+database+`.orders").toArray().map(c => c.shard).join(" "))`).stdout)
}

// ranges tells which shard has which keys, however many chunks these are.
func (c *target) ranges() string {
	c.t.Helper()
	return strings.TrimSpace(well(c.t, c.uri, "--quiet", "--eval",
		`print(sh.chunks("`+database+`.orders").toArray().filter((c, i, all) => !i || c.shard != all[i - 1].shard)`+
			`.map(c => EJSON.stringify(c.min) + c.shard).join(" "))`).stdout)
}

// engine balances the collection with the program's own engine.
func engine(t *testing.T, c *target) {
	c.script("heap.js")
	before := c.owners()
	balance := []string{"balance", c.uri, "--ns", database + ".orders", "--goal", "chunks", "--take-over", "--quiet"}
	if r := shardsh(t, append(balance, "--dry-run")...); r.code != 0 || c.owners() != before {
		t.Errorf("a dry run: %v, %s", r, c.owners())
	}
	for range 2 { // the second time there is nothing to do
		well(t, append(balance, "--yes")...)
		counts := map[string]int{}
		for shard := range strings.FieldsSeq(c.owners()) {
			counts[shard]++
		}
		for _, shard := range c.shards[:3] {
			if counts[shard] != 4 {
				t.Errorf("balanced: %v", counts)
			}
		}
	}
}
