package reads

import (
	"bytes"
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mock/store/quota"
)

// sourceOf returns a source of documents in memory.
func sourceOf(docs []bson.Raw) call.Source {
	return func(context.Context) iter.Seq2[bson.Raw, error] {
		return func(yield func(bson.Raw, error) bool) {
			for _, doc := range docs {
				if !yield(doc, nil) {
					return
				}
			}
		}
	}
}

// OpenQuery captures the data that a query reads.
func OpenQuery(c *call.Call, q call.Query) (call.Source, error) {
	if call.IsView(c, q.NS) {
		return openView(c, q)
	}
	reads, err := ReachableReads(c, q)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) iter.Seq2[bson.Raw, error] {
		return func(yield func(bson.Raw, error) bool) {
			planned, err := mock.PlanReads(reads, q.StoreQuery())
			if err != nil {
				yield(nil, err)
				return
			}
			runQuery(ctx, q, planned)(yield)
		}
	}, nil
}

// ReachableReads captures the reads of a query. If the query accepts partial results, it skips
// unavailable shards.
func ReachableReads(c *call.Call, q call.Query) ([]mock.Read, error) {
	if _, special, err := c.Nodes(); q.PartialResultsReturned == nil || c.Node.Member != nil || special || err != nil {
		return readsFor(c, q.NS, q.Filter)
	}
	reads, partial, err := c.Request.CapturePartialReads(q.NS, q.Filter)
	*q.PartialResultsReturned = partial
	return reads, err
}

// runQuery returns the results of a query: it merges the documents of the shards, applies skip and
// limit, and projects.
func runQuery(ctx context.Context, q call.Query, reads []mock.Read) iter.Seq2[bson.Raw, error] {
	m := locations{}
	parts := make([]iter.Seq2[bson.Raw, error], len(reads))
	for i, r := range reads {
		p := &ShardQuery{Read: r, checkOrder: q.OrderCheck()}
		if wantsLocation(q) {
			p.locations = m
		}
		if parts[i] = p.documents(ctx); !r.Plan.IsSorted() {
			parts[i] = p.sorted(ctx, q)
		}
	}
	return projectResults(ctx, q, m, skipAndLimit(q, mergeShards(q, parts)))
}

// skipAndLimit applies skip and limit.
func skipAndLimit(q call.Query, in iter.Seq2[bson.Raw, error]) iter.Seq2[bson.Raw, error] {
	if q.Skip == 0 && q.Limit == 0 {
		return in
	}
	return func(yield func(bson.Raw, error) bool) {
		n := int64(0)
		for doc, err := range in {
			if n++; err == nil && n <= q.Skip {
				continue
			}
			if !yield(doc, err) || err != nil || q.Limit > 0 && n == q.Skip+q.Limit {
				return
			}
		}
	}
}

// mergeShards merges the documents of the shards, in sort order if the query has one.
func mergeShards(q call.Query, parts []iter.Seq2[bson.Raw, error]) iter.Seq2[bson.Raw, error] {
	switch {
	case len(parts) == 1:
		return parts[0]
	case q.Sort.IsEmpty():
		return concat(parts)
	}
	return mergeSorted(parts, q.Sort.SortKey)
}

func concat(parts []iter.Seq2[bson.Raw, error]) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		for _, p := range parts {
			for doc, err := range p {
				if !yield(doc, err) || err != nil {
					return
				}
			}
		}
	}
}

// mergeSorted merges sorted streams. Among equal documents, those of earlier streams come first.
func mergeSorted(parts []iter.Seq2[bson.Raw, error], key func(doc bson.Raw) []byte) iter.Seq2[bson.Raw, error] {
	type head struct {
		doc  bson.Raw
		key  []byte
		next func() (bson.Raw, error, bool)
	}
	return func(yield func(bson.Raw, error) bool) {
		var heads []*head
		for _, p := range parts {
			next, stop := iter.Pull2(p)
			defer stop()
			heads = append(heads, &head{next: next})
		}
		advance := func(h *head) (ok bool) {
			doc, err, more := h.next()
			if err != nil {
				yield(nil, err)
				return false
			}
			if !more {
				heads = slices.DeleteFunc(heads, func(other *head) bool { return other == h })
				return true
			}
			h.doc, h.key = doc, key(doc)
			return true
		}
		for _, h := range slices.Clone(heads) {
			if !advance(h) {
				return
			}
		}
		for len(heads) > 0 {
			smallest := heads[0]
			for _, h := range heads[1:] {
				if bytes.Compare(h.key, smallest.key) < 0 {
					smallest = h
				}
			}
			if !yield(smallest.doc, nil) || !advance(smallest) {
				return
			}
		}
	}
}

// locations record where documents were found, for returnKey and showRecordId.
type locations map[*byte]location

type location struct {
	store.Found
	plan *store.Plan
}

// wantsLocation reports whether the results depend on where documents were found.
func wantsLocation(q call.Query) bool { return q.ReturnKey || q.ShowRecord }

// projectResults projects the results. returnKey keeps only the index key; showRecordId adds the record
// id.
func projectResults(ctx context.Context, q call.Query, m locations, in iter.Seq2[bson.Raw, error],
) iter.Seq2[bson.Raw, error] {
	if q.Projection == nil && !wantsLocation(q) {
		return in
	}
	return func(yield func(bson.Raw, error) bool) {
		project := q.Projection.Projector(ctx)
		for doc, err := range in {
			var out bson.Raw
			if err == nil {
				out, err = project(doc)
			}
			if err == nil && wantsLocation(q) {
				out = withLocation(q, m, doc, out)
			}
			if !yield(out, err) || err != nil {
				return
			}
		}
	}
}

func withLocation(q call.Query, m locations, doc, out bson.Raw) bson.Raw {
	at := m[&doc[0]]
	delete(m, &doc[0])
	if q.ReturnKey { // the other options have no effect then
		return at.plan.IndexKeyOf(at.Found)
	}
	return store.WithRecordID(out, at.ID)
}

// ShardQuery is the execution of a query on one shard.
type ShardQuery struct {
	Read      mock.Read
	RunStats  store.RunStats
	Docs      []bson.Raw
	locations locations // nil unless the query needs them
	// checkOrder rejects documents that the collation would sort differently; nil if no check is needed.
	checkOrder func(doc bson.Raw) error
}

// documents iterates over the documents that the shard finds.
func (p *ShardQuery) documents(ctx context.Context) iter.Seq2[bson.Raw, error] {
	covered := p.Read.Plan.CoveredProjection()
	return func(yield func(bson.Raw, error) bool) {
		for found, err := range p.Read.Documents(ctx, &p.RunStats.Counts) {
			if err == nil && p.checkOrder != nil {
				err = p.checkOrder(found.Doc)
			}
			if err == nil && covered != nil && p.locations == nil {
				found.Doc = covered(found.Doc)
			}
			if err == nil && p.locations != nil {
				p.locations[&found.Doc[0]] = location{found, p.Read.Plan}
			}
			if !yield(found.Doc, err) || err != nil {
				return
			}
		}
	}
}

// sorted iterates over the documents of the shard in sort order.
func (p *ShardQuery) sorted(ctx context.Context, q call.Query) iter.Seq2[bson.Raw, error] {
	return func(yield func(bson.Raw, error) bool) {
		held := pipeline.NewSortMemory(ctx, q.NoDisk)
		defer held.Release()
		if err := p.Collect(ctx, q, held); err != nil {
			yield(nil, err)
			return
		}
		sourceOf(p.Docs)(ctx)(yield)
	}
}

// Collect collects the documents of the shard, at most as many as the whole result may need.
func (p *ShardQuery) Collect(ctx context.Context, q call.Query, held *quota.Memory) error {
	wanted := int64(-1)
	if q.Limit > 0 {
		wanted = q.Skip + q.Limit
	}
	for doc, err := range p.documents(ctx) {
		if err != nil {
			return err
		}
		p.Docs = append(p.Docs, doc)
		p.RunStats.Bytes += int64(len(doc))
		q.HeldBytes.Add(doc)
		if err := held.Hold(len(doc) + quota.ItemOverheadBytes); err != nil {
			return err
		}
		if p.Read.Plan.IsSorted() && int64(len(p.Docs)) == wanted {
			break
		}
	}
	if !p.Read.Plan.IsSorted() {
		if err := q.Sort.SortDocuments(ctx, p.Docs); err != nil {
			return err
		}
	}
	if wanted >= 0 {
		p.Docs = p.Docs[:min(wanted, int64(len(p.Docs)))]
	}
	p.RunStats.Returned = int64(len(p.Docs))
	return nil
}

// countByShard counts the matching documents on each shard. Like a router, it counts on each shard up to
// limit plus skip.
func countByShard(c *call.Call, q call.Query) (bson.D, error) {
	reached, err := ReachableReads(c, q)
	if err != nil {
		return nil, err
	}
	one := q
	one.CountOnly = true
	if one.Skip = 0; q.Limit > 0 {
		one.Limit = q.Limit + q.Skip
	}
	return call.WithoutLock(c, func(ctx context.Context) (bson.D, error) {
		planned, err := mock.PlanReads(reached, one.StoreQuery())
		if err != nil {
			return nil, err
		}
		total, byShard := int64(0), bson.D{}
		for _, read := range planned {
			n, err := countResults(runQuery(ctx, one, []mock.Read{read}))
			if err != nil {
				return nil, err
			}
			total += n
			byShard = append(byShard, bson.E{Key: string(read.Shard), Value: document.SmallestInt(n)})
		}
		if total = max(0, total-q.Skip); q.Limit > 0 {
			total = min(total, q.Limit)
		}
		return bson.D{{Key: "shards", Value: byShard}, {Key: "n", Value: document.SmallestInt(total)}}, nil
	})
}

// CountMatching counts the results of a query without storing the documents.
func CountMatching(c *call.Call, q call.Query) (bson.D, error) {
	q.CountOnly = true
	results, err := OpenQuery(c, q)
	if err != nil {
		return nil, err
	}
	return call.WithoutLock(c, func(ctx context.Context) (bson.D, error) {
		n, err := countResults(results(ctx))
		return bson.D{{Key: "n", Value: document.SmallestInt(n)}}, err
	})
}

func countResults(results iter.Seq2[bson.Raw, error]) (n int64, err error) {
	for _, err := range results {
		if err != nil {
			return 0, err
		}
		n++
	}
	return n, nil
}
