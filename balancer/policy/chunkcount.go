package policy

import "shardsh/balancer/catalog"

// CountSituation is the input for one collection in a round with the rules before 6.0. Of the sizes of
// its Situation, only the chunk size is used.
type CountSituation struct {
	Situation
	Rules Rules
	// MovedLastRound lowers the thresholds of the older rules.
	MovedLastRound bool
	// Shuffle shuffles the zones of RulesDifference; nil keeps their order.
	Shuffle func(n int, swap func(i, j int))
}

// SelectByCount chooses the chunks of one collection that move in this round by the rules before 6.0,
// which count chunks (rules/01-selection §9): off draining shards, then into their zones, then from
// shards with many chunks to shards with few. It takes both shards of every migration out of avail.
// Whole chunks move. The report, if there is one, gets the reasons for what was not chosen.
//
// The table must be aligned with the zones (CheckAligned).
func SelectByCount(s CountSituation, avail *AvailableShards, why *Report) ([]Migration, Reason) {
	if s.RandomMoveSource != nil {
		if m, ok := randomMove(s.Situation, avail, why); ok {
			return []Migration{m}, m.Reason
		}
	}
	sel := newCountSelection(s, avail, why)
	for _, phase := range []struct {
		reason Reason
		choose func()
	}{{ReasonDrain, sel.drainShards}, {ReasonZoneViolation, sel.repairZones}, {ReasonChunksImbalance, sel.balance}} {
		if !sel.isDone() && sel.allows(phase.reason) {
			phase.choose()
		}
	}
	if sel.isDone() {
		sel.addDecision(Decision{Code: OneMigrationPerRound})
	}
	if len(sel.chosen) == 0 {
		return nil, ReasonNone
	}
	return sel.chosen, sel.chosen[0].Reason
}

// StatusByCount returns the status like CollectionStatus, by the rules before 6.0, which do not consider
// chunk sizes and defragmentation (rules/01-selection §7).
func StatusByCount(s CountSituation) (Compliance, error) { return ExplainStatusByCount(s, nil) }

// ExplainStatusByCount is like StatusByCount, with a report of all decisions.
func ExplainStatusByCount(s CountSituation, why *Report) (Compliance, error) {
	if len(ZoneSplits(s.Namespace, s.Table, s.Zones)) > 0 {
		return Compliance{Violation: ViolationZone}, nil
	}
	if err := CheckAligned(s.Table, s.Zones); err != nil {
		why.Add(Decision{Code: UnalignedZones, Namespace: s.Namespace, Err: err})
		return Compliance{}, err
	}
	_, first := SelectByCount(s, NewAvailableShards(s.Shards), why)
	return Compliance{Compliant: first == ReasonNone, Violation: first.violation()}, nil
}

// countSelection is the state of a selection for one collection.
type countSelection struct {
	CountSituation
	selectionState
	shards []countShard
}

// countShard is a shard of the round with the number of its chunks of the collection.
type countShard struct {
	catalog.Shard
	free         bool
	total        int
	chunksByZone []int // by number of the zone
}

func newCountSelection(s CountSituation, avail *AvailableShards, why *Report) *countSelection {
	sel := &countSelection{
		CountSituation: s,
		selectionState: newSelectionState(s.Situation, avail, why),
		shards:         make([]countShard, len(s.Shards)),
	}
	for i, shard := range s.Shards {
		m := countShard{Shard: shard, free: avail.IsFree(shard.ID), total: s.Table.CountOn(shard.ID)}
		m.chunksByZone = make([]int, len(sel.layout.names))
		zoned := 0
		for zone := range sel.layout.noZone() {
			for range sel.layout.chunks(shard.ID, zone) {
				m.chunksByZone[zone]++
			}
			zoned += m.chunksByZone[zone]
		}
		m.chunksByZone[sel.layout.noZone()] = m.total - zoned
		sel.shards[i] = m
		if !m.free {
			sel.addDecision(Decision{Code: ShardBusy, Shard: shard.ID})
		}
		if m.Full() {
			sel.addDecision(Decision{Code: ShardAtMaxSize, Shard: shard.ID})
		}
	}
	return sel
}

// isDone reports whether the collection has the maximum number of migrations.
func (sel *countSelection) isDone() bool {
	return sel.Rules.allowsOneMigrationPerCollection() && len(sel.chosen) > 0
}

// drainShards chooses one chunk of each draining shard. In contrast to the rules by size, it does not
// end when too few shards are available.
func (sel *countSelection) drainShards() {
	for i := range sel.shards {
		donor := &sel.shards[i]
		if !donor.Draining || !donor.free {
			continue
		}
		if donor.total == 0 {
			sel.addDecision(Decision{Code: NothingToDrain, Reason: ReasonDrain, Shard: donor.ID})
			continue
		}
		sel.evict(donor, ReasonDrain, func(int) bool { return true })
		if sel.isDone() {
			return
		}
		if len(sel.chosen) == 0 {
			sel.logEvent(Event{ID: EventDrainStuck, Shard: donor.ID, Flagged: sel.Table.JumboCount(donor.ID)})
		}
	}
}

// repairZones chooses chunks outside of their zone, one from each shard that has some, for a shard of
// their zone.
func (sel *countSelection) repairZones() {
	for i := range sel.shards {
		donor := &sel.shards[i]
		if !donor.free || sel.isDone() {
			continue
		}
		sel.evict(donor, ReasonZoneViolation, func(zone int) bool { return !sel.belongsToZone(donor, zone) })
	}
}

// evict chooses the first chunk of a shard, in key order over the zones that concerns selects, that has
// no jumbo flag and that another shard can receive.
func (sel *countSelection) evict(donor *countShard, reason Reason, concerns func(zone int) bool) {
	var first catalog.Chunk
	var to *countShard
	var of int
	for zone, owned := range donor.chunksByZone {
		if owned == 0 || !concerns(zone) {
			continue
		}
		if reason == ReasonZoneViolation {
			sel.logFlagged(donor, zone)
		}
		recipient := sel.emptiestRecipient(zone)
		if recipient == nil {
			sel.reportNoRecipient(donor, zone, reason)
		}
		sel.reportFlagged(donor, zone, reason)
		c, ok := sel.layout.firstNonJumbo(donor.ID, zone)
		if sel.Fits != nil && recipient != nil {
			c, recipient, ok = sel.findFitting(donor, zone, reason, func(*countShard) bool { return true })
		}
		if ok && recipient != nil && (to == nil || c.Min.Less(first.Min)) {
			first, to, of = c, recipient, zone
		}
	}
	if to != nil {
		sel.addMigration(donor, to, of, first, reason, Numbers{Donor: int64(donor.total), Recipient: int64(to.total)})
	}
}

// logFlagged logs the flagged chunks before the first chunk that may move.
func (sel *countSelection) logFlagged(donor *countShard, zone int) {
	if sel.why == nil || sel.Table.JumboCount(donor.ID) == 0 {
		return
	}
	for c := range sel.layout.chunks(donor.ID, zone) {
		if c.Jumbo != catalog.JumboTrue {
			return
		}
		sel.logEvent(Event{ID: EventJumboOutsideZone, ChunkMin: c.Min, Zone: sel.layout.names[zone]})
	}
}

// balance balances the zones. NoZone is the last, except with RulesDifference, which shuffles the zones.
func (sel *countSelection) balance() {
	zones := make([]int, len(sel.layout.names))
	for i := range zones {
		zones[i] = i
	}
	if sel.Rules.allowsOneMigrationPerCollection() && sel.Shuffle != nil {
		sel.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
	}
	for _, zone := range zones {
		if sel.Rules.allowsOneMigrationPerCollection() {
			if sel.balanceSpread(zone) {
				return
			}
			continue
		}
		if ideal, ok := sel.ideal(zone); ok {
			for sel.balancePair(zone, ideal) {
			}
		}
	}
}

// ideal returns the number of chunks of a zone that each of its shards should have. For NoZone, all
// chunks of the collection count, including those of zones (rules/01-examples-and-traps §12, trap 36).
func (sel *countSelection) ideal(zone int) (ideal int, ok bool) {
	chunks, shards := 0, 0
	for i := range sel.shards {
		m := &sel.shards[i]
		chunks += m.chunksByZone[zone]
		if sel.belongsToZone(m, zone) {
			shards++
		}
	}
	if zone == sel.layout.noZone() {
		chunks = sel.Table.Len()
	}
	if shards == 0 {
		if zone != sel.layout.noZone() {
			name := sel.layout.names[zone]
			sel.logEvent(Event{ID: EventZoneWithoutShards, Zone: name})
			sel.addDecision(Decision{Code: ZoneWithoutShards, Reason: ReasonChunksImbalance, Zone: name})
		}
		return 0, false
	}
	return sel.Rules.ideal(chunks, shards), true
}

// balancePair moves a chunk of a zone from the shard with the most chunks of the zone to the shard with
// the fewest chunks in total, if they are on different sides of the ideal.
func (sel *countSelection) balancePair(zone, ideal int) bool {
	donor := sel.fullestDonor(zone)
	if donor == nil {
		sel.reportNoDonor(zone)
		return false
	}
	recipient, p := sel.emptiestRecipient(zone), countPair{zone: zone, ideal: ideal, threshold: sel.threshold()}
	p.donor, p.recipient = donor, recipient
	switch {
	case donor.chunksByZone[zone] <= ideal:
		return sel.rejectPair(DonorAtIdeal, p)
	case recipient == nil:
		if len(sel.chosen) == 0 {
			sel.logEvent(Event{ID: EventNoSizeRecipient, Zone: sel.layout.names[zone]})
		}
		sel.reportNoRecipient(donor, zone, ReasonChunksImbalance)
		return false
	case recipient == donor:
		return sel.rejectPair(DonorIsRecipient, p)
	case recipient.chunksByZone[zone] >= ideal:
		return sel.rejectPair(RecipientAtIdeal, p)
	case donor.chunksByZone[zone]-ideal < p.threshold:
		return sel.rejectPair(DonorNearIdeal, p)
	}
	return sel.moveFirstChunk(p)
}

// balanceSpread applies RulesDifference to one zone. It returns true if the collection is finished: a chunk
// moves, or no shard can receive one.
func (sel *countSelection) balanceSpread(zone int) bool {
	donor := sel.fullestDonor(zone)
	if donor == nil {
		sel.reportNoDonor(zone)
		return false
	}
	recipient := sel.emptiestRecipient(zone)
	if recipient == nil {
		sel.reportNoRecipient(donor, zone, ReasonChunksImbalance)
		return true
	}
	p := countPair{zone: zone, donor: donor, recipient: recipient, threshold: sel.threshold()}
	if donor == recipient {
		return sel.rejectPair(DonorIsRecipient, p)
	}
	if donor.chunksByZone[zone]-recipient.chunksByZone[zone] < p.threshold {
		return sel.rejectPair(BelowThreshold, p)
	}
	return sel.moveFirstChunk(p)
}

func (sel *countSelection) threshold() int {
	return sel.Rules.threshold(sel.Table.Len(), sel.MovedLastRound)
}

// moveFirstChunk moves the first chunk of a zone without a jumbo flag.
func (sel *countSelection) moveFirstChunk(p countPair) bool {
	sel.reportFlagged(p.donor, p.zone, ReasonChunksImbalance)
	c, ok := sel.layout.firstNonJumbo(p.donor.ID, p.zone)
	if ok && sel.Fits != nil {
		c, p.recipient, ok = sel.findFitting(p.donor, p.zone, ReasonChunksImbalance, func(m *countShard) bool {
			return sel.isFarEnoughApart(p, m)
		})
		if !ok {
			return false
		}
	}
	if !ok {
		owned := p.donor.chunksByZone[p.zone]
		sel.logEvent(Event{ID: EventOnlyJumboChunks, Shard: p.donor.ID, Zone: sel.layout.names[p.zone], Flagged: owned})
		return sel.rejectPair(OnlyJumboChunks, p)
	}
	sel.addMigration(p.donor, p.recipient, p.zone, c, ReasonChunksImbalance, p.numbers())
	return true
}

// isFarEnoughApart reports whether a donor may give a chunk to a shard that is not the one with the
// fewest chunks.
func (sel *countSelection) isFarEnoughApart(p countPair, m *countShard) bool {
	if sel.Rules.allowsOneMigrationPerCollection() {
		return p.donor.chunksByZone[p.zone]-m.chunksByZone[p.zone] >= p.threshold
	}
	return m.chunksByZone[p.zone] < p.ideal
}

// fullestDonor returns the free shard with the most chunks of a zone, at least one; the first among
// equals. Draining and full shards may be donors.
func (sel *countSelection) fullestDonor(zone int) *countShard {
	var best *countShard
	for i := range sel.shards {
		if m := &sel.shards[i]; m.free && m.chunksByZone[zone] > 0 &&
			(best == nil || m.chunksByZone[zone] > best.chunksByZone[zone]) {
			best = m
		}
	}
	return best
}

// emptiestRecipient returns the free shard with the fewest chunks of the collection, in all zones, that
// may receive chunks of a zone; the first among equals.
func (sel *countSelection) emptiestRecipient(zone int) *countShard {
	return sel.emptiestOf(zone, func(*countShard) bool { return true })
}

// emptiestOf returns the same as emptiestRecipient, restricted to shards for which among returns true.
func (sel *countSelection) emptiestOf(zone int, among func(*countShard) bool) *countShard {
	var best *countShard
	for i := range sel.shards {
		m := &sel.shards[i]
		if m.free && !m.Full() && !m.Draining && sel.belongsToZone(m, zone) && (best == nil || m.total < best.total) &&
			among(m) {
			best = m
		}
	}
	return best
}

func (sel *countSelection) belongsToZone(m *countShard, zone int) bool {
	return zone == sel.layout.noZone() || m.HasZone(sel.layout.names[zone])
}

func (sel *countSelection) addMigration(
	donor, recipient *countShard,
	zone int,
	c catalog.Chunk,
	reason Reason,
	n Numbers,
) {
	if sel.why.WantsDecisions() {
		n.Unit = UnitChunks
		sel.addDecision(Decision{
			Code: Code(reason), Reason: reason, Zone: sel.layout.names[zone],
			Shard: donor.ID, Recipient: recipient.ID, Min: c.Min, Max: c.Max, Numbers: n,
		})
	}
	force := ForceNone
	if sel.Rules.forcesJumbo() && (reason == ReasonDrain || sel.ForceJumbo) {
		force = ForceBalancer
	}
	sel.chosen = append(sel.chosen, Migration{
		From: donor.ID, To: recipient.ID,
		Namespace: sel.Namespace, UUID: sel.UUID,
		Min: c.Min, Max: c.Max, ChunkVersion: c.Version,
		Force: force, MaxChunkSizeBytes: sel.maxChunkSize(), Reason: reason,
	})
	donor.free, recipient.free = false, false
	sel.avail.Take(donor.ID, recipient.ID)
}
