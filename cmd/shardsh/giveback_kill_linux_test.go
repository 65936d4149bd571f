package main

import (
	"bytes"
	"context"
	"flag"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/mock/wire"
)

var (
	killsWhileOff = flag.Int("giveback.kills", 3, "how often a run is killed that has disabled balancing")
	offBeside     = flag.Int("giveback.collections", 100, "how many collections that run has disabled")
	offDelay      = flag.Duration("giveback.delay", time.Millisecond, "how long the cluster takes for each command")
)

// victim is a process that is killed at a command.
type victim struct {
	mu      sync.Mutex
	process *os.Process
	at      func(r wire.Request) bool
	killed  bool
}

// around kills the process before or after the command that it is to die at.
func (v *victim) around(next wire.Handler) wire.Handler {
	return handlerFunc(func(ctx context.Context, r wire.Request) bson.Raw {
		time.Sleep(*offDelay)
		v.mu.Lock()
		dies := v.process != nil && v.at(r)
		if dies {
			_ = v.process.Kill()
			_, _ = v.process.Wait()
			v.process, v.killed = nil, true
		}
		v.mu.Unlock()
		return next.Handle(ctx, r)
	})
}

// A run that has disabled the balancing of many collections is killed while it disables,
// moves or enables. Then nothing stays disabled: what looks says in one line what is, and
// "balance --give-back", or the next run, enables it.
//
//	go test ./cmd/shardsh -run KilledWithManyDisabled -giveback.kills 20 -giveback.collections 3000 -giveback.delay 50ms -timeout 3h
func TestKilledWithManyDisabled(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	n := *offBeside
	topology := strings.Replace(manyCollections(n), `"mode": "off"`, `"mode": "full"`, 1)
	for i := range *killsWhileOff {
		var v victim
		address := serve(t, topology, func(s *setting) { s.around = v.around }).address
		client := clientOf(t, address)
		v.killAt(t, address, moments[i%len(moments)], n)
		left := disabled(t, client)
		t.Logf("killed %s: %d of %d collections are disabled", moments[i%len(moments)].name, left, n+1)
		advance(t, client, 2*time.Minute)
		if left > 0 {
			saysInOneLine(t, address)
		}
		back := []string{"balance", address, "--give-back"}
		if i%3 == 2 {
			back = []string{"balance", address, "--ns", "shop.hot", "--yes", "--take-over", "--max-moves", "1"}
		}
		began := time.Now()
		if code, stdout, stderr := runProgram(t, "", back...); code != exitOK || len(stdout+stderr) > 3000 {
			t.Errorf("%v: exit code %d, %d bytes: %.3000s", back, code, len(stdout+stderr), stdout+stderr)
		}
		t.Logf("given back in %s", time.Since(began).Round(time.Millisecond))
		if left := disabled(t, client); left != 0 {
			t.Fatalf("killed %s: %d collections stay disabled", moments[i%len(moments)].name, left)
		}
		noLease(t, client)
	}
}

// moment is when a run is killed: at the nth of some commands. Of n collections it is drawn.
type moment struct {
	name    string
	command string
	nth     func(n int) int
}

var moments = []moment{
	{"while it disables", "configureCollectionBalancing", func(n int) int { return 1 + rand.IntN(n) }},
	{"while it moves", "moveRange", func(int) int { return 1 }},
	{"while it enables", "configureCollectionBalancing", func(n int) int { return n + 2 + rand.IntN(n) }},
}

// killAt runs a balance of all collections, and kills it.
func (v *victim) killAt(t *testing.T, address string, m moment, n int) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "balance", address, "--all", "--yes", "--take-over", "--max-moves", "2")
	cmd.Env = append(os.Environ(), onTerminal+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	var seen, switched atomic.Int64
	nth := int64(m.nth(n))
	v.mu.Lock()
	v.killed, v.at = false, func(r wire.Request) bool {
		if r.Command == "configureCollectionBalancing" {
			switched.Add(1)
		}
		return r.Command == m.command && seen.Add(1) == nth
	}
	if err := cmd.Start(); err != nil {
		v.mu.Unlock()
		t.Fatal(err)
	}
	v.process = cmd.Process
	v.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait() // it was killed
		close(ended)
	}()
	goesOn(t, clientOf(t, address), ended, func() bool { return switched.Load() > int64(n) })
	v.mu.Lock()
	defer v.mu.Unlock()
	v.process = nil
	if !v.killed {
		t.Fatalf("it ended by itself, after %d of %d %s: %.2000s", seen.Load(), nth, m.command, &out)
	}
}

// goesOn has a mock's time go on, from a moment until something has ended: a run waits for the
// end of the balancer's round. Before, the mock's balancer would do the run's work.
func goesOn(t *testing.T, client *mongo.Client, ended <-chan struct{}, from func() bool) {
	t.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return
		case <-tick.C:
			if from() {
				advance(t, client, 100*time.Millisecond)
			}
		}
	}
}

// saysInOneLine checks that what looks names what is disabled, in a line that is not longer
// with more collections.
func saysInOneLine(t *testing.T, address string) {
	t.Helper()
	for _, args := range [][]string{
		{"why", address}, {"check", address, "--rules", "paused"}, {"watch", address, "--once"},
	} {
		_, stdout, stderr := runProgram(t, "", args...)
		said := 0
		for line := range strings.Lines(stdout) {
			if strings.Contains(line, "disabled by a run") {
				said++
			}
			if len(line) > 600 {
				t.Errorf("%v has a line of %d bytes: %.300s", args, len(line), line)
			}
		}
		if said < 1 || said > 3 { // in what is wrong, and in what the answer begins or ends with
			t.Errorf("%v says it in %d lines: %.1000s%.500s", args, said, stdout, stderr)
		}
	}
}
