package catalog

import (
	"cmp"
	"slices"
	"sort"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// A routing table is a row of shelves, a shelf is a row of blocks, and a block
// holds a few hundred neighbouring chunks. Blocks and shelves never change, so
// that tables differing in a few chunks share all others. Within a block
// everything is in columns: a chunk costs its lower bound, and one entry in
// each column that is in use.

// layout has the sizes of blocks, in chunks, and of shelves, in blocks. New
// ones get fill; one above most is split when it is written anew, and one
// below least is joined with the next.
type layout struct {
	blockLeast, blockFill, blockMost int
	shelfLeast, shelfFill, shelfMost int
}

// usual suits a hundred chunks as well as ten million. blockMost must fit in
// 16 bits.
func usual() layout { return layout{64, 256, 512, 16, 64, 128} }

// block holds n chunks, which tile the range from its first to its last bound.
type block struct {
	bounds
	shards   []uint16 // position in shardNames
	versions []ChunkVersion
	since    []bson.Timestamp // nil = all zero, as the following
	ids      []bson.ObjectID
	flags    []chunkFlags
	sizes    []int64
	history  *histories

	owned     []ownership // by shard
	positions []uint16    // of the chunks of the first owner, of the second, ...
}

// bounds are the n+1 bounds of n chunks, lower bound i at i*stride in order if
// all are of one length, else at offsets[i].
type bounds struct {
	order   string
	stride  int
	offsets []uint32 // n+2
	forms   []string // the different forms of keys
	formOf  []uint16 // position in forms; nil = all the first
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

func (b *block) len() int { return len(b.shards) }

// key is bound i, 0 to n.
func (b *bounds) key(i int) Key {
	k := Key{order: b.low(i)}
	if b.formOf == nil {
		k.form = b.forms[0]
	} else {
		k.form = b.forms[b.formOf[i]]
	}
	return k
}

// low is the comparable form of bound i.
func (b *bounds) low(i int) string {
	if b.stride > 0 {
		return b.order[i*b.stride : (i+1)*b.stride]
	}
	return b.order[b.offsets[i]:b.offsets[i+1]]
}

// offset is where bound i begins.
func (b *bounds) offset(i int) uint32 {
	if b.stride > 0 {
		return uint32(i * b.stride)
	}
	return b.offsets[i]
}

// find is the position of the chunk that contains the key; the key is not
// below the block.
func (b *block) find(order string) int {
	return sort.Search(b.len()-1, func(i int) bool { return order < b.low(i+1) })
}

// of is what the shard has in the block, nil when nothing.
func (b *block) of(shard uint16) *ownership {
	i, found := slices.BinarySearchFunc(b.owned, shard, func(o ownership, s uint16) int { return cmp.Compare(o.shard, s) })
	if !found {
		return nil
	}
	return &b.owned[i]
}

// chunk rebuilds chunk i. Its history is cut from slab.
func (b *block) chunk(i int, names []ShardID, slab *historySlab) Chunk {
	c := Chunk{
		Min:     b.key(i),
		Max:     b.key(i + 1),
		Shard:   names[b.shards[i]],
		Version: b.versions[i],
	}
	if b.since != nil {
		c.OnCurrentShardSince = b.since[i]
	}
	if b.ids != nil {
		c.ID = b.ids[i]
	}
	if b.sizes != nil {
		c.EstimatedBytes = b.sizes[i]
	}
	var flags chunkFlags
	if b.flags != nil {
		flags = b.flags[i]
	}
	c.Jumbo = Jumbo(flags & jumboBits)
	if flags&historyBits != historyNone || !c.OnCurrentShardSince.IsZero() {
		c.History = b.historyOf(i, flags, &c, names, slab)
	}
	return c
}

func (b *block) historyOf(i int, flags chunkFlags, c *Chunk, names []ShardID, slab *historySlab) []ChunkHistory {
	var kept []historyEntry
	if b.history != nil {
		kept = b.history.entries[b.history.offsets[i]:b.history.offsets[i+1]]
	}
	n := len(kept)
	if flags&historyBits != historyFull {
		n++
	}
	h := slab.take(n)
	at := 0
	if flags&historyBits != historyFull {
		h[0] = ChunkHistory{c.OnCurrentShardSince, c.Shard}
		at = 1
	}
	for _, e := range kept {
		h[at] = ChunkHistory{bson.Timestamp{T: e.seconds, I: e.increment}, names[e.shard]}
		at++
	}
	return h
}

// historySlab hands out history slices cut from larger ones, so that walking a
// table does not allocate for every chunk.
type historySlab struct {
	free []ChunkHistory
	size int // of the next slab; 0 = exactly what is asked for
}

const slabSize = 128

func (s *historySlab) take(n int) []ChunkHistory {
	if n > len(s.free) {
		s.free = make([]ChunkHistory, max(n, s.size))
	}
	h := s.free[:n:n]
	s.free = s.free[n:]
	return h
}

// blockWriter collects chunks for one block.
type blockWriter struct {
	order    []byte
	offsets  []uint32
	forms    []string
	formOf   []uint16
	shards   []uint16
	versions []ChunkVersion
	since    []bson.Timestamp
	ids      []bson.ObjectID
	flags    []chunkFlags
	sizes    []int64
	starts   []uint32
	entries  []historyEntry

	hasSince, hasIDs, hasFlags, hasSizes bool
}

func (w *blockWriter) len() int { return len(w.shards) }

// reserve makes room for n chunks more or less like those of a block, so that
// columns need not grow step by step.
func (w *blockWriter) reserve(n int, like *block) {
	if cap(w.shards) >= n {
		return
	}
	w.order = make([]byte, 0, (len(like.order)/like.len()+2)*(n+1))
	w.offsets = make([]uint32, 0, n+1)
	w.formOf = make([]uint16, 0, n+1)
	w.shards = make([]uint16, 0, n)
	w.versions = make([]ChunkVersion, 0, n)
	w.since = make([]bson.Timestamp, 0, n)
	w.ids = make([]bson.ObjectID, 0, n)
	w.flags = make([]chunkFlags, 0, n)
	w.sizes = make([]int64, 0, n)
	w.starts = make([]uint32, 0, n)
}

// bound adds a lower bound, or the last upper one.
func (w *blockWriter) bound(order, form []byte) {
	w.offsets = append(w.offsets, uint32(len(w.order)))
	w.order = append(w.order, order...)
	w.formOf = append(w.formOf, w.formIndex(form))
}

// formIndex finds a form among the last few: most blocks have one or two.
func (w *blockWriter) formIndex(form []byte) uint16 {
	i := seekForm(w.forms, form)
	if i < 0 {
		i = len(w.forms)
		w.forms = append(w.forms, string(form))
	}
	return uint16(i)
}

func seekForm[T ~string | ~[]byte](forms []string, form T) int {
	for i := len(forms) - 1; i >= 0 && i >= len(forms)-8; i-- {
		if forms[i] == string(form) {
			return i
		}
	}
	return -1
}

// columns are the parts of a chunk besides its bounds and history.
type columns struct {
	shard   uint16
	version ChunkVersion
	since   bson.Timestamp
	id      bson.ObjectID
	jumbo   Jumbo
	size    int64
}

// chunk adds a chunk whose lower bound was just added; its history follows
// with entry.
func (w *blockWriter) chunk(c columns) {
	w.shards = append(w.shards, c.shard)
	w.versions = append(w.versions, c.version)
	w.since = append(w.since, c.since)
	w.ids = append(w.ids, c.id)
	w.flags = append(w.flags, chunkFlags(c.jumbo)&jumboBits)
	w.sizes = append(w.sizes, c.size)
	w.starts = append(w.starts, uint32(len(w.entries)))
	w.hasSince = w.hasSince || c.since != bson.Timestamp{}
	w.hasIDs = w.hasIDs || c.id != bson.ObjectID{}
	w.hasFlags = w.hasFlags || c.jumbo != JumboUnset
	w.hasSizes = w.hasSizes || c.size != 0
}

// entry adds a history entry, newest first, to the last chunk.
func (w *blockWriter) entry(e historyEntry) {
	i := w.len() - 1
	if e.join(&w.flags[i], w.shards[i], w.since[i]) {
		w.entries = append(w.entries, e)
		w.hasFlags = true
	}
}

// join notes in the flags of a chunk how its history is kept, entry by entry,
// and reports whether the entry must be kept: the first one need not be when
// shard and since imply it.
func (e historyEntry) join(flags *chunkFlags, shard uint16, since bson.Timestamp) bool {
	if *flags&historyBits != historyNone {
		return true
	}
	if !since.IsZero() && e == (historyEntry{since.T, since.I, shard}) {
		*flags |= historyTail
		return false
	}
	*flags |= historyFull
	return true
}

// copy adds chunks from up to to of a finished block.
func (w *blockWriter) copy(b *block, from, to int) {
	if from >= to {
		return
	}
	shift := uint32(len(w.order)) - b.offset(from)
	w.order = append(w.order, b.order[b.offset(from):b.offset(to)]...)
	form, of := -1, uint16(0)
	for i := from; i < to; i++ {
		w.offsets = append(w.offsets, b.offset(i)+shift)
		f := 0
		if b.formOf != nil {
			f = int(b.formOf[i])
		}
		if f != form {
			at := seekForm(w.forms, b.forms[f])
			if at < 0 {
				at = len(w.forms)
				w.forms = append(w.forms, b.forms[f])
			}
			form, of = f, uint16(at)
		}
		w.formOf = append(w.formOf, of)
	}
	w.shards = append(w.shards, b.shards[from:to]...)
	w.versions = append(w.versions, b.versions[from:to]...)
	w.since = appendColumn(w.since, b.since, from, to, &w.hasSince)
	w.ids = appendColumn(w.ids, b.ids, from, to, &w.hasIDs)
	w.flags = appendColumn(w.flags, b.flags, from, to, &w.hasFlags)
	w.sizes = appendColumn(w.sizes, b.sizes, from, to, &w.hasSizes)
	for i := from; i < to; i++ {
		w.starts = append(w.starts, uint32(len(w.entries)))
		if b.history != nil {
			w.entries = append(w.entries, b.history.entries[b.history.offsets[i]:b.history.offsets[i+1]]...)
		}
	}
}

func appendColumn[T any](dst, src []T, from, to int, has *bool) []T {
	if src == nil {
		dst = slices.Grow(dst, to-from)[:len(dst)+to-from]
		clear(dst[len(dst)-(to-from):])
		return dst
	}
	*has = true
	return append(dst, src[from:to]...)
}

// finish closes the block with its upper bound and empties the writer. The
// summary needs as many counters as there are shards, all zero before and
// after.
func (w *blockWriter) finish(order, form []byte, counters []uint16) *block {
	w.bound(order, form)
	b := &block{
		bounds:   bounds{order: string(w.order), stride: w.stride(), forms: slices.Clone(w.forms)},
		shards:   slices.Clone(w.shards),
		versions: slices.Clone(w.versions),
	}
	if b.stride == 0 {
		b.offsets = make([]uint32, len(w.offsets)+1)
		b.offsets[copy(b.offsets, w.offsets)] = uint32(len(w.order))
	}
	if len(w.forms) > 1 {
		b.formOf = slices.Clone(w.formOf)
	}
	b.since = keep(w.since, w.hasSince)
	b.ids = keep(w.ids, w.hasIDs)
	b.flags = keep(w.flags, w.hasFlags)
	b.sizes = keep(w.sizes, w.hasSizes)
	if len(w.entries) > 0 {
		b.history = &histories{
			offsets: append(slices.Clone(w.starts), uint32(len(w.entries))),
			entries: slices.Clone(w.entries),
		}
	}
	b.summarise(counters)
	clear(w.forms)
	*w = blockWriter{
		order: w.order[:0], offsets: w.offsets[:0], forms: w.forms[:0], formOf: w.formOf[:0],
		shards: w.shards[:0], versions: w.versions[:0], since: w.since[:0], ids: w.ids[:0],
		flags: w.flags[:0], sizes: w.sizes[:0], starts: w.starts[:0], entries: w.entries[:0],
	}
	return b
}

// stride is the length all bounds have, 0 if they differ.
func (w *blockWriter) stride() int {
	n := len(w.order) / len(w.offsets)
	for i, o := range w.offsets {
		if int(o) != i*n {
			return 0
		}
	}
	if n*len(w.offsets) != len(w.order) {
		return 0
	}
	return n
}

func keep[T any](column []T, has bool) []T {
	if !has {
		return nil
	}
	return slices.Clone(column)
}

// summarise computes what each shard has in the block, and where.
func (b *block) summarise(counters []uint16) {
	low, high := len(counters), 0
	owners := 0
	for _, s := range b.shards {
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
	for i, s := range b.shards {
		o := &b.owned[counters[s]]
		b.positions[o.first+o.chunks] = uint16(i)
		o.chunks++
		if b.flags != nil && Jumbo(b.flags[i]&jumboBits) == JumboTrue {
			o.jumbo++
		}
		if o.newest.Compare(b.versions[i]) < 0 {
			o.newest = b.versions[i]
		}
	}
	for _, o := range b.owned {
		counters[o.shard] = 0
	}
}
