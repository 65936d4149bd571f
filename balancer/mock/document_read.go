package mock

import (
	"iter"
	"slices"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// Read is one shard's part of a query.
type Read struct {
	// Shard is "config" for the config server.
	Shard catalog.ShardID
	// Host is the shard's connection string.
	Host string
	Plan *store.Plan
	// ShardKey are the fields by which the shard leaves orphans out; nil when
	// the collection is not sharded or the query gives the whole key.
	ShardKey []string
	target   target
	chunks   iter.Seq[place] // of config.chunks
}

// Reads plans a query: a part for each shard that can have documents that
// match. A collection that does not exist has none.
func (rq *Request) Reads(ns string, q store.Query) ([]Read, error) {
	if ns == chunksNamespace {
		return rq.chunkReads(q)
	}
	targets := rq.c.targets(ns, q.Filter)
	if err := rq.askTargets(targets); err != nil {
		return nil, err
	}
	return rq.planTargets(targets, q)
}

// PartialReads is Reads that leaves out the shards which can't be reached, and
// reports whether there were such.
func (rq *Request) PartialReads(ns string, q store.Query) (reads []Read, partial bool, err error) {
	if ns == chunksNamespace {
		reads, err = rq.chunkReads(q)
		return reads, false, err
	}
	targets := rq.c.targets(ns, q.Filter)
	all := len(targets)
	targets = slices.DeleteFunc(targets, func(t target) bool { return rq.askTargets([]target{t}) != nil })
	reads, err = rq.planTargets(targets, q)
	return reads, len(targets) < all, err
}

func (rq *Request) planTargets(targets []target, q store.Query) ([]Read, error) {
	var reads []Read
	for _, t := range targets {
		plan, err := t.docs.Plan(q)
		if err != nil {
			return nil, err
		}
		r := Read{Shard: configShard, Plan: plan, target: t}
		if t.shard != nil {
			r.Shard = t.shard.id
		}
		r.Host = rq.c.HostOf(r.Shard)
		if t.table != nil && !q.Filter.WholeKey(t.coll.Pattern.Fields()) {
			r.ShardKey = t.coll.Pattern.Fields()
		}
		reads = append(reads, r)
	}
	rq.reached = len(reads)
	return reads, nil
}

// Reached returns how many shards the newest query or insert went to.
func (rq *Request) Reached() int { return rq.reached }

// chunkReads plans a query of config.chunks, which is made from the routing
// tables when asked for: all of it is looked through, in the order of the
// tables.
func (rq *Request) chunkReads(q store.Query) ([]Read, error) {
	if err := rq.AskConfig(); err != nil {
		return nil, err
	}
	like := store.New()
	for _, spec := range chunkIndexes()[1:] {
		if err := like.CreateIndex(spec); err != nil {
			return nil, err
		}
	}
	if _, err := like.Plan(q); err != nil { // the hint may be wrong
		return nil, err
	}
	natural := store.Query{Filter: q.Filter, Sort: q.Sort}
	ordered, newestFirst := chunkOrder(q.Filter, q.Sort)
	if ordered {
		natural.Sort = nil
	}
	plan, err := store.New().Plan(natural)
	if err != nil {
		return nil, err
	}
	return []Read{{Shard: configShard, Host: rq.c.HostOf(configShard), Plan: plan,
		chunks: rq.c.config.chunkPlaces(q.Filter, newestFirst)}}, nil
}

// Documents yields what matches and belongs to the shard, in the plan's order,
// and counts.
func (r Read) Documents(counts *store.Counts) iter.Seq2[store.Found, error] {
	return func(yield func(store.Found, error) bool) {
		if r.chunks != nil {
			for p := range r.chunks {
				counts.Docs++
				counts.Found++
				counts.Matched++
				counts.Owned++
				if !yield(store.Found{Doc: p.doc}, nil) {
					return
				}
			}
			return
		}
		for found, err := range r.Plan.Run(counts) {
			if err == nil && !r.target.owns(found.Doc) {
				continue
			}
			counts.Owned++
			if !yield(found, err) || err != nil {
				return
			}
		}
	}
}
