package policy

import "shardsh/balancer/catalog"

// countPair is a donor and a recipient that the rules before 6.0 compare in a zone. The ideal is zero
// for RulesDifference.
type countPair struct {
	donor, recipient *countShard
	zone             int
	ideal, threshold int
}

func (p countPair) numbers() Numbers {
	n := Numbers{
		Unit:      UnitChunks,
		Donor:     int64(p.donor.chunksByZone[p.zone]),
		Ideal:     int64(p.ideal),
		Threshold: int64(p.threshold),
	}
	if p.recipient != nil {
		n.Recipient = int64(p.recipient.chunksByZone[p.zone])
	}
	return n
}

// reportNoDonor reports that no free shard has a chunk of a zone.
func (sel *countSelection) reportNoDonor(zone int) {
	sel.addDecision(Decision{
		Code: NoDonor, Reason: ReasonChunksImbalance, Zone: sel.layout.names[zone], Numbers: Numbers{Unit: UnitChunks},
	})
}

// rejectPair reports why a donor gives a recipient nothing; it always returns false.
func (sel *countSelection) rejectPair(code Code, p countPair) bool {
	if !sel.why.WantsDecisions() {
		return false
	}
	d := Decision{
		Code: code, Reason: ReasonChunksImbalance, Zone: sel.layout.names[p.zone],
		Shard: p.donor.ID, Numbers: p.numbers(),
	}
	if p.recipient != nil {
		d.Recipient = p.recipient.ID
	}
	if code == OnlyJumboChunks {
		d.Count = p.donor.chunksByZone[p.zone]
	}
	sel.addDecision(d)
	return false
}

// reportNoRecipient reports, with numbers, why shards can't receive chunks of a zone.
func (sel *countSelection) reportNoRecipient(donor *countShard, zone int, step Reason) {
	if !sel.why.WantsDecisions() {
		return
	}
	d := Decision{Code: NoRecipient, Reason: step, Shard: donor.ID, Zone: sel.layout.names[zone]}
	for i := range sel.shards {
		switch m := &sel.shards[i]; {
		case !sel.belongsToZone(m, zone):
			d.Ineligible.OutsideZone++
		case m.Full():
			d.Ineligible.Full++
		case m.Draining:
			d.Ineligible.Draining++
		case !m.free:
			d.Ineligible.Busy++
		}
	}
	sel.addDecision(d)
}

// reportFlagged reports the flagged chunks before the first chunk that may move.
func (sel *countSelection) reportFlagged(donor *countShard, zone int, step Reason) {
	if !sel.why.WantsDecisions() || sel.Table.JumboCount(donor.ID) == 0 {
		return
	}
	for c := range sel.layout.chunks(donor.ID, zone) {
		if c.Jumbo != catalog.JumboTrue {
			return
		}
		sel.addDecision(Decision{
			Code: JumboFlag, Reason: step, Shard: donor.ID, Zone: sel.layout.names[zone], Min: c.Min, Max: c.Max,
		})
	}
}
