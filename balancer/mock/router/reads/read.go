package reads

import (
	"context"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

// Handlers returns the commands of this package, by name.
func Handlers() map[string]call.Handler {
	return map[string]call.Handler{
		"find":        find,
		"getMore":     getMore,
		"killCursors": killCursors,
		"count":       count,
		"distinct":    distinct,
	}
}

func find(c *call.Call) (bson.D, error) {
	q, err := c.PreparedFind.Query(c)
	if err != nil {
		return nil, err
	}
	if err := checkNoDollar(q.NS); err != nil {
		return nil, err
	}
	size, err := c.BatchSize(c.Body.Lookup("batchSize"))
	if err != nil {
		return nil, err
	}
	if c.Args.Bool("allowPartialResults") {
		q.PartialResultsReturned = new(bool)
	}
	if docs, ok, err := findByIndexPoint(q, c, size); ok || err != nil {
		return bson.D{{Key: "cursor", Value: bson.D{{Key: "firstBatch", Value: docs}, {Key: "id", Value: int64(0)},
			{Key: "ns", Value: q.NS}}}}, err
	}
	cursor, err := openFind(c, q, size)
	if err != nil {
		return nil, err
	}
	first := bson.D{{Key: "firstBatch", Value: cursor.Batch}}
	if q.PartialResultsReturned != nil && *q.PartialResultsReturned {
		first = append(first, bson.E{Key: "partialResultsReturned", Value: true})
	}
	return bson.D{{Key: "cursor", Value: append(first, bson.E{Key: "id", Value: cursor.ID},
		bson.E{Key: "ns", Value: q.NS})}}, nil
}

// hasFewResults reports whether a query probably has at most one result. Such a query is read at once
// instead of as a stream.
func hasFewResults(q call.Query) bool {
	_, ok := q.Filter.Equality("_id")
	return q.Limit == 1 || ok && q.Sort.IsEmpty()
}

// findByIndexPoint finds the documents of a query for one value of one field by an index lookup, without
// releasing the lock. ok is false if that is not possible.
func findByIndexPoint(q call.Query, c *call.Call, size int) (docs []bson.Raw, ok bool, err error) {
	if !q.AllowsExpress() || !q.Sort.IsEmpty() || !document.IsEmpty(q.SortPattern) || !document.IsEmpty(q.Min) ||
		!document.IsEmpty(q.Max) || q.Projection != nil || q.PartialResultsReturned != nil || c.Args.Bool("tailable") ||
		c.Node.Member != nil || call.IsView(c, q.NS) {
		return nil, false, nil
	}
	if _, special, err := c.Nodes(); special || err != nil {
		return nil, false, asRouterError(c, err)
	}
	docs, ok, err = c.Request.FindPoint(q.NS, q.Filter)
	if q.Limit > 0 {
		docs = docs[:min(int64(len(docs)), q.Limit)]
	}
	var w call.ByteCount
	for _, doc := range docs {
		w.Add(doc)
	}
	return docs, ok && len(docs) < size && w < call.BatchBytes, err
}

// openFind runs a find up to its first batch.
func openFind(c *call.Call, q call.Query, size int) (call.OpenedCursor, error) {
	open := &call.Cursor{NS: q.NS, NoTimeout: c.Args.Bool("noCursorTimeout"), SortBytes: new(call.ByteCount)}
	q.HeldBytes = open.SortBytes
	tailable := c.Args.Bool("tailable")
	if tailable {
		// The tail must start where the find ended, so no write may come in between.
		if err := startTail(c, open, q); err != nil {
			return call.OpenedCursor{}, err
		}
	}
	results, err := OpenQuery(c, q)
	switch {
	case err != nil:
		return call.OpenedCursor{}, err
	case tailable:
		if open.Buffered, err = call.WithoutLock(c, results.All); err != nil {
			return call.OpenedCursor{}, err
		}
		limitTail(open, q, len(open.Buffered))
	case c.Args.Bool("singleBatch") || hasFewResults(q) && size != 0:
		var batch bson.A
		whole := false
		err := c.WithoutLock(func(ctx context.Context) (err error) {
			batch, whole, err = results.FirstBatch(ctx, size)
			return err
		})
		if err != nil || whole || c.Args.Bool("singleBatch") {
			return call.OpenedCursor{Batch: batch}, err
		}
	}
	if !tailable {
		open.Stream = results.Start(c)
	}
	return call.OpenCursor(c, open, size, c.Args.Bool("singleBatch"))
}

// checkNoDollar rejects collection names that contain $.
func checkNoDollar(ns string) error {
	if strings.Contains(ns, "$") {
		return mongoerr.New(mongoerr.InvalidNamespace, "Invalid namespace specified '%s'", ns)
	}
	return nil
}

// count counts documents. Like the server, a count without a query sums the counters of the shards,
// orphans included (rules/03-catalog-and-keys §2.5).
func count(c *call.Call) (bson.D, error) {
	q, err := call.WithoutLock(c, func(context.Context) (call.Query, error) { return c.ReadQuery("query") })
	if err != nil {
		return nil, err
	}
	if err := checkNoDollar(q.NS); err != nil {
		return nil, err
	}
	query, _ := c.Document("query") // no error: ReadQuery has checked it
	if q.NS == "config.chunks" {
		if err := c.Request.ContactConfig(); err != nil {
			return nil, err
		}
	}
	empty, whole := document.IsEmpty(query), q.Skip == 0 && q.Limit == 0
	if n, ok := c.Cluster.ConfigChunks().Count(q.NS, query); ok && !empty && whole {
		return bson.D{{Key: "n", Value: document.SmallestInt(n)}}, nil
	}
	if empty && whole && !call.IsView(c, q.NS) {
		if err := c.Request.Contact(q.NS, nil); err != nil {
			return nil, err
		}
		nodes, _, err := c.Nodes()
		if err != nil {
			return nil, err
		}
		if nodes.Secondary {
			return countOnSecondaries(c, nodes, q.NS)
		}
		total := int64(0)
		byShard := bson.D{}
		for _, part := range c.Cluster.Statistics().Collection(q.NS) {
			byShard = append(byShard, bson.E{Key: string(part.Shard), Value: document.SmallestInt(part.Docs)})
			total += part.Docs
		}
		if primary := call.PrimaryOf(c.Cluster, c.DB); len(byShard) == 0 && primary != "" {
			byShard = bson.D{{Key: primary, Value: int32(0)}}
		}
		return bson.D{{Key: "shards", Value: byShard}, {Key: "n", Value: document.SmallestInt(total)}}, nil
	}
	if call.IsView(c, q.NS) {
		return CountMatching(c, q)
	}
	return countByShard(c, q)
}

// countOnSecondaries sums the counters of secondaries.
func countOnSecondaries(c *call.Call, nodes mock.NodeSelection, ns string) (bson.D, error) {
	parts, err := c.Request.CaptureReadsFrom(nodes, ns, nil)
	if err != nil {
		return nil, asRouterError(c, err)
	}
	total, byShard := int64(0), bson.D{}
	for _, part := range parts {
		n := c.Request.CountOn(part, ns)
		byShard = append(byShard, bson.E{Key: string(part.Shard), Value: document.SmallestInt(n)})
		total += n
	}
	return bson.D{{Key: "shards", Value: byShard}, {Key: "n", Value: document.SmallestInt(total)}}, nil
}

// DistinctQuery returns the query of a distinct and the field whose values are requested.
func DistinctQuery(c *call.Call) (q call.Query, key string, err error) {
	q, err = call.WithoutLock(c, func(context.Context) (call.Query, error) { return c.ReadQuery("query") })
	if err != nil {
		return q, "", err
	}
	if key, err = c.RequiredText("key"); err != nil {
		return q, "", err
	}
	if strings.Contains(key, "\x00") {
		return q, "", mongoerr.New(31032, "Key field cannot contain an embedded null byte")
	}
	return q, key, nil
}

func distinct(c *call.Call) (bson.D, error) {
	q, key, err := DistinctQuery(c)
	if err != nil {
		return nil, err
	}
	results, err := OpenQuery(c, q)
	if err != nil {
		return nil, err
	}
	return call.WithoutLock(c, func(ctx context.Context) (bson.D, error) {
		docs, err := results.All(ctx)
		if err != nil {
			return nil, err
		}
		found, err := store.Distinct(ctx, key, slices.Values(docs))
		if err == nil {
			err = call.CheckNoStrings(q.Collation, found...)
		}
		if err != nil {
			return nil, err
		}
		if c.Node.Member == nil { // a mongos merges the results of shards
			slices.SortStableFunc(found, keyorder.Compare)
		}
		return bson.D{{Key: "values", Value: document.ListOf(found)}}, nil
	})
}
