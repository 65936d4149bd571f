package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// A question is not written into a redirected result.
func TestQuestionsAreNotInTheResult(t *testing.T) {
	var out, errs bytes.Buffer
	env := environment{streams: streams{stdin: strings.NewReader("y\n"), stdout: &out, stderr: &errs}}
	if err := confirm(t.Context(), env, "Go on?"); err != nil || out.Len() > 0 || errs.String() != "Go on? [y/N] " {
		t.Errorf("%v, output %q, errors %q", err, &out, &errs)
	}
}

// A check has a progress line, although it shares its terminal with others.
func TestASharedTerminalIsATerminal(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	defer func() { _ = terminal.Close() }()
	if !isTerminal(terminal) {
		t.Skip("the other end of a pseudo terminal is no terminal here")
	}
	if !isTerminal(&lockedWriter{w: terminal}) {
		t.Error("it is none")
	}
}
