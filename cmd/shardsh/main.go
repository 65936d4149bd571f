// Command shardsh is a shell for sharded MongoDB clusters: a REPL, a runner for JavaScript maintenance
// scripts, and a CI check of balance status, on a live cluster or on a mock one inside the process.
package main

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

func main() {
	args := make([]string, 0, len(os.Args))
	for _, arg := range os.Args[1:] {
		args = append(args, strings.Clone(arg)) // secret.HideInProcessList overwrites the originals
	}
	env := environment{
		args:    args,
		streams: streams{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr},
		getenv:  takePassword(),
		process: process{exit: os.Exit},
	}
	script.SetMatchTimeout(script.MatchTimeout)
	os.Exit(env.main())
}

// takePassword removes the password from the environment, so that scripts and child processes can't
// read it. It returns a function that still finds the password.
func takePassword() (lookup func(name string) (string, bool)) {
	password, given := os.LookupEnv(target.PasswordVariable)
	if err := os.Unsetenv(target.PasswordVariable); err != nil {
		return os.LookupEnv
	}
	return func(name string) (string, bool) {
		if name == target.PasswordVariable {
			return password, given
		}
		return os.LookupEnv(name)
	}
}

// main runs the program and returns its exit code. The first Ctrl-C or SIGTERM ends the running
// command; a second one ends the process. The REPL handles Ctrl-C itself.
func (env environment) main() int {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	env.releaseInterrupt = cancelOn(os.Interrupt, cancel)
	releaseTerm := cancelOn(syscall.SIGTERM, cancel)
	defer releaseTerm()
	defer env.releaseInterrupt()
	secret.HideInProcessList(os.Args)
	return env.run(ctx)
}

// cancelOn calls cancel at the first signal. release stops listening for the signal; it may be called
// repeatedly.
func cancelOn(sig os.Signal, cancel context.CancelCauseFunc) (release func()) {
	caught := make(chan os.Signal, 1)
	done := make(chan struct{})
	signal.Notify(caught, sig)
	go func() {
		select {
		case <-caught:
			signal.Stop(caught)
			cancel(signalError{sig})
		case <-done:
		}
	}()
	return sync.OnceFunc(func() {
		signal.Stop(caught)
		close(done)
	})
}
