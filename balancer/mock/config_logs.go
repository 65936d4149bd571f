package mock

import (
	"encoding/hex"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
)

// Sizes of the capped logs in bytes: the reported sizes (rules/03-catalog-and-keys §3) and the actual
// limits. The limits are smaller because the logs are in memory; 16 MiB are enough for some ten thousand
// migrations.
const (
	changelogReportedBytes = 200 << 20
	actionlogReportedBytes = 20 << 20
	changelogKeptBytes     = 16 << 20
	actionlogKeptBytes     = 2 << 20
)

// maxPlacements is the number of rows of config.placementHistory from which unneeded rows are deleted. A
// server keeps them only as long as its oplog, too.
const maxPlacements = 4000

// hostName is the host in log entries.
const hostName = "mock"

// routerName is the name of the mock's mongos in config.mongos.
const routerName = hostName + ":27017"

// configShard is the shard id in log entries of the config server.
const configShard = catalog.ConfigServerID

// configLogs writes the logs of the config database: config.changelog, config.actionlog and
// config.placementHistory.
type configLogs struct {
	*clusterSettings
	clock  *clock.Clock
	config *ConfigDB
	faults *Faults
	ids    *ids.Source

	// changelogLimitBytes and actionlogLimitBytes are the limits of the logs in bytes,
	// placementLimitRows is a number of rows.
	changelogLimitBytes, actionlogLimitBytes, placementLimitRows int64
	// neededPlacements is the number of rows that must be kept even above that limit.
	neededPlacements int64
	scratch          []byte // buffer for details
	// idPrefix is the beginning of the _id of entries written at idPrefixTime.
	idPrefix     []byte
	idPrefixTime time.Time
}

// writeChange writes an entry of config.changelog.
func (cl *configLogs) writeChange(by catalog.ShardID, what, ns string, details bson.D) {
	raw, err := document.Encode(details)
	cl.append("config."+configChangelog, cl.changelogLimitBytes, logEntry{by, what, ns, raw, err})
}

// writeChangeEncoded is like writeChange, with encoded details that the log does not keep.
func (cl *configLogs) writeChangeEncoded(by catalog.ShardID, what, ns string, details bson.Raw) {
	cl.append("config."+configChangelog, cl.changelogLimitBytes, logEntry{by: by, what: what, ns: ns, details: details})
}

// WriteAction writes an entry of config.actionlog.
func (cl *configLogs) WriteAction(what string, details bson.D) {
	raw, err := document.Encode(details)
	cl.append("config."+configActionlog, cl.actionlogLimitBytes, logEntry{configShard, what, "", raw, err})
}

// logEntry is the content of a log entry; err is the error of encoding the details.
type logEntry struct {
	by       catalog.ShardID
	what, ns string
	details  bson.Raw
	err      error
}

// append adds an entry in the format of rules/03-catalog-and-keys §3.7 to a log that is limited to limit
// bytes. Like the server, it logs a failure as a warning.
func (cl *configLogs) append(log string, limit int64, e logEntry) {
	if err := cl.faults.checkReachable(e.by, configShard); err != nil {
		cl.logger.Warn("log entry not written", "log", log, "what", e.what, "error", err)
		return
	}
	now := cl.clock.Now()
	if now != cl.idPrefixTime {
		cl.idPrefix = now.In(cl.location).
			AppendFormat(append(cl.idPrefix[:0], hostName+"-"...), cl.release.LogTimeFormat()+"-")
		cl.idPrefixTime = now
		cl.idPrefix = slices.Grow(cl.idPrefix, hex.EncodedLen(len(bson.ObjectID{}))) // avoids an allocation per id
	}
	number := cl.ids.NewObjectID()
	id := hex.AppendEncode(cl.idPrefix, number[:])
	if e.err != nil {
		cl.logger.Warn("log entry not written", "log", log, "what", e.what, "error", e.err)
		return
	}
	if cl.config.pendingLogs[log] == nil {
		cl.config.ensureCollection(log) // lists the log from now on
	}
	cl.config.pendingLogs.add(log, limit, e, id, now, cl.config.collections[log])
}

// versionDoc returns a version in the format of log entries and replies between shards: epoch,
// timestamp, version.
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

// writePlacement records which shards have data of a namespace from now on (rules/03-catalog-and-keys
// §3.10).
func (cl *configLogs) writePlacement(ns string, uuid *bson.Binary, at bson.Timestamp, shards []catalog.ShardID) {
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
	if rows.Count() > max(cl.placementLimitRows, cl.neededPlacements) {
		cl.neededPlacements = rows.Count()
		cl.prunePlacements(rows)
		cl.neededPlacements = rows.Count() * 3 / 2 // avoids a search on every write
	}
}

// prunePlacements deletes the older half of the rows, except the newest row of each namespace that is
// still on a shard. It records the time from which on the remaining rows are complete.
func (cl *configLogs) prunePlacements(rows *store.Collection) {
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
		if shards, _ := row.Lookup("shards").ArrayOK(); len(shards) <= emptyArrayBytes {
			rows.Delete(record)
			delete(old, ns)
		}
	}
	if marker != 0 {
		rows.Delete(marker)
		cl.writePlacement("", nil, since, nil)
	}
}

// emptyArrayBytes is the size of an empty array in bytes.
const emptyArrayBytes = 5
