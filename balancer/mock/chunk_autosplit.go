package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// autoSplitShare is the part of a chunk size that has to be written to a chunk
// before its shard looks whether it has grown too large.
const autoSplitShare = 5

// autoSplit notes a document that was written to a sharded collection. Up to
// 5.0 a shard that has written a fifth of a chunk size to one of its chunks
// looks at it, and cuts it into halves of chunks if it holds more than one.
func (cks Chunks) autoSplit(s *shard, ns string, doc bson.Raw) {
	if !cks.c.release.AutoSplits() || doc == nil || cks.c.config.tables[ns] == nil {
		return
	}
	settings := cks.c.balancer.loop.Settings()
	if !settings.ShouldAutoSplit(cks.c.now().Local()) {
		return
	}
	coll, ok, err := cks.c.config.Tracked(ns)
	if err != nil || !ok || coll.Unsplittable || cks.c.migrations.Donating(ns, s.id) {
		return
	}
	key, err := coll.Pattern.DocumentKey(doc)
	if err != nil {
		return
	}
	size := coll.MaxChunkSizeBytes
	if size == 0 {
		size = settings.MaxChunkSizeBytes
	}
	chunk, local := cks.c.config.tables[ns].Find(key), s.colls[ns]
	if !local.hasGrown(chunk, int64(len(doc)), size/autoSplitShare) {
		return
	}
	points := cks.halves(coll, chunk, size)
	if len(points) < 2 {
		return // half a chunk to a whole one: not yet
	}
	if err := cks.Split(coll, chunk, points); err != nil {
		cks.c.logger.Warn("a chunk that has grown is not split", "ns", ns, "error", err)
	}
}

// hasGrown counts what was written to a chunk and tells whether it is time to
// look at the chunk.
func (l *localCollection) hasGrown(chunk catalog.Chunk, bytes, enough int64) bool {
	if l.written == nil {
		l.written = map[string]int64{}
	}
	at := string(chunk.Min.Bytes())
	l.written[at] += bytes
	if l.written[at] < enough {
		return false
	}
	delete(l.written, at)
	return true
}

// halves are the points that cut a chunk into pieces of half a chunk
// size; none when the shard can't tell.
func (cks Chunks) halves(coll catalog.Collection, chunk catalog.Chunk, size int64) []catalog.Key {
	bounds, err := cks.SplitVector(VectorRequest{
		Namespace: coll.Namespace, Key: coll.Pattern.Doc(),
		Min: coll.Pattern.Bound(chunk.Min), Max: coll.Pattern.Bound(chunk.Max), ChunkBytes: size,
	})
	if err != nil {
		return nil
	}
	var points []catalog.Key
	for _, bound := range bounds {
		if key, err := coll.Pattern.Key(bound); err == nil {
			points = append(points, key)
		}
	}
	return points
}
