package policy

import "shardsh/balancer/catalog"

// CountSituation is one collection as a round of the rules before 6.0 sees it.
// The sizes of its Situation are not looked at, but for the chunk size.
type CountSituation struct {
	Situation
	Rules Rules
	// MovedLastRound makes the thresholds of the older rules smaller.
	MovedLastRound bool
	// Shuffle puts the zones of RulesSpread in another order; nil keeps it.
	Shuffle func(n int, swap func(i, j int))
}

// SelectByCount chooses the chunks of one collection that move this round by
// the rules before 6.0, which count chunks (rules/01-selection §9): away from draining
// shards, then into their zones, then from shards with many chunks to those
// with few. It takes both shards of every migration out of avail. Whole chunks
// move. What was not chosen, and why, goes to the report, if there is one.
//
// The table must be aligned with the zones (CheckAligned).
func SelectByCount(s CountSituation, avail *Available, why *Report) ([]Migration, Reason) {
	if s.Random != nil {
		if m, ok := randomMove(s.Situation, avail, why); ok {
			return []Migration{m}, m.Reason
		}
	}
	sel := newCountSelection(s, avail, why)
	for _, phase := range []struct {
		reason Reason
		choose func()
	}{{ReasonDrain, sel.drain}, {ReasonZoneViolation, sel.repairZones}, {ReasonChunksImbalance, sel.balance}} {
		if !sel.done() && sel.may(phase.reason) {
			phase.choose()
		}
	}
	if sel.done() {
		sel.decide(Decision{Code: OneMigration})
	}
	if len(sel.chosen) == 0 {
		return nil, ReasonNone
	}
	return sel.chosen, sel.chosen[0].Reason
}

// CountStatus is CollectionStatus by the rules before 6.0, which know nothing
// of chunk sizes and defragmentation (rules/01-selection §7).
func CountStatus(s CountSituation) (Compliance, error) { return ExplainCountStatus(s, nil) }

// ExplainCountStatus is CountStatus with a report of what would be chosen and
// what would not.
func ExplainCountStatus(s CountSituation, why *Report) (Compliance, error) {
	if len(SplitsAtZones(s.Namespace, s.Table, s.Zones)) > 0 {
		return Compliance{Violation: ViolationZone}, nil
	}
	if err := CheckAligned(s.Table, s.Zones); err != nil {
		why.Add(Decision{Code: UnalignedZones, Namespace: s.Namespace, Err: err})
		return Compliance{}, err
	}
	_, first := SelectByCount(s, NewAvailable(s.Shards), why)
	return Compliance{Compliant: first == ReasonNone, Violation: first.violation()}, nil
}

// countSelection is the choice for one collection in the making.
type countSelection struct {
	CountSituation
	members []countMember
	layout  *zoneLayout
	avail   *Available
	why     *Report
	chosen  []Migration
}

// countMember is a shard of the round with its chunks of the collection.
type countMember struct {
	catalog.Shard
	free   bool
	total  int
	inZone []int // by number of the zone
}

func newCountSelection(s CountSituation, avail *Available, why *Report) *countSelection {
	sel := &countSelection{
		CountSituation: s,
		members:        make([]countMember, len(s.Shards)),
		layout:         newZoneLayout(s.Table, s.Zones),
		avail:          avail,
		why:            why,
	}
	for i, shard := range s.Shards {
		m := countMember{Shard: shard, free: avail.Has(shard.ID), total: s.Table.Count(shard.ID)}
		m.inZone = make([]int, len(sel.layout.names))
		zoned := 0
		for zone := range sel.layout.noZone() {
			for range sel.layout.chunks(shard.ID, zone) {
				m.inZone[zone]++
			}
			zoned += m.inZone[zone]
		}
		m.inZone[sel.layout.noZone()] = m.total - zoned
		sel.members[i] = m
		if !m.free {
			sel.decide(Decision{Code: ShardBusy, Shard: shard.ID})
		}
		if m.Full() {
			sel.decide(Decision{Code: ShardFull, Shard: shard.ID})
		}
	}
	return sel
}

// done: the collection has all the migrations it may have.
func (sel *countSelection) done() bool { return sel.Rules.oneMove() && len(sel.chosen) > 0 }

// drain empties draining shards, one chunk from each. Unlike with sizes, too
// few shards left end nothing.
func (sel *countSelection) drain() {
	for i := range sel.members {
		donor := &sel.members[i]
		if !donor.Draining || !donor.free {
			continue
		}
		if donor.total == 0 {
			sel.decide(Decision{Code: NothingToDrain, Step: ReasonDrain, Shard: donor.ID})
			continue
		}
		sel.evict(donor, ReasonDrain, func(int) bool { return true })
		if sel.done() {
			return
		}
		if len(sel.chosen) == 0 {
			sel.event(Event{ID: EventDrainStuck, Shard: donor.ID, Flagged: sel.Table.JumboCount(donor.ID)})
		}
	}
}

// repairZones moves chunks to a shard of their zone, one from each shard that
// holds some it should not.
func (sel *countSelection) repairZones() {
	for i := range sel.members {
		donor := &sel.members[i]
		if !donor.free || sel.done() {
			continue
		}
		sel.evict(donor, ReasonZoneViolation, func(zone int) bool { return !sel.belongs(donor, zone) })
	}
}

// evict moves the first chunk of a shard, in key order over all zones asked
// for, that is not flagged and that some shard can receive.
func (sel *countSelection) evict(donor *countMember, reason Reason, concerns func(zone int) bool) {
	var first catalog.Chunk
	var to *countMember
	var of int
	for zone, owned := range donor.inZone {
		if owned == 0 || !concerns(zone) {
			continue
		}
		if reason == ReasonZoneViolation {
			sel.warnFlagged(donor, zone)
		}
		recipient := sel.least(zone)
		if recipient == nil {
			sel.decideZone(donor, zone, reason)
		}
		sel.decideFlagged(donor, zone, reason)
		c, ok := sel.layout.firstUnflagged(donor.ID, zone)
		if sel.Fits != nil && recipient != nil {
			c, recipient, ok = sel.fitting(donor, zone, reason, func(*countMember) bool { return true })
		}
		if ok && recipient != nil && (to == nil || c.Min.Less(first.Min)) {
			first, to, of = c, recipient, zone
		}
	}
	if to != nil {
		sel.take(donor, to, of, first, reason, Numbers{Donor: int64(donor.total), Recipient: int64(to.total)})
	}
}

// warnFlagged tells of the flagged chunks before the first that may move.
func (sel *countSelection) warnFlagged(donor *countMember, zone int) {
	if sel.why == nil || sel.Table.JumboCount(donor.ID) == 0 {
		return
	}
	for c := range sel.layout.chunks(donor.ID, zone) {
		if c.Jumbo != catalog.JumboTrue {
			return
		}
		sel.event(Event{ID: EventJumboOutsideZone, ChunkMin: c.Min, Zone: sel.layout.names[zone]})
	}
}

// balance evens out the zones, NoZone last but for RulesSpread, which draws
// the order.
func (sel *countSelection) balance() {
	zones := make([]int, len(sel.layout.names))
	for i := range zones {
		zones[i] = i
	}
	if sel.Rules.oneMove() && sel.Shuffle != nil {
		sel.Shuffle(len(zones), func(i, j int) { zones[i], zones[j] = zones[j], zones[i] })
	}
	for _, zone := range zones {
		if sel.Rules.oneMove() {
			if sel.narrow(zone) {
				return
			}
			continue
		}
		if ideal, ok := sel.ideal(zone); ok {
			for sel.pair(zone, ideal) {
			}
		}
	}
}

// ideal returns the number of chunks of a zone that each of its shards should
// have. For NoZone all chunks of the collection count, those of zones too
// (rules/01-examples-and-traps §12, trap 36).
func (sel *countSelection) ideal(zone int) (ideal int, ok bool) {
	chunks, shards := 0, 0
	for i := range sel.members {
		m := &sel.members[i]
		chunks += m.inZone[zone]
		if sel.belongs(m, zone) {
			shards++
		}
	}
	if zone == sel.layout.noZone() {
		chunks = sel.Table.Len()
	}
	if shards == 0 {
		if zone != sel.layout.noZone() {
			name := sel.layout.names[zone]
			sel.event(Event{ID: EventZoneWithoutShards, Zone: name})
			sel.decide(Decision{Code: ZoneWithoutShards, Step: ReasonChunksImbalance, Zone: name})
		}
		return 0, false
	}
	return sel.Rules.ideal(chunks, shards), true
}

// pair moves a chunk of a zone from the shard with the most of them to the
// shard with the fewest chunks at all, if they are on both sides of the ideal.
func (sel *countSelection) pair(zone, ideal int) bool {
	donor := sel.most(zone)
	if donor == nil {
		sel.decideNoDonor(zone)
		return false
	}
	recipient, p := sel.least(zone), countPair{zone: zone, ideal: ideal, threshold: sel.threshold()}
	p.donor, p.recipient = donor, recipient
	switch {
	case donor.inZone[zone] <= ideal:
		return sel.decidePair(DonorAtIdeal, p)
	case recipient == nil:
		if len(sel.chosen) == 0 {
			sel.event(Event{ID: EventNoSizeRecipient, Zone: sel.layout.names[zone]})
		}
		sel.decideZone(donor, zone, ReasonChunksImbalance)
		return false
	case recipient == donor:
		return sel.decidePair(DonorIsRecipient, p)
	case recipient.inZone[zone] >= ideal:
		return sel.decidePair(RecipientAtIdeal, p)
	case donor.inZone[zone]-ideal < p.threshold:
		return sel.decidePair(DonorNearIdeal, p)
	}
	return sel.takeFirst(p)
}

// narrow is the rule of RulesSpread for one zone. It is true when the
// collection is done with: something moves, or no shard can receive.
func (sel *countSelection) narrow(zone int) bool {
	donor := sel.most(zone)
	if donor == nil {
		sel.decideNoDonor(zone)
		return false
	}
	recipient := sel.least(zone)
	if recipient == nil {
		sel.decideZone(donor, zone, ReasonChunksImbalance)
		return true
	}
	p := countPair{zone: zone, donor: donor, recipient: recipient, threshold: sel.threshold()}
	if donor == recipient {
		return sel.decidePair(DonorIsRecipient, p)
	}
	if donor.inZone[zone]-recipient.inZone[zone] < p.threshold {
		return sel.decidePair(BelowThreshold, p)
	}
	return sel.takeFirst(p)
}

func (sel *countSelection) threshold() int {
	return sel.Rules.threshold(sel.Table.Len(), sel.MovedLastRound)
}

// takeFirst moves the first unflagged chunk of a zone.
func (sel *countSelection) takeFirst(p countPair) bool {
	sel.decideFlagged(p.donor, p.zone, ReasonChunksImbalance)
	c, ok := sel.layout.firstUnflagged(p.donor.ID, p.zone)
	if ok && sel.Fits != nil {
		c, p.recipient, ok = sel.fitting(p.donor, p.zone, ReasonChunksImbalance, func(m *countMember) bool {
			return sel.apart(p, m)
		})
		if !ok {
			return false
		}
	}
	if !ok {
		owned := p.donor.inZone[p.zone]
		sel.event(Event{ID: EventOnlyJumboChunks, Shard: p.donor.ID, Zone: sel.layout.names[p.zone], Flagged: owned})
		return sel.decidePair(OnlyJumboChunks, p)
	}
	sel.take(p.donor, p.recipient, p.zone, c, ReasonChunksImbalance, p.numbers())
	return true
}

// apart reports whether a donor may give to a shard that is not the one with the fewest
// chunks.
func (sel *countSelection) apart(p countPair, m *countMember) bool {
	if sel.Rules.oneMove() {
		return p.donor.inZone[p.zone]-m.inZone[p.zone] >= p.threshold
	}
	return m.inZone[p.zone] < p.ideal
}

// most returns the free shard with the most chunks of a zone, at least one; the
// first of equals. Draining and full shards may give.
func (sel *countSelection) most(zone int) *countMember {
	var best *countMember
	for i := range sel.members {
		if m := &sel.members[i]; m.free && m.inZone[zone] > 0 && (best == nil || m.inZone[zone] > best.inZone[zone]) {
			best = m
		}
	}
	return best
}

// least returns the free shard with the fewest chunks of the collection, in all
// zones, that may receive chunks of a zone; the first of equals.
func (sel *countSelection) least(zone int) *countMember {
	return sel.leastOf(zone, func(*countMember) bool { return true })
}

// leastOf is least of some shards.
func (sel *countSelection) leastOf(zone int, among func(*countMember) bool) *countMember {
	var best *countMember
	for i := range sel.members {
		m := &sel.members[i]
		if m.free && !m.Full() && !m.Draining && sel.belongs(m, zone) && (best == nil || m.total < best.total) &&
			among(m) {
			best = m
		}
	}
	return best
}

func (sel *countSelection) belongs(m *countMember, zone int) bool {
	return zone == sel.layout.noZone() || m.HasZone(sel.layout.names[zone])
}

func (sel *countSelection) take(donor, recipient *countMember, zone int, c catalog.Chunk, reason Reason, n Numbers) {
	if sel.why.Wants() {
		n.Unit = Chunks
		sel.decide(Decision{
			Code: Code(reason), Step: reason, Zone: sel.layout.names[zone],
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
