package sim

import (
	"cmp"
	"time"

	"shardsh/balancer/catalog"
)

// volumes are those of the shards of a run with a disk limit.
type volumes struct {
	*catalog.Volumes
	pendingFrees int // deletions that have yet to make room
	shortages    map[Shortage]int64
}

// Shortage is a shard that had no room for something of a collection.
type Shortage struct {
	Shard     catalog.ShardID
	Namespace string
}

// collectionOnShard is a collection on a shard.
type collectionOnShard struct {
	coll *collection
	id   catalog.ShardID
}

// fitsFunc returns the engine's disk space check (Config.Fits); nil without a limit.
func (c *cluster) fitsFunc() func(ns string, to catalog.ShardID, chunk catalog.Chunk) bool {
	if c.volumes == nil {
		return nil
	}
	return func(ns string, to catalog.ShardID, chunk catalog.Chunk) bool {
		coll := c.collections[ns]
		return coll == nil || to == chunk.Shard || c.missingBytes(coll, to, c.bytesToMove(coll, chunk)) == 0
	}
}

// bytesToMove returns the bytes of a chunk that a migration would move.
func (c *cluster) bytesToMove(coll *collection, chunk catalog.Chunk) int64 {
	upper := chunk.Max
	if c.initial.Release().BalancesBySize() && coll.chunks.Find(chunk.Min).Max == chunk.Max {
		size := cmp.Or(coll.entry.MaxChunkSizeBytes, c.settings.MaxChunkSizeBytes)
		if point, ok := c.splitPoint(coll, chunk, size); ok {
			upper = point
		}
	}
	bytes := coll.extents.sum(chunk.Min, upper).Bytes
	if coll.chunks.Count(chunk.Shard) == 1 { // with its last chunk a donor gives all
		bytes = max(bytes, coll.bytes[chunk.Shard])
	}
	return bytes
}

// missingBytes returns how many bytes the volume of a shard lacks for data that are to come.
func (c *cluster) missingBytes(coll *collection, to catalog.ShardID, bytes int64) int64 {
	if c.volumes == nil {
		return 0
	}
	lacks := c.volumes.MissingBytes(coll.entry.Namespace, to, bytes)
	if at := (Shortage{to, coll.entry.Namespace}); lacks > 0 {
		if least, known := c.volumes.shortages[at]; !known || lacks < least {
			c.volumes.shortages[at] = lacks
		}
	}
	return lacks
}

// reserve takes room on the recipient's volume.
func (m *move) reserve(bytes int64) {
	if v := m.cluster.volumes; v != nil && bytes > m.reservedBytes {
		v.AddData(m.Namespace, m.To, bytes-m.reservedBytes)
		m.reservedBytes = bytes
	}
}

// deleteReceived has the recipient delete what has come.
func (m *move) deleteReceived() {
	if m.reservedBytes > 0 {
		m.cluster.freeSpaceAt(m.coll, m.To, m.cluster.queue.Now(), m.reservedBytes)
		m.reservedBytes = 0
	}
}

// freeSpaceAt makes room on a shard at a time, in the files of a collection.
func (c *cluster) freeSpaceAt(coll *collection, of catalog.ShardID, at time.Time, bytes int64) {
	if c.volumes == nil || bytes == 0 {
		return
	}
	c.volumes.pendingFrees++
	c.queue.At(at, func() {
		c.volumes.pendingFrees--
		c.volumes.RemoveData(coll.entry.Namespace, of, bytes)
		coll.revision++ // what did not fit may fit now
		c.sawActivity = true
	})
}

// scheduleOrphanRemoval has the orphans that the snapshot knows go with the last of their ranges.
func (c *cluster) scheduleOrphanRemoval(last map[collectionOnShard]time.Time) {
	if c.volumes == nil {
		return
	}
	for _, coll := range c.order { // in the same order in each run
		for _, shard := range c.shards {
			if gone, waits := last[collectionOnShard{coll, shard.ID}]; waits {
				c.freeSpaceAt(coll, shard.ID, gone, coll.initial.Sizes[shard.ID].OrphanBytes)
			}
		}
	}
}

// clearShortages has what lacks room counted again, now that something has moved.
func (c *cluster) clearShortages() {
	if c.volumes != nil {
		clear(c.volumes.shortages)
	}
}

// awaitsSpace reports whether what was refused for lack of room may find some later.
func (c *cluster) awaitsSpace() bool {
	return c.volumes != nil && c.volumes.pendingFrees > 0 && len(c.volumes.shortages) > 0
}

// Shortages returns the shards that lacked disk space since the last move, with the bytes
// that they lacked at least.
func (r *Run) Shortages() map[Shortage]int64 {
	if r.cluster.volumes == nil {
		return nil
	}
	return r.cluster.volumes.shortages
}
