package console_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"shardsh/bindings"
	"shardsh/bindings/shelltest"
)

func TestEdit(t *testing.T) {
	c := shelltest.Connect(t)
	var seen string
	back, fails := "", error(nil)
	environment := map[string]string{"EDITOR": "ed -s"}
	err := c.Attach(bindings.ConsoleHooks{
		RunProgram: func(cmd *exec.Cmd) error {
			path := cmd.Args[len(cmd.Args)-1]
			text, err := os.ReadFile(path)
			seen = strings.Join(cmd.Args[:len(cmd.Args)-1], " ") + ": " + string(text)
			return errors.Join(err, fails, os.WriteFile(path, []byte(back), 0o600))
		},
		Getenv: func(name string) (string, bool) { text, ok := environment[name]; return text, ok },
	})
	if err != nil {
		t.Fatal(err)
	}
	shelltest.Run(t, c, step{"function area(r) { return r }\nvar pi = {value: 3}", ""})
	for _, tt := range []struct{ input, seen, back, suggestion string }{
		{"edit", "ed -s: ", "1 + 1\n", "1 + 1"},
		{"edit", "ed -s: 1 + 1", "2", "2"},
		{"edit()", "ed -s: 2", "a\nb\n", "a\nb"},
		{"edit area", "ed -s: function area(r) { return r }", "function area(r) {\n return 3 * r * r\n}", "area = function area(r) {\n return 3 * r * r\n}"},
		{"edit pi", "ed -s: {\n  value: 3\n}", "{value: 3.14}", "pi = {value: 3.14}"},
		{"edit fresh", "ed -s: ", "5", "fresh = 5"},
		{"edit db.orders.find({a: 1})", "ed -s: db.orders.find({a: 1})", "x", "x"},
	} {
		back = tt.back
		if text, failed := c.Show(tt.input); failed || text != "Opening an editor..." {
			t.Errorf("%s shows %s", tt.input, text)
		}
		if got := c.TakeSuggestion(); seen != tt.seen || got != tt.suggestion {
			t.Errorf("%s shows %q in the editor and suggests %q", tt.input, seen, got)
		}
	}
	shelltest.Run(t, c, step{"edit print", "Opening an editor...\nError: print is part of the shell: there is no source to edit"})
	fails = errors.New("no such editor")
	shelltest.Run(t, c, step{"edit", "Opening an editor...\nError: Command failed with an error: no such editor"})
	environment["VISUAL"] = "vi"
	fails = nil
	shelltest.Run(t, c, step{"edit 1", "Opening an editor..."})
	if seen != "vi: 1" {
		t.Errorf("with VISUAL: %s", seen)
	}
	shelltest.Run(t, c, step{"config.set('editor', 'emacs -nw')", `Setting "editor" has been changed`}, step{"edit 1", "Opening an editor..."})
	if seen != "emacs -nw: 1" {
		t.Errorf("with the setting: %s", seen)
	}
	delete(environment, "VISUAL")
	delete(environment, "EDITOR")
	shelltest.Run(t, c, step{"config.reset('editor')", `Setting "editor" has been reset to its default value`},
		step{"edit", "Opening an editor...\nError: Command failed with an error: please define an external editor: config.set(\"editor\", \"...\"), or $VISUAL or $EDITOR"})
	if c.TakeSuggestion() == "" || c.TakeSuggestion() != "" {
		t.Error("a suggestion is given once")
	}
	shelltest.Run(t, shelltest.Connect(t), step{"edit", "Error: edit works at a prompt only"})
}

func TestPasswordsFromAPipe(t *testing.T) {
	c := shelltest.Connect(t, func(c *bindings.Config) { c.Stdin = strings.NewReader("hunter2\r\nsecond\nlast") })
	shelltest.Run(t, c,
		step{"passwordPrompt()", "Enter password\nhunter2"},
		step{"passwordPrompt()", "Enter password\nsecond"},
		step{"passwordPrompt()", "Enter password\nlast"},
		step{"passwordPrompt()", "Enter password\nError: no password was given: the input has ended"},
	)
}
