package bindings

import (
	"os/exec"

	"github.com/dop251/goja"
)

// Console is what an interactive session lends to scripts. Fields may be empty:
// what needs them then says that there is no prompt.
type Console struct {
	// Settings is the file that keeps what config.set changes.
	Settings string
	// History gives the inputs kept, oldest first.
	History func() []string
	// Run gives the terminal to a program until it ends.
	Run func(*exec.Cmd) error
	// ReadLine reads a line where input is no terminal.
	ReadLine func() (string, error)
	// Getenv looks up EDITOR and VISUAL.
	Getenv func(name string) (string, bool)
}

// Attach lends the shell what an interactive session has, and reads the settings
// of the sessions before. Settings that a script has changed already stay as
// they are. The error tells why the file was not read; the shell works without.
func (s *Shell) Attach(c Console) error {
	s.console = &c
	return s.loadSettings(c.Settings)
}

// Suggestion returns a text to be put into the next line for the user to change
// and send, if there is one: what came out of edit. It is given once.
func (s *Shell) Suggestion() string {
	text := s.suggestion
	s.suggestion = ""
	return text
}

// HistoryRules returns the settings that say how many inputs are kept, and
// whether those with passwords are: "remove", "remove-redact" or "keep".
func (s *Shell) HistoryRules() (length int, redact string) {
	return s.settings.historyLength, s.settings.redactHistory
}

// consoleGlobals are for people at a prompt.
func consoleGlobals() []global {
	return []global{
		{"history", "", func(c *call) goja.Value {
			list := []any{}
			if c.s.console != nil && c.s.console.History != nil {
				for _, input := range c.s.console.History() {
					list = append(list, input)
				}
			}
			return c.JS.Runtime.NewArray(list...)
		}, "Returns the inputs that are kept, oldest first."},
		{"edit", "", func(c *call) goja.Value { return c.edit() },
			"Opens an editor; what is written there comes back as input: edit, edit <name>, edit <code>."},
		{"passwordPrompt", "", func(c *call) goja.Value { return c.passwordPrompt() },
			"Asks for a password, which is not shown, and returns it."},
		{"snippet", "", func(c *call) goja.Value {
			return c.JS.ShownText("Snippets are packages for mongosh and not available here. Scripts of your own: " +
				"load(\"file.js\"), require(\"./file.js\") or ~/.shardshrc.js.")
		}, "Tells where scripts come from."},
	}
}
