package mock

import (
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// place is one document where it lies.
type place struct {
	docs   *store.Collection
	shard  *shard // nil for the config database
	record store.RecordID
	doc    bson.Raw
}

// Documents yields the documents of a namespace that a router returns: each
// from the shard that owns it, orphans never. A nil filter gives all. No node
// is asked for them.
func (c *Cluster) Documents(ns string, filter *store.Filter) iter.Seq[bson.Raw] {
	return func(yield func(bson.Raw) bool) {
		for p := range c.places(ns, filter) {
			if !yield(p.doc) {
				return
			}
		}
	}
}

// Documents is that of the cluster, as a read of the command.
func (rq *Request) Documents(ns string, filter *store.Filter) iter.Seq[bson.Raw] {
	if ns != chunksNamespace {
		rq.reached = len(rq.c.targets(ns, filter))
	}
	return rq.c.Documents(ns, filter)
}

// CheckFilter runs a filter whose expression may fail ($expr) over the
// documents it will be asked about, and returns the first failure. Other
// filters cost nothing.
func (rq *Request) CheckFilter(ns string, filter *store.Filter) error {
	if !filter.CanFail() {
		return nil
	}
	reads, err := rq.Reads(ns, store.Query{Filter: filter})
	if err != nil {
		return err
	}
	for _, r := range reads {
		for _, err := range r.Documents(&store.Counts{}) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// places finds the documents that match, wherever the namespace lives.
func (c *Cluster) places(ns string, filter *store.Filter) iter.Seq[place] {
	if ns == chunksNamespace {
		return c.config.chunkPlaces(filter, false)
	}
	return func(yield func(place) bool) {
		for _, t := range c.targets(ns, filter) {
			for record, doc := range t.docs.Find(filter) {
				if t.owns(doc) && !yield(place{docs: t.docs, shard: t.shard, record: record, doc: doc}) {
					return
				}
			}
		}
	}
}

// target is one store that a request goes to.
type target struct {
	docs  *store.Collection
	shard *shard
	coll  catalog.Collection
	table *catalog.RoutingTable // nil unless sharded
}

// targets routes a request: a sharded collection's go to the owner of the
// key when the filter names the whole key, else to every owner.
func (c *Cluster) targets(ns string, filter *store.Filter) []target {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return nil
	}
	if c.config.holds(ns) {
		if c.config.collections[ns] == nil {
			return nil
		}
		return []target{{docs: c.config.collections[ns]}}
	}
	coll, tracked, err := c.config.Tracked(ns)
	if err != nil {
		return nil
	}
	if !tracked {
		primary, ok := c.config.Primary(db)
		if !ok || c.shards[primary].colls[ns] == nil {
			return nil
		}
		return []target{{docs: c.shards[primary].colls[ns].docs, shard: c.shards[primary]}}
	}
	table := c.config.tables[ns]
	var targets []target
	for _, id := range owners(table, coll.Pattern, filter) {
		if l := c.shards[id].colls[ns]; l != nil {
			targets = append(targets, target{docs: l.docs, shard: c.shards[id], coll: coll, table: table})
		}
	}
	return targets
}

// owners returns the shards that can own documents which match: those whose
// chunks share keys with what the filter says about the shard key.
func owners(table *catalog.RoutingTable, p catalog.KeyPattern, filter *store.Filter) []catalog.ShardID {
	if key, ok := shardKeyOf(filter, p); ok {
		return []catalog.ShardID{table.Find(key).Shard}
	}
	ranges, ok := filter.KeyRanges(p.Doc())
	if !ok {
		return table.Owners()
	}
	var ids []catalog.ShardID
	for _, r := range ranges {
		for _, id := range table.OwnersIn(catalog.Place(r.From), catalog.Place(r.To)) {
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	if len(ids) == 0 { // nothing can match: any shard may say so
		return table.Owners()[:1]
	}
	return ids
}

// shardKeyOf reads the whole shard key from a filter's equalities.
func shardKeyOf(filter *store.Filter, p catalog.KeyPattern) (catalog.Key, bool) {
	var query bson.D
	for _, field := range p.Fields() {
		v, ok := filter.Equality(field)
		if !ok {
			return catalog.Key{}, false
		}
		query = append(query, bson.E{Key: field, Value: bson.D{{Key: "$eq", Value: v}}})
	}
	raw, err := bson.Marshal(query)
	if err != nil {
		return catalog.Key{}, false
	}
	return p.QueryKey(raw)
}

// Targets returns the shards that a request for a namespace goes to.
func (c *Cluster) Targets(ns string, filter *store.Filter) []catalog.ShardID {
	var ids []catalog.ShardID
	for _, t := range c.targets(ns, filter) {
		if t.shard != nil {
			ids = append(ids, t.shard.id)
		}
	}
	return ids
}

// owns reports whether the target's shard owns a document it holds.
func (t target) owns(doc bson.Raw) bool {
	if t.table == nil {
		return true
	}
	key, err := t.coll.Pattern.DocumentKey(doc)
	return err == nil && t.table.Find(key).Shard == t.shard.id
}

// Insert stores a document where its shard key belongs. The namespace is made
// when it is missing.
func (rq *Request) Insert(ns string, doc bson.Raw) error { return rq.InsertChecked(ns, doc, true) }

// InsertChecked is Insert that asks the collection's validator only if check is
// true.
func (rq *Request) InsertChecked(ns string, doc bson.Raw, check bool) error {
	if err := rq.c.collections.refuseView(ns); err != nil {
		return err
	}
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	doc, err = store.PrepareInsert(doc, rq.c.NewObjectID)
	if err != nil {
		return err
	}
	if rq.c.config.holds(ns) {
		if err := rq.AskConfig(); err != nil {
			return err
		}
		return rq.c.Background().insertConfig(ns, doc)
	}
	s, local, err := rq.destination(ns, db, doc)
	if err != nil {
		return err
	}
	if err := rq.ask(s.id); err != nil {
		return unacknowledged(s.id, err)
	}
	if check {
		if err := local.validate(nil, doc); err != nil {
			return err
		}
	}
	if _, err := local.docs.Insert(doc); err != nil {
		return err
	}
	local.trim()
	rq.c.collections.wakeTails(local)
	rq.c.changes.noteDocument(ChangeInsert, ns, nil, doc)
	rq.reached = 1
	rq.c.migrations.noteWrite(s, ns, nil, doc)
	rq.c.Chunks().autoSplit(s, ns, doc)
	rq.c.Tick()
	return nil
}

// destination returns the shard and its local collection that a new document
// belongs to.
func (rq *Request) destination(ns, db string, doc bson.Raw) (*shard, *localCollection, error) {
	coll, tracked, err := rq.c.config.Tracked(ns)
	if err != nil {
		return nil, nil, err
	}
	if !tracked {
		if !rq.c.collections.Exists(ns) {
			if err := checkNewCollection(ns); err != nil {
				return nil, nil, err
			}
		}
		if err := rq.CreateDatabase(db, ""); err != nil {
			return nil, nil, err
		}
		primary, _ := rq.c.config.Primary(db)
		return rq.c.shards[primary], rq.c.collections.localPrimary(ns, nil), nil
	}
	key, err := coll.Pattern.DocumentKey(doc)
	if err != nil {
		return nil, nil, err
	}
	s := rq.c.shards[rq.c.config.tables[ns].Find(key).Shard]
	return s, s.colls[ns], nil
}

// UpdateRequest is one statement of an update command.
type UpdateRequest struct {
	Filter *store.Filter
	Query  bson.Raw
	Update *store.Update
	Multi  bool
	Upsert bool
	// Retryable: the statement may move a document to another shard. Without
	// a retryable write the server refuses that.
	Retryable bool
	// Sort says which document comes first where only one is updated.
	Sort *store.Sort
	// Unchecked leaves the collection's validator out.
	Unchecked bool
	// Hint is an index's name or key.
	Hint bson.RawValue
}

// UpdateResult counts what an update did.
type UpdateResult struct {
	Matched, Modified int
	// UpsertedID is the _id of the document that was inserted, if any.
	UpsertedID bson.RawValue
	// Before and After are the last document touched, nil where there is none.
	Before, After bson.Raw
}

// Update applies one statement to the documents that match.
func (rq *Request) Update(ns string, req UpdateRequest) (UpdateResult, error) {
	found, err := rq.find(ns, store.Query{Filter: req.Filter, Hint: req.Hint}, req.Sort, !req.Multi)
	if err != nil {
		return UpdateResult{}, err
	}
	return rq.updatePlaces(ns, req, found)
}

// find returns all places that match, or the first in the order asked for.
func (rq *Request) find(ns string, q store.Query, sort *store.Sort, justOne bool) ([]place, error) {
	if err := rq.c.collections.refuseView(ns); err != nil {
		return nil, err
	}
	reads, err := rq.Reads(ns, q)
	if err != nil {
		return nil, err
	}
	var found []place
	for _, r := range reads {
		for f, err := range r.Documents(&store.Counts{}) {
			if err != nil {
				return nil, err
			}
			found = append(found, place{docs: r.target.docs, shard: r.target.shard, record: f.ID, doc: f.Doc})
			if justOne && sort.IsEmpty() {
				return found, nil
			}
		}
	}
	if !sort.IsEmpty() {
		slices.SortStableFunc(found, func(a, b place) int { return sort.Compare(a.doc, b.doc) })
	}
	if justOne {
		found = found[:min(1, len(found))]
	}
	return found, nil
}

func (rq *Request) updatePlaces(ns string, req UpdateRequest, found []place) (UpdateResult, error) {
	var result UpdateResult
	for _, p := range found {
		after, changed, err := req.Update.Apply(p.doc)
		if err != nil {
			return result, err
		}
		result.Matched++
		result.Before, result.After = p.doc, after
		if !changed {
			continue
		}
		if err := rq.c.Background().checkKeyChange(ns, req, p, after); err != nil {
			return result, err
		}
		if err := rq.replace(ns, p, after, !req.Unchecked); err != nil {
			return result, err
		}
		result.Modified++
		kind := ChangeUpdate
		if req.Update.IsReplacement() {
			kind = ChangeReplace
		}
		rq.c.changes.noteDocument(kind, ns, p.doc, after)
	}
	if len(found) > 0 || !req.Upsert {
		return result, nil
	}
	doc, err := req.Update.Upsert(req.Query)
	if err != nil {
		return result, err
	}
	if doc, err = store.PrepareInsert(doc, rq.c.NewObjectID); err != nil {
		return result, err
	}
	if err := rq.InsertChecked(ns, doc, !req.Unchecked); err != nil {
		return result, err
	}
	result.After = doc
	result.UpsertedID = doc.Lookup("_id")
	return result, nil
}

// checkKeyChange refuses updates of the shard key that the server refuses.
func (rq *Request) checkKeyChange(ns string, req UpdateRequest, p place, after bson.Raw) error {
	if p.shard == nil || req.Retryable && !req.Multi {
		return nil
	}
	coll, sharded, err := rq.c.config.shardedEntry(ns)
	if err != nil || !sharded {
		return err
	}
	was, err := coll.Pattern.DocumentKey(p.doc)
	if err != nil {
		return err
	}
	is, err := coll.Pattern.DocumentKey(after)
	switch {
	case err != nil:
		return err
	case was.Equal(is):
		return nil
	case req.Multi:
		return mongoerr.New(mongoerr.InvalidOptions, "Multi-update operations are not allowed when updating the shard key "+
			"field.")
	}
	return mongoerr.New(mongoerr.IllegalOperation, "Must run update to shard key field in a multi-statement "+
		"transaction or with retryWrites: true.")
}

// replace writes a document's new form; when its shard key has changed hands
// it moves to the owner.
func (rq *Request) replace(ns string, p place, after bson.Raw, check bool) error {
	if p.shard == nil {
		return rq.c.Background().replaceConfig(ns, p, after)
	}
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	s, local, err := rq.destination(ns, db, after)
	if err != nil {
		return err
	}
	if check {
		if err := local.validate(p.doc, after); err != nil {
			return err
		}
	}
	if s != p.shard {
		if err := rq.ask(s.id); err != nil {
			return unacknowledged(s.id, err)
		}
		if _, err := local.docs.Insert(after); err != nil {
			return err
		}
		p.docs.Delete(p.record)
		rq.c.migrations.noteWrite(p.shard, ns, p.doc, nil)
		rq.c.migrations.noteWrite(s, ns, nil, after)
		rq.c.Tick()
		return nil
	}
	if err := p.docs.Update(p.record, after); err != nil {
		return err
	}
	rq.c.migrations.noteWrite(s, ns, p.doc, after)
	rq.c.Chunks().autoSplit(s, ns, after)
	rq.c.Tick()
	return nil
}

// Delete removes the documents that match, or the first, and counts them.
func (rq *Request) Delete(ns string, q store.Query, justOne bool) (int, error) {
	found, err := rq.find(ns, q, nil, justOne)
	if err != nil {
		return 0, err
	}
	for _, p := range found {
		if err := rq.c.Background().remove(ns, p); err != nil {
			return 0, err
		}
	}
	return len(found), nil
}

func (rq *Request) remove(ns string, p place) error {
	if p.shard == nil {
		if err := checkConfigDelete(ns); err != nil {
			return err
		}
	}
	p.docs.Delete(p.record)
	if p.shard != nil {
		rq.c.migrations.noteWrite(p.shard, ns, p.doc, nil)
		rq.c.changes.noteDocument(ChangeDelete, ns, p.doc, nil)
	}
	rq.c.Tick()
	return nil
}

// FindOneRequest is a findAndModify: the first match in the order given.
type FindOneRequest struct {
	UpdateRequest
	Remove bool
}

// FindAndModify updates or removes one document.
func (rq *Request) FindAndModify(ns string, req FindOneRequest) (UpdateResult, error) {
	found, err := rq.find(ns, store.Query{Filter: req.Filter, Hint: req.Hint}, req.Sort, true)
	if err != nil {
		return UpdateResult{}, err
	}
	if !req.Remove {
		return rq.updatePlaces(ns, req.UpdateRequest, found)
	}
	var result UpdateResult
	for _, p := range found {
		if err := rq.c.Background().remove(ns, p); err != nil {
			return result, err
		}
		result.Matched++
		result.Before = p.doc
	}
	return result, nil
}
