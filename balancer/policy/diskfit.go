package policy

import "shardsh/balancer/catalog"

// maxTriedChunks is the maximum number of chunks of a shard that are checked for one that fits on
// another shard.
const maxTriedChunks = 10_000

// firstFitting returns the first chunk of a shard in a zone that has no jumbo flag and for which there
// is a recipient with room, and that recipient.
func firstFitting[M any](s *selectionState, donor catalog.ShardID, zone int, reason Reason,
	recipient func(catalog.Chunk) *M) (c catalog.Chunk, to *M, ok bool) {
	tried := 0
	for c := range s.layout.chunks(donor, zone) {
		if c.Jumbo == catalog.JumboTrue {
			continue
		}
		if to := recipient(c); to != nil {
			return c, to, true
		}
		if tried++; tried == maxTriedChunks {
			break
		}
	}
	if tried > 0 {
		s.addDecision(Decision{Code: NoRoom, Reason: reason, Shard: donor, Zone: s.layout.names[zone]})
	}
	return catalog.Chunk{}, nil, false
}

// findFitting returns the first chunk of a shard in a zone for which at least one shard that among
// selects has room, and the smallest of those shards.
func (sel *selection) findFitting(donor *roundShard, zone int, reason Reason, among func(*roundShard) bool) (
	c catalog.Chunk, to *roundShard, ok bool) {
	return firstFitting(&sel.selectionState, donor.ID, zone, reason, func(c catalog.Chunk) *roundShard {
		return sel.smallestOf(zone, func(m *roundShard) bool { return m != donor && among(m) && sel.Fits(m.ID, c) })
	})
}

// moveFitting moves a chunk of a zone from the largest shard to the smallest shard that has room for
// it, if they differ enough. It also returns false if all chunks of the donor have the jumbo flag.
func (sel *selection) moveFitting(donor *roundShard, zone int, n Numbers) bool {
	c, to, ok := sel.findFitting(donor, zone, ReasonChunksImbalance, func(m *roundShard) bool {
		return m.size < n.Ideal && donor.size-m.size >= n.Threshold
	})
	if ok {
		n.Recipient = to.size
		sel.addMigration(donor, to, zone, c, ReasonChunksImbalance, n)
	}
	return ok
}

// findFitting returns the first chunk of a shard in a zone for which at least one shard that among
// selects has room, and the one of those shards with the fewest chunks.
func (sel *countSelection) findFitting(donor *countShard, zone int, reason Reason, among func(*countShard) bool) (
	c catalog.Chunk, to *countShard, ok bool) {
	return firstFitting(&sel.selectionState, donor.ID, zone, reason, func(c catalog.Chunk) *countShard {
		return sel.emptiestOf(zone, func(m *countShard) bool { return m.ID != donor.ID && among(m) && sel.Fits(m.ID, c) })
	})
}
