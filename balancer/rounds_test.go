package balancer_test

import (
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
)

// The rules of rules/01-rounds-and-settings §1 that are not traps, by section.

// logging is a configuration that collects the ids of log events.
func logging(ids *[]string) balancer.Config {
	return balancer.Config{Logger: slog.New(warned{slog.DiscardHandler, ids})}
}

// rules/01-rounds-and-settings §1.2: nothing but settings is asked for until they can be read.
func TestStartWaitsForSettings(t *testing.T) {
	var ids []string
	f := newFake("a", "b")
	f.add(t, "db.c", 1000, 0)
	f.settings["automerge"] = bson.D{{Key: "enabled", Value: 1}}
	loop := f.runConfig(t, logging(&ids))
	f.advance(25 * time.Second)
	if want := []string{"21876", "21876", "21876"}; !slices.Equal(ids, want) || loop.Status().Rounds != 0 {
		t.Errorf("log events %v and %d rounds, want %v and none", ids, loop.Status().Rounds, want)
	}
	delete(f.settings, "automerge")
	f.advance(5 * time.Second)
	if len(f.moves) == 0 {
		t.Error("no round begins when the settings can be read")
	}
}

// rules/01-rounds-and-settings §1.3: the steps of a round in their order.
func TestOrderOfARound(t *testing.T) {
	f := newFake("a", "b")
	f.add(t, "db.c", 1000, 0)
	f.shards[0].Draining = true
	var names []string
	for _, step := range f.traced(t, balancer.Config{}, 1, nil)[1:] { // but for the start-up
		names = append(names, strings.Fields(step)[0])
	}
	want := "shards machineIds settings shards collections" + // registry, ids, settings, drain warning
		" changelog changelog collections" + // auto-merger on, its round begins; defragmentations
		" shards collections routing" + // splits
		" shards collections sizes settings routing" + // selection
		" moves actionlog"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("steps\n%s\nwant\n%s", got, want)
	}
}

// rules/01-rounds-and-settings §1.4.
func TestMachineIDs(t *testing.T) {
	t.Run("two the same", func(t *testing.T) {
		var ids []string
		f := newFake("a", "b", "c")
		f.add(t, "db.c", 1000, 0, 0)
		f.machineIDs = map[catalog.ShardID]int64{"a": 7, "b": 8, "c": 7}
		f.runConfig(t, logging(&ids))
		f.advance(time.Second)
		if !slices.Equal(ids, []string{"21868", "21865"}) || !slices.Equal(f.resets, []catalog.ShardID{"c", "a"}) {
			t.Errorf("log events %v, reset %v", ids, f.resets)
		}
		if len(f.log) != 1 || field(t, f.log[0].details, "errorOccurred") != true || len(f.moves) != 0 {
			t.Errorf("log %v, moves %v, want a failed round", f.log, f.moves)
		}
		f.advance(9 * time.Second)
		if len(f.moves) != 1 {
			t.Error("the next round does not pass")
		}
	})
	t.Run("one does not tell", func(t *testing.T) {
		var ids []string
		f := newFake("a", "b", "c")
		f.add(t, "db.c", 1000, 0, 0)
		f.machineIDs = map[catalog.ShardID]int64{"a": 7, "b": 8}
		f.runConfig(t, logging(&ids))
		f.advance(time.Second)
		if !slices.Equal(ids, []string{"21869"}) || len(f.moves) != 1 {
			t.Errorf("log events %v, moves %v", ids, f.moves)
		}
	})
	t.Run("one does not answer", func(t *testing.T) {
		f := newFake("a", "b")
		f.settings["balancer"] = bson.D{{Key: "stopped", Value: true}}
		f.failMachineID = errors.New("no answer")
		f.run(t)
		f.advance(time.Second)
		// The check comes before the enabled check.
		if len(f.log) != 1 || field(t, f.log[0].details, "errmsg") != "no answer" {
			t.Errorf("log %v, want a failed round, also while the balancer is off", f.log)
		}
	})
}

// rules/01-rounds-and-settings §1.5.
func TestDrainWarnings(t *testing.T) {
	for _, tt := range []struct {
		name     string
		drains   bool
		settings bson.D
		change   func(*catalog.Collection)
		want     []string
	}{
		{"nothing drains", false, bson.D{{Key: "mode", Value: "off"}}, nil, nil},
		{"off", true, bson.D{{Key: "mode", Value: "off"}}, nil, []string{"6434000"}},
		{"off with noBalance", true, bson.D{{Key: "stopped", Value: true}}, func(c *catalog.Collection) { c.NoBalance = true }, []string{"6434000"}},
		{"all may move", true, nil, nil, nil},
		{"noBalance", true, nil, func(c *catalog.Collection) { c.NoBalance = true }, []string{"7977400"}},
		{"defragmentCollection", true, nil, func(c *catalog.Collection) { c.Defragment = true }, []string{"7977400"}},
		{"allowMigrations", true, nil, func(c *catalog.Collection) { c.AllowMigrations = false }, []string{"7977400"}},
		{"permitMigrations", true, nil, func(c *catalog.Collection) { c.PermitMigrations = false }, []string{"7977400"}},
		{"outside the window", true, window("13:00", "14:00"), func(c *catalog.Collection) { c.NoBalance = true }, []string{"7977400"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ids []string
			f := newFake("a", "b", "c")
			c := f.add(t, "db.c", 0, 0)
			f.shards[0].Draining = tt.drains
			f.shards[2].Draining = tt.drains // it owns nothing
			if tt.settings != nil {
				f.settings["balancer"] = tt.settings
			}
			if tt.change != nil {
				tt.change(&c.entry)
			}
			f.noReplies = true // of a defragmentation
			f.runConfig(t, logging(&ids))
			warnings := func() (n []string) {
				for _, id := range ids {
					if id == "6434000" || id == "7977400" {
						n = append(n, id)
					}
				}
				return n
			}
			f.advance(10*time.Minute - time.Second)
			if got := warnings(); !slices.Equal(got, tt.want) {
				t.Errorf("warnings %v in ten minutes, want %v", got, tt.want)
			}
			f.advance(time.Minute)
			if got := warnings(); len(got) != 2*len(tt.want) {
				t.Errorf("warnings %v in eleven minutes, want %v twice", got, tt.want)
			}
		})
	}
}

// rules/01-rounds-and-settings §1.6: how the failures of migrations are dealt with, case by case.
func TestFailuresOfMigrations(t *testing.T) {
	noIndex := mongoerr.New(mongoerr.IndexNotFound, "no index")
	for _, tt := range []struct {
		name      string
		release   catalog.Release
		key       any
		err       error
		want      []string
		noBalance bool
	}{
		{"hashed key without an index", catalog.Release80, "hashed", noIndex, []string{"78252"}, true},
		{"ranged key without an index", catalog.Release80, int32(1), noIndex, []string{"21872"}, false},
		{"hashed key before it was optional", catalog.Release70, "hashed", noIndex, []string{"21872"}, false},
		{"hashed key, other failure", catalog.Release80, "hashed", errors.New("gone"), []string{"21872"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ids []string
			f := newFake("a", "b")
			c := f.add(t, "db.c", 1000, 0)
			pattern, err := catalog.ParseKeyPattern(document(t, bson.D{{Key: "x", Value: tt.key}}))
			if err != nil {
				t.Fatal(err)
			}
			c.entry.Pattern = pattern
			f.moveErr = func(policy.Migration) error { return tt.err }
			cfg := logging(&ids)
			cfg.Release = tt.release
			f.runConfig(t, cfg)
			f.advance(f.moveTime)
			if !slices.Equal(ids, tt.want) || c.entry.NoBalance != tt.noBalance {
				t.Errorf("log events %v, noBalance %v; want %v, %v", ids, c.entry.NoBalance, tt.want, tt.noBalance)
			}
			if got := field(t, f.log[0].details, "chunksMoved"); got != int32(0) {
				t.Errorf("chunksMoved = %v", got)
			}
			if tt.release == catalog.Release80 && field(t, f.log[0].details, "imbalancedCachedCollections") != int32(0) {
				t.Error("the collection stays cached")
			}
		})
	}
}

// rules/01-rounds-and-settings §1.6 and rules/01-selection §10.1: a collection that vanished while a
// range was too big fails the round; results not looked at yet are dropped, the time of the last batch
// stays.
func TestVanishedCollectionOfATooBigRange(t *testing.T) {
	for name, vanish := range map[string]func(f *fakeCluster){
		"dropped":    func(f *fakeCluster) { f.colls = f.colls[1:] },
		"made again": func(f *fakeCluster) { f.colls[0].entry.UUID = bson.Binary{Subtype: 4, Data: make([]byte, 16)} },
	} {
		t.Run(name, func(t *testing.T) {
			var ids []string
			f := newFake("a", "b", "c", "d")
			f.add(t, "db.c", 1000, 0, 500, 500)
			f.add(t, "db.d", 0, 0, 2000, 0)
			f.moveErr = func(m policy.Migration) error {
				if m.Namespace != "db.c" {
					return nil
				}
				vanish(f)
				return mongoerr.New(mongoerr.ChunkTooBig, "too big")
			}
			f.runConfig(t, logging(&ids))
			f.advance(f.moveTime)
			if len(f.log) != 1 || field(t, f.log[0].details, "errorOccurred") != true || len(f.splits)+len(f.jumbo) != 0 {
				t.Fatalf("log %v, splits %v, flagged %v; want a failed round", f.log, f.splits, f.jumbo)
			}
			if !slices.Equal(ids, []string{"21871", "21865"}) {
				t.Errorf("log events %v", ids)
			}
			f.moveErr = nil
			f.advance(balancer.RoundInterval + f.moveTime)
			// No throttle: a batch that failed the round leaves no time behind.
			if times := field(t, f.log[1].details, "times").(bson.D); field(t, times, "throttleTimeMillis") != int64(0) {
				t.Errorf("times %v", times)
			}
		})
	}
}

// rules/01-selection §10.1: what goes wrong once the chunk was looked up is swallowed.
func TestSplitOfATooBigRangeMayFail(t *testing.T) {
	f := newFake("a", "b")
	f.add(t, "db.c", 1000, 0)
	f.moveErr = func(policy.Migration) error { return mongoerr.New(mongoerr.ChunkTooBig, "too big") }
	f.splitPoints = func(catalog.Chunk) []catalog.Key { return []catalog.Key{f.key(t, 5)} }
	f.failSplit = func(policy.Split) error { return errors.New("no") }
	f.run(t)
	f.advance(f.moveTime)
	if len(f.log) != 1 || field(t, f.log[0].details, "chunksMoved") != int32(1) || len(f.splits) != 1 || len(f.jumbo) != 0 {
		t.Errorf("log %v, splits %v, flagged %v; want one counted as moved", f.log, f.splits, f.jumbo)
	}
}

// rules/01-rounds-and-settings §1.6: termination or the end of balancing between the selection and
// the migrations sends nothing. The window is W17.
func TestSwitchedOffBeforeTheMoves(t *testing.T) {
	f := newFake("a", "b")
	f.add(t, "db.c", 1000, 0)
	f.add(t, "db.d", 1000, 0)
	loop := f.run(t)
	f.advance(f.moveTime + 500*time.Millisecond) // in the throttle of the second round
	off := catalog.DefaultSettings()
	off.Mode = catalog.ModeOff
	loop.SetSettings(off) // what balancerStop does at once
	f.settings["balancer"] = bson.D{{Key: "mode", Value: "off"}}
	f.advance(5 * time.Second)
	if len(f.moves) != 1 || len(f.log) != 2 {
		t.Fatalf("%d moves, %d entries", len(f.moves), len(f.log))
	}
	for name, want := range map[string]any{"errorOccurred": false, "candidateChunks": int32(1), "chunksMoved": int32(0)} {
		if got := field(t, f.log[1].details, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
	// The next round came at once and slept.
	if got := loop.Status().Rounds; got != 3 {
		t.Errorf("%d rounds, want 3", got)
	}
}

// rules/01-rounds-and-settings §1.8: the throttle may change, be zero, or be negative; the limit of
// the selection strikes only above it.
func TestParametersHaveEffect(t *testing.T) {
	for throttle, want := range map[time.Duration]time.Duration{
		0: 2 * time.Second, -time.Second: 2 * time.Second, time.Second: 3 * time.Second, 7 * time.Second: 9 * time.Second,
	} {
		f := newFake("a", "b")
		f.add(t, "db.c", 5000, 0)
		parameters := balancer.DefaultParameters()
		f.runConfig(t, balancer.Config{Parameters: func() balancer.Parameters { return parameters }})
		parameters.MigrationsThrottling = throttle // after the start
		f.advance(want - time.Millisecond)
		if len(f.moves) != 1 {
			t.Errorf("throttle %v: %d moves before %v", throttle, len(f.moves), want)
		}
		f.advance(time.Millisecond)
		if len(f.moves) != 2 {
			t.Errorf("throttle %v: %d moves at %v", throttle, len(f.moves), want)
		}
	}
	for limit, batches := range map[time.Duration]int{time.Second: 2, 999 * time.Millisecond: 1} {
		f := many(t, []string{"a", "b", "c", "d"}, 130, func(i int) []int64 {
			sizes := balanced(4)
			if i == 5 {
				sizes[0] = 2000
			}
			return sizes
		})
		f.measureTime = time.Second
		parameters := balancer.DefaultParameters()
		parameters.SelectionTimeout = limit
		f.runConfig(t, balancer.Config{Parameters: func() balancer.Parameters { return parameters }})
		f.advance(time.Millisecond)
		if len(f.measured) != batches {
			t.Errorf("limit %v: %d batches after a second, want %d", limit, len(f.measured), batches)
		}
	}
}

// rules/01-rounds-and-settings §5.2 and §5.3: what ends the splits, and what does not.
func TestFailuresOfZoneSplits(t *testing.T) {
	f := newFake("a", "b")
	for _, ns := range []string{"db.c", "db.d", "db.e"} {
		f.add(t, ns, 0, 0).zoneUpTo(t, 5)
	}
	var ids []string
	f.failRouting = map[string]error{"db.c": mongoerr.New(mongoerr.NamespaceNotFound, "dropped")}
	f.failSplit = func(policy.Split) error { return errors.New("busy") }
	f.traced(t, logging(&ids), 1, nil)
	if len(f.splits) != 2 || !slices.Equal(ids[:2], []string{"21879", "21879"}) {
		t.Errorf("splits %v, log events %v: one that fails does not keep the next from being tried", f.splits, ids)
	}

	// A refresh that fails before a split ends them; the round goes on.
	f = newFake("a", "b")
	f.add(t, "db.c", 0, 0).zoneUpTo(t, 5)
	f.add(t, "db.d", 0, 0).zoneUpTo(t, 5)
	f.add(t, "db.e", 1000, 0)
	ids = nil
	routings := 0
	f.traced(t, logging(&ids), 1, func(name string) {
		if name != "routing" {
			return
		}
		f.failRouting = nil
		if routings++; routings == 4 { // three collections, and then the first split
			f.failRouting = map[string]error{"db.c": mongoerr.New(mongoerr.NamespaceNotFound, "dropped")}
		}
	})
	if len(f.splits) != 0 || len(f.moves) != 1 || ids[0] != "21878" {
		t.Errorf("splits %v, moves %v, log events %v; want no split and one move", f.splits, f.moves, ids)
	}
}

// rules/01-rounds-and-settings §3.4: what a failure does to the memory of imbalanced collections.
func TestFailuresOfTheSelection(t *testing.T) {
	for _, tt := range []struct {
		name   string
		err    error
		cached bool
		want   []string
	}{
		{"dropped", mongoerr.New(mongoerr.NamespaceNotFound, "dropped"), false, nil},
		{"another failure", mongoerr.New(mongoerr.ConflictingOperationInProgress, "in the way"), true, []string{"21852", "21853"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var ids []string
			f := newFake("a", "b", "c", "d")
			f.add(t, "db.c", 5000, 0, 0, 0)
			f.add(t, "db.d", 0, 0, 5000, 0)
			f.runConfig(t, logging(&ids))
			f.advance(f.moveTime - time.Millisecond) // the first round: both are imbalanced
			f.failRouting = map[string]error{"db.c": tt.err}
			ids = nil
			f.advance(f.moveTime + time.Second + time.Millisecond)
			want := int32(1)
			if tt.cached {
				want = 2
			}
			if got := field(t, f.log[1].details, "imbalancedCachedCollections"); got != want {
				t.Errorf("%v cached, want %d", got, want)
			}
			if !slices.Equal(slices.Compact(slices.Sorted(slices.Values(ids))), tt.want) {
				t.Errorf("log events %v, want %v", ids, tt.want)
			}
		})
	}
}

// M05: with one shard nothing is examined, and no size is asked for.
func TestM05OneShardOnly(t *testing.T) {
	f := newFake("a")
	f.add(t, "db.c", 1000)
	for _, step := range f.traced(t, balancer.Config{}, 1, nil) {
		if strings.HasPrefix(step, "sizes") {
			t.Error("sizes were asked for")
		}
	}
}

// W18: migrations under way when the window closes finish.
func TestW18WindowClosesWhileMigrationsRun(t *testing.T) {
	f := newFake("a", "b")
	c := f.add(t, "db.c", 1000, 0)
	f.settings["balancer"] = window("11:00", "12:00")
	f.moveTime = 2 * time.Minute
	f.run(t)
	f.advance(5 * time.Minute)
	if len(f.moves) != 1 || len(f.log) != 1 || c.sizes["b"] == 0 {
		t.Fatalf("%d moves, log %v, sizes %v", len(f.moves), f.log, c.sizes)
	}
	for name, want := range map[string]any{"errorOccurred": false, "candidateChunks": int32(1), "chunksMoved": int32(1)} {
		if got := field(t, f.log[0].details, name); got != want {
			t.Errorf("%s = %v, want %v", name, got, want)
		}
	}
}

// rules/01-rounds-and-settings §1.6: whatever chose first, a batch is sent in the order whole
// collections, ranges of the balancing, ranges of defragmentations.
func TestOrderOfABatch(t *testing.T) {
	f := newFake("A", "B", "C", "D", "E", "F")
	c := f.defragment(t, "db.c", 2)
	f.add(t, "db.z", 5000, 5000, 5000, 0, 0, 0)
	f.unsharded = []policy.Unsharded{{Namespace: "db.u", Shard: "A"}}
	f.merging(c, 10*mib)
	f.moveErr = nil
	parameters := balancer.DefaultParameters()
	f.runConfig(t, balancer.Config{Parameters: func() balancer.Parameters {
		// Unsharded collections move once there is something to defragment.
		parameters.RandomMigrations, parameters.MinReshardingDuration = f.queue.Now().Sub(start) > 30*time.Second, 0
		return parameters
	}})
	f.advance(2 * time.Minute)
	order := map[policy.Reason]int{policy.ReasonUnsharded: 0, policy.ReasonChunksImbalance: 1, policy.ReasonDefragmentation: 2}
	mixed := map[policy.Reason]bool{}
	for i := 1; i < len(f.moves); i++ {
		if !f.movedAt[i].Equal(f.movedAt[i-1]) {
			continue
		}
		before, after := f.moves[i-1].Reason, f.moves[i].Reason
		if order[before] > order[after] {
			t.Errorf("at %v %s comes before %s", f.movedAt[i].Sub(start), before, after)
		}
		if before != after {
			mixed[before], mixed[after] = true, true
		}
	}
	if !mixed[policy.ReasonUnsharded] || !mixed[policy.ReasonChunksImbalance] || !mixed[policy.ReasonDefragmentation] {
		t.Errorf("batches mix %v only", mixed)
	}
}

// rules/01-rounds-and-settings §5.1 and §5.4: zones of the sessions cause a warning and no splits;
// up to 7.0 they are split all the same, into equal parts.
func TestZonesOfSessions(t *testing.T) {
	for release, points := range map[catalog.Release]int{catalog.Release80: 0, catalog.Release50: 3} {
		var ids []string
		f := newFake("a", "b")
		c := f.addChunks(t, policy.SessionsNamespace, "a")
		pattern, err := catalog.ParseKeyPattern(document(t, bson.D{{Key: "_id", Value: int32(1)}}))
		if err != nil {
			t.Fatal(err)
		}
		c.entry.Pattern, c.zones = pattern, catalog.NewZoneSet(pattern)
		chunk := catalog.Chunk{Min: pattern.GlobalMin(), Max: pattern.GlobalMax(), Shard: "a", Version: catalog.ChunkVersion{Major: 1}}
		if c.table, err = catalog.NewRoutingTable(pattern, bson.ObjectID{1}, bson.Timestamp{T: 1}, slices.Values([]catalog.Chunk{chunk})); err != nil {
			t.Fatal(err)
		}
		bound, err := pattern.ParseKey(document(t, bson.D{{Key: "_id", Value: int32(5)}}))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.zones.Add(catalog.ZoneRange{Min: pattern.GlobalMin(), Max: bound, Zone: "Z"}); err != nil {
			t.Fatal(err)
		}
		cfg := logging(&ids)
		cfg.Release = release
		parameters := balancer.DefaultParameters()
		parameters.SessionsChunks = 4
		cfg.Parameters = func() balancer.Parameters { return parameters }
		f.traced(t, cfg, 1, nil)
		if !slices.Contains(ids, "4562401") {
			t.Errorf("%s: log events %v, want 4562401", release, ids)
		}
		got := 0
		for _, s := range f.splits {
			got += len(s.Points)
		}
		if got != points {
			t.Errorf("%s: %d split points, want %d", release, got, points)
		}
		// The boundary inside a chunk keeps the collection from moving for good.
		if len(f.moves) != 0 || !slices.Contains(ids, "21853") {
			t.Errorf("%s: moves %v, log events %v", release, f.moves, ids)
		}
	}
}

// rules/01-rounds-and-settings §2.1: a round reads the settings at its beginning and with each batch
// of sizes. What changes in between counts from the next reading on.
func TestSettingsChangeDuringARound(t *testing.T) {
	for _, tt := range []struct {
		name   string
		when   string // the exchange before which the document changes
		id     string
		change bson.D
		moves  int
		logged int
		chunk  int64 // MiB that the migration is told
		force  policy.ForceJumbo
	}{
		{"nothing", "", "", nil, 1, 1, 128, policy.ForceNone},
		{"chunk size before the sizes", "sizes", "chunksize", bson.D{{Key: "value", Value: 1024}}, 0, 0, 0, 0},
		{"smaller chunks before the sizes", "sizes", "chunksize", bson.D{{Key: "value", Value: 16}}, 1, 1, 16, policy.ForceNone},
		{"chunk size after the sizes", "routing of the moves", "chunksize", bson.D{{Key: "value", Value: 1024}}, 1, 1, 128, policy.ForceNone},
		{"jumbo chunks before the sizes", "sizes", "balancer", bson.D{{Key: "attemptToBalanceJumboChunks", Value: true}}, 1, 1, 128, policy.ForceBalancer},
		{"off before the sizes", "sizes", "balancer", bson.D{{Key: "mode", Value: "off"}}, 0, 1, 0, 0},
		{"off after the sizes, by hand", "routing of the moves", "balancer", bson.D{{Key: "mode", Value: "off"}}, 1, 1, 128, policy.ForceNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake("a", "b")
			f.add(t, "db.c", 1000, 0)
			routings := 0
			f.traced(t, balancer.Config{}, 1, func(name string) {
				if name == "routing" {
					if routings++; routings == 2 { // the first is of the splits
						name = "routing of the moves"
					}
				}
				if name == tt.when {
					f.settings[tt.id] = tt.change
				}
			})
			if len(f.moves) != tt.moves || len(f.log) != tt.logged {
				t.Fatalf("%d moves, %d entries, want %d, %d", len(f.moves), len(f.log), tt.moves, tt.logged)
			}
			if tt.moves > 0 && (f.moves[0].MaxChunkSizeBytes != tt.chunk*mib || f.moves[0].Force != tt.force) {
				t.Errorf("moves %+v", f.moves[0])
			}
			if tt.logged > tt.moves && field(t, f.log[0].details, "candidateChunks") != int32(1) {
				t.Errorf("log %v, want a candidate that was not moved", f.log)
			}
		})
	}
}
