package main

import (
	"cmp"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"shardsh/bindings/plaintext"
	"shardsh/bindings/transcript"
)

// environment holds the program's external dependencies, so that tests
// can run the whole program.
type environment struct {
	args    []string
	command string // the verb, with a space before it; "" for the shell
	getenv  func(string) (string, bool)
	streams
	process
	// stdinIsScript keeps questions from being answered by the script.
	stdinIsScript bool
	// unattended has nobody asked for a password.
	unattended bool
	// transcript records what is sent; nil without --transcript.
	transcript *transcript.Writer
}

// process gives access to the operating system process.
type process struct {
	// releaseInterrupt leaves Ctrl-C to the REPL; nil where there is none.
	releaseInterrupt func()
	// policies is the folder of the machine's policies; empty is the system's.
	policies string
	// exit ends the process at once, for what can't be stopped otherwise; nil
	// where nothing may.
	exit func(code int)
	// openTerminal opens the process's own terminal, whatever its input and output
	// are; nil for that of the system.
	openTerminal func() (io.ReadWriteCloser, error)
}

// streams are the input and outputs. What the program itself tells people goes
// through out and errOut: names and messages of a cluster stay text there, whatever
// a terminal would make of them.
type streams struct {
	stdin          io.Reader
	stdout, stderr io.Writer
}

// out is for results.
func (s streams) out() io.Writer { return plaintext.NewWriter(s.stdout) }

// errOut is for notices and errors.
func (s streams) errOut() io.Writer { return plaintext.NewWriter(s.stderr) }

// jsonOut is for JSON; invisible characters are escaped.
func (s streams) jsonOut() io.Writer { return plaintext.NewJSONWriter(s.stdout) }

// commandName returns the name of the running verb, or "shardsh".
func (env environment) commandName() string { return strings.TrimSpace(cmp.Or(env.command, "shardsh")) }

// escapeText returns an error's text, which the shell may have coloured.
func (env environment) escapeText(text string) string {
	if env.color() {
		return plaintext.VisibleStyled(text)
	}
	return plaintext.Visible(text)
}

func isTerminal(r any) bool {
	f, ok := r.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// columns returns the width of the terminal; 0 where there is none.
func (s streams) columns() int {
	columns, _ := s.terminalSize()
	return columns
}

// terminalSize returns the size of the terminal; zero where there is none.
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

// color reports whether to colour: only on a terminal that has it, and not
// where NO_COLOR forbids it.
func (env environment) color() bool {
	noColor, _ := env.getenv("NO_COLOR")
	terminal, _ := env.getenv("TERM")
	return isTerminal(env.stdout) && noColor == "" && terminal != "dumb"
}
