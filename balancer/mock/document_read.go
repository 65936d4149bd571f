package mock

import (
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
)

// Read is one shard's part of a query. It shows what the shard held when it was
// captured, with the lock held; all that follows needs no lock.
type Read struct {
	// Shard is "config" for the config server.
	Shard catalog.ShardID
	// Host is the shard's connection string.
	Host string
	// Plan is nil until the read is planned.
	Plan *store.Plan
	// ShardKey are the fields by which the shard leaves orphans out; nil when
	// the collection is not sharded or the query gives the whole key.
	ShardKey  []string
	target    target
	liveDocs  *store.Collection // that target.docs is a snapshot of
	chunks    *chunkView        // of config.chunks
	chunkDocs iter.Seq[bson.Raw]
	rules     validation // of the collection there
	// secondary is what it loses on a secondary; nil on a primary.
	secondary *SecondaryRead
}

// Reads captures what a query is about: a part for each shard that can have
// documents that match. A collection that does not exist has none.
func (rq *Request) Reads(ns string, filter *filter.Filter) ([]Read, error) {
	return rq.reads(ns, filter, false)
}

// reads is Reads, of a statement that writes to many documents, too.
func (rq *Request) reads(ns string, filter *filter.Filter, many bool) ([]Read, error) {
	if ns == chunksNamespace {
		return rq.chunkReads()
	}
	rq.routerView.route(ns, filter, many)
	targets := rq.env.locator.targets(ns, filter)
	if err := rq.contactTargets(targets, rq.contact); err != nil {
		return nil, err
	}
	return rq.capture(targets), nil
}

// PartialReads is Reads that leaves out the shards which can't be reached, and
// reports whether there were such.
func (rq *Request) PartialReads(ns string, filter *filter.Filter) (reads []Read, partial bool, err error) {
	if ns == chunksNamespace {
		reads, err = rq.chunkReads()
		return reads, false, err
	}
	rq.routerView.route(ns, filter, false)
	targets := rq.env.locator.targets(ns, filter)
	all := len(targets)
	targets = slices.DeleteFunc(targets, func(t target) bool { return rq.contactTargets([]target{t}, rq.contact) != nil })
	return rq.capture(targets), len(targets) < all, nil
}

// FindPoint returns the documents that match a filter which asks for one value of one
// field, as the plans of Reads would find them, where that takes no more than a
// look at an index; ok is false where it may take more.
func (rq *Request) FindPoint(ns string, filter *filter.Filter) (docs []bson.Raw, ok bool, err error) {
	if ns == chunksNamespace {
		return nil, false, nil
	}
	rq.routerView.route(ns, filter, false)
	targets := rq.env.locator.targets(ns, filter)
	docs = make([]bson.Raw, 0, 1)
	for _, t := range targets {
		from := len(docs)
		if docs, ok = t.docs.FindPoint(filter, docs); !ok {
			return nil, false, nil
		}
		found := docs[from:]
		docs = docs[:from]
		for _, doc := range found {
			if t.owns(doc) {
				docs = append(docs, doc)
			}
		}
	}
	if !ok {
		return nil, false, nil
	}
	if err := rq.contactTargets(targets, rq.contact); err != nil {
		return nil, false, err
	}
	for _, t := range targets {
		if t.local != nil {
			t.local.reads++
		}
	}
	rq.shardsReached = len(targets)
	return docs, true, nil
}

func (rq *Request) capture(targets []target) []Read {
	reads := make([]Read, len(targets))
	for i, t := range targets {
		reads[i] = rq.env.locator.capture(t)
		if rq.secondary.addTarget(t) {
			reads[i].secondary = rq.secondary
		}
	}
	rq.shardsReached = len(reads)
	return reads
}

// validation returns the validator of a target's documents.
func (t target) validation() validation {
	if t.local == nil {
		return validation{}
	}
	return t.local.validation()
}

// ShardsReached returns the number of shards that the last query or insert was sent to.
func (rq *Request) ShardsReached() int { return rq.shardsReached }

// chunkReads captures config.chunks, which is made from the routing tables when
// it is read.
func (rq *Request) chunkReads() ([]Read, error) {
	if err := rq.ContactConfig(); err != nil {
		return nil, err
	}
	host := rq.env.addresses.HostOf(configShard)
	return []Read{{Shard: configShard, Host: host, chunks: rq.env.configChunks.view()}}, nil
}

// PlanReads returns the captured reads with the plans of a query.
func PlanReads(reads []Read, q store.Query) ([]Read, error) {
	planned := make([]Read, len(reads))
	for i, r := range reads {
		var err error
		if t := r.target; t.table != nil && !q.Filter.FixesWholeKey(t.coll.Pattern.Fields()) {
			r.ShardKey = t.coll.Pattern.Fields()
		}
		q.Shape.ShardKey = r.ShardKey
		if r.chunks != nil {
			r, err = r.planChunks(q)
		} else {
			r.Plan, err = r.target.docs.Plan(q)
		}
		if err != nil {
			return nil, err
		}
		planned[i] = r
	}
	return planned, nil
}

// planChunks plans a query of config.chunks: what its indexes would not leave out is
// looked through, in the order of the tables.
func (r Read) planChunks(q store.Query) (Read, error) {
	like := store.New()
	for _, spec := range r.chunks.form.indexes()[1:] {
		if err := like.CreateIndex(spec); err != nil {
			return r, err
		}
	}
	if _, err := like.Plan(q); err != nil { // the hint may be wrong
		return r, err
	}
	natural := store.Query{Filter: q.Filter, Sort: q.Sort}
	order := r.chunks.form.orderOf(q.Filter, q.Sort)
	if order != noOrder {
		natural.Sort = nil
	}
	var err error
	r.Plan, err = store.New().Plan(natural)
	r.chunkDocs = r.chunks.documents(q.Filter, order)
	return r, err
}

// Documents yields what matches and belongs to the shard, in the plan's order,
// and counts. It ends with ctx, with its cause.
func (r Read) Documents(ctx context.Context, counts *store.Counts) iter.Seq2[store.Found, error] {
	if r.chunkDocs != nil {
		return r.chunkDocuments(ctx, counts)
	}
	return func(yield func(store.Found, error) bool) {
		for found, err := range r.Plan.Run(ctx, counts) {
			if err == nil && (!r.target.owns(found.Doc) || !r.secondary.stillHas(found.Doc)) {
				continue
			}
			counts.Owned++
			if !yield(found, err) || err != nil {
				return
			}
		}
	}
}

// chunkDocuments is Documents of config.chunks.
func (r Read) chunkDocuments(ctx context.Context, counts *store.Counts) iter.Seq2[store.Found, error] {
	return func(yield func(store.Found, error) bool) {
		test := r.Plan.Filter().Tester(ctx)
		for doc := range r.chunkDocs {
			if ok, err := test(doc); err != nil || !ok {
				if err != nil {
					yield(store.Found{}, err)
					return
				}
				continue
			}
			counts.Docs++
			counts.Found++
			counts.Matched++
			counts.Owned++
			if !yield(store.Found{Doc: doc}, nil) {
				return
			}
		}
	}
}

// target is one store that a request goes to.
type target struct {
	docs  *store.Collection
	shard *shard           // nil for the config database
	local *localCollection // that has the documents; nil for the config database
	coll  catalog.Collection
	table *catalog.RoutingTable // nil unless sharded
}

// owns reports whether the target's shard owns a document it holds.
func (t target) owns(doc bson.Raw) bool {
	if t.table == nil {
		return true
	}
	var room [64]byte
	key, err := t.coll.Pattern.AppendDocumentKey(room[:0], doc)
	return err == nil && t.table.OwnerOf(key) == t.shard.id
}
