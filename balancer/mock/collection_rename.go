package mock

import (
	"bytes"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// RenameCollection renames a collection, and with dropTarget replaces an existing one. A sharded
// collection gets a new epoch and timestamp; its chunks, UUID and zones stay. Only an unsharded
// collection can move to another database, which must have the same primary; it gets a new UUID.
func (rq *Request) RenameCollection(from, to string, dropTarget bool) error {
	if err := rq.env.collections.checkRename(from, to, dropTarget); err != nil {
		return err
	}
	coll, tracked, err := rq.env.config.TrackedEntry(from)
	if err != nil {
		return err
	}
	details := bson.D{{Key: "source", Value: from}, {Key: "destination", Value: to}}
	primary, _ := rq.env.config.Primary(catalog.DatabaseOf(from))
	if err := rq.CreateDatabase(catalog.DatabaseOf(to), string(primary)); err != nil {
		return err
	}
	rq.env.log.writeChange(primary, "renameCollection.start", from, details)
	renamed := Change{Kind: ChangeRename, Namespace: from, To: to}
	if l := rq.env.changes.anyLocal(from); l != nil {
		renamed.UUID = &l.uuid
	}
	if l := rq.env.changes.anyLocal(to); l != nil {
		renamed.Operation = bson.D{{Key: "dropTarget", Value: l.uuid}}
	}
	if err := rq.env.collections.removeUnlogged(to); err != nil {
		return err
	}
	rq.env.collections.renameLocal(from, to)
	uuid := coll.UUID
	if catalog.DatabaseOf(from) != catalog.DatabaseOf(to) {
		uuid = rq.env.ids.NewUUID() // a server makes a copy
		rq.env.collections.setUUID(to, uuid)
	}
	if tracked {
		if err := rq.env.collections.renameEntry(coll, to, uuid); err != nil {
			return err
		}
		rq.env.log.writeChange(configShard, "renameCollection.metadata", from, details)
	}
	rq.env.zones.renameNamespace(from, to)
	rq.env.ids.Tick()
	rq.env.log.writeChange(primary, "renameCollection.end", from, details)
	rq.env.changes.note(renamed)
	return nil
}

func (c *Collections) checkRename(from, to string, dropTarget bool) error {
	for _, ns := range []string{from, to} {
		db, name, err := catalog.SplitNamespace(ns)
		switch {
		case err != nil:
			return err
		case onConfigServer(db) || db == "local" || strings.HasPrefix(name, "system."):
			return mongoerr.New(mongoerr.IllegalOperation, "can't rename a system collection: %s", ns)
		}
	}
	if from == to {
		return mongoerr.New(mongoerr.IllegalOperation, "Can't rename a collection to itself")
	}
	if err := c.checkNotView(from); err != nil {
		return err
	}
	if !c.Exists(from) {
		return mongoerr.New(mongoerr.NamespaceNotFound, "Source collection %s does not exist", from)
	}
	if _, isView := c.views[to]; isView {
		return mongoerr.New(mongoerr.NamespaceExists, "a view already exists with that name: %s", to)
	}
	if c.Exists(to) && !dropTarget {
		return mongoerr.New(mongoerr.NamespaceExists, "Target collection %s exists", to)
	}
	if err := c.checkRenameAcross(from, to); err != nil {
		return err
	}
	if c.zones.hasRangeWhere("ns", to) {
		return mongoerr.New(mongoerr.CommandFailed,
			"Can't rename to target collection %s because it must not have associated tags", to)
	}
	for _, ns := range []string{from, to} {
		if c.reshardings.active[ns] != nil {
			return mongoerr.New(mongoerr.LockBusy, "Failed to acquire the DDL lock of %s: it is being resharded", ns)
		}
		for m := range c.migrations.active {
			if m.req.Namespace == ns {
				return mongoerr.New(mongoerr.ConflictingOperationInProgress, "a chunk of %s is being moved", ns)
			}
		}
	}
	return nil
}

// checkRenameAcross rejects a rename across databases that would move documents to another shard.
func (c *Collections) checkRenameAcross(from, to string) error {
	if c.config.isTracked(from) && len(to) > catalog.MaxShardedNamespaceBytes {
		return mongoerr.New(mongoerr.InvalidNamespace, "Fully qualified namespace is too long. Namespace: %s Max: %d", to,
			catalog.MaxShardedNamespaceBytes)
	}
	old, db := catalog.DatabaseOf(from), catalog.DatabaseOf(to)
	if old == db {
		return nil
	}
	for _, ns := range []string{from, to} {
		_, sharded, err := c.config.ShardedEntry(ns)
		if err != nil {
			return err
		}
		if sharded {
			return mongoerr.New(mongoerr.CommandFailed, "Source and destination collections must be on the same database "+
				"because %s is sharded.", ns)
		}
	}
	primary, _ := c.config.Primary(old)
	switch other, known := c.config.Primary(db); {
	case !known:
		return mongoerr.New(mongoerr.NamespaceNotFound, "database %s not found", db)
	case other != primary:
		return mongoerr.New(mongoerr.CommandFailed, "Source and destination collections must be on same shard")
	}
	return nil
}

// removeUnlogged removes a collection that is replaced by a rename. It writes no change log entries.
func (c *Collections) removeUnlogged(ns string) error {
	for _, s := range c.shards {
		delete(s.colls, ns)
		s.dropDeletions(ns)
	}
	coll, tracked, err := c.config.TrackedEntry(ns)
	if err != nil || !tracked {
		return err
	}
	c.config.remove(configCollections, ns)
	delete(c.config.tables, ns)
	c.log.writePlacement(ns, &coll.UUID, c.ids.Tick(), nil)
	return nil
}

func (c *Collections) renameLocal(from, to string) {
	for _, s := range c.shards {
		if l := s.colls[from]; l != nil {
			l.docs.Namespace = to
			s.colls[to] = l
			delete(s.colls, from)
		}
		for _, task := range s.deletions {
			if task.coll.Namespace == from {
				task.coll.Namespace = to
				s.deletionsChanged = true
			}
		}
	}
}

// setUUID changes the UUID of a collection on every shard.
func (c *Collections) setUUID(ns string, uuid bson.Binary) {
	for _, s := range c.shards {
		if l := s.colls[ns]; l != nil {
			l.uuid = uuid
		}
	}
}

// renameEntry renames a tracked collection in the catalog.
func (c *Collections) renameEntry(coll catalog.Collection, to string, uuid bson.Binary) error {
	from, old := coll.Namespace, c.config.Table(coll.Namespace)
	at, epoch := c.ids.Tick(), c.ids.NewObjectID()
	table, err := catalog.NewRoutingTable(old.Pattern(), epoch, at, old.All())
	if err != nil {
		return err
	}
	raw, _ := c.config.doc(configCollections, from)
	var entry bson.D
	if err := bson.Unmarshal(bytes.Clone(raw), &entry); err != nil {
		return err
	}
	setDocField(&entry, "_id", to)
	setDocField(&entry, "uuid", uuid)
	c.config.setEntryVersion(&entry, epoch, at)
	c.config.remove(configCollections, from)
	delete(c.config.tables, from)
	if err := c.config.insert(configCollections, entry); err != nil {
		return err
	}
	c.config.setTable(to, table)
	c.log.writePlacement(from, &coll.UUID, at, nil)
	c.log.writePlacement(to, &uuid, at, table.Owners())
	return nil
}

// IndexChange is the change of one index by collMod.
type IndexChange struct {
	Name string
	// Before and After are the values of the changed option. Before is empty if the option was not set.
	Before, After bson.D
}

// Modify changes options of a collection on every shard that has it; it removes fields whose value is
// nil. Change streams report event, together with the change of an index, if there is one.
func (c *Collections) Modify(ns string, changes, event bson.D, index *IndexChange) {
	if l := c.changes.anyLocal(ns); l != nil {
		was := bson.D{{Key: "collectionOptions",
			Value: append(slices.Clone(l.options), bson.E{Key: "uuid", Value: l.uuid})}}
		if index != nil {
			was = append(was, bson.E{Key: "indexOptions", Value: append(bson.D{}, index.Before...)})
		}
		c.changes.note(Change{Kind: ChangeModify, Namespace: ns, Operation: event, StateBefore: was})
	}
	for _, s := range c.shards {
		l := s.colls[ns]
		if l == nil {
			continue
		}
		options := slices.Clone(l.options)
		for _, change := range changes {
			if change.Value == nil {
				unsetDocField(&options, change.Key)
				continue
			}
			setDocField(&options, change.Key, change.Value)
		}
		like := newLocal(l.docs.Language, l.uuid, options, ns)
		l.options, l.validator, l.warnOnly, l.moderate = options, like.validator, like.warnOnly, like.moderate
		l.maxBytes, l.maxDocs = like.maxBytes, like.maxDocs
		l.trim()
	}
	c.ids.Tick()
}

func (ix *Indexes) isHidden(ns, name string) bool {
	specs, _ := ix.List(ns)
	return slices.ContainsFunc(specs, func(s store.IndexSpec) bool {
		hidden, _ := s.Options.Lookup("hidden").BooleanOK()
		return s.Name == name && hidden
	})
}

// SetHidden hides or unhides an index of a collection on every shard, and reports whether it was hidden
// before.
func (ix *Indexes) SetHidden(ns, name string, hidden bool) (wasHidden bool, err error) {
	if hidden && !ix.isHidden(ns, name) && ix.isLastForShardKey(ns, name, nil) {
		return false, mongoerr.New(mongoerr.InvalidOptions,
			"Can't hide the only compatible index for this collection's shard key")
	}
	ix.migrations.abort(ns)
	for _, id := range ix.stats.shardsWithCollection(ns) {
		if wasHidden, err = ix.shards[id].colls[ns].docs.SetIndexHidden(name, hidden); err != nil {
			return wasHidden, err
		}
	}
	ix.ids.Tick()
	return wasHidden, nil
}

// Untrack removes an unsharded collection from the catalog. The collection must be on the shard where it
// would be without the entry.
func (c *Collections) Untrack(ns string) error {
	coll, tracked, err := c.config.TrackedEntry(ns)
	switch {
	case err != nil:
		return err
	case !tracked: // an untracked collection need not exist
		return nil
	case !coll.Unsplittable:
		return mongoerr.New(mongoerr.InvalidNamespace, "Namespace %s is sharded: it can't be untracked", ns)
	}
	if !c.config.isPrimary(catalog.DatabaseOf(ns), c.config.Table(ns).At(0).Shard) {
		return mongoerr.New(mongoerr.OperationFailed, "Collection %s is not on its database's primary shard", ns)
	}
	c.log.writeChange(configShard, "untrackCollection.start", ns, nil)
	c.config.remove(configCollections, ns)
	delete(c.config.tables, ns)
	c.log.writePlacement(ns, &coll.UUID, c.ids.Tick(), nil)
	c.log.writeChange(configShard, "untrackCollection.end", ns, nil)
	return nil
}
