package apply

import (
	"context"
	"errors"
	"sync"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// maxRouterWait is the maximum wait for a router that has answered before.
const maxRouterWait = 24 * time.Hour

// retryingCluster is a cluster whose router may be unreachable for a while: idempotent requests are
// retried until the router answers. Commands are not retried: the sender has to read first whether the
// command was executed.
type retryingCluster struct {
	Cluster
	clock Clock
	// deadline is the end of waiting; zero means none.
	deadline time.Time
	// onUnreachable is called each time that the router becomes unreachable, without the mutex.
	onUnreachable func(error)

	mu          sync.Mutex // steps of a round send requests concurrently
	answered    bool       // answered once, so the address is correct
	unreachable bool
	expired     bool // waiting has ended
}

// Snapshot waits for an answer.
func (r *retryingCluster) Snapshot(ctx context.Context, namespaces []string) (*catalog.Snapshot, error) {
	return retryRead(ctx, r, func() (*catalog.Snapshot, error) { return r.Cluster.Snapshot(ctx, namespaces) })
}

// Chunks waits for an answer.
func (r *retryingCluster) Chunks(
	ctx context.Context, c catalog.Collection, lower, upper catalog.Key,
) ([]catalog.Chunk, error) {
	return retryRead(ctx, r, func() ([]catalog.Chunk, error) { return r.Cluster.Chunks(ctx, c, lower, upper) })
}

// Cuts waits for an answer.
func (r *retryingCluster) Cuts(ctx context.Context, c Command) ([]catalog.Key, error) {
	return retryRead(ctx, r, func() ([]catalog.Key, error) { return r.Cluster.Cuts(ctx, c) })
}

// RangeSize waits for an answer.
func (r *retryingCluster) RangeSize(ctx context.Context, c Command) (RangeAmount, error) {
	return retryRead(ctx, r, func() (RangeAmount, error) { return r.Cluster.RangeSize(ctx, c) })
}

// MovedAmount waits for an answer.
func (r *retryingCluster) MovedAmount(ctx context.Context, c Command) (RangeAmount, error) {
	return retryRead(ctx, r, func() (RangeAmount, error) { return r.Cluster.MovedAmount(ctx, c) })
}

// SetBalancing waits for an answer.
func (r *retryingCluster) SetBalancing(ctx context.Context, namespaces []string, on bool) error {
	return r.retry(ctx, func() error { return r.Cluster.SetBalancing(ctx, namespaces, on) })
}

func retryRead[T any](ctx context.Context, r *retryingCluster, read func() (T, error)) (answer T, err error) {
	err = r.retry(ctx, func() error {
		answer, err = read()
		return err
	})
	return answer, err
}

func (r *retryingCluster) retry(ctx context.Context, ask func() error) error {
	began := r.clock.Now()
	for tries := 0; ; tries++ {
		err := ask()
		if !r.shouldWait(err) || ctx.Err() != nil {
			return err
		}
		if r.hasExpired(began) {
			return err
		}
		if r.clock.Sleep(ctx, retryPauses()[min(tries, len(retryPauses())-1)]) != nil {
			return err
		}
	}
}

// hasExpired reports whether the time to wait for a router is over.
func (r *retryingCluster) hasExpired(began time.Time) bool {
	now := r.clock.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.expired = r.expired || now.Sub(began) >= maxRouterWait || !r.deadline.IsZero() && !now.Before(r.deadline)
	return r.expired
}

// shouldWait reports whether to wait for an overloaded cluster or an unreachable router (onUnreachable is told).
func (r *retryingCluster) shouldWait(err error) bool {
	if !isUnanswered(err) {
		r.noteAnswer()
		return mongoerr.IsOverloaded(err)
	}
	answered, news := r.noteUnreachable()
	if news {
		r.onUnreachable(err)
	}
	return answered || mongoerr.IsOverloaded(err)
}

func (r *retryingCluster) noteAnswer() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered, r.unreachable = true, false
}

// noteUnreachable reports whether the router has answered before, and whether it has become unreachable
// only now.
func (r *retryingCluster) noteUnreachable() (answered, news bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	news = r.answered && !r.unreachable
	r.unreachable = r.unreachable || news
	return r.answered, news
}

// isUnanswered reports whether there was no answer because the connection to the router is broken.
func isUnanswered(err error) bool { return errors.As(err, new(*mongoerr.UnansweredError)) }
