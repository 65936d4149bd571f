package reads

import (
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// eventHead returns the first fields of every change event.
func eventHead(ch mock.Change, kind string) bson.D {
	return bson.D{
		{Key: "_id", Value: resumeToken(ch.At)}, {Key: "operationType", Value: kind},
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

// event returns the change event of a change.
func event(cluster *mock.Cluster, s *changeStream, ch mock.Change) (bson.D, error) {
	event := eventHead(ch, string(ch.Kind))
	images, err := imageFields(cluster, s, ch)
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
	if u := ch.Update; ch.Kind == mock.ChangeUpdate {
		description := bson.D{{Key: "updatedFields", Value: u.Updated}, {Key: "removedFields", Value: u.Removed},
			{Key: "truncatedArrays", Value: u.Truncated}}
		if s.showExpanded && cluster.Release().FCVAtLeast(catalog.Release70) { // introduced in 6.1
			description = append(description, bson.E{Key: "disambiguatedPaths", Value: u.Ambiguous})
		}
		event = append(event, bson.E{Key: "updateDescription", Value: description})
	}
	if s.showExpanded {
		event = append(event, expandedFields(ch)...)
	}
	return event, nil
}

// expandedFields returns the fields that appear only with showExpandedEvents.
func expandedFields(ch mock.Change) (list bson.D) {
	if ch.UUID != nil {
		list = append(list, bson.E{Key: "collectionUUID", Value: *ch.UUID})
	}
	operation := ch.Operation
	if ch.To != "" {
		operation = append(bson.D{{Key: "to", Value: namespaceDoc(ch.To)}}, operation...)
	}
	if operation != nil {
		list = append(list, bson.E{Key: "operationDescription", Value: operation})
	}
	if ch.Kind == mock.ChangeCreate {
		list = append(list, bson.E{Key: "nsType", Value: ch.NSType})
	}
	if ch.StateBefore != nil {
		list = append(list, bson.E{Key: "stateBeforeChange", Value: ch.StateBefore})
	}
	return list
}

// imageFields returns the documents in an event: the document after the change, and the document before
// the change if the stream asks for it.
func imageFields(cluster *mock.Cluster, s *changeStream, ch mock.Change) (bson.D, error) {
	var list bson.D
	switch {
	case ch.Kind == mock.ChangeInsert || ch.Kind == mock.ChangeReplace:
		list = append(list, bson.E{Key: "fullDocument", Value: ch.After})
	case ch.Kind == mock.ChangeUpdate && s.fullDocument == "updateLookup":
		list = append(list, bson.E{Key: "fullDocument", Value: lookUp(cluster, ch)})
	case ch.Kind == mock.ChangeUpdate && s.fullDocument != "" && s.fullDocument != "default":
		doc, err := imageOrNull(ch, s.fullDocument, "post", ch.After)
		if err != nil {
			return nil, err
		}
		list = append(list, bson.E{Key: "fullDocument", Value: doc})
	}
	if ch.Before == nil || s.fullDocumentBefore == "" || s.fullDocumentBefore == "off" {
		return list, nil
	}
	doc, err := imageOrNull(ch, s.fullDocumentBefore, "pre", ch.Before)
	return append(list, bson.E{Key: "fullDocumentBeforeChange", Value: doc}), err
}

// imageOrNull returns a stored pre- or post-image, or null.
func imageOrNull(ch mock.Change, mode, which string, doc bson.Raw) (any, error) {
	switch {
	case ch.KeepsImages:
		return doc, nil
	case mode == "required":
		return nil, mongoerr.New(mongoerr.NoMatchingDocument,
			"Change stream was configured to require a %s-image for all update, delete and replace events, but the %s-image "+
				"for event was not found: %s", which, which, ch.Namespace)
	}
	return nil, nil
}

// lookUp returns the current version of a changed document, nil if it no longer exists.
func lookUp(cluster *mock.Cluster, ch mock.Change) any {
	query, err := bson.Marshal(bson.D{{Key: "_id", Value: bson.D{{Key: "$eq", Value: ch.After.Lookup("_id")}}}})
	if err != nil {
		return nil
	}
	filter, err := filter.Compile(query)
	if err != nil {
		return nil
	}
	for doc := range cluster.Documents(ch.Namespace, filter) {
		return doc
	}
	return nil
}
