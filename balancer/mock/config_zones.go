package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// AddShardToZone adds a zone to a shard's tags, as a set (rules/03-commands §1.6).
func (cfg *ConfigDB) AddShardToZone(id, zone string) error {
	shard, err := cfg.ShardByID(id)
	if err != nil {
		return err
	}
	if shard.HasZone(zone) {
		return nil
	}
	return cfg.setZones(id, append(slices.Clone(shard.Zones), zone))
}

// RemoveShardFromZone takes a zone off a shard; the last shard of a zone that
// has ranges keeps it.
func (cfg *ConfigDB) RemoveShardFromZone(id, zone string) error {
	shard, err := cfg.ShardByID(id)
	if err != nil {
		return err
	}
	if !shard.HasZone(zone) {
		return nil
	}
	if cfg.zoneMembers(zone) == 1 && cfg.zoneInUse(zone) {
		return mongoerr.New(mongoerr.ZoneStillInUse, "Shard %s is the last of zone %s, which still has ranges", id, zone)
	}
	return cfg.setZones(id, slices.DeleteFunc(slices.Clone(shard.Zones), func(z string) bool { return z == zone }))
}

func (cfg *ConfigDB) setZones(id string, zones []string) error {
	tags := bson.A{}
	for _, z := range zones {
		tags = append(tags, z)
	}
	_, err := cfg.modify(configShards, id, func(doc *bson.D) { set(doc, "tags", tags) })
	return err
}

func (cfg *ConfigDB) zoneMembers(zone string) int {
	shards, err := cfg.Shards()
	if err != nil {
		return 0
	}
	n := 0
	for _, s := range shards {
		if s.HasZone(zone) {
			n++
		}
	}
	return n
}

func (cfg *ConfigDB) zoneInUse(zone string) bool { return cfg.anyTag("tag", zone) }

// anyTag reports whether a zone range has a text in a field: its zone, or its
// namespace, of which there need not be a collection.
func (cfg *ConfigDB) anyTag(field, text string) bool {
	for _, raw := range cfg.Collection(configTags).Scan() {
		if is, _ := raw.Lookup(field).StringValueOK(); is == text {
			return true
		}
	}
	return false
}

// AssignZone gives a range to a zone; rules/03-catalog-and-keys §4.7 has the order of checks.
func (cfg *ConfigDB) AssignZone(ns string, min, max bson.Raw, zone string) error {
	for _, bound := range []bson.Raw{min, max} {
		if err := catalog.CheckStorable(bound); err != nil {
			return err
		}
	}
	if cfg.zoneMembers(zone) == 0 {
		return mongoerr.New(mongoerr.ZoneNotFound, "zone %s does not exist", zone)
	}
	coll, sharded, err := cfg.shardedEntry(ns)
	if err != nil {
		return err
	}
	pattern := coll.Pattern
	if !sharded {
		// The only order there is before sharding is that of the fields given.
		if pattern, err = looseKey(min, max); err != nil {
			return err
		}
	}
	lower, upper, err := zoneBounds(pattern, min, max, sharded)
	if err != nil {
		return err
	}
	zones, err := cfg.Zones(catalog.Collection{Namespace: ns, Pattern: pattern})
	if err != nil {
		return err
	}
	if err := zones.Add(catalog.ZoneRange{Min: lower, Max: upper, Zone: zone}); err != nil {
		return err
	}
	return cfg.putZone(ns, pattern.Bound(lower), pattern.Bound(upper), zone)
}

// UnassignZone removes exactly this range; none is no error.
func (cfg *ConfigDB) UnassignZone(ns string, min, max bson.Raw) error {
	coll, sharded, err := cfg.shardedEntry(ns)
	if err != nil {
		return err
	}
	if !sharded {
		if _, err := looseKey(min, max); err != nil {
			return err
		}
	} else {
		lower, upper, err := zoneBounds(coll.Pattern, min, max, false)
		if err != nil {
			return err
		}
		min, max = coll.Pattern.Bound(lower), coll.Pattern.Bound(upper)
	}
	tags := cfg.Collection(configTags)
	for record, raw := range tags.Scan() {
		if sameZone(raw, ns, min) && keyorder.CompareDocuments(docAt(raw, "max"), max) == 0 {
			tags.Delete(record)
		}
	}
	return nil
}

func (cfg *ConfigDB) shardedEntry(ns string) (catalog.Collection, bool, error) {
	coll, ok, err := cfg.Tracked(ns)
	return coll, ok && !coll.Unsplittable, err
}

func zoneBounds(p catalog.KeyPattern, min, max bson.Raw, checkHashed bool) (lower, upper catalog.Key, err error) {
	if lower, err = p.ExtendBound(min); err != nil {
		return lower, upper, err
	}
	if upper, err = p.ExtendBound(max); err != nil {
		return lower, upper, err
	}
	if !checkHashed {
		return lower, upper, nil
	}
	for _, k := range []catalog.Key{lower, upper} {
		if err := p.CheckHashed(k); err != nil {
			return lower, upper, mongoerr.New(mongoerr.InvalidOptions, "%s", err)
		}
	}
	return lower, upper, nil
}

// looseKey orders the bounds of a namespace that is not sharded by their own
// fields, which must be the same in both.
func looseKey(min, max bson.Raw) (catalog.KeyPattern, error) {
	fields := fieldNames(min)
	if !slices.Equal(fields, fieldNames(max)) {
		return catalog.KeyPattern{}, mongoerr.New(mongoerr.ShardKeyNotFound, "min %s and max %s have different fields", min,
			max)
	}
	pattern := bson.D{}
	for _, f := range fields {
		pattern = append(pattern, bson.E{Key: f, Value: int32(1)})
	}
	raw, err := bson.Marshal(pattern)
	if err != nil {
		return catalog.KeyPattern{}, err
	}
	return catalog.ParseKeyPattern(raw)
}

// putZone upserts by namespace and lower bound.
func (cfg *ConfigDB) putZone(ns string, min, max bson.Raw, zone string) error {
	tags := cfg.Collection(configTags)
	for _, raw := range tags.Scan() {
		if sameZone(raw, ns, min) {
			return nil // an identical range: Add has refused every other one
		}
	}
	var id any = cfg.ids.NewObjectID()
	if cfg.release.NamesChunks() {
		id = bson.D{{Key: "ns", Value: ns}, {Key: "min", Value: min}}
	}
	return cfg.insert(configTags, bson.D{
		{Key: "_id", Value: id},
		{Key: "ns", Value: ns},
		{Key: "min", Value: min},
		{Key: "max", Value: max},
		{Key: "tag", Value: zone},
	})
}

func sameZone(raw bson.Raw, ns string, min bson.Raw) bool {
	of, _ := raw.Lookup("ns").StringValueOK()
	return of == ns && keyorder.CompareDocuments(docAt(raw, "min"), min) == 0
}

func docAt(raw bson.Raw, field string) bson.Raw {
	doc, _ := raw.Lookup(field).DocumentOK()
	return doc
}
