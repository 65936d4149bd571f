package main

import (
	"context"
	"errors"
	"fmt"

	"shardsh/bindings/script"
)

// endStuck ends the process when a script goes on after --timeout, SIGTERM or
// Ctrl-C: it is in a call of the JavaScript engine that nothing can stop. What
// Ctrl-C does at a prompt is for the prompt.
func endStuck(env environment, cause error) {
	var timeout timeoutError
	var signal signalError
	if env.exit == nil || !errors.As(cause, &timeout) && !errors.As(cause, &signal) {
		return
	}
	fmt.Fprintf(env.stderr, "shardsh: %s, but the script did not stop within %s: it is inside one call that can't be "+
		"interrupted. The process was ended; what it had registered with atExit did not run.\n", cause, script.StoppingTime)
	env.exit(exitCode(context.Background(), cause))
}
