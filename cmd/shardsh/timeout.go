package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// timeoutError is the cause of a run that --timeout ended.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string {
	return fmt.Sprintf("not finished within --timeout %s; the run was stopped", e.after)
}

// withTimeout returns ctx with the limit of --timeout. JavaScript can't catch
// its end. A timer cancels it, as it has no deadline: the driver would turn that
// into a maxTimeMS of its own, and leaves reads alone that a deadline passes.
func (o *runFlags) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if o.timeout == 0 {
		return ctx, func() { cancel(nil) }
	}
	d := time.Duration(o.timeout)
	timer := time.AfterFunc(d, func() { cancel(timeoutError{d}) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// stepGracePeriod is how long a step on a cluster may go on after what ended a run.
const stepGracePeriod = 250 * time.Millisecond

// stepContext returns the context of steps in progress on a cluster, which are completed
// when a run is stopped: by Ctrl-C, however long they take. --timeout and SIGTERM
// don't wait for them, as they may hang: the step is left to the cluster.
func stepContext(ctx context.Context) (context.Context, context.CancelFunc) {
	steps, leave := context.WithCancelCause(context.WithoutCancel(ctx))
	var timer *time.Timer
	var began sync.Mutex
	stop := context.AfterFunc(ctx, func() {
		cause := context.Cause(ctx)
		if s := new(signalError); errors.As(cause, s) && s.signal == os.Interrupt {
			return
		}
		began.Lock()
		defer began.Unlock()
		timer = time.AfterFunc(stepGracePeriod, func() { leave(cause) })
	})
	return steps, func() {
		stop()
		began.Lock()
		defer began.Unlock()
		if timer != nil {
			timer.Stop()
		}
		leave(nil)
	}
}

// scriptInput is standard input for a script. A shell reads its own.
func scriptInput(ctx context.Context, env environment, interactive bool) io.Reader {
	if interactive || isTerminal(env.stdin) {
		return env.stdin
	}
	return ctxReader{ctx, env.stdin}
}

// ctxReader is a reader that does not wait longer than ctx lasts: for a
// pipe whose other end says nothing. A read that comes too late is lost.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (i ctxReader) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, context.Cause(i.ctx)
	}
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() { // ends with the read, at the latest with the process
		data := make([]byte, len(p))
		n, err := i.r.Read(data)
		done <- outcome{data[:n], err}
	}()
	select {
	case o := <-done:
		return copy(p, o.data), o.err
	case <-i.ctx.Done():
		return 0, context.Cause(i.ctx)
	}
}
