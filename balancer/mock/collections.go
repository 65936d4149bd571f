package mock

import (
	"bytes"
	"context"
	"slices"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/ids"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mock/store/expr"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mock/store/update"
	"shardsh/balancer/mongoerr"
)

// newLocal returns an empty collection on a shard. The caller has checked the options.
func newLocal(language expr.Language, uuid bson.Binary, options bson.D, ns string) *localCollection {
	l := &localCollection{uuid: uuid, options: options, docs: newStoreCollection(language, ns)}
	for _, o := range options {
		switch v := o.Value.(type) {
		case bson.Raw:
			if o.Key == "validator" {
				l.validator, _ = filter.CompileWith(v, filter.Options{Language: language})
			}
		case int32:
			l.setLimit(o.Key, int64(v))
		case int64:
			l.setLimit(o.Key, v)
		case string:
			l.warnOnly = l.warnOnly || o.Key == "validationAction" && v == "warn"
			l.moderate = l.moderate || o.Key == "validationLevel" && v != "strict"
			if o.Key == "validationLevel" && v == "off" {
				l.warnOnly = true
			}
		}
	}
	return l
}

// setLimit sets the size or the number of documents of a capped collection.
func (l *localCollection) setLimit(option string, n int64) {
	switch option {
	case "size":
		l.maxBytes = n
	case "max":
		l.maxDocs = n
	}
}

// trim removes the oldest documents of a capped collection until it is within its limits. It keeps at
// least one document.
func (l *localCollection) trim() {
	if l.maxBytes == 0 {
		return
	}
	for l.docs.Count() > 1 && (l.docs.Bytes() > l.maxBytes || l.maxDocs > 0 && l.docs.Count() > l.maxDocs) {
		for record := range l.docs.Scan() {
			l.docs.Delete(record)
			break
		}
	}
}

// validation is the document validation of a collection. It can be used without the lock.
type validation struct {
	filter             *filter.Filter // nil to accept all documents
	warnOnly, moderate bool
	validatorDoc       bson.Raw
}

func (l *localCollection) validation() validation {
	if l.validator == nil {
		return validation{}
	}
	return validation{l.validator, l.warnOnly, l.moderate, l.validatorDoc()}
}

// validate checks a document with the collection's validator. The error code is 121. With
// validationLevel "moderate", an invalid document may stay invalid. before is nil for an insert. It
// fails with the cause of ctx when ctx ends.
func (v validation) validate(ctx context.Context, before, doc bson.Raw) (invalid, err error) {
	if v.filter == nil || v.warnOnly {
		return nil, nil
	}
	matches := func(doc bson.Raw) bool {
		ok, _ := v.filter.Tester(ctx)(doc) // a document for which the filter fails does not match
		return ok
	}
	good := matches(doc) || v.moderate && before != nil && !matches(before)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if good {
		return nil, nil
	}
	failed := mongoerr.New(mongoerr.DocumentValidationFailure, "Document failed validation")
	failed.Extra = bson.D{{Key: "errInfo", Value: bson.D{
		{Key: "failingDocumentId", Value: doc.Lookup("_id")},
		{Key: "details", Value: filter.Mismatch(v.validatorDoc, doc, v.filter.Scope.Language)},
	}}}
	return failed, nil
}

// validatorDoc returns the validator in the options.
func (l *localCollection) validatorDoc() bson.Raw {
	for _, o := range l.options {
		if raw, isRaw := o.Value.(bson.Raw); isRaw && o.Key == "validator" {
			return raw
		}
	}
	return nil
}

// Collections creates, changes and drops collections and views, on the shards and in the catalog.
type Collections struct {
	*clusterSettings
	changes     *ChangeFeed
	clock       *clock.Clock
	config      *ConfigDB
	zones       *Zones
	ids         *ids.Source
	locator     *locator
	log         *configLogs
	migrations  *Migrations
	reshardings *Reshardings
	shards      shardSet
	stats       *Statistics

	views map[string]View // by namespace
}

// Collections returns the Collections of the cluster.
func (c *Cluster) Collections() *Collections { return c.collections }

// View is a view: a pipeline that is applied to another collection when the view is read.
type View struct {
	ViewOn   string // a collection or view of the same database
	Pipeline []bson.Raw
}

// maxViewDepth is the maximum nesting depth of views.
const maxViewDepth = 20

// CreateView creates a view; its source need not exist.
func (rq *Request) CreateView(ns, db string, v View) error {
	if err := rq.CreateDatabase(db, ""); err != nil {
		return err
	}
	if rq.env.collections.Exists(ns) {
		return mongoerr.New(mongoerr.NamespaceExists, "namespace %s already exists", ns)
	}
	if err := checkNewCollection(ns); err != nil {
		return err
	}
	if err := rq.env.collections.replaceView(ns, db, v); err != nil {
		return err
	}
	rq.env.changes.note(Change{Kind: ChangeCreate, Namespace: ns, NSType: "view", Operation: v.changeStreamDoc()})
	return nil
}

// ModifyView replaces the definition of a view.
func (c *Collections) ModifyView(ns, db string, v View) error {
	if err := c.replaceView(ns, db, v); err != nil {
		return err
	}
	c.changes.note(Change{Kind: ChangeModify, Namespace: ns, Operation: v.changeStreamDoc()})
	return nil
}

// changeStreamDoc returns the view in the format of change streams.
func (v View) changeStreamDoc() bson.D {
	return bson.D{{Key: "viewOn", Value: v.ViewOn}, {Key: "pipeline", Value: document.ListOf(v.Pipeline)}}
}

// replaceView creates a view or replaces its definition.
func (c *Collections) replaceView(ns, db string, v View) error {
	on, depth := db+"."+v.ViewOn, 1
	for {
		if on == ns {
			return mongoerr.New(mongoerr.GraphContainsCycle, "View cycle detected: %s => %s", ns, on)
		}
		below, isView := c.views[on]
		if !isView {
			break
		}
		if depth++; depth > maxViewDepth {
			return mongoerr.New(165, "View depth limit exceeded; maximum depth is %d", maxViewDepth)
		}
		on = db + "." + below.ViewOn
	}
	if c.views == nil {
		c.views = map[string]View{}
	}
	c.views[ns] = v
	c.ids.Tick()
	return nil
}

// ResolveView returns the collection on which a view is based, possibly through other views, and the
// stages of all the views. isView is false if the namespace is not a view.
func (c *Collections) ResolveView(ns, db string) (source string, stages []bson.Raw, isView bool) {
	for {
		v, ok := c.views[ns]
		if !ok {
			return ns, stages, isView
		}
		isView = true
		stages = append(append([]bson.Raw(nil), v.Pipeline...), stages...)
		ns = db + "." + v.ViewOn
	}
}

// checkNotView fails for a view, which cannot be written to and has neither indexes nor chunks.
func (c *Collections) checkNotView(ns string) error {
	if _, isView := c.views[ns]; isView {
		return mongoerr.New(mongoerr.CommandNotSupportedOnView, "Namespace %s is a view, not a collection", ns)
	}
	return nil
}

// newFilledCollection returns a collection with the given documents. It fails with the cause of ctx when ctx
// ends.
func newFilledCollection(ctx context.Context, l expr.Language, ns string, indexes []store.IndexSpec,
	contents []bson.Raw,
) (*store.Collection, error) {
	docs := newStoreCollection(l, ns)
	for _, spec := range indexes {
		if err := docs.CreateIndex(spec); err != nil {
			return nil, err
		}
	}
	for i, doc := range contents {
		if i%1024 == 0 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		if _, err := docs.Insert(doc); err != nil {
			return nil, err
		}
	}
	return docs, nil
}

func sameIndexes(a, b *store.Collection) bool {
	return slices.EqualFunc(a.Indexes(), b.Indexes(), func(x, y store.IndexSpec) bool {
		return x.Name == y.Name && bytes.Equal(x.Key, y.Key) && x.Unique == y.Unique && x.Sparse == y.Sparse &&
			bytes.Equal(x.Options, y.Options)
	})
}

// ReplaceCollection replaces the contents of an unsharded collection atomically. It keeps the indexes
// and options, and creates the collection if it does not exist.
func (rq *Request) ReplaceCollection(ns string, contents []bson.Raw) error {
	db, _, err := catalog.SplitNamespace(ns)
	if err != nil {
		return err
	}
	prepared := make([]bson.Raw, len(contents))
	for i, doc := range contents {
		if prepared[i], err = update.PrepareInsert(doc, rq.env.ids.NewObjectID); err != nil {
			return err
		}
	}
	var docs *store.Collection
	for {
		if rq.env.config.tables[ns] != nil { // may have been sharded since the pipeline was read
			return mongoerr.New(28769, "namespace '%s' is sharded so it can't be used for $out'", ns)
		}
		if err := rq.CreateDatabase(db, ""); err != nil {
			return err
		}
		local := rq.env.collections.ensureOnPrimary(ns, nil)
		if docs != nil && sameIndexes(docs, local.docs) {
			local.docs = docs
			rq.env.ids.Tick()
			return nil
		}
		indexes, language := local.docs.Indexes(), local.docs.Language
		err := rq.computeUnlocked(func(ctx context.Context) error {
			docs, err = newFilledCollection(ctx, language, ns, indexes, prepared)
			return err
		})
		if err != nil {
			return err
		}
	}
}
