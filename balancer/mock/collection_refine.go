package mock

import (
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// RefineRequest are the options of refineCollectionShardKey.
type RefineRequest struct {
	Namespace string
	Key       bson.Raw
	// UUID is the collection UUID that the caller expects; nil accepts any.
	UUID []byte
	// AcceptNonUnique skips the check of unique indexes.
	AcceptNonUnique bool
}

// RefineKey appends fields to a collection's shard key. It adds the new fields to the bounds of chunks
// and zones, and moves no documents (rules/03-commands §1.4).
func (c *Collections) RefineKey(req RefineRequest) error {
	ns, key := req.Namespace, req.Key
	coll, err := c.config.RequireSharded(ns)
	if mongoerr.Is(err, mongoerr.NamespaceNotSharded) && !c.Exists(ns) {
		err = mongoerr.New(mongoerr.NamespaceNotFound, "Namespace %s not found", ns)
	}
	if err != nil {
		return err
	}
	if err := c.CheckUUID(ns, req.UUID); err != nil {
		return err
	}
	refined, err := catalog.ParseKeyPattern(key)
	if err != nil {
		return err
	}
	if refined.Equal(coll.Pattern) {
		return nil
	}
	if !refined.Extends(coll.Pattern) {
		return mongoerr.New(mongoerr.InvalidOptions, "refineCollectionShardKey shard key %s does not extend the current "+
			"shard key %s", key, coll.Pattern.Doc())
	}
	// Migrations are disallowed at the beginning and allowed again at the end, also after an error.
	for range 2 {
		if err := c.config.BumpVersion(ns); err != nil {
			return err
		}
	}
	old := c.config.Table(ns)
	for _, id := range old.Owners() {
		local := c.shards[id].colls[ns]
		if _, ok := local.shardingIndex(refined); !ok {
			return noKeyIndexError(local.docs, refined, "refining the collection's shard key")
		}
		if req.AcceptNonUnique {
			continue
		}
		if err := checkUniqueIndexes(local, ns, refined); err != nil {
			return err
		}
	}
	zones, err := c.zones.readRanges(coll)
	if err != nil {
		return err
	}
	return c.refine(coll, refined, zones)
}

func (c *Collections) refine(coll catalog.Collection, refined catalog.KeyPattern, zones *catalog.ZoneSet) error {
	ns, old := coll.Namespace, c.config.Table(coll.Namespace)
	at, epoch := c.ids.Tick(), c.ids.NewObjectID()
	bounds := refinement{coll.Pattern, refined}
	var chunks []catalog.Chunk
	for chunk := range old.All() {
		var err error
		if chunk.Min, err = bounds.extend(chunk.Min); err != nil {
			return err
		}
		if chunk.Max, err = bounds.extend(chunk.Max); err != nil {
			return err
		}
		chunk.Jumbo = catalog.JumboUnset
		chunks = append(chunks, chunk)
	}
	table, err := catalog.NewRoutingTable(refined, epoch, at, slices.Values(chunks))
	if err != nil {
		return err
	}
	wider := catalog.NewZoneSet(refined)
	for _, r := range zones.Ranges() {
		if r.Min, err = bounds.extend(r.Min); err != nil {
			return err
		}
		if r.Max, err = bounds.extend(r.Max); err != nil {
			return err
		}
		if err := wider.Add(r); err != nil {
			return err
		}
	}
	c.log.writeChange(configShard, "refineCollectionShardKey.start", ns, bson.D{
		{Key: "oldKey", Value: coll.Pattern.Doc()}, {Key: "newKey", Value: refined.Doc()},
		{Key: "oldEpoch", Value: coll.Epoch}, {Key: "newEpoch", Value: epoch},
	})
	if err := c.zones.replaceRanges(ns, wider); err != nil {
		return err
	}
	c.config.setTable(ns, table)
	c.extendBoundsOnShards(ns, bounds)
	_, err = c.config.modify(configCollections, ns, func(doc *bson.D) {
		c.config.setEntryVersion(doc, epoch, at)
		setDocField(doc, "key", refined.Doc())
	})
	if err != nil {
		return err
	}
	c.log.writeChange(configShard, "refineCollectionShardKey.end", ns, nil)
	c.changes.note(Change{Kind: ChangeRefineKey, Namespace: ns, Operation: bson.D{
		{Key: "shardKey", Value: refined.Doc()}, {Key: "oldShardKey", Value: coll.Pattern.Doc()}}})
	return nil
}

// extendBoundsOnShards extends the bounds of pending range deletions and of virtual data.
func (c *Collections) extendBoundsOnShards(ns string, bounds refinement) {
	extend := func(k *catalog.Key) {
		if wider, err := bounds.extend(*k); err == nil {
			*k = wider
		}
	}
	for _, s := range c.shards {
		s.deletionsByRange = deletionIndex{}
		for _, task := range s.deletions {
			if task.coll.Namespace == ns {
				task.coll.Pattern = bounds.refined
				extend(&task.min)
				extend(&task.max)
				s.deletionsChanged = true
			}
		}
		if l := s.colls[ns]; l != nil {
			var wider virtualData
			for e := range l.virtual.all() {
				extend(&e.min)
				extend(&e.max)
				wider.add(e)
			}
			l.virtual = wider
		}
	}
}

// refinement extends bounds of the old key by the fields of the new key.
type refinement struct{ old, refined catalog.KeyPattern }

// extend appends MinKey for every new field, or MaxKey if the bound is the global maximum.
func (r refinement) extend(k catalog.Key) (catalog.Key, error) {
	if k.Equal(r.old.GlobalMax()) {
		return r.refined.GlobalMax(), nil
	}
	return r.refined.ExtendBound(r.old.Bound(k))
}
