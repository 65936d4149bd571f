package catalog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
)

// ErrDamagedPage says that bytes are not a page of a routing table, or not the next page.
var ErrDamagedPage = errors.New("damaged page of a routing table")

func damagedError(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrDamagedPage, fmt.Sprintf(format, args...))
}

// PageReader builds a routing table from its pages and validates everything: it accepts only tables
// that could have been built in another way.
type PageReader struct {
	pattern   KeyPattern
	epoch     bson.ObjectID
	timestamp bson.Timestamp

	writer         tableWriter
	lastMin        []byte // comparable lower bound of the newest chunk
	value          []byte // buffer for the check of keys
	encoded        []byte // buffer for the check of keys
	shards         []uint16
	types          [][]byte
	rows           []row
	sizes          []Estimate
	history        []historyEntry
	historyLengths []int // number of entries of each chunk's history, -1 = none
}

// NewPageReader returns a reader without pages.
func NewPageReader(p KeyPattern, epoch bson.ObjectID, ts bson.Timestamp) *PageReader {
	return &PageReader{pattern: p, epoch: epoch, timestamp: ts, writer: newTableWriter(&shardNames{}, defaultLayout())}
}

// Len returns the number of chunks so far.
func (r *PageReader) Len() int { return r.writer.len() }

// Add adds the next page. It does not keep references to the page. Errors wrap ErrDamagedPage.
func (r *PageReader) Add(page []byte) error {
	c := columnReader{rest: page}
	n := c.boundedInt(pageChunks)
	if c.failed || n == 0 {
		return damagedError("%d chunks", n)
	}
	if err := r.readDictionaries(&c); err != nil {
		return err
	}
	r.readRows(&c, n)
	r.readHistory(&c)
	if c.failed {
		return damagedError("a column is cut short or out of range")
	}
	return r.readBounds(&c)
}

// Table returns the table. The reader must not be used any more.
func (r *PageReader) Table() (*RoutingTable, error) {
	end := r.pattern.GlobalMax()
	if r.Len() == 0 || string(r.lastMin) >= end.encoded {
		return nil, damagedError("%d chunks, which do not end at the greatest key", r.Len())
	}
	r.writer.finishBlock([]byte(end.encoded), []byte(end.types))
	return r.writer.table(r.pattern, r.epoch, r.timestamp), nil
}

// readDictionaries reads the names of shards and the types of keys.
func (r *PageReader) readDictionaries(c *columnReader) error {
	r.shards, r.types = r.shards[:0], r.types[:0]
	for range c.boundedInt(math.MaxUint16 + 1) {
		name := c.text()
		if c.failed || len(name) == 0 {
			return damagedError("a shard without a name")
		}
		shard, err := r.writer.shardNumberByName(name)
		if err != nil {
			return fmt.Errorf("%w: %w", ErrDamagedPage, err)
		}
		r.shards = append(r.shards, shard)
	}
	for range c.boundedInt(pageChunks) {
		r.types = append(r.types, c.text())
	}
	if c.failed {
		return damagedError("names are cut short")
	}
	return nil
}

// readRows reads the columns up to the estimates.
func (r *PageReader) readRows(c *columnReader, n int) {
	if cap(r.rows) < n {
		r.rows, r.sizes, r.historyLengths = make([]row, n), make([]Estimate, n), make([]int, n)
	}
	r.rows, r.sizes, r.historyLengths = r.rows[:n], r.sizes[:n], r.historyLengths[:n]
	for i := range r.rows {
		r.rows[i] = row{shard: r.readShard(c)}
	}
	flags := c.take(n)
	if c.failed {
		return
	}
	measured := flags[0]&pageHasEstimates != 0
	for i := range r.rows {
		f := chunkFlags(flags[i])
		if i == 0 {
			f &^= pageHasEstimates
		}
		c.failed = c.failed || f&^(jumboBits|historyBits) != 0 || f&jumboBits > chunkFlags(JumboTrue) ||
			f&historyBits == historyBits
		r.rows[i].flags = f
	}
	last := int64(0)
	for i := range r.rows {
		r.rows[i].version.Major = c.delta(&last)
	}
	for i := range r.rows {
		r.rows[i].version.Minor = uint32(c.boundedInt(math.MaxUint32))
	}
	last = 0
	for i := range r.rows {
		r.rows[i].since.T = c.delta(&last)
	}
	for i := range r.rows {
		r.rows[i].since.I = uint32(c.boundedInt(math.MaxUint32))
	}
	for i := range r.rows {
		copy(r.rows[i].id[:], c.take(len(bson.ObjectID{})))
	}
	for i := range r.sizes {
		r.sizes[i] = 0
		if measured {
			r.sizes[i] = Estimate(c.uvarint())
		}
	}
}

func (r *PageReader) readShard(c *columnReader) uint16 {
	i := c.boundedInt(math.MaxUint16)
	if i >= len(r.shards) {
		c.failed = true
		return 0
	}
	return r.shards[i]
}

// readHistory reads the histories and restores the omitted first entries.
func (r *PageReader) readHistory(c *columnReader) {
	r.history = r.history[:0]
	for i := range r.rows {
		row := &r.rows[i]
		mode := row.flags & historyBits
		row.flags &^= historyBits
		if r.historyLengths[i] = -1; mode == historyNone || c.failed {
			continue
		}
		n := c.boundedInt(len(c.rest))
		if r.historyLengths[i] = n; mode == historyTail {
			c.failed = c.failed || row.since.IsZero()
			r.history = append(r.history, historyEntry{row.since.T, row.since.I, row.shard})
			r.historyLengths[i]++
		}
		for range n {
			if c.failed {
				return
			}
			last := int64(row.since.T)
			r.history = append(r.history, historyEntry{c.delta(&last), uint32(c.boundedInt(math.MaxUint32)), r.readShard(c)})
		}
	}
}

// readBounds reads the lower bounds and adds the chunks.
func (r *PageReader) readBounds(c *columnReader) error {
	n := len(r.rows)
	forms, lengths := make([]int, n), make([]int, n)
	for i := range forms {
		if forms[i] = c.boundedInt(pageChunks); forms[i] >= len(r.types) {
			return damagedError("a form of key %d of %d", forms[i], len(r.types))
		}
	}
	for i := range lengths {
		lengths[i] = c.boundedInt(len(c.rest))
	}
	if c.failed {
		return damagedError("lengths of keys are cut short")
	}
	orders := string(c.rest)
	history := r.history
	for i := range r.rows {
		order := c.take(lengths[i])
		if c.failed {
			return damagedError("keys are cut short")
		}
		low := bound{order, r.types[forms[i]]}
		if err := r.checkBound(orders[:lengths[i]], string(low.types)); err != nil {
			return err
		}
		orders = orders[lengths[i]:]
		r.lastMin = append(r.lastMin[:0], order...)
		r.writer.addChunk(low, r.rows[i], r.sizes[i])
		for range max(r.historyLengths[i], 0) {
			r.writer.block.addHistory(history[0])
			history = history[1:]
		}
	}
	if len(c.rest) > 0 {
		return damagedError("%d bytes too many", len(c.rest))
	}
	return nil
}

// checkBound checks that a lower bound is a valid key, and that it is the first of the table or greater
// than the last bound.
func (r *PageReader) checkBound(encoded, types string) error {
	first := r.Len() == 0
	if first && encoded != r.pattern.GlobalMin().encoded || !first && encoded <= string(r.lastMin) {
		return damagedError("bounds are out of order")
	}
	for range r.pattern.Len() {
		if types == "" {
			return damagedError("a key has too few fields")
		}
		t, value, restOrder, restForm, ok := takeField(r.value[:0], encoded, types)
		if !ok || t == bson.TypeArray {
			return damagedError("a key has no value of type %s", t)
		}
		r.value = value
		v := bson.RawValue{Type: t, Value: value}
		r.encoded = keyorder.Append(r.encoded[:0], v)
		if string(r.encoded) != encoded[:len(encoded)-len(restOrder)] {
			return damagedError("a key has a non-canonical encoding")
		}
		r.encoded = appendType(r.encoded[:0], v)
		if string(r.encoded) != types[:len(types)-len(restForm)] {
			return damagedError("a key has non-canonical types")
		}
		encoded, types = restOrder, restForm
	}
	if encoded != "" || types != "" {
		return damagedError("a key has too many fields")
	}
	return nil
}

// columnReader reads a page from front to end. After an error it returns zeros.
type columnReader struct {
	rest   []byte
	failed bool
}

func (c *columnReader) uvarint() uint64 {
	n, size := binary.Uvarint(c.rest)
	if size <= 0 {
		c.failed, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[size:]
	return n
}

// boundedInt reads a number that must not exceed limit.
func (c *columnReader) boundedInt(limit int) int {
	n := c.uvarint()
	if n > uint64(limit) {
		c.failed, c.rest = true, nil
		return 0
	}
	return int(n)
}

// delta reads a 32-bit number that is stored as the difference to the last number.
func (c *columnReader) delta(last *int64) uint32 {
	d, size := binary.Varint(c.rest)
	if size <= 0 || d < -math.MaxUint32 || d > math.MaxUint32 || *last+d < 0 || *last+d > math.MaxUint32 {
		c.failed, c.rest = true, nil
		return 0
	}
	c.rest = c.rest[size:]
	*last += d
	return uint32(*last)
}

func (c *columnReader) take(n int) []byte {
	if n > len(c.rest) {
		c.failed, c.rest = true, nil
		return nil
	}
	taken := c.rest[:n]
	c.rest = c.rest[n:]
	return taken
}

func (c *columnReader) text() []byte { return c.take(c.boundedInt(len(c.rest))) }
