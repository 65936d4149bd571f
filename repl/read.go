package repl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// answer is the result of a line editor.
type answer struct {
	line string
	err  error
}

// errLeftByTimer is the error of ReadLine when a timer ended the session.
var errLeftByTimer = errors.New("left by a timer")

// readLine returns the result of the editor's ReadLine. Meanwhile it runs timers, and returns early at
// the end of ctx, so that a process that is told to end restores the terminal, and on an interrupt
// signal. The signal arrives instead of the key while the editor does not control the terminal: for a
// moment after the prompt is shown, and always if the editor cannot edit.
func (l *loop[R]) readLine(ctx context.Context, prompt string) (string, error) {
	if l.pendingLine == nil {
		answers := make(chan answer, 1)
		go func() {
			line, err := l.Editor.ReadLine(prompt)
			answers <- answer{line, err}
		}()
		l.pendingLine = answers
	} else {
		// The editor is still reading, and does not know about the signal after which the prompt has to
		// be shown again.
		fmt.Fprint(l.Out, prompt)
	}
	for {
		line, waits, err := l.await(ctx)
		if !waits {
			l.DeferredOutput.flush()
			return line, err
		}
	}
}

// await waits for the line, or runs timers that are due before it arrives. waits reports that the line
// has not arrived yet.
func (l *loop[R]) await(ctx context.Context) (line string, waits bool, err error) {
	due, stop := l.nextTimer()
	defer stop()
	select {
	case a := <-l.pendingLine:
		l.pendingLine = nil
		return a.line, false, a.err
	case <-l.Interrupts:
		fmt.Fprintln(l.Out)
		return "", false, ErrInterrupted
	case <-ctx.Done():
		return "", false, context.Cause(ctx)
	case <-due:
	}
	read, err := l.runTimers(ctx)
	if read != nil {
		l.pendingLine = nil
	}
	switch {
	case l.exiting:
		return "", false, errLeftByTimer
	case errors.Is(err, errStopped):
		return "", false, ErrDropped
	case err != nil:
		return "", false, err
	case read != nil:
		return read.line, false, read.err
	}
	l.flushDeferred()
	return "", true, nil
}

func (l *loop[R]) prompt() string {
	l.shellMu.Lock()
	defer l.shellMu.Unlock()
	return l.shell.Prompt()
}

// complete completes a line, taking the lines before it into account.
func (l *loop[R]) complete(line string) (head string, completions []string) {
	if !l.shellMu.TryLock() { // a timer is running
		return "", nil
	}
	defer l.shellMu.Unlock()
	above := strings.Join(append(slices.Clone(l.pending), ""), "\n")
	head, completions = l.shell.Complete(above + line)
	return strings.TrimPrefix(head, above), completions
}
