package console

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/dop251/goja"

	"shardsh/bindings/script"
)

// dottedName matches arguments of edit that are names rather than code.
var dottedName = regexp.MustCompile(`^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$`)

// edit opens the user's editor on a text and puts the result into the next line
// (rules/04-command-line-and-prompt §2.12). The text is the last edited text, the given code, or the
// source of a name.
func (s *Console) edit(c *script.Call) goja.Value {
	words := make([]string, len(c.Args))
	for i, v := range c.Args {
		words[i] = v.String()
	}
	given := strings.Join(words, " ")
	if s.hooks.RunProgram == nil {
		c.JS.Throw("Error", "edit works at a prompt only")
	}
	c.JS.Check(s.Sandbox.CheckStartProgram())
	c.JS.Out.Write("Opening an editor...\n")
	editor := s.editor()
	if len(editor) == 0 {
		c.JS.Throw("Error", "Command failed with an error: please define an external editor: config.set(\"editor\", "+
			"\"...\"), or $VISUAL or $EDITOR")
	}
	text, assigned := s.lastEdited, ""
	switch {
	case dottedName.MatchString(given):
		text, assigned = s.sourceOf(c, given), given+" = "
	case given != "":
		text = given
	}
	text, err := s.runEditor(editor, text)
	if err != nil {
		c.JS.Throw("Error", "Command failed with an error: %s", err)
	}
	s.lastEdited = text
	s.suggestion = assigned + text
	return nil
}

// editor returns the editor and its arguments.
func (s *Console) editor() []string {
	if program := s.Editor(); program != "" {
		return strings.Fields(program)
	}
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if s.hooks.Getenv == nil {
			break
		}
		if text, _ := s.hooks.Getenv(name); text != "" {
			return strings.Fields(text)
		}
	}
	return nil
}

// sourceOf returns the text that represents a value: the source of a function, or the printed form of
// another value. It returns an empty string for an unknown name.
func (s *Console) sourceOf(c *script.Call, name string) string {
	v := s.ValueOf(name)
	if v == nil || goja.IsUndefined(v) {
		return ""
	}
	if _, isFunction := goja.AssertFunction(v); !isFunction {
		return c.JS.Values.PrintjsonText(v)
	}
	source := v.String()
	if strings.HasSuffix(source, "{ [native code] }") {
		c.JS.Throw("Error", "%s is part of the shell: there is no source to edit", name)
	}
	return source
}

func (s *Console) runEditor(editor []string, text string) (string, error) {
	dir, err := os.MkdirTemp("", "shardsh-edit-") // mode 0700
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "edit.js")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", err
	}
	cmd := exec.Command(editor[0], append(editor[1:], path)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := s.hooks.RunProgram(cmd); err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			return "", errors.New(editor[0] + " ended with " + exit.Error())
		}
		return "", err
	}
	back, err := os.ReadFile(path)
	return strings.TrimRight(string(back), "\n"), err
}
