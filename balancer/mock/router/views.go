package router

import (
	"context"
	"iter"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// collection gives all documents of a collection or view of a database.
func readCollection(ctx context.Context, c *call, db, name string) (iter.Seq[bson.Raw], error) {
	if c.node.member != nil {
		return allDocuments(c, db+"."+name)
	}
	on, stages, isView := c.cluster.Collections().ViewOf(db+"."+name, db)
	if err := c.request.Ask(on, nil); err != nil {
		return nil, err
	}
	if !isView {
		return c.request.Documents(on, nil), nil
	}
	pipeline, err := store.CompilePipeline(stages, pipelineEnv(ctx, c, db, nil))
	if err != nil {
		return nil, err
	}
	var docs []bson.Raw
	for doc, err := range pipeline.Run(ctx, c.request.Documents(on, nil)) {
		if err != nil {
			return nil, err
		}
		docs = append(docs, doc)
	}
	return slices.Values(docs), nil
}

// environment is what pipelines of a database need from outside.
func pipelineEnv(ctx context.Context, c *call, db string, let bson.Raw) store.Env {
	return store.Env{
		Now:        c.cluster.Now,
		Variables:  let,
		Collection: func(name string) (iter.Seq[bson.Raw], error) { return readCollection(ctx, c, db, name) },
	}
}

// isView reports whether a namespace is a view. A member shows none: its router
// has them.
func isView(c *call, ns string) bool {
	if c.node.member != nil {
		return false
	}
	_, _, isView := c.cluster.Collections().ViewOf(ns, "")
	return isView
}

// viewPart reads a view for a query, as one part.
func viewPart(c *call, q query) (part, error) {
	var p part
	db, name, err := catalog.SplitNamespace(q.ns)
	if err != nil {
		return p, err
	}
	if q.marks() {
		return p, mongoerr.New(mongoerr.InvalidPipelineOperator,
			"returnKey and showRecordId are not supported on views: %s", q.ns)
	}
	docs, err := readCollection(context.Background(), c, db, name)
	if err != nil {
		return p, err
	}
	for doc := range docs {
		ok, err := q.filter.Test(doc)
		if err != nil {
			return p, err
		}
		if ok {
			p.docs = append(p.docs, doc)
		}
	}
	q.sort.Documents(p.docs)
	return p, nil
}
