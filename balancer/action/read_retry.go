package action

import (
	"context"
	"fmt"
	"time"

	"shardsh/balancer/apply"
)

// maxReadRetries is the maximum number of consecutive retries of a failed read.
const maxReadRetries = 5

// readRetry retries reads after temporary failures.
type readRetry struct {
	clock  apply.Clock
	report *serialReporter
}

// wait waits before a read is retried that has failed the given number of times in a row. It returns
// err if a retry would not help.
func (r readRetry) wait(ctx context.Context, failures int, err error) error {
	if failures > maxReadRetries || ctx.Err() != nil || !mayRetryRead(err) {
		return err
	}
	pause := time.Second << failures
	r.report.note(fmt.Sprintf("%v; retrying in %v.", err, pause))
	return r.clock.Sleep(ctx, pause)
}

// retryRead repeats a read until it succeeds, or until a retry would not help.
func retryRead[T any](ctx context.Context, r readRetry, do func() (T, error)) (T, error) {
	for failures := 1; ; failures++ {
		v, err := do()
		if err == nil {
			return v, nil
		}
		if err := r.wait(ctx, failures, err); err != nil {
			return v, err
		}
	}
}
