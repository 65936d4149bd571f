package dumpfile

import (
	"fmt"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
)

// dumpedChunk is a chunk of the dump: its document, and the sort key of its lower bound.
type dumpedChunk struct {
	encodedMin string
	doc        bson.Raw
}

// readCollections reads the collections with their chunks and zones.
func (r *reader) readCollections() error {
	entries, err := r.readEntries()
	if err != nil {
		return err
	}
	chunks, err := r.readChunks(entries)
	if err != nil {
		return err
	}
	tags, err := readList(r, "tags", func(doc bson.Raw) (bson.Raw, error) { return doc, nil })
	if err != nil {
		return err
	}
	known := map[catalog.ShardID]bool{}
	for _, shard := range r.parts.Shards {
		known[shard.ID] = true
	}
	for i, entry := range entries {
		c := &catalog.CollectionState{Collection: entry, Zones: catalog.NewZoneSet(entry.Pattern)}
		if c.Table, err = buildTable(entry, chunks[i]); err != nil {
			r.addGap("chunks", entry.Namespace, "%v", err)
		} else if at := slices.IndexFunc(c.Table.Owners(), func(id catalog.ShardID) bool { return !known[id] }); at >= 0 {
			r.addGap("chunks", entry.Namespace, "some chunks are on the shard %s, which is not in the dump",
				c.Table.Owners()[at])
			c.Table = nil
		}
		r.readZones(c, tags)
		r.assumeSizes(c)
		r.parts.Collections = append(r.parts.Collections, c)
	}
	if len(entries) > 0 {
		why := "a dump of config has none (--sizes FILE takes the output of $shardedDataDistribution)"
		if !r.parts.Release.BalancesBySize() {
			why = "a dump of config has none: every chunk is assumed half full, as if nothing were merged or jumbo"
		}
		r.addGap("sizes", "", "%s", why)
	}
	return nil
}

// readEntries reads config.collections, without dropped collections.
func (r *reader) readEntries() (entries []catalog.Collection, err error) {
	docs, err := r.readDocuments("collections")
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(docs, func(a, b bson.Raw) int { return strings.Compare(documentID(a), documentID(b)) })
	seen := map[string]bool{}
	for _, doc := range docs {
		if dropped, _ := doc.Lookup("dropped").BooleanOK(); dropped {
			continue
		}
		r.parts.Config["collections"] = append(r.parts.Config["collections"], doc)
		entry, err := catalog.ParseCollection(doc)
		switch {
		case err != nil:
			r.addGap("collections", documentID(doc), "%v", err)
		case seen[entry.Namespace]:
			return nil, fmt.Errorf("collections.bson: %w: it has %s twice", ErrDamaged, entry.Namespace)
		default:
			seen[entry.Namespace] = true
			entries = append(entries, entry)
		}
	}
	return entries, nil
}

func documentID(doc bson.Raw) string {
	text, _ := doc.Lookup("_id").StringValueOK()
	return text
}

// readChunks sorts the documents of config.chunks by collection and lower bound. It ignores chunks of
// dropped collections.
func (r *reader) readChunks(entries []catalog.Collection) ([][]dumpedChunk, error) {
	docs, err := r.readDocuments("chunks")
	if err != nil {
		return nil, err
	}
	number := map[string]int{}
	for i, entry := range entries {
		number[collectionKey(entry.ChunkFilter())] = i
	}
	chunks, left := make([][]dumpedChunk, len(entries)), 0
	for _, doc := range docs {
		i, ok := number[string(doc.Lookup("uuid").Value)]
		if !ok {
			ns, _ := doc.Lookup("ns").StringValueOK()
			i, ok = number[ns]
		}
		lower, isDocument := doc.Lookup("min").DocumentOK()
		if !ok || !isDocument {
			left++
			continue
		}
		bound, err := entries[i].Pattern.ParseKey(lower)
		if err != nil {
			left++
			continue
		}
		chunks[i] = append(chunks[i], dumpedChunk{string(bound.Bytes()), doc})
	}
	if left > 0 {
		r.addGap("chunks", "", "%d belong to none of the collections", left)
	}
	for _, list := range chunks {
		slices.SortFunc(list, func(a, b dumpedChunk) int { return strings.Compare(a.encodedMin, b.encodedMin) })
	}
	return chunks, nil
}

// collectionKey returns the key by which the chunks of a collection are found: its UUID as in
// documents, or its namespace.
func collectionKey(filter bson.E) string {
	if uuid, ok := filter.Value.(bson.Binary); ok {
		_, value, err := bson.MarshalValue(uuid)
		if err == nil {
			return string(value)
		}
	}
	name, _ := filter.Value.(string)
	return name
}

func buildTable(entry catalog.Collection, chunks []dumpedChunk) (*catalog.RoutingTable, error) {
	b := catalog.NewTableBuilder(entry.Pattern, entry.Epoch, entry.Timestamp)
	for _, c := range chunks {
		if err := b.Add(c.doc); err != nil {
			return nil, err
		}
	}
	return b.Table()
}

// readZones reads the zone ranges of a collection.
func (r *reader) readZones(c *catalog.CollectionState, tags []bson.Raw) {
	for _, doc := range tags {
		if ns, _ := doc.Lookup("ns").StringValueOK(); ns != c.Namespace {
			continue
		}
		zone, err := catalog.ParseZone(c.Pattern, doc)
		if err == nil {
			err = c.Zones.Add(zone)
		}
		if err != nil {
			r.addGap("tags", c.Namespace, "%v", err)
		}
	}
}

// assumeSizes assumes that every chunk is half full, as chunks are that grow until they are split, with
// documents of a kibibyte. A balancer that balances by size would find such a cluster balanced; for its
// releases the sizes stay unknown.
func (r *reader) assumeSizes(c *catalog.CollectionState) {
	if c.Table == nil || r.parts.Release.BalancesBySize() {
		return
	}
	size := r.parts.Settings.MaxChunkSizeBytes
	if c.MaxChunkSizeBytes > 0 {
		size = c.MaxChunkSizeBytes
	}
	size /= 2
	c.Sizes = map[catalog.ShardID]catalog.ShardData{}
	for _, shard := range r.parts.Shards {
		bytes := int64(c.Table.CountOn(shard.ID)) * (size >> 10 << 10)
		c.Sizes[shard.ID] = catalog.ShardData{Bytes: bytes, Documents: bytes >> 10}
	}
}
