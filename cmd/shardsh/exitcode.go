package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"shardsh/balancer/consent"
	"shardsh/balancer/diagnosis"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
)

// The exit codes, as documented in docs/command-line.md.
const (
	exitOK      = 0
	exitFailure = 1 // a script failed, or the cluster can't be reached
	exitUsage   = 2 // the command line is wrong, or names an object that the cluster does not have
	// check: there are failing findings; diff: something has changed; a preflight has found obstacles;
	// a wait can't end.
	exitFindings = 3
	exitRefused  = 4   // a policy does not allow it
	exitSIGINT   = 130 // interrupted by Ctrl-C
	exitSIGTERM  = 143
)

// usageError is a mistake on the command line.
type usageError = cmdline.UsageError

func usagef(format string, args ...any) error { return cmdline.Usagef(format, args...) }

// findingsError says that a check worked and found something.
type findingsError struct{}

func (e findingsError) Error() string { return "there are findings" }

// nagiosError is the state of a service as an exit code of a Nagios plugin.
type nagiosError struct{ state int }

func (e nagiosError) Error() string { return fmt.Sprintf("state %d", e.state) }

// unsavedError says that the mock's data was not saved completely. It takes precedence over the
// signal that ended the program.
type unsavedError struct{ error }

func (e unsavedError) Unwrap() error { return e.error }

// reportedError is an error that has already been printed.
type reportedError struct{ error }

func (e reportedError) Unwrap() error { return e.error }

// signalError is the cause of a context that a signal ended.
type signalError struct{ signal os.Signal }

func (e signalError) Error() string { return "stopped by signal: " + e.signal.String() }

func (e signalError) exitCode() int {
	if e.signal == syscall.SIGTERM {
		return exitSIGTERM
	}
	return exitSIGINT
}

func exitCode(ctx context.Context, err error) int {
	if cause := new(signalError); errors.As(err, cause) {
		return cause.exitCode()
	}
	var quit *script.ExitError
	var usage usageError
	var findings findingsError
	var caught signalError
	var plugin nagiosError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &quit):
		return quit.Code
	case errors.As(err, new(unsavedError)):
		return exitFailure
	case errors.As(context.Cause(ctx), &caught):
		return caught.exitCode()
	case errors.As(err, &plugin):
		return plugin.state
	case errors.As(err, &usage), errors.As(err, new(*diagnosis.NotFoundError)):
		return exitUsage
	case errors.As(err, &findings), script.IsUnreachableState(err):
		return exitFindings
	case errors.As(err, new(*consent.RefusedError)):
		return exitRefused
	}
	return exitFailure
}
