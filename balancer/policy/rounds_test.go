package policy

import (
	"fmt"
	"slices"
	"testing"

	"shardsh/balancer/catalog"
	"shardsh/balancer/examples"
)

// roundExample is one of rules/01-examples-and-traps §11.3, several collections in one round, or of
// §11.4, one collection in several rounds.
type roundExample struct {
	ID string

	Collections []struct {
		NS    string
		Sizes []int64
		Mins  []any
	}
	Available []catalog.ShardID
	Moves     []string
	Examined  *int // nil is all collections

	Scene  *scene
	Step   int64 // MiB that each migration moves
	Rounds []string
	End    []string // log of the round that finds nothing
	Why    string
}

func TestRoundExamples(t *testing.T) {
	var ids []string
	for _, e := range examples.Read[roundExample](t, "testdata/rounds.jsonl") {
		ids = append(ids, e.ID)
		if e.Scene != nil {
			t.Run(e.ID, e.playRounds)
		} else {
			t.Run(e.ID, e.playCollections)
		}
	}
	same(t, "examples", ids, []string{"M01", "M02", "M03", "M04", "M05", "Q01", "Q02", "Q03"})
}

// playCollections lets the collections share the available shards.
func (e roundExample) playCollections(t *testing.T) {
	var available *AvailableShards
	got, examined := []string{}, 0
	for _, c := range e.Collections {
		s := scene{ID: c.NS}
		for i, size := range c.Sizes {
			id := catalog.ShardID('a' + rune(i))
			s.Shards = append(s.Shards, sceneShard{ID: id, Size: size})
			var max any = "Max"
			if low, isNumber := c.Mins[i].(float64); !isNumber {
				max = 10.0
			} else if low < 30 {
				max = low + 10
			}
			s.Chunks = append(s.Chunks, tuple{string(id), c.Mins[i], max})
		}
		sit := s.situation(t)
		if available == nil {
			available = NewAvailableShards(sit.Shards)
			for _, shard := range sit.Shards {
				if !slices.Contains(e.Available, shard.ID) {
					available.Take(shard.ID)
				}
			}
		}
		if available.Len() < 2 {
			break // the round examines nothing more
		}
		examined++
		migrations, _, err := SelectMigrations(sit, available, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range migrations {
			got = append(got, fmt.Sprintf("%s: %s→%s at %s", c.NS, m.From, m.To, show(m.Min)))
		}
	}
	same(t, "moves", got, e.Moves)
	want := len(e.Collections)
	if e.Examined != nil {
		want = *e.Examined
	}
	if examined != want {
		t.Errorf("%d collections examined, want %d", examined, want)
	}
}

// playRounds lets every migration move one step.
func (e roundExample) playRounds(t *testing.T) {
	sit := e.Scene.situation(t)
	for i := 0; ; i++ {
		var why Report
		migrations, _, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), &why)
		if err != nil {
			t.Fatal(err)
		}
		if len(migrations) == 0 {
			if i != len(e.Rounds) {
				t.Errorf("ended after %d rounds, want %d", i, len(e.Rounds))
			}
			same(t, "log at the end", logged(&why), e.End)
			return
		}
		line := ""
		for _, m := range migrations {
			line += fmt.Sprintf("%s→%s ", m.From, m.To)
			moveChunk(t, &sit, m, e.Step*mib)
		}
		var sizes []int64
		for _, s := range sit.Shards {
			sizes = append(sizes, sit.Sizes.ByShard[s.ID]/mib)
		}
		line += fmt.Sprint(sizes)
		if i == len(e.Rounds) || line != e.Rounds[i] {
			t.Fatalf("round %d: %s, want one of %v", i+1, line, e.Rounds)
		}
	}
}

// moveChunk carries a migration out: the whole chunk, and so many bytes.
func moveChunk(t testing.TB, sit *Situation, m Migration, bytes int64) {
	t.Helper()
	c := sit.Table.Find(m.Min)
	c.Shard = m.To
	c.Version = catalog.ChunkVersion{Major: sit.Table.Version().Major + 1}
	next, err := sit.Table.Apply([]catalog.Chunk{c})
	if err != nil {
		t.Fatal(err)
	}
	sit.Table = next
	sit.Sizes.ByShard[m.From] -= bytes
	sit.Sizes.ByShard[m.To] += bytes
}
