package main

import (
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"shardsh/balancer/live/suite/proxy"
)

// freezing stands between the program and a cluster, and freezes at the n-th message of
// either direction; of what is encrypted, at the n-th piece.
func freezing(t *testing.T, to string, n int, encrypted bool) *proxy.Proxy {
	t.Helper()
	listen := proxy.Listen
	if encrypted {
		listen = proxy.ListenEncrypted
	}
	p, err := listen(to, proxy.At(n, proxy.Freeze()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	return p
}

// endsWithin is how long a run that hangs may go on after it was told to end. It does so
// within a second or two on a quiet machine. The bound leaves room for a loaded one, and is
// well below what would end it otherwise: the driver gives up after 30 seconds, and the
// scripts never do.
const endsWithin = 15 * time.Second

// What hangs on a connection ends with --timeout: a login, TLS, a wait, a cursor. Each subcommand is
// frozen in balancer/live/suite.
func TestFrozenConnections(t *testing.T) {
	ca := newAuthority(t)
	open, guarded := listen(t, unbalanced), serve(t, unbalanced, withUser(t, "joe", "pw")).address
	encrypted := serve(t, unbalanced, withTLS(&tls.Config{Certificates: []tls.Certificate{ca.server("127.0.0.1")}})).address
	runs := map[string]struct {
		cluster string
		args    []string
	}{
		"a script": {open, []string{"--eval", "db.c.insertOne({a: 1}); db.c.find().toArray(); sh.status()"}},
		"a wait":   {open, []string{"--eval", `for (;;) { sh.isBalancerInRound(); sleep(10) }`}},
		"a cursor": {open, []string{"--eval", `for (;;) db.adminCommand({listCommands: 1}) && sh.chunks("shop.even").toArray()`}},
		"a login":  {guarded, []string{"-u", "joe", "-p", "pw", "--eval", "for (;;) db.hello()"}},
		"TLS":      {encrypted, []string{"--tls", "--tlsCAFile", ca.file(), "--eval", "for (;;) db.hello()"}},
	}
	var all sync.WaitGroup // more at once than there are processors: they wait
	var mu sync.Mutex
	took := map[string]time.Duration{}
	for name, c := range runs {
		for _, n := range []int{1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 24} {
			f := freezing(t, c.cluster, n, name == "TLS")
			all.Go(func() {
				d, problem := runFrozen(t, f, c.args)
				run := fmt.Sprintf("%s, frozen at message %d", name, n)
				if problem != "" {
					t.Errorf("%s: %s", run, problem)
				}
				mu.Lock()
				defer mu.Unlock()
				took[run] = d
			})
		}
	}
	all.Wait()
	t.Logf("the slowest ended %v after --timeout", slowest(took)-frozenFor)
	for run, d := range took {
		if d > frozenFor+endsWithin {
			t.Errorf("%s: it took %v, want at most %v after --timeout", run, d, endsWithin)
		}
	}
}

func slowest(took map[string]time.Duration) time.Duration {
	return slices.Max(slices.Collect(maps.Values(took)))
}

// frozenFor is the --timeout of what hangs.
const frozenFor = time.Second

// runFrozen runs the program on a cluster that will hang, and returns how long that
// took and what is wrong with how it ended.
func runFrozen(t *testing.T, f *proxy.Proxy, args []string) (took time.Duration, problem string) {
	began := time.Now()
	code, stdout, stderr := runProgram(t, "",
		append([]string{"--quiet", "--timeout", frozenFor.String(), f.Address()}, args...)...)
	took = time.Since(began)
	if !f.IsFrozen() {
		return 0, "" // it needed no more than that
	}
	if stderr == "" && code == exitOK {
		return took, "" // it had its answer, and what hung was taking leave
	}
	if code != exitFailure || !strings.Contains(stderr, "--timeout 1s") && !strings.Contains(stderr, "can't reach") {
		return took, fmt.Sprintf("exit code %d, %s%s", code, stdout, stderr)
	}
	return took, ""
}
