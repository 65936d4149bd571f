package repl_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"shardsh/repl"
	"shardsh/repl/history"
	"shardsh/repl/ptytest"
	"shardsh/repl/terminal"
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
	kept, err := history.Open(os.Getenv("SHARDSH_HISTORY"), nil)
	if err != nil {
		panic(err)
	}
	code, err := repl.Run(context.Background(), shell, repl.Config{
		Editor: terminal.New(), Out: os.Stdout, ExitCode: exit, History: kept, Banner: "ready",
	})
	if err != nil {
		panic(err)
	}
	fmt.Printf("left with %d\n", code)
	os.Exit(0)
}

// start runs this binary on a terminal of its own.
func start(t *testing.T, history string) *ptytest.Terminal {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), onTerminal+"=1", "TERM=xterm", "SHARDSH_HISTORY="+history)
	return ptytest.Start(t, cmd)
}

func TestOnATerminal(t *testing.T) {
	const prompt = "[mock: mongos] test> "
	history := t.TempDir() + "/history"
	s := start(t, history)
	s.Expect("ready")
	s.Expect(prompt)
	s.Press("1+1\r")
	s.Expect("=> 1+1\r\n")
	s.Expect(prompt)

	// Several lines typed at once, and the whole recalled and changed.
	s.Press("f {\r  a\r}\r")
	s.Expect("... ")
	s.Expect("=> f {\r\n  a\r\n}\r\n")
	s.Expect(prompt)
	s.Press("\x10;\r") // Ctrl-P
	s.Expect("=> f {\r\n  a\r\n};\r\n")
	s.Expect(prompt)

	s.Press("sh.\t\t")
	s.Expect("addShard")
	s.Press("\x03")
	s.Expect("sh.^C")
	s.Expect("\r\n\x1b[?2004l\x1b[?2004h" + prompt) // no hint: there was text

	s.Press("sleep\r")
	s.Expect("asleep\r\n")
	s.Press("\x03")
	s.Expect("Stopping execution...\r\n")
	s.Expect(prompt)

	s.Press("db.auth('ada', 'hunter2')\r")
	s.Expect("=> db.auth")
	s.Expect(prompt)

	s.Press("\x03")
	s.Expect(strings.TrimSuffix(hint, "\n"))
	s.Expect(prompt)
	s.Press("\x03")
	s.Expect("left with 0")

	kept, err := os.ReadFile(history)
	if want := "1+1\nf {\\n  a\\n}\nf {\\n  a\\n};\nsleep\n"; err != nil || string(kept) != want {
		t.Errorf("history %q, want %q (%v)", kept, want, err)
	}
}

// paste returns what a terminal sends for a text from the clipboard.
func paste(text string) string {
	return "\x1b[200~" + strings.ReplaceAll(text, "\n", "\r") + "\x1b[201~"
}

func TestPastedBlocksAreOneInput(t *testing.T) {
	const prompt = "[mock: mongos] test> "
	history := t.TempDir() + "/history"
	s := start(t, history)
	s.Expect(prompt)
	for _, tt := range []struct{ name, keys, result string }{
		{"calls chained over lines, tabs, a blank line", paste("db.orders\n\t.find()\n\n\t.limit(1)\n") + "\r",
			"db.orders\n\t.find()\n\n\t.limit(1)"},
		{"in the midst of a line, which goes on", "a " + paste("b\nc") + " d\r", "a b\nc d"},
		{"keys a paste must not press", paste("a\x03b\x04c\x1b[Ad") + "\r", "abc[Ad"},
		{"letters of two and four bytes", paste("größe 🍃\nx") + "\r", "größe 🍃\nx"},
		{"a long block", paste(strings.Repeat("print('a line of some length')\n", 300)) + "\r",
			strings.TrimSpace(strings.Repeat("print('a line of some length')\n", 300))},
		{"and what is typed after all that", "1+1\r", "1+1"},
	} {
		s.Press(tt.keys)
		s.Expect("=> " + strings.ReplaceAll(tt.result, "\n", "\r\n") + "\r\n")
		s.Expect(prompt)
	}
	s.Press("\x04")
	s.Expect("left with 0")
	kept, err := os.ReadFile(history)
	if err != nil || !strings.HasPrefix(string(kept), "db.orders\\n\t.find()\\n\\n\t.limit(1)\na b\\nc d\n") {
		t.Errorf("history %.200q (%v)", kept, err)
	}
}

func TestTypedAheadOfACommandThatReads(t *testing.T) {
	s := start(t, "")
	for range 20 { // who reads first is a race, which the command must always win
		s.Expect("[mock: mongos] test> ")
		s.Press("ask\rsecret\r")
		s.Expect("=> secret\r\n")
	}
}
