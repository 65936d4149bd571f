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
	log         *changeLog
	membership  *Membership
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
func (ds *Databases) checkPartitioned(db string) error {
	if !ds.config.release.MarksPartitioned() || ds.config.isPartitioned(db) {
		return nil
	}
	return mongoerr.New(mongoerr.IllegalOperation, "sharding not enabled for db %s", db)
}

func (cfg *ConfigDB) isPartitioned(db string) bool {
	entry, _ := cfg.DatabaseEntry(db)
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
	err = rq.env.config.insert(configDatabases, rq.env.config.newDatabase(name, id, rq.env.ids.NewUUID(), at, partitioned))
	if err != nil {
		return err
	}
	rq.env.log.writePlacement(name, nil, at, []catalog.ShardID{id})
	rq.env.log.writeChange(configShard, "createDatabase", name, nil)
	return nil
}

// checkCreate makes the checks in the server's order. done reports that the database exists.
func (ds *Databases) checkCreate(name, primary string) (done bool, err error) {
	if done, err = ds.CheckName(name); done || err != nil {
		return done, err
	}
	if primary != "" {
		shard, err := ds.config.FindShard(primary)
		if err != nil {
			return false, err
		}
		primary = string(shard.ID)
	}
	if is, ok := ds.config.Primary(name); ok {
		if primary == "" || string(is) == primary {
			return true, nil
		}
		return false, mongoerr.New(mongoerr.NamespaceExists,
			"database already created on a primary which is different from %s", primary)
	}
	for _, raw := range ds.config.Collection(configDatabases).Scan() {
		if other, _ := raw.Lookup("_id").StringValueOK(); strings.EqualFold(other, name) {
			return false, mongoerr.New(mongoerr.DatabaseDifferCase,
				"can't have 2 databases that just differ on case: have %s, want %s", other, name)
		}
	}
	return false, nil
}

// CheckName rejects database names that users may not use. builtin is true for config, which always
// exists.
func (ds *Databases) CheckName(name string) (builtin bool, err error) {
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

func (ds *Databases) choosePrimary(asked string) (catalog.ShardID, error) {
	shards, err := ds.config.Shards()
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
		if err := ds.faults.checkReachable(configShard, s.ID); err != nil {
			away = err
			continue
		}
		if size := ds.shards[s.ID].totalBytes(); best == "" || size < least {
			best, least = s.ID, size
		}
	}
	if best == "" && away != nil {
		return "", away
	}
	if best == "" && asked != "" {
		if _, err := ds.config.FindShard(asked); err != nil {
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
	_, members, ok := strings.Cut(host, "/")
	if !ok {
		return false
	}
	for m := range strings.SplitSeq(members, ",") {
		if m == member {
			return true
		}
	}
	return false
}

func (s *shard) totalBytes() int64 {
	var total int64
	for _, l := range s.colls {
		_, bytes := l.counts()
		total += bytes
	}
	return total
}

// Create creates an empty, untracked collection on the database's primary.
func (rq *Request) Create(ns string, options bson.D) error {
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
		if rq.env.release.AtLeast(catalog.Release80) && rq.env.collections.hasSameOptions(ns, options) {
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
func (cs *Collections) hasSameOptions(ns string, options bson.D) bool {
	wanted, err := bson.Marshal(options)
	if err != nil {
		return false
	}
	for _, id := range cs.shards.ids() {
		if l := cs.shards[id].colls[ns]; l != nil {
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
func (cs *Collections) Exists(ns string) bool {
	if cs.config.isTracked(ns) {
		return true
	}
	if _, isView := cs.views[ns]; isView {
		return true
	}
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return false
	}
	if onConfigServer(db) {
		return cs.config.holdsCollection(ns)
	}
	primary, ok := cs.config.Primary(db)
	return ok && cs.shards[primary].colls[ns] != nil
}

// ensureOnPrimary returns an untracked collection's data on the database's primary, and creates the
// collection if it does not exist. The database must exist.
func (cs *Collections) ensureOnPrimary(ns string, options bson.D) *localCollection {
	db, _, _ := catalog.SplitNamespace(ns)
	primary, _ := cs.config.Primary(db)
	s := cs.shards[primary]
	l := s.colls[ns]
	if l == nil {
		l = newLocal(LanguageOf(cs.release), cs.ids.NewUUID(), options, ns)
		s.colls[ns] = l
		cs.changes.noteCreated(ns, options)
	}
	return l
}

// Drop drops a collection and reports whether it existed. It removes the zone ranges in either case.
func (cs *Collections) Drop(ns string) bool {
	if !cs.Exists(ns) {
		return cs.remove(ns) // also removes leftovers on shards
	}
	cs.log.writeChange(configShard, "dropCollection.start", ns, nil)
	found := cs.remove(ns)
	cs.log.writeChange(configShard, "dropCollection", ns, nil)
	return found
}

// remove removes a collection from the catalog, all shards and the zones. It writes no change log
// entries.
func (cs *Collections) remove(ns string) (found bool) {
	coll, tracked, _ := cs.config.Tracked(ns)
	_, isView := cs.views[ns]
	gone := Change{Kind: ChangeDrop, Namespace: ns}
	if isView {
		gone.NSType = "view"
	} else if l := cs.changes.anyLocal(ns); l != nil {
		gone.UUID = &l.uuid
	}
	delete(cs.views, ns)
	found = tracked || isView
	for _, id := range cs.shards.ids() {
		s := cs.shards[id]
		if s.colls[ns] != nil {
			found = true
			cs.wakeTails(s.colls[ns])
			delete(s.colls, ns)
		}
		s.dropDeletions(ns)
	}
	if tracked {
		cs.config.dropEntry(ns)
		delete(cs.config.tables, ns)
		cs.log.writePlacement(ns, &coll.UUID, cs.ids.Tick(), nil)
	}
	cs.zones.dropRanges(func(of string) bool { return of == ns })
	if found {
		cs.changes.note(gone)
	}
	return found
}

func (s *shard) dropDeletions(ns string) {
	s.deletionsByRange = deletionIndex{}
	kept := s.deletions[:0]
	for _, task := range s.deletions {
		if task.coll.Namespace != ns {
			kept = append(kept, task)
		}
	}
	s.deletionsChanged = s.deletionsChanged || len(kept) < len(s.deletions)
	s.deletions = kept
}

// Drop drops all collections of a database and its entry. It returns false if the database does not
// exist.
func (ds *Databases) Drop(db string) bool {
	_, known := ds.config.Primary(db)
	if !known {
		return false
	}
	ds.log.writeChange(configShard, "dropDatabase.start", db, nil)
	for _, ns := range ds.Namespaces(db) {
		ds.collections.remove(ns)
	}
	// Also those of collections that never existed.
	ds.zones.dropRanges(func(ns string) bool { return strings.HasPrefix(ns, db+".") })
	maps.DeleteFunc(ds.collections.views, func(ns string, _ View) bool { return strings.HasPrefix(ns, db+".") })
	ds.config.remove(configDatabases, db)
	ds.log.writePlacement(db, nil, ds.ids.Tick(), nil)
	ds.log.writeChange(configShard, "dropDatabase", db, nil)
	ds.changes.note(Change{Kind: ChangeDropDatabase, Namespace: db + "."})
	return true
}

// Namespaces returns the sorted namespaces of a database.
func (ds *Databases) Namespaces(db string) []string {
	seen := map[string]bool{}
	for _, s := range ds.shards {
		for ns := range s.colls {
			if strings.HasPrefix(ns, db+".") && (ds.config.isTracked(ns) || ds.config.isPrimary(db, s.id)) {
				seen[ns] = true
			}
		}
	}
	for _, raw := range ds.config.Collection(configCollections).Scan() {
		if ns, _ := raw.Lookup("_id").StringValueOK(); strings.HasPrefix(ns, db+".") && !isDropped(raw) {
			seen[ns] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func (cfg *ConfigDB) isTracked(ns string) bool {
	entry, ok := cfg.doc(configCollections, ns)
	return ok && !isDropped(entry)
}

// isDropped reports whether an entry of config.collections belongs to a dropped collection; releases
// before 5.0 keep such entries.
func isDropped(entry bson.Raw) bool {
	gone, _ := entry.Lookup("dropped").BooleanOK()
	return gone
}

func (cfg *ConfigDB) isPrimary(db string, id catalog.ShardID) bool {
	primary, ok := cfg.Primary(db)
	return ok && primary == id
}

// DatabaseEntry returns a database's document in config.databases.
func (cfg *ConfigDB) DatabaseEntry(db string) (bson.Raw, bool) { return cfg.doc(configDatabases, db) }

// MovePrimary changes the primary of a database and moves its untracked collections to the new primary
// (rules/03-commands §1.4).
func (ds *Databases) MovePrimary(db, to string) error {
	switch {
	case onConfigServer(db) || db == "local":
		return mongoerr.New(mongoerr.InvalidOptions, "Can't move primary for %s database", db)
	case !catalog.ValidDatabaseName(db):
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid database name: %s", db)
	}
	from, known := ds.config.Primary(db)
	if !known {
		return mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", db)
	}
	if !ds.membership.hadTwo {
		return mongoerr.New(mongoerr.IllegalOperation, "Cannot move the primary in a cluster that has never had two shards")
	}
	shard, err := ds.config.FindShard(to)
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
		if err := ds.faults.checkReachable(configShard, id); err != nil {
			return err
		}
	}
	if ds.config.isCopyingMetadata() {
		return mongoerr.New(mongoerr.ConflictingOperationInProgress,
			"movePrimary of %s is not possible while the feature compatibility version is being changed", db)
	}
	return ds.moveUntracked(db, ds.shards[from], ds.shards[shard.ID])
}

func (ds *Databases) moveUntracked(db string, from, to *shard) error {
	var moving []string
	for ns := range from.colls {
		if strings.HasPrefix(ns, db+".") && !ds.config.isTracked(ns) {
			moving = append(moving, ns)
		}
	}
	slices.Sort(moving)
	details := bson.D{{Key: "from", Value: string(from.id)}, {Key: "to", Value: string(to.id)}}
	ds.log.writeChange(from.id, "movePrimary.start", db, details)
	for _, ns := range moving {
		if to.colls[ns] != nil {
			err := mongoerr.New(mongoerr.NamespaceExists, "shard %s holds an orphaned collection %s", to.id, ns)
			ds.log.writeChange(from.id, "movePrimary.error", db, append(details, bson.E{Key: "error", Value: err.Error()}))
			return err
		}
	}
	for _, ns := range moving {
		to.colls[ns] = from.colls[ns]
		delete(from.colls, ns)
	}
	at := ds.ids.Tick()
	_, err := ds.config.modify(configDatabases, db, func(doc *bson.D) {
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
	ds.log.writeChange(from.id, "movePrimary.commit", db, details)
	ds.log.writePlacement(db, nil, at, []catalog.ShardID{to.id})
	ds.log.writeChange(from.id, "movePrimary.end", db, details)
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
