package catalog

import (
	"encoding/binary"
	"iter"
)

// The compact form of a routing table is a sequence of pages, each with some thousands of adjacent
// chunks, column by column. It compresses well, and a reader need not trust a size before it has read
// the data:
//
//	uvarint  number of chunks, 1 to pageChunks
//	strings  names of shards: uvarint number, then each with its length
//	strings  forms of keys, likewise
//	columns  shard (uvarint), flags (byte), major version (varint, less that of
//	         the chunk before), minor version (uvarint), seconds (varint,
//	         likewise) and increment (uvarint) of onCurrentShardSince, _id (12
//	         bytes), estimate (uvarint), history, form (uvarint) and length
//	         (uvarint) of the lower bound, bytes of the lower bounds
//
// The history of a chunk that has one is a uvarint number of entries and for each its seconds (varint,
// less those of onCurrentShardSince), increment (uvarint) and shard (uvarint). The first entry is
// omitted if the flags say that onCurrentShardSince and the owner imply it. The upper bound of a chunk
// is the lower bound of the next chunk; the last upper bound is the greatest key.
//
// Keys are stored in the encoding of keyorder. A change of that encoding requires a new version of
// every format that contains pages.

const (
	// pageChunks is the maximum number of chunks of a page.
	pageChunks = 4096
	// pageBytes is the number of bytes of keys after which a page ends, even if it has fewer chunks.
	pageBytes = 1 << 20
)

// pageHasEstimates is a flag that a page adds to the chunkFlags of its first chunk.
const pageHasEstimates = 1 << 7 // the page has estimates

// Pages returns the compact form of the table, page by page. A page is only valid until the next page
// is requested. A PageReader builds a table from the pages.
func (t *RoutingTable) Pages() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		w := pageWriter{names: t.shards.names}
		for b := range t.allBlocks() {
			for from := 0; from < b.len(); {
				from += w.add(b, from)
				if w.isFull() {
					if !yield(w.finish()) {
						return
					}
				}
			}
		}
		if w.count > 0 {
			yield(w.finish())
		}
	}
}

// pageWriter collects the columns of a page.
type pageWriter struct {
	names []ShardID // of the table

	count      int
	spans      []blockSpan
	keyBytes   int
	shards     map[uint16]int
	shardList  []uint16 // shards of the page by their number in the page
	typesIndex map[string]int
	typesList  []string

	out []byte
}

// blockSpan is a part of a block that belongs to a page.
type blockSpan struct {
	block *block
	span
}

func (w *pageWriter) isFull() bool { return w.count >= pageChunks || w.keyBytes >= pageBytes }

// add adds chunks of a block, from an index on, as long as the page has room, and returns their number.
func (w *pageWriter) add(b *block, from int) int {
	if w.count == 0 {
		w.shards, w.typesIndex = map[uint16]int{}, map[string]int{}
	}
	n := 0
	for ; from+n < b.len() && !w.isFull(); n++ {
		i := from + n
		w.keyBytes += len(b.encodedAt(i))
		w.addShard(b.rows[i].shard)
		w.addTypes(b.key(i).types)
		w.count++
		if b.history != nil {
			for _, e := range b.history.entries[b.history.offsets[i]:b.history.offsets[i+1]] {
				w.addShard(e.shard)
			}
		}
	}
	w.spans = append(w.spans, blockSpan{b, span{from, from + n}})
	return n
}

func (w *pageWriter) addShard(s uint16) {
	if _, ok := w.shards[s]; !ok {
		w.shards[s] = len(w.shardList)
		w.shardList = append(w.shardList, s)
	}
}

func (w *pageWriter) addTypes(types string) {
	if len(w.typesList) > 0 && w.typesList[len(w.typesList)-1] == types {
		return
	}
	if _, ok := w.typesIndex[types]; !ok {
		w.typesIndex[types] = len(w.typesList)
		w.typesList = append(w.typesList, types)
	}
}

// finish writes the columns and resets the writer.
func (w *pageWriter) finish() []byte {
	w.out = binary.AppendUvarint(w.out[:0], uint64(w.count))
	w.out = binary.AppendUvarint(w.out, uint64(len(w.shardList)))
	for _, s := range w.shardList {
		w.writeText(string(w.names[s]))
	}
	w.out = binary.AppendUvarint(w.out, uint64(len(w.typesList)))
	for _, f := range w.typesList {
		w.writeText(f)
	}
	w.writeShardsAndFlags()
	w.writeVersionsAndSince()
	w.writeIDsAndEstimates()
	w.writeHistories()
	w.writeBounds()
	w.count, w.keyBytes = 0, 0
	w.spans, w.shardList, w.typesList = w.spans[:0], w.shardList[:0], w.typesList[:0]
	return w.out
}

func (w *pageWriter) writeText(s string) {
	w.out = binary.AppendUvarint(w.out, uint64(len(s)))
	w.out = append(w.out, s...)
}

// rows returns the rows of the page's chunks.
func (w *pageWriter) rows() iter.Seq[*row] {
	return func(yield func(*row) bool) {
		for _, s := range w.spans {
			for i := s.from; i < s.to; i++ {
				if !yield(&s.block.rows[i]) {
					return
				}
			}
		}
	}
}

func (w *pageWriter) writeShardsAndFlags() {
	for r := range w.rows() {
		w.out = binary.AppendUvarint(w.out, uint64(w.shards[r.shard]))
	}
	first := len(w.out)
	for r := range w.rows() {
		w.out = append(w.out, byte(r.flags))
	}
	if w.hasEstimates() {
		w.out[first] |= pageHasEstimates
	}
}

func (w *pageWriter) hasEstimates() bool {
	for _, s := range w.spans {
		if s.block.sizes != nil {
			return true
		}
	}
	return false
}

func (w *pageWriter) writeVersionsAndSince() {
	last := int64(0)
	for r := range w.rows() {
		w.out = binary.AppendVarint(w.out, int64(r.version.Major)-last)
		last = int64(r.version.Major)
	}
	for r := range w.rows() {
		w.out = binary.AppendUvarint(w.out, uint64(r.version.Minor))
	}
	last = 0
	for r := range w.rows() {
		w.out = binary.AppendVarint(w.out, int64(r.since.T)-last)
		last = int64(r.since.T)
	}
	for r := range w.rows() {
		w.out = binary.AppendUvarint(w.out, uint64(r.since.I))
	}
}

func (w *pageWriter) writeIDsAndEstimates() {
	for r := range w.rows() {
		w.out = append(w.out, r.id[:]...)
	}
	if !w.hasEstimates() {
		return
	}
	for _, s := range w.spans {
		for i := s.from; i < s.to; i++ {
			var size Estimate
			if s.block.sizes != nil {
				size = s.block.sizes[i]
			}
			w.out = binary.AppendUvarint(w.out, uint64(size))
		}
	}
}

func (w *pageWriter) writeHistories() {
	for _, s := range w.spans {
		for i := s.from; i < s.to; i++ {
			r := &s.block.rows[i]
			if r.flags&historyBits == historyNone {
				continue
			}
			var kept []historyEntry
			if h := s.block.history; h != nil {
				kept = h.entries[h.offsets[i]:h.offsets[i+1]]
			}
			w.out = binary.AppendUvarint(w.out, uint64(len(kept)))
			for _, e := range kept {
				w.out = binary.AppendVarint(w.out, int64(e.seconds)-int64(r.since.T))
				w.out = binary.AppendUvarint(w.out, uint64(e.increment))
				w.out = binary.AppendUvarint(w.out, uint64(w.shards[e.shard]))
			}
		}
	}
}

func (w *pageWriter) writeBounds() {
	for _, s := range w.spans {
		for i := s.from; i < s.to; i++ {
			w.out = binary.AppendUvarint(w.out, uint64(w.typesIndex[s.block.key(i).types]))
		}
	}
	for _, s := range w.spans {
		for i := s.from; i < s.to; i++ {
			w.out = binary.AppendUvarint(w.out, uint64(len(s.block.encodedAt(i))))
		}
	}
	for _, s := range w.spans {
		w.out = append(w.out, s.block.encoded[s.block.offset(s.from):s.block.offset(s.to)]...)
	}
}
