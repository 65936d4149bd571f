package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// An answer goes into a pipe with a name, or a device: it does not put a file in
// its place, as it did with /dev/null for those who may.
func TestAnswerIntoWhatIsNoFile(t *testing.T) {
	for _, args := range [][]string{{"why", "--mock", "-o"}, {"snapshot", "--mock", "-o"}} {
		pipe := filepath.Join(t.TempDir(), "pipe")
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
		read := make(chan string, 1)
		go func() {
			text, _ := os.ReadFile(pipe)
			read <- string(text)
		}()
		code, _, stderr := runProgram(t, "", append(args, pipe)...)
		info, err := os.Stat(pipe)
		if code != exitOK || err != nil || info.Mode()&os.ModeNamedPipe == 0 {
			t.Fatalf("%s: exit code %d, %v, errors %s", args[0], code, err, stderr)
		}
		if text := <-read; text == "" || args[0] == "why" && !strings.HasPrefix(text, "nothing is wrong") {
			t.Errorf("%s wrote %.100q", args[0], text)
		}
	}
	if code, _, stderr := runProgram(t, "", "why", "--mock", "-o", t.TempDir()); code != exitFailure {
		t.Errorf("a folder: exit code %d, %s", code, stderr)
	}
}
