package balancer_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// Q01 of rules/01-examples-and-traps §11.4: four rounds, then none.
func TestRoundsEvenOutACollection(t *testing.T) {
	f := newFake("a", "b", "c")
	coll := f.add(t, "db.c", 1000, 0, 0)
	f.run(t)
	f.advance(time.Minute)

	var got []string
	for _, m := range f.moves {
		got = append(got, moveText(m))
	}
	want := []string{"db.c a>b", "db.c a>c", "db.c a>b", "db.c a>c"}
	if !slices.Equal(got, want) {
		t.Errorf("moves %v, want %v", got, want)
	}
	if a, b, c := coll.sizes["a"]/mib, coll.sizes["b"]/mib, coll.sizes["c"]/mib; a != 488 || b != 256 || c != 256 {
		t.Errorf("sizes %d/%d/%d, want 488/256/256", a, b, c)
	}
}

// A round with candidates is followed at once by the next, whose migrations
// wait for the throttle; an idle one by ten seconds (rules/01-rounds-and-settings §1.3).
func TestTimesBetweenRounds(t *testing.T) {
	f := newFake("a", "b", "c")
	f.add(t, "db.c", 1000, 0, 0)
	loop := f.run(t)
	f.advance(12 * time.Second)

	// Each batch takes 2 s, the gap to the next is the throttle of 1 s.
	var ends []time.Duration
	for _, l := range f.log {
		ends = append(ends, l.at.Sub(start))
	}
	want := []time.Duration{2 * time.Second, 5 * time.Second, 8 * time.Second, 11 * time.Second}
	if !slices.Equal(ends, want) {
		t.Fatalf("rounds ended at %v, want %v", ends, want)
	}
	if got := field(t, f.log[1].details, "times").(bson.D); field(t, got, "throttleTimeMillis") != int64(1000) || field(t, got, "migrationTimeMillis") != int64(2000) {
		t.Errorf("times %v", got)
	}
	before := loop.Status().Rounds
	f.advance(30 * time.Second)
	if got := loop.Status().Rounds - before; got != 3 {
		t.Errorf("%d idle rounds in 30 s, want 3", got)
	}
	if len(f.log) != 4 {
		t.Errorf("%d entries in the action log: idle rounds must not write any", len(f.log))
	}
}

func TestActionLogEntryOfARound(t *testing.T) {
	f := newFake("a", "b", "c", "d")
	f.add(t, "db.c", 1000, 0, 500, 500)
	f.run(t)
	f.advance(3 * time.Second)
	if len(f.log) == 0 {
		t.Fatal("no entry")
	}
	entry := f.log[0]
	if entry.what != "balancer.round" {
		t.Errorf("what = %q", entry.what)
	}
	want := bson.D{
		{Key: "executionTimeMillis", Value: int32(2000)},
		{Key: "errorOccurred", Value: false},
		{Key: "candidateChunks", Value: int32(1)},
		{Key: "chunksMoved", Value: int32(1)},
		{Key: "candidateUnshardedCollections", Value: int32(0)},
		{Key: "unshardedCollectionsMoved", Value: int32(0)},
		{Key: "imbalancedCachedCollections", Value: int32(1)},
	}
	if got := entry.details[:len(want)]; !slices.EqualFunc(got, want, func(a, b bson.E) bool { return a == b }) {
		t.Errorf("details %v, want %v", got, want)
	}
}

func TestSwitchedOffOrOutsideTheWindow(t *testing.T) {
	tests := []struct {
		name    string
		setting bson.D
		moves   int
	}{
		{"mode off", bson.D{{Key: "mode", Value: "off"}}, 0},
		{"stopped", bson.D{{Key: "stopped", Value: true}}, 0},
		{"outside the window", window("13:00", "14:00"), 0},
		{"inside the window", window("11:00", "14:00"), 4},
		{"bad window", window("25:00", "14:00"), 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake("a", "b", "c")
			f.add(t, "db.c", 1000, 0, 0)
			f.settings["balancer"] = append(bson.D{{Key: "_id", Value: "balancer"}}, tt.setting...)
			loop := f.run(t)
			f.advance(35 * time.Second)
			if len(f.moves) != tt.moves {
				t.Errorf("%d moves, want %d", len(f.moves), tt.moves)
			}
			// Skipped rounds count too. Settings that can't be read keep the main
			// thread from starting its first round at all.
			if rounds := loop.Status().Rounds; tt.name != "bad window" && rounds == 0 {
				t.Error("no round was counted")
			}
		})
	}
}

func window(from, to string) bson.D {
	return bson.D{{Key: "activeWindow", Value: bson.D{{Key: "start", Value: from}, {Key: "stop", Value: to}}}}
}

// W17: the window closes between selection and execution.
func TestW17SwitchedOffBeforeTheMove(t *testing.T) {
	f := newFake("a", "b", "c")
	f.add(t, "db.c", 1000, 0, 0)
	f.settings["balancer"] = append(bson.D{{Key: "_id", Value: "balancer"}}, window("11:00", "12:00")...)
	f.measureTime = 90 * time.Second // the measurement outlasts the window
	f.run(t)
	f.advance(2 * time.Minute)
	if len(f.moves) != 0 {
		t.Errorf("%d moves were sent", len(f.moves))
	}
	if len(f.log) != 1 {
		t.Fatalf("%d entries in the action log, want 1", len(f.log))
	}
	if got := field(t, f.log[0].details, "candidateChunks"); got != int32(1) {
		t.Errorf("candidateChunks = %v", got)
	}
	if got := field(t, f.log[0].details, "chunksMoved"); got != int32(0) {
		t.Errorf("chunksMoved = %v", got)
	}
}

func TestFailedRound(t *testing.T) {
	f := newFake("a", "b")
	f.add(t, "db.c", 1000, 0)
	f.failShards = errors.New("config server gone")
	loop := f.run(t)
	f.advance(25 * time.Second)
	if got := loop.Status().Rounds; got != 3 {
		t.Errorf("%d rounds, want 3: ten seconds after a failure", got)
	}
	if len(f.log) != 3 || field(t, f.log[0].details, "errorOccurred") != true || field(t, f.log[0].details, "errmsg") != "config server gone" {
		t.Errorf("action log %v", f.log)
	}
	f.failShards = nil
	f.advance(20 * time.Second)
	if len(f.moves) == 0 {
		t.Error("the loop did not recover")
	}
}

func many(t *testing.T, shards []string, n int, sizes func(i int) []int64) *fakeCluster {
	f := newFake(shards...)
	for i := range n {
		f.add(t, fmt.Sprintf("db.c%03d", i), sizes(i)...)
	}
	return f
}

func balanced(shards int) []int64 {
	sizes := make([]int64, shards)
	for i := range sizes {
		sizes[i] = 100
	}
	return sizes
}

// B01 (without a cache before): batches of 100, the rest in a second command.
func TestB01BatchesOfCollections(t *testing.T) {
	f := many(t, []string{"a", "b"}, 130, func(int) []int64 { return balanced(2) })
	f.run(t)
	f.advance(time.Second)
	if len(f.measured) != 2 || len(f.measured[0]) != 100 || len(f.measured[1]) != 30 {
		t.Errorf("measured %d batches", len(f.measured))
	}
}

// B02: two shards and a candidate in the first batch: the second is never
// measured.
func TestB02NoShardsLeft(t *testing.T) {
	f := many(t, []string{"a", "b"}, 130, func(i int) []int64 {
		if i == 5 {
			return []int64{1000, 0}
		}
		return balanced(2)
	})
	f.run(t)
	f.advance(time.Second)
	if len(f.measured) != 1 || len(f.moves) != 1 {
		t.Errorf("%d batches, %d moves, want one of each", len(f.measured), len(f.moves))
	}
}

// B03 and B04: the time limit of selection needs a candidate.
func TestB03B04SelectionTimeout(t *testing.T) {
	tests := []struct {
		name      string
		imbalance bool
		batches   int
	}{
		{"with a candidate", true, 1},
		{"without", false, 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := many(t, []string{"a", "b", "c", "d", "e", "f"}, 130, func(i int) []int64 {
				sizes := balanced(6)
				if tt.imbalance && i == 5 {
					sizes[0] = 2000
				}
				return sizes
			})
			f.measureTime = 5001 * time.Millisecond
			f.run(t)
			f.advance(time.Second)
			if len(f.measured) != tt.batches {
				t.Errorf("%d batches, want %d", len(f.measured), tt.batches)
			}
		})
	}
}

// B05 and B07: the cache forgets collections that may not be balanced, and
// holds 75 at most.
func TestB05B07ImbalancedCache(t *testing.T) {
	f := many(t, []string{"a", "b"}, 90, func(int) []int64 { return []int64{1000, 0} })
	f.moveErr = func(policy.Migration) error { return mongoerr.New(mongoerr.ChunkTooBig, "stays imbalanced") }
	f.run(t)
	f.advance(30 * time.Second)
	last := f.log[len(f.log)-1]
	cached := field(t, last.details, "imbalancedCachedCollections").(int32)
	if cached < 1 || cached > 75 {
		t.Errorf("%d collections cached, want 1 to 75", cached)
	}
	for _, c := range f.colls {
		c.entry.NoBalance = true
	}
	measured := len(f.measured)
	moves := len(f.moves)
	f.advance(time.Minute)
	if len(f.moves)-moves > 1 || len(f.measured)-measured > 1 {
		t.Errorf("collections with noBalance were measured %d times and moved %d times", len(f.measured)-measured, len(f.moves)-moves)
	}
}

// A shard takes part in at most one migration at a time, over all collections.
func TestMigrationsOfARoundAreDisjoint(t *testing.T) {
	f := newFake("a", "b", "c", "d")
	f.add(t, "db.c1", 1000, 0, 500, 500)
	f.add(t, "db.c2", 2000, 0, 900, 0)
	f.run(t)
	f.advance(time.Minute)
	if f.overlaps != 0 {
		t.Errorf("%d migrations met on a shard", f.overlaps)
	}
	// M01: both collections get their pair in the first round.
	if got := []string{moveText(f.moves[0]), moveText(f.moves[1])}; !slices.Equal(got, []string{"db.c1 a>b", "db.c2 c>d"}) {
		t.Errorf("first round moved %v", got)
	}
}

func TestTerminateEndsTheLoop(t *testing.T) {
	f := newFake("a", "b", "c")
	f.add(t, "db.c", 1000, 0, 0)
	loop := balancer.NewLoop(balancer.Config{Location: time.Local})
	driver := balancer.NewEventDriver(f.queue, loop, f)
	driver.Start()
	f.advance(3 * time.Second)
	driver.Stop()
	moves := len(f.moves)
	f.advance(time.Hour)
	if len(f.moves) != moves {
		t.Error("the loop went on after Stop")
	}
	if _, ok := loop.Resume(f.queue.Now(), nil).(balancer.Stopped); !ok {
		t.Error("a closed loop still asks for steps")
	}
}

// A command that sets settings while a round reads them wins: what the round
// read is older.
func TestSettingsReadLateAreReadAgain(t *testing.T) {
	f := newFake("a", "b")
	loop := balancer.NewLoop(balancer.Config{Location: time.UTC})
	defer loop.Close()
	off := catalog.DefaultSettings()
	off.Mode = catalog.ModeOff
	var result any
	reads := 0
	for range 20 {
		step := loop.Resume(start, result)
		if _, sleeping := step.(balancer.Sleep); sleeping {
			break
		}
		c, isCall := step.(balancer.Call)
		if !isCall {
			t.Fatalf("unexpected step %T", step)
		}
		result = c.Do(t.Context(), f)
		if c.Name != "settings" {
			continue
		}
		if reads++; reads == 2 { // the round's own read; the first is of the start-up
			f.settings["balancer"] = bson.D{{Key: "_id", Value: "balancer"}, {Key: "mode", Value: "off"}}
			loop.SetSettings(off)
		}
	}
	if reads != 3 || loop.Settings().Mode != catalog.ModeOff {
		t.Errorf("%d reads, mode %s", reads, loop.Settings().Mode)
	}
}
