package mock

import (
	"fmt"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// ListenAt tells where shards, and the config server, listen: host:port by id.
// They are found there from now on, also when the state is replaced by another
// with such shards. Each keeps the name of its replica set. It takes the lock.
func (c *Cluster) ListenAt(addresses map[catalog.ShardID]string) error {
	c.Lock()
	defer c.Unlock()
	c.addresses = addresses
	return c.takeAddresses()
}

// takeAddresses writes the addresses into config.shards.
func (c *Cluster) takeAddresses() error {
	if at, ok := c.addresses[configShard]; ok {
		c.configHost = at
	}
	for id, at := range c.addresses {
		_, err := c.configModify(configShards, string(id), func(doc *bson.D) {
			for i, e := range *doc {
				if host, isText := e.Value.(string); e.Key == "host" && isText {
					set, _, _ := strings.Cut(host, "/")
					(*doc)[i].Value = set + "/" + at
				}
			}
		})
		if err != nil {
			return fmt.Errorf("address of shard %s: %w", id, err)
		}
	}
	return nil
}
