package mock

import (
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/mock/store"
)

// pendingLog holds the newest entries of a log until the log is read; then they are inserted into its
// collection. In a busy cluster nearly all entries are dropped before that. Whole blocks beyond the
// limit are dropped when a new block is needed, single entries when the log is read.
type pendingLog struct {
	limit int64 // maximum size of the log
	// blocks hold the concatenated documents. The oldest document begins at firstOffset in the first
	// block. spareBlocks are empty blocks of logBlockBytes for reuse.
	blocks, spareBlocks [][]byte
	firstOffset         int
	bytes               int64
}

// Blocks have the size logBlockBytes, which is small because a block stays until its last document is
// removed. logEntryOverhead is the maximum size of an entry besides its strings and details.
const (
	logBlockBytes    = 4 << 10
	logEntryOverhead = 200
)

// pendingLogs are the pending entries of logs, by namespace.
type pendingLogs map[string]*pendingLog

// add adds an entry to a log of at most limit bytes, including the entries that are already in its
// collection.
func (p pendingLogs) add(ns string, limit int64, e logEntry, id []byte, now time.Time, collection *store.Collection) {
	q := p[ns]
	if q == nil {
		q = &pendingLog{}
		p[ns] = q
	}
	q.limit = limit
	takes := logEntryOverhead + len(id) + len(e.by) + len(e.what) + len(e.ns) + len(e.details)
	if !q.fitsLastBlock(takes) {
		q.trimWholeBlocks(collection)
		q.addBlock(takes)
	}
	room := &q.blocks[len(q.blocks)-1]
	start, dst := bsoncore.AppendDocumentStart(*room)
	dst = appendText(dst, "_id", id)
	dst = appendText(dst, "server", hostName)
	dst = appendText(dst, "shard", e.by)
	dst = appendText(dst, "clientAddr", "")
	dst = bsoncore.AppendDateTime(appendFieldHeader(dst, bson.TypeDateTime, "time"), now.UnixMilli())
	dst = appendText(dst, "what", e.what)
	dst = appendText(dst, "ns", e.ns)
	dst = appendDocument(dst, "details", e.details)
	q.bytes -= int64(len(*room))
	*room = closeDocument(dst, start)
	q.bytes += int64(len(*room))
}

// appendFieldHeader appends the header of a field. It does not check the name for zero bytes, as the
// driver would, because the names are constants.
func appendFieldHeader(dst []byte, t bson.Type, name string) []byte {
	return append(append(append(dst, byte(t)), name...), 0)
}

func appendText[S ~string | ~[]byte](dst []byte, name string, text S) []byte {
	dst = bsoncore.AppendInt32(appendFieldHeader(dst, bson.TypeString, name), int32(len(text)+1))
	return append(append(dst, text...), 0)
}

func appendDocument(dst []byte, name string, doc bson.Raw) []byte {
	return append(appendFieldHeader(dst, bson.TypeEmbeddedDocument, name), doc...)
}

// fitsLastBlock reports whether a document of the given size fits into the last block.
func (p *pendingLog) fitsLastBlock(takes int) bool {
	n := len(p.blocks)
	return n > 0 && cap(p.blocks[n-1])-len(p.blocks[n-1]) >= takes
}

func (p *pendingLog) addBlock(takes int) {
	if n := len(p.spareBlocks); n > 0 && takes <= logBlockBytes {
		p.blocks, p.spareBlocks = append(p.blocks, p.spareBlocks[n-1]), p.spareBlocks[:n-1]
	} else {
		p.blocks = append(p.blocks, make([]byte, 0, max(logBlockBytes, takes)))
	}
}

// removeOldest removes and returns the oldest document, nil if there is none. The document is valid
// until the next one is added.
func (p *pendingLog) removeOldest() bson.Raw {
	if len(p.blocks) == 0 {
		return nil
	}
	first := p.blocks[0][p.firstOffset:]
	size, _, _ := bsoncore.ReadLength(first)
	doc := bson.Raw(first[:size:size])
	p.bytes -= int64(size)
	if p.firstOffset += len(doc); len(doc) == len(first) {
		p.dropFirstBlock()
	}
	return doc
}

// dropFirstBlock removes the first block, all of whose documents were removed.
func (p *pendingLog) dropFirstBlock() {
	if cap(p.blocks[0]) == logBlockBytes {
		p.spareBlocks = append(p.spareBlocks, p.blocks[0][:0])
	}
	p.blocks[0] = nil
	p.blocks, p.firstOffset = p.blocks[1:], 0
}

// trim drops the oldest entries beyond the limit. The collection is the log's, with the entries inserted
// before.
func (p *pendingLog) trim(collection *store.Collection) {
	p.trimWholeBlocks(collection)
	for p.bytes > 0 && collection.Bytes()+p.bytes > p.limit {
		p.removeOldest()
	}
}

// trimWholeBlocks is like trim, but drops only whole blocks, so that it need not parse documents.
func (p *pendingLog) trimWholeBlocks(collection *store.Collection) {
	for collection.Count() > 0 && collection.Bytes()+p.bytes > p.limit {
		oldest, _, _ := collection.First()
		collection.Delete(oldest)
	}
	for len(p.blocks) > 0 {
		left := int64(len(p.blocks[0]) - p.firstOffset)
		if collection.Bytes()+p.bytes-left < p.limit {
			return
		}
		p.bytes -= left
		p.dropFirstBlock()
	}
}

// flush inserts the pending entries of a log into its collection.
func (p pendingLogs) flush(ns string, collection *store.Collection, logger *slog.Logger) {
	q := p[ns]
	if q == nil {
		return
	}
	delete(p, ns)
	q.trim(collection)
	for doc := q.removeOldest(); doc != nil; doc = q.removeOldest() {
		if _, err := collection.Insert(doc); err != nil {
			logger.Warn("log entry not written", "log", ns, "error", err)
		}
	}
}

// flushAll flushes all logs.
func (p pendingLogs) flushAll(collections map[string]*store.Collection, logger *slog.Logger) {
	for ns := range p {
		p.flush(ns, collections[ns], logger)
	}
}
