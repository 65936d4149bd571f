package action

import (
	"context"
	"errors"
	"fmt"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

// checkStillQuiet records the first violation, such as a started balancer. Violations that a failed read has
// missed are found in the change log at the end.
func (q *quiesceRun) checkStillQuiet(ctx context.Context) {
	if len(q.result.Violations) > 0 {
		return
	}
	ctx, cancel := withTimer(ctx, watchInterval)
	defer cancel()
	status, err := q.activity.ReadStatus(ctx)
	if err != nil {
		return
	}
	if status.Mode != catalog.ModeOff {
		q.result.Violations = []string{"the balancer was started"}
	} else if moved, err := q.movesSince(ctx, q.quietPosition(), watchInterval); err == nil {
		q.result.Violations = moved
	}
	if len(q.result.Violations) > 0 {
		q.report.note("Not quiet any more: " + joinAtMost(q.result.Violations, 3) + ".")
	}
}

// findViolations returns the violations since the cluster was quiet.
func (q *quiesceRun) findViolations(ctx context.Context) (list []string) {
	list = q.result.Violations
	if len(list) > 0 {
		return list
	}
	status, err := q.activity.ReadStatus(ctx)
	if err != nil {
		q.unanswered = !isAnswer(err)
		return []string{fmt.Sprintf("can't reach the cluster to ask whether it stayed quiet: %v", err)}
	}
	if status.Mode != catalog.ModeOff {
		list = append(list, "the balancer was started")
	}
	moved, err := q.movesSince(ctx, q.quietPosition(), finalCheckTimeout)
	if err != nil {
		q.unanswered = !isAnswer(err)
		return append(list, fmt.Sprintf("the change log can't be read: %v", err))
	}
	started, err := q.startedByOthers(ctx)
	if err != nil {
		q.unanswered = !isAnswer(err)
		return append(list, fmt.Sprintf("the action log can't be read: %v", err))
	}
	if started && len(list) == 0 {
		list = append(list, "the balancer was started and stopped again")
	}
	return append(list, moved...)
}

// startedByOthers reports whether, according to the action log, the balancer was started since.
func (q *quiesceRun) startedByOthers(ctx context.Context) (bool, error) {
	entries, _, err := q.actionsSince(ctx, q.record.QuietActionLogMark)
	for _, e := range entries {
		if e.What == "balancer.start" {
			return true, err
		}
	}
	return false, err
}

// quietPosition returns the end of the change log at the time when the cluster was quiet.
func (q *quiesceRun) quietPosition() live.LogPosition {
	return live.ParseLogPosition(live.ChangeLog, q.record.ChangeLogMark)
}

// actionsSince returns the entries of the action log after a recorded position, and whether the log
// still contains that position.
func (q *quiesceRun) actionsSince(ctx context.Context, position string) ([]catalog.LogEntry, bool, error) {
	entries, _, found, err := live.ReadEntriesAfter(ctx, q.activity.Commands,
		live.ParseLogPosition(live.ActionLog, position))
	return entries, found, err
}

func (q *quiesceRun) movesSince(ctx context.Context, mark live.LogPosition, left time.Duration) ([]string, error) {
	ctx, cancel := withTimer(ctx, max(min(left, checkTimeout), minCheckTimeout))
	defer cancel()
	entries, _, found, err := live.ReadEntriesAfter(ctx, q.activity.Commands, mark)
	q.unanswered = ctx.Err() != nil
	if err == nil && !found {
		err = errors.New("the change log does not contain the recorded position any more")
	}
	return live.DescribeMoves(entries), err
}
