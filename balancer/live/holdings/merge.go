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
	// From is the start key, as a document with the fields of Order; nil means the lowest key.
	From bson.Raw
	// Secondary reads from secondaries of shards that have one.
	Secondary bool
	// MaxTime limits the time that the servers work for one cursor.
	MaxTime time.Duration
	// OnError is called after an error of a shard, with the number of consecutive failures. If it
	// returns nil, the read resumes at its last position.
	OnError func(ctx context.Context, failures int, err error) error

	streams []*stream
}

// stream is the cursor on one shard.
type stream struct {
	reader       *MergedReader
	shard        *Shard
	cursor       *mongo.Cursor
	current      bson.Raw
	sortKey      []byte // of current, by the fields of the index
	resumeAt     bson.Raw
	skipAtResume int // number of documents with the key resumeAt that were read already
	ended        bool
}

// Each calls put with all documents on all shards that have equal values in the fields of the index, in
// the order of the index, until put returns an error. The documents are valid until put returns.
func (m *MergedReader) Each(ctx context.Context, put func([]placement.Copy) error) error {
	defer m.CloseCursors(context.WithoutCancel(ctx))
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
		_ = live.CloseCursor(ctx, s.cursor) // nothing was written
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
	for s.cursor.Next(ctx) {
		place := s.reader.sortKeyOf(s.cursor.Current)
		same := s.sortKey != nil && bytes.Equal(place, s.sortKey)
		if same && s.skipAtResume > 0 {
			s.skipAtResume--
			continue
		}
		s.skipAtResume = 0
		s.current, s.sortKey = bytes.Clone(s.cursor.Current), place
		s.resumeAt = s.current
		return nil
	}
	if err := s.cursor.Err(); err != nil {
		return live.ServerError(err)
	}
	s.ended = true
	return nil
}

// open opens a cursor at the last position.
func (s *stream) open(ctx context.Context) error {
	database, name, err := catalog.SplitNamespace(s.reader.Namespace)
	if err != nil {
		return err
	}
	command := bson.D{
		{Key: "find", Value: name}, {Key: "filter", Value: bson.D{}}, {Key: "sort", Value: s.reader.Order},
		{Key: "hint", Value: s.reader.Order}, {Key: "projection", Value: s.reader.projection()},
		{Key: "batchSize", Value: int32(batchSize)}, majority,
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
		return live.ServerError(err)
	}
	cursor.SetBatchSize(batchSize)
	s.cursor = cursor
	return nil
}

func (m *MergedReader) projection() bson.D {
	d := bson.D{{Key: "_id", Value: int32(1)}}
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
	for _, f := range KeyFields(m.Order) {
		d = append(d, bson.E{Key: f, Value: fieldValue(doc, f)})
	}
	return d
}

// sortKeyOf returns comparable bytes; the bytes of descending fields are inverted.
func (m *MergedReader) sortKeyOf(doc bson.Raw) []byte {
	var place []byte
	elements, _ := m.Order.Elements()
	for _, e := range elements {
		begin := len(place)
		place = keyorder.Append(place, fieldValue(doc, e.Key()))
		if n, ok := e.Value().AsInt64OK(); ok && n < 0 {
			for i := begin; i < len(place); i++ {
				place[i] = ^place[i]
			}
		}
	}
	return place
}

// KeyFields returns the fields of an index.
func KeyFields(key bson.Raw) (names []string) {
	elements, _ := key.Elements()
	for _, e := range elements {
		names = append(names, e.Key())
	}
	return names
}

func fieldValue(doc bson.Raw, field string) bson.RawValue {
	v, err := doc.LookupErr(strings.Split(field, ".")...)
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
