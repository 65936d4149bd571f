package holdings

import (
	"bytes"
	"container/heap"
	"context"
	"fmt"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
	"go.mongodb.org/mongo-driver/v2/mongo/readpref"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyorder"
	"shardsh/balancer/live"
	"shardsh/balancer/live/documents"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/placement"
)

// batchSize is the number of documents in a batch.
const batchSize = 5000

// MergedReader reads a collection from several shards at once, in the order of an index.
type MergedReader struct {
	Namespace string
	Shards    []*Shard
	// Order is the key pattern of the index. Fields are the dotted names of further fields to read.
	Order  bson.Raw
	Fields []string
	// IndexName is the name of the index, if its key alone does not identify it.
	IndexName string
	// Collation is that of the index; nil means the order by bytes. With a collation, the servers return a sort key
	// with each document, because a client can't compare exactly as they do.
	Collation bson.Raw
	// From is the start key, as a document with the fields of Order; nil is the lowest key.
	From bson.Raw
	// Secondary reads from secondaries of shards that have one.
	Secondary bool
	// MaxTime limits the time that the servers work for one cursor.
	MaxTime time.Duration
	// OnError is called after an error of a shard, with the number of consecutive failures. If it
	// returns nil, the read resumes at its last position.
	OnError func(ctx context.Context, failures int, err error) error

	streams []*stream
	fields  []orderField // of Order
}

// orderField is a field of an index.
type orderField struct {
	name       string
	path       []string
	descending bool
}

// stream is the cursor on one shard.
type stream struct {
	reader       *MergedReader
	shard        *Shard
	cursor       *mongo.Cursor
	ahead        *documents.AheadReader // of the cursor
	current      bson.Raw
	sortKey      []byte // of current, by the index's fields
	spareSortKey []byte // the room for the next one
	resumeAt     bson.Raw
	// skipAtResume is the number of documents with the key resumeAt that were read already: at most 1, as
	// keys of the index are unique.
	skipAtResume int
	ended        bool
}

// Each calls put with all documents on all shards that have equal values in the fields of the index, in
// the order of the index, until put returns an error. The documents are valid until put returns.
func (m *MergedReader) Each(ctx context.Context, put func([]placement.Copy) error) error {
	defer m.CloseCursors(context.WithoutCancel(ctx))
	m.fields = orderFields(m.Order)
	var h streamHeap
	for _, s := range m.Shards {
		one := &stream{reader: m, shard: s, resumeAt: m.From}
		m.streams = append(m.streams, one)
		if err := one.next(ctx); err != nil {
			return err
		}
		if !one.ended {
			h = append(h, one)
		}
	}
	heap.Init(&h)
	var copies []placement.Copy
	var place []byte
	for len(h) > 0 {
		copies, place = copies[:0], append(place[:0], h[0].sortKey...)
		for len(h) > 0 && bytes.Equal(h[0].sortKey, place) {
			first := h[0]
			copies = append(copies, placement.Copy{Shard: first.shard.ID, Doc: first.current})
			if err := first.next(ctx); err != nil {
				return err
			}
			if first.ended {
				heap.Pop(&h)
			} else {
				heap.Fix(&h, 0)
			}
		}
		if err := put(copies); err != nil {
			return err
		}
	}
	return nil
}

// CloseCursors closes all cursors; they are opened again at the next document. Servers close idle
// cursors.
func (m *MergedReader) CloseCursors(ctx context.Context) {
	for _, s := range m.streams {
		s.close(ctx)
	}
}

func (s *stream) close(ctx context.Context) {
	if s.cursor != nil {
		s.ahead.Close()
		_ = live.CloseCursor(ctx, s.cursor) // it was only read
		s.cursor = nil
	}
}

// next advances to the next document. After an error it resumes from the last position.
func (s *stream) next(ctx context.Context) error {
	for failures := 0; ; {
		err := s.step(ctx)
		if err == nil || ctx.Err() != nil || mongoerr.Is(err, mongoerr.NamespaceNotFound) {
			s.ended = s.ended || err != nil && ctx.Err() == nil
			return ctx.Err()
		}
		s.close(ctx)
		failures++
		if err := s.reader.OnError(ctx, failures, fmt.Errorf("%s: %w", s.shard.ID, err)); err != nil {
			return err
		}
	}
}

func (s *stream) step(ctx context.Context) error {
	if s.cursor == nil {
		if err := s.open(ctx); err != nil {
			return err
		}
	}
	for {
		doc, err := s.ahead.Next()
		if err != nil {
			return live.ServerError(err)
		}
		if doc == nil {
			s.ended = true
			return nil
		}
		place, err := s.reader.appendSortKey(s.spareSortKey[:0], doc)
		if err != nil {
			return err
		}
		same := s.sortKey != nil && bytes.Equal(place, s.sortKey)
		if same && s.skipAtResume > 0 {
			s.skipAtResume--
			continue
		}
		s.skipAtResume = 0
		s.current, s.sortKey, s.spareSortKey = doc, place, s.sortKey
		s.resumeAt = s.current
		return nil
	}
}

// open opens a cursor at the last position.
func (s *stream) open(ctx context.Context) error {
	database, name, err := catalog.SplitNamespace(s.reader.Namespace)
	if err != nil {
		return err
	}
	command := bson.D{
		{Key: "find", Value: name}, {Key: "filter", Value: bson.D{}}, {Key: "sort", Value: s.reader.Order},
		{Key: "hint", Value: s.reader.hint()}, {Key: "projection", Value: s.reader.projection()},
		{Key: "batchSize", Value: int32(batchSize)}, live.ReadConcernMajority,
	}
	if s.reader.Collation != nil {
		command = append(command, bson.E{Key: "collation", Value: s.reader.Collation})
	}
	if s.resumeAt != nil {
		command = append(command, bson.E{Key: "min", Value: s.reader.minBound(s.resumeAt)})
	}
	if s.sortKey != nil {
		s.skipAtResume = 1
	}
	if _, given := ctx.Deadline(); !given {
		command = append(command, bson.E{Key: "maxTimeMS", Value: s.reader.MaxTime.Milliseconds()})
	}
	how := options.RunCmd()
	if s.reader.Secondary {
		how.SetReadPreference(readpref.SecondaryPreferred())
	}
	cursor, err := s.shard.client.Database(database).RunCommandCursor(ctx, command, how)
	if err != nil {
		return s.reader.openError(live.ServerError(err))
	}
	cursor.SetBatchSize(batchSize)
	s.cursor, s.ahead = cursor, documents.NewAheadReader(ctx, cursor)
	return nil
}

// OrderError says that a shard does not return documents in the order of an index.
type OrderError struct{ error }

// sortKeyNotAvailable is the error code of a mock, which has no collations, for a query of sort keys.
const sortKeyNotAvailable = 40218

// openError returns an *OrderError for errors which say that the order is not possible, and other errors unchanged.
func (m *MergedReader) openError(err error) error {
	if mongoerr.Is(err, mongoerr.BadValue) || // of 5.0 for a hint at the buckets of a time series
		m.Collation != nil && (mongoerr.Is(err, mongoerr.NotImplemented) || mongoerr.Is(err, sortKeyNotAvailable)) {
		return &OrderError{err}
	}
	return err
}

func (m *MergedReader) hint() any {
	if m.IndexName != "" {
		return m.IndexName
	}
	return m.Order
}

// sortKeyField is the field in which servers say where in the order a document is.
const sortKeyField = "shardsh sort key"

func (m *MergedReader) projection() bson.D {
	d := bson.D{{Key: "_id", Value: int32(1)}}
	if m.Collation != nil {
		d = append(d, bson.E{Key: sortKeyField, Value: bson.D{{Key: "$meta", Value: "sortKey"}}})
	}
	for _, f := range m.Fields {
		if f != "_id" && !strings.HasPrefix(f, "_id.") {
			d = append(d, bson.E{Key: f, Value: int32(1)})
		}
	}
	return d
}

// minBound returns the min bound of the index scan.
func (m *MergedReader) minBound(doc bson.Raw) bson.D {
	d := bson.D{}
	for _, f := range m.fields {
		d = append(d, bson.E{Key: f.name, Value: valueAt(doc, f.path)})
	}
	return d
}

func orderFields(index bson.Raw) (fields []orderField) {
	elements, _ := index.Elements()
	for _, e := range elements {
		n, isNumber := e.Value().AsInt64OK()
		fields = append(fields, orderField{e.Key(), strings.Split(e.Key(), "."), isNumber && n < 0})
	}
	return fields
}

// appendSortKey appends the sort key of a document as comparable bytes: those of descending fields are inverted.
func (m *MergedReader) appendSortKey(dst []byte, doc bson.Raw) ([]byte, error) {
	given, err := m.serverSortKey(doc)
	if err != nil {
		return nil, err
	}
	for i, f := range m.fields {
		begin := len(dst)
		if given != nil {
			dst = keyorder.Append(dst, given[i])
		} else {
			dst = keyorder.Append(dst, valueAt(doc, f.path))
		}
		if f.descending {
			for i := begin; i < len(dst); i++ {
				dst[i] = ^dst[i]
			}
		}
	}
	return dst, nil
}

// serverSortKey returns the sort key that a server has given for a document, a value for each field; nil where
// values compare by bytes.
func (m *MergedReader) serverSortKey(doc bson.Raw) ([]bson.RawValue, error) {
	if m.Collation == nil {
		return nil, nil
	}
	values, err := bson.RawArray(doc.Lookup(sortKeyField).Value).Values()
	if err != nil || len(values) != len(m.fields) {
		return nil, &OrderError{fmt.Errorf("no sort key came with %s", doc)}
	}
	return values, nil
}

// valueAt is the value of a field; null for none.
func valueAt(doc bson.Raw, path []string) bson.RawValue {
	v, err := doc.LookupErr(path...)
	if err != nil {
		return bson.RawValue{Type: bson.TypeNull}
	}
	return v
}

// streamHeap is a heap of streams, ordered by their next document.
type streamHeap []*stream

func (h streamHeap) Len() int           { return len(h) }
func (h streamHeap) Less(i, j int) bool { return bytes.Compare(h[i].sortKey, h[j].sortKey) < 0 }
func (h streamHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *streamHeap) Push(x any)        { *h = append(*h, x.(*stream)) }
func (h *streamHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
