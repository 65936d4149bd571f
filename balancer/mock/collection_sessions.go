package mock

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// sessionsNamespace is the one collection of the config database that shards
// hold (spec 03 §3.12).
const sessionsNamespace = "config.system.sessions"

const (
	// sessionsInterval is how often the config server looks after it
	// (logicalSessionRefreshMillis).
	sessionsInterval = 5 * time.Minute
	// sessionsChunkBytes is its chunk size.
	sessionsChunkBytes = 200_000
	// sessionsTTL is when a session that nobody uses is deleted, in seconds.
	sessionsTTL = 1800
)

// holds tells whether the config server holds a collection. Only the
// sessions are of its databases and on the shards.
func (cfg *ConfigDB) holds(ns string) bool {
	return onConfigServer(databaseOf(ns)) && cfg.tables[ns] == nil
}

// watchSessions makes the collection of the sessions at the next look, as soon
// as there is a shard for it.
func (cs *Collections) watchSessions() {
	if err := cs.CreateSessions(); err != nil {
		cs.c.logger.Warn("config.system.sessions not made", "error", err)
	}
	if cs.c.config.tables[sessionsNamespace] == nil {
		cs.c.after(sessionsInterval, cs.watchSessions)
	}
}

// CreateSessions makes the collection of the sessions, sharded by _id, with one
// chunk on the first shard. That it is there already is no error.
func (cs *Collections) CreateSessions() error {
	ids := slices.DeleteFunc(cs.c.shardIDs(), func(id catalog.ShardID) bool {
		s, err := cs.c.config.ShardByID(string(id))
		return err != nil || s.Draining
	})
	if cs.c.config.tables[sessionsNamespace] != nil || len(ids) == 0 {
		return nil
	}
	pattern, err := byID()
	if err != nil {
		return err
	}
	local := newLocal(cs.c.NewUUID(), nil, sessionsNamespace)
	ttl, err := bson.Marshal(bson.D{{Key: "expireAfterSeconds", Value: int32(sessionsTTL)}})
	if err != nil {
		return err
	}
	index := configIndex("lsidTTLIndex", false, "lastUse")
	index.Options = ttl
	if err := local.docs.CreateIndex(index); err != nil {
		return err
	}
	at, epoch := cs.c.Tick(), cs.c.NewObjectID()
	table, err := cs.c.config.tableOf(pattern, []catalog.Chunk{{Min: pattern.GlobalMin(), Max: pattern.GlobalMax(), Shard: ids[0]}}, epoch, at)
	if err != nil {
		return err
	}
	cs.c.log.change(ids[0], "shardCollection.start", sessionsNamespace, startedDetails(sessionsNamespace, pattern, ids[0]))
	if err := cs.c.config.enter(ShardRequest{Namespace: sessionsNamespace}, pattern, local.uuid, epoch, at); err != nil {
		return err
	}
	if _, err := cs.c.config.modify(configCollections, sessionsNamespace, func(doc *bson.D) { set(doc, "maxChunkSizeBytes", int64(sessionsChunkBytes)) }); err != nil {
		return err
	}
	cs.c.shards[ids[0]].colls[sessionsNamespace] = local
	cs.c.config.tables[sessionsNamespace] = table
	cs.c.log.placement(sessionsNamespace, &local.uuid, at, table.Owners())
	cs.c.log.change(ids[0], "shardCollection.end", sessionsNamespace, shardedDetails(local.uuid, table, true))
	return nil
}
