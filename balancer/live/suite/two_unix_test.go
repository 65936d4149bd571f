//go:build unix

package suite

import (
	"bytes"
	"context"
	"flag"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shardsh/balancer/live/suite/proxy"
)

var starts = flag.Int("suite.starts", 3, "how often two runners begin at once")

// mover tells by what goes over the wire who moves ranges, and whether two do at once.
type mover struct {
	mu      sync.Mutex
	running map[int]int // moves under way, by runner
	moved   map[int]int // moves, by runner
	both    bool
}

// rule is that of a runner's line.
func (m *mover) rule(runner int) proxy.Rule {
	waiting := map[int32]bool{} // moves without their answers, by id of the message
	return func(_ int, message proxy.Message) proxy.Verdict {
		m.mu.Lock()
		defer m.mu.Unlock()
		switch name := message.Name(); {
		case name == "moveRange" || name == "moveChunk":
			waiting[message.ID()] = true
			m.running[runner]++
			m.moved[runner]++
			m.both = m.both || m.running[1-runner] > 0
		case message.Direction == proxy.ToClient && waiting[message.InReplyTo()]:
			delete(waiting, message.InReplyTo())
			m.running[runner]--
		}
		return proxy.Pass()
	}
}

// TestTwoRunners starts two runners at once. One of them moves; the other one says who
// does, and leaves. The clusters' clocks are like those of the runners, an hour ahead,
// and months behind.
func TestTwoRunners(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	random := chance(t)
	clocks := []*rig{newRig(t, jumping()...), newRig(t, jumping()...), newRig(t, append(jumping(), "--seed", "7")...)}
	clocks[1].admin("mockAdvance", time.Hour.Milliseconds())
	moves := 0
	for n := range *starts {
		r := clocks[n%len(clocks)]
		r.heap()
		m := &mover{running: map[int]int{}, moved: map[int]int{}}
		results := r.side(m, time.Duration(random.Int64N(int64(200*time.Millisecond))))
		winner := 0
		if results[1].code == 0 {
			winner = 1
		}
		loser := results[1-winner]
		late := m.moved[0] == 0 || m.moved[1] == 0 // the first one was done before the second one began
		switch {
		case results[winner].code != 0:
			t.Errorf("start %d: neither ends well\n%s\n%s", n, results[0], results[1])
		case loser.code == 0 && !late, loser.code != 0 && m.moved[1-winner] > 0:
			t.Errorf("start %d: both have moved, %v\n%s\n%s", n, m.moved, results[0], results[1])
		case loser.code != 0 && !strings.Contains(loser.stderr, "another process is changing this cluster: balance"):
			t.Errorf("start %d: the other one does not say who is at work\n%s", n, loser)
		case m.both:
			t.Errorf("start %d: both were at a move at once", n)
		}
		moves += m.moved[0] + m.moved[1]
		for _, wrong := range []error{r.balanced(), r.untouched(), r.consistent()} {
			if wrong != nil {
				t.Errorf("start %d: %v", n, wrong)
			}
		}
	}
	t.Logf("%d starts, %d moves", *starts, moves)
}

// jumping has the cluster's clock go as ours does, but for jumps. With a seed it begins
// at the beginning of 2026.
func jumping() []string { return []string{"--mock-time", "1x"} }

// side runs two runners side by side, the second one a little later.
func (r *rig) side(m *mover, later time.Duration) (results [2]ran) {
	r.t.Helper()
	var both sync.WaitGroup
	for i := range results {
		p, err := proxy.Listen(r.served.address(), m.rule(i))
		if err != nil {
			r.t.Fatal(err)
		}
		defer func() { _ = p.Close() }()
		begin := make(chan struct{})
		time.AfterFunc(time.Duration(i)*later, func() { close(begin) })
		both.Go(func() {
			<-begin
			results[i] = shardsh(r.t, append(r.balances(), "--quiet", "mongodb://"+p.Address()+"/")...)
		})
	}
	both.Wait()
	return results
}

// TestStalledRunner stops a runner in the middle for longer than its turn lasts, on
// the cluster's clock, while another one does the work. When it goes on it sends no
// move any more, though there is something to move again.
func TestStalledRunner(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	r := newRig(t, jumping()...)
	for n := range max(1, *starts/3) {
		r.heap()
		m := &mover{running: map[int]int{}, moved: map[int]int{}}
		stalled := m.stall(t, r)
		if stalled.code == 0 || !strings.Contains(stalled.stdout+stalled.stderr, "the lease was lost") {
			t.Errorf("stall %d: the one that stood still does not say so\n%s", n, stalled)
		}
		if m.moved[2] > 0 {
			t.Errorf("stall %d: %d moves after it stood still\n%s", n, m.moved[2], stalled)
		}
		for _, wrong := range []error{r.untouched(), r.consistent()} {
			if wrong != nil {
				t.Errorf("stall %d: %v\n%s", n, wrong, stalled)
			}
		}
	}
}

// stall stops a runner that has asked for its first move, lets its turn run out, has
// another runner do the work, and lets the first one go on. Its
// moves then count as those of a third.
func (m *mover) stall(t *testing.T, r *rig) ran {
	t.Helper()
	moved, stands := make(chan struct{}), make(chan struct{})
	standing := sync.OnceFunc(func() { close(stands) })
	defer standing()
	own, other := m.rule(0), m.rule(2)
	runner := own
	var once sync.Once
	p, err := proxy.Listen(r.served.address(), func(n int, message proxy.Message) proxy.Verdict {
		m.mu.Lock()
		rule := runner
		m.mu.Unlock()
		if message.Name() == "moveRange" {
			once.Do(func() {
				close(moved)
				<-stands // or it may be done before we stop it
			})
		}
		return rule(n, message)
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := start(ctx, t, append(r.balances(), "--quiet", "mongodb://"+p.Address()+"/")...)
	over := make(chan ran, 1)
	go func() { over <- run.wait() }()
	select {
	case first := <-over:
		t.Fatalf("it ended before it moved anything: %s", first)
	case <-moved:
	}
	if err := run.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	standing()
	r.admin("mockAdvance", (2 * time.Minute).Milliseconds())
	second := shardsh(t, append(r.balances(), "--quiet", r.served.uri)...)
	if second.code != 0 {
		t.Errorf("while the first one stands still: %s", second)
	}
	if err := r.balanced(); err != nil {
		t.Error(err)
	}
	r.heap() // there is something to do again, which does not concern the first one
	m.mu.Lock()
	runner = other
	m.mu.Unlock()
	if err := run.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	return <-over
}

// TestNoClientTimes looks at what a runner sends: no date is in it, nor a number that
// is the time here. The cluster's clock is two days ahead of ours, so that its times are
// not taken for ours.
func TestNoClientTimes(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	r := newRig(t, jumping()...)
	r.heap()
	r.admin("mockAdvance", (48 * time.Hour).Milliseconds())
	var sent []proxy.Message
	result, _, _ := r.through(func(_ int, m proxy.Message) proxy.Verdict {
		if m.Direction == proxy.ToCluster && m.Name() != "" {
			m.Raw = bytes.Clone(m.Raw)
			sent = append(sent, m)
		}
		return proxy.Pass()
	}, r.balances())
	if result.code != 0 {
		t.Fatal(result)
	}
	if err := r.balanced(); err != nil {
		t.Error(err)
	}
	now := time.Now()
	for _, m := range sent {
		command, ok := m.Command()
		if !ok {
			t.Fatalf("a message of %d bytes that is not a command", len(m.Raw))
		}
		if when := dates(command, now); len(when) > 0 {
			t.Fatalf("%s sends our time: %v\n%s", m.Name(), when, command)
		}
	}
	if len(sent) < 50 {
		t.Errorf("only %d commands were seen", len(sent))
	}
}
