package policy

import (
	"slices"

	"shardsh/balancer/catalog"
)

// What any balancer has to move: a problem of transport for each collection.
//
// Goods are the bytes of each zone that may move at all; flagged chunks and
// those that a donor would refuse are ballast where they are. A shard may get
// goods of a zone if it is of the zone, does not drain, and has a size entry.
// What such a shard has already may stay there; all else must go. Goods of a
// zone that no shard may get stay where they are.
//
// Goods are taken for a fluid, so that the bound holds whatever pieces they
// move in.

// haul is the transport problem of one collection.
type haul struct {
	receivers []catalog.Shard
	ballast   []int64   // by receiver: bytes that don't move
	staying   [][]int64 // by receiver and zone: bytes that may stay
	zones     []string
	goods     []int64 // by zone: bytes that some receiver has at the end
}

func newHaul(shards []catalog.Shard, unmeasured map[catalog.ShardID]bool, freights []freight) *haul {
	h := &haul{}
	for _, s := range shards {
		if !s.Draining && !unmeasured[s.ID] {
			h.receivers = append(h.receivers, s)
		}
	}
	h.ballast = make([]int64, len(h.receivers))
	h.staying = make([][]int64, len(h.receivers))
	for _, f := range freights {
		at := slices.IndexFunc(h.receivers, func(s catalog.Shard) bool { return s.ID == f.from.ID })
		zone := h.zone(f.zone)
		// A drain is forced, so nothing is refused to it.
		stuck := f.flagged || f.refused && !f.from.Draining || !h.open(f.zone)
		switch {
		case stuck && at >= 0:
			h.ballast[at] += f.bytes
		case stuck:
		case at < 0 && !f.from.Draining && !f.outside:
			// Nothing asks the unmeasured shard to give it away.
		default:
			h.goods[zone] += f.bytes
			if at >= 0 && !f.outside {
				h.staying[at][zone] += f.bytes
			}
		}
	}
	return h
}

// zone is the number of a zone.
func (h *haul) zone(name string) int {
	at := slices.Index(h.zones, name)
	if at < 0 {
		at = len(h.zones)
		h.zones, h.goods = append(h.zones, name), append(h.goods, 0)
		for i := range h.staying {
			h.staying[i] = append(h.staying[i], 0)
		}
	}
	return at
}

// open tells whether any shard may get goods of a zone.
func (h *haul) open(zone string) bool {
	return slices.ContainsFunc(h.receivers, func(s catalog.Shard) bool { return zone == catalog.NoZone || s.HasZone(zone) })
}

// ship moves the goods so that no receiver has more than its size at the end,
// and gives the bytes that change shards; false when it can't be done.
func (h *haul) ship(sizes []int64) (bytes int64, possible bool) {
	first := 2 + len(h.receivers)
	t := newTransport(first + len(h.zones))
	var total int64
	for z, name := range h.zones {
		total += h.goods[z]
		t.edge(source, first+z, h.goods[z], 0)
		for i, s := range h.receivers {
			if name == catalog.NoZone || s.HasZone(name) {
				t.edge(first+z, 2+i, h.staying[i][z], 0)
				t.edge(first+z, 2+i, h.goods[z], 1)
			}
		}
	}
	for i, size := range sizes {
		t.edge(2+i, sink, max(0, size-h.ballast[i]), 0)
	}
	sent, bytes := t.send()
	return bytes, sent == total
}

// fair are the sizes of the receivers as even as zones and ballast let them be:
// the largest is as small as can be, then the next largest, and so on.
func (h *haul) fair() []int64 {
	sizes := make([]int64, len(h.receivers))
	var total int64
	for _, n := range h.goods {
		total += n
	}
	for _, n := range h.ballast {
		total += n
	}
	for i := range sizes {
		sizes[i] = -1 // not decided
	}
	// at gives those not decided this size.
	at := func(level int64) []int64 {
		trial := slices.Clone(sizes)
		for i := range trial {
			if trial[i] < 0 {
				trial[i] = max(level, h.ballast[i])
			}
		}
		return trial
	}
	for slices.Contains(sizes, -1) {
		low, high := int64(-1), total // possible at high, not at low
		for low+1 < high {
			mid := (low + high) / 2
			if _, possible := h.ship(at(mid)); possible {
				high = mid
			} else {
				low = mid
			}
		}
		// Those that can't have one byte less are decided.
		trial, decided := at(high), false
		for i := range sizes {
			if sizes[i] >= 0 {
				continue
			}
			if trial[i] > h.ballast[i] {
				trial[i]--
				if _, possible := h.ship(trial); possible {
					continue
				}
				trial[i]++
				sizes[i], decided = trial[i], true
			}
		}
		if !decided { // the rest have ballast only
			return at(high)
		}
	}
	return sizes
}
