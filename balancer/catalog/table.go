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
	shelves   []*blockGroup
	shelfMins []string // comparable lower bound of each shelf
	starts    []int32  // position of each shelf's first chunk, and the number of chunks

	totals  shardTotals
	version ChunkVersion
	newest  string // lower bound of the chunk with that version; "" = not known
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
func (t *RoutingTable) Len() int { return int(t.starts[len(t.shelves)]) }

// chunkIndex is the position of a chunk: the index of its shelf, of its block in the shelf, and of the
// chunk in the block.
type chunkIndex struct{ shelf, block, chunk int }

// locate returns the position of the chunk that contains a key.
func (t *RoutingTable) locate(order string) chunkIndex {
	var p chunkIndex
	p.shelf = lastAtMost(t.shelfMins, order)
	s := t.shelves[p.shelf]
	p.block = lastAtMost(s.blockMins, order)
	p.chunk = s.blocks[p.block].find(order)
	return p
}

// lastAtMost returns the index of the last bound that is not above the key, or 0 if all bounds are. It
// does not use sort.Search, because finding a chunk is the inner loop of routing.
func lastAtMost(lows []string, order string) int {
	from, to := 0, len(lows)
	for to-from > 1 {
		if mid := int(uint(from+to) >> 1); lows[mid] <= order {
			from = mid
		} else {
			to = mid
		}
	}
	return from
}

// chunkIndexAt returns the position of chunk i.
func (t *RoutingTable) chunkIndexAt(i int) chunkIndex {
	var p chunkIndex
	p.shelf = sort.Search(len(t.shelves)-1, func(s int) bool { return i < int(t.starts[s+1]) })
	s := t.shelves[p.shelf]
	i -= int(t.starts[p.shelf])
	p.block = sort.Search(len(s.blocks)-1, func(b int) bool { return i < int(s.starts[b+1]) })
	p.chunk = i - int(s.starts[p.block])
	return p
}

func (t *RoutingTable) block(p chunkIndex) *block { return t.shelves[p.shelf].blocks[p.block] }

// indexOf returns the index of a position among all chunks.
func (t *RoutingTable) indexOf(p chunkIndex) int {
	return int(t.starts[p.shelf]) + int(t.shelves[p.shelf].starts[p.block]) + p.chunk
}

func (t *RoutingTable) chunk(p chunkIndex) Chunk {
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
func (t *RoutingTable) At(i int) Chunk { return t.chunk(t.chunkIndexAt(i)) }

// ShardOf returns the owner of the key. It is faster than Find, because it does not build the chunk.
func (t *RoutingTable) ShardOf(k Key) ShardID {
	p := t.locate(k.encoded)
	return t.shards.names[t.block(p).rows[p.chunk].shard]
}

// OwnerOf returns the owner of the key with these comparable bytes.
func (t *RoutingTable) OwnerOf(order []byte) ShardID { return t.ShardOf(Key{encoded: string(order)}) }

func (t *RoutingTable) total(s ShardID) shardTotal {
	n, ok := t.shards.number[s]
	if !ok {
		return shardTotal{}
	}
	return t.totals.totalOf(n)
}

// Count returns the number of chunks on a shard.
func (t *RoutingTable) Count(s ShardID) int { return int(t.total(s).chunks) }

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
	if t.newest != "" {
		if p := t.locate(t.newest); t.block(p).rows[p.chunk].version == t.version {
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
	return t.chunk(chunkIndex{})
}

// allBlocks returns the blocks in key order.
func (t *RoutingTable) allBlocks() iter.Seq[*block] {
	return func(yield func(*block) bool) {
		for _, s := range t.shelves {
			for _, b := range s.blocks {
				if !yield(b) {
					return
				}
			}
		}
	}
}

// blockGroup is a shelf: it contains some tens of adjacent blocks, so that a change to a table of
// thousands of blocks does not copy the list of all blocks.
type blockGroup struct {
	blocks    []*block
	blockMins []string // comparable lower bound of each block
	starts    []int32  // index in the shelf of each block's first chunk, and the number of chunks

	// totals contains what each shard owns on the shelf, by the number of the shard, so that a search
	// for a shard's chunks can skip whole shelves.
	totals shardTotals
}

// newest returns the version of the newest chunk of a shard on the shelf.
func (s *blockGroup) newest(shard uint16) (newest ChunkVersion) {
	for _, b := range s.blocks {
		if o := b.ownershipOf(shard); o != nil && newest.Compare(o.newest) < 0 {
			newest = o.newest
		}
	}
	return newest
}

func newShelf(blocks []*block) *blockGroup {
	return (&blockGroup{}).withBlocks(blocks, nil, blocks)
}

// withBlocks returns a shelf with other blocks. removed and added are the differences to the current
// blocks.
func (s *blockGroup) withBlocks(blocks, removed, added []*block) *blockGroup {
	next := &blockGroup{blocks: blocks, blockMins: make([]string, len(blocks)), starts: make([]int32, len(blocks)+1),
		totals: slices.Clone(s.totals)}
	for i, b := range blocks {
		next.blockMins[i] = b.encodedAt(0)
		next.starts[i+1] = next.starts[i] + int32(b.len())
	}
	next.totals.replaceBlocks(removed, added, next.newest)
	return next
}

// makeShelves divides blocks into shelves of equal size.
func (l layout) makeShelves(blocks []*block) []*blockGroup {
	if len(blocks) <= l.maxShelf {
		return []*blockGroup{newShelf(blocks)}
	}
	parts := (len(blocks) + l.shelfFill - 1) / l.shelfFill
	size := (len(blocks) + parts - 1) / parts
	shelves := make([]*blockGroup, 0, parts)
	for part := range slices.Chunk(blocks, size) {
		shelves = append(shelves, newShelf(slices.Clone(part)))
	}
	return shelves
}

// len returns the number of chunks.
func (s *blockGroup) len() int { return int(s.starts[len(s.blocks)]) }

// indexShelves computes the beginnings of shelves, by key and by index.
func (t *RoutingTable) indexShelves() {
	t.shelfMins = make([]string, len(t.shelves))
	t.starts = make([]int32, len(t.shelves)+1)
	for i, s := range t.shelves {
		t.shelfMins[i] = s.blockMins[0]
		t.starts[i+1] = t.starts[i] + int32(s.len())
	}
}
