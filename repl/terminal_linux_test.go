package repl_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shardsh/repl"
)

const onTerminal = "SHARDSH_TEST_ON_TERMINAL"

// TestMain plays the shell when the test below has started this binary on a
// terminal of its own.
func TestMain(m *testing.M) {
	if os.Getenv(onTerminal) == "" {
		os.Exit(m.Run())
	}
	shell := &fake{eval: map[string]func(context.Context) (string, error){
		"sleep": func(ctx context.Context) (string, error) {
			fmt.Println("asleep")
			<-ctx.Done()
			return "", ctx.Err()
		},
	}}
	shell.eval["ask"] = func(context.Context) (string, error) {
		line := make([]byte, len("secret"))
		if _, err := io.ReadFull(os.Stdin, line); err != nil {
			return "", err
		}
		return string(line), nil
	}
	history, err := repl.OpenHistory(os.Getenv("SHARDSH_HISTORY"), nil)
	if err != nil {
		panic(err)
	}
	code, err := repl.Run(context.Background(), shell, repl.Config{
		Editor: repl.NewTerminal(), Out: os.Stdout, Exit: exit, History: history, Banner: "ready",
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("left with %d\n", code)
	os.Exit(0)
}

// pty opens a terminal: what is typed at the one end comes in at the other.
func pty(t *testing.T) (keyboard, terminal *os.File) {
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
	if err := unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return keyboard, terminal
}

// screen is what the program has printed so far and what is typed at it.
type screen struct {
	t        *testing.T
	keyboard *os.File
	printed  chan string
	seen     string
}

func (s *screen) expect(text string) {
	s.t.Helper()
	for timeout := time.After(20 * time.Second); ; {
		if _, rest, ok := strings.Cut(s.seen, text); ok {
			s.seen = rest
			return
		}
		select {
		case more, ok := <-s.printed:
			if !ok {
				s.t.Fatalf("ended without %q; left is %q", text, s.seen)
			}
			s.seen += more
		case <-timeout:
			s.t.Fatalf("no %q in %q", text, s.seen)
		}
	}
}

func (s *screen) press(keys string) {
	s.t.Helper()
	if _, err := s.keyboard.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

// start runs this binary on a terminal of its own.
func start(t *testing.T, history string) *screen {
	t.Helper()
	keyboard, terminal := pty(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), onTerminal+"=1", "TERM=xterm", "SHARDSH_HISTORY="+history)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = terminal, terminal, terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	s := &screen{t: t, keyboard: keyboard, printed: make(chan string)}
	go func() {
		defer close(s.printed)
		for buf := make([]byte, 4096); ; {
			n, err := keyboard.Read(buf)
			if n > 0 {
				s.printed <- string(buf[:n])
			}
			if err != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		cmd.Process.Kill() // in case the test failed
		var exited *exec.ExitError
		if err := cmd.Wait(); err != nil && !errors.As(err, &exited) {
			t.Error(err)
		}
		for range s.printed {
		}
	})
	return s
}

func TestOnATerminal(t *testing.T) {
	const prompt = "[mock: mongos] test> "
	history := t.TempDir() + "/history"
	s := start(t, history)
	s.expect("ready")
	s.expect(prompt)
	s.press("1+1\r")
	s.expect("=> 1+1\r\n")
	s.expect(prompt)

	// Several lines typed at once, and the whole recalled and changed.
	s.press("f {\r  a\r}\r")
	s.expect("... ")
	s.expect("=> f {\r\n  a\r\n}\r\n")
	s.expect(prompt)
	s.press("\x10;\r") // Ctrl-P
	s.expect("=> f {\r\n  a\r\n};\r\n")
	s.expect(prompt)

	s.press("sh.\t\t")
	s.expect("addShard")
	s.press("\x03")
	s.expect("sh.^C")
	s.expect("\r\n\x1b[?2004l\x1b[?2004h" + prompt) // no hint: there was text

	s.press("sleep\r")
	s.expect("asleep\r\n")
	s.press("\x03")
	s.expect("Stopping execution...\r\n")
	s.expect(prompt)

	s.press("db.auth('ada', 'hunter2')\r")
	s.expect("=> db.auth")
	s.expect(prompt)

	s.press("\x03")
	s.expect(strings.TrimSuffix(hint, "\n"))
	s.expect(prompt)
	s.press("\x03")
	s.expect("left with 0")

	kept, err := os.ReadFile(history)
	if want := "1+1\nf {\\n  a\\n}\nf {\\n  a\\n};\nsleep\n"; err != nil || string(kept) != want {
		t.Errorf("history %q, want %q (%v)", kept, want, err)
	}
}

// paste is what a terminal sends for a text from the clipboard.
func paste(text string) string {
	return "\x1b[200~" + strings.ReplaceAll(text, "\n", "\r") + "\x1b[201~"
}

func TestPastedBlocksAreOneInput(t *testing.T) {
	const prompt = "[mock: mongos] test> "
	history := t.TempDir() + "/history"
	s := start(t, history)
	s.expect(prompt)
	for _, tt := range []struct{ name, keys, result string }{
		{"calls chained over lines, tabs, a blank line", paste("db.orders\n\t.find()\n\n\t.limit(1)\n") + "\r", "db.orders\n\t.find()\n\n\t.limit(1)"},
		{"in the midst of a line, which goes on", "a " + paste("b\nc") + " d\r", "a b\nc d"},
		{"keys a paste must not press", paste("a\x03b\x04c\x1b[Ad") + "\r", "abc[Ad"},
		{"letters of two and four bytes", paste("größe 🍃\nx") + "\r", "größe 🍃\nx"},
		{"a long block", paste(strings.Repeat("print('a line of some length')\n", 300)) + "\r", strings.TrimSpace(strings.Repeat("print('a line of some length')\n", 300))},
		{"and what is typed after all that", "1+1\r", "1+1"},
	} {
		s.press(tt.keys)
		s.expect("=> " + strings.ReplaceAll(tt.result, "\n", "\r\n") + "\r\n")
		s.expect(prompt)
	}
	s.press("\x04")
	s.expect("left with 0")
	kept, err := os.ReadFile(history)
	if err != nil || !strings.HasPrefix(string(kept), "db.orders\\n\t.find()\\n\\n\t.limit(1)\na b\\nc d\n") {
		t.Errorf("history %.200q (%v)", kept, err)
	}
}

func TestTypedAheadOfACommandThatReads(t *testing.T) {
	s := start(t, "")
	s.expect("[mock: mongos] test> ")
	s.press("ask\rsecret\r")
	s.expect("=> secret\r\n")
}
