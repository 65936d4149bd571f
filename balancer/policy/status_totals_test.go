package policy

import (
	"testing"

	"shardsh/balancer/catalog"
)

// What the totals of the shards settle is what the chunks say, by either kind of rules.
func TestStatusByTotals(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	settled, open := map[Rules]int{}, map[Rules]int{}
	for seed := range uint64(400) {
		w := randomWorld(t, seed, features{draining: seed%3 == 0, jumbo: seed%5 < 3, unsized: seed%7 == 0})
		for range 12 {
			for _, c := range w.colls {
				c.sit.Shards = w.shards
				c.sit.Release = afterTheSpec()[seed%uint64(len(afterTheSpec()))]
				chunks := map[catalog.ShardID]int64{}
				for chunk := range c.sit.Table.All() {
					chunks[chunk.Shard]++
				}
				bySize, err := CollectionStatus(c.sit, Defragmentation{})
				if err != nil {
					t.Fatal(err)
				}
				byCount, err := StatusByCount(CountSituation{Situation: c.sit, Rules: RulesRounded})
				if err != nil {
					t.Fatal(err)
				}
				for rules, want := range map[Rules]Compliance{RulesDataSize: bySize, RulesRounded: byCount} {
					got, is := StatusByTotals(rules, c.sit, chunks)
					switch {
					case !is:
						open[rules]++
						continue
					case got != want:
						t.Fatalf("seed %d, rules %v: the totals say %+v, the chunks %+v", seed, rules, got, want)
					}
					settled[rules]++
				}
			}
			if !w.round(t) {
				break
			}
		}
	}
	for rules, n := range settled {
		if n < 100 || open[rules] < 100 {
			t.Errorf("rules %v: %d settled, %d open: the test says little", rules, n, open[rules])
		}
	}
	if len(settled) != 2 {
		t.Errorf("settled: %v", settled)
	}
}
