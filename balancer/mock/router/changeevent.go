package router

import (
	"strconv"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mongoerr"
)

// eventHead begins every document of a change stream.
func eventHead(ch mock.Change, kind string) bson.D {
	return bson.D{
		{Key: "_id", Value: tokenOf(ch.At)}, {Key: "operationType", Value: kind},
		{Key: "clusterTime", Value: ch.At}, {Key: "wallTime", Value: bson.NewDateTimeFromTime(ch.Wall)},
	}
}

func namespaceDoc(ns string) bson.D {
	db, coll, _ := strings.Cut(ns, ".")
	doc := bson.D{{Key: "db", Value: db}}
	if coll != "" {
		doc = append(doc, bson.E{Key: "coll", Value: coll})
	}
	return doc
}

// event returns a change as a stream shows it.
func event(cluster *mock.Cluster, s *changeStream, ch mock.Change) (bson.D, error) {
	event := eventHead(ch, string(ch.Kind))
	images, err := images(cluster, s, ch)
	if err != nil {
		return nil, err
	}
	event = append(event, images...)
	event = append(event, bson.E{Key: "ns", Value: namespaceDoc(ch.Namespace)})
	if ch.To != "" {
		event = append(event, bson.E{Key: "to", Value: namespaceDoc(ch.To)})
	}
	if ch.Key != nil {
		event = append(event, bson.E{Key: "documentKey", Value: ch.Key})
	}
	if ch.Kind == mock.ChangeUpdate {
		event = append(event, bson.E{Key: "updateDescription", Value: describeUpdate(ch.Before, ch.After)})
	}
	return event, nil
}

// images returns the documents in an event: the one after the change, and the
// one before it where the stream asks for that.
func images(cluster *mock.Cluster, s *changeStream, ch mock.Change) (bson.D, error) {
	var list bson.D
	switch {
	case ch.Kind == mock.ChangeInsert || ch.Kind == mock.ChangeReplace:
		list = append(list, bson.E{Key: "fullDocument", Value: ch.After})
	case ch.Kind == mock.ChangeUpdate && s.full == "updateLookup":
		list = append(list, bson.E{Key: "fullDocument", Value: lookUp(cluster, ch)})
	case ch.Kind == mock.ChangeUpdate && s.full != "" && s.full != "default":
		doc, err := image(ch, s.full, "post", ch.After)
		if err != nil {
			return nil, err
		}
		list = append(list, bson.E{Key: "fullDocument", Value: doc})
	}
	if ch.Before == nil || s.before == "" || s.before == "off" {
		return list, nil
	}
	doc, err := image(ch, s.before, "pre", ch.Before)
	return append(list, bson.E{Key: "fullDocumentBeforeChange", Value: doc}), err
}

// image returns a document that the collection has kept, or null.
func image(ch mock.Change, mode, which string, doc bson.Raw) (any, error) {
	switch {
	case ch.Images:
		return doc, nil
	case mode == "required":
		return nil, mongoerr.New(mongoerr.NoMatchingDocument,
			"Change stream was configured to require a %s-image for all update, delete and replace events, but the %s-image "+
				"for event was not found: %s", which, which, ch.Namespace)
	}
	return nil, nil
}

// lookUp finds a changed document as it is now; nil when it is gone.
func lookUp(cluster *mock.Cluster, ch mock.Change) any {
	query, err := bson.Marshal(bson.D{{Key: "_id", Value: bson.D{{Key: "$eq", Value: ch.After.Lookup("_id")}}}})
	if err != nil {
		return nil
	}
	filter, err := store.CompileFilter(query)
	if err != nil {
		return nil
	}
	for doc := range cluster.Documents(ch.Namespace, filter) {
		return doc
	}
	return nil
}

// difference is what an update has done to a document.
type difference struct {
	updated   bson.D
	removed   bson.A
	truncated bson.A
}

func describeUpdate(before, after bson.Raw) bson.D {
	diff := difference{updated: bson.D{}, removed: bson.A{}, truncated: bson.A{}}
	diff.documents("", before, after)
	return bson.D{{Key: "updatedFields", Value: diff.updated}, {Key: "removedFields", Value: diff.removed},
		{Key: "truncatedArrays", Value: diff.truncated}}
}

func (d *difference) documents(prefix string, before, after bson.Raw) {
	was, _ := before.Elements()
	for _, e := range was {
		if _, err := after.LookupErr(e.Key()); err != nil {
			d.removed = append(d.removed, prefix+e.Key())
		}
	}
	is, _ := after.Elements()
	for _, e := range is {
		old, err := before.LookupErr(e.Key())
		if err != nil {
			d.updated = append(d.updated, bson.E{Key: prefix + e.Key(), Value: e.Value()})
			continue
		}
		d.values(prefix+e.Key(), old, e.Value())
	}
}

func (d *difference) values(path string, old, v bson.RawValue) {
	if old.Equal(v) {
		return
	}
	if a, isDoc := old.DocumentOK(); isDoc {
		if b, isDoc := v.DocumentOK(); isDoc {
			d.documents(path+".", a, b)
			return
		}
	}
	a, isArray := old.ArrayOK()
	b, stillArray := v.ArrayOK()
	if !isArray || !stillArray {
		d.updated = append(d.updated, bson.E{Key: path, Value: v})
		return
	}
	d.arrays(path, a, b)
}

// arrays differ at places, at the end, or in length.
func (d *difference) arrays(path string, before, after bson.RawArray) {
	was, _ := before.Values()
	is, _ := after.Values()
	if len(is) < len(was) {
		d.truncated = append(d.truncated, bson.D{{Key: "field", Value: path}, {Key: "newSize", Value: int32(len(is))}})
	}
	for i, v := range is {
		at := path + "." + strconv.Itoa(i)
		if i >= len(was) {
			d.updated = append(d.updated, bson.E{Key: at, Value: v})
			continue
		}
		d.values(at, was[i], v)
	}
}
