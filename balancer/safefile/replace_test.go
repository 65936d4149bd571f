//go:build unix

package safefile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"shardsh/balancer/safefile"
)

func writing(text string) func(io.Writer) error {
	return func(to io.Writer) error {
		_, err := io.WriteString(to, text)
		return err
	}
}

// only checks what a folder has: one file with a text, and nothing left over.
func only(t *testing.T, path, want string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || string(text) != want {
		t.Errorf("%q, %v", text, err)
	}
	if there, err := os.ReadDir(filepath.Dir(path)); err != nil || len(there) != 1 {
		t.Errorf("%d files, %v", len(there), err)
	}
}

// A file is replaced as a whole or not at all, and nobody else can read it.
func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	for _, text := range []string{"first", "second"} {
		if err := safefile.Replace(path, writing(text)); err != nil {
			t.Fatal(err)
		}
		only(t, path, text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	full := errors.New("the disk is full")
	err := safefile.Replace(path, func(to io.Writer) error { return errors.Join(writing("half")(to), full) })
	if !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	only(t, path, "second")
	if err := safefile.Replace(filepath.Join(path, "file"), writing("x")); err == nil {
		t.Error("a file was taken for a folder")
	}
}

// A link stays, and its file is replaced.
func TestReplaceThroughLinks(t *testing.T) {
	path, link := filepath.Join(t.TempDir(), "file"), filepath.Join(t.TempDir(), "link")
	if err := errors.Join(os.WriteFile(path, []byte("old"), 0o600), os.Symlink(path, link)); err != nil {
		t.Fatal(err)
	}
	if err := safefile.Replace(link, writing("new")); err != nil {
		t.Fatal(err)
	}
	only(t, path, "new")
	if info, err := os.Lstat(link); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
}

// What is not a file stays what it is.
func TestReplaceLeavesPipes(t *testing.T) {
	path := pipe(t)
	read := make(chan string, 1)
	go func() {
		text, _ := os.ReadFile(path)
		read <- string(text)
	}()
	if err := safefile.Replace(path, writing("through")); err != nil {
		t.Fatal(err)
	}
	if text := <-read; text != "through" {
		t.Errorf("%q went through", text)
	}
	if info, err := os.Stat(path); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if err := safefile.Replace(t.TempDir(), writing("x")); err == nil {
		t.Error("a folder was written to")
	}
}
