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

// NewRoutingTable builds a table from chunks in key order. Chunks that leave a
// gap, overlap, or do not reach from MinKey to MaxKey are
// ConflictingOperationInProgress: somebody read them while they changed.
func NewRoutingTable(p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp,
	chunks iter.Seq[Chunk]) (*RoutingTable, error) {
	return newRoutingTable(usual(), p, epoch, ts, chunks)
}

// NewestTable is NewRoutingTable of chunks in any order, some of which have changed while
// they were read: of those that overlap the higher version counts.
func NewestTable(p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp, chunks []Chunk) (*RoutingTable, error) {
	for _, c := range chunks {
		if !c.Min.Less(c.Max) {
			return nil, emptyRange(c)
		}
	}
	return NewRoutingTable(p, epoch, ts, slices.Values(disjoint(chunks)))
}

func newRoutingTable(l layout, p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp,
	chunks iter.Seq[Chunk]) (*RoutingTable, error) {
	w := newTableWriter(&shardNames{}, l)
	end := p.GlobalMin()
	for c := range chunks {
		if !c.Min.Equal(end) {
			return nil, notContiguous(p.Bound(end), p.Bound(c.Min))
		}
		if err := w.add(c); err != nil {
			return nil, err
		}
		end = c.Max
	}
	if w.len() == 0 || !end.Equal(p.GlobalMax()) {
		return nil, notContiguous(p.Bound(end), p.Bound(p.GlobalMax()))
	}
	w.finish([]byte(end.order), []byte(end.form))
	return w.table(p, epoch, ts), nil
}

func notContiguous(end, next bson.Raw) error {
	return mongoerr.New(mongoerr.ConflictingOperationInProgress, "gap or overlap in the routing table between %s and %s",
		end, next)
}

func emptyRange(c Chunk) error {
	return mongoerr.New(mongoerr.BadValue, "chunk min %s is not below max %s", c.Min, c.Max)
}

// Builder makes a routing table from config.chunks documents as they come from
// a cursor, in key order, without garbage for every chunk.
type Builder struct {
	pattern   KeyPattern
	epoch     bson.ObjectID
	timestamp bson.Timestamp

	writer tableWriter
	stored storedChunk
	max    []byte // upper bound document of the last chunk
	bound  bound  // lower bound of the chunk being added
	last   []byte // comparable lower bound of the chunk before
}

// bound is a key in reusable buffers.
type bound struct{ order, form []byte }

// NewBuilder starts an empty table.
func NewBuilder(p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp) *Builder {
	return &Builder{pattern: p, epoch: epoch, timestamp: ts, writer: newTableWriter(&shardNames{}, usual())}
}

// Len returns the number of chunks so far.
func (b *Builder) Len() int { return b.writer.len() }

// Add takes one config.chunks document; nothing of it is kept. The errors are
// those of ParseChunk and NewRoutingTable.
func (b *Builder) Add(raw bson.Raw) error {
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
	shard, err := b.writer.shard(s.shard)
	if err != nil {
		return err
	}
	b.writer.chunk(b.bound, row{version: s.version, since: s.since, id: s.id, shard: shard, flags: chunkFlags(s.jumbo)},
		s.size)
	var failed error
	err = s.eachHistory(func(at bson.Timestamp, name []byte) {
		shard, err := b.writer.shard(name)
		if failed == nil {
			failed = err
		}
		b.writer.block.entry(historyEntry{at.T, at.I, shard})
	})
	if err == nil {
		err = failed
	}
	return err
}

// checkOrder wants the bound just read to be the upper bound of the chunk
// before, and above its lower one.
func (b *Builder) checkOrder(doc bson.Raw) error {
	if b.Len() == 0 {
		if string(b.bound.order) != b.pattern.GlobalMin().order {
			return notContiguous(b.pattern.Bound(b.pattern.GlobalMin()), doc)
		}
	} else {
		// Nearly always the bytes are the same, and need no encoding.
		if !bytes.Equal(b.max, doc) {
			end, err := b.pattern.Key(b.max)
			if err != nil {
				return err
			}
			if end.order != string(b.bound.order) {
				return notContiguous(b.max, doc)
			}
		}
		if bytes.Compare(b.last, b.bound.order) >= 0 {
			return notContiguous(b.max, doc)
		}
	}
	b.last = append(b.last[:0], b.bound.order...)
	return nil
}

// read encodes a bound document; one in key order needs no memory.
func (k *bound) read(p KeyPattern, doc bson.Raw) error {
	k.order, k.form = k.order[:0], k.form[:0]
	n := 0
	for e := keyorder.WalkOf(doc); e.Next(); {
		if n >= p.Len() || string(e.Name) != p.p.fields[n] || e.Value.Type == bson.TypeArray {
			n = -1
			break
		}
		k.order = keyorder.Append(k.order, e.Value)
		k.form = appendForm(k.form, e.Value)
		n++
	}
	if n == p.Len() && n > 0 {
		return nil
	}
	key, err := p.Key(doc) // another order, or no key at all
	if err != nil {
		return err
	}
	k.order, k.form = append(k.order[:0], key.order...), append(k.form[:0], key.form...)
	return nil
}

// Table finishes the table. The builder must not be used any more.
func (b *Builder) Table() (*RoutingTable, error) {
	if b.Len() == 0 {
		return nil, notContiguous(b.pattern.Bound(b.pattern.GlobalMin()), b.pattern.Bound(b.pattern.GlobalMax()))
	}
	if err := b.bound.read(b.pattern, b.max); err != nil {
		return nil, err
	}
	if string(b.bound.order) != b.pattern.GlobalMax().order || bytes.Compare(b.last, b.bound.order) >= 0 {
		return nil, notContiguous(b.max, b.pattern.Bound(b.pattern.GlobalMax()))
	}
	b.writer.finish(b.bound.order, b.bound.form)
	return b.writer.table(b.pattern, b.epoch, b.timestamp), nil
}

// tableWriter cuts a stream of chunks into blocks.
type tableWriter struct {
	shards   *shardNames
	shared   bool // shards belongs to a table
	layout   layout
	fill     int
	block    blockWriter
	blocks   []*block
	count    int
	counters []uint16
	recent   uint16 // the shard asked for last
	scratch  bound
}

func newTableWriter(shards *shardNames, l layout) tableWriter {
	return tableWriter{shards: shards, layout: l, fill: l.blockFill, counters: make([]uint16, len(shards.names))}
}

// len returns the number of chunks.
func (w *tableWriter) len() int { return w.count }

// shard returns the number of a shard, a new one if need be.
func (w *tableWriter) shard(name []byte) (uint16, error) {
	if int(w.recent) < len(w.shards.names) && string(w.shards.names[w.recent]) == string(name) {
		return w.recent, nil
	}
	n, ok := w.shards.number[ShardID(name)]
	if ok {
		w.recent = n
		return n, nil
	}
	if len(w.shards.names) > math.MaxUint16 {
		return 0, mongoerr.New(mongoerr.BadValue, "more than %d shards in a routing table", math.MaxUint16+1)
	}
	if w.shared || w.shards.number == nil {
		w.shards = &shardNames{
			names:  slices.Clone(w.shards.names),
			number: maps.Clone(w.shards.number),
			sorted: slices.Clone(w.shards.sorted),
		}
		if w.shards.number == nil {
			w.shards.number = map[ShardID]uint16{}
		}
		w.shared = false
	}
	n = uint16(len(w.shards.names))
	id := ShardID(name)
	w.shards.names = append(w.shards.names, id)
	w.shards.number[id] = n
	at, _ := slices.BinarySearchFunc(w.shards.sorted, id, func(n uint16, id ShardID) int {
		return cmp.Compare(w.shards.names[n], id)
	})
	w.shards.sorted = slices.Insert(w.shards.sorted, at, n)
	w.counters = append(w.counters, 0)
	w.recent = n
	return n, nil
}

// chunk adds a chunk, closing a full block first.
func (w *tableWriter) chunk(low bound, r row, size Estimate) {
	if w.block.len() >= w.fill {
		w.finish(low.order, low.form)
	}
	w.block.bound(low.order, low.form)
	w.block.chunk(r, size)
	w.count++
}

// finish closes the block begun.
func (w *tableWriter) finish(order, form []byte) {
	w.blocks = append(w.blocks, w.block.finish(order, form, w.counters))
}

// add adds a chunk with its history.
func (w *tableWriter) add(c Chunk) error {
	if !c.Min.Less(c.Max) {
		return emptyRange(c)
	}
	r, err := w.row(&c)
	if err != nil {
		return err
	}
	w.scratch.order = append(w.scratch.order[:0], c.Min.order...)
	w.scratch.form = append(w.scratch.form[:0], c.Min.form...)
	w.chunk(w.scratch, r, c.Estimate)
	for _, h := range c.History {
		e, err := w.entry(h)
		if err != nil {
			return err
		}
		w.block.entry(e)
	}
	return nil
}

// row returns a chunk's row before its history is known.
func (w *tableWriter) row(c *Chunk) (row, error) {
	shard, err := w.shardID(c.Shard)
	return row{version: c.Version, since: c.OnCurrentShardSince, id: c.ID, shard: shard,
		flags: chunkFlags(c.Jumbo) & jumboBits}, err
}

func (w *tableWriter) entry(h ChunkHistory) (historyEntry, error) {
	shard, err := w.shardID(h.Shard)
	return historyEntry{h.ValidAfter.T, h.ValidAfter.I, shard}, err
}

// shardID returns the number of a shard.
func (w *tableWriter) shardID(id ShardID) (uint16, error) {
	if n, ok := w.shards.number[id]; ok {
		return n, nil
	}
	return w.shard([]byte(id))
}

// table makes a table of the blocks written.
func (w *tableWriter) table(p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp) *RoutingTable {
	t := &RoutingTable{pattern: p, epoch: epoch, timestamp: ts, layout: w.layout, shards: w.shards}
	t.shelves = w.layout.shelve(slices.Clip(w.blocks))
	t.totals = make(shardTotals, len(w.shards.names))
	t.totals.exchange(nil, w.blocks, nil)
	t.index()
	t.sumVersions()
	return t
}

func (t *RoutingTable) sumVersions() {
	t.version = ChunkVersion{}
	for _, s := range t.totals {
		if t.version.Compare(s.newest) < 0 {
			t.version = s.newest
		}
	}
}
