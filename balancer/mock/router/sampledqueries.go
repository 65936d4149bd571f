package router

import (
	"bytes"
	"encoding/binary"
	"maps"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mongoerr"
)

// sampledFor is how long a server keeps a sampled query.
const sampledFor = 7 * 24 * time.Hour

// sampledQueriesStage is $listSampledQueries: what configureQueryAnalyzer had sampled,
// of a collection or of all.
func sampledQueriesStage(c *call, _ string, spec bson.RawValue) ([]bson.Raw, error) {
	doc, isDoc := spec.DocumentOK()
	if !isDoc {
		return nil, mongoerr.New(mongoerr.BadValue,
			"$listSampledQueries must take a nested object but found: %s", spec)
	}
	ns, isText := doc.Lookup("namespace").StringValueOK()
	if !isText && !doc.Lookup("namespace").IsZero() {
		return nil, mongoerr.New(mongoerr.TypeMismatch,
			"BSON field '$listSampledQueries.namespace' is the wrong type '%s', expected type 'string'",
			args.TypeName(doc.Lookup("namespace").Type))
	}
	var docs []bson.Raw
	for _, of := range slices.Sorted(maps.Keys(c.node.analyzers)) {
		if isText && of != ns {
			continue
		}
		for i, one := range c.node.analyzers[of].samples {
			raw, err := bson.Marshal(one.doc(of, i))
			if err != nil {
				return nil, err
			}
			docs = append(docs, raw)
		}
	}
	return docs, nil
}

// doc is a sampled query as config.sampledQueries has it.
func (q sampledQuery) doc(ns string, i int) bson.D {
	id := make([]byte, 16)
	binary.BigEndian.PutUint64(id[8:], uint64(i))
	return bson.D{
		{Key: "_id", Value: bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id}}, {Key: "ns", Value: ns},
		{Key: "cmdName", Value: q.command}, {Key: "cmd", Value: q.shown},
		{Key: "expireAt", Value: bson.NewDateTimeFromTime(q.at.Add(sampledFor))},
	}
}

// mostShown is how many bytes of a filter are kept: of a longer one nothing is.
const mostShown = 16 << 10

// shownQuery is what is kept of a query to be shown: the filter, where a read or a write
// has it.
func shownQuery(name string, filter bson.Raw, multi bool) bson.D {
	if filter == nil || len(filter) > mostShown {
		filter = bson.Raw{5, 0, 0, 0, 0}
	}
	filter = bytes.Clone(filter)
	switch name {
	case "update":
		return bson.D{{Key: "updates", Value: bson.A{bson.D{{Key: "q", Value: filter}, {Key: "multi", Value: multi}}}}}
	case "delete":
		limit := int32(1)
		if multi {
			limit = 0
		}
		return bson.D{{Key: "deletes", Value: bson.A{bson.D{{Key: "q", Value: filter}, {Key: "limit", Value: limit}}}}}
	case "findAndModify":
		return bson.D{{Key: "query", Value: filter}}
	}
	return bson.D{{Key: "filter", Value: filter}}
}
