package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"shardsh/repl/ptytest"
)

// watching runs commands of a shell on a terminal, of which $0 is the program, and
// tells the terminal's mode before and after.
func watching(t *testing.T, before, after, commands string) *ptytest.Terminal {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sh", "-c", `stty -g > "$1"; sh -c "$3" "$0"; code=$?; stty -g > "$2"; exit $code`,
		program, before, after, commands)
	cmd.Env = append(os.Environ(), onTerminal+"=1", "TERM=xterm-256color", "NO_COLOR=1")
	return ptytest.Start(t, cmd)
}

const (
	otherScreen = "\x1b[?1049h"
	ownScreen   = "\x1b[?25h\x1b[?1049l"
)

// The terminal is as it was, however it ends.
func TestWatchOnTerminal(t *testing.T) {
	for name, end := range map[string]string{"q": "q", "Ctrl-C": "\x03", "Ctrl-D": "\x04"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before, after := filepath.Join(dir, "before"), filepath.Join(dir, "after")
			terminal := watching(t, before, after, `"$0" watch --mock --mock-time 60x --interval 0.5`)
			terminal.Expect(otherScreen)
			for _, text := range []string{
				"Balancer full", "Moving now", "Shards", "shard0", "Collections", "Findings", "Last moves", "q quit",
			} {
				terminal.Expect(text)
			}
			terminal.Expect(" → ") // with time going fast something has moved soon
			terminal.Press("\t")
			terminal.Expect("Shards  ")
			terminal.Press("\x1b[C")
			terminal.Expect("Collections")
			terminal.Press("p")
			terminal.Expect(" paused")
			terminal.Press(end)
			terminal.Expect(ownScreen)
			terminal.ExpectExit(exitOK)
			sameMode(t, before, after)
		})
	}
}

func sameMode(t *testing.T, before, after string) {
	t.Helper()
	was, err := os.ReadFile(before)
	if err != nil {
		t.Fatal(err)
	}
	is, err := os.ReadFile(after)
	if err != nil || string(was) != string(is) || len(was) == 0 {
		t.Errorf("the terminal's mode was %q, is %q, %v", was, is, err)
	}
}

func TestWatchEndsWithASignal(t *testing.T) {
	dir := t.TempDir()
	before, after, pid := filepath.Join(dir, "before"), filepath.Join(dir, "after"), filepath.Join(dir, "pid")
	// exec keeps the number that the shell has told.
	program := `echo $$ > "` + pid + `"; exec "$0" watch --mock --interval 0.5`
	terminal := watching(t, before, after, program)
	terminal.Expect(otherScreen)
	terminal.Expect("q quit")
	text, err := os.ReadFile(pid)
	if err != nil {
		t.Fatal(err)
	}
	number, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(number, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	terminal.Expect(ownScreen)
	terminal.ExpectExit(exitSIGTERM)
	sameMode(t, before, after)
}
