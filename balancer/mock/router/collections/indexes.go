package collections

import (
	"cmp"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/keyorder"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/router/call"
	"shardsh/balancer/mock/router/reads"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/document"
	"shardsh/balancer/mongoerr"
)

func indexHandlers() map[string]call.Handler {
	return map[string]call.Handler{
		"createIndexes": createIndexes,
		"listIndexes":   listIndexes,
		"dropIndexes":   dropIndexes,
	}
}

func createIndexes(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	docs, err := args.DocumentsAt("createIndexes.indexes", c.Body.Lookup("indexes"))
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, mongoerr.New(mongoerr.BadValue, "Must specify at least one index to create")
	}
	specs := make([]store.IndexSpec, len(docs))
	var unsupported error // the mock's own rejections come after the server's errors
	for i, doc := range docs {
		if c.Args.Bool("ignoreUnknownIndexOptions") {
			doc = withoutUnknownOptions(doc)
		}
		specs[i], err = readIndex(doc)
		if err != nil {
			err = mongoerr.Wrap(err, "Error in specification "+mongoerr.Text(doc))
		}
		if mongoerr.Is(err, mongoerr.NotImplemented) {
			unsupported, err = cmp.Or(unsupported, err), nil
		}
		if err != nil {
			return nil, err
		}
	}
	if unsupported != nil {
		return nil, cmp.Or(c.Request.CheckIndexes(ns, specs), unsupported)
	}
	if err := awaitCommitQuorum(c, ns, specs); err != nil {
		return nil, err
	}
	results, err := c.Request.CreateIndexes(ns, specs)
	if err != nil {
		return nil, err
	}
	raw := bson.D{}
	for _, done := range results {
		one := bson.D{{Key: "numIndexesBefore", Value: int32(done.Before)},
			{Key: "numIndexesAfter", Value: int32(done.After)}}
		if done.Before == done.After && !done.Created {
			one = append(one, bson.E{Key: "note", Value: "all indexes already exist"})
		} else {
			one = append(one, bson.E{Key: "createdCollectionAutomatically", Value: done.Created},
				bson.E{Key: "commitQuorum", Value: "votingMembers"})
		}
		raw = append(raw, bson.E{Key: done.Host, Value: append(one, bson.E{Key: "ok", Value: 1.0})})
	}
	return bson.D{{Key: "raw", Value: raw}}, nil
}

// awaitCommitQuorum waits until the members that have to agree have built indexes: all that vote, whatever the write
// concern is, where a shard has documents of the collection.
func awaitCommitQuorum(c *call.Call, ns string, specs []store.IndexSpec) error {
	if !c.Cluster.Faults().HasLaggingSecondary() || c.Request.CheckIndexes(ns, specs) != nil {
		return nil //nolint:nilerr // creating the indexes reports this error, before any wait
	}
	quorum := c.Body.Lookup("commitQuorum")
	longest := time.Duration(0)
	for _, part := range c.Cluster.Statistics().Collection(ns) {
		if part.Docs == 0 {
			continue
		}
		size := c.Cluster.Faults().MemberCount(part.Shard)
		members := size
		if n, isNumber := args.Number(quorum); isNumber {
			members = int(n)
		} else if args.Text(quorum) == "majority" {
			members = size/2 + 1
		}
		longest = max(longest, c.Cluster.Faults().ReplicationTime(part.Shard, members))
	}
	if longest == 0 {
		return nil
	}
	err := c.Request.AwaitSecondaries(longest)
	if mongoerr.Is(err, mongoerr.MaxTimeMSExpired) {
		return mongoerr.New(mongoerr.MaxTimeMSExpired, "Request timed out")
	}
	return err
}

func readIndex(doc bson.Raw) (store.IndexSpec, error) {
	var spec store.IndexSpec
	key, name, err := keyAndName(doc)
	if err != nil {
		return spec, err
	}
	spec = store.IndexSpec{Name: name, Key: key, Unique: args.IsTrueOrNonzero(doc.Lookup("unique")),
		Sparse: args.IsTrueOrNonzero(doc.Lookup("sparse"))}
	return spec, readIndexOptions(&spec, doc)
}

// keyAndName returns the two required properties of an index.
func keyAndName(doc bson.Raw) (key bson.Raw, name string, err error) {
	k, n := doc.Lookup("key"), doc.Lookup("name")
	key, isDoc := k.DocumentOK()
	name, isText := n.StringValueOK()
	switch {
	case k.IsZero():
		return nil, "", mongoerr.New(mongoerr.FailedToParse,
			"The 'key' field is a required property of an index specification")
	case !isDoc:
		return nil, "", mongoerr.New(mongoerr.TypeMismatch, "The field 'key' must be an object, but got %s",
			args.TypeName(k.Type))
	case document.IsEmpty(key):
		return nil, "", mongoerr.New(mongoerr.CannotCreateIndex, "Index keys cannot be empty.")
	case n.IsZero():
		return nil, "", mongoerr.New(mongoerr.FailedToParse,
			"The 'name' field is a required property of an index specification")
	case !isText:
		return nil, "", mongoerr.New(mongoerr.TypeMismatch, "The field 'name' must be a string, but got %s",
			args.TypeName(n.Type))
	case name == "":
		return nil, "", mongoerr.New(mongoerr.CannotCreateIndex, "The index name cannot be empty")
	case name == "*":
		return nil, "", mongoerr.New(mongoerr.BadValue, "The index name '*' is not valid.")
	}
	if v, isNumber := doc.Lookup("v").AsInt64OK(); isNumber && v != 1 && v != 2 {
		return nil, "", mongoerr.New(mongoerr.CannotCreateIndex,
			"Invalid index specification %s; cannot create an index with v=%d", doc, v)
	}
	for _, option := range []string{"unique", "sparse", "hidden"} {
		v := doc.Lookup(option)
		if _, isNumber := args.Number(v); !v.IsZero() && !isNumber && v.Type != bson.TypeBoolean {
			return nil, "", mongoerr.New(mongoerr.TypeMismatch,
				"The field '%s has value %s: %s, which is not convertible to bool", option, option, v) // as servers write it
		}
	}
	return key, name, nil
}

// storedIndexOptions are the options that change which entries an index has or how it is used.
var storedIndexOptions = map[string]bool{"partialFilterExpression": true, "hidden": true, "prepareUnique": true}

// unstoredIndexOptions are not stored among the options: the mock ignores them, or they are parts of an
// IndexSpec.
var unstoredIndexOptions = map[string]bool{
	"key": true, "name": true, "unique": true, "sparse": true, "v": true, "background": true, "ns": true,
	"storageEngine": true, "clustered": true,
}

// withoutUnknownOptions returns an index specification without unknown options.
func withoutUnknownOptions(doc bson.Raw) bson.Raw {
	kept := bson.D{}
	elems, _ := doc.Elements()
	for _, e := range elems {
		name := e.Key()
		if unstoredIndexOptions[name] || storedIndexOptions[name] || kindByOption[name] != "" ||
			name == "expireAfterSeconds" ||
			name == "collation" {
			kept = append(kept, bson.E{Key: name, Value: e.Value()})
		}
	}
	raw, err := bson.Marshal(kept)
	if err != nil {
		return doc
	}
	return raw
}

func readIndexOptions(spec *store.IndexSpec, doc bson.Raw) error {
	elems, err := doc.Elements()
	if err != nil {
		return mongoerr.New(mongoerr.InvalidBSON, "%s", err)
	}
	kept, ofKind := bson.D{}, bson.D{}
	var collation error
	for _, e := range elems {
		v := e.Value()
		switch name := e.Key(); {
		case name == "collation":
			var err error
			if collation, err = checkIndexCollation(v); err != nil {
				return err
			}
		case unstoredIndexOptions[name]:
		case name == "partialFilterExpression" && v.Type != bson.TypeEmbeddedDocument:
			return mongoerr.New(mongoerr.TypeMismatch, "The field 'partialFilterExpression' must be an object, but got %s",
				args.TypeName(v.Type))
		case name == "expireAfterSeconds":
			if err := checkExpiry(spec, v); err != nil {
				return err
			}
			kept = append(kept, bson.E{Key: name, Value: int32(expiryOf(v))})
		case storedIndexOptions[name]:
			kept = append(kept, bson.E{Key: name, Value: v})
		case kindByOption[name] != "":
			ofKind = append(ofKind, bson.E{Key: name, Value: v})
		default:
			return mongoerr.New(mongoerr.InvalidIndexSpecificationOption,
				"The field '%s' is not valid for an index specification. Specification: %s", name, doc)
		}
	}
	if spec.Sparse && !doc.Lookup("partialFilterExpression").IsZero() {
		return mongoerr.New(mongoerr.CannotCreateIndex, "cannot mix \"partialFilterExpression\" and \"sparse\" options")
	}
	if ofKind, err = completeSpecialIndex(spec, ofKind); err != nil {
		return err
	}
	if kept = append(kept, ofKind...); len(kept) > 0 {
		spec.Options, err = bson.Marshal(kept)
	}
	return cmp.Or(err, collation)
}

// checkIndexCollation rejects an invalid collation with err. unsupported is the error for a collation
// that the mock does not support; it comes after all other errors.
func checkIndexCollation(v bson.RawValue) (unsupported, err error) {
	doc, isDoc := v.DocumentOK()
	switch {
	case !isDoc:
		return nil, mongoerr.New(mongoerr.TypeMismatch, "The field 'collation' must be an object, but got %s",
			args.TypeName(v.Type))
	case document.IsEmpty(doc):
		return nil, mongoerr.New(mongoerr.BadValue, "The field 'collation' cannot be an empty object.")
	}
	if collation, err := args.ReadCollation("collation", doc); err != nil || collation == nil {
		return nil, err
	}
	return mongoerr.New(mongoerr.NotImplemented, "the mock does not support indexes with collation"), nil
}

func listIndexes(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	if c.Node.Member == nil {
		if err := createDatabase(c, c.DB); err != nil {
			return nil, err
		}
	}
	specs, found := reads.Indexes(c, ns)
	if !found {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns does not exist: %s", ns)
	}
	var list []bson.Raw
	for _, s := range specs {
		doc := s.Doc()
		if c.Cluster.ConfigDB().ShowsSimpleCollation() {
			doc = append(doc, bson.E{Key: "collation", Value: bson.D{{Key: "locale", Value: "simple"}}})
		}
		raw, err := bson.Marshal(doc)
		if err != nil {
			return nil, err
		}
		list = append(list, raw)
	}
	cursorSpec, err := c.Document("cursor")
	if err != nil {
		return nil, err
	}
	size, err := c.CursorBatchSize(cursorSpec)
	if err != nil {
		return nil, err
	}
	return call.FirstBatchReply(c, ns, list, size)
}

func dropIndexes(c *call.Call) (bson.D, error) {
	ns, err := c.Namespace()
	if err != nil {
		return nil, err
	}
	if c.DB == "config" || c.DB == "admin" {
		return nil, mongoerr.New(mongoerr.IllegalOperation, "Cannot drop indexes in '%s' database in sharded cluster", c.DB)
	}
	if err := c.Cluster.Indexes().CheckChangeable(ns); err != nil {
		return nil, err
	}
	which := c.Body.Lookup("index")
	names, err := indexesToDrop(c.Cluster, ns, which)
	if err != nil {
		return nil, err
	}
	results, err := c.Cluster.Indexes().Drop(ns, names)
	if err != nil {
		return nil, err
	}
	raw := bson.D{}
	for _, done := range results {
		one := bson.D{{Key: "nIndexesWas", Value: int32(done.Before)}}
		if text, _ := which.StringValueOK(); text == "*" {
			one = append(one, bson.E{Key: "msg", Value: droppedAllText(c.Cluster, ns)})
		}
		raw = append(raw, bson.E{Key: done.Host, Value: append(one, bson.E{Key: "ok", Value: 1.0})})
	}
	return bson.D{{Key: "raw", Value: raw}}, nil
}

// droppedAllText returns the message of dropIndexes for "*".
func droppedAllText(cluster *mock.Cluster, ns string) string {
	if coll, err := cluster.ConfigDB().RequireSharded(ns); err == nil && !coll.Unsplittable {
		return "non-_id and non-shard key indexes dropped for collection"
	}
	return "non-_id indexes dropped for collection"
}

// indexesToDrop reads "*", a name, an array of names, or a key pattern.
func indexesToDrop(cluster *mock.Cluster, ns string, v bson.RawValue) ([]string, error) {
	specs, found := cluster.Indexes().List(ns)
	if !found {
		return nil, mongoerr.New(mongoerr.NamespaceNotFound, "ns not found %s", ns)
	}
	if text, isText := v.StringValueOK(); isText {
		if text != "*" {
			return []string{text}, nil
		}
		return cluster.Indexes().DroppableNames(ns), nil
	}
	if key, isDoc := v.DocumentOK(); isDoc {
		for _, s := range specs {
			if keyorder.CompareDocuments(s.Key, key) == 0 {
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
			return nil, mongoerr.New(mongoerr.TypeMismatch,
				"BSON field 'dropIndexes.index' is the wrong type 'array', expected types '[string']")
		}
		names = append(names, name)
	}
	return names, nil
}
