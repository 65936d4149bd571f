package main

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"shardsh/balancer/live/suite/proxy"
	"shardsh/repl/ptytest"
)

// SIGTERM ends what hangs on a connection, at whatever it hangs: a
// script, a subcommand, a prompt that is connecting, and a command that was entered at
// the prompt; and a prompt that waits for keys.
func TestSIGTERMOnAFrozenConnection(t *testing.T) {
	cluster := listen(t, unbalanced)
	const forever = "for (;;) { sh.status(); db.c.insertOne({}) }"
	var mu sync.Mutex
	took := map[string]time.Duration{}
	t.Run("runs", func(t *testing.T) {
		for name, c := range map[string]struct {
			args  []string
			typed string // at the prompt
			at    []int  // messages, of a command that was typed counted from there; 0 is none
		}{
			"a script":             {[]string{"--eval", forever}, "", []int{1, 3, 6, 12}},
			"check":                {[]string{"check"}, "", []int{1, 3, 6}},
			"a prompt to be":       {[]string{"--norc"}, "", []int{1, 3, 5}},
			"a command at prompt":  {[]string{"--norc"}, forever + "\r", []int{1, 2, 5}},
			"keys that don't come": {[]string{"--norc"}, "db.get", []int{0}},
		} {
			for _, n := range c.at {
				name := fmt.Sprintf("%s, frozen at message %d", name, n)
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					d := terminated(t, cluster, c.args, c.typed, n)
					mu.Lock()
					defer mu.Unlock()
					took[name] = d
				})
			}
		}
	})
	t.Logf("the slowest ended %v after SIGTERM", slowest(took))
	for run, d := range took {
		if d > endsWithin {
			t.Errorf("%s: SIGTERM ends it after %v, want at most %v", run, d, endsWithin)
		}
	}
}

// terminated starts the program on a terminal, types something if it is to be typed,
// freezes the line, and returns how long it takes from SIGTERM to the end.
func terminated(t *testing.T, cluster string, args []string, typed string, n int) time.Duration {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var counting atomic.Bool
	counting.Store(typed == "")
	seen := 0
	p, err := proxy.Listen(cluster, func(int, proxy.Message) proxy.Verdict {
		if counting.Load() {
			seen++
		}
		if seen > 0 && seen == n {
			return proxy.Freeze()
		}
		return proxy.Pass()
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.Close() })
	cmd := exec.Command(self, append(args, "--quiet", p.Address())...)
	cmd.Env = append(os.Environ(), onTerminal+"=1", "HOME="+t.TempDir(), "TERM=xterm", "NO_COLOR=1")
	terminal := ptytest.Start(t, cmd)
	if typed != "" {
		terminal.Expect("test> ")
		counting.Store(true)
		terminal.Press(typed)
		terminal.Expect(typed[:6])
	}
	if n > 0 {
		<-p.Frozen()
	}
	began := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	terminal.ExpectExit(128 + int(syscall.SIGTERM))
	return time.Since(began)
}
