package policy

import "shardsh/balancer/mongoerr"

// ImbalanceFactor is the minimum difference between two shards, in chunk sizes, from which on data move
// between them (rules/01-selection §6.5).
const ImbalanceFactor = 3

// balanceSizes balances the sizes zone by zone, in ascending order with NoZone last (rules/01-selection
// §6.5). If one zone can't be balanced, the next zone is still tried.
func (sel *selection) balanceSizes() error {
	for zone := range sel.layout.names {
		ideal, err := sel.ideal(zone)
		if err != nil {
			return err
		}
		for ideal >= 0 && sel.balancePair(zone, ideal) {
		}
	}
	return nil
}

// ideal returns the size that each shard of a zone would have if the zone were balanced, rounded down.
// Busy and draining shards count. It is negative if there is nothing to balance.
func (sel *selection) ideal(zone int) (int64, error) {
	const nothing = -1
	var total, shards int64
	for i := range sel.roundShards {
		if m := &sel.roundShards[i]; m.measured && sel.belongsToZone(m, zone) {
			total += m.size
			shards++
		}
	}
	switch {
	case shards == 0 && zone == sel.layout.noZone():
		return nothing, nil
	case shards == 0:
		sel.logEvent(Event{ID: EventZoneWithoutShards, Zone: sel.layout.names[zone]})
		sel.addDecision(Decision{Code: ZoneWithoutShards, Reason: ReasonChunksImbalance, Zone: sel.layout.names[zone]})
		return nothing, nil
	case total < 0:
		return 0, mongoerr.New(mongoerr.InternalError, "the sizes of %s in zone %q add up to %d bytes", sel.Namespace,
			sel.layout.names[zone], total)
	case total == 0:
		sel.addDecision(Decision{Code: NoData, Reason: ReasonChunksImbalance, Zone: sel.layout.names[zone]})
		return nothing, nil
	}
	return total / shards, nil
}

// balancePair moves one chunk of a zone from the largest shard to the smallest one of the zone, if they
// differ enough.
//
// Before 8.0.20 and 8.2.6 the donor is chosen without regard to the zone: a larger shard outside the
// zone keeps the zone from being balanced (SERVER-115962; rules/01-examples-and-traps §12, trap 2).
func (sel *selection) balancePair(zone int, ideal int64) bool {
	name := sel.layout.names[zone]
	donor := sel.largestDonor(zone)
	if donor == nil {
		sel.addDecision(Decision{Code: NoDonor, Reason: ReasonChunksImbalance, Zone: name})
		return false
	}
	recipient := sel.smallestRecipient(zone)
	if recipient == nil {
		if len(sel.chosen) == 0 {
			sel.logEvent(Event{ID: EventNoSizeRecipient, Zone: name, IsWarning: sel.Release.WarnsOfMissingRecipients()})
		}
		sel.reportNoRecipient(donor.ID, zone, ReasonChunksImbalance)
		return false
	}
	threshold := ImbalanceFactor * sel.maxChunk
	var not Code
	switch {
	case donor == recipient:
		not = DonorIsRecipient
	case donor.size <= ideal:
		not = DonorAtIdeal
	case recipient.size >= ideal:
		not = RecipientAtIdeal
	case donor.size-recipient.size < threshold:
		not = BelowThreshold
	}
	numbers := Numbers{Donor: donor.size, Recipient: recipient.size, Ideal: ideal, Threshold: threshold}
	if not != "" {
		sel.reportRejectedPair(not, donor, recipient, zone, numbers, 0)
		return false
	}
	c, flagged, ok := sel.firstMovable(donor, zone, ReasonChunksImbalance)
	if ok && sel.Fits != nil {
		return sel.moveFitting(donor, zone, numbers)
	}
	if ok {
		sel.addMigration(donor, recipient, zone, c, ReasonChunksImbalance, numbers)
		return true
	}
	switch {
	case flagged > 0:
		not = OnlyJumboChunks
		sel.logEvent(Event{ID: EventOnlyJumboChunks, Shard: donor.ID, Zone: name, Flagged: flagged})
	case !sel.belongsToZone(donor, zone):
		not = LargestOutsideZone
	default:
		not = NoChunkInZone
	}
	sel.reportRejectedPair(not, donor, recipient, zone, numbers, flagged)
	return false
}

// largestDonor returns the largest free shard that may give data of a zone, the first among equals; nil
// if there is none (rules/01-selection §6.2).
func (sel *selection) largestDonor(zone int) *roundShard {
	var best *roundShard
	for i := range sel.roundShards {
		if m := &sel.roundShards[i]; m.free && (best == nil || m.size > best.size) && sel.mayDonate(m, zone) {
			best = m
		}
	}
	return best
}

// mayDonate reports whether a shard may give data of a zone to balance sizes.
func (sel *selection) mayDonate(m *roundShard, zone int) bool {
	return m.measured && (!m.Draining || sel.Release.DrainingShardsDonate()) &&
		(!sel.Release.DonorBelongsToZone() || sel.belongsToZone(m, zone))
}

// smallestRecipient returns the smallest free shard that may receive chunks of a zone, the first among
// equals; nil if there is none (rules/01-selection §6.2).
func (sel *selection) smallestRecipient(zone int) *roundShard {
	return sel.smallestOf(zone, func(*roundShard) bool { return true })
}

// smallestOf returns the same as smallestRecipient, restricted to shards for which among returns true.
func (sel *selection) smallestOf(zone int, among func(*roundShard) bool) *roundShard {
	var best *roundShard
	for i := range sel.roundShards {
		m := &sel.roundShards[i]
		if m.free && m.measured && !m.Draining && (best == nil || m.size < best.size) && sel.belongsToZone(m, zone) &&
			among(m) {
			best = m
		}
	}
	return best
}
