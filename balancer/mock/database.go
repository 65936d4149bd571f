package mock

import (
	"bytes"
	"maps"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mongoerr"
)

// Databases creates and drops databases and moves their primaries.
type Databases struct {
	changes     *ChangeFeed
	collections *Collections
	config      *ConfigDB
	zones       *Zones
	faults      *Faults
	ids         *ids.Source
	log         *configLogs
	membership  *ShardMembership
	shards      shardSet
}

// Databases returns the Databases of the cluster.
func (c *Cluster) Databases() *Databases { return c.databases }

// CreateDatabase creates the entry of a database (enableSharding, rules/03-commands §1.4). With an empty
// primary, the cluster chooses the least loaded shard.
func (rq *Request) CreateDatabase(name, primary string) error {
	return rq.createDatabase(name, primary, false)
}

// EnableSharding creates the database. In releases that require it, it also allows sharding the
// collections of the database.
func (rq *Request) EnableSharding(name, primary string) error {
	if err := rq.createDatabase(name, primary, true); err != nil || !rq.env.release.MarksPartitioned() {
		return err
	}
	if rq.env.config.isPartitioned(name) {
		return nil
	}
	_, err := rq.env.config.modify(configDatabases, name, func(doc *bson.D) { setDocField(doc, "partitioned", true) })
	return err
}

// checkPartitioned fails if the release requires enableSharding and the database is not enabled.
func (d *Databases) checkPartitioned(db string) error {
	if !d.config.release.MarksPartitioned() || d.config.isPartitioned(db) {
		return nil
	}
	return mongoerr.New(mongoerr.IllegalOperation, "sharding not enabled for db %s", db)
}

func (c *ConfigDB) isPartitioned(db string) bool {
	entry, _ := c.DatabaseEntry(db)
	is, _ := entry.Lookup("partitioned").BooleanOK()
	return is
}

func (rq *Request) createDatabase(name, primary string, partitioned bool) error {
	done, err := rq.env.databases.checkCreate(name, primary)
	if err != nil {
		return mongoerr.Wrap(err, "Database "+name+" could not be created")
	}
	if done {
		return nil
	}
	if err := rq.ContactConfig(); err != nil {
		return err
	}
	id, err := rq.env.databases.choosePrimary(primary)
	if err != nil {
		return mongoerr.Wrap(err, "Database "+name+" could not be created")
	}
	at := rq.env.ids.Tick()
	rq.env.log.writeChange(configShard, "createDatabase.start", name, nil)
	err = rq.env.config.insert(configDatabases, rq.env.config.newDatabaseEntry(name, id, rq.env.ids.NewUUID(), at,
		partitioned))
	if err != nil {
		return err
	}
	rq.env.log.writePlacement(name, nil, at, []catalog.ShardID{id})
	rq.env.log.writeChange(configShard, "createDatabase", name, nil)
	return nil
}

// checkCreate makes the checks in the server's order. done reports that the database exists.
func (d *Databases) checkCreate(name, primary string) (done bool, err error) {
	if done, err = d.CheckName(name); done || err != nil {
		return done, err
	}
	if primary != "" {
		shard, err := d.config.FindShard(primary)
		if err != nil {
			return false, err
		}
		primary = string(shard.ID)
	}
	if is, ok := d.config.Primary(name); ok {
		if primary == "" || string(is) == primary {
			return true, nil
		}
		return false, mongoerr.New(mongoerr.NamespaceExists,
			"database already created on a primary which is different from %s", primary)
	}
	for _, raw := range d.config.Collection(configDatabases).Scan() {
		if other, _ := raw.Lookup("_id").StringValueOK(); strings.EqualFold(other, name) {
			return false, mongoerr.New(mongoerr.DatabaseDifferCase,
				"can't have 2 databases that just differ on case: have %s, want %s", other, name)
		}
	}
	return false, nil
}

// CheckName rejects database names that users may not use. builtin is true for config, which always
// exists.
func (d *Databases) CheckName(name string) (builtin bool, err error) {
	if name == "config" {
		return true, nil
	}
	switch strings.ToLower(name) {
	case "admin", "local", "config":
		return false, mongoerr.New(mongoerr.InvalidOptions, "Cannot manually create database '%s'", name)
	}
	if !catalog.ValidNewDatabaseName(name) {
		return false, mongoerr.New(mongoerr.InvalidNamespace, "Invalid db name specified: %s", name)
	}
	return false, nil
}

func (d *Databases) choosePrimary(asked string) (catalog.ShardID, error) {
	shards, err := d.config.Shards()
	if err != nil {
		return "", err
	}
	var best catalog.ShardID
	var least int64
	var away error
	for _, s := range shards {
		if s.Draining || asked != "" && string(s.ID) != asked && s.Host != asked && !hasMember(s.Host, asked) {
			continue
		}
		if err := d.faults.checkReachable(configShard, s.ID); err != nil {
			away = err
			continue
		}
		if size := d.shards[s.ID].totalBytes(); best == "" || size < least {
			best, least = s.ID, size
		}
	}
	if best == "" && away != nil {
		return "", away
	}
	if best == "" && asked != "" {
		if _, err := d.config.FindShard(asked); err != nil {
			return "", err
		}
	}
	if best == "" {
		which := "all are"
		if asked != "" {
			which = asked + " is"
		}
		return "", mongoerr.New(mongoerr.ShardNotFound, "no shard can take a new database: %s draining", which)
	}
	return best, nil
}

func hasMember(host, member string) bool {
	_, members, _ := strings.Cut(host, "/")
	return slices.Contains(strings.Split(members, ","), member)
}

func (s *shard) totalBytes() int64 {
	var total int64
	for _, l := range s.colls {
		_, bytes := l.counts()
		total += bytes
	}
	return total
}

// CreateCollection creates an empty, untracked collection on the database's primary.
func (rq *Request) CreateCollection(ns string, options bson.D) error {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	if onConfigServer(db) {
		rq.env.config.ensureCollection(ns)
		return nil
	}
	if err := rq.CreateDatabase(db, ""); err != nil {
		return err
	}
	if rq.env.collections.Exists(ns) {
		if rq.env.release.FCVAtLeast(catalog.Release80) && rq.env.collections.hasSameOptions(ns, options) {
			return nil
		}
		return mongoerr.New(mongoerr.NamespaceExists, "Collection %s already exists.", ns)
	}
	if err := checkNewCollection(ns); err != nil {
		return err
	}
	rq.env.collections.ensureOnPrimary(ns, options)
	return nil
}

// hasSameOptions reports whether a collection exists with exactly these options and is not a view. Then
// create succeeds without a change.
func (c *Collections) hasSameOptions(ns string, options bson.D) bool {
	wanted, err := bson.Marshal(options)
	if err != nil {
		return false
	}
	for _, id := range c.shards.ids() {
		if l := c.shards[id].colls[ns]; l != nil {
			has, err := bson.Marshal(append(bson.D{}, l.options...))
			return err == nil && bytes.Equal(has, wanted)
		}
	}
	return false
}

// maxNamespaceBytes is the maximum length of a namespace in bytes.
const maxNamespaceBytes = 255

// checkNewCollection rejects collection names that users may not use.
func checkNewCollection(ns string) error {
	if len(ns) > maxNamespaceBytes {
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s Max: %d", ns,
			maxNamespaceBytes)
	}
	db, coll, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	if strings.Contains(coll, "$") {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid collection name: %s", coll)
	}
	known := []string{"system.js", "system.profile", "system.views"}
	if strings.HasPrefix(coll, "system.") && !onConfigServer(db) && !slices.Contains(known, coll) {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid system namespace: %s", ns)
	}
	return nil
}

// Exists reports whether a shard has the collection or the catalog tracks it.
func (c *Collections) Exists(ns string) bool {
	if c.config.isTracked(ns) {
		return true
	}
	if _, isView := c.views[ns]; isView {
		return true
	}
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return false
	}
	if onConfigServer(db) {
		return c.config.holdsCollection(ns)
	}
	primary, ok := c.config.Primary(db)
	return ok && c.shards[primary].colls[ns] != nil
}

// ensureOnPrimary returns an untracked collection's data on the database's primary, and creates the
// collection if it does not exist. The database must exist.
func (c *Collections) ensureOnPrimary(ns string, options bson.D) *localCollection {
	db, _, _ := catalog.SplitNamespace(ns)
	primary, _ := c.config.Primary(db)
	s := c.shards[primary]
	l := s.colls[ns]
	if l == nil {
		l = newLocal(LanguageOf(c.release), c.ids.NewUUID(), options, ns)
		s.colls[ns] = l
		c.changes.noteCreated(ns, options)
	}
	return l
}

// Drop drops a collection and reports whether it existed. It removes the zone ranges in either case.
func (c *Collections) Drop(ns string) bool {
	if !c.Exists(ns) {
		return c.remove(ns) // also removes leftovers on shards
	}
	c.log.writeChange(configShard, "dropCollection.start", ns, nil)
	found := c.remove(ns)
	c.log.writeChange(configShard, "dropCollection", ns, nil)
	return found
}

// remove removes a collection from the catalog, all shards and the zones. It writes no change log
// entries.
func (c *Collections) remove(ns string) (found bool) {
	coll, tracked, _ := c.config.TrackedEntry(ns)
	_, isView := c.views[ns]
	gone := Change{Kind: ChangeDrop, Namespace: ns}
	if isView {
		gone.NSType = "view"
	} else if l := c.changes.anyLocal(ns); l != nil {
		gone.UUID = &l.uuid
	}
	delete(c.views, ns)
	found = tracked || isView
	for _, id := range c.shards.ids() {
		s := c.shards[id]
		if s.colls[ns] != nil {
			found = true
			c.wakeTails(s.colls[ns])
			delete(s.colls, ns)
		}
		s.dropDeletions(ns)
	}
	if tracked {
		c.config.dropCollectionEntry(ns)
		delete(c.config.tables, ns)
		c.log.writePlacement(ns, &coll.UUID, c.ids.Tick(), nil)
	}
	c.zones.dropRanges(func(of string) bool { return of == ns })
	if found {
		c.changes.note(gone)
	}
	return found
}

func (s *shard) dropDeletions(ns string) {
	s.deletionsByRange = deletionIndex{}
	before := len(s.deletions)
	s.deletions = slices.DeleteFunc(s.deletions, func(task *rangeDeletion) bool { return task.coll.Namespace == ns })
	s.deletionsChanged = s.deletionsChanged || len(s.deletions) < before
}

// Drop drops all collections of a database and its entry. It returns false if the database does not
// exist.
func (d *Databases) Drop(db string) bool {
	_, known := d.config.Primary(db)
	if !known {
		return false
	}
	d.log.writeChange(configShard, "dropDatabase.start", db, nil)
	for _, ns := range d.Namespaces(db) {
		d.collections.remove(ns)
	}
	// Also those of collections that never existed.
	d.zones.dropRanges(func(ns string) bool { return strings.HasPrefix(ns, db+".") })
	maps.DeleteFunc(d.collections.views, func(ns string, _ View) bool { return strings.HasPrefix(ns, db+".") })
	d.config.remove(configDatabases, db)
	d.log.writePlacement(db, nil, d.ids.Tick(), nil)
	d.log.writeChange(configShard, "dropDatabase", db, nil)
	d.changes.note(Change{Kind: ChangeDropDatabase, Namespace: db + "."})
	return true
}

// Namespaces returns the sorted namespaces of a database.
func (d *Databases) Namespaces(db string) []string {
	seen := map[string]bool{}
	for _, s := range d.shards {
		for ns := range s.colls {
			if strings.HasPrefix(ns, db+".") && (d.config.isTracked(ns) || d.config.isPrimary(db, s.id)) {
				seen[ns] = true
			}
		}
	}
	for _, raw := range d.config.Collection(configCollections).Scan() {
		if ns, _ := raw.Lookup("_id").StringValueOK(); strings.HasPrefix(ns, db+".") && !isDropped(raw) {
			seen[ns] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func (c *ConfigDB) isTracked(ns string) bool {
	entry, ok := c.doc(configCollections, ns)
	return ok && !isDropped(entry)
}

// isDropped reports whether an entry of config.collections belongs to a dropped collection; releases
// before 5.0 keep such entries.
func isDropped(entry bson.Raw) bool {
	gone, _ := entry.Lookup("dropped").BooleanOK()
	return gone
}

func (c *ConfigDB) isPrimary(db string, id catalog.ShardID) bool {
	primary, ok := c.Primary(db)
	return ok && primary == id
}

// DatabaseEntry returns a database's document in config.databases.
func (c *ConfigDB) DatabaseEntry(db string) (bson.Raw, bool) { return c.doc(configDatabases, db) }

// MovePrimary changes the primary of a database and moves its untracked collections to the new primary
// (rules/03-commands §1.4).
func (d *Databases) MovePrimary(db, to string) error {
	switch {
	case onConfigServer(db) || db == "local":
		return mongoerr.New(mongoerr.InvalidOptions, "Can't move primary for %s database", db)
	case !catalog.ValidDatabaseName(db):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: %s", db)
	}
	from, known := d.config.Primary(db)
	if !known {
		return mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", db)
	}
	if !d.membership.hadTwoShards {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot move the primary in a cluster that has never had two shards")
	}
	shard, err := d.config.FindShard(to)
	if err != nil {
		return mongoerr.Wrap(err, "requested primary shard "+to+" does not exist")
	}
	if shard.ID == from {
		return nil
	}
	if shard.Draining {
		return mongoerr.New(mongoerr.ShardNotFound, "Shard %s is currently draining", shard.ID)
	}
	for _, id := range []catalog.ShardID{from, shard.ID} {
		if err := d.faults.checkReachable(configShard, id); err != nil {
			return err
		}
	}
	if d.config.isCopyingMetadata() {
		return mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"movePrimary of %s is not possible while the feature compatibility version is being changed", db)
	}
	return d.runMovePrimary(db, d.shards[from], d.shards[shard.ID])
}

func (d *Databases) runMovePrimary(db string, from, to *shard) error {
	var moving []string
	for ns := range from.colls {
		if strings.HasPrefix(ns, db+".") && !d.config.isTracked(ns) {
			moving = append(moving, ns)
		}
	}
	slices.Sort(moving)
	details := bson.D{{Key: "from", Value: string(from.id)}, {Key: "to", Value: string(to.id)}}
	d.log.writeChange(from.id, "movePrimary.start", db, details)
	for _, ns := range moving {
		if to.colls[ns] != nil {
			err := mongoerr.New(mongoerr.NamespaceExists, "shard %s holds an orphaned collection %s", to.id, ns)
			d.log.writeChange(from.id, "movePrimary.error", db, append(details, bson.E{Key: "error", Value: err.Error()}))
			return err
		}
	}
	for _, ns := range moving {
		to.colls[ns] = from.colls[ns]
		delete(from.colls, ns)
	}
	at := d.ids.Tick()
	_, err := d.config.modify(configDatabases, db, func(doc *bson.D) {
		setDocField(doc, "primary", string(to.id))
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
	d.log.writeChange(from.id, "movePrimary.commit", db, details)
	d.log.writePlacement(db, nil, at, []catalog.ShardID{to.id})
	d.log.writeChange(from.id, "movePrimary.end", db, details)
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
