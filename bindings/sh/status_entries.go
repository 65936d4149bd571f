package sh

import (
	"fmt"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/bindings/rawdoc"
	"shardsh/bindings/server"

	"github.com/dop251/goja"
	"go.mongodb.org/mongo-driver/v2/bson"
)

// The maximum number of collections and of chunks that sh.status() reads with one command, and the
// maximum number of larger collections whose first chunks it reads.
const (
	maxBatchCollections = 1000
	maxBatchChunks      = 100_000
	maxLargeCollections = 100
)

// maxTimeField limits the time for the first batch of the reads of sh.status().
var maxTimeField = bson.E{Key: "maxTimeMS", Value: (30 * time.Second).Milliseconds()}

// readChunksAndZones reads the chunks and zones to show, for many collections with each command.
func (r *statusReport) readChunksAndZones() {
	r.entriesRead = map[string]map[string][]bson.Raw{"chunks": {}, "tags": {}}
	for _, doc := range r.config.FindAll("tags", bson.D{}, sortByTwoFields("ns", "min"), maxTimeField) {
		r.addEntry("tags", rawdoc.Text(doc, "ns"), doc)
	}
	large := 0
	var some []bson.Raw
	chunks := int64(0)
	for _, entry := range r.shardedEntries() {
		n := r.collectionOf(entry).Count().Chunks
		if n > maxStatusChunks && !r.verbose {
			if large++; large <= maxLargeCollections {
				r.entriesRead["chunks"][rawdoc.Text(entry, "_id")] = r.readFirstChunks(entry)
			}
			continue
		}
		if len(some) == maxBatchCollections || len(some) > 0 && chunks+n > maxBatchChunks {
			r.readChunks(some)
			some, chunks = some[:0], 0
		}
		some, chunks = append(some, entry), chunks+n
	}
	r.readChunks(some)
}

// readChunks reads all chunks of some collections.
func (r *statusReport) readChunks(entries []bson.Raw) {
	ids, names := map[string]bson.A{}, map[string]string{}
	for _, entry := range entries {
		of := ChunkFilter(entry)[0]
		ids[of.Key] = append(ids[of.Key], of.Value)
		names[string(of.Value.(bson.RawValue).Value)] = rawdoc.Text(entry, "_id")
	}
	for field, list := range ids {
		filter := bson.D{{Key: field, Value: bson.D{{Key: "$in", Value: list}}}}
		for _, doc := range r.config.FindAll("chunks", filter, sortByTwoFields(field, "min"), maxTimeField) {
			r.addEntry("chunks", names[string(doc.Lookup(field).Value)], doc)
		}
	}
}

// readFirstChunks reads one more chunk of a collection than is shown, to know whether there are more; with
// verbose it reads all.
func (r *statusReport) readFirstChunks(entry bson.Raw) []bson.Raw {
	options := []bson.E{server.SortField("min", 1), maxTimeField}
	if !r.verbose {
		options = append(options, server.LimitField(maxStatusChunks+1))
	}
	return r.config.FindAll("chunks", ChunkFilter(entry), options...)
}

func (r *statusReport) addEntry(collection, ns string, doc bson.Raw) {
	r.entriesRead[collection][ns] = append(r.entriesRead[collection][ns], doc)
}

// entriesOf returns the chunks or the zone ranges of a collection.
func (r *statusReport) entriesOf(collection, ns string) []bson.Raw {
	if r.entriesRead == nil {
		r.readChunksAndZones()
	}
	return r.entriesRead[collection][ns]
}

// chunks returns the chunks of a collection to show; none if too many collections have many chunks.
func (r *statusReport) chunks(c *catalog.CollectionState) goja.Value {
	docs := r.entriesOf("chunks", c.Namespace)
	if len(docs) == 0 && c.Count().Chunks > maxStatusChunks {
		return r.host.JS.Runtime.NewArray(fmt.Sprintf(tooManyText, "chunks"))
	}
	return r.listEntries("chunks", docs, maxStatusChunks, r.chunk)
}

// sortByTwoFields returns the sort field of a find command for two fields.
func sortByTwoFields(first, second string) bson.E {
	return bson.E{Key: "sort", Value: bson.D{{Key: first, Value: int32(1)}, {Key: second, Value: int32(1)}}}
}

// listEntries returns entries of a collection, up to a limit.
func (r *statusReport) listEntries(
	collection string, docs []bson.Raw, limit int, show func(bson.Raw) *goja.Object,
) goja.Value {
	var items []any
	for i, doc := range docs {
		if i == limit && !r.verbose {
			items = append(items, fmt.Sprintf(tooManyText, collection))
			break
		}
		items = append(items, show(doc))
	}
	return r.host.JS.Runtime.NewArray(items...)
}
