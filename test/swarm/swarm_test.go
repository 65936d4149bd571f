package swarm

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"shardsh/test/swarm/trace"
)

var (
	seeds = flag.Uint64("swarm.seeds", 40, "how many seeds")
	first = flag.Uint64("swarm.first", 0, "the first seed")
	texts = flag.Bool("swarm.texts", false, "with the texts of errors in the traces, which are not the same each time")
	stops = flag.Bool("swarm.stop", false, "stop at the first seed that breaks a rule")
	least = flag.Int("swarm.shrink", 0, "shrink a seed that breaks a rule, with so many runs at most")
	most  = flag.Duration("swarm.most", 0, "end the process when a seed takes longer than that, by the wall")
	shown = flag.Bool("swarm.trace", false, "print the traces")
)

// checkers are all rules.
var checkers = []trace.Checker{
	trace.CheckChunks, trace.CheckZones, trace.CheckOrphanedChunks, trace.CheckRemovedShards, trace.CheckWrites, trace.CheckRounds(throttle), trace.CheckBalancerStop,
	trace.CheckMigrations, trace.CheckFailedCommands, trace.CheckOneRunner, trace.CheckSwitchedOff, trace.CheckUndone, trace.CheckIndexes, trace.CheckAtRest,
	trace.CheckUUIDs, trace.CheckAborts, trace.CheckSizeBalancing, trace.CheckDeletions,
}

// throttle is balancerMigrationsThrottlingMs, in microseconds.
const throttle = 1_000_000

func check(t trace.Trace) (found []trace.Violation) {
	for _, c := range checkers {
		found = append(found, c(t)...)
	}
	return found
}

// No rule is broken, whatever happens.
func TestSwarm(t *testing.T) {
	n := *seeds
	if testing.Short() {
		n = min(n, 10)
	}
	for seed := *first; seed < *first+n; seed++ {
		s := draw(seed)
		watching := watch(seed)
		events := run(t, s)
		watching.Stop()
		if *shown {
			t.Logf("%s", events.Lines())
		}
		found := check(events)
		for _, v := range found {
			t.Errorf("seed %d: %s", seed, v)
		}
		if len(found) > 0 && *least > 0 {
			t.Logf("what it needs, for shardsh test:\n%s", shrink(t, s, found[0].Rule, *least).script(found[0].Rule))
		}
		if *stops && t.Failed() {
			return
		}
	}
}

// tooLong is the exit code of a process that was ended by -swarm.most: nothing else ends what computes
// without an end while no time passes.
const tooLong = 3

func watch(seed uint64) *time.Timer {
	if *most == 0 {
		return time.NewTimer(0)
	}
	return time.AfterFunc(*most, func() {
		fmt.Printf("seed %d: endless\n", seed)
		os.Exit(tooLong)
	})
}

// The same seed gives the same trace. On a busy machine Go takes a goroutine from the one
// processor after 10 ms of the wall, and those that are due at the same moment change places:
// two of a few runs have to agree.
func TestSameSeedSameTrace(t *testing.T) {
	if testing.Short() {
		t.Skip("with the race detector goroutines run in another order")
	}
	for seed := *first; seed < *first+5; seed++ {
		one, two := run(t, draw(seed)).Lines(), run(t, draw(seed)).Lines()
		for n := 0; n < 3 && !bytes.Equal(one, two); n++ {
			one, two = two, run(t, draw(seed)).Lines()
		}
		if bytes.Equal(one, two) {
			continue
		}
		a, b := bytes.Split(one, []byte("\n")), bytes.Split(two, []byte("\n"))
		n := 0
		for n < min(len(a), len(b)) && bytes.Equal(a[n], b[n]) {
			n++
		}
		t.Errorf("seed %d: two traces, which differ from here on:\n%s\n\n%s", seed, bytes.Join(a[n:min(n+3, len(a))], []byte("\n")),
			bytes.Join(b[n:min(n+3, len(b))], []byte("\n")))
	}
}
