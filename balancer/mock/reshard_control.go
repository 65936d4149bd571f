package mock

import (
	"context"
	"time"

	"shardsh/balancer/mongoerr"
)

// run runs an operation and waits for its end. The caller holds the lock.
func (rs *Reshardings) run(ctx context.Context, deadline time.Time, plan parsedReshardRequest) error {
	var result error
	ended := false
	rs.start(plan, func(err error) { result, ended = err, true })
	if err := rs.clock.Await(ctx, deadline, func() bool { return ended }); err != nil {
		return err
	}
	return result
}

// Abort aborts an operation (abortReshardCollection and similar commands). The documents stay where they
// are.
func (rs *Reshardings) Abort(ctx context.Context, deadline time.Time, ns string, by Provenance) error {
	op, err := rs.findRunning(ns)
	if err != nil {
		return err
	}
	if op.request.Provenance != by {
		return mongoerr.New(mongoerr.IllegalOperation, "the operation on %s was started by %s", ns, op.request.Provenance)
	}
	if op.state == reshardCommitting {
		return mongoerr.New(mongoerr.ReshardCollectionCommitted,
			"Can't abort resharding operation after it has been committed")
	}
	if err := rs.faults.checkReachesShards(configShard); err != nil {
		return err
	}
	if op.state == reshardInitializing && rs.bugs.LosesEarlyAborts {
		return nil
	}
	op.abortReason = mongoerr.New(mongoerr.ReshardCollectionAborted, "aborted")
	rs.clock.After(0, op.resume)
	return rs.clock.Await(ctx, deadline, func() bool { return rs.active[ns] != op })
}

// Commit makes an operation finish as soon as its clone is complete.
func (rs *Reshardings) Commit(ns string) error {
	op, err := rs.findRunning(ns)
	switch {
	case err == nil:
		op.commitRequested = true
	case mongoerr.Is(err, mongoerr.NamespaceNotFound): // with a text of its own
		return mongoerr.New(mongoerr.NamespaceNotFound, "collection %s not found", ns)
	case mongoerr.Is(err, mongoerr.NoSuchReshardCollection):
		return mongoerr.New(mongoerr.NoSuchReshardCollection, "Could not find resharding metadata for %s", ns)
	}
	return err
}

func (rs *Reshardings) findRunning(ns string) (*resharding, error) {
	if _, ok, err := rs.config.TrackedEntry(ns); err != nil || !ok {
		if err == nil {
			err = mongoerr.New(mongoerr.NamespaceNotFound, "Namespace %s not found", ns)
		}
		return nil, err
	}
	op := rs.active[ns]
	if op == nil {
		return nil, mongoerr.New(mongoerr.NoSuchReshardCollection,
			"Could not find resharding-related metadata that matches the given namespace")
	}
	return op, nil
}
