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
// collection (read).
func (u pendingLogs) add(ns string, limit int64, e logEntry, id []byte, now time.Time, read *store.Collection) {
	q := u[ns]
	if q == nil {
		q = &pendingLog{}
		u[ns] = q
	}
	q.limit = limit
	takes := logEntryOverhead + len(id) + len(e.by) + len(e.what) + len(e.ns) + len(e.details)
	if !q.fitsLastBlock(takes) {
		q.trimWholeBlocks(read)
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
func (q *pendingLog) fitsLastBlock(takes int) bool {
	n := len(q.blocks)
	return n > 0 && cap(q.blocks[n-1])-len(q.blocks[n-1]) >= takes
}

func (q *pendingLog) addBlock(takes int) {
	if n := len(q.spareBlocks); n > 0 && takes <= logBlockBytes {
		q.blocks, q.spareBlocks = append(q.blocks, q.spareBlocks[n-1]), q.spareBlocks[:n-1]
	} else {
		q.blocks = append(q.blocks, make([]byte, 0, max(logBlockBytes, takes)))
	}
}

// removeOldest removes and returns the oldest document, nil if there is none. The document is valid
// until the next one is added.
func (q *pendingLog) removeOldest() bson.Raw {
	if len(q.blocks) == 0 {
		return nil
	}
	first := q.blocks[0][q.firstOffset:]
	size, _, _ := bsoncore.ReadLength(first)
	doc := bson.Raw(first[:size:size])
	q.bytes -= int64(size)
	if q.firstOffset += len(doc); len(doc) == len(first) {
		q.dropFirstBlock()
	}
	return doc
}

// dropFirstBlock removes the first block, all of whose documents were removed.
func (q *pendingLog) dropFirstBlock() {
	if cap(q.blocks[0]) == logBlockBytes {
		q.spareBlocks = append(q.spareBlocks, q.blocks[0][:0])
	}
	q.blocks[0] = nil
	q.blocks, q.firstOffset = q.blocks[1:], 0
}

// trim drops the oldest entries beyond the limit. read is the log's collection, with the entries
// inserted before.
func (q *pendingLog) trim(read *store.Collection) {
	q.trimWholeBlocks(read)
	for q.bytes > 0 && read.Bytes()+q.bytes > q.limit {
		q.removeOldest()
	}
}

// trimWholeBlocks is like trim, but drops only whole blocks, so that it need not parse documents.
func (q *pendingLog) trimWholeBlocks(read *store.Collection) {
	for read.Count() > 0 && read.Bytes()+q.bytes > q.limit {
		oldest, _, _ := read.First()
		read.Delete(oldest)
	}
	for len(q.blocks) > 0 {
		left := int64(len(q.blocks[0]) - q.firstOffset)
		if read.Bytes()+q.bytes-left < q.limit {
			return
		}
		q.bytes -= left
		q.dropFirstBlock()
	}
}

// flush inserts the pending entries of a log into its collection.
func (u pendingLogs) flush(ns string, read *store.Collection, logger *slog.Logger) {
	q := u[ns]
	if q == nil {
		return
	}
	delete(u, ns)
	q.trim(read)
	for doc := q.removeOldest(); doc != nil; doc = q.removeOldest() {
		if _, err := read.Insert(doc); err != nil {
			logger.Warn("log entry not written", "log", ns, "error", err)
		}
	}
}

// flushAll flushes all logs.
func (u pendingLogs) flushAll(read map[string]*store.Collection, logger *slog.Logger) {
	for ns := range u {
		u.flush(ns, read[ns], logger)
	}
}
