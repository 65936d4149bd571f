package sampling

import (
	"bytes"
	"encoding/binary"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// sampledFor is how long a server keeps a sampled query.
const sampledFor = 7 * 24 * time.Hour

// Doc is a sampled query as config.sampledQueries has it.
func (q Query) Doc(ns string, i int) bson.D {
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
