package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shardsh/bindings/script"
)

// argsOfChild are those of the program that a test runs as a process of its own.
const argsOfChild = "SHARDSH_TEST_ARGS"

// patience replaces script.StuckTimeout.
const patience = 300 * time.Millisecond

// endless stays in one call of the engine for longer than anybody waits.
const endless = `Array.prototype.some.call({get length() { return print("begun"), 2 ** 53 - 1 }}, x => x)`

// TestScriptThatCantBeStopped: the process ends soon after what should stop it,
// says so, and has the exit code of what did.
func TestScriptThatCantBeStopped(t *testing.T) {
	if args := os.Getenv(argsOfChild); args != "" {
		env := environment{args: strings.Split(args, "\x1f"), streams: streams{stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr},
			getenv: os.LookupEnv, process: process{exit: os.Exit, stuckTimeout: patience}}
		os.Exit(env.main())
	}
	t.Parallel() // most of it is waiting
	var all sync.WaitGroup
	for name, tt := range map[string]struct {
		args   []string
		signal os.Signal
		code   int
		reason string
	}{
		"timeout": {[]string{"--timeout", "1s"}, nil, exitFailure, "not finished within --timeout 1s"},
		"SIGTERM": {nil, syscall.SIGTERM, exitSIGTERM, "stopped by signal: terminated"},
		"Ctrl-C":  {nil, os.Interrupt, exitSIGINT, "stopped by signal: interrupt"},
	} {
		all.Go(func() { // most of it is waiting
			t.Run(name, func(t *testing.T) {
				// A signal may come between "begun" and the call: then that was no case of it.
				for range 20 {
					code, stderr := runStuck(t, tt.args, tt.signal)
					if code != tt.code {
						t.Fatalf("ended with code %d, want %d: %s", code, tt.code, stderr)
					}
					if strings.Contains(stderr, tt.reason) && strings.Contains(stderr, "did not stop within 300ms") {
						return
					}
				}
				t.Error("was never said to be stuck")
			})
		})
	}
	all.Wait()
}

// runStuck runs endless as a process of its own, and signals it once it is at it.
func runStuck(t *testing.T, args []string, signal os.Signal) (code int, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), servePatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestScriptThatCantBeStopped$")
	args = slices.Concat([]string{"--nodb", "--quiet"}, args, []string{"--eval", endless})
	cmd.Env = append(os.Environ(), argsOfChild+"="+strings.Join(args, "\x1f"))
	var told bytes.Buffer
	cmd.Stderr = &told
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, len("begun\n"))); err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if signal != nil {
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if took := time.Since(start); took > script.StuckTimeout {
		t.Errorf("took %v", took)
	}
	return exit.ExitCode(), told.String()
}

// The mock in the process reads and writes no files for a script in a sandbox.
func TestSandboxOfTheMock(t *testing.T) {
	t.Chdir(t.TempDir())
	for source, want := range map[string]string{
		`mock.save("x")`: "may not write files", `mock.load("x")`: "may not read x; --allow-read x would allow it",
	} {
		if code, _, stderr := runProgram(t, "", "--quiet", "--sandbox", "--eval", source); code != 1 ||
			!strings.Contains(stderr, want) {
			t.Errorf("%s: %d, %s", source, code, stderr)
		}
	}
}
