package main

import (
	"cmp"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/bindings/transcript"
)

// environment holds the program's external dependencies, so that tests can run the whole program.
type environment struct {
	args    []string
	command string // the subcommand, with a space before it; "" for the shell
	getenv  func(string) (string, bool)
	streams
	process
	// stdinIsScript says that standard input is a script, so that it can't answer questions.
	stdinIsScript bool
	// unattended disables questions for a password.
	unattended bool
	// transcript records the sent commands; nil without --transcript.
	transcript *transcript.Writer
}

// process gives access to the operating system process.
type process struct {
	// releaseInterrupt leaves Ctrl-C to the REPL; nil in tests.
	releaseInterrupt func()
	// policyDir is the directory of the machine's policies; empty means the system's default.
	policyDir string
	// exit ends the process at once, for a script that can't be stopped otherwise; nil if the process
	// must not be ended.
	exit func(code int)
	// clock is the clock of runs on clusters with an address; nil means the system's clock.
	clock script.Clock
	// stuckTimeout replaces script.StuckTimeout; 0 does not.
	stuckTimeout time.Duration
	// openTerminal opens the process's own terminal, regardless of its input and output; nil means that
	// of the system.
	openTerminal func() (io.ReadWriteCloser, error)
}

// streams are the input and the outputs. The program's own messages are written through out and errOut,
// which escape control characters in names and messages of a cluster.
type streams struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// out returns the writer for results.
func (s streams) out() io.Writer { return plaintext.NewWriter(s.stdout) }

// errOut returns the writer for notices and errors.
func (s streams) errOut() io.Writer { return plaintext.NewWriter(s.stderr) }

// jsonOut returns the writer for JSON; it escapes invisible characters.
func (s streams) jsonOut() io.Writer { return plaintext.NewJSONWriter(s.stdout) }

// commandName returns the name of the running subcommand, or "shardsh".
func (env environment) commandName() string { return strings.TrimSpace(cmp.Or(env.command, "shardsh")) }

// escapeText escapes an error's text, which the shell may have coloured.
func (env environment) escapeText(text string) string {
	if env.usesColor() {
		return plaintext.EscapeStyled(text)
	}
	return plaintext.EscapeText(text)
}

func isTerminal(r any) bool {
	if l, ok := r.(*lockedWriter); ok {
		r = l.w
	}
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of the terminal; 0 without one.
func (s streams) columns() int {
	columns, _ := s.terminalSize()
	return columns
}

// terminalSize returns the size of the terminal; zero without one.
func (s streams) terminalSize() (columns, rows int) {
	f, ok := s.stdout.(*os.File)
	if !ok {
		return 0, 0
	}
	columns, rows, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, 0
	}
	return columns, rows
}

// usesColor reports whether to use colours: only on a terminal that supports them, and not if NO_COLOR is
// set.
func (env environment) usesColor() bool {
	noColor, _ := env.getenv("NO_COLOR")
	terminal, _ := env.getenv("TERM")
	return isTerminal(env.stdout) && noColor == "" && terminal != "dumb"
}
