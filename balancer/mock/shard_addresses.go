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
	// listenAddresses are where members listen, as far as they do.
	listenAddresses map[catalog.ShardID]string
}

// DefaultConfigServer is the config server's only member, as long as it does not
// listen.
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

// SetListenAddresses tells where shards, and the config server, listen: host:port by id.
// They are found there from now on, also when the state is replaced by another
// with such shards. Each keeps the name of its replica set. It takes the lock.
func (c *Cluster) SetListenAddresses(addresses map[catalog.ShardID]string) error {
	c.clock.Lock()
	defer c.clock.Unlock()
	c.addresses.listenAddresses = addresses
	return c.addresses.writeToConfig()
}

// Addresses returns the connection strings.
func (c *Cluster) Addresses() *Addresses { return c.addresses }

// writeToConfig writes the addresses into config.shards.
func (a *Addresses) writeToConfig() error {
	if at, ok := a.listenAddresses[configShard]; ok {
		a.configHost = at
	}
	for id, at := range a.listenAddresses {
		_, err := a.config.modify(configShards, string(id), func(doc *bson.D) {
			for i, e := range *doc {
				if host, isText := e.Value.(string); e.Key == "host" && isText {
					set := setName(host)
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

// mockHostname is the machine of the members that listen nowhere, and of the mongos of
// a mock in this process: a name that does not resolve, so that a client that looks for a shard
// there does not find another server. firstPort is the port of the first shard.
const (
	mockHostname = "mock"
	firstPort    = 27020
)

// hosts is a set of connection strings in use, by the names of their sets and by
// their members.
type hosts struct{ sets, members map[string]string }

func newHosts(taken ...string) *hosts {
	h := &hosts{sets: map[string]string{}, members: map[string]string{}}
	for _, host := range taken {
		h.reserve(host)
	}
	return h
}

// reserve notes a connection string, and returns the one before it that has the
// same set or a member of it.
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

// generate returns a host that is not taken, the n-th if it is free.
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

// setName returns the name of the set in a connection string.
func setName(host string) string {
	set, _, _ := strings.Cut(host, "/")
	return set
}

// MachineIDs are the numbers that nodes put into the ObjectIds they make.
type MachineIDs struct {
	ids       *ids.Source
	config    *ConfigDB
	shards    shardSet
	addresses *Addresses
}

// MachineIDs returns those of the cluster's nodes.
func (c *Cluster) MachineIDs() *MachineIDs { return c.machineIDs }

// IDOf returns the number that a node puts into the ObjectIds it makes; a
// balancer wants each shard to have its own (rules/01-rounds-and-settings §1.4).
func (m *MachineIDs) IDOf(id catalog.ShardID) int32 {
	if s := m.shards[id]; s != nil && s.machineID != 0 {
		return s.machineID
	}
	hash := fnv.New32a() // by its address
	hash.Write([]byte(cmp.Or(firstMember(m.addresses.HostOf(id)), string(id))))
	return int32(hash.Sum32() >> 8)
}

// Reset lets a shard draw another number.
func (m *MachineIDs) Reset(id catalog.ShardID) {
	if s := m.shards[id]; s != nil {
		m.set(s, m.ids.NewMachineID())
	}
}

// Share gives a shard the number of another one. They differ again
// after the balancer's next round, which fails.
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
