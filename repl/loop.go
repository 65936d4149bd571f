package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"shardsh/repl/history"
)

const (
	continuation = "... "
	exitHint     = "(To exit, press Ctrl+C again or Ctrl+D or type .exit)"
	// exitHintTimeout is how soon a second Ctrl-C must follow the hint to leave. A line editor may not
	// know whether the line contained text, and to drop a line that was typed after the hint must not
	// end the session.
	exitHintTimeout = 2 * time.Second
	// interruptedCode is the exit code after a command that did not stop.
	interruptedCode = 130
)

// Config is the configuration of the loop. Editor and Out must be set.
type Config struct {
	Editor LineEditor
	// Out receives results, errors and hints.
	Out io.Writer
	// History stores inputs between sessions; nil stores none.
	History *history.File
	// Banner is printed first, unless empty.
	Banner string
	// Color allows escape sequences in the loop's own output.
	Color bool
	// ExitCode reports whether an error of Eval is a request to leave, with the exit code. Nil means that
	// no error is.
	ExitCode func(error) (code int, ok bool)
	// Explain converts an error of Eval or Render for printing; nil prints the error's text.
	Explain func(error) Failure
	// Interrupts delivers Ctrl-C while a command runs, and when the line editor does not receive it.
	// Nil uses the interrupt signal of the process while the loop runs.
	Interrupts <-chan os.Signal
	// ListenForMoreInterrupts returns a context for a command that passes on further Ctrl-C, which the loop
	// reports by calling again; nil disables this. If the command does not listen, the third Ctrl-C
	// leaves it.
	ListenForMoreInterrupts func(ctx context.Context) (heard context.Context, again func() (taken bool))
	// Page shows a result that is larger than the screen, and reports whether it did so; nil disables
	// it.
	Page func(ctx context.Context, text string) bool
	// Suggestion returns a text to put into the next line, once; nil for none.
	Suggestion func() string
	// MidLine reports whether the output of a running command ended without a newline; nil means never.
	MidLine func() bool
	// Timers run while a line is read; nil for none. Their output is written through DeferredOutput.
	Timers         Timers
	DeferredOutput *DeferredOutput
	// Now returns the time, to measure the interval between two Ctrl-C; nil is the system's clock.
	Now func() time.Time
}

// Run reads and evaluates inputs until the user leaves, and returns the exit code: 0 unless an input
// requested another one. The error is that of the line editor when it fails, or the cause of ctx. Run
// closes the editor.
//
// Run handles the interrupt signal: it must not end ctx.
func Run[R any](ctx context.Context, shell Shell[R], cfg Config) (code int, err error) {
	defer func() { err = errors.Join(err, cfg.Editor.Close()) }()
	if cfg.Interrupts == nil {
		interrupts := make(chan os.Signal, 1)
		signal.Notify(interrupts, os.Interrupt)
		defer signal.Stop(interrupts)
		cfg.Interrupts = interrupts
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.ExitCode == nil {
		cfg.ExitCode = func(error) (int, bool) { return 0, false }
	}
	if cfg.Explain == nil {
		cfg.Explain = func(err error) Failure { return Failure{Message: err.Error()} }
	}
	if cfg.DeferredOutput == nil {
		cfg.DeferredOutput = new(DeferredOutput)
	}
	l := &loop[R]{Config: cfg, shell: shell}
	cfg.Editor.OnTab(l.complete)
	for _, input := range cfg.History.Entries() {
		cfg.Editor.Remember(input)
	}
	if cfg.Banner != "" {
		fmt.Fprintln(cfg.Out, cfg.Banner)
	}
	for !l.exiting {
		if err := l.step(ctx); err != nil {
			return 0, err
		}
	}
	return l.code, nil
}

type loop[R any] struct {
	Config
	shell Shell[R]

	pendingLine <-chan answer // result of a pending ReadLine; nil if none is pending
	shellMu     sync.Mutex    // for calls of shell that may happen while a line is read

	pending    []string  // lines of an incomplete input
	exitHintAt time.Time // when the exit hint was shown, if the last key was Ctrl-C
	exiting    bool
	code       int
}

// step reads one line and processes it.
func (l *loop[R]) step(ctx context.Context) error {
	prompt := continuation
	if len(l.pending) == 0 {
		prompt = l.prompt()
	}
	if l.Suggestion != nil && len(l.pending) == 0 {
		if text := l.Suggestion(); text != "" {
			l.Editor.Suggest(text)
		}
	}
	line, err := l.readLine(ctx, prompt)
	switch {
	case errors.Is(err, errLeftByTimer):
		fmt.Fprintln(l.Out)
		return nil
	case errors.Is(err, ErrDropped), errors.Is(err, ErrInterrupted) && len(l.pending) > 0:
		// Ctrl-C dropped some text, so it is no request to leave.
		l.pending, l.exitHintAt = nil, time.Time{}
		return nil
	case errors.Is(err, ErrInterrupted):
		l.handleInterrupt()
		return nil
	case errors.Is(err, io.EOF):
		l.exiting = true
		return nil
	case err != nil:
		return err
	}
	l.exitHintAt = time.Time{}
	if command, ok := l.dotCommand(line); ok {
		return command(ctx)
	}
	l.pending = append(l.pending, line)
	source := strings.Join(l.pending, "\n")
	if strings.TrimSpace(source) == "" {
		l.pending = nil
		return nil
	}
	if l.shell.Incomplete(source) {
		return nil
	}
	l.pending = nil
	l.evaluate(ctx, source)
	return context.Cause(ctx)
}

// handleInterrupt handles Ctrl-C on an empty line.
func (l *loop[R]) handleInterrupt() {
	now := l.Now()
	if !l.exitHintAt.IsZero() && now.Sub(l.exitHintAt) <= exitHintTimeout {
		l.exiting = true
		return
	}
	l.exitHintAt = now
	fmt.Fprintln(l.Out, exitHint)
}

// evaluate runs one complete input and prints its result.
func (l *loop[R]) evaluate(ctx context.Context, source string) {
	l.remember(source)
	text, err := l.runInterruptibly(ctx, func(ctx context.Context) (string, error) {
		result, err := l.shell.Eval(ctx, InputName, source)
		if err != nil {
			return "", err
		}
		return l.shell.Render(ctx, result)
	})
	switch code, leaves := l.ExitCode(err); {
	case leaves:
		l.exiting, l.code = true, code
	case errors.Is(err, errAbandoned):
		l.exiting, l.code = true, interruptedCode
	case errors.Is(err, errStopped), ctx.Err() != nil:
		// The error was already printed, or the process is about to end.
	case err != nil:
		fmt.Fprintln(l.Out, l.Explain(err).format(l.Color))
	case text != "":
		l.showResult(ctx, text)
	}
}

// showResult prints a result or pages it; the pager then handles Ctrl-C.
func (l *loop[R]) showResult(ctx context.Context, text string) {
	if l.Page == nil || !l.Page(ctx, text) {
		fmt.Fprintln(l.Out, text)
		return
	}
	awaitSignals()
	l.forgetInterrupts()
}

// remember stores an input for the keys that recall inputs and for later sessions, unless the input may
// contain a password.
func (l *loop[R]) remember(input string) {
	if !l.History.CanKeep(input) {
		return
	}
	l.Editor.Remember(input)
	if err := l.History.Add(input); err != nil {
		fmt.Fprintf(l.Out, "Warning: the history is not saved: %v\n", err)
	}
}
