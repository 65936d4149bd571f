package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// agentOf starts the program as an agent does, with the protocol's own client.
func agentOf(t *testing.T, args ...string) *mcp.ClientSession {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, append([]string{"mcp"}, args...)...)
	cmd.Env = append(os.Environ(), onTerminal+"=1")
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
		&mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := session.Close(); err != nil {
			t.Errorf("the program ends with %v", err)
		}
	})
	return session
}

// ask calls a tool, and returns its structured answer and all of it as text.
func ask(t *testing.T, session *mcp.ClientSession, tool string, arguments map[string]any) (map[string]any, string) {
	t.Helper()
	r, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		t.Fatal(err)
	}
	answer, _ := r.StructuredContent.(map[string]any)
	text, err := json.Marshal(r.Content)
	if err != nil {
		t.Fatal(err)
	}
	return answer, string(text)
}

// An agent has a plan made, a person approves it on a terminal, and the agent carries it out.
func TestAgent(t *testing.T) {
	address := serve(t, heapedTopology).address
	dir := filepath.Join(t.TempDir(), "plans")
	session := agentOf(t, address, "--plans", dir)
	if found, text := ask(t, session, "why", nil); !strings.Contains(text, "shop.orders") || found["sources"] == nil {
		t.Errorf("why: %s", text)
	}
	planned, text := ask(t, session, "plan", nil)
	hash, _ := planned["hash"].(string)
	if len(hash) != 64 || !strings.Contains(text, "shardsh mcp --plans "+dir+" --approve "+hash) {
		t.Fatalf("plan: %s", text)
	}
	if _, text := ask(t, session, "apply", map[string]any{"hash": hash}); !strings.Contains(text, "is not approved") {
		t.Errorf("before its approval: %s", text)
	}
	for _, c := range []struct {
		reply, shown string
		code         int
	}{{"n\n", "nothing was done", exitFailure}, {"y\n", "", exitOK}} {
		screen := &person{Reader: strings.NewReader(c.reply)}
		var errs bytes.Buffer
		code := environment{
			args:    []string{"mcp", "--plans", dir, "--approve", hash},
			getenv:  func(string) (string, bool) { return "", false },
			streams: streams{stdin: strings.NewReader(""), stdout: io.Discard, stderr: &errs},
			process: process{openTerminal: func() (io.ReadWriteCloser, error) { return screen, nil }},
		}.run(context.Background())
		if code != c.code || !strings.Contains(errs.String(), c.shown) || !strings.Contains(screen.String(), "shop.orders") {
			t.Errorf("%q ends with %d\n%s\n%s", c.reply, code, screen, &errs)
		}
	}
	if _, text := ask(t, session, "apply", map[string]any{"hash": hash}); !strings.Contains(text, "is applied") {
		t.Errorf("after its approval: %s", text)
	}
	if _, text := ask(t, session, "plan", nil); !strings.Contains(text, "nothing to do") {
		t.Errorf("afterwards: %s", text)
	}
}

// person is a terminal with somebody at it.
type person struct {
	io.Reader
	bytes.Buffer
}

func (p *person) Read(b []byte) (int, error) { return p.Reader.Read(b) }
func (*person) Close() error                 { return nil }

// A cluster that is away is an answer, and no end: the agent may ask again.
func TestAgentWithoutACluster(t *testing.T) {
	session := agentOf(t, "mongodb://user:hunter2@127.0.0.1:1/?serverSelectionTimeoutMS=200", "--timeout", "5s")
	for range 2 {
		if _, text := ask(t, session, "why", nil); !strings.Contains(text, "127.0.0.1:1") || strings.Contains(text, "hunter2") {
			t.Errorf("why: %s", text)
		}
	}
	if _, text := ask(t, session, "docs", map[string]any{"query": "jumboChunks"}); !strings.Contains(text, "clear the flag") {
		t.Errorf("docs: %s", text)
	}
}

// The program ends when its agent has gone.
func TestAgentGoesAway(t *testing.T) {
	in, agentEnd, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan int, 1)
	var errs bytes.Buffer
	go func() {
		ended <- environment{
			args: []string{"mcp", "--mock"}, getenv: func(string) (string, bool) { return "", false },
			streams: streams{stdin: in, stdout: io.Discard, stderr: &errs},
		}.run(context.Background())
	}()
	if err := agentEnd.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-ended:
		if code != exitOK {
			t.Errorf("ends with %d: %s", code, &errs)
		}
	case <-time.After(time.Minute):
		t.Fatal("it goes on without an agent")
	}
}

func TestAgentUsage(t *testing.T) {
	for _, c := range []struct {
		args   []string
		reason string
	}{
		{[]string{"--approve", "0d8f"}, "--approve HASH needs --plans DIR"},
		{[]string{"--plans", "x", "--from", "y"}, "--plans and --from exclude each other"},
		{[]string{"--plans", "x", "--approve", "0d8f", "mongodb://h"}, "leave \"mongodb://h\" out"},
		{nil, "mcp needs the address of a cluster"},
	} {
		code, _, stderr := runProgram(t, "", append([]string{"mcp"}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.reason) {
			t.Errorf("%q ends with %d: %s", c.args, code, stderr)
		}
	}
	code, _, stderr := runProgram(t, "", "mcp", "--plans", t.TempDir(), "--approve", "0d8f")
	if code != exitFailure || !strings.Contains(stderr, "is not the hash of a plan") {
		t.Errorf("a short hash ends with %d: %s", code, stderr)
	}
}
