package mock

import (
	"encoding/binary"
	"iter"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
)

// chunkPlaces is config.chunks as documents, made from the routing tables as
// they are read. A filter on uuid reads one collection; what else it asks for
// may leave out most of its chunks.
func (cfg *ConfigDB) chunkPlaces(filter *store.Filter, newestFirst bool) iter.Seq[place] {
	return func(yield func(place) bool) {
		uuid, byUUID := filter.Equality("uuid")
		for _, raw := range cfg.Collection(configCollections).Scan() {
			if byUUID && !raw.Lookup("uuid").Equal(uuid) {
				continue
			}
			coll, err := catalog.ParseCollection(raw)
			if err != nil || cfg.tables[coll.Namespace] == nil {
				continue
			}
			chunks := chunksFor(cfg.tables[coll.Namespace], filter)
			if newestFirst {
				chunks = byAge(cfg.tables[coll.Namespace])
			}
			for chunk := range chunks {
				doc := chunkDocument(coll, chunk)
				if (filter == nil || filter.Match(doc)) && !yield(place{doc: doc}) {
					return
				}
			}
		}
	}
}

// chunkDocument is chunk.Doc encoded, without the detour over bson.D: a reader
// of a large collection asks for a million of them.
func chunkDocument(coll catalog.Collection, chunk catalog.Chunk) bson.Raw {
	lower, upper := coll.Pattern.Bound(chunk.Min), coll.Pattern.Bound(chunk.Max)
	dst := make([]byte, 0, 256+len(lower)+len(upper)+64*len(chunk.History))
	start, dst := bsoncore.AppendDocumentStart(dst)
	dst = bsoncore.AppendObjectIDElement(dst, "_id", chunk.ID)
	dst = bsoncore.AppendBinaryElement(dst, "uuid", coll.UUID.Subtype, coll.UUID.Data)
	dst = bsoncore.AppendDocumentElement(dst, "min", bsoncore.Document(lower))
	dst = bsoncore.AppendDocumentElement(dst, "max", bsoncore.Document(upper))
	dst = bsoncore.AppendStringElement(dst, "shard", string(chunk.Shard))
	dst = bsoncore.AppendTimestampElement(dst, "lastmod", chunk.Version.Major, chunk.Version.Minor)
	if chunk.Estimate.Known() {
		dst = bsoncore.AppendInt64Element(dst, "estimatedDataSizeBytes", chunk.Estimate.Bytes())
	}
	if chunk.Jumbo != catalog.JumboUnset {
		dst = bsoncore.AppendBooleanElement(dst, "jumbo", chunk.Jumbo == catalog.JumboTrue)
	}
	history := chunk.History
	if since := chunk.OnCurrentShardSince; !since.IsZero() {
		dst = bsoncore.AppendTimestampElement(dst, "onCurrentShardSince", since.T, since.I)
		if len(history) == 0 {
			history = []catalog.ChunkHistory{{ValidAfter: since, Shard: chunk.Shard}}
		}
	}
	if len(history) > 0 {
		var array, entry int32
		array, dst = bsoncore.AppendArrayElementStart(dst, "history")
		for i, h := range history {
			entry, dst = bsoncore.AppendDocumentElementStart(dst, strconv.Itoa(i))
			dst = bsoncore.AppendTimestampElement(dst, "validAfter", h.ValidAfter.T, h.ValidAfter.I)
			dst = bsoncore.AppendStringElement(dst, "shard", string(h.Shard))
			dst = closeDocument(dst, entry)
		}
		dst = closeDocument(dst, array)
	}
	return bson.Raw(closeDocument(dst, start))
}

// closeDocument ends the document or array that begins at start.
func closeDocument(dst []byte, start int32) []byte {
	dst = append(dst, 0)
	binary.LittleEndian.PutUint32(dst[start:], uint32(len(dst))-uint32(start))
	return dst
}

// CountChunks counts config.chunks from the routing tables when the query
// asks for nothing but a collection's uuid, a shard, or both.
func (cfg *ConfigDB) CountChunks(ns string, query bson.Raw) (n int64, ok bool) {
	elems, err := query.Elements()
	if err != nil || ns != chunksNamespace {
		return 0, false
	}
	var uuid, shard bson.RawValue
	for _, e := range elems {
		switch v := e.Value(); {
		case e.Key() == "uuid" && v.Type == bson.TypeBinary:
			uuid = v
		case e.Key() == "shard" && v.Type == bson.TypeString:
			shard = v
		default:
			return 0, false
		}
	}
	for _, raw := range cfg.Collection(configCollections).Scan() {
		id, _ := raw.Lookup("_id").StringValueOK()
		table := cfg.tables[id]
		if table == nil || !uuid.IsZero() && !raw.Lookup("uuid").Equal(uuid) {
			continue
		}
		if owner, asked := shard.StringValueOK(); asked {
			n += int64(table.Count(catalog.ShardID(owner)))
		} else {
			n += int64(table.Len())
		}
	}
	return n, true
}
