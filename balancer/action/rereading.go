package action

import (
	"context"
	"fmt"
	"time"

	"shardsh/balancer/apply"
)

// maxRereads is how often in a row a read that failed is tried again.
const maxRereads = 5

// readRetry tries reads again whose failure may pass.
type readRetry struct {
	clock  apply.Clock
	report *serial
}

// wait waits before a read that failed so many times in a row is tried again. It returns err
// where that is of no use.
func (r readRetry) wait(ctx context.Context, failures int, err error) error {
	if failures > maxRereads || ctx.Err() != nil || !isTransient(err) {
		return err
	}
	pause := time.Second << failures
	r.report.note(fmt.Sprintf("%v; retrying in %v.", err, pause))
	return r.clock.Sleep(ctx, pause)
}

// retryRead repeats a read until it succeeds, or retrying is of no use.
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
