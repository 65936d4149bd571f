// Package repl is the interactive loop of the shell: it reads lines from a
// terminal until they make one input, has the shell evaluate it, and prints the
// result (rules/04-command-line-and-prompt §2).
//
// Input that comes from a file or a pipe is a script and no concern of this
// package.
package repl

import (
	"context"
	"errors"
)

// InputName is the name under which the loop hands typed input to Eval, where a
// script has its file name.
const InputName = "repl"

// Shell is what the loop drives. R is a result between Eval and Render.
type Shell[R any] interface {
	// Eval runs one input. The end of ctx interrupts it.
	Eval(ctx context.Context, name, source string) (R, error)
	// Render is how a result is shown; empty when there is nothing to show.
	Render(ctx context.Context, result R) (string, error)
	// Complete offers ways to finish the line, each to be put behind head. It
	// is called while a line is being read, at no time together with the other
	// methods.
	Complete(line string) (head string, completions []string)
	// Incomplete is true for the beginning of an input.
	Incomplete(source string) bool
	// Prompt is what to show before the first line of an input.
	Prompt() string
}

// ErrInterrupted is a LineEditor's way to say that Ctrl-C was pressed, and
// ErrDropped that it was pressed on a line with text. An editor that cannot tell
// says ErrInterrupted.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrDropped     = errors.New("line dropped")
)

// LineEditor reads lines from a terminal. Its methods are called by one
// goroutine at a time, except Close, which may come in the midst of ReadLine
// when the process is told to end.
type LineEditor interface {
	// ReadLine shows the prompt and returns the line without its end. The
	// error is io.EOF for Ctrl-D on an empty line, and ErrInterrupted or
	// ErrDropped for Ctrl-C, which drops the line. On a terminal the next
	// output is at the beginning of a line, whichever it was.
	ReadLine(prompt string) (string, error)
	// Remember makes an input available to the keys that go back.
	Remember(input string)
	// OnTab sets what completes a line up to the cursor.
	OnTab(complete func(line string) (head string, completions []string))
	// Suggest puts a text into the next line, to be changed and sent.
	Suggest(text string)
	// Lend gives the terminal as it was before to a program, until run returns.
	Lend(run func() error) error
	// Close gives the terminal back as it was.
	Close() error
}
