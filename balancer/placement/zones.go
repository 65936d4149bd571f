package placement

import (
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
)

// CheckZones finds inconsistencies in the documents of config.tags of a sharded collection.
func CheckZones(coll catalog.Collection, docs []bson.Raw) (list []Finding) {
	type zone struct {
		catalog.ZoneRange
		doc bson.Raw
	}
	var zones []zone
	add := func(k FindingKind, doc bson.Raw, text string) {
		list = append(list, Finding{Kind: k, Namespace: coll.Namespace, Count: 1, Text: text,
			RepairCommands: commandsForZone(coll, doc)})
	}
	for _, doc := range docs {
		z, err := catalog.ParseZone(coll.Pattern, doc)
		name := fmt.Sprintf("zone %s, %s to %s", doc.Lookup("tag"), boundText(doc, "min"), boundText(doc, "max"))
		switch {
		case err != nil:
			add(ZoneInvalid, doc, name+": "+err.Error())
			continue
		case !z.Min.Less(z.Max):
			add(ZoneEmpty, doc, name+", holds no key")
			continue
		case endsBeforeGlobalMax(coll.Pattern, z.Max):
			add(ZoneEndsEarly, doc, name+", ends before the end of the key space: the balancer splits the last chunk there")
		}
		zones = append(zones, zone{z, doc})
	}
	slices.SortFunc(zones, func(a, b zone) int { return a.Min.Compare(b.Min) })
	last := 0 // the zone that ends last of those before
	for i := 1; i < len(zones); i++ {
		if zones[i].Min.Less(zones[last].Max) {
			add(ZoneOverlap, zones[i].doc, fmt.Sprintf("zone %s, from %s, begins before zone %s ends, at %s",
				zones[i].Zone, boundText(zones[i].doc, "min"), zones[last].Zone, boundText(zones[last].doc, "max")))
		}
		if zones[last].Max.Less(zones[i].Max) {
			last = i
		}
	}
	return list
}

// endsBeforeGlobalMax reports whether a bound is MaxKey in the first field but not in all fields: bounds that
// name only the first fields are extended by MinKey.
func endsBeforeGlobalMax(p catalog.KeyPattern, bound catalog.Key) bool {
	end := p.GlobalMax()
	if bound.Equal(end) {
		return false
	}
	values, last := bound.Values(), end.Values()
	return len(values) > 0 && values[0].Type == last[0].Type
}

func boundText(doc bson.Raw, name string) string {
	b, ok := doc.Lookup(name).DocumentOK()
	if !ok {
		return "?"
	}
	return humanize.Literal(b)
}
