package mock

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

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

// Add adds a shard and gives its id. An empty name chooses one.
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
	err = mb.c.config.insert(configShards, bson.D{
		{Key: "_id", Value: name}, {Key: "host", Value: address}, {Key: "state", Value: int32(1)},
		{Key: "topologyTime", Value: mb.c.Tick()}, {Key: "replSetConfigVersion", Value: int64(-1)},
	})
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
		theirs, _, _ := strings.Cut(s.Host, "/")
		common := slices.ContainsFunc(strings.Split(hosts, ","), func(h string) bool { return hasMember(s.Host, h) })
		switch {
		case common && (set == "" || set == theirs) && (name == "" || name == string(s.ID)):
			return s.ID, nil
		case common || set != "" && set == theirs || name == string(s.ID):
			return "", mongoerr.New(mongoerr.IllegalOperation, "%s/%s, named %q, is in conflict with shard %s at %s", set, hosts, name, s.ID, s.Host)
		}
	}
	return "", nil
}

// freeName is the next name of the form shard0000.
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
			return mongoerr.New(mongoerr.OperationFailed, "can't add shard: it holds database %s, which exists on shard %s", db, primary)
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
	for n := 0; s.Host == ""; n++ {
		if !mb.usesPort(firstPort + n) {
			s.Host = fmt.Sprintf("rs%d/127.0.0.1:%d", n, firstPort+n)
		}
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

// usesPort tells whether a shard, or one that was removed, has a host of the
// mock's making.
func (mb *Membership) usesPort(port int) bool {
	member := fmt.Sprintf("127.0.0.1:%d", port)
	for _, id := range mb.c.shardIDs() {
		if hasMember(mb.c.hostOf(id), member) {
			return true
		}
	}
	for address := range mb.removed {
		if strings.HasSuffix(address, member) {
			return true
		}
	}
	return false
}
