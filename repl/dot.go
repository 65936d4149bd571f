package repl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
)

// dotWord matches a line that is a command for the loop itself. No JavaScript input begins like that.
var dotWord = regexp.MustCompile(`^\s*\.([a-z]+)\s*$`)

const (
	editorHint = "// Entering editor mode (Ctrl+D on an empty line to finish, Ctrl+C to cancel)"

	dotHelp = `.break    drop an incomplete input
.editor   enter several lines
.exit     leave the shell
.help     show this list

Ctrl+C drops the line or stops the command, Ctrl+D on an empty line leaves.
For commands and helpers type help.`
)

// dotCommand returns the command of a line such as .exit. Inside of a multi-line input, such a line
// belongs to the input (it may be a method call), except the words that leave the input.
func (l *loop[R]) dotCommand(line string) (func(context.Context) error, bool) {
	m := dotWord.FindStringSubmatch(line)
	if m == nil {
		return nil, false
	}
	first := len(l.pending) == 0
	switch word := m[1]; {
	case word == "exit":
		return l.exit, true
	case word == "break":
		return l.dropPending, true
	case !first:
		return nil, false
	case word == "editor":
		return l.editorMode, true
	case word == "help":
		return l.printText(dotHelp), true
	default:
		return l.printText(fmt.Sprintf("Unknown command .%s; .help lists the commands.", word)), true
	}
}

func (l *loop[R]) exit(context.Context) error {
	l.exiting = true
	return nil
}

func (l *loop[R]) dropPending(context.Context) error {
	l.pending = nil
	return nil
}

func (l *loop[R]) printText(text string) func(context.Context) error {
	return func(context.Context) error {
		_, err := fmt.Fprintln(l.Out, text)
		return err
	}
}

// editorMode reads lines until Ctrl-D and evaluates them as one input.
func (l *loop[R]) editorMode(ctx context.Context) error {
	fmt.Fprintln(l.Out, editorHint)
	var lines []string
	for {
		line, err := l.readLine(ctx, "")
		switch {
		case errors.Is(err, ErrInterrupted), errors.Is(err, ErrDropped):
			return nil
		case errors.Is(err, errLeftByTimer):
			fmt.Fprintln(l.Out)
			return nil
		case errors.Is(err, io.EOF):
			if source := strings.Join(lines, "\n"); strings.TrimSpace(source) != "" {
				l.evaluate(ctx, source)
			}
			return context.Cause(ctx)
		case err != nil:
			return err
		}
		lines = append(lines, line)
	}
}
