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

// NewPlain returns an editor that reads plain lines, for a loop whose input and output are not both
// terminals (--interactive over a pipe, or output piped to a file). Prompts are written to out; there
// is neither completion nor a history.
func NewPlain(in io.Reader, out io.Writer) repl.LineEditor {
	return &plainEditor{in: bufio.NewReader(in), out: out}
}

func (e *plainEditor) ReadLine(prompt string) (string, error) {
	if _, err := fmt.Fprint(e.out, prompt); err != nil {
		return "", err
	}
	line, err := e.in.ReadString('\n')
	if errors.Is(err, io.EOF) && line != "" {
		err = nil // the last line may lack a newline
	}
	return strings.TrimRight(line, "\r\n"), err
}

func (*plainEditor) Remember(string)                       {}
func (*plainEditor) Suggest(string)                        {}
func (*plainEditor) LendTerminal(run func() error) error   { return run() }
func (*plainEditor) OnTab(func(string) (string, []string)) {}
func (*plainEditor) Close() error                          { return nil }
