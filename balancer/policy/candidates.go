package policy

import (
	"cmp"
	"slices"

	"shardsh/balancer/catalog"
)

// Candidates are what rounds can find in a collection, worked out once for all of
// them in which nothing of it changes: neither its chunks, zones and sizes nor
// the shards and settings. Asking it costs next to nothing, whatever the number
// of shards and chunks.
type Candidates struct {
	threshold int64
	layout    *zoneLayout
	numbering *numbering
	// unsure has every round look for itself.
	unsure bool
	// leaving are the shards that have chunks to give whatever the sizes: they
	// drain, or own chunks outside of their zones.
	leaving []int
	// donors, the largest first, and the recipients of zones, the smallest first,
	// are those that differ enough from one on the other side.
	donors []holder
	zones  []zoneCandidates
}

// zoneCandidates is a zone with something to even out.
type zoneCandidates struct {
	zone       int
	ideal      int64
	recipients []holder
	// donors are those of this zone alone, where the release asks for that.
	donors []holder
}

// holder is a shard with what the collection has on it.
type holder struct {
	shard  catalog.ShardID
	number int
	size   int64
}

// NewCandidates works out what SelectMigrations can choose for a collection. It is for
// rounds with the shards of this one, which Available.Next carries on.
func NewCandidates(s Situation, avail *Available) *Candidates {
	sel := newSelection(s, avail, nil)
	p := &Candidates{
		threshold: ImbalanceFactor * s.maxChunkSize(), layout: sel.layout, numbering: avail.numbering,
		unsure: s.Random != nil,
	}
	if s.may(ReasonZoneViolation) && s.Zones.Len() > 0 {
		for i, strays := range sel.strays() {
			if len(strays) > 0 {
				p.leaving = append(p.leaving, avail.of[sel.members[i].ID])
			}
		}
	}
	for i := range sel.members {
		m := &sel.members[i]
		if m.Draining && s.may(ReasonDrain) && s.Table.Count(m.ID) > 0 {
			p.leaving = append(p.leaving, avail.of[m.ID])
		}
		p.unsure = p.unsure || m.measured && m.size < 0
	}
	p.donors = sel.donors(sel.layout.noZone())
	if s.may(ReasonChunksImbalance) && len(p.donors) > 0 {
		for zone := range sel.layout.names {
			p.addZone(sel, zone)
		}
	}
	p.leaveOut()
	return p
}

// NoCandidates are those of a collection in which no round with these shards finds any.
func NoCandidates(avail *Available) *Candidates { return &Candidates{numbering: avail.numbering} }

// donors returns the shards that may give data of a zone, the largest first.
func (sel *selection) donors(zone int) []holder {
	list := []holder{}
	for i := range sel.members {
		if m := &sel.members[i]; sel.gives(m, zone) {
			list = append(list, holder{m.ID, sel.avail.of[m.ID], m.size})
		}
	}
	slices.SortFunc(list, func(a, b holder) int { return cmp.Compare(b.size, a.size) })
	return list
}

// leaveOut drops the donors that differ from no recipient enough.
func (p *Candidates) leaveOut() {
	n := 0
	for i := range p.zones {
		z := &p.zones[i]
		if z.donors != nil {
			z.donors = slices.Clone(z.donors[:countApart(z.donors, z.recipients[0].size, p.threshold)])
			continue
		}
		n = max(n, countApart(p.donors, z.recipients[0].size, p.threshold))
	}
	p.donors = slices.Clone(p.donors[:n])
}

// countApart counts the first of some donors that differ enough from a recipient.
func countApart(donors []holder, recipient, threshold int64) (n int) {
	for n < len(donors) && donors[n].size-recipient >= threshold {
		n++
	}
	return n
}

func (p *Candidates) addZone(sel *selection, zone int) {
	ideal, err := sel.ideal(zone)
	p.unsure = p.unsure || err != nil
	if ideal < 0 {
		return
	}
	z := zoneCandidates{zone: zone, ideal: ideal}
	donors := p.donors
	if sel.Release.DonorBelongsToZone() && zone != sel.layout.noZone() {
		z.donors = sel.donors(zone)
		donors = z.donors
	}
	if len(donors) == 0 {
		return
	}
	for i := range sel.members {
		m := &sel.members[i]
		if m.measured && !m.Draining && donors[0].size-m.size >= p.threshold && sel.belongs(m, zone) {
			z.recipients = append(z.recipients, holder{m.ID, sel.avail.of[m.ID], m.size})
		}
	}
	slices.SortFunc(z.recipients, func(a, b holder) int { return cmp.Compare(a.size, b.size) })
	if len(z.recipients) > 0 {
		p.zones = append(p.zones, z)
	}
}

// Possible reports whether SelectMigrations may choose something with the shards
// that are available. Where it is false, it chooses nothing.
func (p *Candidates) Possible(avail *Available) bool {
	if p.unsure || p.numbering != avail.numbering {
		return true
	}
	for _, n := range p.leaving {
		if avail.free[n] {
			return true
		}
	}
	for i := range p.zones {
		z := &p.zones[i]
		smallest := firstFree(z.recipients, avail)
		if len(smallest) == 0 {
			continue
		}
		donors := p.donors
		if z.donors != nil {
			donors = z.donors
		}
		largest := firstFree(donors, avail)
		if len(largest) == 0 {
			continue
		}
		from, to := largest[0].size, smallest[0].size
		if from > z.ideal && to < z.ideal && from-to >= p.threshold && p.gives(largest, z.zone, avail) {
			return true
		}
	}
	return false
}

// firstFree returns the rest of a list from the first available shard on.
func firstFree(list []holder, avail *Available) []holder {
	for i := range list {
		if avail.free[list[i].number] {
			return list[i:]
		}
	}
	return nil
}

// gives reports whether one of the available shards that have as much as the first
// of them has a chunk of a zone to give: which of equals does, the order of the
// round decides.
func (p *Candidates) gives(donors []holder, zone int, avail *Available) bool {
	for _, d := range donors {
		if d.size != donors[0].size {
			return false
		}
		if !avail.free[d.number] {
			continue
		}
		if _, ok := p.layout.firstUnflagged(d.shard, zone); ok {
			return true
		}
	}
	return false
}
