package catalog

import (
	"bytes"
	"cmp"
	"iter"
	"maps"
	"math"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mongoerr"
)

// NewRoutingTable builds a table from chunks in key order. If the chunks leave a gap, overlap, or do
// not reach from MinKey to MaxKey, the error is ConflictingOperationInProgress, since the chunks have
// changed while they were read.
func NewRoutingTable(p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp,
	chunks iter.Seq[Chunk]) (*RoutingTable, error) {
	return newRoutingTable(defaultLayout(), p, epoch, ts, chunks)
}

// NewRoutingTableUnsorted builds a table like NewRoutingTable, from chunks in any order, some of which
// may have changed while they were read: of overlapping chunks, the one with the higher version is
// used.
func NewRoutingTableUnsorted(
	p KeyPattern,
	epoch bson.ObjectID,
	ts bson.Timestamp,
	chunks []Chunk,
) (*RoutingTable, error) {
	for _, c := range chunks {
		if !c.Min.Less(c.Max) {
			return nil, emptyRangeError(c)
		}
	}
	return NewRoutingTable(p, epoch, ts, slices.Values(dropOverlapped(chunks)))
}

// newRoutingTable builds a table with a layout, which tests make small.
func newRoutingTable(l layout, p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp,
	chunks iter.Seq[Chunk]) (*RoutingTable, error) {
	w := newTableWriter(&shardNames{}, l)
	end := p.GlobalMin()
	for c := range chunks {
		if !c.Min.Equal(end) {
			return nil, notContiguousError(p.Bound(end), p.Bound(c.Min))
		}
		if err := w.add(c); err != nil {
			return nil, err
		}
		end = c.Max
	}
	if w.len() == 0 || !end.Equal(p.GlobalMax()) {
		return nil, notContiguousError(p.Bound(end), p.Bound(p.GlobalMax()))
	}
	w.finishBlock([]byte(end.encoded), []byte(end.types))
	return w.table(p, epoch, ts), nil
}

func notContiguousError(end, next bson.Raw) error {
	return mongoerr.New(mongoerr.ConflictingOperationInProgress, "gap or overlap in the routing table between %s and %s",
		end, next)
}

func emptyRangeError(c Chunk) error {
	return mongoerr.New(mongoerr.BadValue, "chunk min %s is not below max %s", c.Min, c.Max)
}

// TableBuilder builds a routing table from the documents of config.chunks in key order, as read from a
// cursor, without an allocation for every chunk.
type TableBuilder struct {
	pattern   KeyPattern
	epoch     bson.ObjectID
	timestamp bson.Timestamp

	writer  tableWriter
	stored  storedChunk
	max     []byte // upper bound document of the last chunk
	bound   bound  // lower bound of the chunk being added
	lastMin []byte // encoded lower bound of the previous chunk
}

// bound is a key in reusable buffers.
type bound struct{ encoded, types []byte }

// NewTableBuilder returns a TableBuilder for an empty table.
func NewTableBuilder(p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp) *TableBuilder {
	return &TableBuilder{pattern: p, epoch: epoch, timestamp: ts, writer: newTableWriter(&shardNames{}, defaultLayout())}
}

// Len returns the number of chunks added so far.
func (b *TableBuilder) Len() int { return b.writer.len() }

// Add adds the chunk of a config.chunks document. It does not keep references to the document. The
// errors are those of ParseChunk and NewRoutingTable.
func (b *TableBuilder) Add(raw bson.Raw) error {
	s := &b.stored
	if err := s.read(raw); err != nil {
		return err
	}
	if err := b.bound.read(b.pattern, s.min); err != nil {
		return err
	}
	if err := b.checkOrder(s.min); err != nil {
		return err
	}
	b.max = append(b.max[:0], s.max...)
	shard, err := b.writer.shardNumberByName(s.shard)
	if err != nil {
		return err
	}
	b.writer.addChunk(b.bound, row{version: s.version, since: s.since, id: s.id, shard: shard, flags: chunkFlags(s.jumbo)},
		s.size)
	var failed error
	err = s.eachHistory(func(at bson.Timestamp, name []byte) {
		shard, err := b.writer.shardNumberByName(name)
		if failed == nil {
			failed = err
		}
		b.writer.block.addHistory(historyEntry{at.T, at.I, shard})
	})
	if err == nil {
		err = failed
	}
	return err
}

// checkOrder checks that the lower bound in doc is the upper bound of the previous chunk and is greater
// than its lower bound.
func (b *TableBuilder) checkOrder(doc bson.Raw) error {
	if b.Len() == 0 {
		if string(b.bound.encoded) != b.pattern.GlobalMin().encoded {
			return notContiguousError(b.pattern.Bound(b.pattern.GlobalMin()), doc)
		}
	} else {
		// The bytes are nearly always equal, and then need no encoding.
		if !bytes.Equal(b.max, doc) {
			end, err := b.pattern.ParseKey(b.max)
			if err != nil {
				return err
			}
			if end.encoded <= string(b.lastMin) {
				return b.emptyLastError()
			}
			if end.encoded != string(b.bound.encoded) {
				return notContiguousError(b.max, doc)
			}
		}
		if bytes.Compare(b.lastMin, b.bound.encoded) >= 0 {
			return b.emptyLastError()
		}
	}
	b.lastMin = append(b.lastMin[:0], b.bound.encoded...)
	return nil
}

// emptyLastError says that the chunk added last ends where it begins, or before.
func (b *TableBuilder) emptyLastError() error {
	return mongoerr.New(mongoerr.BadValue, "chunk max %s is not above its min", bson.Raw(b.max))
}

// read encodes a bound document; one in key order needs no allocation.
func (b *bound) read(p KeyPattern, doc bson.Raw) error {
	b.encoded, b.types = b.encoded[:0], b.types[:0]
	n := 0
	for e := keyorder.NewWalk(doc); e.Next(); {
		if n >= p.Len() || string(e.Name) != p.pattern.fields[n] || e.Value.Type == bson.TypeArray {
			n = -1
			break
		}
		b.encoded = keyorder.Append(b.encoded, e.Value)
		b.types = appendType(b.types, e.Value)
		n++
	}
	if n == p.Len() && n > 0 {
		return nil
	}
	key, err := p.ParseKey(doc) // the fields are in another order, or doc is not a key
	if err != nil {
		return err
	}
	b.encoded, b.types = append(b.encoded[:0], key.encoded...), append(b.types[:0], key.types...)
	return nil
}

// Table returns the finished table. The builder must not be used any more.
func (b *TableBuilder) Table() (*RoutingTable, error) {
	if b.Len() == 0 {
		return nil, notContiguousError(b.pattern.Bound(b.pattern.GlobalMin()), b.pattern.Bound(b.pattern.GlobalMax()))
	}
	if err := b.bound.read(b.pattern, b.max); err != nil {
		return nil, err
	}
	if bytes.Compare(b.lastMin, b.bound.encoded) >= 0 {
		return nil, b.emptyLastError()
	}
	if string(b.bound.encoded) != b.pattern.GlobalMax().encoded {
		return nil, notContiguousError(b.max, b.pattern.Bound(b.pattern.GlobalMax()))
	}
	b.writer.finishBlock(b.bound.encoded, b.bound.types)
	return b.writer.table(b.pattern, b.epoch, b.timestamp), nil
}

// tableWriter divides a stream of chunks into blocks.
type tableWriter struct {
	shards         *shardNames
	sharedNames    bool // shards is shared with a table
	layout         layout
	newBlockChunks int
	block          blockWriter
	blocks         []*block
	count          int
	shardScratch   []uint16
	lastShard      uint16 // the shard of the last lookup
	scratch        bound
}

func newTableWriter(shards *shardNames, l layout) tableWriter {
	return tableWriter{shards: shards, layout: l, newBlockChunks: l.newBlockChunks,
		shardScratch: make([]uint16, len(shards.names))}
}

// len returns the number of chunks.
func (w *tableWriter) len() int { return w.count }

// shardNumberByName returns the number of a shard, and adds the shard if it is new.
func (w *tableWriter) shardNumberByName(name []byte) (uint16, error) {
	if int(w.lastShard) < len(w.shards.names) && string(w.shards.names[w.lastShard]) == string(name) {
		return w.lastShard, nil
	}
	n, ok := w.shards.number[ShardID(name)]
	if ok {
		w.lastShard = n
		return n, nil
	}
	if len(w.shards.names) > math.MaxUint16 {
		return 0, mongoerr.New(mongoerr.BadValue, "more than %d shards in a routing table", math.MaxUint16+1)
	}
	if w.sharedNames || w.shards.number == nil {
		w.shards = &shardNames{
			names:  slices.Clone(w.shards.names),
			number: maps.Clone(w.shards.number),
			sorted: slices.Clone(w.shards.sorted),
		}
		if w.shards.number == nil {
			w.shards.number = map[ShardID]uint16{}
		}
		w.sharedNames = false
	}
	n = uint16(len(w.shards.names))
	id := ShardID(name)
	w.shards.names = append(w.shards.names, id)
	w.shards.number[id] = n
	at, _ := slices.BinarySearchFunc(w.shards.sorted, id, func(n uint16, id ShardID) int {
		return cmp.Compare(w.shards.names[n], id)
	})
	w.shards.sorted = slices.Insert(w.shards.sorted, at, n)
	w.shardScratch = append(w.shardScratch, 0)
	w.lastShard = n
	return n, nil
}

// addChunk adds a chunk. If the block is full, it is finished first.
func (w *tableWriter) addChunk(low bound, r row, size Estimate) {
	if w.block.len() >= w.newBlockChunks {
		w.finishBlock(low.encoded, low.types)
	}
	w.block.addBound(low.encoded, low.types)
	w.block.addChunk(r, size)
	w.count++
}

// finishBlock finishes the current block.
func (w *tableWriter) finishBlock(encoded, types []byte) {
	w.blocks = append(w.blocks, w.block.finish(encoded, types, w.shardScratch))
}

// add adds a chunk with its history.
func (w *tableWriter) add(c Chunk) error {
	if !c.Min.Less(c.Max) {
		return emptyRangeError(c)
	}
	r, err := w.newRow(&c)
	if err != nil {
		return err
	}
	w.scratch.encoded = append(w.scratch.encoded[:0], c.Min.encoded...)
	w.scratch.types = append(w.scratch.types[:0], c.Min.types...)
	w.addChunk(w.scratch, r, c.Estimate)
	for _, h := range c.History {
		e, err := w.newHistoryEntry(h)
		if err != nil {
			return err
		}
		w.block.addHistory(e)
	}
	return nil
}

// newRow returns the row of a chunk without its history.
func (w *tableWriter) newRow(c *Chunk) (row, error) {
	shard, err := w.shardNumber(c.Shard)
	return row{version: c.Version, since: c.OnCurrentShardSince, id: c.ID, shard: shard,
		flags: chunkFlags(c.Jumbo) & jumboBits}, err
}

func (w *tableWriter) newHistoryEntry(h ChunkHistory) (historyEntry, error) {
	shard, err := w.shardNumber(h.Shard)
	return historyEntry{h.ValidAfter.T, h.ValidAfter.I, shard}, err
}

// shardNumber returns the number of a shard.
func (w *tableWriter) shardNumber(id ShardID) (uint16, error) {
	if n, ok := w.shards.number[id]; ok {
		return n, nil
	}
	return w.shardNumberByName([]byte(id))
}

// table returns a table with the written blocks.
func (w *tableWriter) table(p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp) *RoutingTable {
	t := &RoutingTable{pattern: p, epoch: epoch, timestamp: ts, layout: w.layout, shards: w.shards}
	t.groups = w.layout.makeGroups(slices.Clip(w.blocks))
	t.totals = make(shardTotals, len(w.shards.names))
	t.totals.replaceBlocks(nil, w.blocks, nil)
	t.indexGroups()
	t.updateVersion()
	return t
}

func (t *RoutingTable) updateVersion() {
	t.version = ChunkVersion{}
	for _, s := range t.totals {
		if t.version.Compare(s.newest) < 0 {
			t.version = s.newest
		}
	}
}
