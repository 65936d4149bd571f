package live

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// releaseTimeout is the maximum time for releasing a lease. hurriedReleaseTimeout is the maximum after
// the user has ended the run. A lease that is not released expires by itself.
const (
	releaseTimeout        = 5 * time.Second
	hurriedReleaseTimeout = 200 * time.Millisecond
)

// releaseContext returns a context for releasing a lease, even after the end of ctx. In that case its
// time is short; the release avoids a wait for the next run.
func releaseContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if ctx.Err() != nil {
		return context.WithTimeout(context.WithoutCancel(ctx), hurriedReleaseTimeout)
	}
	return context.WithTimeout(ctx, releaseTimeout)
}

// KeepAlive renews the lease until release is called, which gives the lease back. The returned context ends
// with the cause ErrLeaseLost when another process has the lease. Work that needs the lease uses this
// context, with a Renew before each step. While the cluster does not answer, the lease may expire. If
// no other process has taken it, it is renewed as soon as the cluster answers again.
func (l *Lease) KeepAlive(ctx context.Context) (held context.Context, release func(context.Context) error) {
	held, lose := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lose(renewLoop(held, l.options.Duration, l.age, l.renewWithMajority, l.cancelUnlessRenewed))
	}()
	return held, func(ctx context.Context) error {
		lose(context.Canceled)
		<-done
		leaving, cancel := releaseContext(ctx)
		defer cancel()
		return l.Release(leaving)
	}
}

// renewLoop renews a lease three times per lease duration. It calls onUncertain when renewals have failed for
// so long that the lease may have expired. age returns the time since the request of the last successful
// renewal: the lease lasts at least its duration from then, so no clocks are compared.
func renewLoop(ctx context.Context, duration time.Duration, age func() time.Duration,
	renew func(context.Context) error, onUncertain func(),
) error {
	tick := time.NewTicker(duration / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		left := duration - age()
		if left <= 0 {
			left = duration / 3
		}
		if err := withTimeout(ctx, left, renew); errors.Is(err, ErrLeaseLost) {
			return err
		}
		if age() >= duration && ctx.Err() == nil {
			onUncertain()
		}
	}
}

// errNoAnswer says that the cluster has not answered for so long that the lease may have expired.
var errNoAnswer = errors.New("the cluster does not answer: the connection is lost, the mongos hangs, or the " +
	"secondaries of the shard with shardsh.leases lag")

// cancelUnlessRenewed cancels the commands in progress unless a renewal has succeeded in the meantime,
// because the server that should answer them may be unreachable.
func (l *Lease) cancelUnlessRenewed() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if elapsedSince(l.renewedAt) < l.options.Duration {
		return
	}
	l.cancelUnexpired()
	l.unexpiredCtx, l.cancelUnexpired = context.WithCancel(context.Background())
}

// UnexpiredContext returns a context that ends when the lease may have expired. If the lease may have
// expired already, the context lasts until the next failed renewal.
func (l *Lease) UnexpiredContext() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.unexpiredCtx
}

// withTimeout calls do with a time limit. It cancels the context instead of setting a deadline, because
// the driver does not abort a read at a deadline.
func withTimeout(ctx context.Context, most time.Duration, do func(context.Context) error) error {
	silent, cancel := context.WithCancel(context.Background())
	defer cancel()
	timer := time.AfterFunc(most, cancel)
	defer timer.Stop()
	return runUntil(ctx, silent, do)
}

// runUntil calls do. If silent ends first, it cancels the context of do, and returns a
// *mongoerr.UnansweredError if do fails.
func runUntil(ctx, silent context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(silent, func() { cancel(errNoAnswer) })()
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errNoAnswer) {
		return &mongoerr.UnansweredError{Cause: errNoAnswer}
	}
	return err
}

// abortableRunner sends commands while the lease is certain. When it is not, a command without an answer
// fails, and does not wait for a connection that hangs.
type abortableRunner struct {
	CommandRunner
	lease *Lease
}

func (l abortableRunner) RunCommand(ctx context.Context, database string, command bson.D) (reply bson.Raw, err error) {
	err = runUntil(ctx, l.lease.UnexpiredContext(), func(ctx context.Context) error {
		reply, err = l.CommandRunner.RunCommand(ctx, database, command)
		return err
	})
	return reply, err
}

func (l abortableRunner) RunCursorCommand(
	ctx context.Context, database string, command bson.D,
) (docs []bson.Raw, err error) {
	err = runUntil(ctx, l.lease.UnexpiredContext(), func(ctx context.Context) error {
		docs, err = l.CommandRunner.RunCursorCommand(ctx, database, command)
		return err
	})
	return docs, err
}
