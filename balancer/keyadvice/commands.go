package keyadvice

import (
	"fmt"
	"strings"

	"shardsh/balancer/humanize"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// commands returns the commands for a key.
func commands(f Facts, c Candidate) []string {
	if c.Key.Equal(f.Current) {
		return nil
	}
	var list []string
	database, name, _ := strings.Cut(f.Namespace, ".")
	ns := humanize.TextLiteral(f.Namespace)
	if c.Index == "" {
		list = append(list, fmt.Sprintf("db.getSiblingDB(%s).getCollection(%s).createIndex(%s)",
			humanize.TextLiteral(database),
			humanize.TextLiteral(name), c.Key))
	}
	switch {
	case len(f.Current) == 0:
		list = append(list, f.zoneRangeCommands(c.Key)...)
		return append(list, fmt.Sprintf("sh.shardCollection(%s, %s)", ns, c.Key))
	case c.Key.extends(f.Current) && f.Release.FCVAtLeast(catalog.Release44):
		return append(list, fmt.Sprintf("sh.refineCollectionShardKey(%s, %s)", ns, c.Key))
	case f.Release.FCVAtLeast(catalog.Release50):
		return append(list, fmt.Sprintf("sh.reshardCollection(%s, %s)", ns, c.Key))
	}
	return nil
}

// zoneRangeCommands returns the commands that extend the ranges of zones to all fields of a key:
// servers shard a collection only by exactly the fields of its zone ranges.
func (f Facts) zoneRangeCommands(k ShardKey) (list []string) {
	ns := humanize.TextLiteral(f.Namespace)
	for _, z := range f.ZoneRanges {
		low, okLow := extendBound(z.Min, k)
		high, okHigh := extendBound(z.Max, k)
		if !okLow || !okHigh {
			continue
		}
		list = append(list, fmt.Sprintf("sh.removeRangeFromZone(%s, %s, %s)", ns, humanize.Literal(z.Min),
			humanize.Literal(z.Max)),
			fmt.Sprintf("sh.updateZoneKeyRange(%s, %s, %s, %s)", ns, humanize.Literal(low), humanize.Literal(high),
				humanize.TextLiteral(z.Name)))
	}
	return list
}

// extendBound adds MinKey for the fields of a key that a bound lacks. It reports whether the bound is a
// proper prefix of the key.
func extendBound(bound bson.Raw, k ShardKey) (bson.Raw, bool) {
	elements, err := bound.Elements()
	if err != nil || len(elements) >= len(k) {
		return nil, false
	}
	doc := bson.D{}
	for i, p := range k {
		if i >= len(elements) {
			doc = append(doc, bson.E{Key: p.Name, Value: bson.MinKey{}})
			continue
		}
		if elements[i].Key() != p.Name {
			return nil, false
		}
		doc = append(doc, bson.E{Key: p.Name, Value: elements[i].Value()})
	}
	raw, err := bson.Marshal(doc)
	return raw, err == nil
}
