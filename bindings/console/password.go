package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/dop251/goja"
	"golang.org/x/term"

	"shardsh/bindings/script"
)

// Keys of a terminal in raw mode.
const (
	keyInterrupt = 3
	keyCtrlD     = 4
	keyBackspace = 8
	keyKillLine  = 21
	keyDelete    = 127
)

var errNoPassword = errors.New("no password was given: the input has ended")

// passwordPrompt asks for a password (rules/04-command-line-and-prompt §2.12). The password is never
// part of an input, so the history does not contain it.
func (s *Console) passwordPrompt(c *script.Call) goja.Value {
	c.JS.Out.Write("Enter password\n")
	text, err := s.readPassword()
	if c.JS.Context().Err() != nil {
		c.JS.Abort(context.Cause(c.JS.Context()))
	}
	if err != nil {
		c.JS.Throw("Error", "%s", err)
	}
	return c.JS.Runtime.ToValue(text)
}

func (s *Console) readPassword() (string, error) {
	in := s.JS.Stdin()
	if f, ok := in.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return s.readHidden(f)
	}
	if s.hooks.ReadLine != nil {
		line, err := s.hooks.ReadLine()
		if err != nil {
			return "", errNoPassword
		}
		return line, nil
	}
	return readPlainLine(in)
}

// readPlainLine reads exactly one line from in and leaves the rest of the input unread.
func readPlainLine(in io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := in.Read(b)
		switch {
		case n == 1 && b[0] == '\n':
			return strings.TrimSuffix(string(line), "\r"), nil
		case n == 1:
			line = append(line, b[0])
		case errors.Is(err, io.EOF) && len(line) > 0:
			return string(line), nil
		case errors.Is(err, io.EOF):
			return "", errNoPassword
		case err != nil:
			return "", err
		}
	}
}

// readHidden reads keys from a terminal and shows a star for each. Reading stops when the script's
// context ends; keys read after that are dropped.
func (s *Console) readHidden(terminal *os.File) (string, error) {
	before, err := term.MakeRaw(int(terminal.Fd()))
	if err != nil {
		return "", err
	}
	giveBack := sync.OnceFunc(func() {
		_ = term.Restore(int(terminal.Fd()), before)
		fmt.Fprintln(s.Stdout)
	})
	defer giveBack()
	type outcome struct {
		text string
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		text, err := readHiddenLine(terminal, s.Stdout)
		done <- outcome{text, err}
	}()
	select {
	case o := <-done:
		giveBack()
		if errors.Is(o.err, errInterruptKey) {
			return "", s.raiseInterrupt()
		}
		return o.text, o.err
	case <-s.JS.Context().Done():
		return "", s.JS.Context().Err()
	}
}

var errInterruptKey = errors.New("ctrl-c")

// raiseInterrupt raises the interrupt of Ctrl-C, because a terminal in raw mode sends no signal, and
// waits until the script's context ends.
func (s *Console) raiseInterrupt() error {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Signal(os.Interrupt)
	}
	if err != nil {
		return errNoPassword
	}
	<-s.JS.Context().Done()
	return s.JS.Context().Err()
}

// readHiddenLine reads keys until Enter.
func readHiddenLine(keys io.Reader, echo io.Writer) (string, error) {
	var line []byte
	rub := func(n int) { fmt.Fprint(echo, strings.Repeat("\b \b", n)) }
	for b := make([]byte, 1); ; {
		if _, err := io.ReadFull(keys, b); err != nil {
			return "", errNoPassword
		}
		switch key := b[0]; {
		case key == '\r' || key == '\n':
			return string(line), nil
		case key == keyInterrupt:
			return "", errInterruptKey
		case key == keyCtrlD && len(line) == 0:
			return "", errNoPassword
		case key == keyKillLine:
			rub(utf8.RuneCount(line))
			line = nil
		case key == keyBackspace || key == keyDelete:
			if len(line) > 0 {
				_, size := utf8.DecodeLastRune(line)
				line = line[:len(line)-size]
				rub(1)
			}
		case key < ' ':
		default:
			line = append(line, key)
			if utf8.RuneStart(key) {
				fmt.Fprint(echo, "*")
			}
		}
	}
}
