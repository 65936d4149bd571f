package mock

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Membership adds shards to the cluster and takes them out of it.
type Membership struct {
	c *Cluster

	// removed are former shards by their address.
	removed map[string]*shard
	// hadTwo: the cluster has had two shards once.
	hadTwo bool
}

// Membership is that of the cluster.
func (c *Cluster) Membership() *Membership { return c.membership }

// Add adds a shard and returns its id. An empty name chooses one.
func (mb *Membership) Add(at ShardAddress, name string) (catalog.ShardID, error) {
	set, hosts := at.set, at.hosts
	known, err := mb.known(set, hosts, name)
	if known != "" || err != nil {
		return known, err
	}
	if name == "" {
		if name = set; name == "" {
			if name = mb.freeName(); len(name) > len("shard9999") {
				return "", mongoerr.New(mongoerr.OperationFailed, "unable to generate a new shard name")
			}
		}
	}
	if name == string(configShard) {
		return "", mongoerr.New(mongoerr.BadValue, "use of shard replica set with name 'config' is not allowed")
	}
	address := cmp.Or(set, name) + "/" + hosts
	s := newShard(catalog.ShardID(name))
	if old := mb.removed[address]; old != nil {
		if err := mb.checkReturning(old); err != nil {
			return "", err
		}
		delete(mb.removed, address)
	}
	err = mb.c.config.insert(configShards, mb.c.config.newShardEntry(name, address, mb.c.Tick()))
	if err != nil {
		return "", err
	}
	mb.c.shards[s.id] = s
	mb.noteCount()
	mb.c.log.change(configShard, "addShard", "", bson.D{{Key: "name", Value: name}, {Key: "host", Value: address}})
	return s.id, nil
}

// known finds the shard that an address already is; IllegalOperation
// when it only partly fits.
func (mb *Membership) known(set, hosts, name string) (catalog.ShardID, error) {
	shards, err := mb.c.config.Shards()
	if err != nil {
		return "", err
	}
	for _, s := range shards {
		theirs := setOf(s.Host)
		common := slices.ContainsFunc(strings.Split(hosts, ","), func(h string) bool { return hasMember(s.Host, h) })
		switch {
		case common && (set == "" || set == theirs) && (name == "" || name == string(s.ID)):
			return s.ID, nil
		case common || set != "" && set == theirs || name == string(s.ID):
			return "", mongoerr.New(mongoerr.IllegalOperation, "%s/%s, named %q, is in conflict with shard %s at %s", set, hosts,
				name, s.ID, s.Host)
		}
	}
	return "", nil
}

// freeName returns the next name of the form shard0000.
func (mb *Membership) freeName() string {
	next := 0
	for id := range mb.c.shards {
		var n int
		if _, err := fmt.Sscanf(string(id), "shard%d", &n); err == nil {
			next = max(next, n+1)
		}
	}
	return fmt.Sprintf("shard%04d", next)
}

// checkReturning refuses a former shard that still holds a database the
// cluster has.
func (mb *Membership) checkReturning(s *shard) error {
	for ns := range s.colls {
		db, _, _ := catalog.SplitNamespace(ns)
		if primary, known := mb.c.config.Primary(db); known {
			return mongoerr.New(mongoerr.OperationFailed, "can't add shard: it holds database %s, which exists on shard %s", db,
				primary)
		}
	}
	return nil
}

// NewShard is an empty shard to add. Without a name it is the next of shard0,
// shard1, …; without a host it gets one of the mock's making.
type NewShard struct {
	Name, Host string
	Zones      []string
}

// Grow adds an empty shard and puts it into its zones.
func (mb *Membership) Grow(s NewShard) (catalog.ShardID, error) {
	if err := mb.c.faults.reach(routerNode, configShard); err != nil {
		return "", err
	}
	for n := 0; s.Name == ""; n++ {
		if name := fmt.Sprintf("shard%d", n); mb.c.shards[catalog.ShardID(name)] == nil {
			s.Name = name
		}
	}
	if s.Host == "" {
		s.Host = mb.hosts().makeUp(0)
	}
	at, err := ParseShardAddress(s.Host)
	if err != nil {
		return "", err
	}
	id, err := mb.Add(at, s.Name)
	if err != nil {
		return "", err
	}
	for _, zone := range s.Zones {
		if err := mb.c.config.AddShardToZone(string(id), zone); err != nil {
			return id, err
		}
	}
	return id, nil
}

// hosts returns those of the shards, of the removed ones and of the config
// server.
func (mb *Membership) hosts() *hosts {
	known := newHosts(mb.c.ConfigServer())
	for _, id := range mb.c.ShardIDs() {
		known.take(mb.c.HostOf(id))
	}
	for address := range mb.removed {
		known.take(address)
	}
	return known
}

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
					set := setOf(host)
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

// validHost reports whether a text is a host, by name or by address ("[::1]"), with
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

// HostsOf returns the connection strings of the shards that hold a collection.
func (st Statistics) HostsOf(ns string) []string {
	var hosts []string
	for _, id := range st.holders(ns) {
		hosts = append(hosts, st.c.HostOf(id))
	}
	return hosts
}

// IndexEntries returns a collection's UUID on a shard, and how many keys each
// index has there.
func (st Statistics) IndexEntries(ns string, id catalog.ShardID) (uuid bson.Binary, entries map[string]int64) {
	if l := st.c.member(id, ns); l != nil {
		return l.uuid, l.docs.IndexEntries()
	}
	if docs := st.c.config.held(ns); docs != nil {
		return st.c.config.uuid(ns), docs.IndexEntries()
	}
	return st.c.config.uuid(ns), nil
}

// AddConfigShard makes the config server a shard of the cluster
// (transitionFromDedicatedConfigServer). That it is one already is no error.
func (mb *Membership) AddConfigShard() error {
	if mb.c.shards[configShard] != nil {
		return nil
	}
	err := mb.c.config.insert(configShards, bson.D{
		{Key: "_id", Value: string(configShard)}, {Key: "host", Value: mb.c.ConfigServer()}, {Key: "state", Value: int32(1)},
		{Key: "topologyTime", Value: mb.c.Tick()}, {Key: "replSetConfigVersion", Value: int64(-1)},
	})
	if err != nil {
		return err
	}
	mb.c.shards[configShard] = newShard(configShard)
	mb.noteCount()
	mb.c.log.change(configShard, "addShard", "", bson.D{{Key: "name", Value: string(configShard)},
		{Key: "host", Value: mb.c.ConfigServer()}})
	return nil
}

// MachineID returns the number that a node puts into the ObjectIds it makes; a
// balancer wants each shard to have its own (rules/01-rounds-and-settings §1.4).
func (c *Cluster) MachineID(id catalog.ShardID) int32 {
	if s := c.shards[id]; s != nil && s.machineID != 0 {
		return s.machineID
	}
	hash := fnv.New32a() // by its address
	hash.Write([]byte(cmp.Or(firstMember(c.HostOf(id)), string(id))))
	return int32(hash.Sum32() >> 8)
}

// ResetMachineID lets a shard draw another number.
func (c *Cluster) ResetMachineID(id catalog.ShardID) {
	if s := c.shards[id]; s != nil {
		c.setMachineID(s, int32(c.rand.Uint32()>>8))
	}
}

// ShareMachineID gives a shard the number of another one. They differ again
// after the balancer's next round, which fails.
func (c *Cluster) ShareMachineID(from, to string) error {
	first, err := c.config.ShardByID(from)
	if err != nil {
		return err
	}
	second, err := c.config.ShardByID(to)
	if err != nil {
		return err
	}
	c.setMachineID(c.shards[second.ID], c.MachineID(first.ID))
	return nil
}

func (c *Cluster) setMachineID(s *shard, number int32) {
	s.machineID = number
	c.config.entries.shards.differ = false
}

var _ balancer.MachineIDs = engine{}

func (e engine) MachineID(_ context.Context, id catalog.ShardID) (number int64, tells bool, err error) {
	if e.c.shards[id] == nil {
		return 0, false, nil
	}
	return int64(e.c.MachineID(id)), true, e.c.faults.reach(configShard, id)
}

// MachineIDsDiffer looks at all shards only once, as each round asks.
func (e engine) MachineIDsDiffer(context.Context) bool {
	list, err := e.c.config.shardList()
	if err != nil || e.c.faults.reachShards(configShard) != nil {
		return false
	}
	known := &e.c.config.entries.shards
	if known.differ {
		return true
	}
	numbers := make(map[int32]bool, len(list))
	for _, s := range list {
		if e.c.shards[s.ID] != nil {
			numbers[e.c.MachineID(s.ID)] = true
		}
	}
	known.differ = len(numbers) == len(list)
	return known.differ
}

func (e engine) ResetMachineID(_ context.Context, id catalog.ShardID) error {
	if err := e.c.faults.reach(configShard, id); err != nil {
		return err
	}
	e.c.ResetMachineID(id)
	return nil
}

// nowhere is the machine of the members that listen nowhere, and of the mongos of
// a mock in this process: a name and no address, so that who looks for a shard
// there does not find another server. firstPort is the port of the first shard.
const (
	nowhere   = "mock"
	firstPort = 27020
)

// hosts are connection strings that are taken, by the names of their sets and by
// their members.
type hosts struct{ sets, members map[string]string }

func newHosts(taken ...string) *hosts {
	h := &hosts{sets: map[string]string{}, members: map[string]string{}}
	for _, host := range taken {
		h.take(host)
	}
	return h
}

// take notes a connection string, and returns the one before it that has the
// same set or a member of it.
func (h *hosts) take(host string) (other string, taken bool) {
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

// makeUp returns a host that nobody has, the n-th if it is free.
func (h *hosts) makeUp(n int) string {
	set, member := "", ""
	for i := n; set == "" || member == ""; i++ {
		if name := fmt.Sprintf("rs%d", i); set == "" && h.sets[name] == "" {
			set = name
		}
		if at := fmt.Sprintf("%s:%d", nowhere, firstPort+i); member == "" && h.members[at] == "" {
			member = at
		}
	}
	host := set + "/" + member
	h.take(host)
	return host
}

// setOf returns the name of the set in a connection string.
func setOf(host string) string {
	set, _, _ := strings.Cut(host, "/")
	return set
}
