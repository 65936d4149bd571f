package mock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// defaultReshardChunks is the default number of chunks of a resharded collection (rules/03-commands
// §1.4).
const defaultReshardChunks = 90

// ReshardRequest are the options of reshardCollection (rules/03-commands §1.4).
type ReshardRequest struct {
	Namespace     string
	Key           bson.Raw
	InitialChunks int64 // 0 for the default
	// Zones replace the zones of the collection. With nil the zones stay if the key stays, otherwise the
	// collection has none.
	Zones []ZoneRequest
	// Distribution are the target shards, either all with bounds or all without; nil for all shards.
	Distribution []ShardRange
	// Chunks are the chunks that a test requests; nil for the server's choice.
	Chunks []ShardRange
	Force  bool // allows the current shard key
	// UUID is the user-defined UUID of the operation, with which a client can request the result again;
	// nil if there is none.
	UUID []byte
}

// ZoneRequest is a zone range in a command.
type ZoneRequest struct {
	Zone     string
	Min, Max bson.Raw
}

// ShardRange is a shard with its part of the key space.
type ShardRange struct {
	Shard    string
	Min, Max bson.Raw // nil for no bounds
}

// Reshard changes the shard key of a collection or redistributes the collection, and waits for the end
// (rules/03-commands §1.4). The caller holds the lock.
func (rs *Reshardings) Reshard(ctx context.Context, deadline time.Time, req ReshardRequest) error {
	if err := rs.awaitMetadataCopy(ctx, deadline); err != nil {
		return err
	}
	coll, err := rs.reshardableCollection(req.Namespace)
	if err != nil {
		return err
	}
	pattern, err := catalog.ParseKeyPattern(req.Key)
	if err != nil {
		return err
	}
	if err := rs.checkOptions(coll, pattern, req); err != nil {
		return err
	}
	if pattern.Equal(coll.Pattern) && !req.Force {
		return nil
	}
	zones, err := rs.newZones(coll, pattern, req)
	if err != nil {
		return err
	}
	chunks, err := rs.newChunks(coll, pattern, zones, req)
	if err != nil {
		return err
	}
	if err := rs.checkUniqueIndexes(req.Namespace, pattern); err != nil {
		return err
	}
	return rs.run(ctx, deadline, parsedReshardRequest{
		Namespace:     req.Namespace,
		Provenance:    ProvenanceReshard,
		Pattern:       pattern,
		Zones:         zones,
		Chunks:        chunks,
		requestKey:    fmt.Sprint(req),
		UserUUID:      userUUID(req.UUID),
		InitialChunks: req.InitialChunks,
		Force:         req.Force,
	})
}

// checkUniqueIndexes rejects a key for which the unique indexes of a collection
// could not be enforced.
func (rs *Reshardings) checkUniqueIndexes(ns string, pattern catalog.KeyPattern) error {
	for _, id := range rs.stats.shardsWithCollection(ns) {
		if err := checkUniqueIndexes(rs.shards[id].colls[ns], ns, pattern); err != nil {
			return err
		}
	}
	return nil
}

// reshardableCollection returns the collection. It fails for an unsharded collection, for the config database, and
// in a cluster that never had two shards.
func (rs *Reshardings) reshardableCollection(ns string) (catalog.Collection, error) {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return catalog.Collection{}, err
	}
	if onConfigServer(db) {
		return catalog.Collection{}, mongoerr.New(mongoerr.IllegalOperation, "can't reshard %s: it is a system namespace", ns)
	}
	coll, ok, err := rs.config.TrackedEntry(ns)
	switch {
	case err != nil:
		return coll, err
	case !ok:
		return coll, mongoerr.New(mongoerr.NamespaceNotFound, "Namespace %s not found", ns)
	case coll.Unsplittable:
		return coll, mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	case !rs.membership.hadTwoShards:
		return coll, mongoerr.New(mongoerr.IllegalOperation,
			"Cannot reshard a collection in a cluster that has never had two shards")
	}
	return coll, nil
}

// checkOptions checks the options in the config server's order, before it checks whether there is
// anything to do.
func (rs *Reshardings) checkOptions(coll catalog.Collection, pattern catalog.KeyPattern, req ReshardRequest) error {
	if req.Zones == nil && !req.Force {
		existing, err := rs.zones.readRanges(coll)
		if err != nil {
			return err
		}
		if existing.Len() > 0 {
			return mongoerr.New(mongoerr.BadValue, "Must specify value for zones field")
		}
	}
	if req.Chunks != nil {
		if _, err := rs.parseRanges(pattern, presetChunkErrors, req.Chunks); err != nil {
			return err
		}
	}
	if _, _, err := rs.parseDistribution(pattern, req.Distribution); err != nil {
		return err
	}
	return checkZoneRequests(req.Zones)
}

// checkZoneRequests checks the bounds of zones independently of the shard key.
func checkZoneRequests(zones []ZoneRequest) error {
	zones = slices.SortedFunc(slices.Values(zones), func(a, b ZoneRequest) int {
		return keyorder.CompareDocuments(a.Min, b.Min)
	})
	for i := 1; i < len(zones); i++ {
		if keyorder.CompareDocuments(zones[i-1].Max, zones[i].Min) > 0 {
			return mongoerr.New(mongoerr.BadValue, "Zone ranges must not overlap")
		}
	}
	for _, z := range zones {
		for _, bound := range []bson.Raw{z.Min, z.Max} {
			if err := catalog.CheckStorable(bound); err != nil {
				return err
			}
		}
	}
	return nil
}

// newZones returns the future zones of the collection: the requested ones, or the current ones if the
// key does not change.
func (rs *Reshardings) newZones(coll catalog.Collection, pattern catalog.KeyPattern, req ReshardRequest) (
	*catalog.ZoneSet, error) {
	if req.Zones == nil && pattern.Equal(coll.Pattern) {
		return rs.zones.readRanges(coll)
	}
	zones := catalog.NewZoneSet(pattern)
	for _, z := range req.Zones {
		min, err := extendedBound(pattern, z.Min)
		if err != nil {
			return nil, err
		}
		max, err := extendedBound(pattern, z.Max)
		if err != nil {
			return nil, err
		}
		err = zones.Add(catalog.ZoneRange{Min: min, Max: max, Zone: z.Zone})
		if mongoerr.Is(err, mongoerr.RangeOverlapConflict) {
			err = mongoerr.New(mongoerr.BadValue, "%s", err)
		}
		if err != nil {
			return nil, err
		}
	}
	return zones, nil
}

// Error codes without a name in servers.
const (
	foreignField mongoerr.Code = 16634 // a bound has a field that is not in the key, or is out of order
	boundTooLong mongoerr.Code = 16649 // a bound has more fields than the key
	fewShardKeys mongoerr.Code = 4952606
)

// extendedBound returns the key of a bound whose last fields may be missing.
func extendedBound(p catalog.KeyPattern, bound bson.Raw) (catalog.Key, error) {
	key, err := p.ExtendBound(bound)
	if err == nil {
		return key, nil
	}
	if names := catalog.FieldNames(bound); len(names) > p.Len() && slices.Equal(names[:p.Len()], p.Fields()) {
		return key, mongoerr.New(boundTooLong, "keyPattern %s shorter than bound %s", p.Doc(), bound)
	}
	return key, mongoerr.New(foreignField, "field names of bound %s do not match those of keyPattern %s", bound, p.Doc())
}

// newChunks returns the future chunks of the collection.
func (rs *Reshardings) newChunks(coll catalog.Collection, pattern catalog.KeyPattern, zones *catalog.ZoneSet,
	req ReshardRequest) ([]catalog.Chunk, error) {
	if req.Chunks != nil {
		return rs.parseRanges(pattern, presetChunkErrors, req.Chunks)
	}
	targets, ranges, err := rs.parseDistribution(pattern, req.Distribution)
	if err != nil {
		return nil, err
	}
	l := &reshardLayout{rs: rs, coll: coll, pattern: pattern, zones: zones, targets: targets, ranges: ranges,
		chunkCount: cmp.Or(int(req.InitialChunks), defaultReshardChunks)}
	return l.build()
}

// reshardLayout determines the chunks of a resharded collection.
type reshardLayout struct {
	rs         *Reshardings
	coll       catalog.Collection
	pattern    catalog.KeyPattern
	zones      *catalog.ZoneSet
	targets    []catalog.Shard
	ranges     []catalog.Chunk // the requested chunks; nil to compute them
	chunkCount int
}

func (l *reshardLayout) build() ([]catalog.Chunk, error) {
	if l.ranges != nil {
		chunks := l.cutRanges()
		return chunks, l.checkRangeShards(chunks)
	}
	bounds, err := l.bounds()
	if err == nil {
		err = l.checkZones()
	}
	if err != nil {
		return nil, err
	}
	return l.assignChunks(bounds)
}

// checkZones rejects zones without shards.
func (l *reshardLayout) checkZones() error {
	for _, r := range l.zones.Ranges() {
		if l.rs.zones.shardCount(r.Zone) == 0 {
			return mongoerr.New(mongoerr.CannotCreateChunkDistribution,
				"The initial split policy is not able to find a chunk distribution that satisfies the given set of zones with "+
					"the current shards")
		}
	}
	return nil
}

// checkRangeShards rejects requested chunks on shards outside of their zone or on draining shards.
func (l *reshardLayout) checkRangeShards(chunks []catalog.Chunk) error {
	for _, c := range chunks {
		shard, err := l.rs.config.ShardByID(string(c.Shard))
		if err != nil {
			return err
		}
		if shard.Draining {
			return mongoerr.New(mongoerr.ShardNotFound, "Shard %s is draining and cannot be used for chunk distribution",
				shard.ID)
		}
		if zone := l.zones.ZoneOf(c.Min, c.Max); zone != catalog.NoZone && !shard.HasZone(zone) {
			return mongoerr.New(mongoerr.InvalidOptions, "Specified zones and shardDistribution are conflicting with the "+
				"existing shard/zone, shard %sdoesn't belong to zone %s", shard.ID, zone) // as servers write it
		}
	}
	return nil
}

// zoneBounds returns the bounds of the zones.
func (l *reshardLayout) zoneBounds() []catalog.Key {
	var bounds []catalog.Key
	for _, r := range l.zones.Ranges() {
		bounds = append(bounds, r.Min, r.Max)
	}
	return bounds
}

// cutRanges splits the requested chunks at the bounds of the zones.
func (l *reshardLayout) cutRanges() []catalog.Chunk {
	var chunks []catalog.Chunk
	for _, r := range l.ranges {
		for _, b := range l.zoneBounds() {
			if r.Min.Less(b) && b.Less(r.Max) {
				left := r
				left.Max, r.Min = b, b
				chunks = append(chunks, left)
			}
		}
		chunks = append(chunks, r)
	}
	return chunks
}

// bounds returns the lower bounds of all chunks except the first: the bounds of the zones, and as many
// quantiles as are needed in addition.
func (l *reshardLayout) bounds() ([]catalog.Key, error) {
	points := l.zoneBounds()
	tidy := func() {
		slices.SortFunc(points, catalog.Key.Compare)
		points = slices.CompactFunc(points, catalog.Key.Equal)
		points = slices.DeleteFunc(points, func(k catalog.Key) bool {
			return k.Equal(l.pattern.GlobalMin()) || k.Equal(l.pattern.GlobalMax())
		})
	}
	tidy()
	for _, point := range l.quantiles(l.chunkCount - 1) {
		if len(points) >= l.chunkCount-1 {
			break
		}
		points = append(points, point)
		tidy()
	}
	if len(points)+1 < l.chunkCount {
		return nil, mongoerr.New(fewShardKeys,
			"The shard key provided does not have enough cardinality to make the required number of chunks of %d, it can "+
				"only make %d chunks", l.chunkCount, len(points)+1)
	}
	return points, nil
}

// samplesPerChunk is the number of documents that the server samples for each future chunk.
const samplesPerChunk = 10

// quantiles returns keys that divide a collection evenly: every tenth key of a sample with ten documents
// for each chunk, or of all documents if there are fewer, and the last key. A frequent key may occur
// several times.
func (l *reshardLayout) quantiles(n int) []catalog.Key {
	if n <= 0 {
		return nil
	}
	var keys []catalog.Key
	for doc := range l.rs.locator.documents(l.coll.Namespace, nil) {
		if key, err := l.pattern.DocumentKey(doc); err == nil {
			keys = append(keys, key)
		}
	}
	if len(keys) == 0 {
		return l.virtualQuantiles(n)
	}
	slices.SortFunc(keys, catalog.Key.Compare)
	sampled := min(len(keys), l.chunkCount*samplesPerChunk)
	var points []catalog.Key
	for i := samplesPerChunk; i < sampled+samplesPerChunk; i += samplesPerChunk {
		points = append(points, keys[min(i, sampled)*len(keys)/sampled-1])
	}
	return points
}

// virtualQuantiles divides virtual data, for which only the current key is known.
func (l *reshardLayout) virtualQuantiles(n int) []catalog.Key {
	var docs int64
	for _, part := range l.rs.stats.Collection(l.coll.Namespace) {
		docs += part.Docs
	}
	if docs == 0 {
		return nil
	}
	if l.pattern.HashedField() == 0 {
		var points []catalog.Key
		for _, p := range catalog.HashedPoints(n + 1) {
			if bound, err := l.pattern.HashedBound(l.pattern.GlobalMin(), p); err == nil {
				points = append(points, bound)
			}
		}
		return points
	}
	if !l.pattern.Equal(l.coll.Pattern) {
		return nil
	}
	var points []catalog.Key
	for chunk := range l.rs.config.Table(l.coll.Namespace).All() {
		points = append(points, chunk.Min)
	}
	return points[1:]
}

// assignChunks assigns each chunk to the shard of its zone that has the fewest chunks so far.
func (l *reshardLayout) assignChunks(bounds []catalog.Key) ([]catalog.Chunk, error) {
	given := make(map[catalog.ShardID]int)
	var chunks []catalog.Chunk
	at := l.pattern.GlobalMin()
	for _, max := range append(bounds, l.pattern.GlobalMax()) {
		zone := l.zones.ZoneOf(at, max)
		members := l.targets
		if zone != catalog.NoZone {
			members = zoneShards(zone, l.targets)
		}
		if len(members) == 0 {
			return nil, mongoerr.New(mongoerr.BadValue, "no shard of the new distribution belongs to zone %s", zone)
		}
		to := slices.MinFunc(members, func(a, b catalog.Shard) int { return cmp.Compare(given[a.ID], given[b.ID]) })
		given[to.ID]++
		chunks = append(chunks, catalog.Chunk{Min: at, Max: max, Shard: to.ID})
		at = max
	}
	return chunks, nil
}
