package router

import (
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

func indexCommands() []command {
	return []command{
		{name: "createIndexes", stable: true, takesWriteConcern: true, run: (*Router).createIndexes},
		{name: "listIndexes", stable: true, run: (*Router).listIndexes},
		{name: "dropIndexes", aliases: []string{"deleteIndexes"}, stable: true, takesWriteConcern: true, run: (*Router).dropIndexes},
	}
}

func indexDoc(s store.IndexSpec) bson.D {
	doc := bson.D{{Key: "v", Value: int32(2)}, {Key: "key", Value: s.Key}, {Key: "name", Value: s.Name}}
	if s.Unique && s.Name != "_id_" {
		doc = append(doc, bson.E{Key: "unique", Value: true})
	}
	if s.Sparse {
		doc = append(doc, bson.E{Key: "sparse", Value: true})
	}
	return doc
}

func (r *Router) createIndexes(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	docs, err := documents(c.body.Lookup("indexes"))
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify at least one index to create")
	}
	specs := make([]store.IndexSpec, len(docs))
	for i, doc := range docs {
		if specs[i], err = readIndex(doc); err != nil {
			return nil, err
		}
	}
	results, err := r.cluster.CreateIndexes(ns, specs)
	if err != nil {
		return nil, err
	}
	raw := bson.D{}
	for _, done := range results {
		raw = append(raw, bson.E{Key: done.Host, Value: bson.D{
			{Key: "numIndexesBefore", Value: int32(done.Before)},
			{Key: "numIndexesAfter", Value: int32(done.After)},
			{Key: "createdCollectionAutomatically", Value: done.Created},
			{Key: "commitQuorum", Value: "votingMembers"},
			{Key: "ok", Value: 1.0},
		}})
	}
	return bson.D{{Key: "raw", Value: raw}}, nil
}

func readIndex(doc bson.Raw) (store.IndexSpec, error) {
	var spec store.IndexSpec
	key, isDoc := doc.Lookup("key").DocumentOK()
	if !isDoc || len(key) <= 5 {
		return spec, mongoerr.New(mongoerr.FailedToParse, "The 'key' field of an index must be an object that is not empty")
	}
	name, isText := doc.Lookup("name").StringValueOK()
	if !isText || name == "" {
		return spec, mongoerr.New(mongoerr.FailedToParse, "The 'name' field is a required property of an index specification")
	}
	for _, unsupported := range []string{"expireAfterSeconds", "partialFilterExpression", "collation", "wildcardProjection"} {
		if v := doc.Lookup(unsupported); !v.IsZero() {
			return spec, mongoerr.New(mongoerr.NotImplemented, "the mock does not support indexes with %s", unsupported)
		}
	}
	return store.IndexSpec{Name: name, Key: key, Unique: truth(doc.Lookup("unique")), Sparse: truth(doc.Lookup("sparse"))}, nil
}

func (r *Router) listIndexes(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	specs, found := r.cluster.Indexes(ns)
	if !found {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", ns)
	}
	var list []bson.Raw
	for _, s := range specs {
		raw, err := bson.Marshal(indexDoc(s))
		if err != nil {
			return nil, err
		}
		list = append(list, raw)
	}
	cursorSpec, err := c.document("cursor")
	if err != nil {
		return nil, err
	}
	size, err := c.batchSize(cursorSpec.Lookup("batchSize"))
	if err != nil {
		return nil, err
	}
	return r.firstBatch(c, ns, list, size)
}

func (r *Router) dropIndexes(c *call) (bson.D, error) {
	ns, err := c.namespace()
	if err != nil {
		return nil, err
	}
	names, err := r.indexesToDrop(ns, c.body.Lookup("index"))
	if err != nil {
		return nil, err
	}
	return bson.D{}, r.cluster.DropIndexes(ns, names)
}

// indexesToDrop reads "*", a name, a list of names, or a key.
func (r *Router) indexesToDrop(ns string, v bson.RawValue) ([]string, error) {
	specs, found := r.cluster.Indexes(ns)
	if !found {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns not found %s", ns)
	}
	if text, isText := v.StringValueOK(); isText {
		if text != "*" {
			return []string{text}, nil
		}
		return r.cluster.DroppableIndexes(ns), nil
	}
	if key, isDoc := v.DocumentOK(); isDoc {
		for _, s := range specs {
			if sameDocument(s.Key, key) {
				return []string{s.Name}, nil
			}
		}
		return nil, mongoerr.New(mongoerr.IndexNotFound, "can't find index with key: %s", key)
	}
	array, isArray := v.ArrayOK()
	if !isArray {
		return nil, mongoerr.New(mongoerr.TypeMismatch, "index must be a name, a list of names or a key")
	}
	values, err := array.Values()
	if err != nil {
		return nil, mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	var names []string
	for _, v := range values {
		name, isText := v.StringValueOK()
		if !isText {
			return nil, mongoerr.New(mongoerr.TypeMismatch, "index names must be strings")
		}
		names = append(names, name)
	}
	return names, nil
}
