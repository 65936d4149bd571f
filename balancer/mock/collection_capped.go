package mock

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// ConvertToCapped converts an unsharded collection to a capped collection of size bytes. It keeps the
// newest documents that fit, drops all indexes except _id, and assigns a new UUID.
func (c *Collections) ConvertToCapped(ns string, size int64) error {
	if err := c.checkNotView(ns); err != nil {
		return err
	}
	coll, tracked, err := c.config.TrackedEntry(ns)
	switch {
	case err != nil:
		return err
	case onConfigServer(catalog.DatabaseOf(ns)):
		return mongoerr.New(mongoerr.IllegalOperation, "can't convert %s to a capped collection", ns)
	case tracked && !coll.Unsplittable:
		return mongoerr.New(mongoerr.IllegalOperation, "You can't convertToCapped a sharded collection: %s", ns)
	case c.reshardings.active[ns] != nil:
		return mongoerr.New(mongoerr.LockBusy, "Failed to acquire the DDL lock of %s: it is being moved", ns)
	}
	ids := c.stats.shardsWithCollection(ns)
	if len(ids) == 0 {
		return mongoerr.New(mongoerr.NamespaceNotFound, "source collection %s does not exist", ns)
	}
	primary, _ := c.config.Primary(catalog.DatabaseOf(ns))
	c.log.writeChange(primary, "convertToCapped.start", ns, nil)
	capped, err := c.shards[ids[0]].colls[ns].asCapped(c.ids.NewUUID(), ns, size)
	if err != nil {
		return err
	}
	c.shards[ids[0]].colls[ns] = capped
	if tracked {
		if err := c.changeUUID(coll, capped.uuid); err != nil {
			return err
		}
	}
	c.ids.Tick()
	c.log.writeChange(primary, "convertToCapped.end", ns, nil)
	return nil
}

// asCapped returns a capped copy of a collection with another UUID.
func (l *localCollection) asCapped(uuid bson.Binary, ns string, size int64) (*localCollection, error) {
	options := bson.D{}
	for _, o := range l.options {
		if o.Key != "capped" && o.Key != "size" && o.Key != "max" {
			options = append(options, o)
		}
	}
	options = append(options, bson.E{Key: "capped", Value: true}, bson.E{Key: "size", Value: document.SmallestInt(size)})
	capped := newLocal(l.docs.Language, uuid, options, ns)
	for doc := range l.docs.Documents() {
		if _, err := capped.docs.Insert(doc); err != nil {
			return nil, err
		}
	}
	capped.trim()
	return capped, nil
}

// changeUUID changes the UUID of a tracked unsharded collection, and the version of its only chunk.
func (c *Collections) changeUUID(coll catalog.Collection, uuid bson.Binary) error {
	old := c.config.Table(coll.Namespace)
	at, epoch := c.ids.Tick(), c.ids.NewObjectID()
	table, err := catalog.NewRoutingTable(old.Pattern(), epoch, at, old.All())
	if err != nil {
		return err
	}
	_, err = c.config.modify(configCollections, coll.Namespace, func(doc *bson.D) {
		setDocField(doc, "uuid", uuid)
		c.config.setEntryVersion(doc, epoch, at)
	})
	if err != nil {
		return err
	}
	c.config.setTable(coll.Namespace, table)
	c.log.writePlacement(coll.Namespace, &uuid, at, table.Owners())
	return nil
}

// Tail is a position in a capped collection from which later documents are read. It belongs to the
// caller; the cluster's lock guards it.
type Tail struct {
	ns   string
	uuid bson.Binary
	last store.RecordID
}

// StartTail returns a tail at the current end of a capped collection. It returns nil if the collection
// is empty or does not exist; on a server, tailable cursors on such collections are exhausted at once.
func (c *Collections) StartTail(ns string) (*Tail, error) {
	l := c.onlyLocalCollection(ns)
	if l == nil {
		return nil, nil
	}
	if l.maxBytes == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "error processing query: ns=%s: tailable cursor requested on non "+
			"capped collection", ns)
	}
	if l.docs.Count() == 0 {
		return nil, nil
	}
	return &Tail{ns: ns, uuid: l.uuid, last: l.docs.LastID()}, nil
}

// onlyLocalCollection returns the collection on the only shard that has it.
func (c *Collections) onlyLocalCollection(ns string) *localCollection {
	targets := c.locator.targets(ns, nil)
	if len(targets) != 1 || targets[0].shard == nil {
		return nil
	}
	return targets[0].shard.colls[ns]
}

// ReadTail returns the matching documents that were inserted since the last call. It fails if the
// collection was dropped (QueryPlanKilled) or has dropped documents that were not read yet
// (CappedPositionLost).
func (rq *Request) ReadTail(t *Tail, filter *filter.Filter) ([]bson.Raw, error) {
	l := rq.env.collections.onlyLocalCollection(t.ns)
	if l == nil || !l.uuid.Equal(t.uuid) {
		return nil, rq.env.collections.endedError(t.ns, t.uuid)
	}
	if err := rq.Contact(t.ns, nil); err != nil {
		return nil, err
	}
	if t.last == l.docs.LastID() {
		return nil, nil
	}
	if _, ok := l.docs.Get(t.last); !ok {
		return nil, mongoerr.New(mongoerr.CappedPositionLost,
			"CollectionScan died due to position in capped collection being deleted. Last seen record id: RecordId(%d)", t.last)
	}
	var docs []bson.Raw
	for id, doc := range l.docs.ScanAfter(t.last) {
		t.last = id
		matches, err := filter.Test(doc)
		if err != nil {
			return nil, err
		}
		if matches {
			docs = append(docs, doc)
		}
	}
	return docs, nil
}

// UUID returns the UUID of a collection, empty if the collection does not exist.
func (c *Collections) UUID(ns string) bson.Binary {
	for _, t := range c.locator.targets(ns, nil) {
		if t.local != nil {
			return t.local.uuid
		}
	}
	return bson.Binary{}
}

// CheckCursor returns the error for a cursor that was opened on the collection with the given UUID, if the
// cursor can no longer be read.
func (c *Collections) CheckCursor(ns string, uuid bson.Binary) error {
	if c.UUID(ns).Equal(uuid) {
		return nil
	}
	return c.endedError(ns, uuid)
}

// endedError returns the error for cursors of a dropped or renamed collection.
func (c *Collections) endedError(ns string, uuid bson.Binary) error {
	for _, id := range c.shards.ids() {
		for other, l := range c.shards[id].colls {
			if other != ns && l.uuid.Equal(uuid) {
				return mongoerr.New(mongoerr.QueryPlanKilled,
					"collection renamed from '%s' to '%s'. UUID %s", ns, other, humanize.UUID(uuid.Data))
			}
		}
	}
	return mongoerr.New(mongoerr.QueryPlanKilled, "collection dropped. UUID %s", humanize.UUID(uuid.Data))
}

// CanReadTail reports whether ReadTail would return documents or an error.
func (c *Collections) CanReadTail(t *Tail) bool {
	l := c.onlyLocalCollection(t.ns)
	return l == nil || !l.uuid.Equal(t.uuid) || l.docs.LastID() != t.last
}

// wakeTails wakes waiters for new documents in a capped collection.
func (c *Collections) wakeTails(l *localCollection) {
	if l.maxBytes > 0 {
		c.clock.Wake()
	}
}
