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

// Read is one shard's part of a query. It is captured with the lock held and shows the shard's data at
// that time. Using it needs no lock.
type Read struct {
	// Shard is "config" for the config server.
	Shard catalog.ShardID
	// Host is the shard's connection string.
	Host string
	// Plan is nil before PlanReads.
	Plan *store.Plan
	// ShardKey are the fields of the ownership filter that excludes orphans; nil if the collection is
	// not sharded or the query contains the whole key.
	ShardKey  []string
	target    target
	liveDocs  *store.Collection // the live collection of the snapshot target.docs
	chunks    *chunkView        // for config.chunks
	chunkDocs iter.Seq[bson.Raw]
	rules     validation // the validation rules of the collection
	// secondary tracks the documents lost on a secondary; nil for a primary.
	secondary *SecondaryRead
}

// CaptureReads captures the data of a query: a part for each shard that may have matching documents. It returns
// none if the collection does not exist.
func (rq *Request) CaptureReads(ns string, filter *filter.Filter) ([]Read, error) {
	return rq.captureReads(ns, filter, false)
}

// captureReads implements CaptureReads; many marks a statement that may write many documents.
func (rq *Request) captureReads(ns string, filter *filter.Filter, many bool) ([]Read, error) {
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

// CapturePartialReads is like CaptureReads, but skips unavailable shards and reports whether there were any.
func (rq *Request) CapturePartialReads(ns string, filter *filter.Filter) (reads []Read, partial bool, err error) {
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

// FindPoint returns the documents that match a filter which requires one value of one field, in the
// order of a Plan. ok is false if this takes more than an index lookup.
func (rq *Request) FindPoint(ns string, filter *filter.Filter) (docs []bson.Raw, ok bool, err error) {
	if ns == chunksNamespace {
		return nil, false, nil
	}
	rq.routerView.route(ns, filter, false)
	targets := rq.env.locator.targets(ns, filter)
	docs = make([]bson.Raw, 0, 1)
	for _, t := range targets {
		from := len(docs)
		if docs, ok = t.docs.FindByEquality(filter, docs); !ok {
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
			t.local.queries++
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

// validation returns the validation rules for a target's documents.
func (t target) validation() validation {
	if t.local == nil {
		return validation{}
	}
	return t.local.validation()
}

// ShardsReached returns the number of shards to which the last query or insert was sent.
func (rq *Request) ShardsReached() int { return rq.shardsReached }

// chunkReads captures config.chunks, whose documents are generated from the routing tables when it is
// read.
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

// planChunks plans a query of config.chunks. It reads, in table order, the chunks that an index would
// not exclude.
func (r Read) planChunks(q store.Query) (Read, error) {
	like := store.New()
	for _, spec := range r.chunks.format.indexes()[1:] {
		if err := like.CreateIndex(spec); err != nil {
			return r, err
		}
	}
	if _, err := like.Plan(q); err != nil { // the hint may be invalid
		return r, err
	}
	natural := store.Query{Filter: q.Filter, Sort: q.Sort}
	order := r.chunks.format.orderOf(q.Filter, q.Sort)
	if order != noOrder {
		natural.Sort = nil
	}
	var err error
	r.Plan, err = store.New().Plan(natural)
	r.chunkDocs = r.chunks.documents(q.Filter, order)
	return r, err
}

// Documents iterates over the matching documents that belong to the shard, in the order of the plan, and
// counts. It ends with the cause of ctx when ctx ends.
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

// chunkDocuments is Documents for config.chunks.
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

// target is a collection on one node to which a request is sent.
type target struct {
	docs  *store.Collection
	shard *shard           // nil for the config database
	local *localCollection // nil for the config database
	coll  catalog.Collection
	table *catalog.RoutingTable // nil unless sharded
}

// owns reports whether the target's shard owns one of its documents.
func (t target) owns(doc bson.Raw) bool {
	if t.table == nil {
		return true
	}
	var room [64]byte
	key, err := t.coll.Pattern.AppendDocumentKey(room[:0], doc)
	return err == nil && t.table.ShardOfBytes(key) == t.shard.id
}
