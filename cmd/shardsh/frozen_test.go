package main

import (
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// freezer stands between the program and a cluster. It lets some pieces of what
// the program says through, then nothing more in either direction, and keeps
// the connections open: what a cable that was pulled looks like.
type freezer struct {
	net.Listener
	to string

	mu     sync.Mutex
	left   int           // pieces to let through
	frozen chan struct{} // closed when nothing is let through any more
	open   []net.Conn
}

func freezing(t *testing.T, to string, after int) *freezer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f := &freezer{Listener: listener, to: to, left: after, frozen: make(chan struct{})}
	served := make(chan struct{})
	go func() { defer close(served); f.serve() }()
	t.Cleanup(func() {
		_ = listener.Close()
		<-served
	})
	return f
}

// serve ends when the listener is closed, and closes what is open then.
func (f *freezer) serve() {
	var pumps sync.WaitGroup
	for {
		program, err := f.Accept()
		if err != nil {
			break
		}
		cluster, err := net.Dial("tcp", f.to)
		if err != nil {
			_ = program.Close()
			continue
		}
		f.open = append(f.open, program, cluster)
		pumps.Go(func() { f.pump(cluster, program, f.passes) })
		pumps.Go(func() { f.pump(program, cluster, f.answers) })
	}
	for _, c := range f.open {
		_ = c.Close()
	}
	pumps.Wait()
}

// pump copies pieces until one may not pass; then it waits for the end.
func (f *freezer) pump(to io.WriteCloser, from io.Reader, may func() bool) {
	piece := make([]byte, 64<<10)
	for {
		n, err := from.Read(piece)
		if err != nil {
			_ = to.Close()
			return
		}
		if may() {
			_, _ = to.Write(piece[:n])
		}
	}
}

// passes counts a piece of the program's.
func (f *freezer) passes() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.left == 0 {
		select {
		case <-f.frozen:
		default:
			close(f.frozen)
		}
		return false
	}
	f.left--
	return true
}

func (f *freezer) answers() bool {
	select {
	case <-f.frozen:
		return false
	default:
		return true
	}
}

// A connection that hangs, whatever it is at, ends with --timeout: the process
// need not be ended the hard way.
func TestFrozenConnections(t *testing.T) {
	ca := newAuthority(t)
	open, guarded := listen(t, unbalanced), serve(t, unbalanced, withUser(t, "joe", "pw")).address
	encrypted := serve(t, unbalanced, withTLS(&tls.Config{Certificates: []tls.Certificate{ca.server("127.0.0.1")}})).address
	var runs sync.WaitGroup // more at once than there are processors: they wait
	for name, c := range map[string]struct {
		cluster string
		args    []string
	}{
		"a script": {open, []string{"--eval", "db.c.insertOne({a: 1}); db.c.find().toArray(); sh.status()"}},
		"a wait":   {open, []string{"--eval", `for (;;) { sh.isBalancerInRound(); sleep(10) }`}},
		"a cursor": {open, []string{"--eval", `for (;;) db.adminCommand({listCommands: 1}) && sh.chunks("shop.even").toArray()`}},
		"a login":  {guarded, []string{"-u", "joe", "-p", "pw", "--eval", "for (;;) db.hello()"}},
		"TLS":      {encrypted, []string{"--tls", "--tlsCAFile", ca.file(), "--eval", "for (;;) db.hello()"}},
		"check":    {open, []string{"check"}},
		"why":      {open, []string{"why"}},
		"snapshot": {open, []string{"snapshot", "-o", "-"}},
	} {
		for _, after := range []int{0, 1, 2, 3, 4, 5, 6, 8, 12, 16, 20} {
			f := freezing(t, c.cluster, after)
			runs.Go(func() {
				if problem := runFrozen(t, f, c.args); problem != "" {
					t.Errorf("%s, frozen after %d pieces: %s", name, after, problem)
				}
			})
		}
	}
	runs.Wait()
}

// runFrozen runs the program on a cluster that will hang, and returns what is
// wrong with how it ended.
func runFrozen(t *testing.T, f *freezer, args []string) (problem string) {
	const timeout = time.Second
	args = append([]string{"--quiet", "--timeout", timeout.String(), f.Addr().String()}, args...)
	if isCommand := !strings.HasPrefix(args[4], "-"); isCommand {
		args = append(slices.Clone(args[4:]), args[:4]...)
	}
	began := time.Now()
	code, stdout, stderr := runProgram(t, "", args...)
	select {
	case <-f.frozen:
	default:
		return "" // it needed no more than that
	}
	if took := time.Since(began); took > timeout+3*time.Second {
		return fmt.Sprintf("it took %v", took)
	}
	if stderr == "" && (code == exitOK || code == exitFindings) {
		return "" // it had its answer, and what hung was taking leave
	}
	told := stdout + stderr // a check tells of it in its report
	if code != exitFailure || !strings.Contains(told, "--timeout 1s") && !strings.Contains(told, "can't reach") {
		return fmt.Sprintf("exit code %d, %s", code, told)
	}
	return ""
}
