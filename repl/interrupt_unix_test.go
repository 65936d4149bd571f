//go:build unix

package repl_test

import (
	"context"
	"slices"
	"syscall"
	"testing"

	"shardsh/repl"
)

// Ctrl-C in a pager goes to the shell, too, where it may come after the pager has
// ended. It must not count as one at the prompt.
func TestALateCtrlCOfThePager(t *testing.T) {
	page := func(context.Context, string) bool {
		return syscall.Kill(syscall.Getpid(), syscall.SIGINT) == nil
	}
	out := &buffer{}
	editor := &script{steps: append(slices.Repeat([]any{"long"}, 300), ".exit")}
	code, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: out, Page: page})
	if code != 0 || err != nil || out.String() != "" || len(editor.steps) > 0 {
		t.Errorf("%d, %v, output %q, %d steps left", code, err, out, len(editor.steps))
	}
}
