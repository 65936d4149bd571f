//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"

	"shardsh/balancer/mongoerr"
	"shardsh/cmd/shardsh/target"
)

// A damaged dbpath is refused in one line, before anything listens. The line
// names the file and the document, and what can be done.
func TestServeDamaged(t *testing.T) {
	dir := t.TempDir()
	p := startServe(t, "--dbpath", dir)
	orders := p.driver(p.uri).Database("app").Collection("orders")
	for i := range 20 {
		_, err := orders.InsertOne(t.Context(), document("_id", i, "text", fmt.Sprintf("order number %d", i)))
		if err != nil {
			t.Fatal(err)
		}
	}
	p.stop(syscall.SIGTERM)
	path := filepath.Join(dir, "mock.db")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Every copy: which page is in use and which is free nobody can tell from outside.
	for text := []byte("order number 7"); bytes.Contains(data, text); {
		data[bytes.Index(data, text)+3] ^= 4
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, stderr := runProgram(t, "", "serve", "--dbpath", dir, "--port", "0")
	if code != exitFailure || out != "" || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit code %d, stdout %q, stderr %q", code, out, stderr)
	}
	for _, want := range []string{path, "is damaged: page ", "documents of app.orders on shard0, record ",
		`(its _id reads {"$numberInt":"7"})`, "its checksum is wrong", "put back a copy of the file"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("it does not say %q: %s", want, stderr)
		}
	}
	if kept, err := os.ReadFile(path); err != nil || !bytes.Equal(kept, data) {
		t.Errorf("the damaged file is not as it was: %v", err)
	}
}

// limited is "shardsh serve" as a process whose files can't grow beyond a limit:
// to a program that is a full disk. When the context ends the process says in its log
// what it is at, and ends.
func limited(ctx context.Context, t *testing.T, dir string, blocks int) (uri string, cmd *exec.Cmd, log *lockedBuffer) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd = exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf(`ulimit -f %d && exec "$0" serve --port 0 --log-level error --dbpath "$1"`,
		blocks), self, dir)
	cmd.Env = append(os.Environ(), onTerminal+"=1")
	log = &lockedBuffer{}
	cmd.Stderr = log
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGQUIT) }
	cmd.WaitDelay = 10 * time.Second
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err, log)
	}
	return strings.TrimSpace(line), cmd, log
}

// On a full disk reads go on, writes are refused before they change anything,
// and the end is not a clean one. What was acknowledged is there when there is room
// again.
func TestServeFullDisk(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), servePatience)
	defer cancel()
	uri, cmd, log := limited(ctx, t, dir, 600)
	client, err := mongo.Connect(options.Client().ApplyURI(uri).SetRetryWrites(false).
		SetServerMonitoringMode(options.ServerMonitoringModePoll))
	if err != nil {
		t.Fatal(err)
	}
	defer target.Disconnect(client)
	c := client.Database("app").Collection("c")
	kept := int64(0)
	for pad := strings.Repeat("x", 20_000); err == nil && kept < 1000; kept++ {
		_, err = c.InsertOne(ctx, document("_id", kept, "pad", pad))
	}
	kept--
	var refused mongo.CommandError
	if !errors.As(err, &refused) || mongoerr.Code(refused.Code) != mongoerr.OutOfDiskSpace {
		t.Fatalf("after %d documents: %v", kept, err)
	}
	before, err := c.CountDocuments(ctx, document())
	if err != nil || before < kept {
		t.Errorf("%d of %d documents can be read: %v", before, kept, err)
	}
	if _, err := c.InsertOne(ctx, document("_id", "late")); !errors.As(err, &refused) {
		t.Errorf("a write on a full disk: %v", err)
	}
	if after, err := c.CountDocuments(ctx, document()); err != nil || after != before {
		t.Errorf("%d documents, %v: a refused write has changed something", after, err)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != exitFailure {
		t.Errorf("exit code %d: %s", cmd.ProcessState.ExitCode(), log)
	}
	p := startServe(t, "--dbpath", dir)
	n, err := p.driver(p.uri).Database("app").Collection("c").CountDocuments(ctx, document())
	if err != nil || n != kept {
		t.Errorf("%d documents are on disk, want the %d that were acknowledged: %v", n, kept, err)
	}
}
