package live

import (
	"context"
	"errors"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/mongoerr"
)

// releasing is how long giving a lease back may take. It runs out by itself.
const releasing = 5 * time.Second

// KeepAlive renews the lease until leave is called, which gives it back. The context
// ends when somebody else has the lease, with ErrLeaseLost for its cause: what only
// the holder may do is done in this context, and its steps after a Renew of their own.
// While nobody answers the lease may run out, and is renewed all the same as soon as
// somebody does, if nobody has taken it.
func (l *Lease) KeepAlive(ctx context.Context) (held context.Context, leave func(context.Context) error) {
	held, lose := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		lose(keep(held, l.o.For, l.secure, l.doubt))
	}()
	return held, func(ctx context.Context) error {
		lose(context.Canceled)
		<-done
		leaving, cancel := context.WithTimeout(ctx, releasing)
		defer cancel()
		return l.Release(leaving)
	}
}

// keep renews three times in the time that a renewal lasts, and tells each time that
// one does not come through and the lease may have run out. Nobody compares clocks:
// when a renewal was asked for, it had not run out before that much time went by here.
func keep(ctx context.Context, lasts time.Duration, renew func(context.Context) error, doubt func()) error {
	tick := time.NewTicker(lasts / 3)
	defer tick.Stop()
	sure := time.Now()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		asked := time.Now()
		left := lasts - asked.Sub(sure)
		if left <= 0 {
			left = lasts / 3
		}
		switch err := inTime(ctx, left, renew); {
		case err == nil:
			sure = asked
		case errors.Is(err, ErrLeaseLost):
			return err
		}
		if time.Since(sure) >= lasts && ctx.Err() == nil {
			doubt()
		}
	}
}

// errSilent says that nobody has answered for so long that the lease may have run out.
var errSilent = errors.New("nobody has answered for a while: the way to the cluster is broken, the router hangs, or " +
	"the secondaries of the shard that has shardsh.leases are behind")

// doubt ends what is under way, unless a renewal came through meanwhile: who was to
// answer it may be gone.
func (l *Lease) doubt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) < l.o.For {
		return
	}
	l.unsure()
	l.sure, l.unsure = context.WithCancel(context.Background())
}

// Sure returns a context that ends when the lease may have run out. What begins in
// doubt may go on until a renewal fails the next time.
func (l *Lease) Sure() context.Context {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sure
}

// inTime does something that has to answer in time. The context that it is given is
// cancelled: the driver does not give up a read for a deadline that passes.
func inTime(ctx context.Context, most time.Duration, do func(context.Context) error) error {
	silent, cancel := context.WithCancel(context.Background())
	defer cancel()
	timer := time.AfterFunc(most, cancel)
	defer timer.Stop()
	return unless(ctx, silent, do)
}

// unless does something that is given up when a context ends: the error is an
// *mongoerr.UnansweredError then.
func unless(ctx, silent context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(silent, func() { cancel(errSilent) })()
	err := do(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errSilent) {
		return &mongoerr.UnansweredError{Cause: errSilent}
	}
	return err
}

// leasedRunner asks as long as the lease holds for certain: who is not answered any more
// learns that, and does not wait for a connection that hangs.
type leasedRunner struct {
	CommandRunner
	lease *Lease
}

func (a leasedRunner) RunCommand(ctx context.Context, database string, command bson.D) (reply bson.Raw, err error) {
	err = unless(ctx, a.lease.Sure(), func(ctx context.Context) error {
		reply, err = a.CommandRunner.RunCommand(ctx, database, command)
		return err
	})
	return reply, err
}

func (a leasedRunner) RunCursorCommand(
	ctx context.Context, database string, command bson.D,
) (docs []bson.Raw, err error) {
	err = unless(ctx, a.lease.Sure(), func(ctx context.Context) error {
		docs, err = a.CommandRunner.RunCursorCommand(ctx, database, command)
		return err
	})
	return docs, err
}
