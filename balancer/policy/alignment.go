package policy

import (
	"iter"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// CheckAligned returns IllegalOperation for the first zone boundary that lies inside a chunk. In that
// case no chunk of the collection moves in this round, not even off a draining shard
// (rules/01-selection §6.1.3).
func CheckAligned(t *catalog.RoutingTable, z *catalog.ZoneSet) error {
	for point, zone := range misalignedBounds(t, z) {
		c := t.Find(point)
		return mongoerr.New(mongoerr.IllegalOperation,
			"boundary %s of zone %s lies inside the chunk %s -->> %s",
			t.Pattern().Bound(point), zone, t.Pattern().Bound(c.Min), t.Pattern().Bound(c.Max))
	}
	return nil
}

// misalignedBounds returns the zone boundaries that are not chunk boundaries in ascending order, with
// their zones. A boundary of two zones is returned twice.
func misalignedBounds(t *catalog.RoutingTable, z *catalog.ZoneSet) iter.Seq2[catalog.Key, string] {
	return func(yield func(catalog.Key, string) bool) {
		end := t.Pattern().GlobalMax()
		for _, r := range z.Ranges() {
			if !t.HasLowerBound(r.Min) && !yield(r.Min, r.Zone) {
				return
			}
			if !r.Max.Less(end) {
				return
			}
			if !t.HasLowerBound(r.Max) && !yield(r.Max, r.Zone) {
				return
			}
		}
	}
}
