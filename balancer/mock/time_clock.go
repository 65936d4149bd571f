package mock

import (
	"context"
	"errors"
	"time"

	"shardsh/balancer/mongoerr"
)

var errNothingToWaitFor = errors.New("nothing is under way that could end this wait")

// now is the cluster's time.
func (c *Cluster) now() time.Time {
	if c.realTime {
		return time.Now()
	}
	return c.queue.Now()
}

// Now is the cluster's time, for a caller that holds the lock.
func (c *Cluster) Now() time.Time { return c.now() }

// after runs an event in d, with the lock held.
func (c *Cluster) after(d time.Duration, run func()) (cancel func()) {
	cancel = c.queue.At(c.now().Add(d), run)
	if c.realTime {
		select {
		case c.kick <- struct{}{}:
		default:
		}
	}
	return cancel
}

// pump runs the events of a cluster on real time as they fall due.
func (c *Cluster) pump(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		c.mu.Lock()
		c.queue.Advance(time.Now())
		c.persist()
		c.cond.Broadcast()
		wait := time.Hour
		if due, ok := c.queue.Next(); ok {
			wait = time.Until(due)
		}
		c.mu.Unlock()
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-c.kick:
		case <-timer.C:
		}
	}
}

// Await blocks the caller, who holds the lock, until done. On virtual time it
// runs the events that come next; on real time it gives the lock away while
// it waits. A deadline that is not zero ends the wait with MaxTimeMSExpired.
// Virtual time stands still for everybody else meanwhile: nobody can bring a
// node back, so who waits for one gives up after a while.
func (c *Cluster) Await(ctx context.Context, deadline time.Time, done func() bool) error {
	if c.realTime {
		return c.awaitReal(ctx, deadline, done)
	}
	began := c.now()
	for !done() {
		if err := ctx.Err(); err != nil {
			return mongoerr.New(mongoerr.Interrupted, "operation was interrupted: %s", err)
		}
		if c.closed {
			return errClosed()
		}
		if c.now().Sub(began) > faultPatience && c.nodesAway() {
			return errNodesAway()
		}
		due, ok := c.queue.Next()
		if !ok {
			return errNothingToWaitFor
		}
		if !deadline.IsZero() && due.After(deadline) {
			c.advance(deadline)
			return errMaxTime()
		}
		c.queue.RunNext()
		c.persist()
	}
	return nil
}

// advance runs everything due until t. Each event's changes are written on
// their own, so that a process that is killed leaves no burst half done.
func (c *Cluster) advance(t time.Time) {
	for c.disk != nil {
		due, ok := c.queue.Next()
		if !ok || due.After(t) {
			break
		}
		c.queue.RunNext()
		c.persist()
	}
	c.queue.Advance(t)
}

func (c *Cluster) awaitReal(ctx context.Context, deadline time.Time, done func() bool) error {
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		c.cond.Broadcast()
		c.mu.Unlock()
	})
	defer stop()
	replaced := c.replaced
	for !done() {
		if c.replaced != replaced {
			return mongoerr.New(mongoerr.Interrupted, "operation was interrupted: a snapshot was loaded")
		}
		if err := ctx.Err(); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && !deadline.IsZero() {
				return errMaxTime()
			}
			return mongoerr.New(mongoerr.Interrupted, "operation was interrupted: %s", err)
		}
		if c.closed {
			return errClosed()
		}
		c.cond.Wait() // other commands run meanwhile
	}
	return nil
}

func errClosed() error {
	return mongoerr.New(mongoerr.ShutdownInProgress, "the mock cluster is closed")
}

// faultPatience is how much virtual time a command waits while nodes are away.
const faultPatience = 24 * time.Hour

func errNodesAway() error {
	return mongoerr.New(mongoerr.HostUnreachable, "operation waits for a node that is away, and virtual time has gone on for %v: mockRestart and mockHeal bring nodes back", faultPatience)
}

func errMaxTime() error {
	return mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
}

// Spend lets a command take virtual time, so that scripts that poll without
// sleeping see time pass. It does nothing on real time.
func (c *Cluster) Spend(d time.Duration) {
	if !c.realTime {
		c.advance(c.queue.Now().Add(d))
	}
}

// Clock gives scripts the cluster's time.
type Clock struct{ cluster *Cluster }

// Clock of the cluster.
func (c *Cluster) Clock() Clock { return Clock{c} }

// glance is what one look at a virtual clock takes: a loop that waits for a
// time without sleeping ends.
const glance = 10 * time.Microsecond

// Now is the cluster's time. On virtual time each look moves it a little.
func (k Clock) Now() time.Time {
	k.cluster.Lock()
	defer k.cluster.Unlock()
	k.cluster.Spend(glance)
	return k.cluster.now()
}

// Sleep waits for d: really, or by jumping on virtual time.
func (k Clock) Sleep(ctx context.Context, d time.Duration) error {
	if !k.cluster.realTime {
		k.cluster.Lock()
		defer k.cluster.Unlock()
		k.cluster.Spend(d)
		return ctx.Err()
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
