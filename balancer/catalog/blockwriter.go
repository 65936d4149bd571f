package catalog

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"
)

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
