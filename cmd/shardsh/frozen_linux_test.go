package main

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// SIGTERM ends what hangs on a connection, at whatever it hangs: a script, a
// subcommand, and a command that was entered at the prompt.
func TestSIGTERMOnAFrozenConnection(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cluster := listen(t, unbalanced)
	var runs sync.WaitGroup
	for name, c := range map[string]struct {
		stdin string
		args  []string
	}{
		"a script":   {"", []string{"--quiet", "--eval", "for (;;) { sh.status(); db.c.insertOne({}) }"}},
		"check":      {"", []string{"check", "--quiet"}},
		"the prompt": {"for (;;) { sh.status(); db.c.insertOne({}) }\n", []string{"--quiet", "--interactive", "--norc"}},
	} {
		for _, after := range []int{0, 2, 4, 7} {
			f := freezing(t, cluster, after)
			runs.Go(func() {
				cmd := exec.Command(self, append(c.args, f.Addr().String())...)
				cmd.Env = append(os.Environ(), onTerminal+"=1", "HOME="+t.TempDir())
				cmd.Stdin = strings.NewReader(c.stdin)
				if err := cmd.Start(); err != nil {
					t.Error(err)
					return
				}
				ended := make(chan struct{})
				go func() { defer close(ended); _ = cmd.Wait() }()
				select {
				case <-f.frozen:
				case <-ended:
					return // it needed no more than that
				}
				began := time.Now()
				_ = cmd.Process.Signal(syscall.SIGTERM)
				select {
				case <-ended:
				case <-time.After(10 * time.Second):
					t.Errorf("%s, frozen after %d pieces, goes on after SIGTERM", name, after)
					_ = cmd.Process.Kill()
					<-ended
					return
				}
				// Two seconds, and two for a machine that is busy.
				if took := time.Since(began); took > 4*time.Second {
					t.Errorf("%s, frozen after %d pieces, took %s to end", name, after, took)
				}
			})
		}
	}
	runs.Wait()
}
