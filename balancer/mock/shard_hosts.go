package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// HostOf is a shard's connection string.
func (c *Cluster) HostOf(id catalog.ShardID) string { return c.hostOf(id) }

// HostsOf are the connection strings of the shards that hold a collection.
func (c *Cluster) HostsOf(ns string) []string {
	var hosts []string
	for _, id := range c.holders(ns) {
		hosts = append(hosts, c.hostOf(id))
	}
	return hosts
}

// Held is a collection's UUID on a shard, and how many keys each index has
// there.
func (c *Cluster) Held(ns string, id catalog.ShardID) (uuid bson.Binary, entries map[string]int64) {
	if l := c.member(id, ns); l != nil {
		return l.uuid, l.docs.IndexEntries()
	}
	if docs := c.config[ns]; docs != nil {
		return c.configUUID(ns), docs.IndexEntries()
	}
	return c.configUUID(ns), nil
}
