//go:build unix

package suite

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shardsh/balancer/live/suite/proxy"
)

var breaks = flag.Int("suite.breaks", 1, "how many messages of each command are cut, frozen and so on; 0 is each of them")

// answered reports whether a command had its answer: findings are one.
func (r ran) answered() bool { return r.code == 0 || r.code == 3 }

// explains reports whether a command that failed says why: a check says it in its
// report.
func (r ran) explains() bool { return r.code == 1 && r.stdout+r.stderr != "" }

// broken is a kind of break in the line, and what must come of it.
type broken struct {
	name string
	// at makes the break at a message.
	at func(n int) proxy.Rule
	// options of the command.
	options []string
	// wrong says what is wrong with how it ended.
	wrong func(ran) string
	// ends: it has to end in time.
	ends bool
}

// timeout is what a command that hangs is given.
const timeout = time.Second

func breaksOfTheLine() []broken {
	return []broken{
		{
			"cut", func(n int) proxy.Rule { return proxy.At(n, proxy.Cut()) }, nil,
			func(r ran) string {
				if !r.answered() && !r.explains() {
					return "it does not say what happened"
				}
				return ""
			}, false,
		},
		{
			"delayed", func(n int) proxy.Rule { return proxy.At(n, proxy.Delay(200*time.Millisecond)) }, nil,
			func(r ran) string {
				if !r.answered() {
					return "it fails because an answer takes its time"
				}
				return ""
			}, false,
		},
		{
			"frozen", func(n int) proxy.Rule { return proxy.At(n, proxy.Freeze()) },
			[]string{"--timeout", timeout.String()},
			func(r ran) string {
				switch told := r.stdout + r.stderr; {
				case r.answered() && r.stderr == "": // what hung was taking leave
				case !strings.Contains(told, "--timeout 1s") && !strings.Contains(told, "can't reach"):
					return "it does not say that it hung"
				}
				return ""
			}, true,
		},
	}
}

// TestBreaks has the line break at a message of each command, in either direction:
// the command ends well or says what happened, and the same command once more, with
// the line whole, ends well.
func TestBreaks(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	random, ends := &lockedChance{of: chance(t)}, newEnds(t, "--timeout", timeout)
	eachWork(t, nil, func(t *testing.T, r *rig, w work, messages int) {
		for _, b := range breaksOfTheLine() {
			for _, n := range chosen(random, messages) {
				breaking(t, r, w, b, n, ends)
			}
		}
	})
}

// eachWork runs a test for each command that changes something, and for half of those that only look,
// which share a cluster.
func eachWork(t *testing.T, serve func(*testing.T) []string, test func(*testing.T, *rig, work, int)) {
	some := looks()
	if *breaks > 0 { // other ones each time
		rand.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		some = some[:len(some)/2]
	}
	groups := map[string][]work{"looks": some}
	for _, w := range append(works(), writing()) {
		groups[w.name] = []work{w}
	}
	for name, group := range groups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var args []string
			if serve != nil {
				args = serve(t)
			}
			r := newRig(t, args...)
			for _, w := range group {
				t.Run(w.name, func(t *testing.T) {
					defer r.within(t)()
					messages := countMessages(t, r, w)
					t.Logf("%d messages", messages)
					test(t, r, w, messages)
				})
			}
		})
	}
}

// within has the rig report to a subtest until left is called.
func (r *rig) within(t *testing.T) (left func()) {
	was := r.t
	r.t, r.served.t = t, t
	return func() { r.t, r.served.t = was, was }
}

// counted is how many messages a command takes: one test counts them, for all.
type counted struct {
	once     sync.Once
	messages int
}

var counts sync.Map // of *counted, by the command's name

// countMessages returns how many messages a command takes when all is well.
func countMessages(t *testing.T, r *rig, w work) int {
	t.Helper()
	known, _ := counts.LoadOrStore(w.name, new(counted))
	c := known.(*counted)
	c.once.Do(func() {
		w.prepare(r)
		result, _, p := r.through(nil, w.first(r))
		if !result.answered() {
			t.Fatal(result)
		}
		c.messages = p.Messages()
	})
	if c.messages == 0 {
		t.Fatal("another test could not count the messages")
	}
	return c.messages
}

// chosen are messages to break the line at: all, or some that lie evenly among them,
// beginning with any.
func chosen(random *lockedChance, messages int) (list []int) {
	most := messages
	if *breaks > 0 {
		most = min(*breaks, messages)
	}
	for i := range most {
		from, to := i*messages/most, (i+1)*messages/most
		list = append(list, 1+from+random.perm(to - from)[0])
	}
	return list
}

// through runs a command by a proxy.
func (r *rig) through(rule proxy.Rule, args []string) (ran, time.Duration, *proxy.Proxy) {
	r.t.Helper()
	p, err := proxy.Listen(r.served.address(), rule)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	began := time.Now()
	result := shardsh(r.t, append(args, "--quiet", "mongodb://"+p.Address()+"/")...)
	return result, time.Since(began), p
}

// breaking breaks the line at the n-th message of a command.
func breaking(t *testing.T, r *rig, w work, b broken, n int, ends *ends) {
	t.Helper()
	w.prepare(r)
	result, took, p := r.through(b.at(n), append(w.first(r), b.options...))
	if b.ends && p.IsFrozen() {
		ends.note(t, fmt.Sprintf("%s, %s at message %d", w.name, b.name, n), took-w.holds)
	}
	complain := func(what string, of ran) {
		t.Errorf("%s, %s at message %d: %s\n%s", w.name, b.name, n, what, of)
	}
	if what := b.wrong(result); what != "" {
		complain(what, result)
	}
	if !result.answered() {
		again := shardsh(t, append(w.again(r), "--quiet", r.served.uri)...)
		if !again.answered() {
			complain("the second run does not end well", again)
		}
	}
	for _, wrong := range []error{w.done(r), r.untouched(), r.consistent()} {
		if wrong != nil {
			complain(wrong.Error(), result)
		}
	}
}

// TestSignals sends SIGTERM to commands whose line is frozen: they end within two
// seconds.
func TestSignals(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	random, ends := &lockedChance{of: chance(t)}, newEnds(t, "SIGTERM", 0)
	eachWork(t, nil, func(t *testing.T, r *rig, w work, messages int) {
		for _, n := range chosen(random, messages) {
			w.prepare(r)
			result, took := r.ended(t, w, n)
			if took > 0 {
				ends.note(t, fmt.Sprintf("%s, frozen at message %d", w.name, n), took)
			}
			if result.answered() {
				continue
			}
			if again := shardsh(t, append(w.again(r), "--quiet", r.served.uri)...); !again.answered() {
				t.Errorf("%s, frozen at message %d and ended: the second run does not end well\n%s", w.name, n, again)
			}
		}
	})
}

// ended runs a command, freezes its line, and ends it.
func (r *rig) ended(t *testing.T, w work, n int) (ran, time.Duration) {
	t.Helper()
	p, err := proxy.Listen(r.served.address(), proxy.At(n, proxy.Freeze()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := start(ctx, t, append(w.first(r), "--quiet", "mongodb://"+p.Address()+"/")...)
	over := make(chan ran, 1)
	go func() { over <- run.wait() }()
	select {
	case result := <-over: // it needed no more than that
		return result, 0
	case <-p.Frozen():
	}
	began := time.Now()
	if err := run.Process.Signal(syscall.SIGTERM); err != nil && !errorsIsDone(err) {
		t.Error(err)
	}
	result := <-over
	return result, time.Since(began)
}

func errorsIsDone(err error) bool { return strings.Contains(err.Error(), os.ErrProcessDone.Error()) }

// TestReplacedRouter kills the cluster's only router in the middle of commands and
// starts another one on the same data.
func TestReplacedRouter(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	random := &lockedChance{of: chance(t)}
	onDisk := func(t *testing.T) []string { return []string{"--dbpath", t.TempDir()} }
	eachWork(t, onDisk, func(t *testing.T, r *rig, w work, messages int) {
		for _, n := range chosen(random, messages) {
			w.prepare(r)
			replacing(t, r, w, n)
		}
	})
}

func replacing(t *testing.T, r *rig, w work, n int) {
	t.Helper()
	var once sync.Once
	var gone sync.WaitGroup
	result, _, _ := r.through(func(i int, _ proxy.Message) proxy.Verdict {
		if i == n {
			gone.Add(1)
			once.Do(func() { go func() { defer gone.Done(); r.served.restart() }() })
		}
		return proxy.Pass()
	}, w.first(r))
	gone.Wait()
	r.reconnect()
	if !result.answered() {
		if !result.explains() {
			t.Errorf("%s, the router replaced at message %d: it does not say what happened\n%s", w.name, n, result)
		}
		if again := shardsh(t, append(w.again(r), "--quiet", r.served.uri)...); !again.answered() {
			t.Errorf("%s, the router replaced at message %d: the second run does not end well\n%s", w.name, n, again)
		}
	}
	for _, wrong := range []error{w.done(r), r.untouched(), r.consistent()} {
		if wrong != nil {
			t.Errorf("%s, the router replaced at message %d: %v\n%s", w.name, n, wrong, result)
		}
	}
}
