package sim

import (
	"time"

	"shardsh/balancer/catalog"
)

// volumes are the volumes of the shards in a run with a disk limit.
type volumes struct {
	*catalog.Volumes
	pendingFrees int // number of deletions that will still free space
	shortages    map[Shortage]int64
}

// Shortage identifies a shard that had not enough space for data of a collection.
type Shortage struct {
	Shard     catalog.ShardID
	Namespace string
}

// collectionOnShard is a collection on a shard.
type collectionOnShard struct {
	coll *collection
	id   catalog.ShardID
}

// fitsFunc returns the engine's disk space check (Config.Fits), nil without a limit.
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
		size := coll.entry.ChunkSize(c.settings)
		if point, ok := c.splitPoint(coll, chunk, size); ok {
			upper = point
		}
	}
	bytes := coll.extents.sum(chunk.Min, upper).Bytes
	if coll.chunks.CountOn(chunk.Shard) == 1 { // a donor's last chunk includes all of its data
		bytes = max(bytes, coll.ownedBytes[chunk.Shard])
	}
	return bytes
}

// missingBytes returns the number of bytes that the volume of a shard lacks for additional data.
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

// reserve reserves space on the recipient's volume.
func (m *move) reserve(bytes int64) {
	if v := m.cluster.volumes; v != nil && bytes > m.reservedBytes {
		v.AddData(m.Namespace, m.To, bytes-m.reservedBytes)
		m.reservedBytes = bytes
	}
}

// deleteReceived makes the recipient delete the received data.
func (m *move) deleteReceived() {
	if m.reservedBytes > 0 {
		m.cluster.scheduleSpaceRelease(m.coll, m.To, m.cluster.queue.Now(), m.reservedBytes)
		m.reservedBytes = 0
	}
}

// scheduleSpaceRelease frees space of a collection's files on a shard at a time.
func (c *cluster) scheduleSpaceRelease(coll *collection, shard catalog.ShardID, at time.Time, bytes int64) {
	if c.volumes == nil || bytes == 0 {
		return
	}
	c.volumes.pendingFrees++
	c.queue.At(at, func() {
		c.volumes.pendingFrees--
		c.volumes.RemoveData(coll.entry.Namespace, shard, bytes)
		coll.revision++ // data that did not fit may fit now
		c.sawActivity = true
	})
}

// scheduleOrphanRemoval removes the orphans in the snapshot together with the last of their range
// deletions.
func (c *cluster) scheduleOrphanRemoval(last map[collectionOnShard]time.Time) {
	if c.volumes == nil {
		return
	}
	for _, coll := range c.orderedCollections { // same order in each run
		for _, shard := range c.shards {
			if gone, waits := last[collectionOnShard{coll, shard.ID}]; waits {
				c.scheduleSpaceRelease(coll, shard.ID, gone, coll.initial.Sizes[shard.ID].OrphanBytes)
			}
		}
	}
}

// clearShortages resets the shortages after a move.
func (c *cluster) clearShortages() {
	if c.volumes != nil {
		clear(c.volumes.shortages)
	}
}

// awaitsSpace reports whether data that did not fit may fit later.
func (c *cluster) awaitsSpace() bool {
	return c.volumes != nil && c.volumes.pendingFrees > 0 && len(c.volumes.shortages) > 0
}

// Shortages returns the shards that lacked disk space since the last move, with the minimum number of
// missing bytes.
func (r *Run) Shortages() map[Shortage]int64 {
	if r.cluster.volumes == nil {
		return nil
	}
	return r.cluster.volumes.shortages
}
