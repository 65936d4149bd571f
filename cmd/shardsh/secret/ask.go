package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"
)

// ErrInterrupted is the error of a question that Ctrl-C has ended.
var ErrInterrupted = errors.New("interrupted by Ctrl-C")

// Ask reads a line without echo from a terminal. It restores the terminal even when ctx ends first.
func Ask(ctx context.Context, in io.Reader, out io.Writer) (string, error) {
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		before, err := term.MakeRaw(int(f.Fd()))
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(int(f.Fd()), before) }()
	} else {
		out = io.Discard
	}
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() { // ends with the read, at the latest with the process
		text, err := readSecret(in, out)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		return a.text, a.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}

// Keys of a terminal in raw mode.
const (
	keyCtrlC     = 0x03
	keyCtrlD     = 0x04
	keyBackspace = 0x08
	keyCtrlU     = 0x15
	keyDelete    = 0x7f
)

// readSecret reads a line and shows a star for each character. It reads byte by byte, so that it
// consumes nothing after the line. The error is io.EOF when the input ends before the line does, and
// ErrInterrupted for Ctrl-C.
func readSecret(in io.Reader, out io.Writer) (string, error) {
	var typed []byte
	key := make([]byte, 1)
	for {
		if _, err := io.ReadFull(in, key); err != nil {
			if errors.Is(err, io.EOF) && len(typed) > 0 {
				return string(typed), nil
			}
			return "", err
		}
		switch key[0] {
		case '\r', '\n':
			return strings.TrimSuffix(string(typed), "\r"), nil
		case keyCtrlC:
			return "", ErrInterrupted
		case keyCtrlD:
			if len(typed) == 0 {
				return "", io.EOF
			}
		case keyBackspace, keyDelete:
			if _, size := utf8.DecodeLastRune(typed); size > 0 {
				typed = typed[:len(typed)-size]
				fmt.Fprint(out, "\b \b")
			}
		case keyCtrlU:
			fmt.Fprint(out, strings.Repeat("\b \b", utf8.RuneCount(typed)))
			typed = typed[:0]
		default:
			typed = append(typed, key[0])
			if utf8.RuneStart(key[0]) {
				fmt.Fprint(out, "*")
			}
		}
	}
}
