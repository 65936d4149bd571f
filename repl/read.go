package repl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// answer is what a line editor has read.
type answer struct {
	line string
	err  error
}

// errLeft is the error of ReadLine when a timer ended the session.
var errLeft = errors.New("left by a timer")

// readLine returns the editor's ReadLine, but some things do not wait for it:
// timers, the end of ctx, so that a process that is told to end leaves the
// terminal in order, and an interrupt signal. The signal comes instead of the
// key while the editor is not in charge of the terminal: a moment after the
// prompt is shown, and always when it cannot edit.
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
	for {
		line, waits, err := l.await(ctx)
		if !waits {
			l.DeferredOutput.flush()
			return line, err
		}
	}
}

// await waits for the line, or runs what is due before it comes: waits tells
// that it has not come yet.
func (l *loop[R]) await(ctx context.Context) (line string, waits bool, err error) {
	due, stop := l.nextTimer()
	defer stop()
	select {
	case a := <-l.reading:
		l.reading = nil
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
		l.reading = nil
	}
	switch {
	case l.exiting:
		return "", false, errLeft
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

// complete completes a line with the lines before it in mind.
func (l *loop[R]) complete(line string) (head string, completions []string) {
	if !l.shellMu.TryLock() { // a timer runs
		return "", nil
	}
	defer l.shellMu.Unlock()
	above := strings.Join(append(slices.Clone(l.pending), ""), "\n")
	head, completions = l.shell.Complete(above + line)
	return strings.TrimPrefix(head, above), completions
}
