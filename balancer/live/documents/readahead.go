package documents

import (
	"context"
	"sync"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
)

// readError is an error of the cursor, as opposed to an error of the callback.
type readError struct{ error }

// readAhead calls put with each document of a cursor, until put returns an error. While put processes a
// batch, the next batch is read, since hashing takes nearly as long as reading.
func readAhead(ctx context.Context, cursor *mongo.Cursor, put func(bson.Raw) error) error {
	first := new(documentBatch)
	first.read(ctx, cursor)
	if err := first.each(put); err != nil || first.last {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var reading sync.WaitGroup
	defer reading.Wait()
	defer stop()
	full, empty := make(chan *documentBatch), make(chan *documentBatch, 2)
	empty <- first
	empty <- new(documentBatch)
	reading.Go(func() {
		defer close(full)
		for b := range empty {
			b.read(ctx, cursor)
			select {
			case full <- b:
			case <-ctx.Done():
				return
			}
			if b.last {
				return
			}
		}
	})
	for b := range full {
		if err := b.each(put); err != nil || b.last {
			return err
		}
		empty <- b
	}
	return &readError{context.Cause(ctx)} // the context ended between two batches
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
	if b.last = true; cursor.Err() != nil {
		b.err = &readError{cursor.Err()}
	}
}

func (b *documentBatch) each(put func(bson.Raw) error) error {
	begin := 0
	for _, end := range b.ends {
		if err := put(bson.Raw(b.bytes[begin:end:end])); err != nil {
			return err
		}
		begin = end
	}
	return b.err
}
