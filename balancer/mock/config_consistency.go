package mock

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// Inconsistency is an inconsistency between the catalog and the shards (checkMetadataConsistency,
// rules/03-commands §1.7).
type Inconsistency struct {
	Type, Description string
	Details           bson.D
}

// consistencyCheck collects the inconsistencies of one collection.
type consistencyCheck struct {
	cluster         *Cluster
	coll            catalog.Collection
	inconsistencies []Inconsistency
}

func (cc *consistencyCheck) report(kind, description string, details ...bson.E) {
	cc.inconsistencies = append(cc.inconsistencies,
		Inconsistency{kind, description, append(bson.D{{Key: "namespace", Value: cc.coll.Namespace}},
			details...)})
}

// Inconsistencies checks one collection, a database if coll is empty, or the whole cluster if db is
// empty, too. With indexes it also compares the indexes of the shards.
func (c *Cluster) Inconsistencies(db, coll string, indexes bool) ([]Inconsistency, error) {
	wanted := func(ns string) bool {
		return db == "" || coll == "" && catalog.DatabaseOf(ns) == db || ns == db+"."+coll
	}
	var found []Inconsistency
	for _, raw := range c.config.Collection(configCollections).Scan() {
		ns, _ := raw.Lookup("_id").StringValueOK()
		if !wanted(ns) {
			continue
		}
		entry, err := catalog.ParseCollection(raw)
		if err != nil {
			return nil, err
		}
		i := consistencyCheck{cluster: c, coll: entry}
		i.run(indexes)
		found = append(found, i.inconsistencies...)
	}
	found = append(
		append(found, shardScan{c, wanted}.misplacedCollections()...),
		shardScan{c, wanted}.malformedBuckets()...)
	slices.SortStableFunc(found, func(a, b Inconsistency) int {
		return cmp.Compare(a.Details[0].Value.(string), b.Details[0].Value.(string))
	})
	return found, nil
}

func (cc *consistencyCheck) run(indexes bool) {
	c, ns := cc.cluster, cc.coll.Namespace
	uuid := bson.E{Key: "collectionUUID", Value: cc.coll.UUID}
	if _, known := c.config.Primary(catalog.DatabaseOf(ns)); !known && !onConfigServer(catalog.DatabaseOf(ns)) {
		cc.report("HiddenShardedCollection", "Found a sharded collection whose database has no entry in config.databases",
			bson.E{Key: "collection", Value: ns})
	}
	if c.config.tables[ns] == nil {
		cc.report("MissingRoutingTable", "No routing table found for the given collection UUID", uuid)
		return
	}
	if cc.coll.Unsplittable {
		cc.checkUnsplittable()
	}
	cc.checkRouting(func(yield func(bson.Raw) bool) {
		for chunk := range c.config.Table(ns).All() {
			cc.checkHistory(chunk)
			if !yield(chunkDocument(cc.coll, chunk)) {
				return
			}
		}
	})
	if !cc.coll.Unsplittable { // an unsplittable collection may have zones for a later shard key
		cc.checkZones()
	}
	cc.checkShards()
	if indexes {
		cc.checkIndexes()
	}
}

func (cc *consistencyCheck) checkUnsplittable() {
	uuid := bson.E{Key: "uuid", Value: cc.coll.UUID}
	if n := cc.cluster.config.Table(cc.coll.Namespace).Len(); n != 1 {
		cc.report("TrackedUnshardedCollectionHasMultipleChunks", "Found a tracked unsharded collection with several chunks",
			uuid, bson.E{Key: "numChunks", Value: int32(n)})
	}
	if fields := cc.coll.Pattern.Fields(); !slices.Equal(fields, []string{"_id"}) {
		cc.report("TrackedUnshardedCollectionHasInvalidKey", "Found a tracked unsharded collection whose key is not {_id: 1}",
			uuid, bson.E{Key: "shardKey", Value: cc.coll.Pattern.Doc()})
	}
}

// checkRouting checks documents of config.chunks in the order of their lower bounds. The bounds must be
// keys of the pattern, and the chunks must cover the key space without gaps and overlaps.
func (cc *consistencyCheck) checkRouting(chunks iter.Seq[bson.Raw]) {
	p := cc.coll.Pattern
	uuid := bson.E{Key: "collectionUUID", Value: cc.coll.UUID}
	at := p.GlobalMin()
	var before bson.Raw
	for chunk := range chunks {
		lower, upper, ok := keyRange(p, chunk)
		if !ok {
			cc.report("CorruptedChunkShardKey", "Found a chunk whose bounds are not keys of the shard key pattern",
				uuid, bson.E{Key: "chunk", Value: chunk}, bson.E{Key: "shardKeyPattern", Value: p.Doc()})
			return
		}
		pair := []bson.E{uuid, {Key: "chunkA", Value: before}, {Key: "chunkB", Value: chunk}}
		switch {
		case before == nil && !lower.Equal(at):
			cc.report("RoutingTableMissingMinKey", "The routing table does not begin at the global minimum",
				uuid, bson.E{Key: "minKeyObj", Value: chunk.Lookup("min")}, bson.E{Key: "globalMin", Value: p.Bound(at)})
		case at.Less(lower):
			cc.report("RoutingTableRangeGap", "Found a gap between two chunks of the routing table", pair...)
		case lower.Less(at):
			cc.report("RoutingTableRangeOverlap", "Found two chunks of the routing table that overlap", pair...)
		}
		at, before = upper, chunk
	}
	if before != nil && !at.Equal(p.GlobalMax()) {
		cc.report("RoutingTableMissingMaxKey", "The routing table does not end at the global maximum",
			uuid, bson.E{Key: "maxKeyObj", Value: p.Bound(at)}, bson.E{Key: "globalMax", Value: p.Bound(p.GlobalMax())})
	}
}

// keyRange reads the bounds of a chunk or zone. It returns false if they are not keys of the pattern in
// order.
func keyRange(p catalog.KeyPattern, doc bson.Raw) (lower, upper catalog.Key, ok bool) {
	for name, into := range map[string]*catalog.Key{"min": &lower, "max": &upper} {
		bound, isDoc := doc.Lookup(name).DocumentOK()
		if !isDoc || !slices.Equal(catalog.FieldNames(bound), p.Fields()) {
			return lower, upper, false
		}
		key, err := p.ParseKey(bound)
		if err != nil {
			return lower, upper, false
		}
		*into = key
	}
	return lower, upper, true
}

func (cc *consistencyCheck) checkZones() {
	type zone struct {
		lower, upper catalog.Key
		doc          bson.Raw
	}
	uuid := bson.E{Key: "collectionUUID", Value: cc.coll.UUID}
	var zones []zone
	for _, raw := range cc.cluster.config.Collection(configTags).Scan() {
		if ns, _ := raw.Lookup("ns").StringValueOK(); ns != cc.coll.Namespace {
			continue
		}
		lower, upper, ok := keyRange(cc.coll.Pattern, raw)
		if !ok {
			cc.report("CorruptedZoneShardKey", "Found a zone whose bounds are not keys of the shard key pattern",
				uuid, bson.E{Key: "zone", Value: raw}, bson.E{Key: "shardKeyPattern", Value: cc.coll.Pattern.Doc()})
			continue
		}
		zones = append(zones, zone{lower, upper, raw})
	}
	slices.SortFunc(zones, func(a, b zone) int { return a.lower.Compare(b.lower) })
	for n := 1; n < len(zones); n++ {
		if a, b := zones[n-1], zones[n]; b.lower.Less(a.upper) {
			cc.report("ZonesRangeOverlap", "Found two zones that overlap", uuid, bson.E{Key: "zoneA", Value: a.doc},
				bson.E{Key: "zoneB", Value: b.doc})
		}
	}
}

// checkShards checks the collection on each shard.
func (cc *consistencyCheck) checkShards() {
	c, ns := cc.cluster, cc.coll.Namespace
	byOptions := map[string][]string{}
	for _, id := range c.ShardIDs() {
		shard := bson.E{Key: "shard", Value: string(id)}
		cc.checkDeletions(id)
		cc.checkUniqueIndexes(id)
		local, owns := c.shards[id].colls[ns], c.config.Table(ns).CountOn(id) > 0
		switch {
		case local == nil && owns:
			cc.report("MissingLocalCollection", "Found a shard that owns chunks of a collection and does not have it",
				bson.E{Key: "uuid", Value: cc.coll.UUID}, shard)
		case local == nil:
		case !local.uuid.Equal(cc.coll.UUID):
			cc.report("CollectionUUIDMismatch", "Found a collection with another UUID than the catalog's",
				shard, bson.E{Key: "localUUID", Value: local.uuid}, bson.E{Key: "uuid", Value: cc.coll.UUID})
		case owns:
			text := fmt.Sprint(append(bson.D{}, local.options...))
			byOptions[text] = append(byOptions[text], string(id))
			if _, ok := local.shardKeyIndex(cc.coll.Pattern); !ok && !cc.coll.Unsplittable &&
				needsIndex(c.release, cc.coll.Pattern) {
				cc.report("MissingShardKeyIndex", "Found a sharded collection without an index on its shard key", shard,
					bson.E{Key: "shardKey", Value: cc.coll.Pattern.Doc()})
			}
		}
	}
	if len(byOptions) < 2 {
		return
	}
	options := bson.A{}
	for _, text := range slices.Sorted(maps.Keys(byOptions)) {
		like := c.shards[catalog.ShardID(byOptions[text][0])].colls[ns].options
		options = append(options,
			bson.D{{Key: "shards", Value: byOptions[text]}, {Key: "options", Value: append(bson.D{}, like...)}})
	}
	cc.report("CollectionOptionsMismatch", "Found a collection with other options on some shards",
		bson.E{Key: "options", Value: options})
}

// checkDeletions reports range deletions without the index that they need, as servers do since 8.2.
func (cc *consistencyCheck) checkDeletions(id catalog.ShardID) {
	waits := func(d *rangeDeletion) bool { return d.coll.Namespace == cc.coll.Namespace }
	c := cc.cluster
	local := c.shards[id].colls[cc.coll.Namespace]
	if local == nil {
		return
	}
	_, indexed := local.shardKeyIndex(cc.coll.Pattern)
	if !indexed && c.installed.shardRelease(id).FindsDeletionsWithoutIndex() &&
		slices.ContainsFunc(c.shards[id].deletions, waits) {
		cc.report("RangeDeletionMissingShardKeyIndex",
			"Found a range deletion of a collection without an index on its shard key",
			bson.E{Key: "shard", Value: string(id)}, bson.E{Key: "shardKey", Value: cc.coll.Pattern.Doc()})
	}
}

// checkIndexes compares the indexes of the shards that own chunks.
func (cc *consistencyCheck) checkIndexes() {
	c, ns := cc.cluster, cc.coll.Namespace
	owners := c.config.Table(ns).Owners()
	having := map[string][]string{}
	var specs []store.IndexSpec
	for _, id := range owners {
		for _, spec := range c.Indexes().ListOn(ns, id) {
			if having[spec.Name] == nil {
				specs = append(specs, spec)
			}
			having[spec.Name] = append(having[spec.Name], string(id))
		}
	}
	for _, spec := range specs {
		var missing []string
		same := true
		for _, id := range owners {
			at := slices.IndexFunc(c.Indexes().ListOn(ns, id), func(s store.IndexSpec) bool { return s.Name == spec.Name })
			if at < 0 {
				missing = append(missing, string(id))
				continue
			}
			same = same && bytes.Equal(c.Indexes().ListOn(ns, id)[at].Key, spec.Key)
		}
		if len(missing) == 0 && same {
			continue
		}
		cc.report("InconsistentIndex", "Found an index that is not the same on all shards of a collection",
			bson.E{Key: "info", Value: bson.D{
				{Key: "indexName", Value: spec.Name}, {Key: "key", Value: spec.Key}, {Key: "shards",
					Value: having[spec.Name]}, {Key: "missingFromShards", Value: missing},
			}})
	}
}

// shardScan checks the local collections of the shards for the wanted namespaces.
type shardScan struct {
	*Cluster
	wanted func(ns string) bool
}

// misplacedCollections reports untracked collections on shards that are not the primary of the database.
func (s shardScan) misplacedCollections() []Inconsistency {
	var found []Inconsistency
	for _, id := range s.ShardIDs() {
		for _, ns := range slices.Sorted(maps.Keys(s.shards[id].colls)) {
			db, name, _ := strings.Cut(ns, ".")
			if !s.wanted(ns) || s.config.isTracked(ns) || s.config.isPrimary(db, id) || onConfigServer(db) ||
				strings.HasPrefix(name, "system.resharding.") {
				continue
			}
			found = append(found, Inconsistency{"MisplacedCollection",
				"Unsharded collection found on shard different from the db primary shard", bson.D{
					{Key: "namespace", Value: ns}, {Key: "shard", Value: string(id)}, {Key: "localUUID",
						Value: s.shards[id].colls[ns].uuid},
				}})
		}
	}
	return found
}
