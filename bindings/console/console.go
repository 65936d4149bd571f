// Package console is what people at a prompt have beside the objects of scripts: the prompt
// itself, history, edit and passwords.
package console

import (
	"io"
	"os/exec"

	"github.com/dop251/goja"

	"shardsh/bindings/sandbox"
	"shardsh/bindings/script"
)

// Hooks are callbacks into an interactive session. Fields may be empty:
// what needs them then says that there is no prompt.
type Hooks struct {
	// SettingsFile is the file that keeps what config.set changes.
	SettingsFile string
	// History gives the inputs kept, oldest first.
	History func() []string
	// RunProgram gives the terminal to a program until it ends.
	RunProgram func(*exec.Cmd) error
	// ReadLine reads a line where input is not a terminal.
	ReadLine func() (string, error)
	// Getenv looks up EDITOR and VISUAL.
	Getenv func(name string) (string, bool)
}

// Console is the prompt's side of a shell.
type Console struct {
	JS      *script.Engine
	Stdout  io.Writer
	Sandbox *sandbox.Rules
	// Editor returns the program that the settings name; empty for none.
	Editor func() string
	// ValueOf returns the value of a dotted name, nil where it is not known without
	// running anything.
	ValueOf func(name string) goja.Value

	hooks Hooks
	// What edit left for the next line, and the text edited last.
	suggestion, lastEdited string
}

// Attach sets the hooks of an interactive session.
func (s *Console) Attach(hooks Hooks) { s.hooks = hooks }

// Suggestion returns a text to be put into the next line for the user to change
// and send, if there is one: what came out of edit. It is given once.
func (s *Console) Suggestion() string {
	text := s.suggestion
	s.suggestion = ""
	return text
}

// Globals are functions for people at a prompt.
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
		}, "Tells where scripts come from."},
	}
}
