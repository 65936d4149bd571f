package suite

import (
	"bufio"
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// served is "shardsh serve" as a process of its own.
type served struct {
	t    testing.TB
	args []string
	log  lockedLog

	cmd *exec.Cmd
	uri string
}

// lockedLog is written to by a process and read by a test.
type lockedLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serve starts a mock cluster on a free port until the test ends.
func serve(t testing.TB, args ...string) *served {
	t.Helper()
	s := &served{t: t, args: args}
	s.start("0")
	t.Cleanup(func() { s.stop(syscall.SIGTERM) })
	return s
}

// start runs the program until it listens.
func (s *served) start(port string) {
	s.t.Helper()
	args := append([]string{"serve", "--port", port, "--log-level", "warn", "--grace", "1s"}, s.args...)
	s.cmd = exec.CommandContext(context.Background(), binary(s.t), args...)
	s.cmd.Stderr = &s.log
	s.cmd.Env = os.Environ()
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "mongodb://") {
		s.t.Fatalf("the cluster does not listen: %v\n%s", s.cmd.Wait(), &s.log)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	s.uri = strings.TrimSpace(line)
}

// stop ends it with a signal, and waits.
func (s *served) stop(sig syscall.Signal) {
	s.t.Helper()
	if s.cmd.ProcessState != nil {
		return
	}
	_ = s.cmd.Process.Signal(sig) // it may have ended
	if err := s.cmd.Wait(); err != nil && sig == syscall.SIGTERM {
		s.t.Errorf("the cluster ended with %v\n%s", err, &s.log)
	}
}

// address is host:port.
func (s *served) address() string {
	rest, _, _ := strings.Cut(strings.TrimPrefix(s.uri, "mongodb://"), "/")
	return rest
}

// restart kills it, and starts another one on the same port.
func (s *served) restart() {
	s.stop(syscall.SIGKILL)
	_, port, _ := strings.Cut(s.address(), ":")
	s.start(port)
}
