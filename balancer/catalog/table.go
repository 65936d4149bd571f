package catalog

import (
	"slices"
	"sort"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// RoutingTable says which shard owns which range of a collection: all its
// chunks, which tile the key space from MinKey to MaxKey. A table never
// changes; Apply makes a new one that shares what stayed the same. It is built
// for a million chunks and more: a chunk costs some tens of bytes (and what
// its key takes), and totals per shard are at hand.
//
// Bounds that meet are kept once, so the lower of two bounds that are equal
// but of different types (max 5, next min 5.0) is not kept.
type RoutingTable struct {
	pattern   KeyPattern
	epoch     bson.ObjectID
	timestamp bson.Timestamp

	shards *shardNames
	blocks []*block
	lows   []string // comparable lower bound of each block
	starts []int32  // position of each block's first chunk, and the number of chunks

	totals  []shardTotal // by shard
	version ChunkVersion
	newest  string // lower bound of the chunk with that version; "" = not known
}

// shardNames gives shards small numbers. It only ever grows by being replaced,
// so numbers in blocks stay valid.
type shardNames struct {
	names  []ShardID
	number map[ShardID]uint16
	sorted []uint16 // numbers by name
}

type shardTotal struct {
	chunks, jumbo int32
	newest        ChunkVersion
}

// Pattern is the shard key.
func (t *RoutingTable) Pattern() KeyPattern { return t.pattern }

// Epoch identifies the incarnation of the collection.
func (t *RoutingTable) Epoch() bson.ObjectID { return t.epoch }

// Timestamp orders incarnations of the collection.
func (t *RoutingTable) Timestamp() bson.Timestamp { return t.timestamp }

// Version is the collection version: that of its newest chunk.
func (t *RoutingTable) Version() Version { return Version{t.epoch, t.timestamp, t.version} }

// Len is the number of chunks, at least 1.
func (t *RoutingTable) Len() int { return int(t.starts[len(t.blocks)]) }

// locate finds block and position in it of the chunk containing a key.
func (t *RoutingTable) locate(order string) (int, int) {
	b := sort.Search(len(t.lows)-1, func(i int) bool { return order < t.lows[i+1] })
	return b, t.blocks[b].find(order)
}

// position finds block and position in it of chunk i.
func (t *RoutingTable) position(i int) (int, int) {
	b := sort.Search(len(t.blocks)-1, func(b int) bool { return i < int(t.starts[b+1]) })
	return b, i - int(t.starts[b])
}

func (t *RoutingTable) chunk(b, i int) Chunk {
	return t.blocks[b].chunk(i, t.shards.names, &historySlab{})
}

// Find is the chunk that contains the key. The global maximum belongs to the
// last chunk.
func (t *RoutingTable) Find(k Key) Chunk { return t.chunk(t.locate(k.order)) }

// IndexOf is the position in key order of the chunk that contains the key.
func (t *RoutingTable) IndexOf(k Key) int {
	b, i := t.locate(k.order)
	return int(t.starts[b]) + i
}

// At is the chunk at a position, 0 to Len()-1. It panics outside, like a
// slice.
func (t *RoutingTable) At(i int) Chunk { return t.chunk(t.position(i)) }

// ShardOf is the owner of the key: Find without building the chunk.
func (t *RoutingTable) ShardOf(k Key) ShardID {
	b, i := t.locate(k.order)
	return t.shards.names[t.blocks[b].shards[i]]
}

func (t *RoutingTable) total(s ShardID) shardTotal {
	n, ok := t.shards.number[s]
	if !ok || int(n) >= len(t.totals) {
		return shardTotal{}
	}
	return t.totals[n]
}

// Count is the number of chunks on a shard.
func (t *RoutingTable) Count(s ShardID) int { return int(t.total(s).chunks) }

// JumboCount is the number of chunks on a shard that are flagged jumbo.
func (t *RoutingTable) JumboCount(s ShardID) int { return int(t.total(s).jumbo) }

// ShardVersion is the version of the newest chunk on a shard, 0|0 when it has
// none.
func (t *RoutingTable) ShardVersion(s ShardID) ChunkVersion { return t.total(s).newest }

// Owners are the shards that have chunks, in ascending order.
func (t *RoutingTable) Owners() []ShardID {
	owners := make([]ShardID, 0, len(t.totals))
	for _, n := range t.shards.sorted {
		if int(n) < len(t.totals) && t.totals[n].chunks > 0 {
			owners = append(owners, t.shards.names[n])
		}
	}
	return owners
}

// Newest is the chunk with the highest version.
func (t *RoutingTable) Newest() Chunk {
	if t.newest != "" {
		if b, i := t.locate(t.newest); t.blocks[b].versions[i] == t.version {
			return t.chunk(b, i)
		}
	}
	for n, total := range t.totals {
		if total.chunks == 0 || total.newest != t.version {
			continue
		}
		for bi, b := range t.blocks {
			if o := b.of(uint16(n)); o != nil && o.newest == t.version {
				return t.chunk(bi, slices.Index(b.versions, t.version))
			}
		}
	}
	return t.chunk(0, 0)
}
