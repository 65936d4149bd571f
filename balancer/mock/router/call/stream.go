package call

import (
	"context"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/quota"
)

// stream is a source that commands read batch by batch. Only one command uses it at a time.
type stream struct {
	next func() (bson.Raw, error, bool)
	stop func()
	// cancel interrupts a read in the middle of a batch.
	cancel context.CancelCauseFunc
	ctx    *batchContext
	// account is the memory account of the stream between batches.
	account *quota.Account
	// lookahead is the document read ahead to know whether the previous batch was the last.
	lookahead bson.Raw
	failed    error
	exhausted bool
}

// streamBytes is the memory of an unfinished stream besides the documents of the collection: its stack.
const streamBytes = 16 << 10

// ByteCount is the memory of documents that are held. A nil ByteCount counts nothing.
type ByteCount int64

// Add counts a document.
func (b *ByteCount) Add(doc bson.Raw) {
	const sliceBytes = 24
	if b != nil {
		*b += ByteCount(len(doc) + sliceBytes)
	}
}

// Start begins to read a source for a command. The command's context ends the stream only during reads.
func (s Source) Start(c *Call) *stream {
	ctx, account := c.Node.Budget.Open(context.WithoutCancel(c.Ctx))
	ctx, cancel := context.WithCancelCause(ctx)
	batches := &batchContext{Context: ctx}
	next, stop := iter.Pull2(s(batches))
	return &stream{next: next, stop: stop, cancel: cancel, ctx: batches, account: account}
}

// batchContext is the context of a stream with the deadline of the current batch.
type batchContext struct {
	context.Context
	deadline time.Time
}

// Deadline returns the deadline of the batch, and false if there is none.
func (c *batchContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// failWith closes an idle stream to free memory. The next read fails with why.
func (s *stream) failWith(why error) {
	s.end()
	s.lookahead, s.failed = nil, why
}

// batch reads the next documents: at most n (any number if n is negative) and 16 MiB, but always one
// document if there is one.
func (s *stream) batch(ctx context.Context, n int) (bson.A, error) {
	defer context.AfterFunc(ctx, func() { s.cancel(context.Cause(ctx)) })()
	s.ctx.deadline, _ = ctx.Deadline()
	b := batcher{maxDocs: n, docs: bson.A{}}
	for n != 0 {
		doc := s.lookahead
		if s.lookahead = nil; doc == nil {
			doc = s.read()
		}
		switch {
		case s.failed != nil && (len(b.docs) < n || n < 0):
			return nil, s.failed
		case doc == nil:
			return b.docs, nil
		case !b.add(doc):
			s.lookahead = doc
			return b.docs, nil
		}
	}
	return b.docs, nil
}

// FirstBatch reads one batch and closes the stream. whole reports whether the batch contains all documents.
func (s Source) FirstBatch(ctx context.Context, n int) (batch bson.A, whole bool, err error) {
	b := batcher{maxDocs: n, docs: bson.A{}}
	if n == 0 {
		return b.docs, false, nil
	}
	for doc, err := range s(ctx) {
		if err != nil {
			return nil, false, err
		}
		if !b.add(doc) {
			return b.docs, false, nil
		}
	}
	return b.docs, true, nil
}

// All reads all documents.
func (s Source) All(ctx context.Context) ([]bson.Raw, error) {
	var list []bson.Raw
	for doc, err := range s(ctx) {
		if err != nil {
			return nil, err
		}
		list = append(list, doc)
	}
	return list, nil
}

// read returns the next document; nil at the end.
func (s *stream) read() bson.Raw {
	if s.failed != nil || s.exhausted {
		return nil
	}
	doc, err, more := s.next()
	s.failed, s.exhausted = err, !more
	if err != nil {
		return nil
	}
	return doc
}

// end releases the resources of the stream.
func (s *stream) end() {
	s.stop()
	s.account.Close()
	s.cancel(nil)
}

// batcher collects the documents of a batch.
type batcher struct {
	maxDocs int // maximum number of documents; negative for any number
	size    int // in bytes
	docs    bson.A
}

// add adds a document unless the batch is full.
func (b *batcher) add(doc bson.Raw) bool {
	size := b.size + len(doc) + itemOverhead
	if len(b.docs) == b.maxDocs || size > BatchBytes && len(b.docs) > 0 {
		return false
	}
	b.size, b.docs = size, append(b.docs, doc)
	return true
}

// Source returns a stream of documents from captured data. It needs no lock, and ends when ctx ends.
type Source func(ctx context.Context) iter.Seq2[bson.Raw, error]
