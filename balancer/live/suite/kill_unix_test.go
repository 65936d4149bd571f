//go:build unix

package suite

import (
	"context"
	"flag"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

var (
	kills = flag.Int("suite.kills", 2, "how often each command that changes a cluster is killed")
	seed  = flag.Uint64("suite.seed", 0, "seed of random choices; 0 takes one of the time")
)

// chance is a source of choices, and how to make them again.
func chance(t testing.TB) *rand.Rand {
	t.Helper()
	s := *seed
	if s == 0 {
		s = uint64(time.Now().UnixNano())
	}
	t.Logf("again: -suite.seed %d", s)
	return rand.New(rand.NewPCG(s, 0))
}

// lockedChance is for tests that run side by side.
type lockedChance struct {
	mu sync.Mutex
	of *rand.Rand
}

func (c *lockedChance) perm(n int) []int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.of.Perm(n)
}

// TestKills kills commands at random instants while clients write and read. Each ends
// well when it is started again, with nothing lost, doubled, or left behind.
func TestKills(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	for _, w := range works() {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			killing(t, w, *kills)
		})
	}
}

// clientsAtOnce is how many clients work while commands are killed.
const clientsAtOnce = 16

func killing(t *testing.T, w work, times int) {
	random := chance(t)
	r := newRig(t)
	cs := newClients(r, clientsAtOnce, random.Uint64())
	var lasts time.Duration // a whole run, the longest so far
	killed, whole := 0, 0
	for killed < times && !t.Failed() {
		w.prepare(r)
		args := append(w.first(r), r.served.uri)
		for {
			began := time.Now()
			// The first runs to its end, for how long that takes; after a kill one in
			// three is killed, too.
			end := time.Duration(random.Int64N(int64(lasts+lasts/10) + 1))
			if lasts == 0 || killed >= times {
				end = 0
			}
			result := killedAfter(t, end, args)
			if result.code == 0 {
				lasts = max(lasts, time.Since(began))
				whole++
				break
			}
			if result.code > 0 {
				t.Fatalf("after %d kills: %v\n%s", killed, result, &r.served.log)
			}
			killed++
			args = append(w.again(r), r.served.uri)
		}
		for _, wrong := range []error{w.done(r), r.untouched(), r.consistent()} {
			if wrong != nil {
				t.Errorf("after %d kills: %v", killed, wrong)
			}
		}
	}
	writes, reads := cs.end()
	t.Logf("%d kills, %d runs to the end, %d writes and %d reads by %d clients; a whole run takes %v",
		killed, whole, writes, reads, clientsAtOnce, lasts.Round(time.Millisecond))
}

// killedAfter runs the program, and kills it after a while unless it has ended; 0 lets
// it end.
func killedAfter(t *testing.T, d time.Duration, args []string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	p := start(ctx, t, args...)
	if d > 0 {
		timer := time.AfterFunc(d, func() { _ = p.Process.Kill() })
		defer timer.Stop()
	}
	return p.wait()
}
