package policy

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Situation is the input for one collection in a round.
type Situation struct {
	Namespace string
	UUID      bson.Binary
	Table     *catalog.RoutingTable
	Zones     *catalog.ZoneSet // nil = none
	Shards    []catalog.Shard  // in the round's order, which decides between equals
	Sizes     catalog.DataSizes
	// Release is the release of the config servers. It decides which shards may be donors.
	Release catalog.Release
	// ForceJumbo is the setting attemptToBalanceJumboChunks.
	ForceJumbo bool
	// Reasons are the reasons for which chunks may move; nil means all.
	Reasons []Reason
	// Fits reports whether a shard has room for what a migration moves of a chunk; nil disables the
	// check. The servers' balancer has no such check.
	Fits func(to catalog.ShardID, c catalog.Chunk) bool
	// RandomMoveSource is set while the server's fail point for random migrations is on.
	RandomMoveSource RandomSource
}

// maxChunkSize returns the chunk size of the collection, or the default.
func (s Situation) maxChunkSize() int64 {
	if s.Sizes.MaxChunkSizeBytes == 0 {
		return catalog.DefaultMaxChunkSizeBytes
	}
	return s.Sizes.MaxChunkSizeBytes
}

// allows reports whether chunks may move for a reason.
func (s Situation) allows(reason Reason) bool {
	return s.Reasons == nil || slices.Contains(s.Reasons, reason)
}

// SelectMigrations chooses the ranges of one collection that move in this round: off draining shards,
// then into their zones, then from large shards to small ones (rules/01-selection §6.3 to §6.5). It
// takes both shards of every migration out of avail. The returned reason is that of the first
// migration.
//
// The table must be aligned with the zones (CheckAligned). The only error is InternalError, for sizes
// with a negative sum. The report, if there is one, gets the reasons for what was not chosen.
func SelectMigrations(s Situation, avail *AvailableShards, why *Report) ([]Migration, Reason, error) {
	sel := newSelection(s, avail, why)
	if sel.allows(ReasonDrain) && !sel.drainShards() {
		return sel.result()
	}
	if s.RandomMoveSource != nil && !anyDraining(s.Shards) {
		if m, ok := randomMove(s, avail, why); ok {
			sel.chosen = append(sel.chosen, m)
			return sel.result()
		}
	}
	if sel.allows(ReasonZoneViolation) && !sel.repairZones() {
		return sel.result()
	}
	if sel.allows(ReasonChunksImbalance) {
		if err := sel.balanceSizes(); err != nil {
			return nil, ReasonNone, err
		}
	}
	return sel.result()
}

func (sel *selection) result() ([]Migration, Reason, error) {
	if len(sel.chosen) == 0 {
		return nil, ReasonNone, nil
	}
	return sel.chosen, sel.chosen[0].Reason, nil
}

// selectionState is what the selections by size and by the number of chunks have in common.
type selectionState struct {
	namespace string
	layout    *zoneLayout
	avail     *AvailableShards
	why       *Report
	chosen    []Migration
}

func newSelectionState(s Situation, avail *AvailableShards, why *Report) selectionState {
	return selectionState{namespace: s.Namespace, layout: newZoneLayout(s.Table, s.Zones), avail: avail, why: why}
}

func (s *selectionState) logEvent(e Event) {
	e.Namespace = s.namespace
	s.why.Log(e)
}

func (s *selectionState) addDecision(d Decision) {
	if s.why.WantsDecisions() {
		d.Namespace = s.namespace
		s.why.Add(d)
	}
}

// selection is the state of a selection for one collection.
type selection struct {
	Situation
	selectionState
	roundShards []roundShard
	maxChunk    int64
}

// roundShard is a shard of the round with the collection's size on it.
type roundShard struct {
	*catalog.Shard
	free     bool
	measured bool
	size     int64 // the collection's bytes on the shard, in all zones
}

func newSelection(s Situation, avail *AvailableShards, why *Report) *selection {
	sel := &selection{
		Situation:      s,
		selectionState: newSelectionState(s, avail, why),
		roundShards:    make([]roundShard, len(s.Shards)),
		maxChunk:       s.maxChunkSize(),
	}
	for i := range s.Shards {
		shard := &s.Shards[i]
		size, measured := s.Sizes.ByShard[shard.ID]
		sel.roundShards[i] = roundShard{shard, avail.IsFree(shard.ID), measured, size}
		if !sel.roundShards[i].free {
			sel.addDecision(Decision{Code: ShardBusy, Shard: shard.ID})
		}
		if !measured {
			sel.addDecision(Decision{Code: NoSizeEntry, Shard: shard.ID})
		}
	}
	return sel
}

// drainShards chooses one chunk of each draining shard, whatever the sizes (rules/01-selection §6.3).
// It returns false if too few shards are available for the rest of the round.
func (sel *selection) drainShards() bool {
	for i := range sel.roundShards {
		donor := &sel.roundShards[i]
		if !donor.Draining || !donor.free {
			continue
		}
		sel.drainShard(donor)
		if len(sel.chosen) == 0 {
			sel.logEvent(Event{ID: EventDrainStuck, Shard: donor.ID, Flagged: sel.countFlagged(donor)})
		}
		if sel.hasTooFewShards(ReasonDrain) {
			return false
		}
	}
	return true
}

// countFlagged counts the flagged chunks of a shard that gives nothing: all of them up to 8.1; in later
// releases those before the first chunk of each zone that has no recipient.
func (sel *selection) countFlagged(donor *roundShard) (n int) {
	all := sel.Table.JumboCount(donor.ID)
	if sel.Release.DrainingShardsDonate() || all == 0 {
		return all
	}
	for zone := range sel.layout.zonesOf(donor.ID) {
		for c := range sel.layout.chunks(donor.ID, zone) {
			if c.Jumbo != catalog.JumboTrue {
				break
			}
			n++
		}
	}
	return n
}

func (sel *selection) drainShard(donor *roundShard) {
	empty := true
	for zone := range sel.layout.zonesOf(donor.ID) {
		empty = false
		if sel.evict(donor, zone, ReasonDrain) {
			return
		}
	}
	if empty {
		sel.addDecision(Decision{Code: NothingToDrain, Reason: ReasonDrain, Shard: donor.ID})
	}
}

// repairZones chooses chunks outside of their zone, one from each shard that has some, for a shard of
// their zone (rules/01-selection §6.4). It returns false if too few shards are available for the rest
// of the round.
func (sel *selection) repairZones() bool {
	if sel.Zones.Len() == 0 {
		return true
	}
	strays := sel.findZoneViolations()
	for i := range sel.roundShards {
		donor := &sel.roundShards[i]
		if !donor.free || donor.Draining && !sel.Release.DrainingShardsDonate() { // its chunks were considered before
			continue
		}
		for _, at := range strays[i] {
			if sel.evict(donor, sel.layout.intervals[at].zone, ReasonZoneViolation) {
				break
			}
		}
		if sel.hasTooFewShards(ReasonZoneViolation) {
			return false
		}
	}
	return true
}

// findZoneViolations finds the zones in which a shard owns chunks without belonging to the zone: for each
// shard, the first such interval of each zone, in key order, which is the order of the first chunks.
// It searches each interval once for all shards, which avoids a search of the table for each shard.
func (sel *selection) findZoneViolations() [][]int {
	index := make(map[catalog.ShardID]int, len(sel.roundShards))
	for i := range sel.roundShards {
		index[sel.roundShards[i].ID] = i
	}
	strays := make([][]int, len(sel.roundShards))
	for zone, own := range sel.layout.byZone[:sel.layout.noZone()] {
		for _, at := range own {
			s := sel.layout.intervals[at]
			for _, shard := range sel.Table.OwnersIn(s.min, s.max) {
				i, known := index[shard]
				if !known || sel.belongsToZone(&sel.roundShards[i], zone) {
					continue
				}
				// Intervals of a zone follow each other, so a known zone is the last one.
				n := len(strays[i])
				if n == 0 || sel.layout.intervals[strays[i][n-1]].zone != zone {
					strays[i] = append(strays[i], at)
				}
			}
		}
	}
	for _, stretches := range strays {
		slices.Sort(stretches)
	}
	return strays
}

// evict moves the first chunk of a zone without a jumbo flag off a shard. The recipient is the same for
// all chunks of the zone, so it is searched once.
func (sel *selection) evict(donor *roundShard, zone int, reason Reason) bool {
	recipient := sel.smallestRecipient(zone)
	if recipient == nil {
		sel.reportStranded(donor, zone, reason)
		return false
	}
	var c catalog.Chunk
	var ok bool
	if sel.Fits == nil {
		c, _, ok = sel.firstMovable(donor, zone, reason)
	} else {
		c, recipient, ok = sel.findFitting(donor, zone, reason, func(*roundShard) bool { return true })
	}
	if ok {
		sel.addMigration(donor, recipient, zone, c, reason, Numbers{Donor: donor.size, Recipient: recipient.size})
	}
	return ok
}

// firstMovable returns the first chunk without a jumbo flag that a shard owns in a zone. With a report,
// it reports and counts the flagged chunks before that chunk.
func (sel *selection) firstMovable(donor *roundShard, zone int, reason Reason) (c catalog.Chunk, flagged int, ok bool) {
	if sel.why == nil || sel.Table.JumboCount(donor.ID) == 0 {
		c, ok = sel.layout.firstNonJumbo(donor.ID, zone)
		return c, 0, ok
	}
	for c := range sel.layout.chunks(donor.ID, zone) {
		if c.Jumbo != catalog.JumboTrue {
			return c, flagged, true
		}
		flagged++
		sel.reportFlagged(donor, zone, c, reason)
	}
	return catalog.Chunk{}, flagged, false
}

// reportStranded reports the chunks of a zone that no shard can receive.
func (sel *selection) reportStranded(donor *roundShard, zone int, reason Reason) {
	if sel.why == nil {
		return
	}
	event := Event{ID: EventNoDrainRecipient, Shard: donor.ID, Zone: sel.layout.names[zone]}
	if reason == ReasonZoneViolation {
		event.ID = EventNoZoneRecipient
	}
	sel.reportNoRecipient(donor.ID, zone, reason)

	// The iteration ends at the last flagged chunk of the shard, since later chunks add nothing to the
	// report.
	flagsLeft, told := sel.Table.JumboCount(donor.ID), len(sel.chosen) > 0
	for c := range sel.layout.chunks(donor.ID, zone) {
		if c.Jumbo == catalog.JumboTrue {
			sel.reportFlagged(donor, zone, c, reason)
			flagsLeft--
		} else if !told {
			sel.logEvent(event)
			told = true
		}
		if told && flagsLeft == 0 || c.Jumbo != catalog.JumboTrue && !sel.Release.DrainingShardsDonate() {
			return
		}
	}
}

// reportFlagged reports a chunk that stays because of its jumbo flag.
func (sel *selection) reportFlagged(donor *roundShard, zone int, c catalog.Chunk, reason Reason) {
	if sel.why == nil {
		return
	}
	name := sel.layout.names[zone]
	if reason == ReasonZoneViolation {
		sel.logEvent(Event{ID: EventJumboOutsideZone, ChunkMin: c.Min, Zone: name})
	}
	sel.addDecision(Decision{Code: JumboFlag, Reason: reason, Shard: donor.ID, Zone: name, Min: c.Min, Max: c.Max})
}

// hasTooFewShards reports whether fewer than two shards are available. This ends the selection for the
// collection after a shard was checked for draining or zones. Balancing sizes has no such check.
func (sel *selection) hasTooFewShards(step Reason) bool {
	if sel.avail.Len() >= 2 {
		return false
	}
	sel.addDecision(Decision{Code: TooFewShards, Reason: step, Count: sel.avail.Len()})
	return true
}

// belongsToZone reports whether a shard may own chunks of a zone.
func (sel *selection) belongsToZone(m *roundShard, zone int) bool {
	return zone == sel.layout.noZone() || m.HasZone(sel.layout.names[zone])
}

// initialChosenCapacity is the initial capacity for migrations.
const initialChosenCapacity = 16

func (sel *selection) addMigration(donor, recipient *roundShard, zone int, c catalog.Chunk, reason Reason, n Numbers) {
	if sel.why.WantsDecisions() {
		sel.addDecision(Decision{
			Code: Code(reason), Reason: reason, Zone: sel.layout.names[zone],
			Shard: donor.ID, Recipient: recipient.ID, Min: c.Min, Max: c.Max, Numbers: n,
		})
	}
	force := ForceNone
	if reason == ReasonDrain && sel.Release.ForcesDrains() || reason != ReasonDrain && sel.ForceJumbo {
		force = ForceBalancer
	}
	if sel.chosen == nil {
		sel.chosen = make([]Migration, 0, min(sel.avail.Len()/2, initialChosenCapacity))
	}
	sel.chosen = append(sel.chosen, Migration{
		From:              donor.ID,
		To:                recipient.ID,
		Namespace:         sel.Namespace,
		UUID:              sel.UUID,
		Min:               c.Min,
		ChunkVersion:      c.Version,
		Force:             force,
		MaxChunkSizeBytes: sel.maxChunk,
		Reason:            reason,
	})
	donor.free, recipient.free = false, false
	sel.avail.Take(donor.ID, recipient.ID)
}
