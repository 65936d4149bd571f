//go:build unix

package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// What is no file stays what it is, and is written to: -o /dev/null must not put a
// file in the place of the device, which root can.
func TestOutputIsNotPutInThePlaceOfADevice(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"an answer":  {[]string{"why", "--mock", "-o"}, "nothing is wrong."},
		"a page":     {[]string{"report", "--mock", "-o"}, "<!DOCTYPE html>"},
		"a snapshot": {[]string{"snapshot", "--mock", "-o"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "pipe")
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
			read := make(chan string, 1)
			go func() {
				data, err := os.ReadFile(path)
				if err != nil {
					t.Error(err)
				}
				read <- string(data)
			}()
			code, _, stderr := runProgram(t, "", append(c.args, path)...)
			info, err := os.Lstat(path)
			if err != nil || info.Mode().Type() != fs.ModeNamedPipe {
				t.Fatalf("the pipe is %v now, %v", info.Mode(), err) // nobody writes to it any more
			}
			if text := <-read; code != exitOK || text == "" || !strings.HasPrefix(text, c.want) {
				t.Errorf("exit code %d, errors %q, written %.60q", code, stderr, text)
			}
		})
	}
}
