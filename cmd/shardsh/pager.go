package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/olekukonko/tablewriter/pkg/twwidth"

	"shardsh/bindings"
	"shardsh/repl"
)

// pagerExitTimeout is how long a pager may take, after it was told to end, to restore the terminal.
const pagerExitTimeout = 2 * time.Second

// newResultPager returns a function that shows results taller than the screen in a pager; nil without a
// terminal.
func newResultPager(env environment, shell *bindings.Shell, editor repl.LineEditor) func(context.Context, string) bool {
	name, _ := env.getenv("TERM")
	if !isTerminal(env.stdin) || !isTerminal(env.stdout) || name == "dumb" {
		return nil
	}
	return func(ctx context.Context, text string) bool {
		columns, rows := env.terminalSize()
		set, wanted := shell.Pager()
		if !wanted || !exceedsScreen(text, columns, rows-1) { // the prompt also needs a row
			return false
		}
		program := pagerCommand(set, env.getenv)
		return len(program) > 0 && runPager(ctx, env, program, text, editor)
	}
}

// pagerCommand returns the pager and its arguments: the one in the settings, $PAGER, or a default. It
// returns none if $PAGER is empty or cat.
func pagerCommand(set string, getenv func(string) (string, bool)) []string {
	program := strings.Fields(set)
	if len(program) == 0 {
		text, isSet := getenv("PAGER")
		program = strings.Fields(text)
		if isSet && len(program) == 0 {
			return nil
		}
	}
	for _, usual := range []string{"less", "more"} {
		if path, err := exec.LookPath(usual); err == nil && len(program) == 0 {
			program = []string{path}
		}
	}
	if len(program) == 1 && program[0] == "cat" {
		return nil
	}
	return program
}

// runPager shows a text in a program, and reports whether the program was started. Its exit code is
// ignored: after q or Ctrl-C, the shell continues.
func runPager(ctx context.Context, env environment, program []string, text string, editor repl.LineEditor) bool {
	cmd := exec.CommandContext(ctx, program[0], program[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(text+"\n"), env.stdout, env.stderr
	cmd.Env = append(os.Environ(), pagerEnv(env.getenv)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // so that it can restore the terminal
	cmd.WaitDelay = pagerExitTimeout
	err := editor.LendTerminal(cmd.Run)
	_, ended := errors.AsType[*exec.ExitError](err)
	return err == nil || ended || cmd.Process != nil
}

// pagerEnv returns the environment with which less shows colours and leaves its output on the
// screen, unless the user has set options for less.
func pagerEnv(getenv func(string) (string, bool)) []string {
	if _, ok := getenv("LESS"); ok {
		return nil
	}
	return []string{"LESS=FRX"}
}

// exceedsScreen reports whether a text takes more than so many rows of a screen; false if the size is
// unknown.
func exceedsScreen(text string, columns, rows int) bool {
	if columns <= 0 || rows <= 0 {
		return false
	}
	for line := range strings.Lines(text) {
		rows -= max(1, (twwidth.Width(strings.TrimSuffix(line, "\n"))+columns-1)/columns)
		if rows < 0 {
			return true
		}
	}
	return false
}
