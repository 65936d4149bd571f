package mock

import (
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// CatalogSize counts the databases and the tracked collections that a router
// knows.
func (c *Cluster) CatalogSize() (databases, collections int64) {
	return c.Config(configDatabases).Count(), int64(len(c.tables))
}

// TopologyTime is when the cluster's shards changed last.
func (c *Cluster) TopologyTime() bson.Timestamp {
	var newest bson.Timestamp
	note := func(raw bson.Raw, field string) {
		t, i, ok := raw.Lookup(field).TimestampOK()
		if at := (bson.Timestamp{T: t, I: i}); ok && at.After(newest) {
			newest = at
		}
	}
	for _, raw := range c.Config(configShards).Scan() {
		note(raw, "topologyTime")
	}
	if raw, ok := c.configDoc(configRemovals, lastRemoval); ok {
		note(raw, "timestamp")
	}
	return newest
}

// ShardIDs lists the shards in the order of their ids.
func (c *Cluster) ShardIDs() []catalog.ShardID { return c.shardIDs() }

// CountViews counts the views of a database.
func (c *Cluster) CountViews(db string) int64 {
	n := int64(0)
	for ns := range c.views {
		if databaseOf(ns) == db {
			n++
		}
	}
	return n
}

// Started is when the cluster began, in its own time.
func (c *Cluster) Started() time.Time { return c.started }

// DatabaseNames lists the databases that the catalog knows, and those of the
// config server, by name.
func (c *Cluster) DatabaseNames() []string {
	names := []string{"admin", "config"}
	for _, raw := range c.Config(configDatabases).Scan() {
		name, _ := raw.Lookup("_id").StringValueOK()
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
