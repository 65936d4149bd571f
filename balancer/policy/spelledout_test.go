package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
)

// spelledOut is rules/01-selection §6.3 to §6.5 word for word, chunk by chunk, with no
// thought of speed: what SelectMigrations is compared with.
type spelledOut struct {
	Situation
	available map[catalog.ShardID]bool
	chunks    []catalog.Chunk
	moves     []string
	first     Reason
	log       []string
}

func (o *spelledOut) run() {
	o.first = ReasonNone
	o.chunks = slices.Collect(o.Table.All())
	if o.drain() && o.repair() {
		o.balance()
	}
}

func (o *spelledOut) left() int {
	n := 0
	for _, free := range o.available {
		if free {
			n++
		}
	}
	return n
}

func (o *spelledOut) least(zone string) (catalog.Shard, bool) {
	best, found := catalog.Shard{}, false
	for _, s := range o.Shards {
		size, measured := o.Sizes.ByShard[s.ID]
		if !o.available[s.ID] || s.Draining || zone != "" && !s.HasZone(zone) || !measured {
			continue
		}
		if !found || size < o.Sizes.ByShard[best.ID] {
			best, found = s, true
		}
	}
	return best, found
}

func (o *spelledOut) most(zone string) (catalog.Shard, bool) {
	best, found := catalog.Shard{}, false
	for _, s := range o.Shards {
		size, measured := o.Sizes.ByShard[s.ID]
		gives := zone == "" || s.HasZone(zone) || !o.late(6) && !o.fixed80()
		if o.late(0) && s.Draining {
			gives = false
		}
		if gives && o.available[s.ID] && measured && (!found || size > o.Sizes.ByShard[best.ID]) {
			best, found = s, true
		}
	}
	return best, found
}

// inZone are the chunks of a shard in a zone, zonesOf its zones by first chunk.
func (o *spelledOut) inZone(s catalog.ShardID, zone string) []catalog.Chunk {
	var chunks []catalog.Chunk
	for _, c := range o.chunks {
		if c.Shard == s && o.Zones.ZoneOf(c.Min, c.Max) == zone {
			chunks = append(chunks, c)
		}
	}
	return chunks
}

func (o *spelledOut) zonesOf(s catalog.ShardID) []string {
	var zones []string
	for _, c := range o.chunks {
		if zone := o.Zones.ZoneOf(c.Min, c.Max); c.Shard == s && !slices.Contains(zones, zone) {
			zones = append(zones, zone)
		}
	}
	return zones
}

func (o *spelledOut) take(s, d catalog.Shard, c catalog.Chunk, reason Reason, force ForceJumbo) {
	switch {
	case reason == ReasonDrain && o.late(6): // inferred for 8.2.6 and 8.3, read for 9.0
		force = ForceNone
	case o.ForceJumbo:
		force = ForceBalancer
	}
	o.moves = append(o.moves, fmt.Sprintf("%s→%s at %s, force %d", s.ID, d.ID, show(c.Min), force))
	o.available[s.ID], o.available[d.ID] = false, false
	if o.first == ReasonNone {
		o.first = reason
	}
}

// late is from a patch of 8.2 on, fixed80 from 8.0.20 on in its line.
func (o *spelledOut) late(patch int) bool {
	n, _ := o.Release.Patch()
	return o.Release.Line() == catalog.Release82 && n >= patch || o.Release.FCVAtLeast(catalog.Release83)
}

func (o *spelledOut) fixed80() bool {
	n, _ := o.Release.Patch()
	return o.Release.Line() == catalog.Release80 && n >= 20
}

func (o *spelledOut) drain() bool {
	for _, s := range o.Shards {
		if !s.Draining || !o.available[s.ID] {
			continue
		}
		flagged := 0
	chunks:
		for _, zone := range o.zonesOf(s.ID) {
			for _, c := range o.inZone(s.ID, zone) {
				if c.Jumbo == catalog.JumboTrue {
					flagged++
					continue
				}
				if d, ok := o.least(zone); ok {
					o.take(s, d, c, ReasonDrain, ForceBalancer)
					break chunks
				}
				if o.late(0) {
					break
				}
			}
		}
		if len(o.moves) == 0 {
			o.log = append(o.log, fmt.Sprintf("[21890 %s %d]", s.ID, flagged))
		}
		if o.left() < 2 {
			return false
		}
	}
	return true
}

func (o *spelledOut) repair() bool {
	if o.Zones.Len() == 0 {
		return true
	}
	for _, s := range o.Shards {
		if !o.available[s.ID] || o.late(0) && s.Draining {
			continue
		}
	chunks:
		for _, zone := range o.zonesOf(s.ID) {
			if zone == "" || s.HasZone(zone) {
				continue
			}
			for _, c := range o.inZone(s.ID, zone) {
				if c.Jumbo == catalog.JumboTrue {
					o.log = append(o.log, fmt.Sprintf("[21891 %s %s]", show(c.Min), zone))
					continue
				}
				if d, ok := o.least(zone); ok {
					o.take(s, d, c, ReasonZoneViolation, ForceNone)
					break chunks
				}
				if o.late(0) {
					break
				}
			}
		}
		if o.left() < 2 {
			return false
		}
	}
	return true
}

func (o *spelledOut) balance() {
	for _, zone := range append(slices.Clone(o.Zones.Names()), "") {
		var total, members int64
		for _, s := range o.Shards {
			size, measured := o.Sizes.ByShard[s.ID]
			if measured && (zone == "" || s.HasZone(zone)) {
				total += size
				members++
			}
		}
		if members == 0 && zone != "" {
			o.log = append(o.log, fmt.Sprintf("[21893 %s]", zone))
		}
		if members == 0 || total == 0 {
			continue
		}
		for o.pair(zone, total/members) {
		}
	}
}

func (o *spelledOut) pair(zone string, ideal int64) bool {
	s, ok := o.most(zone)
	if !ok {
		return false
	}
	d, ok := o.least(zone)
	if !ok {
		if len(o.moves) == 0 {
			o.log = append(o.log, fmt.Sprintf("[6581600 %s]", zone))
		}
		return false
	}
	from, to := o.Sizes.ByShard[s.ID], o.Sizes.ByShard[d.ID]
	if s.ID == d.ID || from <= ideal || to >= ideal || from-to < 3*o.Sizes.MaxChunkSizeBytes {
		return false
	}
	flagged := 0
	for _, c := range o.inZone(s.ID, zone) {
		if c.Jumbo == catalog.JumboTrue {
			flagged++
			continue
		}
		o.take(s, d, c, ReasonChunksImbalance, ForceNone)
		return true
	}
	if flagged > 0 {
		o.log = append(o.log, fmt.Sprintf("[6581602 %s %s %d]", s.ID, zone, flagged))
	}
	return false
}

// cluster draws a collection: up to 6 shards in up to 3 zones, up to 24 chunks
// of 10 keys, zone ranges along chunk boundaries, sizes that often tie.
func cluster(t *rapid.T, tb testing.TB) Situation {
	shards := rapid.IntRange(1, 6).Draw(t, "shards")
	chunks := rapid.IntRange(1, 24).Draw(t, "chunks")
	zones := strings.Split("EU US X", " ")[:rapid.IntRange(0, 3).Draw(t, "zones")]
	jumbo := rapid.SampledFrom([]int{0, 1, 5, 9}).Draw(t, "flagged in ten")
	yes := func(label string, inTen int) bool { return rapid.IntRange(0, 9).Draw(t, label) < inTen }

	sit := Situation{Namespace: "db.c", ForceJumbo: yes("attempt", 2), Release: rapid.SampledFrom(afterTheSpec()).Draw(t, "release")}
	sit.Sizes.ByShard = map[catalog.ShardID]int64{}
	sit.Sizes.MaxChunkSizeBytes = 10
	for i := range shards {
		s := catalog.Shard{ID: catalog.ShardID('a' + rune(i)), Draining: yes("draining", 2)}
		for _, z := range zones {
			if yes("in "+z, 4) {
				s.Zones = append(s.Zones, z)
			}
		}
		sit.Shards = append(sit.Shards, s)
	}

	bound := func(i int) any {
		switch i {
		case 0:
			return "Min"
		case chunks:
			return "Max"
		}
		return 10 * i
	}
	var tuples []tuple
	for i := range chunks {
		owner := string(rapid.SampledFrom(sit.Shards).Draw(t, "owner").ID)
		c := tuple{owner, bound(i), bound(i + 1)}
		if yes("flagged", jumbo) {
			c = append(c, "jumbo")
		}
		tuples = append(tuples, c)
	}
	sit.Table = table(tb, tuples)

	sit.Zones = catalog.NewZoneSet(pattern(tb))
	for at := 0; len(zones) > 0 && at < chunks; {
		end := rapid.IntRange(at+1, chunks).Draw(t, "stretch")
		if yes("zoned", 6) {
			r := catalog.ZoneRange{Min: key(tb, bound(at)), Max: key(tb, bound(end)), Zone: rapid.SampledFrom(zones).Draw(t, "zone")}
			if err := sit.Zones.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		at = end
	}
	return sit
}

// The fast selection chooses, gives as reason and logs what the words of the
// spec do.
func TestSelectionIsTheSpecSpelledOut(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sit := cluster(rt, t)
		available := NewAvailableShards(sit.Shards)
		o := spelledOut{Situation: sit, available: map[catalog.ShardID]bool{}}
		for _, s := range sit.Shards {
			if rapid.IntRange(0, 9).Draw(rt, "measured") > 0 {
				sit.Sizes.ByShard[s.ID] = rapid.Int64Range(0, 12).Draw(rt, "size") * 10
			}
			o.available[s.ID] = rapid.IntRange(0, 9).Draw(rt, "available") > 0
			if !o.available[s.ID] {
				available.Take(s.ID)
			}
		}
		o.run()

		// Without a report flagged chunks are passed over in another way.
		unreported := NewAvailableShards(sit.Shards)
		for _, s := range sit.Shards {
			if !available.IsFree(s.ID) {
				unreported.Take(s.ID)
			}
		}
		silent, silentFirst, err := SelectMigrations(sit, unreported, nil)
		if err != nil || silentFirst != o.first || !slices.Equal(choices(silent), append([]string{}, o.moves...)) {
			rt.Fatalf("without a report chose %v for %s, want %v for %s: %v", choices(silent), silentFirst, o.moves, o.first, err)
		}

		var why Report
		got, first, err := SelectMigrations(sit, available, &why)
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(choices(got), append([]string{}, o.moves...)) {
			rt.Fatalf("chose %v, want %v", choices(got), o.moves)
		}
		if first != o.first {
			rt.Fatalf("first reason %s, want %s", first, o.first)
		}
		if !slices.Equal(logged(&why), append([]string{}, o.log...)) {
			rt.Fatalf("logged %v, want %v", logged(&why), o.log)
		}
		for _, s := range sit.Shards {
			if available.IsFree(s.ID) != o.available[s.ID] {
				rt.Fatalf("shard %s available: %v", s.ID, available.IsFree(s.ID))
			}
		}
	})
}
