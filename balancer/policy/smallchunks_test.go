package policy

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// moveByHand is the migration that the rule of rules/02-defragmentation-and-merging §2.5 leads to: all
// small chunks of the shards, the fullest first, are looked at by rank.
func (p *movePhase) moveByHand(avail *AvailableShards) (siblingPair, bool) {
	for _, n := range p.order {
		if !avail.IsFree(p.shards[n].id) {
			continue
		}
		var small []int32
		for i := range p.chunks {
			if c := &p.chunks[i]; c.listed && !c.busy && int(c.shard) == n {
				small = append(small, int32(i))
			}
		}
		slices.SortFunc(small, func(i, j int32) int {
			return cmp.Or(cmp.Compare(p.chunks[i].size, p.chunks[j].size), cmp.Compare(p.chunks[i].from, p.chunks[j].from))
		})
		for _, i := range small {
			var eligible []int32
			siblings, count := p.siblings(i)
			for _, j := range siblings[:count] {
				if s := &p.chunks[j]; !s.busy && avail.IsFree(p.shards[s.shard].id) {
					eligible = append(eligible, j)
				}
			}
			if len(eligible) > 0 {
				return siblingPair{i, p.recipient(i, eligible)}, true
			}
		}
	}
	return siblingPair{}, false
}

// The lists of small chunks lead to the migrations that a look at all chunks
// does, while migrations and merges end well or badly and in any order.
func TestListsOfSmallChunks(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var chunks []tuple
		last, n := any("Min"), rapid.IntRange(1, 40).Draw(rt, "chunks")
		for i := range n {
			next := any(i)
			if i == n-1 {
				next = "Max"
			}
			chunks = append(chunks, tuple{rapid.SampledFrom([]string{"A", "B", "C", "D"}).Draw(rt, "shard"), last, next, rapid.IntRange(0, 150).Draw(rt, "size")})
			last = next
		}
		s := defragmenting(t, 100, chunks)
		for i := range s.Shards {
			s.Shards[i].Draining = rapid.IntRange(0, 4).Draw(rt, "draining") == 0
		}
		if n > 3 {
			border := key(t, n/2)
			if err := s.Zones.Add(catalog.ZoneRange{Min: s.Table.Pattern().GlobalMin(), Max: border, Zone: "z"}); err != nil {
				rt.Fatal(err)
			}
		}
		p := newMovePhase(s)
		var moving []Migration
		var merging []StreamAction
		rt.Repeat(map[string]func(*rapid.T){
			"a round": func(rt *rapid.T) {
				avail := NewAvailableShards(s.Shards)
				for {
					expected, some := p.moveByHand(avail)
					m, ok := p.NextMigration(avail, scheduled)
					if ok != some {
						rt.Fatalf("a migration: %v (%s), want %v", ok, shown(m), some)
					}
					if !ok {
						return
					}
					if got := p.moving[m.Min]; got != expected {
						rt.Fatalf("%s: got %v, want %v", shown(m), got, expected)
					}
					moving = append(moving, m)
				}
			},
			"a migration ends": func(rt *rapid.T) {
				if len(moving) == 0 {
					rt.Skip()
				}
				i := rapid.IntRange(0, len(moving)-1).Draw(rt, "which")
				err := rapid.SampledFrom([]error{nil, nil, mongoerr.New(mongoerr.ChunkTooBig, "too big"), mongoerr.New(mongoerr.HostUnreachable, "away")}).Draw(rt, "error")
				p.RecordMigrationResult(moving[i], err)
				moving = slices.Delete(moving, i, i+1)
				if a, ok := p.NextAction(); ok {
					merging = append(merging, a)
				}
			},
			"a merge ends": func(rt *rapid.T) {
				if len(merging) == 0 {
					rt.Skip()
				}
				i := rapid.IntRange(0, len(merging)-1).Draw(rt, "which")
				p.RecordActionResult(merging[i], StreamActionResult{})
				merging = slices.Delete(merging, i, i+1)
			},
		})
	})
}
