package policy

import (
	"iter"
	"sort"

	"shardsh/balancer/catalog"
)

// zoneLayout contains the normalised zones of a collection (rules/01-rounds-and-settings §4.4): the
// zone ranges in key order, with every gap filled by an interval of NoZone. Zones are represented by
// numbers: the index in the ascending list of names, and the last number for NoZone. This is also the
// order in which zones are balanced.
//
// Zone boundaries must be chunk boundaries (CheckAligned), so that every chunk is in exactly one
// interval.
type zoneLayout struct {
	table     *catalog.RoutingTable
	names     []string // by number
	intervals []interval
	byZone    [][]int // zone number -> its intervals in key order
}

type interval struct {
	min, max catalog.Key
	zone     int
}

func newZoneLayout(t *catalog.RoutingTable, z *catalog.ZoneSet) *zoneLayout {
	l := &zoneLayout{table: t}
	names, ranges := z.Names(), z.Ranges()
	l.names = append(append(make([]string, 0, len(names)+1), names...), catalog.NoZone)
	l.byZone = make([][]int, len(l.names))
	l.intervals = make([]interval, 0, 2*len(ranges)+1)

	at, end := t.Pattern().GlobalMin(), t.Pattern().GlobalMax()
	for _, r := range ranges {
		if at.Less(r.Min) {
			l.add(interval{at, r.Min, l.noZone()})
		}
		l.add(interval{r.Min, r.Max, sort.SearchStrings(names, r.Zone)})
		at = r.Max
	}
	if at.Less(end) {
		l.add(interval{at, end, l.noZone()})
	}
	return l
}

func (l *zoneLayout) add(s interval) {
	l.byZone[s.zone] = append(l.byZone[s.zone], len(l.intervals))
	l.intervals = append(l.intervals, s)
}

// noZone returns the number of NoZone.
func (l *zoneLayout) noZone() int { return len(l.names) - 1 }

// zonesOf returns the zones in which a shard owns chunks, in the order of the first chunk that it owns
// in each zone.
//
// It searches interval by interval, so its cost depends on the number of intervals and not on the
// number of chunks.
func (l *zoneLayout) zonesOf(shard catalog.ShardID) iter.Seq[int] {
	return func(yield func(int) bool) {
		tried := make([]bool, len(l.names))
		for i := 0; i < len(l.intervals); i++ {
			if tried[l.intervals[i].zone] {
				continue
			}
			c, ok := l.firstOwned(shard, l.intervals[i].min)
			if !ok {
				return
			}
			i += sort.Search(len(l.intervals)-i-1, func(k int) bool { return c.Min.Less(l.intervals[i+k].max) })
			zone := l.intervals[i].zone
			if tried[zone] {
				continue
			}
			tried[zone] = true
			if !yield(zone) {
				return
			}
		}
	}
}

// chunks returns the chunks that a shard owns in a zone, in key order across all ranges of the zone.
func (l *zoneLayout) chunks(shard catalog.ShardID, zone int) iter.Seq[catalog.Chunk] {
	return func(yield func(catalog.Chunk) bool) {
		own := l.byZone[zone]
		for i := 0; i < len(own); i++ {
			// Find the next interval that contains chunks of the shard.
			c, ok := l.firstOwned(shard, l.intervals[own[i]].min)
			if !ok {
				return
			}
			i += sort.Search(len(own)-i, func(k int) bool { return c.Min.Less(l.intervals[own[i+k]].max) })
			if i == len(own) {
				return
			}
			s := l.intervals[own[i]]
			for c := range l.table.OwnedChunks(shard, s.min, s.max) {
				if !yield(c) {
					return
				}
			}
		}
	}
}

// firstNonJumbo returns the first of chunks(shard, zone) without the jumbo flag. It reads no other
// chunk of the zone.
func (l *zoneLayout) firstNonJumbo(shard catalog.ShardID, zone int) (catalog.Chunk, bool) {
	own := l.byZone[zone]
	if len(own) == 0 {
		return catalog.Chunk{}, false
	}
	end := l.intervals[own[len(own)-1]].max
	for {
		c, ok := l.table.FirstNonJumbo(shard, l.intervals[own[0]].min, end)
		if !ok {
			return catalog.Chunk{}, false
		}
		// If the chunk is not in the zone, its bounds tell which intervals can be skipped.
		own = own[sort.Search(len(own)-1, func(k int) bool { return c.Min.Less(l.intervals[own[k]].max) }):]
		if l.intervals[own[0]].min.Less(c.Max) {
			return c, true
		}
	}
}

// firstOwned returns the first chunk of a shard at or above a chunk boundary.
func (l *zoneLayout) firstOwned(shard catalog.ShardID, from catalog.Key) (catalog.Chunk, bool) {
	for c := range l.table.OwnedChunks(shard, from, catalog.Key{}) {
		return c, true
	}
	return catalog.Chunk{}, false
}
