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
	// exitHintTimeout is how soon a second Ctrl-C must follow the hint to leave. A line
	// editor need not know whether there was text on the line, and dropping a
	// line typed after the hint must not end the session.
	exitHintTimeout = 2 * time.Second
	// interruptedCode is the exit code when a command would not stop.
	interruptedCode = 130
)

// Config is what the loop works with besides the shell. Editor and Out must be
// set.
type Config struct {
	Editor LineEditor
	// Out takes results, errors and hints.
	Out io.Writer
	// History keeps inputs between sessions; nil keeps none.
	History *history.File
	// Banner is printed first, unless empty.
	Banner string
	// Color allows escape sequences in what the loop itself prints.
	Color bool
	// Exit recognises an error of Eval that asks to leave, and with which code.
	// nil recognises none.
	Exit func(error) (code int, ok bool)
	// Explain takes an error of Eval or Render apart for printing; nil uses its
	// text.
	Explain func(error) Failure
	// Interrupts delivers Ctrl-C while a command runs and wherever else the
	// line editor does not get it; nil listens to the process's own interrupt
	// signal for as long as the loop runs.
	Interrupts <-chan os.Signal
	// MoreInterrupts makes the context of a command one in which further Ctrl-C can be
	// heard of, which call again; nil does not. Once nothing listens, the third one leaves.
	MoreInterrupts func(ctx context.Context) (heard context.Context, again func() (taken bool))
	// Page shows a result that the screen is too small for, and reports whether it
	// did; nil never does.
	Page func(ctx context.Context, text string) bool
	// Suggestion gives a text to put into the next line, once; nil has none.
	Suggestion func() string
	// MidLine reports whether a running command left its output within a line;
	// nil is never.
	MidLine func() bool
	// Timers are run while a line is read; nil has none. What they print comes
	// through DeferredOutput.
	Timers         Timers
	DeferredOutput *DeferredOutput
	// Now tells the time between two presses of Ctrl-C; nil is the wall clock.
	Now func() time.Time
}

// Run reads and evaluates until the user leaves, and returns the exit code
// asked for: 0 unless an input asked for another. The error is the line
// editor's when it fails, or the cause of ctx's end. Run closes the editor.
//
// While Run runs the interrupt signal is its own: ctx must not end by it.
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

	reading <-chan answer // of the line editor, when it has not come yet
	shellMu sync.Mutex    // for the calls of shell that may come while reading

	pending    []string  // lines of an input that is not complete
	exitHintAt time.Time // when the exit hint was shown, if Ctrl-C came last
	exiting    bool
	code       int
}

// step reads one line and does what it asks for.
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
	case errors.Is(err, errLeft):
		fmt.Fprintln(l.Out)
		return nil
	case errors.Is(err, ErrDropped), errors.Is(err, ErrInterrupted) && len(l.pending) > 0:
		// There was something to drop, which says nothing about leaving.
		l.pending, l.exitHintAt = nil, time.Time{}
		return nil
	case errors.Is(err, ErrInterrupted):
		l.interrupted()
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

// interrupted is Ctrl-C on an empty line.
func (l *loop[R]) interrupted() {
	now := l.Now()
	if !l.exitHintAt.IsZero() && now.Sub(l.exitHintAt) <= exitHintTimeout {
		l.exiting = true
		return
	}
	l.exitHintAt = now
	fmt.Fprintln(l.Out, exitHint)
}

// evaluate runs one whole input and prints what comes of it.
func (l *loop[R]) evaluate(ctx context.Context, source string) {
	l.remember(source)
	text, err := l.interruptibly(ctx, func(ctx context.Context) (string, error) {
		result, err := l.shell.Eval(ctx, InputName, source)
		if err != nil {
			return "", err
		}
		return l.shell.Render(ctx, result)
	})
	switch code, leaves := l.exitCode(err); {
	case leaves:
		l.exiting, l.code = true, code
	case errors.Is(err, errAbandoned):
		l.exiting, l.code = true, interruptedCode
	case errors.Is(err, errStopped), ctx.Err() != nil:
		// It has been said, or the whole process is about to end.
	case err != nil:
		fmt.Fprintln(l.Out, l.explain(err).format(l.Color))
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

func (l *loop[R]) exitCode(err error) (code int, leaves bool) {
	if err == nil || l.Exit == nil {
		return 0, false
	}
	return l.Exit(err)
}

func (l *loop[R]) explain(err error) Failure {
	if l.Explain == nil {
		return Failure{Message: err.Error()}
	}
	return l.Explain(err)
}

// remember keeps an input for the keys that go back and for later sessions,
// unless it may hold a password.
func (l *loop[R]) remember(input string) {
	if !l.History.CanKeep(input) {
		return
	}
	l.Editor.Remember(input)
	if err := l.History.Add(input); err != nil {
		fmt.Fprintf(l.Out, "Warning: the history is not saved: %v\n", err)
	}
}
