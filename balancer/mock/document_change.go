package mock

import (
	"bytes"
	"context"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock/clock"
	"shardsh/balancer/mock/store"
	"shardsh/balancer/mock/store/order"
)

// UnlockedRunner runs a computation of a command without the cluster's lock. Data that the command has
// read before may be stale when it returns. The cause of ctx is the reason why the command must end.
type UnlockedRunner func(compute func(ctx context.Context) error) error

// SetContext sets the command's context, deadline and runner for computations.
func (rq *Request) SetContext(ctx context.Context, deadline time.Time, outside UnlockedRunner) {
	rq.ctx, rq.deadline, rq.unlocked = ctx, deadline, outside
}

// computeUnlocked runs f without the cluster's lock. It fails if a snapshot was loaded meanwhile,
// because the data that the request has read is then invalid. The cluster's own requests keep the lock.
func (rq *Request) computeUnlocked(f func(ctx context.Context) error) error {
	if rq.unlocked == nil {
		return f(context.Background())
	}
	replaced := rq.env.clock.Replacements()
	if err := rq.unlocked(f); err != nil {
		return err
	}
	if rq.env.clock.Replacements() != replaced {
		return clock.ErrReplaced()
	}
	return nil
}

func (rq *Request) awaitWritable(ns string) error {
	if rq.unlocked == nil {
		return nil
	}
	return rq.env.migrations.AwaitWritable(rq.ctx, rq.deadline, ns)
}

// documentChange is a document, its location and its change.
type documentChange struct {
	docs   *store.Collection
	shard  *shard                // nil for the config database
	table  *catalog.RoutingTable // the routing table by which the shard owned the document; nil unless sharded
	rules  validation
	record store.RecordID
	doc    bson.Raw

	after         bson.Raw
	returned      bson.Raw // the result of UpdateRequest.ComputeReturned
	changed       bool
	validationErr error // the validator's error for after
	prepareErr    error // the error of computing after
}

// writeStatement is a write statement in progress. It searches the matching documents and computes their
// changes without the lock. Then, with the lock held, it changes each document that is unchanged.
type writeStatement struct {
	rq      *Request
	ns      string
	query   store.Query
	sort    *order.Sort // selects the document if only one is wanted
	justOne bool
	// prepare computes the change of a document; nil if no computation is needed.
	prepare func(ctx context.Context, p *documentChange) error
	// apply makes the change. The lock is held.
	apply func(p documentChange) error

	reads []Read // of the last search
}

// writeBatchSize is the number of documents that are written before the lock is released.
const writeBatchSize = 32

// run searches and changes documents. If one document is wanted and another command has changed it
// meanwhile, it searches again.
func (w *writeStatement) run() error {
	if err := w.rq.env.collections.checkNotView(w.ns); err != nil {
		return err
	}
	for {
		found, err := w.search()
		if err != nil {
			return err
		}
		applied, err := w.applyAll(found)
		if err != nil || !w.justOne || applied > 0 || len(found) == 0 {
			return err
		}
	}
}

// search returns the matching documents, or the first one in sort order, and prepares the first batch.
func (w *writeStatement) search() (found []documentChange, err error) {
	if w.reads, err = w.rq.captureReads(w.ns, w.query.Filter, !w.justOne); err != nil {
		return nil, err
	}
	err = w.rq.computeUnlocked(func(ctx context.Context) error {
		if found, err = w.findMatching(ctx); err == nil {
			err = w.prepareBatch(ctx, found[:min(writeBatchSize, len(found))])
		}
		return err
	})
	return found, err
}

func (w *writeStatement) findMatching(ctx context.Context) ([]documentChange, error) {
	reads, err := PlanReads(w.reads, w.query)
	if err != nil {
		return nil, err
	}
	var found []documentChange
	for _, r := range reads {
		for f, err := range r.Documents(ctx, &store.Counts{}) {
			if err != nil {
				return nil, err
			}
			p := documentChange{
				docs: r.liveDocs, shard: r.target.shard, table: r.target.table, rules: r.rules, record: f.ID, doc: f.Doc,
			}
			switch {
			case !w.justOne || len(found) == 0:
				found = append(found, p)
			case w.sort.Compare(p.doc, found[0].doc) < 0:
				found[0] = p
			}
			if w.justOne && w.sort.IsEmpty() {
				return found, nil
			}
		}
	}
	return found, nil
}

// prepareBatch prepares documents. An error of a document is reported when the document is applied.
func (w *writeStatement) prepareBatch(ctx context.Context, found []documentChange) error {
	for i := range found {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if w.prepare != nil {
			found[i].prepareErr = w.prepare(ctx, &found[i])
		}
	}
	return nil
}

// applyAll applies the changes, the first batch of which is prepared, and counts the applied ones.
func (w *writeStatement) applyAll(found []documentChange) (applied int, err error) {
	for {
		n := min(writeBatchSize, len(found))
		for i := range n {
			ok, err := w.applyOne(&found[i])
			if err != nil {
				return applied, err
			}
			if ok {
				applied++
			}
			found[i] = documentChange{}
		}
		if found = found[n:]; len(found) == 0 {
			return applied, nil
		}
		err := w.rq.computeUnlocked(func(ctx context.Context) error {
			return w.prepareBatch(ctx, found[:min(writeBatchSize, len(found))])
		})
		if err != nil {
			return applied, err
		}
	}
}

// applyOne changes a document. If the document has changed since the search, it is matched and prepared
// again. It is skipped if it was deleted or no longer matches.
func (w *writeStatement) applyOne(p *documentChange) (applied bool, err error) {
	for {
		if err := w.rq.awaitWritable(w.ns); err != nil {
			return false, err
		}
		now, ok := w.rq.env.locator.locateAgain(w.ns, *p)
		switch {
		case !ok:
			return false, nil
		case bytes.Equal(now.doc, p.doc) && p.prepareErr != nil:
			return false, p.prepareErr
		case bytes.Equal(now.doc, p.doc):
			now.after, now.returned, now.changed, now.validationErr = p.after, p.returned, p.changed, p.validationErr
			return true, w.apply(now)
		}
		*p = now
		matches := false
		err := w.rq.computeUnlocked(func(ctx context.Context) error {
			if matches, err = w.query.Filter.Tester(ctx)(p.doc); err != nil || !matches {
				return err
			}
			one := []documentChange{*p}
			err = w.prepareBatch(ctx, one)
			*p = one[0]
			return err
		})
		if err != nil || !matches {
			return false, err
		}
	}
}

// isUnchanged reports whether the collections that the last search has read are unchanged since.
func (w *writeStatement) isUnchanged() bool {
	targets := w.rq.env.locator.targets(w.ns, w.query.Filter)
	if len(targets) != len(w.reads) {
		return false
	}
	for i, t := range targets {
		if r := w.reads[i]; t.docs != r.liveDocs || t.docs.Writes() != r.target.docs.Writes() || t.table != r.target.table {
			return false
		}
	}
	return true
}
