package repl

import (
	"context"
	"errors"
	"fmt"
)

var (
	// errStopped is the error of a command that Ctrl-C stopped.
	errStopped = errors.New("stopped by the user")
	// errAbandoned is the error of a command that did not stop and was abandoned.
	errAbandoned = errors.New("left by the user while running")
)

const (
	stoppingNotice = "Stopping execution..."
	stuckNotice    = "(Still stopping. To leave without waiting, press Ctrl+C again)"
)

// runInterruptibly runs f under a context that ends when Ctrl-C is pressed. If f was stopped, the error is
// errStopped, regardless of the error of f. The third Ctrl-C abandons f, unless f listens for it,
// because some operations of a script ignore the context.
func (l *loop[R]) runInterruptibly(ctx context.Context, f func(context.Context) (string, error)) (string, error) {
	l.forgetInterrupts()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	again := func() (taken bool) { return false }
	if l.ListenForMoreInterrupts != nil {
		ctx, again = l.ListenForMoreInterrupts(ctx)
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
			if _, leaves := l.ExitCode(o.err); o.err != nil && presses > 0 && !leaves {
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
			if !again() { // a listener prints the next steps itself
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

// forgetInterrupts drops interrupts that arrived while nothing ran.
func (l *loop[R]) forgetInterrupts() {
	for {
		select {
		case <-l.Interrupts:
		default:
			return
		}
	}
}
