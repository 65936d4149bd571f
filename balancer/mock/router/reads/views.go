package reads

import (
	"context"
	"iter"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/pipeline"
	"shardsh/balancer/mongoerr"
)

// joinedCollections are the collections and views of a database that a pipeline reads, as captured.
type joinedCollections struct {
	db  string
	let bson.Raw
	now time.Time
	Ctx context.Context // of the command that reads now
	// noDisk rejects stages that exceed a server's memory limit.
	noDisk   bool
	language expr.Language
	ByName   map[string]foreignCollection
}

// foreignCollection is a collection, or a view with the collection that it reads.
type foreignCollection struct {
	Reads  []mock.Read
	stages []bson.Raw // pipeline of a view; nil for a collection
}

// pipelineEnvironment returns the environment of a database's pipelines. The caller must capture the
// collections that the pipelines read.
func pipelineEnvironment(c *call.Call, db string, let bson.Raw) (*joinedCollections, pipeline.Env) {
	f := &joinedCollections{db: db, let: let, now: c.Now, Ctx: c.Ctx, noDisk: c.ForbidsDiskUse(), language: c.Language(),
		ByName: map[string]foreignCollection{}}
	return f, f.env()
}

func (j *joinedCollections) env() pipeline.Env {
	return pipeline.Env{Now: func() time.Time { return j.now }, Variables: j.let, Collection: j.read, NoDisk: j.noDisk,
		Language: j.language}
}

// Capture captures collections; for views it captures the collections that they read. The lock is held.
func (j *joinedCollections) Capture(c *call.Call, names []string) error {
	for _, name := range names {
		if _, known := j.ByName[name]; known || name == "" {
			continue
		}
		ns := j.db + "." + name
		var stages []bson.Raw
		if c.Node.Member == nil {
			ns, stages, _ = c.Cluster.Collections().ResolveView(ns, j.db)
		}
		reads, err := readsFor(c, ns, nil)
		if err != nil {
			return err
		}
		j.ByName[name] = foreignCollection{reads, stages}
		if err := j.Capture(c, joinedNames(stages)); err != nil {
			return err
		}
	}
	return nil
}

// read returns all documents of a captured collection or view.
func (j *joinedCollections) read(name string) (iter.Seq[bson.Raw], error) {
	foreign := j.ByName[name]
	docs, err := allDocuments(j.Ctx, foreign.Reads)
	if err != nil || foreign.stages == nil {
		return docs, err
	}
	view := *j
	view.let = nil
	pipeline, err := pipeline.Compile(foreign.stages, view.env())
	if err != nil {
		return nil, err
	}
	var list []bson.Raw
	for doc, err := range pipeline.Run(j.Ctx, docs) {
		if err != nil {
			return nil, err
		}
		list = append(list, doc)
	}
	return slices.Values(list), nil
}

// allDocuments iterates over all documents of reads. The documents end when ctx ends; the caller must
// check ctx.
func allDocuments(ctx context.Context, reads []mock.Read) (iter.Seq[bson.Raw], error) {
	planned, err := mock.PlanReads(reads, store.Query{})
	if err != nil {
		return nil, err
	}
	return func(yield func(bson.Raw) bool) {
		for _, r := range planned {
			for found, err := range r.Documents(ctx, &store.Counts{}) {
				if err != nil || !yield(found.Doc) {
					return
				}
			}
		}
	}, nil
}

// joinedNames returns the names of the collections that stages read, at any depth.
func joinedNames(stages []bson.Raw) []string {
	var names []string
	for _, s := range stages {
		names = appendJoined(names, s)
	}
	return names
}

func appendJoined(names []string, doc bson.Raw) []string {
	elems, err := doc.Elements()
	if err != nil {
		return names
	}
	for _, e := range elems {
		v := e.Value()
		if inner, isArray := v.ArrayOK(); isArray {
			names = appendJoined(names, bson.Raw(inner))
		}
		inner, isDoc := v.DocumentOK()
		switch e.Key() {
		case "$lookup", "$graphLookup", "$unionWith":
			text, _ := v.StringValueOK()
			from, _ := inner.Lookup("from").StringValueOK()
			coll, _ := inner.Lookup("coll").StringValueOK()
			names = append(names, text, from, coll)
		}
		if isDoc {
			names = appendJoined(names, inner)
		}
	}
	return names
}

// openView captures the data that a query on a view reads.
func openView(c *call.Call, q call.Query) (call.Source, error) {
	db, name, err := catalog.SplitNamespace(q.NS)
	if err != nil {
		return nil, err
	}
	if q.Collation != nil {
		return nil, mongoerr.New(mongoerr.OptionNotSupportedOnView, "Cannot override a view's default collation")
	}
	if wantsLocation(q) {
		return nil, mongoerr.New(mongoerr.InvalidPipelineOperator,
			"returnKey and showRecordId are not supported on views: %s", q.NS)
	}
	f, _ := pipelineEnvironment(c, db, nil)
	if err := f.Capture(c, []string{name}); err != nil {
		return nil, err
	}
	return func(ctx context.Context) iter.Seq2[bson.Raw, error] {
		return func(yield func(bson.Raw, error) bool) {
			f.Ctx = ctx
			docs, err := viewDocuments(q, f, name)
			if err != nil {
				yield(nil, err)
				return
			}
			projectResults(ctx, q, nil, skipAndLimit(q, sourceOf(docs)(ctx)))(yield)
		}
	}, nil
}

// viewDocuments returns the matching documents of a view in sort order.
func viewDocuments(q call.Query, f *joinedCollections, name string) ([]bson.Raw, error) {
	docs, err := f.read(name)
	if err != nil {
		return nil, err
	}
	var list []bson.Raw
	test := q.Filter.Tester(f.Ctx)
	for doc := range docs {
		ok, err := test(doc)
		if err != nil {
			return nil, err
		}
		if ok {
			list = append(list, doc)
		}
	}
	return list, q.Sort.SortDocuments(f.Ctx, list)
}
