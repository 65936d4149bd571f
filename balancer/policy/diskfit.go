package policy

import "shardsh/balancer/catalog"

// maxTriedChunks is the maximum number of chunks of a shard that are checked for one that fits on
// another shard.
const maxTriedChunks = 10_000

// firstFitting returns the first chunk of a shard in a zone that has no jumbo flag and for which there
// is a recipient with room, and that recipient. tried is the number of chunks that had none.
func firstFitting[M any](l *zoneLayout, donor catalog.ShardID, zone int, recipient func(catalog.Chunk) *M) (
	c catalog.Chunk, to *M, tried int) {
	for c := range l.chunks(donor, zone) {
		if c.Jumbo == catalog.JumboTrue {
			continue
		}
		if to := recipient(c); to != nil {
			return c, to, tried
		}
		if tried++; tried == maxTriedChunks {
			break
		}
	}
	return catalog.Chunk{}, nil, tried
}

// findFitting returns the first chunk of a shard in a zone for which at least one shard that among
// selects has room, and the smallest of those shards.
func (sel *selection) findFitting(donor *roundShard, zone int, reason Reason, among func(*roundShard) bool) (
	c catalog.Chunk, to *roundShard, ok bool) {
	c, to, tried := firstFitting(sel.layout, donor.ID, zone, func(c catalog.Chunk) *roundShard {
		return sel.smallestOf(zone, func(m *roundShard) bool { return m != donor && among(m) && sel.Fits(m.ID, c) })
	})
	if to == nil && tried > 0 {
		sel.addDecision(Decision{Code: NoRoom, Reason: reason, Shard: donor.ID, Zone: sel.layout.names[zone]})
	}
	return c, to, to != nil
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
func (sel *countSelection) findFitting(donor *countMember, zone int, reason Reason, among func(*countMember) bool) (
	c catalog.Chunk, to *countMember, ok bool) {
	c, to, tried := firstFitting(sel.layout, donor.ID, zone, func(c catalog.Chunk) *countMember {
		return sel.emptiestOf(zone, func(m *countMember) bool { return m.ID != donor.ID && among(m) && sel.Fits(m.ID, c) })
	})
	if to == nil && tried > 0 {
		sel.addDecision(Decision{Code: NoRoom, Reason: reason, Shard: donor.ID, Zone: sel.layout.names[zone]})
	}
	return c, to, to != nil
}
