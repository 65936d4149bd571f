package action

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"shardsh/balancer/live"
)

func joinTexts(texts []string) string { return strings.Join(texts, "; ") }

// end restores what a detached or killed Quiesce has stopped, and reports whether the cluster stayed
// quiet.
func (q *quiesceRun) end(ctx context.Context) error {
	opening, cancel := withTimer(ctx, q.Timeout)
	defer cancel()
	err := q.acquire(opening, "quiesce --end")
	if err != nil {
		return q.timeoutError(ctx, opening, err)
	}
	held, leave := q.lease.KeepAlive(ctx)
	if q.record, err = live.ReadQuiesceRecord(opening, q.cluster.Client); err != nil || q.record == nil {
		q.result.Verdict = VerdictEnded
		if err != nil {
			err = q.timeoutError(ctx, opening, &NoAnswerError{err})
		}
		leaving, cancel := q.cleanupContext(ctx, closeTimeout)
		defer cancel()
		return errors.Join(err, leave(leaving))
	}
	q.copyRecordToResult()
	if !q.record.QuietAt.IsZero() {
		if q.result.Violations = q.findViolations(held); len(q.result.Violations) > 0 {
			q.result.Verdict = VerdictBroken
		}
	}
	return q.finish(ctx, leave)
}

// copyRecordToResult copies the record to the result.
func (q *quiesceRun) copyRecordToResult() {
	r := q.record
	q.result.Verdict, q.result.PreviousMode, q.result.Term = VerdictEnded, r.Mode, r.Term
	q.result.Stopped, q.result.Quiet, q.result.Until = r.Since, r.QuietAt, r.Until
}

// restoreKilledQuiesce restores what a Quiesce has stopped that was killed or whose time is over, so
// that a run can begin. note describes what was restored. The error is a *live.HeldError while the
// cluster is kept quiet.
func (c Cluster) restoreKilledQuiesce(ctx context.Context) (note string, err error) {
	record, err := live.ReadQuiesceRecord(ctx, c.Client)
	if err != nil || record == nil {
		return "", err
	}
	now, err := c.now(ctx)
	if err != nil {
		return "", err
	}
	if record.IsActive(now) {
		return "", record.HeldError()
	}
	q := &quiesceRun{
		cluster:  c,
		activity: live.ActivityReader{Commands: c.runner()},
		report:   &serialReporter{},
		record:   record,
	}
	if q.lease, err = live.AcquireQuiesce(ctx, c.Client, "giving back what quiesce has stopped"); err != nil {
		return "", err
	}
	_, leave := q.lease.KeepAlive(ctx)
	if err := q.finish(ctx, leave); err != nil {
		return "", err
	}
	return fmt.Sprintf("shardsh quiesce on %s had stopped the balancer and is gone: %s.",
		record.Host, q.result.GivenBack), nil
}
