package policy

import (
	"cmp"
	"slices"

	"shardsh/balancer/catalog"
)

// Candidates is a precomputed summary of what rounds can choose in a collection. It is valid as long as
// the collection's chunks, zones and sizes, the shards and the settings do not change. Its queries are
// fast whatever the number of shards and chunks.
type Candidates struct {
	threshold int64
	layout    *zoneLayout
	numbering *numbering
	// alwaysSelect says that there is no summary: every round has to run the selection.
	alwaysSelect bool
	// mustGive contains the shards that must give chunks regardless of sizes: draining shards, and
	// shards with chunks outside of their zones.
	mustGive []int
	// donors, the largest first, and the recipients of zones, the smallest first, are the shards whose
	// sizes differ enough from a shard on the other side.
	donors []shardSize
	zones  []zoneCandidates
}

// zoneCandidates is a zone that may need balancing.
type zoneCandidates struct {
	zone       int
	ideal      int64
	recipients []shardSize
	// donors are the donors of this zone only, in releases that require donors in the zone.
	donors []shardSize
}

// shardSize is a shard with the collection's size on it.
type shardSize struct {
	shard  catalog.ShardID
	number int
	size   int64
}

// NewCandidates computes what SelectMigrations can choose for a collection. It is valid for rounds with
// the same shards, which AvailableShards.ForNextRound continues.
func NewCandidates(s Situation, avail *AvailableShards) *Candidates {
	sel := newSelection(s, avail, nil)
	p := &Candidates{
		threshold: ImbalanceFactor * s.maxChunkSize(), layout: sel.layout, numbering: avail.numbering,
		alwaysSelect: s.RandomMoveSource != nil,
	}
	if s.allows(ReasonZoneViolation) && s.Zones.Len() > 0 {
		for i, strays := range sel.findZoneViolations() {
			if len(strays) > 0 {
				p.mustGive = append(p.mustGive, avail.index[sel.roundShards[i].ID])
			}
		}
	}
	for i := range sel.roundShards {
		m := &sel.roundShards[i]
		if m.Draining && s.allows(ReasonDrain) && s.Table.CountOn(m.ID) > 0 {
			p.mustGive = append(p.mustGive, avail.index[m.ID])
		}
		p.alwaysSelect = p.alwaysSelect || m.measured && m.size < 0
	}
	p.donors = sel.donors(sel.layout.noZone())
	if s.allows(ReasonChunksImbalance) && len(p.donors) > 0 {
		for zone := range sel.layout.names {
			p.addZone(sel, zone)
		}
	}
	p.pruneDonors()
	return p
}

// NoCandidates returns the Candidates of a collection in which no round with these shards chooses
// anything.
func NoCandidates(avail *AvailableShards) *Candidates { return &Candidates{numbering: avail.numbering} }

// donors returns the shards that may give data of a zone, the largest first.
func (sel *selection) donors(zone int) []shardSize {
	list := []shardSize{}
	for i := range sel.roundShards {
		if m := &sel.roundShards[i]; sel.mayDonate(m, zone) {
			list = append(list, shardSize{m.ID, sel.avail.index[m.ID], m.size})
		}
	}
	slices.SortFunc(list, func(a, b shardSize) int { return cmp.Compare(b.size, a.size) })
	return list
}

// pruneDonors removes the donors that are not far enough above any recipient.
func (c *Candidates) pruneDonors() {
	n := 0
	for i := range c.zones {
		z := &c.zones[i]
		if z.donors != nil {
			z.donors = slices.Clone(z.donors[:countFarApart(z.donors, z.recipients[0].size, c.threshold)])
			continue
		}
		n = max(n, countFarApart(c.donors, z.recipients[0].size, c.threshold))
	}
	c.donors = slices.Clone(c.donors[:n])
}

// countFarApart returns the number of donors, from the first, that differ enough from a recipient.
func countFarApart(donors []shardSize, recipient, threshold int64) (n int) {
	for n < len(donors) && donors[n].size-recipient >= threshold {
		n++
	}
	return n
}

func (c *Candidates) addZone(sel *selection, zone int) {
	ideal, err := sel.ideal(zone)
	c.alwaysSelect = c.alwaysSelect || err != nil
	if ideal < 0 {
		return
	}
	z := zoneCandidates{zone: zone, ideal: ideal}
	donors := c.donors
	if sel.Release.DonorBelongsToZone() && zone != sel.layout.noZone() {
		z.donors = sel.donors(zone)
		donors = z.donors
	}
	if len(donors) == 0 {
		return
	}
	for i := range sel.roundShards {
		m := &sel.roundShards[i]
		if m.measured && !m.Draining && donors[0].size-m.size >= c.threshold && sel.belongsToZone(m, zone) {
			z.recipients = append(z.recipients, shardSize{m.ID, sel.avail.index[m.ID], m.size})
		}
	}
	slices.SortFunc(z.recipients, func(a, b shardSize) int { return cmp.Compare(a.size, b.size) })
	if len(z.recipients) > 0 {
		c.zones = append(c.zones, z)
	}
}

// MayChoose reports whether SelectMigrations may choose something with the available shards. If it
// returns false, SelectMigrations chooses nothing.
func (c *Candidates) MayChoose(avail *AvailableShards) bool {
	if c.alwaysSelect || c.numbering != avail.numbering {
		return true
	}
	for _, n := range c.mustGive {
		if avail.free[n] {
			return true
		}
	}
	for i := range c.zones {
		z := &c.zones[i]
		smallest := fromFirstFree(z.recipients, avail)
		if len(smallest) == 0 {
			continue
		}
		donors := c.donors
		if z.donors != nil {
			donors = z.donors
		}
		largest := fromFirstFree(donors, avail)
		if len(largest) == 0 {
			continue
		}
		from, to := largest[0].size, smallest[0].size
		if from > z.ideal && to < z.ideal && from-to >= c.threshold && c.canGive(largest, z.zone, avail) {
			return true
		}
	}
	return false
}

// fromFirstFree returns the rest of a slice from the first available shard on.
func fromFirstFree(list []shardSize, avail *AvailableShards) []shardSize {
	for i := range list {
		if avail.free[list[i].number] {
			return list[i:]
		}
	}
	return nil
}

// canGive reports whether one of the largest available shards has a chunk of a zone to give. Among
// equally large shards, the order of the round decides.
func (c *Candidates) canGive(donors []shardSize, zone int, avail *AvailableShards) bool {
	for _, d := range donors {
		if d.size != donors[0].size {
			return false
		}
		if !avail.free[d.number] {
			continue
		}
		if _, ok := c.layout.firstNonJumbo(d.shard, zone); ok {
			return true
		}
	}
	return false
}
