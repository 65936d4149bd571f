package terminal

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"shardsh/repl"
)

// plainEditor is a LineEditor without editing.
type plainEditor struct {
	in  *bufio.Reader
	out io.Writer
}

// NewPlain reads lines as they come, for a loop whose ends are not both
// terminals (--interactive over a pipe, or output piped to a file). Prompts go
// to out; there is no completion and no going back.
func NewPlain(in io.Reader, out io.Writer) repl.LineEditor {
	return &plainEditor{in: bufio.NewReader(in), out: out}
}

func (e *plainEditor) ReadLine(prompt string) (string, error) {
	if _, err := fmt.Fprint(e.out, prompt); err != nil {
		return "", err
	}
	line, err := e.in.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil // the last line need not end
	}
	return strings.TrimRight(line, "\r\n"), err
}

func (*plainEditor) Remember(string)                       {}
func (*plainEditor) Suggest(string)                        {}
func (*plainEditor) Lend(run func() error) error           { return run() }
func (*plainEditor) OnTab(func(string) (string, []string)) {}
func (*plainEditor) Close() error                          { return nil }
