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

// environment is what the program knows of the world around it, so that tests
// can run it whole.
type environment struct {
	args           []string
	command        string // the subcommand, with a space before it; "" for the shell
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) (string, bool)
	// releaseInterrupt leaves Ctrl-C to the REPL; nil where there is none.
	releaseInterrupt func()
	// exit ends the process on the spot, for what can't be stopped otherwise; nil
	// where nothing may.
	exit func(code int)
	// stdinIsScript keeps questions from being answered by the script.
	stdinIsScript bool
	// openTerminal opens the process's own terminal, whatever its input and output
	// are; nil for that of the system.
	openTerminal func() (io.ReadWriteCloser, error)
	// transcript keeps what is sent; nil where nobody wants that.
	transcript *transcript.Writer
}

// name is what the user calls what runs.
func (env environment) name() string { return strings.TrimSpace(cmp.Or(env.command, "shardsh")) }

// What the program itself tells people goes through these writers: names and
// messages of a cluster stay text there, whatever a terminal would make of them.

// out is for what was asked for.
func (env environment) out() io.Writer { return plaintext.NewWriter(env.stdout) }

// errOut is for notices and errors.
func (env environment) errOut() io.Writer { return plaintext.NewWriter(env.stderr) }

// jsonOut is for JSON, which means the same with its characters escaped.
func (env environment) jsonOut() io.Writer { return plaintext.NewJSONWriter(env.stdout) }

// visible returns an error's text, which the shell may have coloured.
func (env environment) visible(text string) string {
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
func (env environment) columns() int {
	columns, _ := env.screen()
	return columns
}

// screen returns the size of the terminal; zero where there is none.
func (env environment) screen() (columns, rows int) {
	f, ok := env.stdout.(*os.File)
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

func (env environment) told() io.Writer     { return env.out() }
func (env environment) warned() io.Writer   { return env.errOut() }
func (env environment) toldJSON() io.Writer { return env.jsonOut() }
