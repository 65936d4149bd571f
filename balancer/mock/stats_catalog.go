package mock

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// Size counts the databases and the tracked collections that a router
// knows.
func (cfg *ConfigDB) Size() (databases, collections int64) {
	return cfg.Collection(configDatabases).Count(), int64(len(cfg.tables))
}

// TopologyTime is when the cluster's shards changed last.
func (cfg *ConfigDB) TopologyTime() bson.Timestamp {
	var newest bson.Timestamp
	note := func(raw bson.Raw, field string) {
		t, i, ok := raw.Lookup(field).TimestampOK()
		if at := (bson.Timestamp{T: t, I: i}); ok && at.After(newest) {
			newest = at
		}
	}
	for _, raw := range cfg.Collection(configShards).Scan() {
		note(raw, "topologyTime")
	}
	if raw, ok := cfg.doc(configRemovals, lastRemoval); ok {
		note(raw, "timestamp")
	}
	return newest
}

// ShardIDs lists the shards in the order of their ids.
func (c *Cluster) ShardIDs() []catalog.ShardID { return c.shardIDs() }

// CountViews counts the views of a database.
func (st Statistics) CountViews(db string) int64 {
	n := int64(0)
	for ns := range st.c.collections.views {
		if databaseOf(ns) == db {
			n++
		}
	}
	return n
}

// Started is when the cluster began, in its own time.
func (k *clock) Started() time.Time { return k.started }

// DatabaseNames lists the databases that the catalog knows, and those of the
// config server, by name.
func (cfg *ConfigDB) DatabaseNames() []string {
	names := []string{"admin", "config"}
	for _, raw := range cfg.Collection(configDatabases).Scan() {
		name, _ := raw.Lookup("_id").StringValueOK()
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
