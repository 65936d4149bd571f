package catalog

import (
	"go.mongodb.org/mongo-driver/v2/bson"
)

// A routing table is a sequence of groups, a group is a sequence of blocks, and a block contains a few
// hundred adjacent chunks. Blocks and groups are immutable, so tables that differ in a few chunks
// share all other blocks. A chunk costs its lower bound, a row of 32 bytes, and its optional data if it
// has any.

// layout contains the sizes of blocks, in chunks, and of groups, in blocks. New ones get fill
// elements. One with more than max is split when it is written again, and one with less than min is
// joined with the next.
type layout struct {
	minBlockChunks, newBlockChunks, maxBlockChunks int
	minGroupBlocks, newGroupBlocks, maxGroupBlocks int
}

// defaultLayout returns the sizes for tables of any size, from a hundred to ten million chunks.
// maxBlockChunks must fit in 16 bits.
func defaultLayout() layout { return layout{64, 256, 512, 16, 64, 128} }

// block contains n chunks, which cover the range from its first to its last bound.
type block struct {
	bounds
	rows    []row
	sizes   []Estimate // nil = none measured
	history *histories // nil = no history is kept

	owned     []ownership // by shard
	positions []uint16    // positions of the chunks of the first owner, then of the second, ...
}

// row contains the data of a chunk besides its bounds and optional data.
type row struct {
	version ChunkVersion
	since   bson.Timestamp
	id      bson.ObjectID
	shard   uint16 // index in shardNames
	flags   chunkFlags
}

// bounds contains the n+1 bounds of n chunks. Lower bound i begins at i*stride in encoded if all bounds
// have the same length, and at offsets[i] otherwise.
type bounds struct {
	encoded string
	stride  int
	offsets []uint32 // n+2
	types   []string // the distinct types of keys
	typesOf []uint16 // index in types; nil = all have the first
}

// chunkFlags packs the jumbo flag (lowest two bits) and the representation of the history.
type chunkFlags uint8

const (
	jumboBits   chunkFlags = 3
	historyNone chunkFlags = 0 << 2 // no history, or only the entry implied by shard and since
	historyTail chunkFlags = 1 << 2 // the implied entry, then the stored entries
	historyFull chunkFlags = 2 << 2 // the stored entries
	historyBits chunkFlags = 3 << 2
)

// isJumbo reports whether the jumbo flag is set.
func (f chunkFlags) isJumbo() bool { return Jumbo(f&jumboBits) == JumboTrue }

// histories contains the history entries of all chunks of a block. The entries of chunk i begin at
// offsets[i].
type histories struct {
	offsets []uint32
	entries []historyEntry
}

type historyEntry struct {
	seconds, increment uint32
	shard              uint16
}

// ownership describes the chunks of a shard in a block.
type ownership struct {
	shard  uint16
	chunks uint16
	jumbo  uint16
	first  uint16 // index in positions
	newest ChunkVersion
}

func (b *block) len() int { return len(b.rows) }

// key returns bound i, 0 to n.
func (b *bounds) key(i int) Key {
	k := Key{encoded: b.encodedAt(i)}
	if b.typesOf == nil {
		k.types = b.types[0]
	} else {
		k.types = b.types[b.typesOf[i]]
	}
	return k
}

// encodedAt returns the comparable form of bound i.
func (b *bounds) encodedAt(i int) string {
	if b.stride > 0 {
		return b.encoded[i*b.stride : (i+1)*b.stride]
	}
	return b.encoded[b.offsets[i]:b.offsets[i+1]]
}

// offset returns where bound i begins.
func (b *bounds) offset(i int) uint32 {
	if b.stride > 0 {
		return uint32(i * b.stride)
	}
	return b.offsets[i]
}

// find returns the position of the chunk that contains the key. The key must not be below the block.
func (b *block) find(encoded string) int {
	from, to := 0, b.len()
	for to-from > 1 {
		if mid := int(uint(from+to) >> 1); b.encodedAt(mid) <= encoded {
			from = mid
		} else {
			to = mid
		}
	}
	return from
}

// ownershipOf returns the ownership of a shard in the block; nil if the shard owns no chunk.
func (b *block) ownershipOf(shard uint16) *ownership {
	// The index is at most the number of the shard. This shortens the search, since rounds search all
	// blocks for a shard.
	from, to := 0, min(int(shard)+1, len(b.owned))
	for from < to {
		mid := int(uint(from+to) >> 1)
		switch o := &b.owned[mid]; {
		case o.shard == shard:
			return o
		case o.shard < shard:
			from = mid + 1
		default:
			to = mid
		}
	}
	return nil
}

// chunk returns chunk i.
func (b *block) chunk(i int, names []ShardID) Chunk {
	var c Chunk
	b.readChunk(i, names, &historySlab{}, &c)
	return c
}

// readChunk sets c to chunk i. The history is allocated from slab; with a nil slab, c gets no history.
func (b *block) readChunk(i int, names []ShardID, slab *historySlab, c *Chunk) {
	r := &b.rows[i]
	*c = Chunk{
		ID: r.id, Min: b.key(i), Max: b.key(i + 1), Shard: names[r.shard], Version: r.version,
		Jumbo: Jumbo(r.flags & jumboBits), OnCurrentShardSince: r.since,
	}
	if b.sizes != nil {
		c.Estimate = b.sizes[i]
	}
	if slab != nil && (r.flags&historyBits != historyNone || !r.since.IsZero()) {
		c.History = b.historyOf(i, c.Shard, names, slab)
	}
}

func (b *block) historyOf(i int, owner ShardID, names []ShardID, slab *historySlab) []ChunkHistory {
	r := &b.rows[i]
	var kept []historyEntry
	if b.history != nil {
		kept = b.history.entries[b.history.offsets[i]:b.history.offsets[i+1]]
	}
	implied := 1
	if r.flags&historyBits == historyFull {
		implied = 0
	}
	h := slab.take(implied + len(kept))
	if implied > 0 {
		h[0] = ChunkHistory{r.since, owner}
	}
	for n, e := range kept {
		h[implied+n] = ChunkHistory{bson.Timestamp{T: e.seconds, I: e.increment}, names[e.shard]}
	}
	return h
}

// historySlab allocates history slices from larger slices, so that walking a table does not allocate
// for every chunk.
type historySlab struct {
	free []ChunkHistory
	size int // of the next slab; 0 = exactly the requested size
}

// minSlab and maxSlab are the sizes of the first and of the largest slab. Many walks end at their first
// chunk.
const (
	minSlab = 4
	maxSlab = 128
)

func (s *historySlab) take(n int) []ChunkHistory {
	if n > len(s.free) {
		s.free = make([]ChunkHistory, max(n, s.size))
		s.size = min(2*s.size, maxSlab)
	}
	h := s.free[:n:n]
	s.free = s.free[n:]
	return h
}

// computeOwnership computes the ownership of each shard in the block.
func (b *block) computeOwnership(counters []uint16) {
	low, high := len(counters), 0
	owners := 0
	for i := range b.rows {
		s := b.rows[i].shard
		if counters[s] == 0 {
			owners++
			low, high = min(low, int(s)), max(high, int(s))
		}
		counters[s]++
	}
	b.owned = make([]ownership, 0, owners)
	for s := low; s <= high; s++ {
		if counters[s] > 0 {
			b.owned = append(b.owned, ownership{shard: uint16(s), chunks: counters[s]})
		}
	}
	first := uint16(0)
	for i := range b.owned {
		o := &b.owned[i]
		counters[o.shard] = uint16(i)
		o.first, first = first, first+o.chunks
		o.chunks = 0
	}
	b.positions = make([]uint16, b.len())
	for i := range b.rows {
		r := &b.rows[i]
		o := &b.owned[counters[r.shard]]
		b.positions[o.first+o.chunks] = uint16(i)
		o.chunks++
		if r.flags.isJumbo() {
			o.jumbo++
		}
		if o.newest.Compare(r.version) < 0 {
			o.newest = r.version
		}
	}
	for _, o := range b.owned {
		counters[o.shard] = 0
	}
}
