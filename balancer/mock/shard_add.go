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
	"shardsh/balancer/mongoerr"
)

// Removal is where the removal of a shard stands (spec 03 §1.5).
type Removal struct {
	Shard catalog.ShardID
	// Started: this call has begun it. Completed: the shard is gone.
	Started, Completed  bool
	Chunks, JumboChunks int64
	// Databases have the shard as their primary; Collections are on it, tracked
	// and not sharded.
	Databases, Collections []string
	// Cleaning: a config server is drained, and still holds what waits for
	// deletion, or a collection with documents.
	Cleaning         bool
	PendingDeletions int64
	FirstNonEmpty    string
}

// Empty tells that nothing is left to move.
func (r Removal) Empty() bool { return r.Chunks == 0 && len(r.Databases) == 0 }

// RemoveShard begins, or goes on with, the removal of a shard, named by its
// id, connection string or host. Call it again until it is completed.
func (c *Cluster) RemoveShard(name string) (Removal, error) {
	shard, err := c.ShardToDrain(name)
	if err != nil {
		return Removal{}, err
	}
	return c.removeStep(shard)
}

// removeStep begins or goes on with a removal.
func (c *Cluster) removeStep(shard catalog.Shard) (Removal, error) {
	if err := c.checkRemoval(shard); err != nil {
		return Removal{}, err
	}
	r := c.DrainingStatus(shard)
	switch {
	case !shard.Draining:
		r.Started = true
		return r, c.StartDraining(shard)
	case !r.Empty() || r.Cleaning:
		return r, nil
	}
	r.Completed = true
	return r, c.finishRemoval(shard)
}

// checkRemoval runs the checks that every call repeats.
func (c *Cluster) checkRemoval(shard catalog.Shard) error {
	shards, err := c.ReadShards()
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(shards, func(s catalog.Shard) bool { return s.ID != shard.ID && !s.Draining }) {
		return mongoerr.New(mongoerr.IllegalOperation, "Operation not allowed because it would remove the last shard")
	}
	for _, zone := range shard.Zones {
		if c.zoneMembers(zone) == 1 && c.zoneInUse(zone) {
			return mongoerr.New(mongoerr.ZoneStillInUse, "Cannot remove shard %s because it is the only shard of zone %s, which has ranges", shard.ID, zone)
		}
	}
	return nil
}

func (c *Cluster) databasesOn(id catalog.ShardID) []string {
	names := []string{}
	for _, raw := range c.Config(configDatabases).Scan() {
		primary, _ := raw.Lookup("primary").StringValueOK()
		if name, _ := raw.Lookup("_id").StringValueOK(); catalog.ShardID(primary) == id {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// finishRemoval takes an empty shard out. Its process keeps what it holds.
func (c *Cluster) finishRemoval(shard catalog.Shard) error {
	c.configDelete(configShards, string(shard.ID))
	if shard.ID != configShard {
		c.removed[shard.Host] = c.shards[shard.ID]
	}
	delete(c.shards, shard.ID)
	at := c.Tick()
	rest, err := c.ReadShards()
	if err != nil {
		return err
	}
	if _, err := c.configModify(configShards, string(rest[0].ID), func(doc *bson.D) { set(doc, "topologyTime", at) }); err != nil {
		return err
	}
	found, err := c.configModify(configRemovals, lastRemoval, func(doc *bson.D) { set(doc, "timestamp", at) })
	if err == nil && !found {
		err = c.configInsert(configRemovals, bson.D{{Key: "_id", Value: lastRemoval}, {Key: "timestamp", Value: at}})
	}
	c.noteShardCount()
	c.logChange(configShard, "removeShard", "", bson.D{{Key: "shard", Value: string(shard.ID)}})
	return err
}

// Where the time of the last removal is kept (spec 03 §3.13).
const (
	configRemovals = "shardRemovalLog"
	lastRemoval    = "latestShardRemovalLog"
)

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

// AddShard adds a shard and gives its id. An empty name chooses one.
func (c *Cluster) AddShard(at ShardAddress, name string) (catalog.ShardID, error) {
	set, hosts := at.set, at.hosts
	known, err := c.knownShard(set, hosts, name)
	if known != "" || err != nil {
		return known, err
	}
	if name == "" {
		if name = set; name == "" {
			if name = c.freeName(); len(name) > len("shard9999") {
				return "", mongoerr.New(mongoerr.OperationFailed, "unable to generate a new shard name")
			}
		}
	}
	if name == string(configShard) {
		return "", mongoerr.New(mongoerr.BadValue, "use of shard replica set with name 'config' is not allowed")
	}
	address := cmp.Or(set, name) + "/" + hosts
	s := newShard(catalog.ShardID(name))
	if old := c.removed[address]; old != nil {
		if err := c.checkReturning(old); err != nil {
			return "", err
		}
		delete(c.removed, address)
	}
	err = c.configInsert(configShards, bson.D{
		{Key: "_id", Value: name}, {Key: "host", Value: address}, {Key: "state", Value: int32(1)},
		{Key: "topologyTime", Value: c.Tick()}, {Key: "replSetConfigVersion", Value: int64(-1)},
	})
	if err != nil {
		return "", err
	}
	c.shards[s.id] = s
	c.noteShardCount()
	c.logChange(configShard, "addShard", "", bson.D{{Key: "name", Value: name}, {Key: "host", Value: address}})
	return s.id, nil
}

// knownShard finds the shard that an address already is; IllegalOperation
// when it only partly fits.
func (c *Cluster) knownShard(set, hosts, name string) (catalog.ShardID, error) {
	shards, err := c.ReadShards()
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
func (c *Cluster) freeName() string {
	next := 0
	for id := range c.shards {
		var n int
		if _, err := fmt.Sscanf(string(id), "shard%d", &n); err == nil {
			next = max(next, n+1)
		}
	}
	return fmt.Sprintf("shard%04d", next)
}

// checkReturning refuses a former shard that still holds a database the
// cluster has.
func (c *Cluster) checkReturning(s *shard) error {
	for ns := range s.colls {
		db, _, _ := catalog.SplitNamespace(ns)
		if primary, known := c.Primary(db); known {
			return mongoerr.New(mongoerr.OperationFailed, "can't add shard: it holds database %s, which exists on shard %s", db, primary)
		}
	}
	return nil
}

// MovePrimary gives a database another primary and moves its untracked
// collections there (spec 03 §1.4).
func (c *Cluster) MovePrimary(db, to string) error {
	switch {
	case onConfigServer(db) || db == "local":
		return mongoerr.New(mongoerr.InvalidOptions, "Can't move primary for %s database", db)
	case !catalog.ValidDatabaseName(db):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: %s", db)
	}
	from, known := c.Primary(db)
	if !known {
		return mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", db)
	}
	if !c.hadTwo {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot move the primary in a cluster that has never had two shards")
	}
	shard, err := c.FindShard(to)
	if err != nil {
		return err
	}
	if shard.ID == from {
		return nil
	}
	if shard.Draining {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s is currently draining", shard.ID)
	}
	for _, id := range []catalog.ShardID{from, shard.ID} {
		if err := c.reach(configShard, id); err != nil {
			return err
		}
	}
	return c.movePrimary(db, c.shards[from], c.shards[shard.ID])
}

func (c *Cluster) movePrimary(db string, from, to *shard) error {
	var moving []string
	for ns := range from.colls {
		if strings.HasPrefix(ns, db+".") && !c.isTracked(ns) {
			moving = append(moving, ns)
		}
	}
	slices.Sort(moving)
	details := bson.D{{Key: "from", Value: string(from.id)}, {Key: "to", Value: string(to.id)}}
	c.logChange(from.id, "movePrimary.start", db, details)
	for _, ns := range moving {
		if to.colls[ns] != nil {
			err := mongoerr.New(mongoerr.NamespaceExists, "shard %s holds an orphaned collection %s", to.id, ns)
			c.logChange(from.id, "movePrimary.error", db, append(details, bson.E{Key: "error", Value: err.Error()}))
			return err
		}
	}
	for _, ns := range moving {
		to.colls[ns] = from.colls[ns]
		delete(from.colls, ns)
	}
	at := c.Tick()
	_, err := c.configModify(configDatabases, db, func(doc *bson.D) {
		set(doc, "primary", string(to.id))
		for i, e := range *doc {
			if version, ok := e.Value.(bson.D); ok && e.Key == "version" {
				bumpDatabaseVersion(version, at)
				(*doc)[i].Value = version
			}
		}
	})
	if err != nil {
		return err
	}
	c.logChange(from.id, "movePrimary.commit", db, details)
	c.logPlacement(db, nil, at, []catalog.ShardID{to.id})
	c.logChange(from.id, "movePrimary.end", db, details)
	return nil
}

func bumpDatabaseVersion(version bson.D, at bson.Timestamp) {
	for i, e := range version {
		switch e.Key {
		case "timestamp":
			version[i].Value = at
		case "lastMod":
			if n, ok := e.Value.(int32); ok {
				version[i].Value = n + 1
			}
		}
	}
}
