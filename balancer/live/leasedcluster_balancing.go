package live

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// PausedCollections returns the collections whose balancing is disabled by this process, or by an earlier
// process that ended without enabling it.
func (l *LeasedCluster) PausedCollections() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	names := make([]string, 0, len(l.paused))
	for ns := range l.paused {
		names = append(names, ns)
	}
	slices.Sort(names)
	return names
}

// ReadWhoEnabled returns who has enabled the balancing of a collection that this process had disabled,
// or who has started the balancer: " (at 2026-03-02T12:00:00Z, from 10.0.0.1:4242)". It returns an
// empty string if the logs do not tell.
func (l *LeasedCluster) ReadWhoEnabled(ctx context.Context, ns string) string {
	l.mu.Lock()
	ours := l.paused[ns]
	l.mu.Unlock()
	entry := func(log string, filter bson.D) (e catalog.LogEntry) {
		docs, err := l.executor.listDocs(ctx, "config", append(newestFirstCommand(log, filter, 1), activityTimeLimit))
		if err == nil && len(docs) > 0 {
			e = catalog.ParseLogEntry(docs[0])
		}
		return e
	}
	e := entry("changelog", bson.D{{Key: "what", Value: "configureCollectionBalancing"}, {Key: "ns", Value: ns}})
	if text(e.Raw, "_id") == ours.logEntryID || ours.logEntryID == "" {
		e = catalog.LogEntry{}
	}
	started := entry("actionlog", bson.D{{Key: "what", Value: balancerStartEntry}})
	if !ours.Since.IsZero() && started.Time.After(ours.Since) && started.Time.After(e.Time) {
		e = started
	}
	if e.Time.IsZero() {
		return ""
	}
	who := " (at " + e.Time.UTC().Format(time.RFC3339)
	if from := text(e.Raw, "clientAddr"); from != "" {
		who += ", from " + from
	}
	return who + ")"
}

// DisabledByOthers returns the collections whose balancing this process has not enabled again, because
// another user has disabled it in the meantime.
func (l *LeasedCluster) DisabledByOthers() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.leftDisabled)
}

// SetBalancing disables the balancing of collections, which it records first, or enables the balancing
// of collections that are recorded in the lease. The error is a *BalancingError, or an error of the
// lease.
func (l *LeasedCluster) SetBalancing(ctx context.Context, namespaces []string, on bool) error {
	l.balancingMu.Lock()
	defer l.balancingMu.Unlock()
	if on {
		return l.resumeBalancing(ctx, namespaces)
	}
	return l.pauseBalancing(ctx, namespaces)
}

// pauseBalancing disables the balancing of collections whose balancing is enabled.
func (l *LeasedCluster) pauseBalancing(ctx context.Context, namespaces []string) error {
	var paused []string
	var failed error
	for some := range slices.Chunk(namespaces, balancingUpdateBatch) {
		var done []string
		done, failed = l.pauseBatch(ctx, some)
		paused = append(paused, done...)
		if failed != nil {
			break // what is paused has its log entries noted all the same
		}
	}
	return errors.Join(failed, l.noteLogEntries(ctx, paused))
}

// pauseBatch returns the collections whose balancing it has disabled, also with an error.
func (l *LeasedCluster) pauseBatch(ctx context.Context, some []string) ([]string, error) {
	if err := l.ensureRenewed(ctx); err != nil {
		return nil, err
	}
	now, err := l.executor.readBalancing(ctx, some)
	if err != nil {
		return nil, err
	}
	some = slices.DeleteFunc(slices.Clone(some), func(ns string) bool { return now[ns].disabled })
	uuids := map[string]bson.Binary{}
	for ns, found := range now {
		uuids[ns] = found.uuid
	}
	if err := l.lease.RecordPaused(ctx, some, uuids); err != nil {
		return nil, err
	}
	l.rememberPaused(some, uuids)
	return l.executor.setBalancing(ctx, some, false)
}

func (l *LeasedCluster) rememberPaused(namespaces []string, uuids map[string]bson.Binary) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, ns := range namespaces {
		l.paused[ns] = PausedCollection{
			Namespace: ns, Since: l.lease.Holder().Expires.Add(-l.lease.options.Duration), uuid: uuids[ns]}
	}
}

// noteLogEntries records the change log entries of this process's commands, to distinguish them from
// entries of other clients. Without the records, changes by other clients can't be detected.
func (l *LeasedCluster) noteLogEntries(ctx context.Context, namespaces []string) error {
	if !l.executor.routerRelease.HasBalancingCommand() || len(namespaces) == 0 {
		return nil
	}
	last, err := l.executor.readLastBalancingSwitches(ctx)
	if err != nil {
		return nil //nolint:nilerr // they are there for caution only
	}
	ours := map[string]string{}
	l.mu.Lock()
	for _, ns := range namespaces {
		if p, ok := l.paused[ns]; ok && last[ns].id != "" {
			ours[ns], p.logEntryID = last[ns].id, last[ns].id
			l.paused[ns] = p
		}
	}
	l.mu.Unlock()
	return l.lease.noteLogEntries(ctx, ours)
}

// resumeBalancing enables the balancing of collections that this process has disabled.
func (l *LeasedCluster) resumeBalancing(ctx context.Context, namespaces []string) error {
	l.mu.Lock()
	namespaces = slices.DeleteFunc(slices.Clone(namespaces), func(ns string) bool {
		_, ours := l.paused[ns]
		return !ours
	})
	l.mu.Unlock()
	if len(namespaces) == 0 {
		return nil
	}
	if err := l.ensureRenewed(ctx); err != nil {
		return err
	}
	touched, err := l.findChangedByOthers(ctx)
	if err != nil {
		return err
	}
	failed := &BalancingError{On: true}
	for i, some := range slices.Collect(slices.Chunk(namespaces, balancingUpdateBatch)) {
		if l.OnRestoreProgress != nil {
			l.OnRestoreProgress(i*balancingUpdateBatch, len(namespaces))
		}
		if err := l.resumeBatch(ctx, some, touched); err != nil {
			if failed.First = cmp.Or(failed.First, err); ctx.Err() != nil || !errors.As(err, new(*BalancingError)) {
				break
			}
		}
	}
	if failed.First == nil {
		return nil
	}
	if of := new(BalancingError); errors.As(failed.First, &of) {
		failed.First = of.First
	}
	failed.Namespaces = l.stillPaused(namespaces)
	return failed
}

// findChangedByOthers returns a function that reports whether another user wants the balancing of a
// collection to be disabled: the record of the collection was removed (KeepBalancingDisabled), or the
// change log has a newer entry than that of this process.
func (l *LeasedCluster) findChangedByOthers(ctx context.Context) (func(ns string) bool, error) {
	recorded, err := readPausedCollections(ctx, l.lease.leases)
	if err != nil {
		return nil, err
	}
	entries := map[string]string{}
	for _, p := range recorded {
		entries[p.Namespace] = p.logEntryID
	}
	last := map[string]balancingSwitch{}
	if l.executor.routerRelease.HasBalancingCommand() {
		if last, err = l.executor.readLastBalancingSwitches(ctx); err != nil {
			last = nil // not known
		}
	}
	return func(ns string) bool {
		entry, noted := entries[ns]
		return !noted || entry != "" && last[ns].id != "" && last[ns].id != entry
	}, nil
}

func (l *LeasedCluster) resumeBatch(ctx context.Context, some []string, touched func(ns string) bool) error {
	if err := l.ensureRenewed(ctx); err != nil {
		return err
	}
	now, err := l.executor.readBalancing(ctx, some)
	if err != nil {
		return err
	}
	renamed, err := l.findRenamed(ctx, some, now)
	if err != nil {
		return err
	}
	var on, kept, forget []string
	recorded := map[string]string{} // the recorded names of renamed collections
	for _, ns := range some {
		name, other := renamed[ns]
		switch {
		case !now[ns].disabled && !other: // another client has enabled it, or the collection was dropped
			forget = append(forget, ns)
		case touched(ns):
			kept = append(kept, ns)
		case other:
			on, recorded[name] = append(on, name), ns
		default:
			on = append(on, ns)
		}
	}
	done, failed := l.executor.setBalancing(ctx, on, true)
	for i, name := range done {
		done[i] = cmp.Or(recorded[name], name)
	}
	forget = slices.Concat(forget, kept, done)
	forgetting, cancel := OutlivingContext(ctx, ctx, hardStopGrace)
	defer cancel()
	if err := l.lease.RemovePaused(forgetting, forget); err != nil {
		return errors.Join(failed, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.leftDisabled = append(l.leftDisabled, kept...)
	for _, ns := range forget {
		delete(l.paused, ns)
	}
	return failed
}

// findRenamed returns the current names of collections that were renamed since they were recorded, and
// whose balancing is still disabled.
func (l *LeasedCluster) findRenamed(ctx context.Context, some []string, now map[string]collectionBalancing) (
	map[string]string, error) {
	var uuids []bson.Binary
	oldNames := map[string]string{}
	l.mu.Lock()
	for _, ns := range some {
		if _, ok := now[ns]; !ok && len(l.paused[ns].uuid.Data) > 0 {
			uuids = append(uuids, l.paused[ns].uuid)
			oldNames[string(l.paused[ns].uuid.Data)] = ns
		}
	}
	l.mu.Unlock()
	if len(uuids) == 0 {
		return nil, nil
	}
	found, err := l.executor.readBalancingWhere(ctx, bson.E{Key: "uuid", Value: bson.D{{Key: "$in", Value: uuids}}})
	if err != nil {
		return nil, err
	}
	names := map[string]string{}
	for name, is := range found {
		if is.disabled {
			names[oldNames[string(is.uuid.Data)]] = name
		}
	}
	return names, nil
}

// stillPaused returns the collections that are still recorded as paused.
func (l *LeasedCluster) stillPaused(namespaces []string) []string {
	left := l.PausedCollections()
	return slices.DeleteFunc(slices.Clone(namespaces), func(ns string) bool {
		_, ok := slices.BinarySearch(left, ns)
		return !ok
	})
}

// hardStopGrace is the time for which EndRun continues after a hard stop. giveBackRetryInterval is the
// wait between two tries to enable balancing, and giveBackTimeout is the maximum time without progress.
// The lease expires by itself, and collections that are still disabled stay recorded.
const (
	hardStopGrace         = 200 * time.Millisecond
	giveBackRetryInterval = time.Second
	giveBackTimeout       = 2 * time.Minute
)

// EndRun does the same as RestoreAndRelease after a run whose ctx may have ended. hard, if not nil, is a context that
// ends at a hard stop by the user.
func (l *LeasedCluster) EndRun(ctx, hard context.Context) error {
	ctx, cancel := l.cleanupContext(ctx, hard)
	defer cancel()
	return l.RestoreAndRelease(ctx)
}

// cleanupContext returns the context for the work after a run. It ends shortly after hard.
func (l *LeasedCluster) cleanupContext(ctx, hard context.Context) (context.Context, context.CancelFunc) {
	if hard == nil || l.heldCtx.Err() != nil {
		return context.WithCancel(context.WithoutCancel(ctx))
	}
	return OutlivingContext(ctx, hard, hardStopGrace)
}

// RestoreAndRelease enables the balancing of collections again, however long that takes, and releases
// the lease. If the lease was lost, its new holder enables the balancing.
func (l *LeasedCluster) RestoreAndRelease(ctx context.Context) error {
	return errors.Join(l.resumeAll(ctx), l.releaseLease(ctx))
}

// Suspend releases the lease without enabling balancing, for the next holder, which continues. The
// disabled collections stay recorded. The contexts are those of EndRun.
func (l *LeasedCluster) Suspend(ctx, hard context.Context) error {
	ctx, cancel := l.cleanupContext(ctx, hard)
	defer cancel()
	return l.releaseLease(ctx)
}

func (l *LeasedCluster) resumeAll(ctx context.Context) error {
	left := l.PausedCollections()
	for waited := time.Duration(0); len(left) > 0 && l.heldCtx.Err() == nil; waited += giveBackRetryInterval {
		err := l.SetBalancing(ctx, left, true)
		now := l.PausedCollections()
		if len(now) < len(left) {
			waited = 0
		}
		if left = now; len(left) == 0 || err == nil {
			return err
		}
		if !isRetryable(err) || waited >= giveBackTimeout || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-l.heldCtx.Done():
		case <-time.After(giveBackRetryInterval):
		}
	}
	return nil
}

// isRetryable reports whether a retry may succeed.
func isRetryable(err error) bool {
	return !mongoerr.Is(err, mongoerr.Unauthorized) && !errors.Is(err, ErrLeaseLost)
}
