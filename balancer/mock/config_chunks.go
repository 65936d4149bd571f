package mock

import (
	"cmp"
	"encoding/binary"
	"iter"
	"maps"
	"slices"
	"strconv"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/x/bsonx/bsoncore"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/filter"
	"shardsh/balancer/mongoerr"
)

// ConfigChunks is the collection config.chunks. Its documents are generated from the routing tables.
type ConfigChunks struct {
	*clusterSettings
	config chunkConfig
	// overrides holds functions that rewrite chunks for readers, by collection
	// (Planter.OverrideConfigChunks).
	overrides map[string]func(bson.Raw) bson.Raw
}

// chunkConfig is the source of config.chunks.
type chunkConfig interface {
	Collection(name string) *store.Collection
	TrackedEntry(ns string) (catalog.Collection, bool, error)
	Table(ns string) *catalog.RoutingTable
	allTables() iter.Seq2[string, *catalog.RoutingTable]
}

// ConfigChunks returns the collection config.chunks.
func (c *Cluster) ConfigChunks() *ConfigChunks { return c.configChunks }

// chunkView is a consistent snapshot of the source of config.chunks. It can be used without the lock.
type chunkView struct {
	format    chunkFormat
	colls     *store.Collection // config.collections
	tables    map[string]*catalog.RoutingTable
	overrides map[string]func(bson.Raw) bson.Raw
}

func (cc *ConfigChunks) view() *chunkView {
	return &chunkView{cc.format(), cc.config.Collection(configCollections).Snapshot(), maps.Collect(cc.config.allTables()),
		cc.overrides}
}

// collections iterates over the collections that have chunks. A filter on the owner field excludes
// collections.
func (v *chunkView) collections(filter *filter.Filter) iter.Seq2[catalog.Collection, *catalog.RoutingTable] {
	return func(yield func(catalog.Collection, *catalog.RoutingTable) bool) {
		owners, byOwner := collectionsIn(filter, v.format.ownerField())
		for raw := range v.colls.Documents() {
			if byOwner {
				if _, asked := owners[string(v.format.ownerValue(raw).Value)]; !asked {
					continue
				}
			}
			coll, err := catalog.ParseCollection(raw)
			if table := v.tables[coll.Namespace]; err == nil && table != nil && !yield(coll, table) {
				return
			}
		}
	}
}

// documents generates a superset of the matching documents of config.chunks from the routing tables
// while they are read.
func (v *chunkView) documents(filter *filter.Filter, order chunkOrder) iter.Seq[bson.Raw] {
	return func(yield func(bson.Raw) bool) {
		owners, _ := collectionsIn(filter, v.format.ownerField())
		for coll, table := range v.collections(filter) {
			chunks := matchingChunks(table, filter, order)
			if from := owners[collectionFieldBytes(coll)]; from != (catalog.ChunkVersion{}) {
				chunks = table.ChunksFromVersion(from)
			}
			change := v.overrides[coll.Namespace]
			for chunk := range chunks {
				doc := v.format.document(coll, chunk)
				if change != nil {
					doc = change(doc)
				}
				if doc != nil && !yield(doc) {
					return
				}
			}
		}
	}
}

// currentChunk returns the current version of a document of config.chunks. It returns false if there is
// no longer a chunk with that lower bound.
func (cc *ConfigChunks) currentChunk(doc bson.Raw) (bson.Raw, bool) {
	coll, tracked, err := cc.collectionOf(doc)
	if err != nil || !tracked {
		return nil, false
	}
	was, err := catalog.ParseChunk(coll.Pattern, doc)
	if err != nil {
		return nil, false
	}
	now := cc.format().document(coll, cc.config.Table(coll.Namespace).Find(was.Min))
	return now, now.Lookup("_id").Equal(doc.Lookup("_id"))
}

// collectionOf returns the tracked collection of a document of config.chunks.
func (cc *ConfigChunks) collectionOf(chunk bson.Raw) (catalog.Collection, bool, error) {
	form := cc.format()
	owner := chunk.Lookup(form.ownerField())
	for _, raw := range cc.config.Collection(configCollections).Scan() {
		if form.ownerValue(raw).Equal(owner) {
			ns, _ := raw.Lookup("_id").StringValueOK()
			return cc.config.TrackedEntry(ns)
		}
	}
	return catalog.Collection{}, false, nil
}

// chunkFormat is the format of config.chunks. The zero value is the format since 5.0; otherwise it is that
// of an older release.
type chunkFormat struct {
	byNamespace bool
	release     catalog.Release
}

func (cc *ConfigChunks) format() chunkFormat {
	return chunkFormat{cc.release.HasChunksByNamespace(), cc.release}
}

// ownerField returns the field that identifies the collection of a chunk.
func (f chunkFormat) ownerField() string {
	if f.byNamespace {
		return "ns"
	}
	return "uuid"
}

// ownerValue returns the value of the owner field for a collection's entry.
func (f chunkFormat) ownerValue(entry bson.Raw) bson.RawValue {
	if f.byNamespace {
		return entry.Lookup("_id")
	}
	return entry.Lookup("uuid")
}

// chunkDocument returns a chunk in the format since 5.0, in which it is stored.
func chunkDocument(coll catalog.Collection, chunk catalog.Chunk) bson.Raw {
	return chunkFormat{}.document(coll, chunk)
}

// document returns the encoded coll.ChunkDoc without creating a bson.D, because a reader of a large
// collection may need a million of them.
func (f chunkFormat) document(coll catalog.Collection, chunk catalog.Chunk) bson.Raw {
	lower, upper := coll.Pattern.Bound(chunk.Min), coll.Pattern.Bound(chunk.Max)
	const fields, inHistory = 180, 45 // in bytes, besides bounds and shards
	dst := make([]byte, 0, fields+len(lower)+len(upper)+max(1, len(chunk.History))*(inHistory+len(chunk.Shard)))
	start, dst := bsoncore.AppendDocumentStart(dst)
	if f.byNamespace && f.release.HasTextChunkIDs() {
		dst = bsoncore.AppendStringElement(dst, "_id", f.release.TextChunkID(coll.Namespace, lower))
	} else {
		dst = bsoncore.AppendObjectIDElement(dst, "_id", chunk.ID)
	}
	if f.byNamespace {
		dst = bsoncore.AppendStringElement(dst, "ns", coll.Namespace)
	} else {
		dst = bsoncore.AppendBinaryElement(dst, "uuid", coll.UUID.Subtype, coll.UUID.Data)
	}
	dst = bsoncore.AppendDocumentElement(dst, "min", bsoncore.Document(lower))
	dst = bsoncore.AppendDocumentElement(dst, "max", bsoncore.Document(upper))
	dst = bsoncore.AppendStringElement(dst, "shard", string(chunk.Shard))
	dst = bsoncore.AppendTimestampElement(dst, "lastmod", chunk.Version.Major, chunk.Version.Minor)
	if f.byNamespace {
		dst = bsoncore.AppendObjectIDElement(dst, "lastmodEpoch", coll.Epoch)
	}
	if chunk.Estimate.Known() {
		if n, fits := chunk.Estimate.Int32(); fits {
			dst = bsoncore.AppendInt32Element(dst, "estimatedDataSizeBytes", n)
		} else {
			dst = bsoncore.AppendInt64Element(dst, "estimatedDataSizeBytes", chunk.Estimate.Bytes())
		}
	}
	if chunk.Jumbo != catalog.JumboUnset {
		dst = bsoncore.AppendBooleanElement(dst, "jumbo", chunk.Jumbo == catalog.JumboTrue)
	}
	history := chunk.History
	if since := chunk.OnCurrentShardSince; !since.IsZero() {
		if f.release.AutoMerges() {
			dst = bsoncore.AppendTimestampElement(dst, "onCurrentShardSince", since.T, since.I)
		}
		if len(history) == 0 {
			history = []catalog.ChunkHistory{{ValidAfter: since, Shard: chunk.Shard}}
		}
	}
	if len(history) > 0 && f.release.KeepsHistory() {
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

// Count counts the documents of config.chunks by the counters of the routing tables. ok is false if the
// query has conditions other than on the collection and the shard.
func (cc *ConfigChunks) Count(ns string, query bson.Raw) (n int64, ok bool) {
	elems, err := query.Elements()
	if err != nil || ns != chunksNamespace {
		return 0, false
	}
	var owner, shard bson.RawValue
	form := cc.format()
	for _, e := range elems {
		switch v := e.Value(); {
		case e.Key() == form.ownerField() && (v.Type == bson.TypeBinary || v.Type == bson.TypeString):
			owner = v
		case e.Key() == "shard" && v.Type == bson.TypeString:
			shard = v
		default:
			return 0, false
		}
	}
	for _, raw := range cc.config.Collection(configCollections).Scan() {
		id, _ := raw.Lookup("_id").StringValueOK()
		table := cc.config.Table(id)
		if table == nil || !owner.IsZero() && !form.ownerValue(raw).Equal(owner) {
			continue
		}
		if on, asked := shard.StringValueOK(); asked {
			n += int64(table.CountOn(catalog.ShardID(on)))
		} else {
			n += int64(table.Len())
		}
	}
	return n, true
}

// ChunkCount is the number of documents of config.chunks with the same collection, shard and jumbo flag.
type ChunkCount struct {
	Collection bson.E // the field that identifies the collection
	Shard      catalog.ShardID
	Jumbo      bool
	Chunks     int64
}

// Counts returns a function that returns the current chunk counts from the routing tables, in the order
// of the first chunk of each count. The function needs no lock. If the filter requires a collection, it
// returns only the counts of that collection.
func (cc *ConfigChunks) Counts() func(filter *filter.Filter) []ChunkCount {
	view := cc.view()
	return func(filter *filter.Filter) []ChunkCount {
		var all []ChunkCount
		for coll, table := range view.collections(filter) {
			all = append(all, countsOf(coll.ChunkFilter(), table)...)
		}
		return all
	}
}

func countsOf(coll bson.E, t *catalog.RoutingTable) []ChunkCount {
	type placed struct {
		ChunkCount
		first catalog.Key
	}
	var counts []placed
	for _, shard := range t.Owners() {
		jumbo := t.JumboCount(shard)
		if n := t.CountOn(shard) - jumbo; n > 0 {
			first, _ := t.FirstNonJumbo(shard, catalog.Key{}, catalog.Key{})
			counts = append(counts, placed{ChunkCount{coll, shard, false, int64(n)}, first.Min})
		}
		if jumbo > 0 {
			counts = append(counts, placed{ChunkCount{coll, shard, true, int64(jumbo)}, firstJumboBound(t, shard)})
		}
	}
	slices.SortFunc(counts, func(a, b placed) int {
		return cmp.Or(a.first.Compare(b.first),
			cmp.Compare(a.Shard, b.Shard))
	})
	plain := make([]ChunkCount, len(counts))
	for i, one := range counts {
		plain[i] = one.ChunkCount
	}
	return plain
}

func firstJumboBound(t *catalog.RoutingTable, shard catalog.ShardID) catalog.Key {
	for chunk := range t.OwnedChunks(shard, catalog.Key{}, catalog.Key{}) {
		if chunk.Jumbo == catalog.JumboTrue {
			return chunk.Min
		}
	}
	return catalog.Key{}
}

// staleConfigError returns the error of a shard for a request routed by a stale routing table; mongos
// retries the request (rules/03-commands §0.7).
func (c *ConfigDB) staleConfigError(ns string, id catalog.ShardID, format string, args ...any) error {
	err := mongoerr.New(mongoerr.StaleConfig, format, args...)
	err.Extra = bson.D{{Key: "ns", Value: ns}}
	if table := c.Table(ns); table != nil {
		version := versionDoc(table, table.ShardVersion(id))
		err.Extra = append(err.Extra, bson.E{Key: "vReceived", Value: version}, bson.E{Key: "vWanted", Value: version})
	}
	err.Extra = append(err.Extra, bson.E{Key: "shardId", Value: string(id)})
	return err
}
