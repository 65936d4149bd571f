package sim

import (
	"cmp"
	"time"

	"shardsh/balancer/catalog"
)

// volumes are those of the shards of a run with a disk limit.
type volumes struct {
	*catalog.Volumes
	freeing int // deletions that have yet to make room
	refused map[Shortage]int64
}

// Shortage is a shard that had no room for something of a collection.
type Shortage struct {
	Shard     catalog.ShardID
	Namespace string
}

// place is a collection on a shard.
type place struct {
	coll *collection
	id   catalog.ShardID
}

// fitting returns what the engine asks for room; nil without a limit.
func (c *cluster) fitting() func(ns string, to catalog.ShardID, chunk catalog.Chunk) bool {
	if c.volumes == nil {
		return nil
	}
	return func(ns string, to catalog.ShardID, chunk catalog.Chunk) bool {
		coll := c.collections[ns]
		return coll == nil || to == chunk.Shard || c.lacks(coll, to, c.gives(coll, chunk)) == 0
	}
}

// gives returns what a migration takes of a chunk.
func (c *cluster) gives(coll *collection, chunk catalog.Chunk) int64 {
	upper := chunk.Max
	if c.first.Release().BalancesBySize() && coll.chunks.Find(chunk.Min).Max == chunk.Max {
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

// lacks returns how many bytes the volume of a shard lacks for data that are to come.
func (c *cluster) lacks(coll *collection, to catalog.ShardID, bytes int64) int64 {
	if c.volumes == nil {
		return 0
	}
	lacks := c.volumes.Lacks(coll.entry.Namespace, to, bytes)
	if at := (Shortage{to, coll.entry.Namespace}); lacks > 0 {
		if least, known := c.volumes.refused[at]; !known || lacks < least {
			c.volumes.refused[at] = lacks
		}
	}
	return lacks
}

// claim takes room on the recipient's volume.
func (m *move) claim(bytes int64) {
	if v := m.cluster.volumes; v != nil && bytes > m.claimed {
		v.Arrive(m.Namespace, m.To, bytes-m.claimed)
		m.claimed = bytes
	}
}

// giveUp has the recipient delete what has come.
func (m *move) giveUp() {
	if m.claimed > 0 {
		m.cluster.deleted(m.coll, m.To, m.cluster.queue.Now(), m.claimed)
		m.claimed = 0
	}
}

// deleted makes room on a shard at a time, in the files of a collection.
func (c *cluster) deleted(coll *collection, of catalog.ShardID, at time.Time, bytes int64) {
	if c.volumes == nil || bytes == 0 {
		return
	}
	c.volumes.freeing++
	c.queue.At(at, func() {
		c.volumes.freeing--
		c.volumes.Delete(coll.entry.Namespace, of, bytes)
		coll.revision++ // what did not fit may fit now
		c.active = true
	})
}

// orphansGo has the orphans that the snapshot knows go with the last of their ranges.
func (c *cluster) orphansGo(last map[place]time.Time) {
	if c.volumes == nil {
		return
	}
	for _, coll := range c.order { // in the same order in each run
		for _, shard := range c.shards {
			if gone, waits := last[place{coll, shard.ID}]; waits {
				c.deleted(coll, shard.ID, gone, coll.first.Sizes[shard.ID].OrphanBytes)
			}
		}
	}
}

// forgetRefused has what lacks room counted again, now that something has moved.
func (c *cluster) forgetRefused() {
	if c.volumes != nil {
		clear(c.volumes.refused)
	}
}

// awaitsRoom reports whether what was refused for lack of room may find some later.
func (c *cluster) awaitsRoom() bool {
	return c.volumes != nil && c.volumes.freeing > 0 && len(c.volumes.refused) > 0
}

// Refused returns what shards had no room for since the last move, with the bytes on disk
// that they lacked at least.
func (r *Run) Refused() map[Shortage]int64 {
	if r.cluster.volumes == nil {
		return nil
	}
	return r.cluster.volumes.refused
}
