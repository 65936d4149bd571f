package balancer_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// The traps of rules/02-examples-and-traps §11 about the secondary thread. Trap 1 is a subtest of
// the worked examples of the streams, trap 2 lies beside the throttle, trap 8 is
// tested with the mock's scheduler.

// Trap 3: the throttle sleeps in the thread that issues, so a measurement waits
// for an auto-merge's pause.
func TestStreamsTrap03TheThrottleHoldsUpEverything(t *testing.T) {
	f := newFake("A", "B")
	f.mergeable = []policy.MergeWork{{Shard: "A", Namespaces: []string{"db.a"}}, {Shard: "B", Namespaces: []string{"db.a"}}}
	f.run(t)
	f.advance(time.Second)
	if got := f.started(policy.MergeAll); len(got) != 1 {
		t.Fatalf("auto-merges at %v, want one: the second shard's waits", got)
	}
	f.defragment(t, "db.c", 1)
	f.advance(10 * time.Second) // the next round finds the defragmentation
	if got := f.started(policy.MeasureRange); len(got) != 0 {
		t.Errorf("measured at %v, before the pause of 15 s was over", got)
	}
	f.advance(time.Minute)
	if got := f.started(policy.MeasureRange); len(got) != 2 || got[0] != 15*time.Second {
		t.Errorf("measured at %v, want two at the end of the pause", got)
	}
}

// Trap 4: the back-off goes on where it was, also after successes; and a stream
// that fails pauses the thread although the other one had an action.
func TestStreamsTrap04TheBackoffIsNeverReset(t *testing.T) {
	f := newFake("A")
	f.mergeableErr = mongoerr.New(mongoerr.HostUnreachable, "no answer")
	f.run(t)
	f.advance(100 * time.Millisecond) // pauses of 1 to 32 ms, and 37 of the one of 64 ms
	f.mergeableErr = nil
	f.advance(10 * time.Second) // the round of the auto-merger ends
	f.mergeableErr = mongoerr.New(mongoerr.HostUnreachable, "no answer")
	f.asked = nil
	f.advance(time.Hour + 20*time.Second) // the next one begins
	got := f.pauses()
	if i := slices.IndexFunc(got, func(ms int64) bool { return ms > 0 }); i < 0 || got[i] != 128 {
		t.Errorf("pauses of %v ms, want 128 first", got[:min(5, len(got))])
	}
}

// Trap 5: a fresh toss each time which stream is asked first; the other one is
// asked if the first has nothing.
func TestStreamsTrap05WhichStreamIsAskedFirst(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(40) {
		f := newFake("A")
		f.mergeable = []policy.MergeWork{{Shard: "A", Namespaces: []string{"db.a", "db.b", "db.c"}}}
		for _, ns := range []string{"db.d", "db.e", "db.f"} {
			f.defragment(t, ns, 1)
		}
		f.noReplies = true
		loop := balancer.NewLoop(balancer.Config{Location: time.Local, Rand: rand.New(rand.NewPCG(seed, 2))})
		driver := balancer.NewEventDriver(f.queue, loop, f)
		driver.Start()
		f.advance(time.Minute)
		driver.Stop()
		var order string
		for _, s := range f.actions {
			order += s.action.Kind.String()[:1]
		}
		if len(order) != 6 {
			t.Fatalf("%d actions, want all six: the other stream is asked if the first has nothing", len(order))
		}
		seen[order] = true
	}
	if len(seen) < 10 { // of the 20 there are
		t.Errorf("only the orders %v of merges and measurements", seen)
	}
}

// Trap 6: what wakes the streams while they ask is not lost.
func TestStreamsTrap06AWakeUpWhileAskingIsNotLost(t *testing.T) {
	f := newFake("A")
	f.settings["automerge"] = bson.D{{Key: "enabled", Value: false}}
	f.defragment(t, "db.asked first", 1)
	f.defragment(t, "db.asked second", 1)
	f.noReplies = true
	f.run(t)
	f.advance(time.Second)
	if len(f.actions) != 2 {
		t.Fatalf("%d measurements are under way, want two", len(f.actions))
	}
	// While the second collection goes to its next phase, the first one's
	// measurement fails and has to be asked for again.
	f.onPhase = func() {
		f.onPhase = nil
		f.replies[0](policy.StreamActionResult{Err: mongoerr.New(mongoerr.NetworkTimeout, "timeout")})
	}
	f.replies[1](policy.StreamActionResult{MaxReached: true})
	f.advance(0)
	if len(f.actions) != 3 {
		t.Errorf("%d actions, want the third at once and not with the next round", len(f.actions))
	}
}

// Trap 7: a shard that does not answer holds up the round, for ever, and not the
// secondary thread.
func TestStreamsTrap07AHangingShardHoldsUpTheRoundOnly(t *testing.T) {
	f := newFake("A", "B", "C")
	f.add(t, "db.big", 1000, 0, 0)
	f.moveTime = 1000 * time.Hour
	loop := f.run(t)
	f.advance(time.Minute)
	rounds := loop.Status().Rounds
	f.mergeable = []policy.MergeWork{{Shard: "A", Namespaces: []string{"db.a"}}}
	f.advance(2 * time.Hour)
	if n := loop.Status().Rounds; n != rounds || !loop.Status().InRound {
		t.Errorf("%d rounds have ended since, want none", n-rounds)
	}
	if len(f.moves) != 1 {
		t.Errorf("moved %d times, want one: nothing is sent again", len(f.moves))
	}
}

// Trap 25: while a collection is defragmented, nothing of it drains but small
// chunks, and none of it is balanced.
func TestDefragmentationTrap25OrdinaryMovesAreSuspended(t *testing.T) {
	f := newFake("A", "B", "C")
	f.settings["automerge"] = bson.D{{Key: "enabled", Value: false}}
	c := f.defragment(t, "db.c", 3)
	f.shards[0].Draining = true
	c.sizes["B"] = 100_000 * mib
	f.noReplies = true // the first phase goes on for ever
	f.run(t)
	f.advance(time.Minute)
	if len(f.moves) != 0 {
		t.Errorf("moved %v", f.moves)
	}
	c.entry.Defragment = false
	f.advance(time.Minute)
	if len(f.moves) == 0 {
		t.Error("nothing drains although the defragmentation is over")
	}
}

// rules/02-defragmentation-and-merging §4.3: a split command takes 8192 points; the rest follows with
// the next round.
func TestSplitPointsOfOneCommand(t *testing.T) {
	f := newFake("A")
	c := f.add(t, "db.c", 0)
	p := c.entry.Pattern
	bound := func(n int) catalog.Key {
		key, err := p.ParseKey(document(t, bson.D{{Key: "x", Value: int32(n)}}))
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	for i := range 5000 { // two borders each
		if err := c.zones.Add(catalog.ZoneRange{Min: bound(2 * i), Max: bound(2*i + 1), Zone: "z"}); err != nil {
			t.Fatal(err)
		}
	}
	f.run(t)
	f.advance(time.Second)
	if len(f.splits) == 0 || len(f.splits[0].Points) != 8192 {
		t.Fatalf("%d splits, want one at 8192 points", len(f.splits))
	}
}
