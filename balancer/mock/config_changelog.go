package mock

import (
	"encoding/hex"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
)

// Sizes of the capped logs, in bytes: those that they are said to have (rules/03-catalog-and-keys §3),
// and those that they have. A server has them on its disk; here they lie in memory, and 16 MiB are
// some ten thousand migrations.
const (
	changelogBytes = 200 << 20
	actionlogBytes = 20 << 20
	changelogKept  = 16 << 20
	actionlogKept  = 2 << 20
)

// mostPlacements is how many rows config.placementHistory may have until those
// go that is not needed: a server, too, keeps them only as long as its oplog.
const mostPlacements = 4000

// hostName is the host that log entries name.
const hostName = "mock"

// routerName is the mock's mongos in config.mongos.
const routerName = hostName + ":27017"

// configShard is the name config server entries carry as their shard.
const configShard catalog.ShardID = "config"

// changeLog writes what the cluster did into the logs of the config database:
// config.changelog, config.actionlog and config.placementHistory.
type changeLog struct {
	*setup
	clock  *clock.Clock
	config *ConfigDB
	faults *Faults
	ids    *ids.Source

	// changes and actions are how many bytes of each log are kept, placements how
	// many rows.
	changes, actions, placements int64
	// needed is how many rows of placements may be there though that is more.
	needed  int64
	scratch []byte // for details
	// stamp begins the _id of entries at the time stamped.
	stamp   []byte
	stamped time.Time
}

// change writes an entry of config.changelog.
func (cl *changeLog) change(by catalog.ShardID, what, ns string, details bson.D) {
	raw, err := document.Encode(details)
	cl.append("config."+configChangelog, cl.changes, logEntry{by, what, ns, raw, err})
}

// changeEncoded is change with details that are encoded, and not kept.
func (cl *changeLog) changeEncoded(by catalog.ShardID, what, ns string, details bson.Raw) {
	cl.append("config."+configChangelog, cl.changes, logEntry{by: by, what: what, ns: ns, details: details})
}

// Action writes an entry of config.actionlog.
func (cl *changeLog) Action(what string, details bson.D) {
	raw, err := document.Encode(details)
	cl.append("config."+configActionlog, cl.actions, logEntry{configShard, what, "", raw, err})
}

// logEntry is what an entry of a log tells; err is that of its details.
type logEntry struct {
	by       catalog.ShardID
	what, ns string
	details  bson.Raw
	err      error
}

// append adds an entry in the form of rules/03-catalog-and-keys §3.7 to a log that keeps so many
// bytes. A failure to write is a warning, as on the server.
func (cl *changeLog) append(log string, limit int64, e logEntry) {
	if err := cl.faults.reach(e.by, configShard); err != nil {
		cl.logger.Warn("log entry not written", "log", log, "what", e.what, "error", err)
		return
	}
	now := cl.clock.Now()
	if now != cl.stamped {
		cl.stamp = now.In(cl.zone).AppendFormat(append(cl.stamp[:0], hostName+"-"...), cl.release.LogTimeFormat()+"-")
		cl.stamped = now
		cl.stamp = slices.Grow(cl.stamp, hex.EncodedLen(len(bson.ObjectID{}))) // so that ids take no memory
	}
	number := cl.ids.NewObjectID()
	id := hex.AppendEncode(cl.stamp, number[:])
	if e.err != nil {
		cl.logger.Warn("log entry not written", "log", log, "what", e.what, "error", e.err)
		return
	}
	cl.config.queue(log, limit, e, id, now)
}

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

// queue adds an entry to a log that keeps so many bytes.
func (cfg *ConfigDB) queue(ns string, limit int64, e logEntry, id []byte, now time.Time) {
	q := cfg.unread[ns]
	if q == nil {
		cfg.data(ns) // it is listed from now on
		q = &unread{}
		cfg.unread[ns] = q
	}
	q.limit = limit
	takes := entryBytes + len(id) + len(e.by) + len(e.what) + len(e.ns) + len(e.details)
	if !q.hasRoom(takes) {
		q.trimRooms(cfg.collections[ns])
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

// enterUnread puts the entries of a log that was not read into its
// collection.
func (cfg *ConfigDB) enterUnread(ns string) {
	q := cfg.unread[ns]
	if q == nil {
		return
	}
	delete(cfg.unread, ns)
	q.trim(cfg.collections[ns])
	for doc := q.take(); doc != nil; doc = q.take() {
		if _, err := cfg.collections[ns].Insert(doc); err != nil {
			cfg.logger.Warn("log entry not written", "log", ns, "error", err)
		}
	}
}

// enterAllUnread does so for all logs.
func (cfg *ConfigDB) enterAllUnread() {
	for ns := range cfg.unread {
		cfg.enterUnread(ns)
	}
}

// versionDoc returns a version as log entries and replies between shards show
// it: epoch, timestamp, version.
func versionDoc(t *catalog.RoutingTable, v catalog.ChunkVersion) bson.D {
	return catalog.Version{Epoch: t.Epoch(), Timestamp: t.Timestamp(), ChunkVersion: v}.Doc()
}

func chunkDoc(t *catalog.RoutingTable, chunk catalog.Chunk, v catalog.ChunkVersion) bson.D {
	return bson.D{
		{Key: "min", Value: t.Pattern().Bound(chunk.Min)},
		{Key: "max", Value: t.Pattern().Bound(chunk.Max)},
		{Key: "lastmod", Value: versionDoc(t, v)},
	}
}

// placement records which shards have data of a namespace from now on
// (rules/03-catalog-and-keys §3.10).
func (cl *changeLog) placement(ns string, uuid *bson.Binary, at bson.Timestamp, shards []catalog.ShardID) {
	doc := bson.D{{Key: "_id", Value: cl.ids.NewObjectID()}, {Key: "nss", Value: ns}}
	if uuid != nil {
		doc = append(doc, bson.E{Key: "uuid", Value: *uuid})
	}
	names := bson.A{}
	for _, s := range shards {
		names = append(names, string(s))
	}
	doc = append(doc, bson.E{Key: "timestamp", Value: at}, bson.E{Key: "shards", Value: names})
	if err := cl.config.insert(configPlacement, doc); err != nil {
		cl.logger.Warn("placement not written", "ns", ns, "error", err)
	}
	rows := cl.config.Collection(configPlacement)
	if rows.Count() > max(cl.placements, cl.needed) {
		cl.needed = rows.Count()
		cl.forgetPlacements(rows)
		cl.needed = rows.Count() * 3 / 2 // what all namespaces need is not looked at again for each
	}
}

// forgetPlacements drops the older half of the rows, but for the newest of each
// namespace that is somewhere, and notes since when the rest is complete.
func (cl *changeLog) forgetPlacements(rows *store.Collection) {
	old, n, half := map[string]store.RecordID{}, int64(0), rows.Count()/2
	var marker store.RecordID
	var since bson.Timestamp
	for record, row := range rows.Scan() {
		ns, _ := row.Lookup("nss").StringValueOK()
		if ns == "" {
			marker = record
			continue
		}
		if n++; n > half {
			break
		}
		if before, known := old[ns]; known {
			rows.Delete(before)
		}
		old[ns] = record
		since.T, since.I, _ = row.Lookup("timestamp").TimestampOK()
		if shards, _ := row.Lookup("shards").ArrayOK(); len(shards) <= emptyArray {
			rows.Delete(record)
			delete(old, ns)
		}
	}
	if marker != 0 {
		rows.Delete(marker)
		cl.placement("", nil, since, nil)
	}
}

// emptyArray is the length of an array without elements, in bytes.
const emptyArray = 5
