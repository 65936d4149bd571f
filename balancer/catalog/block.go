package catalog

import (
	"go.mongodb.org/mongo-driver/v2/bson"
)

// A routing table is a row of shelves, a shelf is a row of blocks, and a block
// holds a few hundred neighbouring chunks. Blocks and shelves never change, so
// that tables differing in a few chunks share all others. A chunk costs its
// lower bound, a row of 32 bytes, and what only some have where they have it.

// layout has the sizes of blocks, in chunks, and of shelves, in blocks. New
// ones get fill; one above most is split when it is rewritten, and one
// below least is joined with the next.
type layout struct {
	minBlock, blockFill, maxBlock int
	minShelf, shelfFill, maxShelf int
}

// defaultLayout suits a hundred chunks as well as ten million. maxBlock must fit in
// 16 bits.
func defaultLayout() layout { return layout{64, 256, 512, 16, 64, 128} }

// block holds n chunks, which tile the range from its first to its last bound.
type block struct {
	bounds
	rows    []row
	sizes   []Estimate // nil = none measured
	history *histories // nil = none are kept

	owned     []ownership // by shard
	positions []uint16    // of the chunks of the first owner, of the second, ...
}

// row is what every chunk has besides its bounds.
type row struct {
	version ChunkVersion
	since   bson.Timestamp
	id      bson.ObjectID
	shard   uint16 // position in shardNames
	flags   chunkFlags
}

// bounds are the n+1 bounds of n chunks, lower bound i at i*stride in order if
// all are of one length, else at offsets[i].
type bounds struct {
	encoded string
	stride  int
	offsets []uint32 // n+2
	types   []string // the different forms of keys
	typesOf []uint16 // position in forms; nil = all the first
}

// chunkFlags packs the jumbo flag (lowest two bits) and how the history is
// kept.
type chunkFlags uint8

const (
	jumboBits   chunkFlags = 3
	historyNone chunkFlags = 0 << 2 // none, or only the entry that shard and since imply
	historyTail chunkFlags = 1 << 2 // the implied entry, then those kept
	historyFull chunkFlags = 2 << 2 // those kept
	historyBits chunkFlags = 3 << 2
)

// isJumbo reports the jumbo flag.
func (f chunkFlags) isJumbo() bool { return Jumbo(f&jumboBits) == JumboTrue }

// histories keep entries of all chunks of a block in one row; those of chunk i
// begin at offsets[i].
type histories struct {
	offsets []uint32
	entries []historyEntry
}

type historyEntry struct {
	seconds, increment uint32
	shard              uint16
}

// ownership sums up what a shard has in a block.
type ownership struct {
	shard  uint16
	chunks uint16
	jumbo  uint16
	first  uint16 // in positions
	newest ChunkVersion
}

func (b *block) len() int { return len(b.rows) }

// key is bound i, 0 to n.
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

// find returns the position of the chunk that contains the key; the key is not
// below the block.
func (b *block) find(order string) int {
	from, to := 0, b.len()
	for to-from > 1 {
		if mid := int(uint(from+to) >> 1); b.encodedAt(mid) <= order {
			from = mid
		} else {
			to = mid
		}
	}
	return from
}

// ownershipOf returns what the shard has in the block, nil when nothing.
func (b *block) ownershipOf(shard uint16) *ownership {
	// It has the place of its number, or one before: rounds ask all blocks for a shard.
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

// chunk rebuilds chunk i.
func (b *block) chunk(i int, names []ShardID) Chunk {
	var c Chunk
	b.readChunk(i, names, &historySlab{}, &c)
	return c
}

// readChunk sets c to chunk i, with a history cut from slab; without one if that is nil.
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

// historySlab hands out history slices cut from larger ones, so that walking a
// table does not allocate for every chunk.
type historySlab struct {
	free []ChunkHistory
	size int // of the next slab; 0 = exactly what is asked for
}

// Slabs grow from the first size to the last: many a walk ends with its first
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

// summarise computes what each shard has in the block, and where.
func (b *block) summarise(counters []uint16) {
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
