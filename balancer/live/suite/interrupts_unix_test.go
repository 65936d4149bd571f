//go:build unix

package suite

import (
	"context"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live/suite/proxy"
)

// stages are how often Ctrl-C is pressed in the middle of a move, and what comes of it.
var stages = []struct {
	name string
	told string // the last time
	made int64  // moves, when the run has ended; -1 where that is for the servers
}{
	{"once", "Stopping after the running steps", 1},
	{"twice", "has stopped the move", 0},
	{"three times", "The servers complete the running moves", -1},
}

// TestInterrupts sends SIGINT to runs in the middle of their first move: the first time
// the move is brought to its end, the second time its donor is asked to stop it, and
// the third time, when nothing came of that, it is left to them. The same command once
// more ends well.
func TestInterrupts(t *testing.T) {
	asProcesses(t)
	t.Parallel()
	random := &lockedChance{of: chance(t)}
	for _, w := range works() {
		if w.name == "quiesce" {
			continue // it moves nothing
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			chosen := random.perm(len(stages))
			if !*whole {
				chosen = chosen[:1]
			}
			for _, n := range chosen {
				times := n + 1
				t.Run(stages[times-1].name, func(t *testing.T) {
					defer r.within(t)()
					interrupting(t, r, w, times)
				})
			}
		})
	}
}

func interrupting(t *testing.T, r *rig, w work, times int) {
	t.Helper()
	w.prepare(r)
	before, s := r.moves(), stages[times-1]
	bandwidth := "400KB" // more than a second for a move
	if s.made == 0 {
		bandwidth = "100KB" // it is to be interrupted before its end, also on a busy machine
	}
	r.admin("mockSlow", "shard0", "bandwidth", bandwidth)
	moving, killing := make(chan struct{}), make(chan struct{})
	var first, kill sync.Once
	p, err := proxy.Listen(r.served.address(), func(_ int, m proxy.Message) proxy.Verdict {
		switch m.Name() {
		case "moveRange":
			first.Do(func() { close(moving) })
		case "killOp":
			kill.Do(func() { close(killing) })
			if times > len(stages)-1 { // it does not get there
				return proxy.Delay(patience)
			}
		}
		return proxy.Pass()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = p.Close() }()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	run := start(ctx, t, append(w.first(r), "mongodb://"+p.Address()+"/")...)
	over := make(chan ran, 1)
	go func() { over <- run.wait() }()
	await := func(what string, come <-chan struct{}) {
		select {
		case <-come:
		case r := <-over:
			t.Fatalf("it ended before %s: %s", what, r)
		}
	}
	await("its move", moving)
	r.migrating(t)
	for n := range times {
		if err := run.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		switch n {
		case 0:
			run.says(t, stages[0].told)
		case 1:
			await("the donor was asked", killing)
		}
	}
	result := <-over
	if result.code != 130 || !strings.Contains(result.stderr, s.told) {
		t.Errorf("it ought to say that %q: %s", s.told, result)
	}
	if times == len(stages) && strings.Contains(result.stdout, " failed ") {
		t.Errorf("a move that was left is not a failure: %s", result)
	}
	if made := r.moves() - before; s.made >= 0 && made != s.made {
		t.Errorf("%d moves were made, not %d: %s", made, s.made, result)
	}
	r.admin("mockSlow", "shard0")
	if again := shardsh(t, append(w.again(r), "--quiet", r.served.uri)...); again.code != 0 {
		t.Errorf("the second run does not end well: %s\n%s", again, result)
	}
	for _, wrong := range []error{w.done(r), r.untouched(), r.consistent()} {
		if wrong != nil {
			t.Errorf("%v\n%s", wrong, result)
		}
	}
}

// moves is how many moves were made so far, by anybody.
func (r *rig) moves() int64 {
	r.t.Helper()
	n, err := r.client.Database("config").Collection("changelog").CountDocuments(context.Background(),
		bson.D{{Key: "what", Value: "moveChunk.commit"}})
	if err != nil {
		r.t.Fatal(err)
	}
	return n
}

// migrating waits until a donor is at a move.
func (r *rig) migrating(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); {
		cursor, err := r.client.Database("admin").Aggregate(context.Background(), bson.A{
			bson.D{{Key: "$currentOp", Value: bson.D{{Key: "allUsers", Value: true}, {Key: "idleConnections", Value: true}}}},
			bson.D{{Key: "$match", Value: bson.D{{Key: "desc", Value: "MoveChunk"}}}}})
		var found []bson.Raw
		if err == nil {
			err = cursor.All(context.Background(), &found)
		}
		if err != nil {
			t.Fatal(err)
		}
		if len(found) > 0 {
			return
		}
	}
	t.Error("no donor is at a move")
}
