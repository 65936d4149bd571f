package clock

import (
	"context"
	"errors"
	"time"

	"shardsh/balancer/mongoerr"
)

// Await blocks until done returns true. The caller holds the lock. On virtual time Await runs the next
// events; the time does not advance for other callers meanwhile. Others cannot bring a node back during
// that wait, so a wait for an unavailable node ends after maxFaultWait. On real time it releases the
// lock while it waits. A non-zero deadline ends the wait with MaxTimeMSExpired.
func (c *Clock) Await(ctx context.Context, deadline time.Time, done func() bool) error {
	if c.realTime || c.driven {
		return c.awaitReal(ctx, deadline, done)
	}
	began := c.Now()
	for !done() {
		if ctx.Err() != nil {
			return interruptError(ctx)
		}
		if c.closed {
			return ErrClosed()
		}
		if c.Now().Sub(began) > maxFaultWait && c.WaitMayNeverEnd() {
			return errNodesUnavailable()
		}
		due, ok := c.queue.NextDue()
		if !ok {
			return errNothingToWaitFor
		}
		if !deadline.IsZero() && due.After(deadline) {
			c.advance(deadline)
			return errMaxTime()
		}
		c.runNext()
		c.OnEventsRun()
	}
	return nil
}

func (c *Clock) awaitReal(ctx context.Context, deadline time.Time, done func() bool) error {
	if !deadline.IsZero() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline)
		defer cancel()
	}
	stop := context.AfterFunc(ctx, func() {
		c.mu.Lock()
		c.Wake()
		c.mu.Unlock()
	})
	defer stop()
	replaced := c.replacements.Load()
	for !done() {
		if c.replacements.Load() != replaced {
			return ErrReplaced()
		}
		if err := ctx.Err(); err != nil {
			if errors.Is(err, context.DeadlineExceeded) && !deadline.IsZero() {
				return errMaxTime()
			}
			return interruptError(ctx)
		}
		if c.closed {
			return ErrClosed()
		}
		c.endTurn()
		c.cond.Wait() // releases the lock to other commands
	}
	return nil
}

// interruptError returns why a command was interrupted: the cause of its context, if the cause is a
// server error.
func interruptError(ctx context.Context) error {
	cause := context.Cause(ctx)
	if _, known := mongoerr.CodeOf(cause); known {
		return cause
	}
	return mongoerr.New(mongoerr.Interrupted, "operation was interrupted: %s", cause)
}

// ErrClosed returns the error of waits on a closed cluster.
func ErrClosed() error {
	return mongoerr.New(mongoerr.ShutdownInProgress, "the mock cluster is closed")
}

// maxFaultWait is the virtual time for which a command waits while nodes are unavailable.
const maxFaultWait = 24 * time.Hour

func errNodesUnavailable() error {
	return mongoerr.New(mongoerr.HostUnreachable, "operation waits for a node that is away or at a fail point, and "+
		"virtual time has gone on for %v: mockRestart and mockHeal bring nodes back", maxFaultWait)
}

func errMaxTime() error {
	return mongoerr.New(mongoerr.MaxTimeMSExpired, "operation exceeded time limit")
}

// ErrReplaced returns the error of operations that were in progress when a snapshot was loaded.
func ErrReplaced() error {
	return mongoerr.New(mongoerr.Interrupted, "operation was interrupted: a snapshot was loaded")
}
