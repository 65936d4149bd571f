package policy

import (
	"math/rand/v2"
	"testing"

	"shardsh/balancer/catalog"
)

// What a candidates says of rounds with any shards busy, in any order, is what the
// selection then does: where nothing has to leave a shard it is exact, elsewhere it
// may be wrong only in saying that something is possible.
func TestProspect(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	passed, held := 0, 0
	for seed := range uint64(300) {
		f := features{zones: seed%2 == 0, draining: seed%3 == 0, jumbo: seed%5 < 3, unsized: seed%7 == 0}
		w := randomWorld(t, seed, f)
		for range 6 {
			for _, p := range w.colls {
				all := NewAvailableShards(w.shards)
				p.sit.Release = afterTheSpec()[seed%uint64(len(afterTheSpec()))]
				candidates := NewCandidates(p.sit, all)
				for range 5 {
					avail := all.ForNextRound(w.shards)
					busy(w.rnd, w.shards, avail)
					p.sit.Shards = w.shards
					w.rnd.Shuffle(len(w.shards), func(i, j int) { w.shards[i], w.shards[j] = w.shards[j], w.shards[i] })
					possible := candidates.MayChoose(avail)
					chosen, _, err := SelectMigrations(p.sit, avail, nil)
					switch {
					case err != nil:
						t.Fatal(err)
					case !possible && len(chosen) > 0:
						t.Fatalf("seed %d: nothing was possible, and chosen is %v", seed, choices(chosen))
					case possible && len(chosen) == 0 && len(candidates.mustGive) == 0:
						t.Fatalf("seed %d: something was possible, and nothing is chosen", seed)
					case possible:
						held++
					default:
						passed++
					}
				}
			}
			if !w.round(t) {
				break
			}
		}
	}
	if passed < 1000 || held < 1000 {
		t.Errorf("of the collections %d were passed over and %d looked at: the test says little", passed, held)
	}
}

// busy takes some shards, or none.
func busy(rnd *rand.Rand, shards []catalog.Shard, avail *AvailableShards) {
	percent := rnd.IntN(3) * 30
	for _, s := range shards {
		if rnd.IntN(100) < percent {
			avail.Take(s.ID)
		}
	}
}

// Shards that come and go have the candidates say nothing, rather than something that
// was true of others.
func TestProspectOfOtherShards(t *testing.T) {
	w := randomWorld(t, 1, features{})
	s := w.colls[0].sit
	first := NewAvailableShards(w.shards)
	candidates := NewCandidates(s, first)
	more := append([]catalog.Shard{{ID: "new"}}, w.shards[1:]...)
	next := first.ForNextRound(more)
	if !candidates.MayChoose(next) || next.Len() != len(more) || !next.IsFree("new") || next.IsFree(w.shards[0].ID) {
		t.Errorf("with another shard: %d available, possible %v", next.Len(), candidates.MayChoose(next))
	}
	if again := next.ForNextRound(more); again.Len() != len(more) || again.numbering != next.numbering {
		t.Errorf("the same shards got new numbers, or %d are available", again.Len())
	}
}
