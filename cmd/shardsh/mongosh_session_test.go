//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// between is the prompt both shells show, so that what an input prints is what
// stands between two of them.
const between = "␞"

// mongoshProgram installs mongosh once, outside of the repository, and returns
// its path.
var mongoshProgram = sync.OnceValues(func() (string, error) {
	dir, err := installed("testdata/mongosh", "mongosh")
	return filepath.Join(dir, "node_modules", ".bin", "mongosh"), err
})

// mongosh returns the path of the real shell, which the test needs.
func mongosh(t *testing.T) string {
	t.Helper()
	if testing.Short() {
		t.Skip("mongosh is not compared with in short tests")
	}
	program, err := mongoshProgram()
	if err != nil {
		missing(t, "NOT COMPARED with mongosh: it can't be installed: %v", err)
	}
	return program
}

// typed is an input of a session.
type typed struct {
	group, input string
}

// readTyped reads the inputs of a session: one a line, a line that begins with
// "| " continues the one before, "### " names the group that follows, and "//"
// begins a comment.
func readTyped(t *testing.T, path string) (inputs []typed) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	group := ""
	for n, line := range strings.Split(string(text), "\n") {
		name, isGroup := strings.CutPrefix(line, "### ")
		more, isMore := strings.CutPrefix(line, "| ")
		switch {
		case isGroup:
			group = name
		case isMore && len(inputs) > 0:
			inputs[len(inputs)-1].input += "\n" + more
		case line == "", strings.HasPrefix(line, "//"):
		case group == "":
			t.Fatalf("%s:%d: an input before any group", path, n+1)
		default:
			inputs = append(inputs, typed{group, line})
		}
	}
	return inputs
}

// heredoc returns what is typed: the prompt first, then the inputs.
func heredoc(inputs []typed) string {
	var b strings.Builder
	fmt.Fprintf(&b, "var prompt = %q\n", between)
	for _, in := range inputs {
		b.WriteString(in.input + "\n")
	}
	return b.String()
}

// answers cuts what a session printed into what each input did.
func answers(t *testing.T, shell, printed string, inputs []typed) []string {
	t.Helper()
	parts := strings.Split(printed, between)
	if len(parts) != len(inputs)+2 { // before the first prompt, and after the last
		n := max(min(len(inputs), len(parts)-2), 0)
		t.Fatalf("%s answered %d of %d inputs; the end is %q", shell, n, len(inputs), parts[max(0, len(parts)-2):])
	}
	texts := make([]string, len(inputs))
	for i, in := range inputs {
		text := parts[i+1]
		for range strings.Count(in.input, "\n") {
			text = strings.TrimPrefix(text, "... ")
		}
		texts[i] = text
	}
	return texts
}

// answersOfMongosh runs the inputs as one session of mongosh.
func answersOfMongosh(t *testing.T, program string, inputs []typed, args ...string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, append([]string{"--quiet", "--norc"}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+t.TempDir(), "NO_COLOR=1")
	cmd.Stdin = strings.NewReader(heredoc(inputs))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("mongosh: %v\n%s", err, out)
	}
	return answers(t, "mongosh", string(out), inputs)
}

// answersOfShardsh runs the inputs as one session of this program.
func answersOfShardsh(t *testing.T, inputs []typed, args ...string) []string {
	t.Helper()
	var out bytes.Buffer
	env := environment{
		args:    append([]string{"--quiet", "--interactive"}, args...),
		streams: streams{stdin: strings.NewReader(heredoc(inputs)), stdout: &out, stderr: &out},
		getenv:  func(name string) (string, bool) { return "", name == "SHARDSH_HISTORY" },
	}
	if code := env.run(t.Context()); code != exitOK {
		t.Fatalf("shardsh: exit code %d\n%s", code, out.String())
	}
	return answers(t, "shardsh", out.String(), inputs)
}
