package repl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"shardsh/repl"
)

func TestCtrlCWhileACommandRuns(t *testing.T) {
	const stopping = "Stopping execution...\n"
	untilStopped := func(ctx context.Context) (string, error) {
		<-ctx.Done()
		return "", fmt.Errorf("moveChunk: %w", ctx.Err())
	}
	for _, tt := range []struct {
		name string
		// command presses Ctrl-C by press.
		command func(ctx context.Context, press func()) (string, error)
		output  string
		code    int
	}{
		{"it is stopped, and its error is not shown", func(ctx context.Context, press func()) (string, error) {
			press()
			return untilStopped(ctx)
		}, stopping + "=> after\n", 0},
		{"quit() in the same moment counts", func(ctx context.Context, press func()) (string, error) {
			press()
			<-ctx.Done()
			return "", exitError{4}
		}, stopping, 4},
		{"a result in the same moment is shown", func(ctx context.Context, press func()) (string, error) {
			press()
			<-ctx.Done()
			return "done", nil
		}, stopping + "=> done\n=> after\n", 0},
		{"a command that does not stop is left at the third", func(_ context.Context, press func()) (string, error) {
			press()
			press()
			press()
			select {}
		}, stopping + "(Still stopping. To leave without waiting, press Ctrl+C again)\n", 130},
	} {
		t.Run(tt.name, func(t *testing.T) {
			interrupts, out := make(chan os.Signal), &buffer{}
			press := func() { interrupts <- os.Interrupt }
			shell := &fake{eval: map[string]func(context.Context) (string, error){
				"run": func(ctx context.Context) (string, error) { return tt.command(ctx, press) },
			}}
			editor := &script{steps: []any{"run", "after", ".exit"}}
			code, err := repl.Run(t.Context(), shell, repl.Config{Editor: editor, Out: out, ExitCode: exit, Interrupts: interrupts})
			if err != nil || code != tt.code {
				t.Errorf("code %d, error %v", code, err)
			}
			if out.String() != tt.output {
				t.Errorf("output %q, want %q", out.String(), tt.output)
			}
		})
	}
}

// Work that listens to the second and the third Ctrl-C is not left at them.
func TestCtrlCThatIsHeard(t *testing.T) {
	interrupts, out := make(chan os.Signal), &buffer{}
	heard := make(chan int)
	shell := &fake{eval: map[string]func(context.Context) (string, error){
		"run": func(context.Context) (string, error) {
			for n := range 3 {
				interrupts <- os.Interrupt
				if n > 0 && <-heard != n {
					return "", errors.New("another one was heard")
				}
			}
			fmt.Fprintln(out, "left to the cluster")
			return "done", nil
		},
	}}
	more := func(ctx context.Context) (context.Context, func() bool) {
		pressed := 0
		return ctx, func() bool {
			pressed++
			heard <- pressed
			return true
		}
	}
	if _, err := repl.Run(t.Context(), shell, repl.Config{Editor: &script{steps: []any{"run", ".exit"}}, Out: out,
		Interrupts: interrupts, ListenForMoreInterrupts: more}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "left to the cluster\n") {
		t.Errorf("output %q", out.String())
	}
}

func TestCtrlCInTheMidstOfAProgressLine(t *testing.T) {
	interrupts, out := make(chan os.Signal), &buffer{}
	shell := &fake{eval: map[string]func(context.Context) (string, error){
		"wait": func(ctx context.Context) (string, error) {
			fmt.Fprint(out, "3 chunks left")
			interrupts <- os.Interrupt
			<-ctx.Done()
			return "", ctx.Err()
		},
	}}
	midLine := func() bool { return !strings.HasSuffix(out.String(), "\n") }
	editor := &script{steps: []any{"wait", ".exit"}}
	if _, err := repl.Run(t.Context(), shell, repl.Config{Editor: editor, Out: out, Interrupts: interrupts,
		MidLine: midLine}); err != nil {
		t.Fatal(err)
	}
	if want := "3 chunks left\nStopping execution...\n"; out.String() != want {
		t.Errorf("output %q, want %q", out.String(), want)
	}
}

func TestCtrlCBeforeACommandDoesNotStopIt(t *testing.T) {
	interrupts := make(chan os.Signal, 1)
	interrupts <- os.Interrupt
	out := &buffer{}
	if _, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: &script{steps: []any{"1", ".exit"}}, Out: out,
		Interrupts: interrupts}); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(out.String(), "=> 1\n") || strings.Contains(out.String(), "Stopping") {
		t.Errorf("output %q", out.String())
	}
}

// typist is a line editor that is still reading when the signal comes.
type typist struct {
	script
	asked chan struct{}
	lines chan string
}

func (t *typist) ReadLine(string) (string, error) {
	t.asked <- struct{}{}
	line, ok := <-t.lines
	if !ok {
		return "", io.EOF
	}
	return line, nil
}

// An editor that does not edit leaves Ctrl-C to the terminal, which makes a
// signal of it and drops what was typed. The prompt is not the editor's then.
func TestCtrlCAsASignalAtThePrompt(t *testing.T) {
	const prompt = "[mock: mongos] test> "
	for _, tt := range []struct {
		name   string
		typed  []any // lines, and ctrlC for the signal
		output string
	}{
		{"twice leaves", []any{ctrlC, ctrlC}, "\n" + hint + prompt + "\n"},
		{"a line after it counts", []any{ctrlC, "1"}, "\n" + hint + prompt + "=> 1\n"},
		{"an unfinished input is dropped", []any{"f {", ctrlC, "1"}, "\n" + prompt + "=> 1\n"},
		{"editor mode is left", []any{".editor", "x", ctrlC, "1"},
			"// Entering editor mode (Ctrl+D on an empty line to finish, Ctrl+C to cancel)\n\n" + prompt + "=> 1\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			interrupts, out := make(chan os.Signal), &buffer{}
			editor := &typist{asked: make(chan struct{}, 1), lines: make(chan string)}
			typing := make(chan struct{})
			go func() {
				defer close(typing)
				defer close(editor.lines)
				<-editor.asked
				for _, step := range tt.typed {
					if line, ok := step.(string); ok {
						editor.lines <- line
						<-editor.asked // so it has been taken
						continue
					}
					interrupts <- os.Interrupt
				}
			}()
			_, err := repl.Run(t.Context(), &fake{}, repl.Config{Editor: editor, Out: out, Interrupts: interrupts})
			<-typing
			if err != nil || out.String() != tt.output {
				t.Errorf("%v\n%q, want\n%q", err, out.String(), tt.output)
			}
		})
	}
}

func TestTheInterruptSignalOfTheProcess(t *testing.T) {
	self, err := os.FindProcess(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	out := &buffer{}
	shell := &fake{eval: map[string]func(context.Context) (string, error){
		"run": func(ctx context.Context) (string, error) {
			if err := self.Signal(os.Interrupt); err != nil {
				return "", err
			}
			<-ctx.Done()
			return "", ctx.Err()
		},
	}}
	if _, err := repl.Run(t.Context(), shell, repl.Config{Editor: &script{steps: []any{"run"}}, Out: out}); err != nil {
		t.Fatal(err)
	}
	if out.String() != "Stopping execution...\n" {
		t.Errorf("output %q", out.String())
	}
}
