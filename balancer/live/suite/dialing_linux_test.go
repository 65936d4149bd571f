package suite

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// callee is who is called and does not answer.
type callee struct {
	port int
	// called waits until somebody calls.
	called func()
}

// TestDialing has commands call who does not answer: one who takes calls and says
// nothing, and one who does not even take them. They end with --timeout, and with
// SIGTERM.
func TestDialing(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	late, terminated := newEnds(t, "--timeout", timeout), newEnds(t, "SIGTERM", 0)
	some := []string{"check", "script", "balance"} // without -suite.breaks 0
	for name, call := range map[string]func(testing.TB) callee{"silent": silent, "black hole": blackHole} {
		for _, w := range append(looks(), works()...) {
			if w.name == "apply" || w.name == "presplit" || *breaks > 0 && !slices.Contains(some, w.name) {
				continue // what those two read is made on a cluster
			}
			t.Run(name+"/"+w.name, func(t *testing.T) {
				t.Parallel()
				to := call(t)
				words := append(w.first(&rig{t: t, dir: t.TempDir(), runs: 1}), "--quiet",
					fmt.Sprintf("mongodb://127.0.0.1:%d/", to.port))
				terminated.note(t, w.name, calledAndTerminated(t, to, words))
				began := time.Now()
				r := shardsh(t, append(words, "--timeout", timeout.String())...)
				late.note(t, w.name, time.Since(began))
				if r.answered() || !r.explains() {
					t.Error(r)
				}
			})
		}
	}
}

// calledAndTerminated starts a run, and returns how long it takes from SIGTERM, when it
// calls, to the end.
func calledAndTerminated(t *testing.T, to callee, words []string) time.Duration {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p := start(ctx, t, words...)
	to.called()
	began := time.Now()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if r := p.wait(); r.answered() {
		t.Error(r)
	}
	return time.Since(began)
}

// silent takes calls and says nothing.
func silent(t testing.TB) callee {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return callee{l.Addr().(*net.TCPAddr).Port, func() {
		_ = l.(*net.TCPListener).SetDeadline(time.Now().Add(patience))
		c, err := l.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = c.Close() })
	}}
}

// blackHole is a port whose queue is full: what is sent there is dropped, as by a
// machine that is gone.
func blackHole(t testing.TB) callee {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	err = errors.Join(unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), unix.Listen(fd, 0))
	if err != nil {
		t.Fatal(err)
	}
	bound, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	port := bound.(*unix.SockaddrInet4).Port
	const full = 200 * time.Millisecond // the queue is, when a call takes longer
	for {
		c, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), full)
		if late := net.Error(nil); errors.As(err, &late) && late.Timeout() {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = c.Close() })
	}
	return callee{port, func() { calling(t, port) }}
}

// calling waits until somebody calls a port and has no answer: the kernel lists such
// connections in state 2.
func calling(t testing.TB, port int) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		all, err := os.ReadFile("/proc/net/tcp")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(all), fmt.Sprintf(" 0100007F:%04X 02 ", port)) {
			return
		}
	}
	t.Error("nobody calls")
}
