package mock

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/ids"
)

// Addresses are the connection strings of the config server and the shards.
type Addresses struct {
	config     *ConfigDB
	shards     shardSet
	configHost string
	// listenAddresses holds the listen addresses of members that listen.
	listenAddresses map[catalog.ShardID]string
}

// DefaultConfigServer is the default address of the config server's only member.
const DefaultConfigServer = mockHostname + ":27019"

// ConfigServer returns the config server's connection string.
func (a *Addresses) ConfigServer() string { return "cfg/" + a.configHost }

// FirstMember returns the host:port of a shard's first member.
func (a *Addresses) FirstMember(id catalog.ShardID) string { return firstMember(a.HostOf(id)) }

// HostOf returns a shard's connection string.
func (a *Addresses) HostOf(id catalog.ShardID) string {
	if id == configShard && a.shards[id] == nil {
		return a.ConfigServer()
	}
	shard, err := a.config.ShardByID(string(id))
	if err != nil {
		return ""
	}
	return shard.Host
}

func firstMember(host string) string {
	_, members, _ := strings.Cut(host, "/")
	first, _, _ := strings.Cut(members, ",")
	return first
}

// SetListenAddresses sets the listen addresses (host:port) of shards and the config server by id. The
// addresses stay in effect when the state is replaced by one with the same shards. The names of the
// replica sets do not change. It takes the lock.
func (c *Cluster) SetListenAddresses(addresses map[catalog.ShardID]string) error {
	c.clock.Lock()
	defer c.clock.Unlock()
	c.addresses.listenAddresses = addresses
	return c.addresses.writeToConfig()
}

// Addresses returns the Addresses of the cluster.
func (c *Cluster) Addresses() *Addresses { return c.addresses }

// writeToConfig writes the addresses to config.shards.
func (a *Addresses) writeToConfig() error {
	if at, ok := a.listenAddresses[configShard]; ok {
		a.configHost = at
	}
	for id, at := range a.listenAddresses {
		_, err := a.config.modify(configShards, string(id), func(doc *bson.D) {
			for i, e := range *doc {
				if host, isText := e.Value.(string); e.Key == "host" && isText {
					set := replicaSetName(host)
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

// mockHostname is the host of members that do not listen, and of the mongos of an in-process mock. The
// name does not resolve, so that a client that tries to connect to a shard does not reach another
// server. firstPort is the port of the first shard.
const (
	mockHostname = "mock"
	firstPort    = 27020
)

// hosts is the set of connection strings in use, by set name and by member.
type hosts struct{ sets, members map[string]string }

func newHosts(taken ...string) *hosts {
	h := &hosts{sets: map[string]string{}, members: map[string]string{}}
	for _, host := range taken {
		h.reserve(host)
	}
	return h
}

// reserve adds a connection string. It returns an earlier one that has the same set name or a member in
// common.
func (h *hosts) reserve(host string) (other string, taken bool) {
	set, members, named := strings.Cut(host, "/")
	if !named {
		set, members = "", host
	}
	if set != "" {
		other, taken = h.sets[set]
		h.sets[set] = host
	}
	for m := range strings.SplitSeq(members, ",") {
		if before, same := h.members[m]; same {
			other, taken = before, true
		}
		h.members[m] = host
	}
	return other, taken
}

// generate returns an unused host, the n-th if it is unused.
func (h *hosts) generate(n int) string {
	set, member := "", ""
	for i := n; set == "" || member == ""; i++ {
		if name := fmt.Sprintf("rs%d", i); set == "" && h.sets[name] == "" {
			set = name
		}
		if at := fmt.Sprintf("%s:%d", mockHostname, firstPort+i); member == "" && h.members[at] == "" {
			member = at
		}
	}
	host := set + "/" + member
	h.reserve(host)
	return host
}

// replicaSetName returns the set name in a connection string.
func replicaSetName(host string) string {
	set, _, _ := strings.Cut(host, "/")
	return set
}

// MachineIDs are the machine numbers that nodes use in their ObjectIds.
type MachineIDs struct {
	ids       *ids.Source
	config    *ConfigDB
	shards    shardSet
	addresses *Addresses
}

// MachineIDs returns the MachineIDs of the cluster.
func (c *Cluster) MachineIDs() *MachineIDs { return c.machineIDs }

// IDOf returns the machine number that a node uses in its ObjectIds. The balancer requires different
// numbers for all shards (rules/01-rounds-and-settings §1.4).
func (m *MachineIDs) IDOf(id catalog.ShardID) int32 {
	if s := m.shards[id]; s != nil && s.machineID != 0 {
		return s.machineID
	}
	hash := fnv.New32a() // derived from the address
	hash.Write([]byte(cmp.Or(firstMember(m.addresses.HostOf(id)), string(id))))
	return int32(hash.Sum32() >> 8)
}

// Reset generates a new number for a shard.
func (m *MachineIDs) Reset(id catalog.ShardID) {
	if s := m.shards[id]; s != nil {
		m.set(s, m.ids.NewMachineID())
	}
}

// Share sets the number of a shard to that of another one. The balancer's next round fails and resets
// the number.
func (m *MachineIDs) Share(from, to string) error {
	first, err := m.config.ShardByID(from)
	if err != nil {
		return err
	}
	second, err := m.config.ShardByID(to)
	if err != nil {
		return err
	}
	m.set(m.shards[second.ID], m.IDOf(first.ID))
	return nil
}

func (m *MachineIDs) set(s *shard, number int32) {
	s.machineID = number
	m.config.entries.shards.machineIDsDiffer = false
}
