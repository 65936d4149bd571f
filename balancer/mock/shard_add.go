package mock

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mongoerr"
)

// ShardMembership adds shards to the cluster and removes them.
type ShardMembership struct {
	*clusterSettings
	addresses         *Addresses
	clusterParameters *ClusterParameters
	config            *ConfigDB
	zones             *Zones
	faults            *Faults
	ids               *ids.Source
	log               *configLogs
	reshardings       *Reshardings
	shards            shardSet

	// removed holds the removed shards by address.
	removed map[string]*shard
	// hadTwoShards reports whether the cluster has ever had two shards.
	hadTwoShards bool
}

// ShardMembership returns the Membership of the cluster.
func (c *Cluster) ShardMembership() *ShardMembership { return c.membership }

// Add adds a shard and returns its id. If name is empty, it chooses a name.
func (m *ShardMembership) Add(at ShardAddress, name string) (catalog.ShardID, error) {
	set, hosts := at.set, at.hosts
	known, err := m.findExisting(at, name)
	if known != "" || err != nil {
		return known, err
	}
	if hasCommonMember(m.addresses.ConfigServer(), hosts) {
		return "", mongoerr.New(mongoerr.OperationFailed,
			"Cannot add %s as a shard since it is a config server", at)
	}
	if name == "" {
		if name = set; name == "" {
			if name = m.freeName(); len(name) > len("shard9999") {
				return "", mongoerr.New(mongoerr.OperationFailed, "unable to generate a new shard name")
			}
		}
	}
	if name == string(configShard) {
		return "", mongoerr.New(mongoerr.BadValue, "use of shard replica set with name 'config' is not allowed")
	}
	address := cmp.Or(set, name) + "/" + hosts
	s := newShard(catalog.ShardID(name))
	if old := m.removed[address]; old != nil {
		if err := m.checkReturning(old); err != nil {
			return "", err
		}
		delete(m.removed, address)
	}
	err = m.config.insert(configShards, m.config.newShardEntry(name, address, m.ids.Tick()))
	if err != nil {
		return "", err
	}
	m.shards[s.id] = s
	m.updateShardCountParameters()
	m.log.writeChange(configShard, "addShard", "", bson.D{{Key: "name", Value: name}, {Key: "host", Value: address}})
	return s.id, nil
}

// findExisting returns the shard that already has the address and the name. It fails with
// IllegalOperation if they match an existing shard only partly.
func (m *ShardMembership) findExisting(at ShardAddress, name string) (catalog.ShardID, error) {
	shards, err := m.config.Shards()
	if err != nil {
		return "", err
	}
	for _, s := range shards {
		theirs := replicaSetName(s.Host)
		common := hasCommonMember(s.Host, at.hosts)
		switch {
		case common && at.set == theirs && (name == "" || name == string(s.ID)):
			return s.ID, nil
		case common || at.set != "" && at.set == theirs || name == string(s.ID):
			return "", mongoerr.New(mongoerr.IllegalOperation, "%s, named %q, is in conflict with shard %s at %s",
				at, name, s.ID, s.Host)
		}
	}
	return "", nil
}

// hasCommonMember reports whether one of the hosts is a member of a set.
func hasCommonMember(address, hosts string) bool {
	return slices.ContainsFunc(strings.Split(hosts, ","), func(h string) bool { return hasMember(address, h) })
}

// freeName returns the next unused name of the form shard0000.
func (m *ShardMembership) freeName() string {
	next := 0
	for id := range m.shards {
		var n int
		if _, err := fmt.Sscanf(string(id), "shard%d", &n); err == nil {
			next = max(next, n+1)
		}
	}
	return fmt.Sprintf("shard%04d", next)
}

// checkReturning rejects a removed shard that still has a database that exists in the cluster.
func (m *ShardMembership) checkReturning(s *shard) error {
	for ns := range s.colls {
		db, _, _ := catalog.SplitNamespace(ns)
		if primary, known := m.config.Primary(db); known {
			return mongoerr.New(mongoerr.OperationFailed, "can't add shard: it holds database %s, which exists on shard %s", db,
				primary)
		}
	}
	return nil
}

// ShardSpec describes an empty shard to add. The default name is the next of shard0, shard1, …; the
// default host is generated.
type ShardSpec struct {
	Name, Host string
	Zones      []string
}

// AddEmpty adds an empty shard and adds it to its zones.
func (m *ShardMembership) AddEmpty(s ShardSpec) (catalog.ShardID, error) {
	if err := m.faults.checkReachable(routerNode, configShard); err != nil {
		return "", err
	}
	for n := 0; s.Name == ""; n++ {
		if name := fmt.Sprintf("shard%d", n); m.shards[catalog.ShardID(name)] == nil {
			s.Name = name
		}
	}
	if s.Host == "" {
		s.Host = m.hosts().generate(0)
	}
	at, err := ParseShardAddress(s.Host)
	if err != nil {
		return "", err
	}
	id, err := m.Add(at, s.Name)
	if err != nil {
		return "", err
	}
	for _, zone := range s.Zones {
		if err := m.zones.AddShard(string(id), zone); err != nil {
			return id, err
		}
	}
	return id, nil
}

// hosts returns the hosts of the shards, of the removed shards and of the config server.
func (m *ShardMembership) hosts() *hosts {
	known := newHosts(m.addresses.ConfigServer())
	for _, id := range m.shards.ids() {
		known.reserve(m.addresses.HostOf(id))
	}
	for address := range m.removed {
		known.reserve(address)
	}
	return known
}

// ShardAddress is the address of a shard: the members of a replica set, or a single host.
type ShardAddress struct{ set, hosts string }

// String returns the address as ParseShardAddress takes it.
func (a ShardAddress) String() string { return strings.TrimPrefix(a.set+"/"+a.hosts, "/") }

// ParseShardAddress parses "rs/host:port,…" or "host:port". It fails with error 9 for other strings.
func ParseShardAddress(text string) (ShardAddress, error) {
	set, hosts, named := strings.Cut(text, "/")
	if !named {
		set, hosts = "", text
	}
	wrong := named && set == "" || !named && strings.Contains(hosts, ",")
	for host := range strings.SplitSeq(hosts, ",") {
		wrong = wrong || !isValidHost(host)
	}
	if wrong {
		return ShardAddress{}, mongoerr.New(mongoerr.FailedToParse, "%q is not a connection string of a shard", text)
	}
	return ShardAddress{set, hosts}, nil
}

// isValidHost reports whether text is a host name or an IP address ("[::1]"), with or without a port.
func isValidHost(text string) bool {
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

// AddConfigShard makes the config server a shard of the cluster (transitionFromDedicatedConfigServer).
// It does nothing if it is a shard.
func (m *ShardMembership) AddConfigShard() error {
	if m.shards[configShard] != nil {
		return nil
	}
	err := m.config.insert(configShards, bson.D{
		{Key: "_id", Value: string(configShard)}, {Key: "host", Value: m.addresses.ConfigServer()},
		{Key: "state", Value: int32(1)},
		{Key: "topologyTime", Value: m.ids.Tick()}, {Key: "replSetConfigVersion", Value: int64(-1)},
	})
	if err != nil {
		return err
	}
	m.shards[configShard] = newShard(configShard)
	m.updateShardCountParameters()
	m.log.writeChange(configShard, "addShard", "", bson.D{{Key: "name", Value: string(configShard)},
		{Key: "host", Value: m.addresses.ConfigServer()}})
	return nil
}
