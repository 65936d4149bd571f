package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shardsh/repl/ptytest"
)

const (
	onTerminal = "SHARDSH_TEST_ON_TERMINAL"
	asPager    = "a-pager" // the argument with which this binary is a transcript's pager
)

// TestMain is the program itself when a transcript has started this binary on
// a terminal of its own.
func TestMain(m *testing.M) {
	if os.Getenv(onTerminal) != "" {
		if slices.Equal(os.Args[1:], []string{asPager}) {
			pageForTest()
		}
		if waits, err := strconv.Atoi(os.Getenv(waitsOfChild)); err == nil {
			runStanding(waits)
		}
		main()
	}
	os.Exit(m.Run())
}

// pageForTest tells what there is to page and waits for a line from the terminal,
// or for Ctrl-C. A shell script can't stand in for it: a signal that comes before
// its read begins is looked at only after that read.
func pageForTest() {
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	text, _ := io.ReadAll(os.Stdin)
	fmt.Printf("pager of %d lines, %s\n", strings.Count(string(text), "\n"), os.Getenv("LESS"))
	key := make(chan string, 1)
	go func() {
		tty, err := os.Open("/dev/tty")
		if err != nil {
			key <- err.Error()
			return
		}
		line, _ := bufio.NewReader(tty).ReadString('\n')
		key <- "got " + strings.TrimSpace(line)
	}()
	select {
	case text := <-key:
		fmt.Println(text)
	case <-interrupted:
		fmt.Println("left")
	}
	os.Exit(0)
}

// keys are those that a transcript names.
var keys = strings.NewReplacer(
	"\n", "", "<Enter>", "\r", "<Tab>", "\t", "<BS>", "\x7f",
	"<C-a>", "\x01", "<C-c>", "\x03", "<C-d>", "\x04", "<C-e>", "\x05", "<C-k>", "\x0b", "<C-l>", "\x0c",
	"<C-r>", "\x12", "<C-u>", "\x15", "<C-w>", "\x17",
	"<Up>", "\x1b[A", "<Down>", "\x1b[B", "<Right>", "\x1b[C", "<Left>", "\x1b[D", "<Home>", "\x1b[H", "<End>", "\x1b[F",
)

// pressed returns the bytes that a terminal sends for a text of a transcript:
// line ends in it count in <paste>...</paste> only.
func pressed(text string) string {
	before, rest, found := strings.Cut(text, "<paste>")
	if !found {
		return keys.Replace(text)
	}
	pasted, after, _ := strings.Cut(rest, "</paste>")
	return keys.Replace(before) + "\x1b[200~" + strings.ReplaceAll(pasted, "\n", "\r") + "\x1b[201~" + pressed(after)
}

// block is one part of a transcript, from a line "=== kind rest" on.
type block struct {
	kind, rest, text string
}

func readTranscript(t *testing.T, path string) (blocks []block) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for part := range strings.SplitSeq("\n"+string(text), "\n=== ") {
		head, body, _ := strings.Cut(part, "\n")
		kind, rest, _ := strings.Cut(head, " ")
		blocks = append(blocks, block{kind, rest, strings.TrimRight(body, "\n")})
	}
	return blocks[1:] // the first is what the transcript is about
}

// Whole sessions on a terminal: what is typed, and what the screen shows. See
// testdata/transcripts/README.
func TestTranscripts(t *testing.T) {
	paths, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	if len(paths) < 10 {
		t.Errorf("only %d transcripts", len(paths))
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txt"), func(t *testing.T) {
			t.Parallel()
			play(t, readTranscript(t, path))
		})
	}
}

// play types a transcript and compares.
func play(t *testing.T, blocks []block) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	environment := []string{
		onTerminal + "=1", "TERM=xterm", "NO_COLOR=1", "PAGER=", "HOME=" + home, "PATH=" + os.Getenv("PATH"),
		"GORACE=" + os.Getenv("GORACE"),
	}
	var terminal *ptytest.Terminal
	var shown string // what the screen showed last
	var expect func(string)
	for _, b := range blocks {
		switch b.kind {
		case "file":
			if err := os.WriteFile(filepath.Join(home, b.rest), []byte(b.text+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		case "environment":
			environment = append(environment, strings.ReplaceAll(b.rest, "$SELF", self))
		case "shardsh":
			cmd := exec.Command(self, strings.Fields(b.rest)...)
			cmd.Dir, cmd.Env = home, environment
			terminal = ptytest.Start(t, cmd)
			shown, expect = "", terminal.ExpectScreen
		case "styled":
			expect = terminal.ExpectStyled
		case "type":
			terminal.Press(pressed(b.text))
		case "screen":
			shown = b.text
			expect(shown)
		case "then":
			shown = further(shown, b.text)
			expect(shown)
		case "exit":
			code, err := strconv.Atoi(b.rest)
			if err != nil {
				t.Fatal(err)
			}
			terminal.ExpectExit(code)
		default:
			t.Fatalf("no such part of a transcript: %s", b.kind)
		}
	}
}

// further returns a screen on which text has come in place of its last line.
func further(shown, text string) string {
	lines := strings.Split(shown, "\n")
	lines = append(lines[:len(lines)-1], strings.Split(text, "\n")...)
	return strings.Join(lines[max(0, len(lines)-ptytest.Rows):], "\n")
}
