package whatif

import (
	"errors"
	"fmt"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/humanize"
)

func zoneKinds() []ChangeKind {
	return []ChangeKind{
		{"zone", "Adds a shard, or a range of a collection, to a zone.",
			`zone shop.orders '{"customer": 0}' '{"customer": 100}' EU`, []usageForm{
				{"SHARD ZONE", func(w []string) (edit, error) { return addToZone(catalog.ShardID(w[0]), w[1]), nil }},
				{"NS MIN MAX ZONE", func(w []string) (edit, error) { return newRangeEdit(w[0], w[1], w[2], w[3], addRange) }},
			}},
		{"unzone", "Removes a shard, or a range of a collection, from a zone.",
			"unzone shard2 EU", []usageForm{
				{"SHARD ZONE", func(w []string) (edit, error) { return removeFromZone(catalog.ShardID(w[0]), w[1]), nil }},
				{"NS MIN MAX", func(w []string) (edit, error) { return newRangeEdit(w[0], w[1], w[2], "", removeRange) }},
			}},
	}
}

func addToZone(id catalog.ShardID, zone string) edit {
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		shard, err := findShard(s, id)
		if err != nil || shard.HasZone(zone) {
			return s, err
		}
		shard.Zones = append(slices.Clone(shard.Zones), zone)
		return s.WithShard(shard), nil
	}
}

func removeFromZone(id catalog.ShardID, zone string) edit {
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		shard, err := findShard(s, id)
		if err != nil {
			return nil, err
		}
		if !shard.HasZone(zone) {
			return nil, fmt.Errorf("%s is not in the zone %s", id, zone)
		}
		shard.Zones = slices.DeleteFunc(slices.Clone(shard.Zones), func(z string) bool { return z == zone })
		next := s.WithShard(shard)
		if slices.ContainsFunc(next.Shards(), func(o catalog.ShardState) bool { return o.HasZone(zone) }) {
			return next, nil
		}
		for _, c := range s.Collections() {
			if slices.Contains(c.Zones.Names(), zone) {
				return nil, fmt.Errorf("it is the last shard of the zone, with ranges of %s: unzone those first", c.Namespace)
			}
		}
		return next, nil
	}
}

// findSharded returns a sharded collection of the cluster with known chunks, or an error.
func findSharded(s *catalog.Snapshot, ns string) (*catalog.CollectionState, error) {
	if err := diagnosis.CheckScope(s, diagnosis.Scope{Namespace: ns}); err != nil {
		return nil, err
	}
	c := s.Collection(ns)
	if c.Table == nil {
		return nil, fmt.Errorf("the chunks of %s were not read", ns)
	}
	return c, nil
}

// newRangeEdit returns an edit of the zone ranges of a collection.
func newRangeEdit(
	ns, lower, upper, zone string, do func(*catalog.Snapshot, *catalog.CollectionState, catalog.ZoneRange) (
		*catalog.ZoneSet, error),
) (edit, error) {
	var bounds [2]bson.Raw
	for i, word := range []string{lower, upper} {
		doc, err := parseDocument(word)
		if err != nil {
			return nil, err
		}
		bounds[i] = doc
	}
	return func(s *catalog.Snapshot) (*catalog.Snapshot, error) {
		c, err := findSharded(s, ns)
		if err != nil {
			return nil, err
		}
		r := catalog.ZoneRange{Zone: zone}
		for i, to := range []*catalog.Key{&r.Min, &r.Max} {
			if *to, err = c.Pattern.ExtendBound(bounds[i]); err != nil {
				return nil, fmt.Errorf("%s: %w; the shard key of %s is %s", humanize.Literal(bounds[i]), err, ns, c.Pattern)
			}
		}
		zones, err := do(s, c, r)
		if err != nil {
			return nil, err
		}
		return s.WithCollection(c.WithZones(zones)), nil
	}, nil
}

// parseDocument parses extended JSON.
func parseDocument(word string) (doc bson.Raw, err error) {
	if err := bson.UnmarshalExtJSON([]byte(word), false, &doc); err != nil {
		return nil, fmt.Errorf("%s is not valid extended JSON: %w", word, err)
	}
	return doc, nil
}

func addRange(s *catalog.Snapshot, c *catalog.CollectionState, r catalog.ZoneRange) (*catalog.ZoneSet, error) {
	if !slices.ContainsFunc(s.Shards(), func(shard catalog.ShardState) bool { return shard.HasZone(r.Zone) }) {
		if err := diagnosis.CheckScope(s, diagnosis.Scope{Zone: r.Zone}); err != nil {
			return nil, fmt.Errorf("%w: add a shard to it first: zone SHARD %s", err, r.Zone)
		}
		return nil, fmt.Errorf("the zone has no shard: zone SHARD %s first", r.Zone)
	}
	return replaceRange(c, nil, &r)
}

func removeRange(_ *catalog.Snapshot, c *catalog.CollectionState, r catalog.ZoneRange) (*catalog.ZoneSet, error) {
	for _, old := range c.Zones.Ranges() {
		if old.Min.Equal(r.Min) && old.Max.Equal(r.Max) {
			return replaceRange(c, &old, nil)
		}
	}
	return nil, errors.New("no zone range has these bounds")
}

// replaceRange returns the zones of a collection without one range, and with another one added.
func replaceRange(c *catalog.CollectionState, without, added *catalog.ZoneRange) (*catalog.ZoneSet, error) {
	zones := catalog.NewZoneSet(c.Pattern)
	for _, r := range c.Zones.Ranges() {
		if without != nil && r == *without {
			continue
		}
		if err := zones.Add(r); err != nil {
			return nil, err
		}
	}
	if added == nil {
		return zones, nil
	}
	return zones, zones.Add(*added)
}
