//go:build linux

// Package ptytest runs a program on its own pseudoterminal, for tests: a test types keys, and the
// output of the program is interpreted as a screen.
package ptytest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// waitTimeout is how long a test waits for expected output. The time is used up only when the test
// fails, and is sufficient for a busy machine.
const waitTimeout = 90 * time.Second

// Terminal is a running program and its terminal.
type Terminal struct {
	t           testing.TB
	keyboard    *os.File
	printed     chan string
	unread      string // output that was not expected yet
	screen      *Screen
	waitForExit func() error
}

// Start runs a program on a terminal of 24 rows and 80 columns. It sets the three streams of cmd. The
// program is killed at the end of the test.
func Start(t testing.TB, cmd *exec.Cmd) *Terminal {
	t.Helper()
	return StartSized(t, cmd, Rows, Columns)
}

// StartSized works like Start, with a terminal of another size.
func StartSized(t testing.TB, cmd *exec.Cmd, rows, columns int) *Terminal {
	t.Helper()
	keyboard, terminal := open(t, rows, columns)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	term := &Terminal{t: t, keyboard: keyboard, printed: make(chan string), screen: NewScreen(rows, columns),
		waitForExit: sync.OnceValue(cmd.Wait)}
	go term.read()
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // in case the test failed
		var exited *exec.ExitError
		if err := term.waitForExit(); err != nil && !errors.As(err, &exited) {
			t.Error(err)
		}
		for range term.printed { // until the reader has ended
		}
	})
	return term
}

// Rows and Columns are the default size of a terminal.
const (
	Rows    = 24
	Columns = 80
)

// open opens a pseudoterminal: input written to keyboard arrives at terminal.
func open(t testing.TB, rows, columns int) (keyboard, terminal *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { keyboard.Close() })
	fd := int(keyboard.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	size := unix.Winsize{Row: uint16(rows), Col: uint16(columns)}
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return keyboard, terminal
}

// read reads the output until the program has closed its end.
func (term *Terminal) read() {
	defer close(term.printed)
	for buf := make([]byte, 4096); ; {
		n, err := term.keyboard.Read(buf)
		if n > 0 {
			term.printed <- string(buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// Press types keys.
func (term *Terminal) Press(keys string) {
	term.t.Helper()
	if _, err := term.keyboard.WriteString(keys); err != nil {
		term.t.Fatal(err)
	}
}

// Expect waits until a text is printed after the text that was expected before.
func (term *Terminal) Expect(text string) {
	term.t.Helper()
	term.wait(func() bool {
		_, rest, ok := strings.Cut(term.unread, text)
		if ok {
			term.unread = rest
		}
		return ok
	}, func() string { return fmt.Sprintf("no %q in %q", text, term.unread) })
}

// ExpectScreen waits until Screen.String equals want.
func (term *Terminal) ExpectScreen(want string) {
	term.t.Helper()
	term.unread = ""
	term.wait(func() bool { return term.screen.String() == want }, func() string {
		return fmt.Sprintf("the screen is\n%s\n\nwant\n%s", term.screen, want)
	})
}

// ExpectStyled waits until Screen.Styled equals want.
func (term *Terminal) ExpectStyled(want string) {
	term.t.Helper()
	term.wait(func() bool { return term.screen.Styled() == want }, func() string {
		return fmt.Sprintf("the screen is\n%s\n\nwant\n%s", term.screen.Styled(), want)
	})
}

// ExpectPrompt waits until the terminal shows a prompt for the n-th time, with the cursor after it, and
// returns the other text on the screen.
func (term *Terminal) ExpectPrompt(prompt string, n int) [][]StyledText {
	term.t.Helper()
	term.wait(func() bool {
		screen := "\n" + term.screen.String()
		return strings.Count(screen, "\n"+prompt) == n && strings.HasSuffix(screen, "\n"+prompt+"▮")
	}, func() string { return fmt.Sprintf("the screen is\n%s\n\nwant prompt %d, %q", term.screen, n, prompt) })
	return term.screen.StyledTexts()
}

// ExpectExit waits until the program exits, and checks the exit code.
func (term *Terminal) ExpectExit(code int) {
	term.t.Helper()
	for timeout := time.After(waitTimeout); ; {
		select {
		case more, ok := <-term.printed:
			if ok {
				term.draw(more)
				continue
			}
			var exited *exec.ExitError
			got := 0
			if errors.As(term.waitForExit(), &exited) {
				got = exited.ExitCode()
			}
			if got != code {
				term.t.Fatalf("exit code %d, want %d; the screen is\n%s", got, code, term.screen)
			}
			return
		case <-timeout:
			term.t.Fatalf("still running; the screen is\n%s", term.screen)
		}
	}
}

func (term *Terminal) wait(arrived func() bool, missing func() string) {
	term.t.Helper()
	for timeout := time.After(waitTimeout); !arrived(); {
		select {
		case more, ok := <-term.printed:
			if !ok {
				term.t.Fatalf("the program ended: %s", missing())
			}
			term.draw(more)
		case <-timeout:
			term.t.Fatal(missing())
		}
	}
}

func (term *Terminal) draw(text string) {
	term.unread += text
	term.screen.WriteString(text)
}
