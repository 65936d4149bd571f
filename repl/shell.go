// Package repl implements the interactive loop of the shell. It reads lines from a terminal until they
// form one input, evaluates the input in the shell, and prints the result
// (rules/04-command-line-and-prompt §2).
//
// Input from a file or a pipe is a script, which this package does not handle.
package repl

import (
	"context"
	"errors"
)

// InputName is the name that the loop passes to Eval for typed input, where a script has its file name.
const InputName = "repl"

// Shell is the interface to the shell. R is the type of results.
type Shell[R any] interface {
	// Eval runs one input. The end of ctx interrupts it.
	Eval(ctx context.Context, name, source string) (R, error)
	// Render formats a result; empty when there is nothing to show.
	Render(ctx context.Context, result R) (string, error)
	// Complete completes the line; each completion is to be appended to head. It is called while a line
	// is being read, but never together with the other methods.
	Complete(line string) (head string, completions []string)
	// Incomplete reports whether source is the beginning of an input.
	Incomplete(source string) bool
	// Prompt returns the prompt before the first line of an input.
	Prompt() string
}

// ErrInterrupted is the error of a LineEditor when Ctrl-C was pressed, and ErrDropped when it was
// pressed on a line with text. An editor that cannot distinguish the two returns ErrInterrupted.
var (
	ErrInterrupted = errors.New("interrupted")
	ErrDropped     = errors.New("line dropped")
)

// LineEditor reads lines from a terminal. Its methods are called by one goroutine at a time, except
// Close, which may be called during ReadLine when the process is told to end.
type LineEditor interface {
	// ReadLine shows the prompt and returns the line without its end. The error is io.EOF for Ctrl-D on
	// an empty line, and ErrInterrupted or ErrDropped for Ctrl-C, which drops the line. On a terminal,
	// the next output is at the beginning of a line in all cases.
	ReadLine(prompt string) (string, error)
	// Remember makes an input available to the keys that recall inputs.
	Remember(input string)
	// OnTab sets the function that completes a line up to the cursor.
	OnTab(complete func(line string) (head string, completions []string))
	// Suggest puts a text into the next line, for the user to change and send.
	Suggest(text string)
	// LendTerminal restores the terminal for a program until run returns.
	LendTerminal(run func() error) error
	// Close restores the terminal.
	Close() error
}
