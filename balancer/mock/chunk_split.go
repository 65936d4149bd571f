package mock

import (
	"bytes"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Chunks splits and merges chunks and changes their flags.
type Chunks struct {
	*clusterSettings
	balancer     *Balancer
	clock        *clock.Clock
	collections  *Collections
	config       *ConfigDB
	configChunks *ConfigChunks
	zones        *Zones
	faults       *Faults
	ids          *ids.Source
	log          *configLogs
	migrations   *Migrations
	shards       shardSet
}

// Chunks returns the Chunks of the cluster.
func (c *Cluster) Chunks() *Chunks { return c.chunks }

// maxSplitPoints is the maximum number of split points of a chunk.
const maxSplitPoints = 8192

// SplitOnShard executes a split that the balancer requests from the owner. The shard checks the points
// before it sends the request to the config server (rules/01-rounds-and-settings §5.3).
func (c *Chunks) SplitOnShard(coll catalog.Collection, chunk catalog.Chunk, points []catalog.Key) error {
	if len(points) > maxSplitPoints {
		c.logger.Warn("too many split points, the first ones are used", "ns", coll.Namespace, "points", len(points),
			"used", maxSplitPoints)
		points = points[:maxSplitPoints]
	}
	if n := len(points); n > 0 && (points[0].Equal(chunk.Min) || points[n-1].Equal(chunk.Max)) {
		p := coll.Pattern
		return mongoerr.New(mongoerr.CannotSplit, "a split point is a bound of the chunk %s -->> %s", p.Bound(chunk.Min),
			p.Bound(chunk.Max))
	}
	return c.Split(coll, chunk, points)
}

// Split splits a chunk at the given points, which are in ascending order: first the shard's part, then
// the config server's (rules/02-migration-and-metadata §6.6).
func (c *Chunks) Split(coll catalog.Collection, chunk catalog.Chunk, points []catalog.Key) error {
	if err := checkChunkOperations(c.config); err != nil {
		return err
	}
	for _, point := range points {
		if err := coll.Pattern.CheckHashed(point); err != nil {
			return mongoerr.New(mongoerr.CannotSplit, "split failed :: caused by :: %s", err)
		}
	}
	if err := c.faults.checkReachable(configShard, chunk.Shard); err != nil {
		return err
	}
	if err := c.checkChunkOperationsAllowed(coll); err != nil {
		return err
	}
	return c.commitSplit(coll, chunk.Shard, chunk.Min, chunk.Max, points)
}

// checkChunkOperationsAllowed rejects splits and merges of a collection that disallows chunk operations.
func (c *Chunks) checkChunkOperationsAllowed(coll catalog.Collection) error {
	if !coll.ForbidsChunkOperations(c.installed.configRelease()) {
		return nil
	}
	return errChunkOperationsForbidden()
}

func errChunkOperationsForbidden() error {
	return mongoerr.New(mongoerr.ConflictingOperationInProgress,
		"Collection is undergoing changes so the chunk operation is not allowed")
}

// commitSplit writes the catalog and the change log (_configsvrCommitChunkSplit). known is the
// collection according to the shard.
func (c *Chunks) commitSplit(known catalog.Collection, shard catalog.ShardID, min, max catalog.Key,
	points []catalog.Key) error {
	ns := known.Namespace
	coll, ok, err := c.config.TrackedEntry(ns)
	switch {
	case err != nil:
		return err
	case !ok:
		return mongoerr.New(mongoerr.ConflictingOperationInProgress, "collection %s is gone", ns)
	case coll.Unsplittable:
		return mongoerr.New(mongoerr.NamespaceNotSharded, "Namespace %s is not sharded", ns)
	case coll.Epoch != known.Epoch:
		return errStaleEpoch(ns)
	}
	table := c.config.Table(ns)
	chunk := table.Find(min)
	switch {
	case !chunk.Min.Equal(min):
		return mongoerr.New(mongoerr.IncompatibleShardingMetadata, "no chunk of %s begins at %s", ns, coll.Pattern.Bound(min))
	case isSplit(table, shard, min, max, points):
		return nil // a repeated request
	case !chunk.Max.Equal(max) || chunk.Shard != shard:
		return mongoerr.New(mongoerr.BadValue, "no chunk of %s on shard %s has these bounds", ns, shard)
	}
	if err := checkSplitPoints(coll.Pattern, chunk, points); err != nil {
		return err
	}
	before := table.Version().ChunkVersion
	pieces := c.newCommit().Split(table, chunk, points)
	if err := c.config.putChunks(ns, pieces...); err != nil {
		return err
	}
	c.logSplit(ns, table, chunk, pieces, before)
	return nil
}

// isSplit reports whether [min, max) of a shard is already split at exactly these points.
func isSplit(table *catalog.RoutingTable, shard catalog.ShardID, min, max catalog.Key, points []catalog.Key) bool {
	bounds := append(slices.Clone(points), max)
	for _, bound := range bounds {
		chunk := table.Find(min)
		if chunk.Shard != shard || !chunk.Min.Equal(min) || !chunk.Max.Equal(bound) {
			return false
		}
		min = bound
	}
	return true
}

func checkSplitPoints(p catalog.KeyPattern, chunk catalog.Chunk, points []catalog.Key) error {
	last := chunk.Min
	for _, point := range points {
		if err := catalog.CheckStorable(p.Bound(point)); err != nil {
			return err
		}
		if point.Compare(last) <= 0 || point.Compare(chunk.Max) >= 0 {
			return mongoerr.New(mongoerr.InvalidOptions, "split points must be inside the chunk and strictly increasing")
		}
		last = point
	}
	return nil
}

func (c *Chunks) logSplit(ns string, table *catalog.RoutingTable, chunk catalog.Chunk, pieces []catalog.Chunk,
	version catalog.ChunkVersion) {
	before := bson.E{Key: "before", Value: chunkDoc(table, chunk, version)}
	owner := bson.E{Key: "owningShard", Value: string(chunk.Shard)}
	if len(pieces) == 2 {
		c.log.writeChange(configShard, "split", ns, bson.D{before,
			{Key: "left", Value: chunkDoc(table, pieces[0], pieces[0].Version)},
			{Key: "right", Value: chunkDoc(table, pieces[1], pieces[1].Version)},
			owner})
		return
	}
	for i, piece := range pieces {
		c.log.writeChange(configShard, "multi-split", ns, bson.D{before,
			{Key: "number", Value: int32(i + 1)},
			{Key: "of", Value: int32(len(pieces))},
			{Key: "chunk", Value: chunkDoc(table, piece, piece.Version)},
			owner})
	}
}

type direction bool

const (
	forward  direction = false
	backward direction = true
)

// ChunkEndingAt returns the chunk whose upper bound is max, or else the chunk that contains max.
func ChunkEndingAt(t *catalog.RoutingTable, max catalog.Key) catalog.Chunk {
	i := t.IndexOf(max)
	if chunk := t.At(i); i == 0 || !chunk.Min.Equal(max) {
		return chunk
	}
	return t.At(i - 1)
}

// splitPoint returns the first point in [min, max) that splits off about one chunk size ("auto split
// vector" with limit 1, rules/02-migration-and-metadata §5.8). The average document size is that of the
// whole local collection, including orphans.
func (l *localCollection) splitPoint(p catalog.KeyPattern, min, max catalog.Key, maxChunkBytes int64,
	dir direction) (catalog.Key, bool) {
	if l == nil {
		return catalog.Key{}, false
	}
	docs, size := l.counts()
	if docs == 0 || size < maxChunkBytes || size/docs == 0 {
		return catalog.Key{}, false
	}
	perPiece := maxChunkBytes / (size / docs)
	if virtual, _ := l.virtual.sumIn(p, min, max); virtual > 0 {
		return l.virtualPoint(p, min, max, virtual, perPiece, dir)
	}
	keys := make([][]byte, 0, 1024)
	records := make([]store.RecordID, 0, 1024)
	for record, key := range l.documentsInRange(p, min, max) {
		keys = append(keys, key)
		records = append(records, record)
	}
	if dir == backward {
		slices.Reverse(keys)
		slices.Reverse(records)
	}
	at, ok := firstSplitPoint(keys, int(perPiece))
	if !ok {
		return catalog.Key{}, false
	}
	doc, _ := l.docs.Get(records[at])
	key, err := p.DocumentKey(doc)
	return key, err == nil
}

// firstSplitPoint returns the index of the first split point in keys.
func firstSplitPoint(keys [][]byte, perPiece int) (int, bool) {
	points := splitPointIndexes(keys, perPiece, 1)
	if len(points) == 0 {
		return 0, false
	}
	return points[0], true
}

// splitPointIndexes returns the indexes of the first split points in the keys of a range, up to limit of
// them, or all if limit is 0. keys are in the order of the scan. It skips keys that equal the previous
// point. If the last piece is too small, it makes the pieces before it smaller.
func splitPointIndexes(keys [][]byte, perPiece, limit int) []int {
	if len(keys) == 0 || bytes.Equal(keys[0], keys[len(keys)-1]) {
		return nil
	}
	most := len(keys)
	if limit > 0 {
		most = limit + 1
	}
	points, count := pickSplitPoints(keys, 0, 1, perPiece, most)
	if len(points) > 0 && float64(count) < 0.8*float64(perPiece) {
		points = evenOutLastPieces(keys, points, count, perPiece)
	}
	if limit > 0 {
		points = points[:min(limit, len(points))]
	}
	return points
}

// evenOutLastPieces makes the last piece larger by making the pieces before it smaller.
func evenOutLastPieces(keys [][]byte, points []int, count, perPiece int) []int {
	again := min(3, len(points))
	smaller := perPiece - (perPiece-count)/(again+1)
	if count < perPiece-smaller {
		return points[:len(points)-1]
	}
	points = points[:len(points)-again]
	from := 0
	if len(points) > 0 {
		from = points[len(points)-1]
	}
	// The start key counts as the first key of its piece.
	more, _ := pickSplitPoints(keys, from, 1, smaller, again)
	return append(points, more...)
}

// pickSplitPoints returns up to limit split points after keys[from], one every n keys. rest is the
// number of keys after the last one.
func pickSplitPoints(keys [][]byte, from, count, n, limit int) (points []int, rest int) {
	last := keys[from]
	for i := from + 1; i < len(keys); i++ {
		count++
		if count < n || bytes.Equal(keys[i], last) {
			continue
		}
		points = append(points, i)
		last, count = keys[i], 0
		if len(points) == limit {
			break
		}
	}
	return points, count
}

// virtualPoint applies the rule of splitPoint to virtual data.
func (l *localCollection) virtualPoint(p catalog.KeyPattern, min, max catalog.Key, docs, perPiece int64,
	dir direction) (catalog.Key, bool) {
	n, ok := policy.AmountToCut(docs, perPiece)
	if !ok {
		return catalog.Key{}, false
	}
	if dir == backward {
		n = docs - n
	}
	return l.virtual.keyAfterDocs(p, min, max, n)
}

// Median returns the split point for split by find or bounds (rules/03-commands §1.3): key number
// floor(N/2)+1, or the next different key if that equals the first key.
func (c *Chunks) Median(coll catalog.Collection, chunk catalog.Chunk) (catalog.Key, error) {
	local := c.shards[chunk.Shard].colls[coll.Namespace]
	if local == nil {
		return catalog.Key{}, errEmptyCollection(coll.Namespace)
	}
	if docs, _ := local.counts(); docs == 0 {
		return catalog.Key{}, errEmptyCollection(coll.Namespace)
	}
	if virtual, _ := local.virtual.sumIn(coll.Pattern, chunk.Min, chunk.Max); virtual > 0 {
		if virtual == 1 {
			return catalog.Key{}, errNoMedian()
		}
		if key, ok := local.virtual.keyAfterDocs(coll.Pattern, chunk.Min, chunk.Max, virtual/2); ok {
			return key, nil
		}
		return catalog.Key{}, errNoMedian()
	}
	if _, ok := local.shardKeyIndex(coll.Pattern); !ok {
		return catalog.Key{}, mongoerr.New(mongoerr.IndexNotFound, "couldn't find index over splitting key %s",
			coll.Pattern.Doc())
	}
	var records []store.RecordID
	var keys [][]byte
	for record, key := range local.documentsInRange(coll.Pattern, chunk.Min, chunk.Max) {
		records = append(records, record)
		keys = append(keys, key)
	}
	if len(keys) == 0 {
		return catalog.Key{}, mongoerr.New(mongoerr.OperationFailed,
			"can't open a cursor to scan the range (desired range is possibly empty)")
	}
	at := len(keys) / 2
	for at < len(keys) && bytes.Equal(keys[at], keys[0]) {
		at++
	}
	if at == len(keys) {
		return catalog.Key{}, errNoMedian()
	}
	doc, _ := local.docs.Get(records[at])
	return coll.Pattern.DocumentKey(doc)
}

func errEmptyCollection(ns string) error {
	return mongoerr.New(mongoerr.InvalidOptions,
		"can't find the median of %s: the shard has no documents of the collection", ns)
}

func errNoMedian() error {
	return mongoerr.New(mongoerr.CannotSplit, "Unable to find median in chunk because chunk is indivisible.")
}
