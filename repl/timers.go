package repl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"
)

// Timers run the pending timers of earlier inputs while the next line is read.
type Timers interface {
	// NextTimer returns the time until the next timer is due; ok is false if there is none.
	NextTimer() (wait time.Duration, ok bool)
	// RunTimers runs the timers that are due. The end of ctx interrupts them.
	RunTimers(ctx context.Context) error
}

// maxDeferredBytes is the maximum size of deferred output in bytes.
const maxDeferredBytes = 1 << 20

// DeferredOutput buffers the output of timers while a line is being edited. The zero value is ready to
// use.
type DeferredOutput struct {
	mu            sync.Mutex
	holding       bool
	pieces        []piece
	heldBytes     int
	droppedBytes  int
	droppedWriter io.Writer // destination of the dropped output
}

type piece struct {
	to   io.Writer
	text []byte
}

// Writer returns a writer to w whose output may be deferred.
func (d *DeferredOutput) Writer(w io.Writer) io.Writer { return screenWriter{d, w} }

type screenWriter struct {
	output *DeferredOutput
	to     io.Writer
}

func (w screenWriter) Write(p []byte) (int, error) {
	s := w.output
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.holding {
		return w.to.Write(p)
	}
	if s.heldBytes+len(p) > maxDeferredBytes {
		s.droppedBytes, s.droppedWriter = s.droppedBytes+len(p), w.to
		return len(p), nil
	}
	s.heldBytes += len(p)
	s.pieces = append(s.pieces, piece{w.to, bytes.Clone(p)})
	return len(p), nil
}

func (d *DeferredOutput) hold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.holding = true
}

func (d *DeferredOutput) isEmpty() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.pieces) == 0 && d.droppedBytes == 0
}

// flush writes the deferred output, followed by a newline if necessary.
func (d *DeferredOutput) flush() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, p := range d.pieces {
		if i == len(d.pieces)-1 && !bytes.HasSuffix(p.text, []byte("\n")) {
			p.text = append(p.text, '\n')
		}
		_, _ = p.to.Write(p.text)
	}
	if d.droppedBytes > 0 {
		fmt.Fprintf(d.droppedWriter, "(%d more bytes were printed by timers and left out)\n", d.droppedBytes)
	}
	d.holding, d.pieces, d.heldBytes, d.droppedBytes, d.droppedWriter = false, nil, 0, 0, nil
}

// nextTimer returns a channel that fires when a timer is due; nil never fires.
func (l *loop[R]) nextTimer() (due <-chan time.Time, stop func()) {
	if l.Timers == nil {
		return nil, func() {}
	}
	l.shellMu.Lock()
	wait, ok := l.Timers.NextTimer()
	l.shellMu.Unlock()
	if !ok {
		return nil, func() {}
	}
	t := time.NewTimer(wait)
	return t.C, func() { t.Stop() }
}

// runTimers runs due timers while a line is read. Ctrl-C stops them with errStopped, and drops the
// line. read is the line, if it arrived meanwhile.
func (l *loop[R]) runTimers(ctx context.Context) (read *answer, err error) {
	running, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	l.DeferredOutput.hold()
	done := make(chan error, 1)
	go func() {
		l.shellMu.Lock()
		defer l.shellMu.Unlock()
		done <- l.Timers.RunTimers(running)
	}()
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			fmt.Fprintln(l.Out, stoppingNotice)
			cancel(errStopped)
		}
	}
	reading := l.pendingLine
	for {
		select {
		case err := <-done:
			if l.exiting, l.code = l.leaves(err); l.exiting {
				l.DeferredOutput.flush()
				return read, nil
			}
			if stopped {
				return read, errStopped
			}
			if ctx.Err() != nil {
				return read, context.Cause(ctx)
			}
			return read, nil
		case a := <-reading:
			read, reading = &a, nil
			if errors.Is(a.err, ErrInterrupted) || errors.Is(a.err, ErrDropped) {
				stop()
			}
		case <-l.Interrupts:
			stop()
		}
	}
}

func (l *loop[R]) leaves(err error) (bool, int) {
	code, leaves := l.ExitCode(err)
	return leaves, code
}

// promptPrinter is implemented by editors that can print above a prompt after which nothing has been
// typed, and show the prompt again. PrintAbove reports whether it did so.
type promptPrinter interface {
	PrintAbove(print func()) bool
}

// flushDeferred prints the output of timers if it does not disturb the editing; otherwise the output
// waits for the end of the line.
func (l *loop[R]) flushDeferred() {
	if l.DeferredOutput.isEmpty() {
		return
	}
	if editor, ok := l.Editor.(promptPrinter); ok {
		editor.PrintAbove(l.DeferredOutput.flush)
	}
}
