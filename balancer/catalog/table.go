package catalog

import (
	"iter"
	"slices"
	"sort"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// RoutingTable maps the ranges of a collection to shards. It contains all chunks of the collection,
// which cover the key space from MinKey to MaxKey. A table is immutable; Apply returns a new table that
// shares the unchanged parts. Tables are designed for a million chunks and more: a chunk costs some
// tens of bytes in addition to its key, and totals by shard are precomputed.
//
// A bound that is the end of one chunk and the beginning of the next is stored once. Therefore, of two
// bounds that are equal but have different types (max 5, next min 5.0), the upper bound is not stored.
type RoutingTable struct {
	pattern   KeyPattern
	epoch     bson.ObjectID
	timestamp bson.Timestamp

	layout    layout
	shards    *shardNames
	groups    []*blockGroup
	groupMins []string // comparable lower bound of each group
	starts    []int32  // position of each group's first chunk, and the number of chunks

	totals    shardTotals
	version   ChunkVersion
	newestMin string // lower bound of the chunk with that version; "" = not known
}

// shardNames assigns small numbers to shards. It is replaced when a shard is added, and numbers in
// existing blocks stay valid.
type shardNames struct {
	names  []ShardID
	number map[ShardID]uint16
	sorted []uint16 // numbers by name
}

// Pattern returns the shard key.
func (t *RoutingTable) Pattern() KeyPattern { return t.pattern }

// Epoch identifies the incarnation of the collection.
func (t *RoutingTable) Epoch() bson.ObjectID { return t.epoch }

// Timestamp orders the incarnations of the collection.
func (t *RoutingTable) Timestamp() bson.Timestamp { return t.timestamp }

// Version returns the collection version: that of its newest chunk.
func (t *RoutingTable) Version() Version { return Version{t.epoch, t.timestamp, t.version} }

// Len returns the number of chunks, at least 1.
func (t *RoutingTable) Len() int { return int(t.starts[len(t.groups)]) }

// chunkLocation is the position of a chunk: the index of its group, of its block in the group, and of the
// chunk in the block.
type chunkLocation struct{ group, block, chunk int }

// locate returns the position of the chunk that contains a key.
func (t *RoutingTable) locate(encoded string) chunkLocation {
	var p chunkLocation
	p.group = lastAtMost(t.groupMins, encoded)
	s := t.groups[p.group]
	p.block = lastAtMost(s.blockMins, encoded)
	p.chunk = s.blocks[p.block].find(encoded)
	return p
}

// lastAtMost returns the index of the last bound that is not above the key, or 0 if all bounds are. It
// does not use sort.Search, because finding a chunk is the inner loop of routing.
func lastAtMost(lows []string, encoded string) int {
	from, to := 0, len(lows)
	for to-from > 1 {
		if mid := int(uint(from+to) >> 1); lows[mid] <= encoded {
			from = mid
		} else {
			to = mid
		}
	}
	return from
}

// locationAt returns the position of chunk i.
func (t *RoutingTable) locationAt(i int) chunkLocation {
	var p chunkLocation
	p.group = sort.Search(len(t.groups)-1, func(s int) bool { return i < int(t.starts[s+1]) })
	s := t.groups[p.group]
	i -= int(t.starts[p.group])
	p.block = sort.Search(len(s.blocks)-1, func(b int) bool { return i < int(s.starts[b+1]) })
	p.chunk = i - int(s.starts[p.block])
	return p
}

func (t *RoutingTable) block(p chunkLocation) *block { return t.groups[p.group].blocks[p.block] }

// indexOf returns the index of a position among all chunks.
func (t *RoutingTable) indexOf(p chunkLocation) int {
	return int(t.starts[p.group]) + int(t.groups[p.group].starts[p.block]) + p.chunk
}

func (t *RoutingTable) chunk(p chunkLocation) Chunk {
	return t.block(p).chunk(p.chunk, t.shards.names)
}

// Find returns the chunk that contains the key. The last chunk contains the global maximum.
func (t *RoutingTable) Find(k Key) Chunk { return t.chunk(t.locate(k.encoded)) }

// HasLowerBound reports whether the key is the lower bound of a chunk.
func (t *RoutingTable) HasLowerBound(k Key) bool {
	p := t.locate(k.encoded)
	return t.block(p).encodedAt(p.chunk) == k.encoded
}

// IndexOf returns the index in key order of the chunk that contains the key.
func (t *RoutingTable) IndexOf(k Key) int {
	return t.indexOf(t.locate(k.encoded))
}

// At returns the chunk at an index, 0 to Len()-1. Like a slice, it panics for other indexes.
func (t *RoutingTable) At(i int) Chunk { return t.chunk(t.locationAt(i)) }

// ShardOf returns the owner of the key. It is faster than Find, because it does not build the chunk.
func (t *RoutingTable) ShardOf(k Key) ShardID {
	p := t.locate(k.encoded)
	return t.shards.names[t.block(p).rows[p.chunk].shard]
}

// ShardOfBytes returns the owner of the key with these comparable bytes.
func (t *RoutingTable) ShardOfBytes(order []byte) ShardID {
	return t.ShardOf(Key{encoded: string(order)})
}

func (t *RoutingTable) total(s ShardID) shardTotal {
	n, ok := t.shards.number[s]
	if !ok {
		return shardTotal{}
	}
	return t.totals.totalOf(n)
}

// CountOn returns the number of chunks on a shard.
func (t *RoutingTable) CountOn(s ShardID) int { return int(t.total(s).chunks) }

// JumboCount returns the number of chunks on a shard that are flagged jumbo.
func (t *RoutingTable) JumboCount(s ShardID) int { return int(t.total(s).jumbo) }

// ShardVersion returns the version of the newest chunk on a shard, 0|0 when it has none.
func (t *RoutingTable) ShardVersion(s ShardID) ChunkVersion { return t.total(s).newest }

// Owners returns the shards that have chunks, in ascending order.
func (t *RoutingTable) Owners() []ShardID {
	owners := make([]ShardID, 0, len(t.totals))
	for _, n := range t.shards.sorted {
		if int(n) < len(t.totals) && t.totals[n].chunks > 0 {
			owners = append(owners, t.shards.names[n])
		}
	}
	return owners
}

// Newest returns the chunk with the highest version.
func (t *RoutingTable) Newest() Chunk {
	if t.newestMin != "" {
		if p := t.locate(t.newestMin); t.block(p).rows[p.chunk].version == t.version {
			return t.chunk(p)
		}
	}
	for n, total := range t.totals {
		if total.chunks == 0 || total.newest != t.version {
			continue
		}
		for b := range t.allBlocks() {
			if o := b.ownershipOf(uint16(n)); o != nil && o.newest == t.version {
				i := slices.IndexFunc(b.rows, func(r row) bool { return r.version == t.version })
				return b.chunk(i, t.shards.names)
			}
		}
	}
	return t.chunk(chunkLocation{})
}

// allBlocks returns the blocks in key order.
func (t *RoutingTable) allBlocks() iter.Seq[*block] {
	return func(yield func(*block) bool) {
		for _, s := range t.groups {
			for _, b := range s.blocks {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// blockGroup is a group: it contains some tens of adjacent blocks, so that a change to a table of
// thousands of blocks does not copy the list of all blocks.
type blockGroup struct {
	blocks    []*block
	blockMins []string // comparable lower bound of each block
	starts    []int32  // index in the group of each block's first chunk, and the number of chunks

	// totals contains what each shard owns on the group, by the number of the shard, so that a search
	// for a shard's chunks can skip whole groups.
	totals shardTotals
}

// newest returns the version of the newest chunk of a shard on the group.
func (g *blockGroup) newest(shard uint16) (newest ChunkVersion) {
	for _, b := range g.blocks {
		if o := b.ownershipOf(shard); o != nil && newest.Compare(o.newest) < 0 {
			newest = o.newest
		}
	}
	return newest
}

func newGroup(blocks []*block) *blockGroup {
	return (&blockGroup{}).withBlocks(blocks, nil, blocks)
}

// withBlocks returns a group with other blocks. removed and added are the differences to the current
// blocks.
func (g *blockGroup) withBlocks(blocks, removed, added []*block) *blockGroup {
	next := &blockGroup{blocks: blocks, blockMins: make([]string, len(blocks)), starts: make([]int32, len(blocks)+1),
		totals: slices.Clone(g.totals)}
	for i, b := range blocks {
		next.blockMins[i] = b.encodedAt(0)
		next.starts[i+1] = next.starts[i] + int32(b.len())
	}
	next.totals.replaceBlocks(removed, added, next.newest)
	return next
}

// makeGroups divides blocks into groups of equal size.
func (l layout) makeGroups(blocks []*block) []*blockGroup {
	if len(blocks) <= l.maxGroupBlocks {
		return []*blockGroup{newGroup(blocks)}
	}
	parts := (len(blocks) + l.newGroupBlocks - 1) / l.newGroupBlocks
	size := (len(blocks) + parts - 1) / parts
	groups := make([]*blockGroup, 0, parts)
	for part := range slices.Chunk(blocks, size) {
		groups = append(groups, newGroup(slices.Clone(part)))
	}
	return groups
}

// len returns the number of chunks.
func (g *blockGroup) len() int { return int(g.starts[len(g.blocks)]) }

// indexGroups computes the beginnings of groups, by key and by index.
func (t *RoutingTable) indexGroups() {
	t.groupMins = make([]string, len(t.groups))
	t.starts = make([]int32, len(t.groups)+1)
	for i, s := range t.groups {
		t.groupMins[i] = s.blockMins[0]
		t.starts[i+1] = t.starts[i] + int32(s.len())
	}
}
