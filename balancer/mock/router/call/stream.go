package call

import (
	"context"
	"iter"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mock/store/quota"
)

// stream is a source being read batch by batch, each time by another command.
// It belongs to one command at a time.
type stream struct {
	next func() (bson.Raw, error, bool)
	stop func()
	// cancel ends it in the middle of a batch.
	cancel context.CancelCauseFunc
	ctx    *batchContext
	// account is what it keeps between batches.
	account *quota.Account
	// lookahead is the document read ahead to know whether the previous batch was the last.
	lookahead bson.Raw
	failed    error
	exhausted bool
}

// streamBytes is what a stream that is not at its end takes besides the
// documents of the collection: its stack.
const streamBytes = 16 << 10

// ByteCount is how many bytes documents take that somebody keeps. Nil counts nothing.
type ByteCount int64

// Add counts a document.
func (w *ByteCount) Add(doc bson.Raw) {
	const sliceBytes = 24
	if w != nil {
		*w += ByteCount(len(doc) + sliceBytes)
	}
}

// Start begins to read a source for a command. What ends the command ends the
// stream only while it reads.
func (s Source) Start(c *Call) *stream {
	ctx, account := c.Node.Budget.Open(context.WithoutCancel(c.Ctx))
	ctx, cancel := context.WithCancelCause(ctx)
	batches := &batchContext{Context: ctx}
	next, stop := iter.Pull2(s(batches))
	return &stream{next: next, stop: stop, cancel: cancel, ctx: batches, account: account}
}

// batchContext is the context of a stream, with the deadline of the batch that
// is read.
type batchContext struct {
	context.Context
	deadline time.Time
}

// Deadline returns when the batch is due; false without a limit.
func (c *batchContext) Deadline() (time.Time, bool) { return c.deadline, !c.deadline.IsZero() }

// failWith ends a stream that nobody reads, to make room: who reads on is told
// why.
func (s *stream) failWith(why error) {
	s.end()
	s.lookahead, s.failed = nil, why
}

// batch reads the next documents: at most n (any number when n is negative) and
// 16 MiB, but always one if there is one.
func (s *stream) batch(ctx context.Context, n int) (bson.A, error) {
	defer context.AfterFunc(ctx, func() { s.cancel(context.Cause(ctx)) })()
	s.ctx.deadline, _ = ctx.Deadline()
	b := batcher{most: n, docs: bson.A{}}
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

// First reads one batch and no more; whole tells that this is all there is.
func (s Source) First(ctx context.Context, n int) (batch bson.A, whole bool, err error) {
	b := batcher{most: n, docs: bson.A{}}
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

// All reads everything.
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

// end lets go of what the stream reads.
func (s *stream) end() {
	s.stop()
	s.account.Close()
	s.cancel(nil)
}

// batcher collects the documents of a batch.
type batcher struct {
	most int // documents; negative for any number
	size int // bytes
	docs bson.A
}

// add takes a document, unless the batch is full.
func (b *batcher) add(doc bson.Raw) bool {
	size := b.size + len(doc) + itemOverhead
	if len(b.docs) == b.most || size > BatchBytes && len(b.docs) > 0 {
		return false
	}
	b.size, b.docs = size, append(b.docs, doc)
	return true
}

// Source makes a stream of documents of what was captured. It needs no lock, and
// ends with ctx.
type Source func(ctx context.Context) iter.Seq2[bson.Raw, error]
