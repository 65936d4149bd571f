package mock

import (
	"slices"
	"strconv"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/value"
)

// pingInterval is the interval at which a mongos updates its ping time (rules/03-catalog-and-keys §3.8).
const pingInterval = 10 * time.Second

// MaxRouters is the maximum number of routers of a cluster.
const MaxRouters = 16

// RouterEntry is a mongos of the cluster.
type RouterEntry struct {
	// Node is the node name for faults: "router", "router2", ….
	Node catalog.ShardID
	// Name is the _id in config.mongos, Address the address for clients.
	Name, Address string
}

// Routers are the mongos of the cluster, at least one, and their documents in config.mongos.
type Routers struct {
	*clusterSettings
	clock  *clock.Clock
	config routerConfig
	faults connectivity
	list   []RouterEntry
}

// routerConfig is the part of ConfigDB that Routers use.
type routerConfig interface {
	Collection(name string) *store.Collection
	doc(collection, id string) (bson.Raw, bool)
	insert(collection string, doc bson.D) error
	modify(collection, id string, change func(*bson.D)) (bool, error)
}

// connectivity reports whether nodes can reach each other.
type connectivity interface {
	checkReachable(from, to catalog.ShardID) error
}

// firstRouter returns the router that every cluster has.
func firstRouter() RouterEntry {
	return RouterEntry{Node: routerNode, Name: routerName, Address: routerName}
}

// Routers returns the routers of the cluster. The caller holds the lock.
func (c *Cluster) Routers() *Routers { return c.routers }

// List returns the routers in the order in which they were added.
func (rs *Routers) List() []RouterEntry { return slices.Clone(rs.list) }

// Add adds a router to config.mongos.
func (rs *Routers) Add(name string) (RouterEntry, error) {
	node := routerNode + catalog.ShardID(strconv.Itoa(len(rs.list)+1))
	r := RouterEntry{Node: node, Name: name, Address: name}
	if _, kept := rs.config.doc(configMongos, name); !kept {
		if err := rs.insert(name); err != nil {
			return r, err
		}
	}
	rs.list = append(rs.list, r)
	return r, nil
}

// SetFirstAddress sets the client address of the first router.
func (rs *Routers) SetFirstAddress(address string) { rs.list[0].Address = address }

// insert adds a router that has just started.
func (rs *Routers) insert(name string) error {
	now := bson.NewDateTimeFromTime(rs.clock.Now())
	return rs.config.insert(configMongos, bson.D{
		{Key: "_id", Value: name},
		{Key: "advisoryHostFQDNs", Value: bson.A{}},
		{Key: "created", Value: now},
		{Key: "mongoVersion", Value: FullVersion(rs.release)},
		{Key: "ping", Value: now},
		{Key: "up", Value: int64(0)},
		{Key: "waiting", Value: true},
	})
}

// recordVersions writes the installed releases of routers to config.mongos.
func (rs *Routers) recordVersions(by map[string]catalog.Release) error {
	for _, r := range rs.list {
		is, ok := by[r.Name]
		if !ok {
			continue
		}
		_, err := rs.config.modify(configMongos, r.Name, func(doc *bson.D) {
			for i, e := range *doc {
				if e.Key == "mongoVersion" {
					(*doc)[i].Value = FullVersion(is)
				}
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// ping updates the ping times in config.mongos. It always asks to be called again.
func (rs *Routers) ping() (again bool) {
	now := rs.clock.Now()
	for _, r := range rs.list {
		if rs.faults.checkReachable(r.Node, configShard) != nil {
			continue
		}
		docs := rs.config.Collection(configMongos)
		record, doc, ok := docs.FindByID(textValue(r.Name))
		if !ok {
			continue
		}
		doc = document.WithField(doc, "ping", value.Date(now.UnixMilli()))
		doc = document.WithField(doc, "up", value.Int64(int64(now.Sub(rs.clock.StartTime())/time.Second)))
		if err := docs.Update(record, doc); err != nil {
			rs.logger.Warn("ping not written", "router", r.Name, "error", err)
		}
	}
	return true
}
