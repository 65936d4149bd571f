package catalog

import "slices"

// blockWriter collects chunks for one block.
type blockWriter struct {
	encoded       []byte
	offsets       []uint32
	types         []string
	typesOf       []uint16
	rows          []row
	sizes         []Estimate
	hasSizes      bool     // at least one size is not zero
	historyStarts []uint32 // start of each history in entries
	entries       []historyEntry
}

func (w *blockWriter) len() int { return len(w.rows) }

// addBound adds a lower bound, or the upper bound of the block.
func (w *blockWriter) addBound(encoded, types []byte) {
	w.offsets = append(w.offsets, uint32(len(w.encoded)))
	w.encoded = append(w.encoded, encoded...)
	w.typesOf = append(w.typesOf, w.typesIndex(types))
}

// typesIndex searches for types among the last few: most blocks have one or two.
func (w *blockWriter) typesIndex(types []byte) uint16 {
	i := findTypes(w.types, types)
	if i < 0 {
		i = len(w.types)
		w.types = append(w.types, string(types))
	}
	return uint16(i)
}

func findTypes[T ~string | ~[]byte](list []string, types T) int {
	for i := len(list) - 1; i >= 0 && i >= len(list)-8; i-- {
		if list[i] == string(types) {
			return i
		}
	}
	return -1
}

// addChunk adds a chunk whose lower bound was just added. Its history follows with addHistory.
func (w *blockWriter) addChunk(r row, size Estimate) {
	w.rows = append(w.rows, r)
	w.addSize(size)
	w.historyStarts = append(w.historyStarts, uint32(len(w.entries)))
}

func (w *blockWriter) addSize(size Estimate) {
	w.sizes = append(w.sizes, size)
	w.hasSizes = w.hasSizes || size != 0
}

// addHistory adds a history entry, newest first, to the last chunk.
func (w *blockWriter) addHistory(e historyEntry) {
	i := w.len() - 1
	if w.rows[i].classifyEntry(e) {
		w.entries = append(w.entries, e)
	}
}

// classifyEntry records in the flags how the history is stored. It is called for each entry, newest first,
// and reports whether the entry has to be stored: the first entry is not stored if shard and since
// imply it.
func (r *row) classifyEntry(e historyEntry) bool {
	if r.flags&historyBits != historyNone {
		return true
	}
	if !r.since.IsZero() && e == (historyEntry{r.since.T, r.since.I, r.shard}) {
		r.flags |= historyTail
		return false
	}
	r.flags |= historyFull
	return true
}

// finish completes the block with its upper bound and resets the writer. counters needs one element for
// each shard; all elements are zero before and after the call.
func (w *blockWriter) finish(encoded, types []byte, counters []uint16) *block {
	w.addBound(encoded, types)
	b := &block{
		bounds: bounds{encoded: string(w.encoded), stride: w.stride(), types: slices.Clone(w.types)},
		rows:   slices.Clone(w.rows),
	}
	if b.stride == 0 {
		b.offsets = make([]uint32, len(w.offsets)+1)
		b.offsets[copy(b.offsets, w.offsets)] = uint32(len(w.encoded))
	}
	if len(w.types) > 1 {
		b.typesOf = slices.Clone(w.typesOf)
	}
	if w.hasSizes {
		b.sizes = slices.Clone(w.sizes)
	}
	if len(w.entries) > 0 {
		b.history = &histories{
			offsets: append(slices.Clone(w.historyStarts), uint32(len(w.entries))),
			entries: slices.Clone(w.entries),
		}
	}
	b.computeOwnership(counters)
	clear(w.types)
	*w = blockWriter{
		encoded: w.encoded[:0], offsets: w.offsets[:0], types: w.types[:0], typesOf: w.typesOf[:0],
		rows: w.rows[:0], sizes: w.sizes[:0], historyStarts: w.historyStarts[:0], entries: w.entries[:0],
	}
	return b
}

// stride returns the common length of all bounds, or 0 if the lengths differ.
func (w *blockWriter) stride() int {
	n := len(w.encoded) / len(w.offsets)
	for i, o := range w.offsets {
		if int(o) != i*n {
			return 0
		}
	}
	if n*len(w.offsets) != len(w.encoded) {
		return 0
	}
	return n
}
