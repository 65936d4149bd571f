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

// Sizes of the capped logs, in bytes: the reported ones (rules/03-catalog-and-keys §3)
// and the actual limits. They are smaller, as the logs are kept in memory; 16 MiB are
// some ten thousand migrations.
const (
	changelogBytes = 200 << 20
	actionlogBytes = 20 << 20
	changelogKept  = 16 << 20
	actionlogKept  = 2 << 20
)

// maxPlacements is how many rows config.placementHistory may have until those
// go that is not needed: a server, too, keeps them only as long as its oplog.
const maxPlacements = 4000

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

	// changelogLimit and actions are the limits of each log in bytes, placements is the limit in
	// rows.
	changelogLimit, actionlogLimit, placementLimit int64
	// neededPlacements is the number of rows that must be kept even beyond that limit.
	neededPlacements int64
	scratch          []byte // for details
	// idPrefix begins the _id of entries at the time stamped.
	idPrefix     []byte
	idPrefixTime time.Time
}

// writeChange writes an entry of config.changelog.
func (cl *changeLog) writeChange(by catalog.ShardID, what, ns string, details bson.D) {
	raw, err := document.Encode(details)
	cl.append("config."+configChangelog, cl.changelogLimit, logEntry{by, what, ns, raw, err})
}

// writeChangeEncoded is change with details that are encoded, and not kept.
func (cl *changeLog) writeChangeEncoded(by catalog.ShardID, what, ns string, details bson.Raw) {
	cl.append("config."+configChangelog, cl.changelogLimit, logEntry{by: by, what: what, ns: ns, details: details})
}

// WriteAction writes an entry of config.actionlog.
func (cl *changeLog) WriteAction(what string, details bson.D) {
	raw, err := document.Encode(details)
	cl.append("config."+configActionlog, cl.actionlogLimit, logEntry{configShard, what, "", raw, err})
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
	if err := cl.faults.checkReachable(e.by, configShard); err != nil {
		cl.logger.Warn("log entry not written", "log", log, "what", e.what, "error", err)
		return
	}
	now := cl.clock.Now()
	if now != cl.idPrefixTime {
		cl.idPrefix = now.In(cl.location).
			AppendFormat(append(cl.idPrefix[:0], hostName+"-"...), cl.release.LogTimeFormat()+"-")
		cl.idPrefixTime = now
		cl.idPrefix = slices.Grow(cl.idPrefix, hex.EncodedLen(len(bson.ObjectID{}))) // so that ids take no memory
	}
	number := cl.ids.NewObjectID()
	id := hex.AppendEncode(cl.idPrefix, number[:])
	if e.err != nil {
		cl.logger.Warn("log entry not written", "log", log, "what", e.what, "error", e.err)
		return
	}
	if cl.config.pendingLogs[log] == nil {
		cl.config.ensureCollection(log) // it is listed from now on
	}
	cl.config.pendingLogs.add(log, limit, e, id, now, cl.config.collections[log])
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

// writePlacement records which shards have data of a namespace from now on
// (rules/03-catalog-and-keys §3.10).
func (cl *changeLog) writePlacement(ns string, uuid *bson.Binary, at bson.Timestamp, shards []catalog.ShardID) {
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
	if rows.Count() > max(cl.placementLimit, cl.neededPlacements) {
		cl.neededPlacements = rows.Count()
		cl.prunePlacements(rows)
		cl.neededPlacements = rows.Count() * 3 / 2 // what all namespaces need is not looked at again for each
	}
}

// prunePlacements drops the older half of the rows, but for the newest of each
// namespace that is somewhere, and notes since when the rest is complete.
func (cl *changeLog) prunePlacements(rows *store.Collection) {
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
		cl.writePlacement("", nil, since, nil)
	}
}

// emptyArray is the length of an array without elements, in bytes.
const emptyArray = 5
