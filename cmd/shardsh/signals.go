package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"shardsh/bindings/script"
)

// signalStages holds the effects of the second and third signal. The first signal ends the context of
// the program.
type signalStages struct {
	second  chan struct{}   // closed by the second signal
	hardCtx context.Context // ends with the third signal, and soon after --timeout and SIGTERM
	end     func()
}

// errLeftRunning says that running moves were left to the cluster.
var errLeftRunning = errors.New("left by the user while moves were under way")

func listenForSignals(ctx context.Context) signalStages {
	caught := make(chan os.Signal, 3)
	done := make(chan struct{})
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	steps, forget := stepContext(ctx)
	hard, leave := context.WithCancelCause(steps)
	s := signalStages{second: make(chan struct{}), hardCtx: hard, end: func() {
		signal.Stop(caught)
		close(done)
		leave(nil)
		forget()
	}}
	go func() {
		for n := 1; n <= 3; n++ {
			select {
			case <-caught:
			case <-done:
				return
			}
			switch n {
			case 2:
				close(s.second)
			case 3:
				leave(errLeftRunning)
			}
		}
	}()
	return s
}

// exitWhenStuck ends the process when a script continues after --timeout, SIGTERM or Ctrl-C, because it is
// in a call of the JavaScript engine that can't be interrupted. The REPL handles Ctrl-C at a prompt
// itself.
func exitWhenStuck(env environment, cause error) {
	var timeout timeoutError
	var signal signalError
	if env.exit == nil || !errors.As(cause, &timeout) && !errors.As(cause, &signal) {
		return
	}
	fmt.Fprintf(env.stderr, "shardsh: %s, but the script did not stop within %s: it is inside one call that can't be "+
		"interrupted. The process was ended; what it had registered with atExit did not run.\n", cause,
		cmp.Or(env.stuckTimeout, script.StuckTimeout))
	env.exit(exitCode(context.Background(), cause))
}
