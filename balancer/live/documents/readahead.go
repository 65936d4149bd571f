package documents

import (
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// AheadReader reads a cursor one batch ahead: while the caller works on a batch, the next one is read.
type AheadReader struct {
	cursor          *mongo.Cursor
	batch, previous *documentBatch // previous is the one before
	next, begin     int            // the document that comes next, and where it begins
	ctx             context.Context
	stop            context.CancelFunc
	reading         sync.WaitGroup
	full, empty     chan *documentBatch // nil until there is a second batch
}

// NewAheadReader reads a cursor until Close, which does not close the cursor.
func NewAheadReader(ctx context.Context, cursor *mongo.Cursor) *AheadReader {
	a := &AheadReader{cursor: cursor, batch: new(documentBatch)}
	a.ctx, a.stop = context.WithCancel(ctx)
	a.batch.read(a.ctx, cursor)
	if !a.batch.last {
		a.full, a.empty = make(chan *documentBatch), make(chan *documentBatch, 3)
		a.empty <- new(documentBatch)
		a.empty <- new(documentBatch)
		a.reading.Go(a.readBatches)
	}
	return a
}

// Close waits until nothing is read any more.
func (a *AheadReader) Close() {
	a.stop()
	a.reading.Wait()
}

// Next returns the next document; nil at the end. A document is valid until the call of Next after the next one.
func (a *AheadReader) Next() (bson.Raw, error) {
	for a.next == len(a.batch.ends) {
		if a.batch.last {
			return nil, a.batch.err
		}
		b, more := <-a.full
		if !more {
			return nil, context.Cause(a.ctx) // it ended between two batches
		}
		if a.previous != nil {
			a.empty <- a.previous
		}
		a.previous, a.batch, a.next, a.begin = a.batch, b, 0, 0
	}
	begin, end := a.begin, a.batch.ends[a.next]
	a.next++
	a.begin = end
	return bson.Raw(a.batch.bytes[begin:end:end]), nil
}

func (a *AheadReader) readBatches() {
	defer close(a.full)
	for {
		select {
		case <-a.ctx.Done():
			return
		case b := <-a.empty:
			b.read(a.ctx, a.cursor)
			select {
			case a.full <- b:
			case <-a.ctx.Done():
				return
			}
			if b.last {
				return
			}
		}
	}
}

// documentBatch contains copies of the documents of a batch. The documents of a cursor are only valid
// until its next call.
type documentBatch struct {
	bytes []byte
	ends  []int // end of each document in bytes
	last  bool
	err   error
}

// read waits for the next batch of the cursor and copies it.
func (b *documentBatch) read(ctx context.Context, cursor *mongo.Cursor) {
	b.bytes, b.ends = b.bytes[:0], b.ends[:0]
	for cursor.Next(ctx) {
		b.bytes = append(b.bytes, cursor.Current...)
		b.ends = append(b.ends, len(b.bytes))
		if cursor.RemainingBatchLength() == 0 {
			b.last = cursor.ID() == 0
			return
		}
	}
	b.last, b.err = true, cursor.Err()
}
