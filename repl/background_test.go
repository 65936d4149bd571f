package repl_test

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"shardsh/repl"
)

// timers is one timer that is due at once.
type timers struct {
	run  func(ctx context.Context) error
	done chan struct{}
}

func (t *timers) NextTimer() (time.Duration, bool) { return 0, t.run != nil }

func (t *timers) RunTimers(ctx context.Context) error {
	run := t.run
	t.run = nil
	defer close(t.done)
	return run(ctx)
}

// quitInEditorMode is a timer that ends the session once the editor mode reads lines.
type quitInEditorMode struct{ out *buffer }

func (q quitInEditorMode) NextTimer() (time.Duration, bool) {
	return 0, strings.Contains(q.out.String(), "editor mode")
}

func (quitInEditorMode) RunTimers(context.Context) error { return exitError{4} }

func TestATimerEndsTheSessionInEditorMode(t *testing.T) {
	out := &buffer{}
	editor := &script{steps: []any{".editor", func() string { select {} }}}
	code, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: out, ExitCode: exit,
		Timers: quitInEditorMode{out}})
	if err != nil || code != 4 {
		t.Errorf("code %d, error %v", code, err)
	}
}

func TestTimersWhileALineIsRead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		timer  func(ctx context.Context, print func(string)) error
		line   any  // typed once the timer has begun
		during bool // the line comes before the timer has ended
		output string
		code   int
	}{
		{"what it prints comes before the result of the line",
			func(_ context.Context, print func(string)) error { print("tick\n"); print("no line end"); return nil },
			"input", false, "tick\nno line end\n=> input\n", 0},
		{"a line that comes meanwhile waits for it",
			func(_ context.Context, print func(string)) error { print("tick\n"); return nil },
			"input", true, "tick\n=> input\n", 0},
		{"Ctrl-C stops it",
			func(ctx context.Context, _ func(string)) error { <-ctx.Done(); return ctx.Err() },
			repl.ErrDropped, true, "Stopping execution...\n", 0},
		{"quit() ends the session",
			func(_ context.Context, print func(string)) error { print("bye\n"); return exitError{4} },
			nil, false, "bye\n\n", 4},
		{"much is cut",
			func(_ context.Context, print func(string)) error {
				print("first\n")
				print(strings.Repeat("x", 2<<20))
				return nil
			},
			"input", false, "first\n(2097152 more bytes were printed by timers and left out)\n=> input\n", 0},
		{"much at once",
			func(_ context.Context, print func(string)) error { print(strings.Repeat("x", 2<<20)); return nil },
			"input", false, "(2097152 more bytes were printed by timers and left out)\n=> input\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var screen repl.DeferredOutput
			out := &buffer{}
			shown := screen.Writer(out)
			began := make(chan struct{})
			ts := &timers{done: make(chan struct{})}
			print := func(text string) {
				if _, err := io.WriteString(shown, text); err != nil {
					t.Error(err)
				}
				if out.String() != "" {
					t.Errorf("the line being edited is disturbed by %q", out.String())
				}
			}
			typed := make(chan struct{})
			ts.run = func(ctx context.Context) error {
				close(began)
				if tt.during {
					<-typed
				}
				return tt.timer(ctx, print)
			}
			editor := &script{steps: []any{func() string {
				<-began
				if !tt.during {
					<-ts.done
				}
				close(typed)
				switch line := tt.line.(type) {
				case string:
					return line
				case nil:
					select {} // the session ends in the midst of it
				}
				return dropped
			}}}
			code, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: out, ExitCode: exit, Timers: ts,
				DeferredOutput: &screen})
			if err != nil || code != tt.code {
				t.Errorf("code %d, error %v", code, err)
			}
			if out.String() != tt.output {
				t.Errorf("output %q, want %q", out.String(), tt.output)
			}
		})
	}
}
