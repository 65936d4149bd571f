package live

import (
	"context"
	"sync"

	"shardsh/balancer/mongoerr"
)

// inParallel calls do for each element of a slice, up to most at once, and returns the first error,
// which also cancels the other calls.
func inParallel[T any](ctx context.Context, most int, list []T, do func(context.Context, T) error) error {
	if most == 1 { // in the caller's goroutine
		for _, v := range list {
			if err := do(ctx, v); err != nil {
				return err
			}
		}
		return nil
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	work := make(chan T)
	var workers sync.WaitGroup
	for range min(most, len(list)) {
		workers.Go(func() {
			for v := range work {
				if err := mongoerr.CatchPanic(nil, "reading the cluster", func() error { return do(ctx, v) }); err != nil {
					cancel(err)
				}
			}
		})
	}
feed:
	for _, v := range list {
		select {
		case work <- v:
		case <-ctx.Done():
			break feed
		}
	}
	close(work)
	workers.Wait()
	return context.Cause(ctx)
}
