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

// timeoutError is the cause of a context that --timeout ended.
type timeoutError struct{ after time.Duration }

func (e timeoutError) Error() string {
	return fmt.Sprintf("not finished within --timeout %s; the run was stopped", e.after)
}

// withTimeout returns ctx with the limit of --timeout. JavaScript can't catch its end. A timer cancels
// the context, which has no deadline: the driver would convert a deadline to its own maxTimeMS, and
// would not abort reads that exceed it.
func (o *commonFlags) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	if o.timeout == 0 {
		return ctx, func() { cancel(nil) }
	}
	d := o.timeout
	timer := time.AfterFunc(d, func() { cancel(timeoutError{d}) })
	return ctx, func() {
		timer.Stop()
		cancel(nil)
	}
}

// stepGracePeriod is how long a running step on a cluster may continue after the end of a run.
const stepGracePeriod = 250 * time.Millisecond

// stepContext returns the context for running steps on a cluster. After Ctrl-C, a run waits for these
// steps, however long they take. After --timeout and SIGTERM it does not wait, because the steps may
// hang: they are left to the cluster.
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

// scriptInput returns the standard input of a script. A REPL reads the input itself.
func scriptInput(ctx context.Context, env environment, interactive bool) io.Reader {
	if interactive || isTerminal(env.stdin) {
		return env.stdin
	}
	return ctxReader{ctx, env.stdin}
}

// ctxReader is a reader that stops waiting when ctx ends, for a pipe whose other end is silent. The
// result of a later read is lost.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (c ctxReader) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	type outcome struct {
		data []byte
		err  error
	}
	done := make(chan outcome, 1)
	go func() { // ends with the read, at the latest with the process
		data := make([]byte, len(p))
		n, err := c.r.Read(data)
		done <- outcome{data[:n], err}
	}()
	select {
	case o := <-done:
		return copy(p, o.data), o.err
	case <-c.ctx.Done():
		return 0, context.Cause(c.ctx)
	}
}
