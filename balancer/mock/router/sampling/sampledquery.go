package sampling

import (
	"bytes"
	"encoding/binary"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/args"
	"shardsh/balancer/mock/store/document"
)

// sampleTTL is how long a server stores a sampled query (queryAnalysisSampleExpirationSecs).
const sampleTTL = 7 * 24 * time.Hour

// Doc returns a sampled query in the format of config.sampledQueries. The fields and their order were
// recorded on 8.0.
func (q Query) Doc(ns string, uuid bson.Binary, i int) bson.D {
	id := sampleID(ns, i)
	doc := bson.D{{Key: "_id", Value: id}, {Key: "ns", Value: ns}}
	if uuid.Data != nil {
		doc = append(doc, bson.E{Key: "collectionUuid", Value: uuid})
	}
	return append(doc, bson.E{Key: "cmdName", Value: q.command}, bson.E{Key: "cmd", Value: q.cmdDoc},
		bson.E{Key: "expireAt", Value: bson.NewDateTimeFromTime(q.at.Add(sampleTTL))})
}

func sampleID(ns string, i int) bson.Binary {
	id := make([]byte, 16)
	for at, b := range []byte(ns) {
		id[at%8] ^= b
	}
	binary.BigEndian.PutUint64(id[8:], uint64(i))
	return bson.Binary{Subtype: bson.TypeBinaryUUID, Data: id}
}

// maxStoredBytes is the maximum size of a stored filter or update. Larger ones are not stored.
const maxStoredBytes = 16 << 10

// writeStatement is the part of a sampled write besides its filter.
type writeStatement struct {
	multi, upsert, remove, returnNew bool
	update                           bson.RawValue
	collation                        bson.Raw
}

func statementOf(name string, body bson.Raw, multi bool) writeStatement {
	s := writeStatement{multi: multi, upsert: args.IsTrueOrNonzero(body.Lookup("upsert")),
		remove:    args.IsTrueOrNonzero(body.Lookup("remove")),
		returnNew: args.IsTrueOrNonzero(body.Lookup("new")), update: body.Lookup("u")}
	s.collation, _ = body.Lookup("collation").DocumentOK()
	if name == "findAndModify" {
		s.update = body.Lookup("update")
	}
	return s
}

// workloadUpdate returns the update that workloads use.
func workloadUpdate(at time.Time) bson.RawValue {
	return valueOf(bson.D{{Key: "$set", Value: bson.D{{Key: "seen", Value: bson.NewDateTimeFromTime(at)}}}})
}

func valueOf(v any) bson.RawValue {
	t, data, err := bson.MarshalValue(v)
	if err != nil {
		return bson.RawValue{Type: bson.TypeNull}
	}
	return bson.RawValue{Type: t, Value: data}
}

// newCmdDoc returns the stored command of a query: for a read its filter, for a write the write command.
func newCmdDoc(ns, name string, filter bson.Raw, s writeStatement) bson.D {
	filter, collation := emptyIfLarge(filter), bson.D{}
	db, coll, _ := strings.Cut(ns, ".")
	write := func(list string, one bson.D) bson.D {
		if s.collation != nil {
			one = append(one, bson.E{Key: "collation", Value: emptyIfLarge(s.collation)})
		}
		return bson.D{{Key: name, Value: coll}, {Key: "bypassDocumentValidation", Value: false},
			{Key: "ordered", Value: true}, {Key: list, Value: bson.A{one}}, {Key: "$db", Value: db}}
	}
	update := s.update
	if len(update.Value) == 0 || len(update.Value) > maxStoredBytes {
		update = valueOf(bson.D{})
	} else {
		update.Value = bytes.Clone(update.Value)
	}
	switch name {
	case "update":
		return write("updates", bson.D{{Key: "q", Value: filter}, {Key: "u", Value: update},
			{Key: "multi", Value: s.multi}, {Key: "upsert", Value: s.upsert}})
	case "delete":
		limit := int32(1)
		if s.multi {
			limit = 0
		}
		return write("deletes", bson.D{{Key: "q", Value: filter}, {Key: "limit", Value: limit}})
	case "findAndModify":
		doc := bson.D{{Key: name, Value: coll}, {Key: "query", Value: filter}, {Key: "remove", Value: s.remove}}
		if !s.remove {
			doc = append(doc, bson.E{Key: "update", Value: update})
		}
		return append(doc, bson.E{Key: "upsert", Value: s.upsert}, bson.E{Key: "new", Value: s.returnNew},
			bson.E{Key: "$db", Value: db})
	case "aggregate":
		collation = bson.D{{Key: "locale", Value: "simple"}}
	}
	shown := bson.D{{Key: "filter", Value: filter}, {Key: "collation", Value: collation}}
	if s.collation != nil {
		shown[1].Value = emptyIfLarge(s.collation)
	}
	if name == "aggregate" {
		shown = append(shown, bson.E{Key: "let", Value: bson.D{}})
	}
	return shown
}

func emptyIfLarge(doc bson.Raw) bson.Raw {
	if doc == nil || len(doc) > maxStoredBytes {
		return document.Empty
	}
	return bytes.Clone(doc)
}
