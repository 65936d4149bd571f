package mock

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// defaultReshardChunks is how many chunks a resharded collection gets
// (rules/03-commands §1.4).
const defaultReshardChunks = 90

// ReshardRequest are the options of reshardCollection (rules/03-commands §1.4).
type ReshardRequest struct {
	Namespace     string
	Key           bson.Raw
	InitialChunks int64 // 0 = the default
	// Zones replace the collection's; nil keeps none.
	Zones []ZoneRequest
	// Shards the chunks go to: either all without bounds or all with.
	Distribution []ShardRange
	Force        bool // also when the key is the one there is
	// UUID is the user's name for the operation, to ask for its result again; nil
	// without one.
	UUID []byte
}

// ZoneRequest is a zone range as a command gives it.
type ZoneRequest struct {
	Zone     string
	Min, Max bson.Raw
}

// ShardRange is a shard, and what of the key space it shall have.
type ShardRange struct {
	Shard    string
	Min, Max bson.Raw // nil = no bounds
}

// Reshard gives a collection another key or spreads it anew, and waits for
// the end (rules/03-commands §1.4). The caller holds the lock.
func (rs *Reshardings) Reshard(ctx context.Context, deadline time.Time, req ReshardRequest) error {
	if err := rs.awaitCopied(ctx, deadline); err != nil {
		return err
	}
	coll, err := rs.reshardable(req.Namespace)
	if err != nil {
		return err
	}
	pattern, err := catalog.ParseKeyPattern(req.Key)
	if err != nil {
		return err
	}
	if pattern.Equal(coll.Pattern) && !req.Force {
		return nil
	}
	zones, err := rs.newZones(coll, pattern, req)
	if err != nil {
		return err
	}
	targets, ranges, err := rs.checkDistribution(pattern, req.Distribution)
	if err != nil {
		return err
	}
	l := &reshardLayout{rs: rs, coll: coll, pattern: pattern, zones: zones, targets: targets, ranges: ranges,
		chunks: int(req.InitialChunks)}
	l.chunks = cmp.Or(l.chunks, defaultReshardChunks)
	chunks, err := l.make()
	if err != nil {
		return err
	}
	if err := rs.checkUniqueIndexes(req.Namespace, pattern); err != nil {
		return err
	}
	return rs.run(ctx, deadline, reshardPlan{
		Namespace: req.Namespace, Provenance: ByReshard, Pattern: pattern, Zones: zones,
		Chunks: chunks, same: fmt.Sprint(req), UserID: userUUID(req.UUID),
	})
}

// checkUniqueIndexes refuses a key under which the unique indexes of a collection
// would not be.
func (rs *Reshardings) checkUniqueIndexes(ns string, pattern catalog.KeyPattern) error {
	for _, id := range rs.stats.holders(ns) {
		if err := checkUniqueIndexes(rs.shards[id].colls[ns], ns, pattern); err != nil {
			return err
		}
	}
	return nil
}

// reshardable returns a sharded collection outside of config, in a cluster that
// has had two shards.
func (rs *Reshardings) reshardable(ns string) (catalog.Collection, error) {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return catalog.Collection{}, err
	}
	if onConfigServer(db) {
		return catalog.Collection{}, mongoerr.New(mongoerr.IllegalOperation, "can't reshard %s: it is a system namespace", ns)
	}
	coll, ok, err := rs.config.Tracked(ns)
	switch {
	case err != nil:
		return coll, err
	case !ok:
		return coll, mongoerr.New(mongoerr.NamespaceNotFound, "Namespace %s not found", ns)
	case coll.Unsplittable:
		return coll, mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	case !rs.membership.hadTwo:
		return coll, mongoerr.New(mongoerr.IllegalOperation,
			"Cannot reshard a collection in a cluster that has never had two shards")
	}
	return coll, nil
}

// newZones returns the zones of the collection as it will be.
func (rs *Reshardings) newZones(
	coll catalog.Collection, pattern catalog.KeyPattern, req ReshardRequest,
) (*catalog.ZoneSet, error) {
	if req.Zones == nil {
		existing, err := rs.zones.load(coll)
		if err != nil || existing.Len() == 0 {
			return catalog.NewZoneSet(pattern), err
		}
		if pattern.Equal(coll.Pattern) {
			return existing, nil
		}
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify value for zones field")
	}
	zones := catalog.NewZoneSet(pattern)
	for _, z := range req.Zones {
		min, err := pattern.Key(z.Min)
		if err != nil {
			return nil, err
		}
		max, err := pattern.Key(z.Max)
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

// checkDistribution reads shardDistribution: shards, or chunks with their
// shards that tile the key space.
func (rs *Reshardings) checkDistribution(pattern catalog.KeyPattern, list []ShardRange) (targets []catalog.Shard,
	ranges []catalog.Chunk, err error) {
	shards, err := rs.config.Shards()
	if err != nil {
		return nil, nil, err
	}
	if len(list) == 0 {
		open := slices.DeleteFunc(shards, func(s catalog.Shard) bool { return s.Draining })
		return open, nil, nil
	}
	invalid := func(format string, args ...any) error {
		return mongoerr.New(mongoerr.InvalidOptions, format, args...)
	}
	bounded := list[0].Min != nil
	at := pattern.GlobalMin()
	for _, r := range list {
		shard, err := rs.config.ShardByID(r.Shard)
		switch {
		case err != nil:
			return nil, nil, err
		case (r.Min == nil) != (r.Max == nil):
			return nil, nil, invalid("shardDistribution: shard %s has only one of min and max", r.Shard)
		case (r.Min != nil) != bounded:
			return nil, nil, invalid("shardDistribution: either all shards have min and max, or none has")
		}
		repeated := slices.ContainsFunc(targets, func(s catalog.Shard) bool { return s.ID == shard.ID })
		if !bounded && repeated {
			return nil, nil, invalid("shardDistribution: shard %s is named twice", r.Shard)
		}
		if !repeated {
			targets = append(targets, shard)
		}
		if !bounded {
			continue
		}
		min, errMin := pattern.Key(r.Min)
		max, errMax := pattern.Key(r.Max)
		switch {
		case errMin != nil || errMax != nil:
			return nil, nil, invalid("shardDistribution: min and max must be full shard keys of %s", pattern.Doc())
		case !min.Equal(at) || !min.Less(max):
			return nil, nil, invalid("shardDistribution: the ranges must begin at the global minimum and follow each other " +
				"without gap")
		}
		at = max
		ranges = append(ranges, catalog.Chunk{Min: min, Max: max, Shard: shard.ID})
	}
	if bounded && !at.Equal(pattern.GlobalMax()) {
		return nil, nil, invalid("shardDistribution: the last range must end at the global maximum")
	}
	return targets, ranges, nil
}

// reshardLayout makes the chunks of a resharded collection.
type reshardLayout struct {
	rs      *Reshardings
	coll    catalog.Collection
	pattern catalog.KeyPattern
	zones   *catalog.ZoneSet
	targets []catalog.Shard
	ranges  []catalog.Chunk // as asked for; nil = chunks are made
	chunks  int             // how many
}

func (l *reshardLayout) make() ([]catalog.Chunk, error) {
	if l.ranges != nil {
		return l.cutRanges(), l.checkZones()
	}
	bounds, err := l.bounds()
	if err == nil {
		err = l.checkZones()
	}
	if err != nil {
		return nil, err
	}
	return l.place(bounds)
}

// checkZones refuses zones that no shard has.
func (l *reshardLayout) checkZones() error {
	for _, r := range l.zones.Ranges() {
		if l.rs.zones.members(r.Zone) == 0 {
			return mongoerr.New(mongoerr.ZoneNotFound, "Zone %s does not exist", r.Zone)
		}
	}
	return nil
}

// zoneBounds returns the zones' bounds inside the key space.
func (l *reshardLayout) zoneBounds() []catalog.Key {
	var bounds []catalog.Key
	for _, r := range l.zones.Ranges() {
		bounds = append(bounds, r.Min, r.Max)
	}
	return bounds
}

// cutRanges cuts the ranges that were asked for at the zones' bounds.
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

// bounds returns the lower bounds of the chunks but the first: the zones', and as
// many of those that cut the documents evenly as are needed besides.
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
	for _, point := range l.quantiles(l.chunks - 1) {
		if len(points) >= l.chunks-1 {
			break
		}
		points = append(points, point)
		tidy()
	}
	if len(points)+1 < l.chunks {
		return nil, mongoerr.New(reshardCardinality,
			"The shard key provided does not have enough cardinality to make the required number of chunks of %d, it can "+
				"only make %d chunks", l.chunks, len(points)+1)
	}
	return points, nil
}

// reshardCardinality is the server's code for too few different keys.
const reshardCardinality mongoerr.Code = 4952606

// samplesPerChunk is how many documents the server samples for each chunk to be.
const samplesPerChunk = 10

// quantiles are keys that cut a collection evenly: every tenth of a sample that
// has ten for each chunk, or of all documents where those are fewer. Frequent keys
// come more than once.
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
	sampled := min(len(keys), l.chunks*samplesPerChunk)
	var points []catalog.Key
	for i := samplesPerChunk; i <= sampled; i += samplesPerChunk {
		points = append(points, keys[min(i*len(keys)/sampled, len(keys)-1)])
	}
	return points
}

// virtualQuantiles cut virtual data, of which only the present key is known.
func (l *reshardLayout) virtualQuantiles(n int) []catalog.Key {
	if l.pattern.HashedField() == 0 {
		var points []catalog.Key
		for _, p := range catalog.HashedPoints(n + 1) {
			if bound, err := l.pattern.HashedInside(l.pattern.GlobalMin(), p); err == nil {
				points = append(points, bound)
			}
		}
		return points
	}
	if !l.pattern.Equal(l.coll.Pattern) {
		return nil
	}
	var points []catalog.Key
	for chunk := range l.rs.config.table(l.coll.Namespace).All() {
		points = append(points, chunk.Min)
	}
	return points[1:]
}

// place gives each chunk to the shard that has the fewest so far, among those
// of its zone.
func (l *reshardLayout) place(bounds []catalog.Key) ([]catalog.Chunk, error) {
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
