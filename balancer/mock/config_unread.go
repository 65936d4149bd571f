package mock

import (
	"log/slog"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/mock/store"
)

// unread are the newest entries of a log: documents that become those of its
// collection when somebody looks at that. A busy cluster drops nearly all of them
// before. Rooms that lie beyond the limit go when a new one is needed, and the rest that
// does before somebody looks.
type unread struct {
	limit int64 // bytes of the log that are kept
	// rooms have the documents one after the other. The oldest one begins at begin in
	// the first room; spare are rooms of roomBytes whose documents are gone.
	rooms, spare [][]byte
	begin        int
	bytes        int64
}

// The room for unread documents comes in pieces of roomBytes: small ones, as each stays
// until the last document in it goes. An entry takes entryBytes at most besides its
// texts and details.
const (
	roomBytes  = 4 << 10
	entryBytes = 200
)

// unreadLogs are the unread entries of logs, by namespace.
type unreadLogs map[string]*unread

// add adds an entry to a log that keeps so many bytes, read entries included.
func (u unreadLogs) add(ns string, limit int64, e logEntry, id []byte, now time.Time, read *store.Collection) {
	q := u[ns]
	if q == nil {
		q = &unread{}
		u[ns] = q
	}
	q.limit = limit
	takes := entryBytes + len(id) + len(e.by) + len(e.what) + len(e.ns) + len(e.details)
	if !q.hasRoom(takes) {
		q.trimRooms(read)
		q.addRoom(takes)
	}
	room := &q.rooms[len(q.rooms)-1]
	start, dst := bsoncore.AppendDocumentStart(*room)
	dst = appendText(dst, "_id", id)
	dst = appendText(dst, "server", hostName)
	dst = appendText(dst, "shard", e.by)
	dst = appendText(dst, "clientAddr", "")
	dst = bsoncore.AppendDateTime(appendHead(dst, bson.TypeDateTime, "time"), now.UnixMilli())
	dst = appendText(dst, "what", e.what)
	dst = appendText(dst, "ns", e.ns)
	dst = appendDocument(dst, "details", e.details)
	q.bytes -= int64(len(*room))
	*room = closeDocument(dst, start)
	q.bytes += int64(len(*room))
}

// appendHead begins a field of an entry. The driver would look for a zero byte in each
// name, which no name that is written here has.
func appendHead(dst []byte, t bson.Type, name string) []byte {
	return append(append(append(dst, byte(t)), name...), 0)
}

func appendText[S ~string | ~[]byte](dst []byte, name string, text S) []byte {
	dst = bsoncore.AppendInt32(appendHead(dst, bson.TypeString, name), int32(len(text)+1))
	return append(append(dst, text...), 0)
}

func appendDocument(dst []byte, name string, doc bson.Raw) []byte {
	return append(appendHead(dst, bson.TypeEmbeddedDocument, name), doc...)
}

// hasRoom reports whether the last room has some for a document of a size.
func (q *unread) hasRoom(takes int) bool {
	n := len(q.rooms)
	return n > 0 && cap(q.rooms[n-1])-len(q.rooms[n-1]) >= takes
}

func (q *unread) addRoom(takes int) {
	if n := len(q.spare); n > 0 && takes <= roomBytes {
		q.rooms, q.spare = append(q.rooms, q.spare[n-1]), q.spare[:n-1]
	} else {
		q.rooms = append(q.rooms, make([]byte, 0, max(roomBytes, takes)))
	}
}

// take takes the oldest document out, which lasts until the next one comes; nil when
// there is none.
func (q *unread) take() bson.Raw {
	if len(q.rooms) == 0 {
		return nil
	}
	first := q.rooms[0][q.begin:]
	size, _, _ := bsoncore.ReadLength(first)
	doc := bson.Raw(first[:size:size])
	q.bytes -= int64(size)
	if q.begin += len(doc); len(doc) == len(first) {
		q.dropRoom()
	}
	return doc
}

// dropRoom takes the first room away, whose documents are gone.
func (q *unread) dropRoom() {
	if cap(q.rooms[0]) == roomBytes {
		q.spare = append(q.spare, q.rooms[0][:0])
	}
	q.rooms[0] = nil
	q.rooms, q.begin = q.rooms[1:], 0
}

// trim drops the oldest entries of a log beyond its limit: read are those that
// somebody has looked at.
func (q *unread) trim(read *store.Collection) {
	q.trimRooms(read)
	for q.bytes > 0 && read.Bytes()+q.bytes > q.limit {
		q.take()
	}
}

// trimRooms is trim but for what lies in one room with entries that stay: nothing is
// read.
func (q *unread) trimRooms(read *store.Collection) {
	for read.Count() > 0 && read.Bytes()+q.bytes > q.limit {
		oldest, _, _ := read.First()
		read.Delete(oldest)
	}
	for len(q.rooms) > 0 {
		left := int64(len(q.rooms[0]) - q.begin)
		if read.Bytes()+q.bytes-left < q.limit {
			return
		}
		q.bytes -= left
		q.dropRoom()
	}
}

// enter puts the entries of a log into its collection.
func (u unreadLogs) enter(ns string, read *store.Collection, logger *slog.Logger) {
	q := u[ns]
	if q == nil {
		return
	}
	delete(u, ns)
	q.trim(read)
	for doc := q.take(); doc != nil; doc = q.take() {
		if _, err := read.Insert(doc); err != nil {
			logger.Warn("log entry not written", "log", ns, "error", err)
		}
	}
}

// enterAll does so for all logs.
func (u unreadLogs) enterAll(read map[string]*store.Collection, logger *slog.Logger) {
	for ns := range u {
		u.enter(ns, read[ns], logger)
	}
}
