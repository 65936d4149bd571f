package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// Zones are the zones of shards in config.shards, and the zone ranges in config.tags.
type Zones struct {
	*clusterSettings
	config zoneConfig
	ids    *ids.Source
	cache  zoneSets
}

// zoneConfig is the part of ConfigDB that Zones use.
type zoneConfig interface {
	Shards() ([]catalog.Shard, error)
	ShardByID(id string) (catalog.Shard, error)
	Collection(name string) *store.Collection
	ensureCollection(ns string) *store.Collection
	ShardedEntry(ns string) (catalog.Collection, bool, error)
	insert(collection string, doc bson.D) error
	modify(collection, id string, change func(*bson.D)) (bool, error)
}

// Zones returns the zones of the cluster.
func (c *Cluster) Zones() *Zones { return c.zones }

// AddShard adds a shard to a zone unless it is in the zone (rules/03-commands §1.6).
func (zs *Zones) AddShard(id, zone string) error {
	shard, err := zs.config.ShardByID(id)
	if err != nil {
		return err
	}
	if shard.HasZone(zone) {
		return nil
	}
	return zs.setShardZones(id, append(slices.Clone(shard.Zones), zone))
}

// RemoveShard removes a shard from a zone. It fails for the last shard of a zone that has ranges.
func (zs *Zones) RemoveShard(id, zone string) error {
	shard, err := zs.config.ShardByID(id)
	if mongoerr.Is(err, mongoerr.ShardNotFound) {
		return mongoerr.New(mongoerr.ShardNotFound, "shard %s does not exist", id)
	}
	if err != nil {
		return err
	}
	if !shard.HasZone(zone) {
		return nil
	}
	if zs.shardCount(zone) == 1 && zs.hasRanges(zone) {
		return mongoerr.New(mongoerr.ZoneStillInUse, "Shard %s is the last of zone %s, which still has ranges", id, zone)
	}
	return zs.setShardZones(id, slices.DeleteFunc(slices.Clone(shard.Zones), func(z string) bool { return z == zone }))
}

func (zs *Zones) setShardZones(id string, zones []string) error {
	_, err := zs.config.modify(configShards, id, func(doc *bson.D) { setDocField(doc, "tags", document.ListOf(zones)) })
	return err
}

// zoneSets caches the zone ranges of the collections that were read.
type zoneSets struct {
	cacheSource
	byNamespace map[string]*catalog.ZoneSet
}

// ranges returns the cached zone ranges of a collection, which the caller must not change.
func (zs *Zones) ranges(coll catalog.Collection) (*catalog.ZoneSet, error) {
	known := &zs.cache
	if known.recordIfChanged(zs.config.ensureCollection(tagsNamespace)) {
		known.byNamespace = map[string]*catalog.ZoneSet{}
	}
	zones := known.byNamespace[coll.Namespace]
	if zones != nil && zones.Pattern().Equal(coll.Pattern) {
		return zones, nil
	}
	zones, err := zs.readRanges(coll)
	if err == nil {
		known.byNamespace[coll.Namespace] = zones
	}
	return zones, err
}

// readRanges reads the zone ranges of a collection. It fails if a stored range does not fit the shard
// key (rules/01-rounds-and-settings §4.1).
func (zs *Zones) readRanges(coll catalog.Collection) (*catalog.ZoneSet, error) {
	zones := catalog.NewZoneSet(coll.Pattern)
	for _, raw := range zs.config.Collection(configTags).Scan() {
		if ns, _ := raw.Lookup("ns").StringValueOK(); ns != coll.Namespace {
			continue
		}
		zone, err := catalog.ParseZone(coll.Pattern, raw)
		if err != nil {
			return nil, err
		}
		if err := zones.Add(zone); err != nil {
			return nil, err
		}
	}
	return zones, nil
}

// rangesForSharding returns the zone ranges of a collection that is about to be sharded. It fails if
// their bounds do not have exactly the fields of the key.
func (zs *Zones) rangesForSharding(ns string, pattern catalog.KeyPattern) (*catalog.ZoneSet, error) {
	for _, raw := range zs.config.Collection(configTags).Scan() {
		if of, _ := raw.Lookup("ns").StringValueOK(); of != ns {
			continue
		}
		for _, bound := range []string{"min", "max"} {
			doc, _ := raw.Lookup(bound).DocumentOK()
			if !slices.Equal(catalog.FieldNames(doc), pattern.Fields()) {
				return nil, mongoerr.New(mongoerr.InvalidOptions,
					"zone bound %s does not have exactly the fields of the shard key %s", doc, pattern.Doc())
			}
		}
	}
	zones, err := zs.readRanges(catalog.Collection{Namespace: ns, Pattern: pattern})
	if err != nil {
		return nil, err
	}
	for _, r := range zones.Ranges() {
		for _, k := range []catalog.Key{r.Min, r.Max} {
			if err := pattern.CheckHashed(k); err != nil {
				return nil, mongoerr.New(mongoerr.InvalidOptions, "%s", err)
			}
		}
	}
	return zones, nil
}

func (zs *Zones) shardCount(zone string) int {
	shards, err := zs.config.Shards()
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

func (zs *Zones) hasRanges(zone string) bool { return zs.hasRangeWhere("tag", zone) }

// hasRangeWhere reports whether a zone range has the string in a field: the zone, or the namespace,
// whose collection need not exist.
func (zs *Zones) hasRangeWhere(field, text string) bool {
	for _, raw := range zs.config.Collection(configTags).Scan() {
		if is, _ := raw.Lookup(field).StringValueOK(); is == text {
			return true
		}
	}
	return false
}

// Assign assigns a range to a zone. The order of the checks is that of rules/03-catalog-and-keys §4.7.
func (zs *Zones) Assign(ns string, min, max bson.Raw, zone string) error {
	for _, bound := range []bson.Raw{min, max} {
		if err := catalog.CheckStorable(bound); err != nil {
			return err
		}
	}
	if zs.shardCount(zone) == 0 {
		return mongoerr.New(mongoerr.ZoneNotFound, "zone %s does not exist", zone)
	}
	coll, sharded, err := zs.config.ShardedEntry(ns)
	if err != nil {
		return err
	}
	pattern := coll.Pattern
	if !sharded {
		// Before the collection is sharded, the bounds themselves define the order of the fields.
		if pattern, err = unshardedBoundsPattern(min, max); err != nil {
			return err
		}
	}
	lower, upper, err := zoneBounds(pattern, min, max, sharded)
	if mongoerr.Is(err, mongoerr.ShardKeyNotFound) {
		return notPrefixError(ns, pattern, min, max)
	}
	if err != nil {
		return err
	}
	zones, err := zs.readRanges(catalog.Collection{Namespace: ns, Pattern: pattern})
	if err != nil {
		return err
	}
	if err := zones.Add(catalog.ZoneRange{Min: lower, Max: upper, Zone: zone}); err != nil {
		return err
	}
	return zs.addRange(ns, pattern.Bound(lower), pattern.Bound(upper), zone)
}

// notPrefixError returns the error for the first bound that is not a prefix of a key.
func notPrefixError(ns string, p catalog.KeyPattern, min, max bson.Raw) error {
	name, bound := "min", min
	if _, err := p.ExtendBound(min); err == nil {
		name, bound = "max", max
	}
	return mongoerr.New(mongoerr.ShardKeyNotFound, "%s: %s is not a prefix of the shard key %s of ns: %s", name, bound,
		p.Doc(), ns)
}

// Unassign removes exactly this range. It does nothing if the range does not exist.
func (zs *Zones) Unassign(ns string, min, max bson.Raw) error {
	coll, sharded, err := zs.config.ShardedEntry(ns)
	if err != nil {
		return err
	}
	if !sharded {
		if _, err := unshardedBoundsPattern(min, max); err != nil {
			return err
		}
	} else {
		lower, upper, err := zoneBounds(coll.Pattern, min, max, false)
		if err != nil {
			return err
		}
		min, max = coll.Pattern.Bound(lower), coll.Pattern.Bound(upper)
	}
	tags := zs.config.Collection(configTags)
	for record, raw := range tags.Scan() {
		if isZoneRangeAt(raw, ns, min) && keyorder.CompareDocuments(docAt(raw, "max"), max) == 0 {
			tags.Delete(record)
		}
	}
	return nil
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

// unshardedBoundsPattern returns a key pattern for the bounds of an unsharded namespace. It consists of
// the fields of the bounds, which must be the same in both.
func unshardedBoundsPattern(min, max bson.Raw) (catalog.KeyPattern, error) {
	fields := catalog.FieldNames(min)
	if !slices.Equal(fields, catalog.FieldNames(max)) {
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

// addRange upserts a zone range by namespace and lower bound.
func (zs *Zones) addRange(ns string, min, max bson.Raw, zone string) error {
	tags := zs.config.Collection(configTags)
	for _, raw := range tags.Scan() {
		if isZoneRangeAt(raw, ns, min) {
			return nil // the identical range: Assign rejects all others
		}
	}
	var id any = zs.ids.NewObjectID()
	if zs.release.HasTextChunkIDs() {
		id = bson.D{{Key: "ns", Value: ns}, {Key: "min", Value: min}}
	}
	return zs.config.insert(configTags, bson.D{
		{Key: "_id", Value: id},
		{Key: "ns", Value: ns},
		{Key: "min", Value: min},
		{Key: "max", Value: max},
		{Key: "tag", Value: zone},
	})
}

// replaceRanges replaces the stored zone ranges of a collection.
func (zs *Zones) replaceRanges(ns string, zones *catalog.ZoneSet) error {
	zs.dropRanges(func(of string) bool { return of == ns })
	for _, r := range zones.Ranges() {
		if err := zs.addRange(ns, zones.Pattern().Bound(r.Min), zones.Pattern().Bound(r.Max), r.Zone); err != nil {
			return err
		}
	}
	return nil
}

// renameNamespace changes the namespace of zone ranges.
func (zs *Zones) renameNamespace(from, to string) {
	tags := zs.config.Collection(configTags)
	for record, raw := range tags.Scan() {
		if of, _ := raw.Lookup("ns").StringValueOK(); of != from {
			continue
		}
		var doc bson.D
		if err := bson.Unmarshal(raw, &doc); err != nil {
			continue
		}
		setDocField(&doc, "ns", to)
		if renamed, err := bson.Marshal(doc); err == nil {
			if err := tags.Update(record, renamed); err != nil {
				zs.logger.Warn("zone not renamed", "ns", from, "error", err)
			}
		}
	}
}

// dropRanges removes the zone ranges of the namespaces for which matches returns true.
func (zs *Zones) dropRanges(matches func(ns string) bool) {
	tags := zs.config.Collection(configTags)
	for record, raw := range tags.Scan() {
		if of, _ := raw.Lookup("ns").StringValueOK(); matches(of) {
			tags.Delete(record)
		}
	}
}

func isZoneRangeAt(raw bson.Raw, ns string, min bson.Raw) bool {
	of, _ := raw.Lookup("ns").StringValueOK()
	return of == ns && keyorder.CompareDocuments(docAt(raw, "min"), min) == 0
}

func docAt(raw bson.Raw, field string) bson.Raw {
	doc, _ := raw.Lookup(field).DocumentOK()
	return doc
}
