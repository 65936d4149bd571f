package repl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shardsh/repl"
	"shardsh/repl/terminal"
)

// script is a line editor whose lines and keys are written down beforehand.
type script struct {
	steps      []any // a line, or an error for a key
	prompts    []string
	remembered []string
	suggested  []string
	complete   func(string) (string, []string)
	closed     int
}

const (
	ctrlC = key("ctrl-c")
	ctrlD = key("ctrl-d")
)

type key string

// dropped is what a step gives for Ctrl-C on a line with text.
const dropped = "(dropped)"

func (s *script) ReadLine(prompt string) (string, error) {
	s.prompts = append(s.prompts, prompt)
	if len(s.steps) == 0 {
		return "", io.EOF
	}
	step := s.steps[0]
	s.steps = s.steps[1:]
	switch step := step.(type) {
	case string:
		return step, nil
	case error:
		return "", step
	case func() string:
		if line := step(); line != dropped {
			return line, nil
		}
		return "", repl.ErrDropped
	case key:
		if step == ctrlC {
			return "", repl.ErrInterrupted
		}
	}
	return "", io.EOF
}

func (s *script) Remember(input string)                          { s.remembered = append(s.remembered, input) }
func (s *script) OnTab(complete func(string) (string, []string)) { s.complete = complete }
func (s *script) Suggest(text string)                            { s.suggested = append(s.suggested, text) }
func (s *script) LendTerminal(run func() error) error            { return run() }
func (s *script) Close() error                                   { s.closed++; return nil }

// fake is a shell that knows a few words and for which a line is complete when
// its braces are.
type fake struct {
	evaluated []string
	eval      map[string]func(context.Context) (string, error)
}

type exitError struct{ code int }

func (e exitError) Error() string { return fmt.Sprint("exit ", e.code) }

func (f *fake) Eval(ctx context.Context, name, source string) (string, error) {
	if name != repl.InputName {
		return "", fmt.Errorf("input is named %q", name)
	}
	f.evaluated = append(f.evaluated, source)
	if g := f.eval[source]; g != nil {
		return g(ctx)
	}
	switch source {
	case "quit(3)":
		return "", fmt.Errorf("wrapped: %w", exitError{3})
	case "fail":
		return "", errors.New("it failed")
	case "undefined":
		return "", nil
	}
	return source, nil
}

func (f *fake) Render(_ context.Context, r string) (string, error) {
	switch r {
	case "":
		return "", nil
	case "broken cursor":
		return "", errors.New("cursor not found")
	}
	return "=> " + r, nil
}

func (f *fake) Complete(line string) (string, []string) {
	if strings.HasSuffix(line, "{\nsh.") {
		return strings.TrimSuffix(line, "sh.") + "sh.", []string{"inner"}
	}
	if line == "sh." {
		return "sh.", []string{"status", "addShard"}
	}
	return "", nil
}

func (f *fake) Incomplete(source string) bool {
	return strings.Count(source, "{") > strings.Count(source, "}")
}

func (f *fake) Prompt() string { return "[mock: mongos] test> " }

// buffer is an output two goroutines may write to.
type buffer struct {
	mu   sync.Mutex
	text strings.Builder
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func exit(err error) (int, bool) {
	e, ok := errors.AsType[exitError](err)
	return e.code, ok
}

const hint = "(To exit, press Ctrl+C again or Ctrl+D or type .exit)\n"

func TestSessions(t *testing.T) {
	for _, tt := range []struct {
		name      string
		steps     []any
		evaluated []string
		output    string
		code      int
	}{
		{"a line is evaluated and its result shown", []any{"1+1", ".exit"}, []string{"1+1"}, "=> 1+1\n", 0},
		{"ctrl-d leaves without a word", []any{ctrlD, "1"}, nil, "", 0},
		{".exit leaves", []any{"  .exit ", "1"}, nil, "", 0},
		{"quit(n) leaves with its code", []any{"quit(3)", "1"}, []string{"quit(3)"}, "", 3},
		{"undefined shows nothing", []any{"undefined", ".exit"}, []string{"undefined"}, "", 0},
		{"an error is shown and the session goes on", []any{"fail", "1", ".exit"}, []string{"fail", "1"},
			"Uncaught it failed\n=> 1\n", 0},
		{"so is one that comes with showing", []any{"broken cursor", ".exit"}, []string{"broken cursor"},
			"Uncaught cursor not found\n", 0},
		{"empty lines are nothing", []any{"", "   ", ".exit"}, nil, "", 0},
		{"lines are joined until they are complete", []any{"f() {", "", "}", ".exit"}, []string{"f() {\n\n}"},
			"=> f() {\n\n}\n", 0},
		{"ctrl-d in an unfinished input too", []any{"f() {", ctrlD}, nil, "", 0},
		{"ctrl-c drops an unfinished input", []any{"f() {", ctrlC, "1", ".exit"}, []string{"1"}, "=> 1\n", 0},
		{"and does not arm leaving, on its third line either", []any{"f() {", "g() {", ctrlC, ctrlC, "1", ".exit"},
			[]string{"1"}, hint + "=> 1\n", 0},
		{"nor is it armed after an unfinished input", []any{ctrlC, "f() {", ctrlC, ctrlC, ".exit"}, nil, hint + hint, 0},
		{".break does too", []any{"f() {", ".break", "1", ".exit"}, []string{"1"}, "=> 1\n", 0},
		{".exit leaves from there too", []any{"f() {", ".exit"}, nil, "", 0},
		{"a method on its own line belongs to the input", []any{"{ find()", ".sort", "}", ".exit"},
			[]string{"{ find()\n.sort\n}"}, "=> { find()\n.sort\n}\n", 0},
		{"ctrl-c twice leaves", []any{ctrlC, ctrlC, "1"}, nil, hint, 0},
		{"ctrl-c twice, a line between them", []any{ctrlC, "1", ctrlC, ".exit"}, []string{"1"}, hint + "=> 1\n" + hint, 0},
		{"a number may begin with a dot", []any{".5", ".exit"}, []string{".5"}, "=> .5\n", 0},
		{"an unknown dot word is explained", []any{".quit", ".exit"}, nil,
			"Unknown command .quit; .help lists the commands.\n", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shell, editor, out := &fake{}, &script{steps: tt.steps}, &buffer{}
			code, err := repl.Run(t.Context(), shell, repl.Config{Editor: editor, Out: out, ExitCode: exit})
			if err != nil {
				t.Fatal(err)
			}
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			if !slices.Equal(shell.evaluated, tt.evaluated) {
				t.Errorf("evaluated %q, want %q", shell.evaluated, tt.evaluated)
			}
			if out.String() != tt.output {
				t.Errorf("output %q, want %q", out.String(), tt.output)
			}
			if editor.closed != 1 {
				t.Errorf("editor closed %d times", editor.closed)
			}
		})
	}
}

func TestHelpOfTheLoopFitsATerminal(t *testing.T) {
	out := &buffer{}
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: &script{steps: []any{".help", ".exit"}},
		Out: out}); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) < 5 {
		t.Errorf("output %q", out.String())
	}
	for _, line := range lines {
		if len(line) > 79 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

func TestPrompts(t *testing.T) {
	editor := &script{steps: []any{"f {", "1", "}", "2", ".editor", "x", ctrlD, ctrlC}}
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	first := "[mock: mongos] test> "
	want := []string{first, "... ", "... ", first, first, "", "", first, first}
	if !slices.Equal(editor.prompts, want) {
		t.Errorf("prompts %q, want %q", editor.prompts, want)
	}
}

func TestSecondCtrlCMustComeSoon(t *testing.T) {
	now := time.Unix(0, 0)
	later := func(d time.Duration) func() string {
		return func() string { now = now.Add(d); return "" }
	}
	for name, tt := range map[string]struct {
		steps []any
		hints int
	}{
		"soon":                     {[]any{ctrlC, ctrlC, ".exit"}, 1},
		"a line of blanks between": {[]any{ctrlC, later(0), ctrlC, ".exit"}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			out := &buffer{}
			if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: &script{steps: tt.steps}, Out: out,
				Now: func() time.Time {
					return now
				}}); err != nil {
				t.Fatal(err)
			}
			if n := strings.Count(out.String(), hint); n != tt.hints {
				t.Errorf("%d hints, want %d", n, tt.hints)
			}
		})
	}

	// Three seconds after the hint there may be text on the line that is being
	// dropped.
	ticks := []time.Time{now, now.Add(3 * time.Second), now.Add(4 * time.Second)}
	editor, out := &script{steps: []any{ctrlC, ctrlC, ctrlC, "1"}}, &buffer{}
	tick := func() time.Time { t := ticks[0]; ticks = ticks[1:]; return t }
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: out, Now: tick}); err != nil {
		t.Fatal(err)
	}
	if out.String() != hint+hint || len(editor.steps) != 1 {
		t.Errorf("output %q, %d steps left", out.String(), len(editor.steps))
	}
}

func TestEditorMode(t *testing.T) {
	const entering = "// Entering editor mode (Ctrl+D on an empty line to finish, Ctrl+C to cancel)\n"
	for _, tt := range []struct {
		name      string
		steps     []any
		evaluated []string
		output    string
	}{
		{"ctrl-d ends it", []any{".editor", "a", ".exit", "", "b", ctrlD, ".exit"}, []string{"a\n.exit\n\nb"},
			entering + "=> a\n.exit\n\nb\n"},
		{"an input is whole, complete or not", []any{".editor", "{", ctrlD, ".exit"}, []string{"{"}, entering + "=> {\n"},
		{"ctrl-c abandons it", []any{".editor", "a", ctrlC, "1", ".exit"}, []string{"1"}, entering + "=> 1\n"},
		{"nothing written", []any{".editor", ctrlD, ".exit"}, nil, entering},
	} {
		t.Run(tt.name, func(t *testing.T) {
			shell, out := &fake{}, &buffer{}
			if _, err := repl.Run(t.Context(), shell, repl.Config{Editor: &script{steps: tt.steps}, Out: out}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(shell.evaluated, tt.evaluated) || out.String() != tt.output {
				t.Errorf("evaluated %q, output %q", shell.evaluated, out.String())
			}
		})
	}
}

func TestCompletionIsTheShells(t *testing.T) {
	editor := &script{}
	within := func() string {
		if head, names := editor.complete("sh."); head != "sh." || !slices.Equal(names, []string{"inner"}) {
			t.Errorf("within an input: %q %q", head, names)
		}
		return "}"
	}
	editor.steps = []any{"f {", within}
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: io.Discard}); err != nil {
		t.Fatal(err)
	}
	if head, names := editor.complete("sh."); head != "sh." || len(names) != 2 {
		t.Errorf("%q %q", head, names)
	}
}

// stuck is a terminal at which nobody types.
type stuck struct {
	script
	released chan struct{}
}

func (s *stuck) ReadLine(string) (string, error) { <-s.released; return "", io.EOF }
func (s *stuck) Close() error                    { close(s.released); return nil }

func TestEndOfTheProcessEndsAPrompt(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	terminated := errors.New("terminated")
	cancel(terminated)
	_, err := repl.Run(ctx, &fake{}, repl.Config{Editor: &stuck{released: make(chan struct{})}, Out: io.Discard})
	if !errors.Is(err, terminated) {
		t.Errorf("error %v", err)
	}
}

func TestEndOfTheProcessEndsACommand(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	terminated := errors.New("terminated")
	out := &buffer{}
	shell := &fake{eval: map[string]func(context.Context) (string, error){
		"run": func(ctx context.Context) (string, error) {
			cancel(terminated)
			<-ctx.Done()
			return "", ctx.Err()
		},
	}}
	_, err := repl.Run(ctx, shell, repl.Config{Editor: &script{steps: []any{"run", "1"}}, Out: out})
	if !errors.Is(err, terminated) || out.String() != "" {
		t.Errorf("error %v, output %q", err, out.String())
	}
}

func TestBrokenEditor(t *testing.T) {
	broken := errors.New("no terminal")
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: &script{steps: []any{broken}},
		Out: io.Discard}); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
}

func TestPlainEditor(t *testing.T) {
	in := strings.NewReader("1+1\r\nf() {\n}\nlast")
	out := &buffer{}
	code, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: terminal.NewPlain(in, out), Out: out, Banner: "hello"})
	want := "hello\n[mock: mongos] test> => 1+1\n[mock: mongos] test> ... => f() {\n}\n[mock: mongos] test> => " +
		"last\n[mock: mongos] test> "
	if err != nil || code != 0 || out.String() != want {
		t.Errorf("%d, %v, %q", code, err, out.String())
	}
}

// A result that is paged is not printed, and Ctrl-C pressed meanwhile was for the
// pager.
func TestPages(t *testing.T) {
	var paged []string
	interrupts := make(chan os.Signal, 1)
	out := &buffer{}
	page := func(_ context.Context, text string) bool {
		if text != "=> long" {
			return false
		}
		paged = append(paged, text)
		interrupts <- os.Interrupt
		return true
	}
	editor := &script{steps: []any{"long", "short", ".exit"}}
	code, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: out, Interrupts: interrupts, Page: page})
	if code != 0 || err != nil || len(paged) != 1 || out.String() != "=> short\n" {
		t.Errorf("%d, %v, paged %q, output %q", code, err, paged, out)
	}
}
