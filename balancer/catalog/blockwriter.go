package catalog

import "slices"

// blockWriter collects chunks for one block.
type blockWriter struct {
	order   []byte
	offsets []uint32
	forms   []string
	formOf  []uint16
	rows    []row
	sizes   []Estimate
	sized   bool     // one of sizes is not zero
	starts  []uint32 // where histories begin in entries
	entries []historyEntry
}

func (w *blockWriter) len() int { return len(w.rows) }

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

// chunk adds a chunk whose lower bound was just added; its history follows
// with entry.
func (w *blockWriter) chunk(r row, size Estimate) {
	w.rows = append(w.rows, r)
	w.size(size)
	w.starts = append(w.starts, uint32(len(w.entries)))
}

func (w *blockWriter) size(size Estimate) {
	w.sizes = append(w.sizes, size)
	w.sized = w.sized || size != 0
}

// entry adds a history entry, newest first, to the last chunk.
func (w *blockWriter) entry(e historyEntry) {
	i := w.len() - 1
	if w.rows[i].join(e) {
		w.entries = append(w.entries, e)
	}
}

// join notes in the flags how the history is kept, entry by entry, newest
// first, and reports whether this entry must be: the first one need not be
// when shard and since imply it.
func (r *row) join(e historyEntry) bool {
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

// finish closes the block with its upper bound and empties the writer. The
// summary needs as many counters as there are shards, all zero before and
// after.
func (w *blockWriter) finish(order, form []byte, counters []uint16) *block {
	w.bound(order, form)
	b := &block{
		bounds: bounds{order: string(w.order), stride: w.stride(), forms: slices.Clone(w.forms)},
		rows:   slices.Clone(w.rows),
	}
	if b.stride == 0 {
		b.offsets = make([]uint32, len(w.offsets)+1)
		b.offsets[copy(b.offsets, w.offsets)] = uint32(len(w.order))
	}
	if len(w.forms) > 1 {
		b.formOf = slices.Clone(w.formOf)
	}
	if w.sized {
		b.sizes = slices.Clone(w.sizes)
	}
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
		rows: w.rows[:0], sizes: w.sizes[:0], starts: w.starts[:0], entries: w.entries[:0],
	}
	return b
}

// stride returns the length all bounds have, 0 if they differ.
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
