package mock

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
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
		_, err := c.config.modify(configShards, string(id), func(doc *bson.D) {
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

// ShardAddress is where a shard is: the members of a replica set, or a single
// host without one.
type ShardAddress struct{ set, hosts string }

// ParseShardAddress reads "rs/host:port,…" or "host:port"; 9 for what is neither.
func ParseShardAddress(text string) (ShardAddress, error) {
	set, hosts, named := strings.Cut(text, "/")
	if !named {
		set, hosts = "", text
	}
	wrong := named && set == "" || !named && strings.Contains(hosts, ",")
	for host := range strings.SplitSeq(hosts, ",") {
		wrong = wrong || !validHost(host)
	}
	if wrong {
		return ShardAddress{}, mongoerr.New(mongoerr.FailedToParse, "%q is no connection string of a shard", text)
	}
	return ShardAddress{set, hosts}, nil
}

// validHost tells whether a text is a host, by name or by address ("[::1]"), with
// or without a port.
func validHost(text string) bool {
	if strings.HasPrefix(text, "[") {
		address, rest, closed := strings.Cut(text, "]")
		if !closed || len(address) == 1 || rest != "" && rest[0] != ':' {
			return false
		}
		text = "address" + rest
	}
	name, port, hasPort := strings.Cut(text, ":")
	n, err := strconv.Atoi(port)
	return name != "" && (!hasPort || err == nil && n >= 1 && n <= math.MaxUint16)
}

// HostOf is a shard's connection string.
func (c *Cluster) HostOf(id catalog.ShardID) string { return c.hostOf(id) }

// HostsOf are the connection strings of the shards that hold a collection.
func (st Statistics) HostsOf(ns string) []string {
	var hosts []string
	for _, id := range st.holders(ns) {
		hosts = append(hosts, st.c.hostOf(id))
	}
	return hosts
}

// IndexEntries is a collection's UUID on a shard, and how many keys each index has
// there.
func (st Statistics) IndexEntries(ns string, id catalog.ShardID) (uuid bson.Binary, entries map[string]int64) {
	if l := st.c.member(id, ns); l != nil {
		return l.uuid, l.docs.IndexEntries()
	}
	if docs := st.c.config.collections[ns]; docs != nil {
		return st.c.config.uuid(ns), docs.IndexEntries()
	}
	return st.c.config.uuid(ns), nil
}
