package policy

import (
	"slices"
	"strings"

	"shardsh/balancer/catalog"
)

// randomMove returns the choice of the fail point for random migrations for a collection, whatever its
// sizes, zones and flags: a whole chunk of the first available shard, in random order, that owns one,
// for the next shard (rules/01-selection §6.10). From 9.0 on, the donor computes the end of the range.
func randomMove(s Situation, avail *AvailableShards, why *Report) (Migration, bool) {
	if strings.HasPrefix(s.Namespace, "config.") && !s.Release.RandomMovesByDonor() {
		return Migration{}, false
	}
	var free []catalog.ShardID
	for _, shard := range s.Shards {
		if avail.IsFree(shard.ID) {
			free = append(free, shard.ID)
		}
	}
	if len(free) < 2 {
		return Migration{}, false
	}
	s.RandomMoveSource.Shuffle(len(free), func(i, j int) { free[i], free[j] = free[j], free[i] })
	for i, from := range free {
		owned := s.Table.CountOn(from)
		if owned == 0 {
			continue
		}
		to, at := free[(i+1)%len(free)], s.RandomMoveSource.IntN(owned)
		for c := range s.Table.OwnedChunks(from, catalog.Key{}, catalog.Key{}) {
			if at > 0 {
				at--
				continue
			}
			avail.Take(from, to)
			m := Migration{
				From: from, To: to, Namespace: s.Namespace, UUID: s.UUID, Min: c.Min, Max: c.Max, ChunkVersion: c.Version,
				MaxChunkSizeBytes: s.maxChunkSize(), Reason: ReasonChunksImbalance,
			}
			if s.Release.RandomMovesByDonor() {
				m.Max = catalog.Key{}
			}
			if why.WantsDecisions() {
				choice := NewChoice(m)
				choice.Code = ChosenAtRandom
				why.Add(choice)
			}
			return m, true
		}
	}
	return Migration{}, false
}

// anyDraining reports whether a shard is draining. Random migrations wait until no shard is.
func anyDraining(shards []catalog.Shard) bool {
	return slices.ContainsFunc(shards, func(s catalog.Shard) bool { return s.Draining })
}
