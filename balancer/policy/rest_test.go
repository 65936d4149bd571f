package policy

import (
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

// checkChoice checks what must hold of the migrations of one round, however
// they came about.
func checkChoice(t interface{ Fatalf(string, ...any) }, sit Situation, migrations []Migration) {
	shards := map[catalog.ShardID]catalog.Shard{}
	for _, s := range sit.Shards {
		shards[s.ID] = s
	}
	used := map[catalog.ShardID]bool{}
	for _, m := range migrations {
		c := sit.Table.Find(m.Min)
		zone := sit.Zones.ZoneOf(c.Min, c.Max)
		to := shards[m.To]
		_, measured := sit.Sizes.ByShard[m.To]
		switch {
		case used[m.From] || used[m.To] || m.From == m.To:
			t.Fatalf("%s→%s: a shard is in two migrations", m.From, m.To)
		case !c.Min.Equal(m.Min) || c.Shard != m.From:
			t.Fatalf("%s→%s: the donor does not own a chunk at %s", m.From, m.To, m.Min)
		case c.Jumbo == catalog.JumboTrue:
			t.Fatalf("%s→%s: the chunk at %s is flagged jumbo", m.From, m.To, m.Min)
		case to.Draining || !measured:
			t.Fatalf("%s→%s: the recipient drains or has no size", m.From, m.To)
		case zone != catalog.NoZone && !to.HasZone(zone):
			t.Fatalf("%s→%s: the recipient is not in zone %s", m.From, m.To, zone)
		}
		used[m.From], used[m.To] = true, true
	}
}

// A cluster nobody else changes comes to rest: every round does some of the
// finite work of draining and zones, or brings two sizes closer together. The
// chunk size here is 10 bytes, and no chunk has more than 13: a donor moves
// those whole (rules/01-selection §6.8).
func TestBalancingComesToRest(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sit := cluster(rt, t)
		bytes := map[string]int64{} // by lower bound
		for c := range sit.Table.All() {
			bytes[show(c.Min)] = rapid.Int64Range(0, 13).Draw(rt, "bytes")
		}
		measure := func() (squares int64) {
			sizes := map[catalog.ShardID]int64{}
			for _, s := range sit.Shards {
				sizes[s.ID] = 0
			}
			for c := range sit.Table.All() {
				sizes[c.Shard] += bytes[show(c.Min)]
			}
			for _, n := range sizes {
				squares += n * n
			}
			sit.Sizes.ByShard = sizes
			return squares
		}

		seen := map[string]bool{}
		squares := measure()
		for range 1000 {
			placement := ""
			for c := range sit.Table.All() {
				placement += string(c.Shard)
			}
			if seen[placement] {
				rt.Fatalf("the placement %s comes back", placement)
			}
			seen[placement] = true

			migrations, first, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), nil)
			if err != nil {
				rt.Fatal(err)
			}
			checkChoice(rt, sit, migrations)
			if len(migrations) == 0 {
				return
			}
			for _, m := range migrations {
				moveChunk(t, &sit, m, 0)
			}
			before := squares
			squares = measure()
			if first == ReasonChunksImbalance && squares > before {
				rt.Fatalf("sizes drift apart: squares grew from %d to %d", before, squares)
			}
		}
		rt.Fatal("no rest after 1000 rounds")
	})
}
