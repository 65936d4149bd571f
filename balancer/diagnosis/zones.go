package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Zone is a zone with its shards and its ranges.
type Zone struct {
	Name   string
	Shards []catalog.ShardID
	// DrainingShards counts the draining shards.
	DrainingShards int
	Ranges         []ZoneRange
}

// ZoneRange is a range of a zone.
type ZoneRange struct {
	Namespace string
	Min, Max  bson.Raw
}

// Zones returns all zones by name, with the ranges of one collection or, for an empty namespace, of all
// collections. With a namespace, zones without ranges are left out.
//
// Ranges come from the zones of the collections in the Snapshot. Ranges of other collections, such as
// those that are not sharded yet, come from the documents of config.tags.
func Zones(s *catalog.Snapshot, ns string) []Zone {
	byName := map[string]*Zone{}
	zone := func(name string) *Zone {
		if byName[name] == nil {
			byName[name] = &Zone{Name: name}
		}
		return byName[name]
	}
	for _, shard := range s.Shards() {
		for _, name := range shard.Zones {
			z := zone(name)
			z.Shards = append(z.Shards, shard.ID)
			if shard.Draining {
				z.DrainingShards++
			}
		}
	}
	for name, r := range zoneRanges(s) {
		if ns == "" || r.Namespace == ns {
			z := zone(name)
			z.Ranges = append(z.Ranges, r)
		}
	}
	var list []Zone
	for _, z := range byName {
		if ns == "" || len(z.Ranges) > 0 {
			list = append(list, *z)
		}
	}
	slices.SortFunc(list, func(a, b Zone) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// zoneRanges yields all ranges with the names of their zones, those of one
// collection in key order.
func zoneRanges(s *catalog.Snapshot) func(yield func(string, ZoneRange) bool) {
	return func(yield func(string, ZoneRange) bool) {
		for _, c := range s.Collections() {
			for _, r := range c.Zones.Ranges() {
				if !yield(r.Zone, ZoneRange{c.Namespace, c.Zones.Pattern().Bound(r.Min), c.Zones.Pattern().Bound(r.Max)}) {
					return
				}
			}
		}
		for _, doc := range s.Parts().Config["tags"] {
			var r ZoneRange
			r.Namespace, _ = doc.Lookup("ns").StringValueOK()
			name, _ := doc.Lookup("tag").StringValueOK()
			r.Min, _ = doc.Lookup("min").DocumentOK()
			r.Max, _ = doc.Lookup("max").DocumentOK()
			if c := s.Collection(r.Namespace); c != nil && c.Zones != nil {
				continue
			}
			if !yield(name, r) {
				return
			}
		}
	}
}

// Problem returns what is wrong with a zone; empty when the zone is valid.
func (z Zone) Problem() string {
	if len(z.Ranges) > 0 && len(z.Shards) == 0 {
		return "has ranges but no shard: their chunks do not move"
	}
	return ""
}

// OnlyShardFindings returns a finding for each zone with ranges of which the shard is the only one:
// servers refuse to remove the shard.
func OnlyShardFindings(s *catalog.Snapshot, shard catalog.ShardState) (list []Finding) {
	for _, z := range Zones(s, "") {
		if len(z.Ranges) == 0 || len(z.Shards) != 1 || z.Shards[0] != shard.ID {
			continue
		}
		var of []string
		for _, r := range z.Ranges {
			if !slices.Contains(of, r.Namespace) {
				of = append(of, r.Namespace)
			}
		}
		list = append(list, finding(OnlyShardOfZone, Scope{Shard: shard.ID, Zone: z.Name}, fmt.Sprintf(
			"shard %s is the only shard of zone %s, which has ranges of %s: it can't be removed",
			shard.ID, z.Name, humanize.AbbreviateCollections(of)), fmt.Sprintf("sh.addShardToZone(<shard>, %q)", z.Name)))
	}
	return list
}

// zoneFindings returns the findings about each zone.
func (d *Diagnosis) zoneFindings() (list []Finding) {
	for _, z := range Zones(d.Snapshot, "") {
		f, ok := zoneFinding(z)
		if ok {
			f.Numbers = countNumbers("ranges", int64(len(z.Ranges)), Number{Name: "shards", Value: int64(len(z.Shards))})
			list = append(list, f)
		}
	}
	for _, c := range Sharded(d.Snapshot) {
		list = append(list, emptyZoneFindings(c)...)
	}
	return slices.Concat(list, overlapFindings(d.Snapshot), earlyEndFindings(d.Snapshot))
}

// earlyEndFindings finds ranges that end before MaxKey although MaxKey was probably meant.
func earlyEndFindings(s *catalog.Snapshot) (list []Finding) {
	for zone, r := range zoneRanges(s) {
		end, early := catalog.IntendedUpperBound(r.Max)
		if c := s.Collection(r.Namespace); !early || c == nil || c.Unsplittable {
			continue
		}
		lower, upper := humanize.Literal(r.Min), humanize.Literal(r.Max)
		list = append(list, finding(ZoneEndsEarly, Scope{Namespace: r.Namespace, Zone: zone}, fmt.Sprintf(
			"a range of %s in zone %s ends at %s, before the last keys", r.Namespace, zone, upper),
			fmt.Sprintf("sh.removeRangeFromZone(%q, %s, %s)", r.Namespace, lower, upper),
			fmt.Sprintf("sh.updateZoneKeyRange(%q, %s, %s, %q)", r.Namespace, lower, humanize.Literal(end), zone)))
	}
	return list
}

// maxEmptyZones is the maximum number of empty ranges that are reported for a collection.
const maxEmptyZones = 5

// emptyZoneFindings finds ranges of zones without documents.
func emptyZoneFindings(c *catalog.CollectionState) (list []Finding) {
	for _, r := range c.Zones.Ranges() {
		if len(list) == maxEmptyZones || !slices.ContainsFunc(c.EmptyZones, r.Min.Equal) {
			continue
		}
		lower, upper := humanize.Literal(c.Pattern.Bound(r.Min)), humanize.Literal(c.Pattern.Bound(r.Max))
		f := finding(ZoneWithoutData, Scope{Namespace: c.Namespace, Zone: r.Zone},
			fmt.Sprintf("%s has no document in a range of zone %s: %s to %s", c.Namespace, r.Zone, lower, upper))
		f.InsteadOfWaiting = []string{fmt.Sprintf("sh.removeRangeFromZone(%q, %s, %s)", c.Namespace, lower, upper)}
		list = append(list, f)
	}
	return list
}

func zoneFinding(z Zone) (f Finding, ok bool) {
	scope := Scope{Zone: z.Name}
	another := fmt.Sprintf("sh.addShardToZone(<shard>, %q)", z.Name)
	switch {
	case z.Problem() != "":
		return finding(ZoneWithoutShards, scope, "zone "+z.Name+" "+z.Problem(), another), true
	case len(z.Ranges) == 0:
		return finding(ZoneWithoutRanges, scope, fmt.Sprintf("zone %s has no range: it has no effect", z.Name)), true
	case z.DrainingShards == len(z.Shards):
		return finding(ZoneDraining, scope, fmt.Sprintf("zone %s has only shards that are draining: %s",
			z.Name, humanize.Join(z.Shards, " ")), another), true
	}
	return f, false
}

// overlapFindings finds overlapping ranges in config.tags. A ZoneSet and the server both reject
// overlapping ranges, but users may write the documents by hand.
func overlapFindings(s *catalog.Snapshot) (list []Finding) {
	sets := map[string]*catalog.ZoneSet{}
	for _, doc := range s.Parts().Config["tags"] {
		ns, _ := doc.Lookup("ns").StringValueOK()
		c := s.Collection(ns)
		if c == nil || c.Pattern.IsZero() {
			continue
		}
		r, err := catalog.ParseZone(c.Pattern, doc)
		if err != nil {
			continue
		}
		if sets[ns] == nil {
			sets[ns] = catalog.NewZoneSet(c.Pattern)
		}
		if err := sets[ns].Add(r); err != nil {
			list = append(list, finding(ZoneRangesOverlap, Scope{Namespace: ns, Zone: r.Zone}, ns+": "+err.Error(),
				fmt.Sprintf("sh.removeRangeFromZone(%q, %s, %s)", ns, humanize.ValueLiteral(doc.Lookup("min")),
					humanize.ValueLiteral(doc.Lookup("max")))))
		}
	}
	return list
}
