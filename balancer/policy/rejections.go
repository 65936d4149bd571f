package policy

import "shardsh/balancer/catalog"

// rejectPair reports why the largest shard gives the smallest one nothing.
func (sel *selection) rejectPair(code Code, donor, recipient *member, zone int, n Numbers, flagged int) {
	if sel.why.Wants() {
		sel.decide(Decision{
			Code: code, Step: ReasonChunksImbalance, Zone: sel.layout.names[zone],
			Shard: donor.ID, Recipient: recipient.ID, Numbers: n, Count: flagged,
		})
	}
}

// rejectZone counts why each shard can't receive chunks of a zone.
func (sel *selection) rejectZone(donor catalog.ShardID, zone int, step Reason) {
	if !sel.why.Wants() {
		return
	}
	w := Decision{Code: NoRecipient, Step: step, Shard: donor, Zone: sel.layout.names[zone]}
	for i := range sel.members {
		switch m := &sel.members[i]; {
		case !sel.belongs(m, zone):
			w.Ineligible.OutsideZone++
		case m.Draining:
			w.Ineligible.Draining++
		case !m.measured:
			w.Ineligible.Unmeasured++
		case !m.free:
			w.Ineligible.Busy++
		}
	}
	sel.decide(w)
}
