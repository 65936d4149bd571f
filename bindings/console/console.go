// Package console implements the interactive part of the shell: the prompt, the history, edit and
// passwords.
package console

import (
	"io"
	"os/exec"

	"github.com/dop251/goja"

	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
)

// Hooks are callbacks into an interactive session. Any of them may be nil; functions that need one then
// report that there is no interactive session.
type Hooks struct {
	// SettingsFile is the file that stores the settings changed by config.set.
	SettingsFile string
	// History returns the stored inputs, oldest first.
	History func() []string
	// RunProgram runs a program that uses the terminal until it ends.
	RunProgram func(*exec.Cmd) error
	// ReadLine reads a line if the input is not a terminal.
	ReadLine func() (string, error)
	// Getenv looks up EDITOR and VISUAL.
	Getenv func(name string) (string, bool)
}

// Console holds the state of the interactive part of a shell.
type Console struct {
	JS      *script.Engine
	Stdout  io.Writer
	Sandbox *sandbox.Rules
	// Editor returns the program in the settings; empty for none.
	Editor func() string
	// ValueOf returns the value of a dotted name; nil if it cannot be determined without running code.
	ValueOf func(name string) goja.Value

	hooks Hooks
	// The text that edit has returned for the next line, and the text that was edited last.
	suggestion, lastEdited string
}

// Attach sets the hooks of an interactive session.
func (s *Console) Attach(hooks Hooks) { s.hooks = hooks }

// TakeSuggestion returns the text that edit has produced for the next line, for the user to change and
// send. It returns each text once.
func (s *Console) TakeSuggestion() string {
	text := s.suggestion
	s.suggestion = ""
	return text
}

// Globals returns the functions for interactive use.
func (s *Console) Globals() script.Globals {
	return script.Globals{
		{"history", "", func(c *script.Call) goja.Value {
			list := []any{}
			if s.hooks.History != nil {
				for _, input := range s.hooks.History() {
					list = append(list, input)
				}
			}
			return c.JS.Runtime.NewArray(list...)
		}, "Returns the inputs that are kept, oldest first."},
		{"edit", "", func(c *script.Call) goja.Value { return s.edit(c) },
			"Opens an editor; what is written there comes back as input: edit, edit <name>, edit <code>."},
		{"passwordPrompt", "", func(c *script.Call) goja.Value { return s.passwordPrompt(c) },
			"Asks for a password, which is not shown, and returns it."},
		{"snippet", "", func(c *script.Call) goja.Value {
			return c.JS.TextResult("Snippets are packages for mongosh and not available here. Scripts of your own: " +
				"load(\"file.js\"), require(\"./file.js\") or ~/.shardshrc.js.")
		}, "Says where scripts come from."},
	}
}
