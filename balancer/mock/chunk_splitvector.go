package mock

import (
	"bytes"
	"cmp"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// SplitVectorRequest is a request for the split points of a range (splitVector, rules/03-commands §1.8).
// Both bounds or neither must be given.
type SplitVectorRequest struct {
	Namespace       string
	Key             bson.Raw
	Min, Max        bson.Raw
	ChunkBytes      int64 // not used with Force
	MaxPoints       int64 // zero for no limit
	MaxKeysPerPiece int64 // per piece; zero for the default
	Force           bool  // return the median, regardless of sizes
	// Shard is the shard whose data is read, including orphans; empty for the owner.
	Shard catalog.ShardID
}

// SplitVector returns the keys at which a range would be split into pieces of half the chunk size. After
// each such number of keys, the next different key is a split point.
func (c *Chunks) SplitVector(req SplitVectorRequest) ([]bson.Raw, error) {
	pattern, err := catalog.ParseKeyPattern(req.Key)
	if err != nil {
		return nil, err
	}
	local, lower, upper, err := c.splitVectorRange(req, pattern)
	if err != nil {
		return nil, err
	}
	if _, ok := local.shardKeyIndex(pattern); !ok {
		return nil, mongoerr.New(mongoerr.IndexNotFound, "couldn't find index over splitting key %s", req.Key)
	}
	docs, size := local.counts()
	if docs == 0 {
		if req.Force {
			return nil, mongoerr.New(mongoerr.InvalidOptions,
				"need to specify the desired max chunk size: the collection is empty")
		}
		return nil, nil
	}
	if !req.Force && (size < req.ChunkBytes || size/docs == 0) {
		return nil, nil
	}
	var records []store.RecordID
	var keys [][]byte
	for record, key := range local.documentsInRange(pattern, lower, upper) {
		records, keys = append(records, record), append(keys, key)
	}
	if virtual, _ := local.virtual.sumIn(pattern, lower, upper); len(keys) == 0 && virtual > 0 {
		return local.virtualSplitVector(req, pattern, lower, upper, virtual, req.keysPerPiece(size/docs, virtual)), nil
	}
	if len(keys) == 0 {
		return nil, mongoerr.New(mongoerr.OperationFailed,
			"can't open a cursor to scan the range (desired range is possibly empty)")
	}
	if bytes.Equal(keys[0], keys[len(keys)-1]) {
		return nil, nil
	}
	var points []bson.Raw
	for _, at := range splitVectorPoints(keys, req.keysPerPiece(size/docs, int64(len(keys))), req.MaxPoints) {
		doc, _ := local.docs.Get(records[at])
		key, err := pattern.DocumentKey(doc)
		if err != nil {
			return nil, err
		}
		points = append(points, pattern.Bound(key))
	}
	return points, nil
}

// keysPerPiece returns the number of keys per piece.
func (r SplitVectorRequest) keysPerPiece(average, keys int64) int64 {
	if r.Force {
		return keys / 2
	}
	return min(r.ChunkBytes/(2*average), cmp.Or(max(r.MaxKeysPerPiece, 0), policy.MaxKeysPerPiece))
}

// splitVectorPoints returns the indexes of the split points: after more than n keys since the last
// point, the next key that differs from the last point.
func splitVectorPoints(keys [][]byte, n, limit int64) []int {
	var points []int
	last, passed := keys[0], int64(0)
	for i, key := range keys {
		if passed++; passed <= n || bytes.Equal(key, last) {
			continue
		}
		points = append(points, i)
		if last, passed = key, 0; limit > 0 && int64(len(points)) == limit {
			break
		}
	}
	return points
}

// virtualSplitVector returns the split points of virtual data, whose keys are evenly distributed.
func (l *localCollection) virtualSplitVector(
	req SplitVectorRequest,
	p catalog.KeyPattern,
	lower, upper catalog.Key,
	docs,
	n int64,
) []bson.Raw {
	var points []bson.Raw
	for passed := n + 1; passed < docs && (req.MaxPoints == 0 || int64(len(points)) < req.MaxPoints); passed += n + 1 {
		key, ok := l.virtual.keyAfterDocs(p, lower, upper, passed)
		if !ok {
			break
		}
		points = append(points, p.Bound(key))
	}
	return points
}

// splitVectorRange returns the shard's collection that contains a range, and its bounds.
func (c *Chunks) splitVectorRange(req SplitVectorRequest, pattern catalog.KeyPattern) (l *localCollection, lower,
	upper catalog.Key, err error) {
	db := catalog.DatabaseOf(req.Namespace)
	primary, known := c.config.Primary(db)
	if !known || !c.collections.Exists(req.Namespace) {
		return nil, lower, upper, mongoerr.New(mongoerr.NamespaceNotFound, "ns %s not found", req.Namespace)
	}
	lower, upper = pattern.GlobalMin(), pattern.GlobalMax()
	if req.Min != nil {
		if lower, err = pattern.ParseKey(req.Min); err == nil {
			upper, err = pattern.ParseKey(req.Max)
		}
		if err != nil {
			return nil, lower, upper, mongoerr.New(mongoerr.BadValue, "bounds are not keys of %s: %s", req.Key, err)
		}
	}
	id := primary
	if req.Shard != "" {
		id = req.Shard
	} else if table := c.config.Table(req.Namespace); table != nil {
		if pattern.Equal(table.Pattern()) {
			id = table.Find(lower).Shard
			for chunk := range table.Overlapping(lower, upper) {
				if chunk.Shard != id && req.Min != nil {
					return nil, lower, upper, mongoerr.New(mongoerr.InvalidOptions, "the range [%s, %s) is not on one shard", req.Min,
						req.Max)
				}
			}
		} else {
			id = table.At(0).Shard
		}
	}
	if l = c.shards.collection(id, req.Namespace); l == nil {
		return nil, lower, upper, mongoerr.New(mongoerr.NamespaceNotFound, "ns %s not found", req.Namespace)
	}
	return l, lower, upper, nil
}

// autoSplitDivisor is the divisor of the chunk size: after that many bytes were written to a chunk, its
// shard checks whether the chunk is too large.
const autoSplitDivisor = 5

// autoSplit counts a document that was written to a sharded collection. Up to release 5.0, a shard that
// has written a fifth of the chunk size to a chunk checks the chunk. If the chunk is larger than the
// chunk size, the shard splits it into pieces of half a chunk size.
func (c *Chunks) autoSplit(s *shard, ns string, doc bson.Raw) {
	if !c.release.AutoSplits() || doc == nil || c.config.tables[ns] == nil {
		return
	}
	settings := c.balancer.loop.Settings()
	if !settings.ShouldAutoSplit(c.clock.Now().In(c.location)) {
		return
	}
	coll, ok, err := c.config.TrackedEntry(ns)
	if err != nil || !ok || coll.Unsplittable || c.migrations.IsDonating(ns, s.id) {
		return
	}
	key, err := coll.Pattern.DocumentKey(doc)
	if err != nil {
		return
	}
	size, chunk, local := coll.ChunkSize(settings), c.config.Table(ns).Find(key), s.colls[ns]
	if !local.countWritten(chunk, int64(len(doc)), size/autoSplitDivisor) {
		return
	}
	points := c.halfSizePoints(coll, chunk, size)
	if len(points) < 2 {
		return // not larger than the chunk size
	}
	if err := c.Split(coll, chunk, points); err != nil {
		c.logger.Warn("a large chunk could not be split", "ns", ns, "error", err)
	}
}

// countWritten counts bytes written to a chunk and reports whether to check the chunk.
func (l *localCollection) countWritten(chunk catalog.Chunk, bytes, enough int64) bool {
	if l.writtenByChunk == nil {
		l.writtenByChunk = map[string]int64{}
	}
	at := string(chunk.Min.Bytes())
	l.writtenByChunk[at] += bytes
	if l.writtenByChunk[at] < enough {
		return false
	}
	delete(l.writtenByChunk, at)
	return true
}

// halfSizePoints returns the points that split a chunk into pieces of half a chunk size. It returns none
// if the shard cannot determine them.
func (c *Chunks) halfSizePoints(coll catalog.Collection, chunk catalog.Chunk, size int64) []catalog.Key {
	bounds, err := c.SplitVector(SplitVectorRequest{
		Namespace: coll.Namespace, Key: coll.Pattern.Doc(),
		Min: coll.Pattern.Bound(chunk.Min), Max: coll.Pattern.Bound(chunk.Max), ChunkBytes: size,
	})
	if err != nil {
		return nil
	}
	var points []catalog.Key
	for _, bound := range bounds {
		if key, err := coll.Pattern.ParseKey(bound); err == nil {
			points = append(points, key)
		}
	}
	return points
}
