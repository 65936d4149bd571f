package balancer_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// runConfig turns a loop on the fake's queue.
func (f *fakeCluster) runConfig(t testing.TB, cfg balancer.Config) *balancer.Loop {
	t.Helper()
	cfg.Location = time.Local
	loop := balancer.NewLoop(cfg)
	driver := balancer.NewEventDriver(f.queue, loop, f)
	driver.Start()
	t.Cleanup(driver.Stop)
	return loop
}

// addChunks makes a collection with one chunk after the other on the shards
// named, without sizes.
func (f *fakeCluster) addChunks(t testing.TB, ns string, owners ...string) *fakeCollection {
	t.Helper()
	coll := f.add(t, ns, 0)
	min := coll.entry.Pattern.GlobalMin()
	var chunks []catalog.Chunk
	for i, owner := range owners {
		max := coll.entry.Pattern.GlobalMax()
		if i < len(owners)-1 {
			var err error
			if max, err = coll.entry.Pattern.ParseKey(document(t, bson.D{{Key: "x", Value: int32(10 * (i + 1))}})); err != nil {
				t.Fatal(err)
			}
		}
		chunks = append(chunks, catalog.Chunk{Min: min, Max: max, Shard: catalog.ShardID(owner), Version: catalog.ChunkVersion{Major: 1, Minor: uint32(i)}})
		min = max
	}
	var err error
	coll.table, err = catalog.NewRoutingTable(coll.entry.Pattern, bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values(chunks))
	if err != nil {
		t.Fatal(err)
	}
	return coll
}

// rules/01-rounds-and-settings §1.8, the sleeps of each release. Migrations take 2 s and move
// nothing that the counts would show, so that every round has a candidate.
func TestSleepsOfReleases(t *testing.T) {
	for _, tt := range []struct {
		release  catalog.Release
		moving   time.Duration // from one migration to the next, over its 2 s
		failing  time.Duration // the same when each fails
		disabled time.Duration
		failed   time.Duration // after a round that failed
	}{
		{catalog.Release24, 5 * time.Second, 10 * time.Second, 30 * time.Second, 30 * time.Second},
		{catalog.Release34, time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second},
		{catalog.Release50, time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second},
		{catalog.Release60, time.Second, 10 * time.Second, 10 * time.Second, 10 * time.Second},
		{catalog.Release70, time.Second, time.Second, 10 * time.Second, 10 * time.Second},
		{catalog.Release80, time.Second, time.Second, 10 * time.Second, 10 * time.Second},
	} {
		t.Run(tt.release.String(), func(t *testing.T) {
			cluster := func() *fakeCluster {
				f := newFake("a", "b")
				f.addChunks(t, "db.c", "a", "a", "a", "a").sizes = map[catalog.ShardID]int64{"a": 1 << 40, "b": 0}
				return f
			}
			between := func(f *fakeCluster) time.Duration {
				var starts []time.Time
				moves := 0
				f.runConfig(t, balancer.Config{Release: tt.release})
				for range 400 {
					if len(f.moves) > moves {
						starts, moves = append(starts, f.queue.Now()), len(f.moves)
					}
					f.advance(100 * time.Millisecond)
				}
				if len(starts) < 3 {
					t.Fatalf("%d migrations", len(starts))
				}
				return starts[2].Sub(starts[1]) - f.moveTime
			}
			if got := between(cluster()); got != tt.moving {
				t.Errorf("%v after a round that moved something, want %v", got, tt.moving)
			}
			f := cluster()
			f.moveErr = func(policy.Migration) error { return errors.New("no") }
			if got := between(f); got != tt.failing {
				t.Errorf("%v after a round whose migration failed, want %v", got, tt.failing)
			}

			f = cluster()
			f.settings["balancer"] = bson.D{{Key: "stopped", Value: true}}
			loop := f.runConfig(t, balancer.Config{Release: tt.release})
			f.advance(2 * time.Minute)
			if got, want := loop.Status().Rounds, int64(2*time.Minute/tt.disabled)+1; got != want {
				t.Errorf("%d rounds in two minutes while disabled, want %d", got, want)
			}
			f = cluster()
			f.failShards = errors.New("gone")
			loop = f.runConfig(t, balancer.Config{Release: tt.release})
			f.advance(2 * time.Minute)
			if got, want := loop.Status().Rounds, int64(2*time.Minute/tt.failed)+1; got != want {
				t.Errorf("%d failed rounds in two minutes, want %d", got, want)
			}
		})
	}
}

// rules/01-examples-and-traps §12, trap 38: 3.4 chooses for each collection on its own, later
// releases do not.
func TestTrap38ConflictingMigrationsOf34(t *testing.T) {
	for release, want := range map[catalog.Release][]string{
		catalog.Release34: {"db.c a>b", "db.d a>b"},
		catalog.Release44: {"db.c a>b"},
	} {
		f := newFake("a", "b")
		f.addChunks(t, "db.c", "a", "a", "a")
		f.addChunks(t, "db.d", "a", "a", "a")
		f.runConfig(t, balancer.Config{Release: release})
		f.advance(time.Second)
		var got []string
		for _, m := range f.moves {
			got = append(got, moveText(m))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the first round moves %v, want %v", release, got, want)
		}
	}
}

// rules/01-selection §9.3: up to 3.2 the migrations of a round run one after the other.
func TestMigrationsOf24RunOneByOne(t *testing.T) {
	f := newFake("a", "b")
	f.addChunks(t, "db.c", "a", "a", "a")
	f.addChunks(t, "db.d", "a", "a", "a")
	f.runConfig(t, balancer.Config{Release: catalog.Release24})
	f.advance(time.Second)
	if len(f.moves) != 1 {
		t.Errorf("%d migrations at once", len(f.moves))
	}
	f.advance(2 * time.Second)
	if len(f.moves) != 2 || f.moves[1].Namespace != "db.d" {
		t.Errorf("the second collection does not follow: %d migrations", len(f.moves))
	}
	if len(f.log) != 0 {
		t.Error("2.4 has no action log")
	}
}

// rules/01-rounds-and-settings §2.8: which switches of a collection a release knows.
func TestSwitchesOfCollections(t *testing.T) {
	for _, tt := range []struct {
		release catalog.Release
		change  func(*catalog.Collection)
		moves   bool
	}{
		{catalog.Release44, func(c *catalog.Collection) { c.NoBalance = true }, false},
		{catalog.Release44, func(c *catalog.Collection) { c.AllowMigrations = false }, true},
		{catalog.Release50, func(c *catalog.Collection) { c.AllowMigrations = false }, false},
		{catalog.Release50, func(c *catalog.Collection) { c.PermitMigrations = false }, false},
		{catalog.Release50, func(c *catalog.Collection) { c.Defragment = true }, true},
	} {
		f := newFake("a", "b")
		tt.change(&f.addChunks(t, "db.c", "a", "a", "a").entry)
		f.runConfig(t, balancer.Config{Release: tt.release})
		f.advance(time.Second)
		if moves := len(f.moves) > 0; moves != tt.moves {
			t.Errorf("%s with %+v: moves %v", tt.release, f.colls[0].entry, moves)
		}
	}
}

// A shard's maxSize must not be negative (rules/01-rounds-and-settings §3.1).
func TestNegativeMaxSizeFailsTheRound(t *testing.T) {
	f := newFake("a", "b")
	f.addChunks(t, "db.c", "a", "a", "a")
	f.shards[1].MaxSizeMB = -1
	f.runConfig(t, balancer.Config{Release: catalog.Release44})
	f.advance(time.Second)
	if len(f.moves) != 0 || len(f.log) != 1 || field(t, f.log[0].details, "errorOccured") != true {
		t.Errorf("%d moves, log %v", len(f.moves), f.log)
	}
}

// rules/01-rounds-and-settings §1.3, step 13: the move of an unsharded collection comes first and
// takes its shards from the others.
func TestUnshardedMovesGoFirst(t *testing.T) {
	f := newFake("a", "b", "c")
	f.add(t, "db.c", 1000, 0, 0)
	f.unsharded = []policy.Unsharded{{Namespace: "db.u", Shard: "b"}}
	parameters := balancer.DefaultParameters()
	parameters.RandomMigrations, parameters.MinReshardingDuration = true, 0
	f.runConfig(t, balancer.Config{Parameters: func() balancer.Parameters { return parameters }})
	f.advance(3 * time.Second)
	if len(f.moves) == 0 || moveText(f.moves[0]) != "db.u b>a" || f.moves[0].Reason != policy.ReasonUnsharded {
		t.Fatalf("moves %v", f.moves)
	}
	// One shard is left, so no chunk could move beside it.
	details := f.log[0].details
	for name, want := range map[string]int32{"candidateUnshardedCollections": 1, "unshardedCollectionsMoved": 1, "candidateChunks": 0, "chunksMoved": 0} {
		if got := field(t, details, name); got != want {
			t.Errorf("%s = %v, want %d", name, got, want)
		}
	}
}

// warned collects the ids of log events.
type warned struct {
	slog.Handler
	ids *[]string
}

func (warned) Enabled(context.Context, slog.Level) bool { return true }

func (w warned) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == "id" {
			*w.ids = append(*w.ids, fmt.Sprint(a.Value))
		}
		return true
	})
	return nil
}

// W06 and rules/01-rounds-and-settings §2.6: an unknown mode and a new chunk size are logged.
func TestW06SettingsThatAreLogged(t *testing.T) {
	var ids []string
	f := newFake("a", "b")
	f.settings["balancer"] = bson.D{{Key: "mode", Value: "auto"}}
	f.runConfig(t, balancer.Config{Logger: slog.New(warned{slog.DiscardHandler, &ids})})
	f.advance(time.Second)
	if !slices.Contains(ids, "7575700") || slices.Contains(ids, "22640") {
		t.Errorf("log events %v, want 7575700 and not 22640", ids)
	}
	f.settings["chunksize"] = bson.D{{Key: "value", Value: 64}}
	f.advance(aRoundLater)
	if !slices.Contains(ids, "22640") {
		t.Errorf("log events %v, want 22640 for the new chunk size", ids)
	}
}

// Windows of weekdays that the compatibility version does not allow yet are ignored, with a warning at
// every round's look; the other window counts.
func TestDayWindowsThatAreIgnored(t *testing.T) {
	for _, tt := range []struct {
		version, fcv string
		warns, moves bool
	}{{"8.3", "8.0", true, true}, {"9.0", "8.0", true, true}, {"8.3", "", false, false}, {"9.0", "8.3", false, false}, {"8.2.6", "", false, true}} {
		release, err := catalog.ParseRelease(tt.version)
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		f := newFake("a", "b")
		f.add(t, "db.c", 1000, 0)
		day := f.queue.Now().AddDate(0, 0, 3).Weekday().String() // not today
		f.settings["balancer"] = bson.D{{Key: "activeWindowDOW", Value: bson.A{
			bson.D{{Key: "day", Value: day}, {Key: "start", Value: "01:00"}, {Key: "stop", Value: "02:00"}}}}}
		loop := f.runConfig(t, balancer.Config{Release: release.WithFCV(tt.fcv), Logger: slog.New(warned{slog.DiscardHandler, &ids})})
		f.advance(3 * aRoundLater)
		warned := slices.DeleteFunc(ids, func(id string) bool { return id != "8248700" })
		rounds := loop.Status().Rounds
		if rounds < 2 || tt.warns && int64(len(warned)) < rounds || !tt.warns && len(warned) > 0 {
			t.Errorf("%s with %q warns %d times in %d rounds", tt.version, tt.fcv, len(warned), rounds)
		}
		if moved := len(f.moves) > 0; moved != tt.moves {
			t.Errorf("%s with %q: moved: %v", tt.version, tt.fcv, moved)
		}
	}
}

// aRoundLater is long enough for the next round to begin.
const aRoundLater = balancer.RoundInterval + time.Second

// The flags that keep a collection where it is, in releases after 8.0: rounds move nothing of it, and
// warn where a draining shard owns it. The flag of 9.0 means nothing before.
func TestBalanceableByRelease(t *testing.T) {
	always := []string{"8.0.10", "8.0.20", "8.1", "8.2.5", "8.2.6", "8.3", "9.0"}
	for _, tt := range []struct {
		name   string
		change func(*catalog.Collection)
		blocks []string
	}{
		{"nothing", func(*catalog.Collection) {}, nil},
		{"noBalance", func(c *catalog.Collection) { c.NoBalance = true }, always},
		{"allowMigrations", func(c *catalog.Collection) { c.AllowMigrations = false }, always},
		{"permitMigrations", func(c *catalog.Collection) { c.PermitMigrations = false }, always},
		{"defragmentCollection", func(c *catalog.Collection) { c.Defragment = true }, always},
		{"allowChunkOperations", func(c *catalog.Collection) { c.NoChunkOperations = true }, []string{"9.0"}},
	} {
		for _, version := range always {
			release, err := catalog.ParseRelease(version)
			if err != nil {
				t.Fatal(err)
			}
			var ids []string
			f := newFake("a", "b", "c")
			c := f.add(t, "db.c", 1000, 0, 0)
			tt.change(&c.entry)
			f.shards[0].Draining, f.noReplies = true, true
			cfg := logging(&ids)
			cfg.Release = release
			f.runConfig(t, cfg)
			f.advance(3 * time.Second)
			blocked := slices.Contains(tt.blocks, version)
			if moved := len(f.moves) > 0; moved == blocked {
				t.Errorf("%s, %s: moved: %v", version, tt.name, moved)
			}
			if warned := slices.Contains(ids, "7977400"); warned != blocked {
				t.Errorf("%s, %s: log events %v", version, tt.name, ids)
			}
		}
	}
}
