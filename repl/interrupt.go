package repl

import (
	"context"
	"errors"
	"fmt"
)

var (
	// errStopped is the error of a command that Ctrl-C stopped.
	errStopped = errors.New("stopped by the user")
	// errAbandoned is for one that did not stop and was not waited for.
	errAbandoned = errors.New("left by the user while running")
)

const (
	stoppingNotice = "Stopping execution..."
	stuckNotice    = "(Still stopping. To leave without waiting, press Ctrl+C again)"
)

// interruptibly runs f under a context that ends when Ctrl-C is pressed. The
// error of an f that was stopped so is errStopped, whatever it made of it. The
// third Ctrl-C gives f up, unless it listens: not everything a script does looks at
// the context.
func (l *loop[R]) interruptibly(ctx context.Context, f func(context.Context) (string, error)) (string, error) {
	l.forgetInterrupts()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	again := func() (taken bool) { return false }
	if l.MoreInterrupts != nil {
		ctx, again = l.MoreInterrupts(ctx)
	}
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		text, err := f(ctx)
		done <- outcome{text, err}
	}()
	for presses := 0; ; {
		select {
		case o := <-done:
			if _, leaves := l.exitCode(o.err); o.err != nil && presses > 0 && !leaves {
				return "", errStopped
			}
			return o.text, o.err
		case <-l.Interrupts:
			presses++
		}
		switch presses {
		case 1:
			if l.MidLine != nil && l.MidLine() {
				fmt.Fprintln(l.Out)
			}
			fmt.Fprintln(l.Out, stoppingNotice)
			cancel(errStopped)
		case 2:
			if !again() { // what listens says itself what comes next
				fmt.Fprintln(l.Out, stuckNotice)
			}
		default:
			if !again() {
				return "", errAbandoned
			}
			fmt.Fprintln(l.Out, stuckNotice)
		}
	}
}

// forgetInterrupts drops what was pressed when nothing ran.
func (l *loop[R]) forgetInterrupts() {
	for {
		select {
		case <-l.Interrupts:
		default:
			return
		}
	}
}
