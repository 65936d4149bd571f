package repl

import (
	"context"
	"fmt"
	"slices"
	"strings"
)

// answer is what a line editor has read.
type answer struct {
	line string
	err  error
}

// readLine is the editor's ReadLine, but two things do not wait for it: the
// end of ctx, so that a process that is told to end leaves the terminal in
// order, and an interrupt signal. The signal comes instead of the key while
// the editor is not in charge of the terminal: a moment after the prompt is
// shown, and always when it cannot edit.
func (l *loop[R]) readLine(ctx context.Context, prompt string) (string, error) {
	if l.reading == nil {
		answers := make(chan answer, 1)
		go func() {
			line, err := l.Editor.ReadLine(prompt)
			answers <- answer{line, err}
		}()
		l.reading = answers
	} else {
		// The editor still reads, and knows nothing of the signal that made us
		// ask again.
		fmt.Fprint(l.Out, prompt)
	}
	select {
	case a := <-l.reading:
		l.reading = nil
		return a.line, a.err
	case <-l.Interrupts:
		fmt.Fprintln(l.Out)
		return "", ErrInterrupted
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

func (l *loop[R]) prompt() string {
	l.asking.Lock()
	defer l.asking.Unlock()
	return l.shell.Prompt()
}

// complete completes a line with the lines before it in mind.
func (l *loop[R]) complete(line string) (head string, completions []string) {
	l.asking.Lock()
	defer l.asking.Unlock()
	above := strings.Join(append(slices.Clone(l.pending), ""), "\n")
	head, completions = l.shell.Complete(above + line)
	return strings.TrimPrefix(head, above), completions
}
