package mock

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/order"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mongoerr"
)

// Insert inserts a document on the shard that owns its shard key. It creates the collection if it does
// not exist.
func (rq *Request) Insert(ns string, doc bson.Raw) error { return rq.InsertDocument(ns, doc, true) }

// InsertDocument is like Insert, but runs the collection's validator only if validate is true.
func (rq *Request) InsertDocument(ns string, doc bson.Raw, validate bool) error {
	known := rq.hasInsertTarget(ns)
	if !known {
		if err := rq.env.collections.checkInsert(ns); err != nil {
			return err
		}
	}
	doc, err := update.PrepareInsert(doc, rq.env.ids.NewObjectID)
	if err != nil {
		return err
	}
	if !known && rq.env.config.holdsCollection(ns) {
		if err := rq.ContactConfig(); err != nil {
			return err
		}
		return rq.env.configWriter().insert(ns, doc)
	}
	if err := rq.awaitWritable(ns); err != nil {
		return err
	}
	s, local, err := rq.admitInsert(ns, doc, validate)
	if err != nil {
		return err
	}
	if _, err := local.docs.Insert(doc); err != nil {
		return err
	}
	local.trim()
	rq.env.collections.wakeTails(local)
	rq.env.changes.noteDocument(ChangeInsert, ns, nil, doc)
	rq.shardsReached = 1
	rq.env.migrations.noteWrite(s, ns, nil, doc)
	rq.env.chunks.autoSplit(s, ns, doc)
	rq.env.ids.Tick()
	return nil
}

// checkInsert rejects inserts into views, invalid namespaces, and collections that only a resharding
// creates.
func (c *Collections) checkInsert(ns string) error {
	if err := c.checkNotView(ns); err != nil {
		return err
	}
	_, name, err := catalog.SplitNamespace(ns)
	if err != nil || !strings.HasPrefix(name, "system.resharding.") {
		return err
	}
	if _, sharded, err := c.config.ShardedEntry(ns); err != nil || sharded {
		return err
	}
	return mongoerr.New(mongoerr.NamespaceNotSharded, "Temporary resharding collection %s is not sharded", ns)
}

// insertTarget caches the shard for inserts into a collection. It is valid while the request holds the
// lock. It implies that the namespace is not a view. Inserts into an untracked collection all go to the
// same shard, without further checks.
type insertTarget struct {
	ns    string
	turn  uint64
	shard *shard // nil if each document must be routed
	local *localCollection
}

// hasInsertTarget reports whether the cached target is valid for a collection.
func (rq *Request) hasInsertTarget(ns string) bool {
	return rq.insertTarget.turn == rq.env.clock.Turn() && rq.insertTarget.ns == ns
}

// setInsertTarget caches the target of an insert. It caches no shard if the shard key determines the
// shard, or if the router must refresh its table.
func (rq *Request) setInsertTarget(ns string, s *shard, local *localCollection) {
	rq.insertTarget = insertTarget{ns: ns, turn: rq.env.clock.Turn()}
	if rq.env.config.tables[ns] == nil && rq.routerView.isFresh(ns) {
		rq.insertTarget.shard, rq.insertTarget.local = s, local
	}
}

// admitInsert returns the target of an insert after the checks of the shard and, if check is true, of
// the validator. The validator runs without the lock, so the target is determined again afterwards.
func (rq *Request) admitInsert(ns string, doc bson.Raw, check bool) (*shard, *localCollection, error) {
	var asked *filter.Filter
	for {
		s, local, err := rq.reachInsertTarget(ns, doc)
		if err != nil {
			return nil, nil, err
		}
		if !check || local.validator == asked {
			return s, local, nil
		}
		rules := local.validation()
		asked = rules.filter
		if err := rq.validate(rules, doc); err != nil {
			return nil, nil, err
		}
	}
}

// reachInsertTarget determines the target of an insert and checks that the shard is reachable.
func (rq *Request) reachInsertTarget(ns string, doc bson.Raw) (*shard, *localCollection, error) {
	known := rq.hasInsertTarget(ns)
	if known && rq.insertTarget.shard != nil {
		return rq.insertTarget.shard, rq.insertTarget.local, nil
	}
	if !known { // a view may have been created since the last check
		if err := rq.env.collections.checkNotView(ns); err != nil {
			return nil, nil, err
		}
	}
	s, local, err := rq.routeInsert(ns, doc)
	if err != nil {
		return nil, nil, err
	}
	if err := rq.contact(s.id); err != nil {
		return nil, nil, unacknowledgedError(s.id, err)
	}
	if !known {
		rq.setInsertTarget(ns, s, local)
	}
	return s, local, nil
}

// validate runs a collection's validator on a new document.
func (rq *Request) validate(rules validation, doc bson.Raw) error {
	var invalid error
	err := rq.computeUnlocked(func(ctx context.Context) (err error) {
		invalid, err = rules.validate(ctx, nil, doc)
		return err
	})
	return cmp.Or(err, invalid)
}

// routeInsert returns the owner of a new document and routes the insert by the router's cache.
func (rq *Request) routeInsert(ns string, doc bson.Raw) (*shard, *localCollection, error) {
	s, local, err := rq.findOwner(ns, doc)
	if err == nil {
		rq.routerView.routeKey(ns, rq.lastKey)
	}
	return s, local, err
}

// findOwner returns the shard and the local collection to which a document belongs. It sets rq.key to the
// encoded shard key.
func (rq *Request) findOwner(ns string, doc bson.Raw) (*shard, *localCollection, error) {
	coll, tracked, err := rq.env.config.TrackedEntry(ns)
	if err != nil {
		return nil, nil, err
	}
	if !tracked {
		rq.lastKey = rq.lastKey[:0]
		db := catalog.DatabaseOf(ns)
		primary, ok := rq.env.config.Primary(db)
		if s := rq.env.shards[primary]; ok && s != nil && s.colls[ns] != nil {
			return s, s.colls[ns], nil
		}
		if !rq.env.collections.Exists(ns) {
			if err := checkNewCollection(ns); err != nil {
				return nil, nil, err
			}
		}
		if err := rq.CreateDatabase(db, ""); err != nil {
			return nil, nil, err
		}
		primary, _ = rq.env.config.Primary(db)
		rq.routerView.countCreation()
		return rq.env.shards[primary], rq.env.collections.ensureOnPrimary(ns, nil), nil
	}
	key, err := coll.Pattern.AppendDocumentKey(slices.Grow(rq.lastKey[:0], 64), doc)
	if err != nil {
		return nil, nil, err
	}
	rq.lastKey = key
	s := rq.env.shards[rq.env.config.Table(ns).ShardOfBytes(key)]
	return s, s.colls[ns], nil
}

// UpdateRequest is one statement of an update command.
type UpdateRequest struct {
	Filter *filter.Filter
	Query  bson.Raw
	Update *update.Update
	Multi  bool
	Upsert bool
	// MayChangeKey reports whether the statement may move a document to another shard. A server rejects
	// this outside of a retryable write.
	MayChangeKey bool
	// Sort selects the document if only one is updated.
	Sort *order.Sort
	// BypassValidation skips the collection's validator.
	BypassValidation bool
	// Hint is the name or the key of an index.
	Hint bson.RawValue
	// ComputeReturned computes the document to return from the document before and after the change, one of which
	// may be nil. It is called before anything is written. It is nil if no document is returned.
	ComputeReturned func(ctx context.Context, before, after bson.Raw) (bson.Raw, error)
}

// UpdateResult is the result of an update.
type UpdateResult struct {
	Matched, Modified int
	// UpsertedID is the _id of the upserted document, if any.
	UpsertedID bson.RawValue
	Returned   bson.Raw // result of ComputeReturned for the last document; nil if there is none
}

func (req UpdateRequest) computeReturned(ctx context.Context, before, after bson.Raw) (bson.Raw, error) {
	if req.ComputeReturned == nil {
		return nil, nil
	}
	return req.ComputeReturned(ctx, before, after)
}

// Update applies one statement to the matching documents.
func (rq *Request) Update(ns string, req UpdateRequest) (UpdateResult, error) {
	return rq.update(ns, req, !req.Multi)
}

// maxUpsertTries is the maximum number of searches before an upsert, if the collection is written
// between a search without result and the insert.
const maxUpsertTries = 10

func (rq *Request) update(ns string, req UpdateRequest, justOne bool) (UpdateResult, error) {
	var result UpdateResult
	w := &writeStatement{
		rq: rq, ns: ns, query: store.Query{Filter: req.Filter, Hint: req.Hint}, sort: req.Sort, justOne: justOne,
		prepare: func(ctx context.Context, p *documentChange) error { return p.prepareUpdate(ctx, req) },
		apply:   func(p documentChange) error { return rq.applyUpdate(ns, req, p, &result) },
	}
	for tries := 1; ; tries++ {
		if err := w.run(); err != nil || result.Matched > 0 || !req.Upsert {
			return result, err
		}
		var doc, shown bson.Raw
		err := rq.computeUnlocked(func(ctx context.Context) (err error) {
			if doc, err = req.Update.BuildUpsertDocument(ctx, req.Query); err == nil {
				shown, err = req.computeReturned(ctx, nil, doc)
			}
			return err
		})
		if err != nil {
			return result, err
		}
		if tries < maxUpsertTries && !w.isUnchanged() {
			continue
		}
		if doc, err = update.PrepareInsert(doc, rq.env.ids.NewObjectID); err != nil {
			return result, err
		}
		if err := rq.checkUpserted(ns, doc); err != nil {
			return result, err
		}
		if err := rq.InsertDocument(ns, doc, !req.BypassValidation); err != nil {
			return result, err
		}
		result.Returned = shown
		result.UpsertedID = doc.Lookup("_id")
		return result, nil
	}
}

// prepareUpdate computes the updated document.
func (d *documentChange) prepareUpdate(ctx context.Context, req UpdateRequest) error {
	var err error
	if d.after, d.changed, err = req.Update.ApplyContext(ctx, d.doc); err != nil {
		return err
	}
	if d.returned, err = req.computeReturned(ctx, d.doc, d.after); err != nil || !d.changed || req.BypassValidation {
		return err
	}
	d.validationErr, err = d.rules.validate(ctx, d.doc, d.after)
	return err
}

func (rq *Request) applyUpdate(ns string, req UpdateRequest, p documentChange, result *UpdateResult) error {
	result.Matched++
	result.Returned = p.returned
	if !p.changed {
		return nil
	}
	if err := rq.env.backgroundRequest().checkKeyChange(ns, req, p, p.after); err != nil {
		return err
	}
	if err := rq.replaceDocument(ns, p, p.after, !req.BypassValidation); err != nil {
		return err
	}
	result.Modified++
	rq.env.changes.noteUpdate(req.Update, ns, p.doc, p.after)
	return nil
}

// checkNoArrayInKey fails if a shard key field of the updated or upserted document is an array or inside
// one.
func checkNoArrayInKey(key catalog.KeyPattern, after bson.Raw) error {
	field := key.ArrayField(after)
	if field == "" {
		return nil
	}
	return mongoerr.New(mongoerr.NotSingleValueField,
		"After applying the update to the document, the field '%s' was found to be an array or array descendant.", field)
}

// checkUpserted rejects an upserted document with an error other than an insert's.
func (rq *Request) checkUpserted(ns string, doc bson.Raw) error {
	coll, sharded, err := rq.env.config.ShardedEntry(ns)
	if err != nil || !sharded {
		return err
	}
	return checkNoArrayInKey(coll.Pattern, doc)
}

// checkKeyChange rejects changes of the shard key that the server rejects.
func (rq *Request) checkKeyChange(ns string, req UpdateRequest, p documentChange, after bson.Raw) error {
	if p.shard == nil {
		return nil
	}
	coll, sharded, err := rq.env.config.ShardedEntry(ns)
	if err != nil || !sharded {
		return err
	}
	if err := checkNoArrayInKey(coll.Pattern, after); err != nil || req.MayChangeKey && !req.Multi {
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

// replaceDocument writes the new version of a document. If the shard key now belongs to another shard,
// the document moves there.
func (rq *Request) replaceDocument(ns string, p documentChange, after bson.Raw, check bool) error {
	if p.shard == nil {
		return rq.env.configWriter().replace(ns, p, after)
	}
	s, local, err := rq.findOwner(ns, after)
	if err != nil {
		return err
	}
	if check && local.validator == p.rules.filter {
		err = p.validationErr
	} else if check {
		var invalid error
		invalid, err = local.validation().validate(context.Background(), p.doc, after)
		err = cmp.Or(err, invalid)
	}
	if err != nil {
		return err
	}
	if s != p.shard {
		rq.routerView.routeKey(ns, rq.lastKey)
		if err := rq.contact(s.id); err != nil {
			return unacknowledgedError(s.id, err)
		}
		if _, err := local.docs.Insert(after); err != nil {
			return err
		}
		p.docs.Delete(p.record)
		rq.env.migrations.noteWrite(p.shard, ns, p.doc, nil)
		rq.env.migrations.noteWrite(s, ns, nil, after)
		rq.env.ids.Tick()
		return nil
	}
	if err := p.docs.Update(p.record, after); err != nil {
		return err
	}
	rq.env.migrations.noteWrite(s, ns, p.doc, after)
	rq.env.chunks.autoSplit(s, ns, after)
	rq.env.ids.Tick()
	return nil
}

// Delete deletes the matching documents, or only the first one, and returns their number.
func (rq *Request) Delete(ns string, q store.Query, justOne bool) (int, error) {
	deleted := 0
	w := &writeStatement{rq: rq, ns: ns, query: q, justOne: justOne, apply: func(p documentChange) error {
		err := rq.env.backgroundRequest().removeDocument(ns, p)
		if err == nil {
			deleted++
		}
		return err
	}}
	err := w.run()
	return deleted, err
}

func (rq *Request) removeDocument(ns string, p documentChange) error {
	if p.shard == nil {
		if err := checkConfigDelete(ns); err != nil {
			return err
		}
	}
	p.docs.Delete(p.record)
	if p.shard != nil {
		rq.env.migrations.noteWrite(p.shard, ns, p.doc, nil)
		rq.env.changes.noteDocument(ChangeDelete, ns, p.doc, nil)
	}
	rq.env.ids.Tick()
	return nil
}

// FindAndModifyRequest is a findAndModify, which changes the first matching document in sort order.
type FindAndModifyRequest struct {
	UpdateRequest
	Remove bool
}

// FindAndModify updates or removes one document.
func (rq *Request) FindAndModify(ns string, req FindAndModifyRequest) (UpdateResult, error) {
	if !req.Remove {
		return rq.update(ns, req.UpdateRequest, true)
	}
	var result UpdateResult
	w := &writeStatement{
		rq: rq, ns: ns, query: store.Query{Filter: req.Filter, Hint: req.Hint}, sort: req.Sort, justOne: true,
		prepare: func(ctx context.Context, p *documentChange) (err error) {
			p.returned, err = req.computeReturned(ctx, p.doc, nil)
			return err
		},
		apply: func(p documentChange) error {
			if err := rq.env.backgroundRequest().removeDocument(ns, p); err != nil {
				return err
			}
			result.Matched++
			result.Returned = p.returned
			return nil
		},
	}
	err := w.run()
	return result, err
}
