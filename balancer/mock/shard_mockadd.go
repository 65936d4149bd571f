package mock

import (
	"fmt"
	"strings"

	"shardsh/balancer/catalog"
)

// NewShard is an empty shard to add. Without a name it is the next of shard0,
// shard1, …; without a host it gets one of the mock's making.
type NewShard struct {
	Name, Host string
	Zones      []string
}

// GrowBy adds an empty shard and puts it into its zones.
func (c *Cluster) GrowBy(s NewShard) (catalog.ShardID, error) {
	if err := c.reach(routerNode, configShard); err != nil {
		return "", err
	}
	for n := 0; s.Name == ""; n++ {
		if name := fmt.Sprintf("shard%d", n); c.shards[catalog.ShardID(name)] == nil {
			s.Name = name
		}
	}
	for n := 0; s.Host == ""; n++ {
		if !c.usesPort(firstPort + n) {
			s.Host = fmt.Sprintf("rs%d/127.0.0.1:%d", n, firstPort+n)
		}
	}
	at, err := ParseShardAddress(s.Host)
	if err != nil {
		return "", err
	}
	id, err := c.AddShard(at, s.Name)
	if err != nil {
		return "", err
	}
	for _, zone := range s.Zones {
		if err := c.AddShardToZone(string(id), zone); err != nil {
			return id, err
		}
	}
	return id, nil
}

// usesPort tells whether a shard, or one that was removed, has a host of the
// mock's making.
func (c *Cluster) usesPort(port int) bool {
	member := fmt.Sprintf("127.0.0.1:%d", port)
	for _, id := range c.shardIDs() {
		if hasMember(c.hostOf(id), member) {
			return true
		}
	}
	for address := range c.removed {
		if strings.HasSuffix(address, member) {
			return true
		}
	}
	return false
}
