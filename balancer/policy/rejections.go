package policy

import "shardsh/balancer/catalog"

// reportRejectedPair reports why the largest shard gives nothing to the smallest one.
func (sel *selection) reportRejectedPair(code Code, donor, recipient *roundShard, zone int, n Numbers, flagged int) {
	if sel.why.WantsDecisions() {
		sel.addDecision(Decision{
			Code: code, Reason: ReasonChunksImbalance, Zone: sel.layout.names[zone],
			Shard: donor.ID, Recipient: recipient.ID, Numbers: n, Count: flagged,
		})
	}
}

// reportNoRecipient reports, with numbers, why shards can't receive chunks of a zone.
func (sel *selection) reportNoRecipient(donor catalog.ShardID, zone int, step Reason) {
	if !sel.why.WantsDecisions() {
		return
	}
	w := Decision{Code: NoRecipient, Reason: step, Shard: donor, Zone: sel.layout.names[zone]}
	for i := range sel.roundShards {
		switch m := &sel.roundShards[i]; {
		case !sel.belongsToZone(m, zone):
			w.Ineligible.OutsideZone++
		case m.Draining:
			w.Ineligible.Draining++
		case !m.measured:
			w.Ineligible.Unmeasured++
		case !m.free:
			w.Ineligible.Busy++
		}
	}
	sel.addDecision(w)
}
