package balancer_test

import (
	"errors"
	"fmt"
	"log/slog"
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

// The traps of rules/01-examples-and-traps §12 that concern the round, by their number. Those of
// the deciders are in balancer/policy, those of settings in balancer/catalog,
// those that need shards with documents in balancer/mock.

// traced turns a loop by hand until so many rounds have ended and gives its
// steps with the time since the start; before each exchange it calls look.
func (f *fakeCluster) traced(t *testing.T, cfg balancer.Config, rounds int64, look func(name string)) (names []string) {
	t.Helper()
	cfg.Location = time.Local
	loop := balancer.NewLoop(cfg)
	defer loop.Close()
	var result any
	note := func(name string) { names = append(names, fmt.Sprint(name, " ", f.queue.Now().Sub(start))) }
	for range 10_000 {
		step := loop.Resume(f.queue.Now(), result)
		if loop.Status().Rounds == rounds {
			return names
		}
		switch step := step.(type) {
		case balancer.Sleep:
			note("sleep")
			f.queue.Advance(step.Until)
			result = nil
		case balancer.Moves:
			note("moves")
			f.moves = append(f.moves, step.Migrations...)
			f.advance(f.moveTime)
			for _, m := range step.Migrations {
				f.move(m)
			}
			result = make([]error, len(step.Migrations))
		case balancer.Call:
			if look != nil {
				look(step.Name)
			}
			note(step.Name)
			result = step.Do(t.Context(), f)
		default:
			t.Fatalf("unexpected step %T", step)
		}
	}
	t.Fatalf("%d rounds don't end", rounds)
	return nil
}

// zoneUpTo gives a collection the zone Z from its beginning to a bound.
func (c *fakeCollection) zoneUpTo(t *testing.T, at int) {
	t.Helper()
	bound, err := c.entry.Pattern.ParseKey(document(t, bson.D{{Key: "x", Value: int32(at)}}))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.zones.Add(catalog.ZoneRange{Min: c.entry.Pattern.GlobalMin(), Max: bound, Zone: "Z"}); err != nil {
		t.Fatal(err)
	}
}

func TestTrap11ZoneSplitsIgnoreTheSwitchesOfACollection(t *testing.T) {
	for name, change := range map[string]func(*catalog.Collection){
		"noBalance":            func(c *catalog.Collection) { c.NoBalance = true },
		"defragmentCollection": func(c *catalog.Collection) { c.Defragment = true },
		"allowMigrations":      func(c *catalog.Collection) { c.AllowMigrations = false },
		"permitMigrations":     func(c *catalog.Collection) { c.PermitMigrations = false },
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake("a", "b")
			c := f.add(t, "db.c", 1000, 0)
			change(&c.entry)
			c.zoneUpTo(t, 5)
			f.traced(t, balancer.Config{}, 1, nil)
			if len(f.splits) != 1 || len(f.splits[0].Points) != 1 {
				t.Errorf("splits %v, want one at 5", f.splits)
			}
			if len(f.moves) != 0 {
				t.Errorf("moved %v: moves respect the switch", f.moves)
			}
		})
	}
}

func TestTrap12ZonesAreLoadedTwiceAndShardsDrawnTwice(t *testing.T) {
	// Only a table read after the split has the chunk that has to move into Z.
	f := newFake("a", "b")
	f.add(t, "db.c", 0, 0).zoneUpTo(t, 5)
	f.shards[1].Zones = []string{"Z"}
	f.traced(t, balancer.Config{}, 1, nil)
	if len(f.splits) != 1 || len(f.moves) != 1 || f.moves[0].Reason != policy.ReasonZoneViolation {
		t.Errorf("splits %v and moves %v, want one of each in one round", f.splits, f.moves)
	}

	// A zone that comes between the splits and the moves counts for the moves.
	f = newFake("a", "b")
	c := f.add(t, "db.c", 0, 0)
	f.shards[1].Zones = []string{"Z"}
	f.traced(t, balancer.Config{}, 1, func(name string) {
		if name == "sizes" {
			c.zoneUpTo(t, 10)
		}
	})
	if len(f.moves) != 1 || f.moves[0].Reason != policy.ReasonZoneViolation {
		t.Errorf("moves %v, want the chunk outside the new zone's shards", f.moves)
	}

	// The registry, the drain warning, the splits and the selection read the
	// shards; the last two draw an order each.
	f = newFake("a", "b", "c")
	source := &countedSource{Source: rand.NewPCG(1, 1)}
	var drew []bool
	last, before := "", 0
	f.traced(t, balancer.Config{Rand: rand.New(source)}, 1, func(name string) {
		if last == "shards" {
			drew = append(drew, source.n > before)
		}
		last, before = name, source.n
	})
	if len(drew) != 4 || !drew[2] || !drew[3] {
		t.Errorf("readings of the shards that draw an order: %v, want the last two of four", drew)
	}
}

type countedSource struct {
	rand.Source
	n int
}

func (s *countedSource) Uint64() uint64 {
	s.n++
	return s.Source.Uint64()
}

func TestTrap13SignalsDoNotShortenSleepsAndBatchesKeepTheirDistance(t *testing.T) {
	f := newFake("a", "b")
	f.add(t, "db.c", 5000, 0)
	f.settings["balancer"] = bson.D{{Key: "mode", Value: "off"}}
	loop := f.run(t)
	f.advance(3 * time.Second)
	delete(f.settings, "balancer")
	loop.SetSettings(catalog.DefaultSettings())
	f.advance(6999 * time.Millisecond)
	if len(f.moves) != 0 {
		t.Fatal("the balancer was switched on and did not sleep to the end")
	}
	f.advance(time.Millisecond)
	if len(f.moves) != 1 {
		t.Fatal("no round ten seconds after the last one")
	}

	f = newFake("a", "b")
	f.add(t, "db.c", 5000, 0)
	f.moveTime = 2500 * time.Millisecond
	var steps []string
	for _, step := range f.traced(t, balancer.Config{}, 3, nil) {
		if name := step[:5]; name == "moves" || name == "sleep" || name == "sizes" {
			steps = append(steps, step)
		}
	}
	// The next round selects at once; the throttle counts from the end of the
	// batch.
	want := []string{"sizes 0s", "moves 0s", "sizes 2.5s", "sleep 2.5s", "moves 3.5s", "sizes 6s", "sleep 6s", "moves 7s"}
	if !slices.Equal(steps, want) {
		t.Errorf("%v, want %v", steps, want)
	}
}

func TestTrap14ThrottleComesAfterSelection(t *testing.T) {
	f := newFake("a", "b")
	f.add(t, "db.c", 5000, 0)
	steps := f.traced(t, balancer.Config{}, 2, nil)
	measured := slices.Index(steps, "sizes 2s")
	if measured < 0 || !slices.Contains(steps[measured:], "sleep 2s") || steps[len(steps)-2] != "moves 3s" {
		t.Errorf("%v, want the sizes at 2s, before the sleep, and the moves at 3s", steps)
	}
	details := f.log[1].details
	times := field(t, details, "times").(bson.D)
	if field(t, details, "executionTimeMillis") != int32(3000) || field(t, times, "throttleTimeMillis") != int64(1000) || field(t, times, "selectionTimeMillis") != int64(0) {
		t.Errorf("%v: the throttle belongs to the round and not to the selection", details)
	}
}

func TestTrap15UnreadableSettingsSkipOrFailTheRound(t *testing.T) {
	for _, tt := range []struct {
		name    string
		when    string // the exchange before which the settings break
		entries int
	}{
		{"at the beginning: skipped", "shards", 0},
		{"with the sizes: failed", "sizes", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake("a", "b")
			f.add(t, "db.c", 1000, 0)
			steps := f.traced(t, balancer.Config{}, 1, func(name string) {
				if name == tt.when {
					f.settings["chunksize"] = bson.D{{Key: "value", Value: "big"}}
				}
			})
			if len(f.moves) != 0 || len(f.log) != tt.entries {
				t.Errorf("%d moves, %d entries in the action log, want none and %d", len(f.moves), len(f.log), tt.entries)
			}
			if tt.entries > 0 && field(t, f.log[0].details, "errorOccurred") != true {
				t.Errorf("entry %v", f.log[0].details)
			}
			if last := steps[len(steps)-1]; last != "settings 0s" && last != "actionlog 0s" {
				t.Errorf("the round ends with %s", last)
			}
		})
	}
}

// B06, too.
func TestTrap22TooBigCountsAsMovedAndStaysCached(t *testing.T) {
	tests := []struct {
		name          string
		err           error
		moved, cached int32
		jumbo         int
	}{
		{"success", nil, 1, 1, 0},
		{"network error", mongoerr.New(mongoerr.HostUnreachable, "gone"), 0, 0, 0},
		{"too big, can't be split", mongoerr.New(mongoerr.ChunkTooBig, "too big"), 1, 1, 1},
		{"too many modifications", mongoerr.New(mongoerr.ExceededMemoryLimit, "memory"), 1, 1, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := newFake("a", "b")
			f.add(t, "db.c", 1000, 0)
			f.moveErr = func(policy.Migration) error { return tt.err }
			f.run(t)
			f.advance(2 * time.Second)
			if len(f.log) == 0 {
				t.Fatal("no round was logged")
			}
			details := f.log[0].details
			if got := field(t, details, "chunksMoved"); got != tt.moved {
				t.Errorf("chunksMoved = %v, want %d", got, tt.moved)
			}
			if got := field(t, details, "imbalancedCachedCollections"); got != tt.cached {
				t.Errorf("cached = %v, want %d", got, tt.cached)
			}
			if len(f.jumbo) != tt.jumbo {
				t.Errorf("%d chunks flagged, want %d", len(f.jumbo), tt.jumbo)
			}
		})
	}
}

func TestTrap23CachedCollectionsAreMeasuredButNotFirst(t *testing.T) {
	others := 0
	for seed := range uint64(20) {
		f := newFake("a", "b")
		for i := range 200 {
			f.add(t, fmt.Sprintf("db.c%03d", i), 2000, 0)
		}
		f.traced(t, balancer.Config{Rand: rand.New(rand.NewPCG(seed, 0))}, 2, nil)
		if len(f.moves) != 2 || len(f.measured) != 2 {
			t.Fatalf("%d moves, %d batches", len(f.moves), len(f.measured))
		}
		first, second := f.moves[0].Namespace, f.moves[1].Namespace
		if !slices.Contains(f.measured[1], first) {
			t.Errorf("seed %d: the cached %s was not measured", seed, first)
		}
		if first != second {
			others++
		}
	}
	if others == 0 {
		t.Error("the cached collection always comes first")
	}
}

func TestTrap24TimeoutDiscardsAPartialBatch(t *testing.T) {
	f := many(t, []string{"a", "b", "c", "d"}, 150, func(i int) []int64 {
		sizes := balanced(4)
		if i == 5 || i == 105 {
			sizes[0] = 2000
		}
		return sizes
	})
	f.measureTime = time.Second
	// The limit strikes some collections into the second batch: the parameters
	// are asked for once with each collection of the first batch and of the walk.
	asked := 0
	parameters := func() balancer.Parameters {
		p := balancer.DefaultParameters()
		if len(f.measured) > 0 {
			if asked++; asked > 110 {
				p.SelectionTimeout = 0
			}
		}
		return p
	}
	f.traced(t, balancer.Config{Parameters: parameters}, 1, nil)
	if len(f.measured) != 1 || len(f.moves) != 1 {
		t.Errorf("%d batches and %d moves, want one of each: the second batch is never measured", len(f.measured), len(f.moves))
	}
}

func TestTrap25AShardThatDoesNotTellItsSizeFailsTheRound(t *testing.T) {
	f := newFake("a", "b", "c", "d")
	f.add(t, "db.c", 1000, 0, 0, 0)
	f.add(t, "db.d", 0, 0, 1000, 0)
	f.failSizes = mongoerr.New(mongoerr.HostUnreachable, "shard d does not answer")
	loop := f.run(t)
	f.advance(25 * time.Second)
	if len(f.moves) != 0 || len(f.log) != 3 || loop.Status().Rounds != 3 {
		t.Fatalf("%d moves, %d entries, %d rounds; want no move and a failed round every ten seconds", len(f.moves), len(f.log), loop.Status().Rounds)
	}
	if got := field(t, f.log[2].details, "errmsg"); got != "shard d does not answer" {
		t.Errorf("errmsg %v", got)
	}
	f.failSizes = nil
	f.advance(10 * time.Second)
	if len(f.moves) == 0 {
		t.Error("nothing moves when the shard is back")
	}
}

func TestTrap34TwoSpellingsOfErrorOccurred(t *testing.T) {
	for release, name := range map[catalog.Release]string{
		catalog.Release34: "errorOccured", catalog.Release44: "errorOccured", catalog.Release50: "errorOccured", catalog.Release80: "errorOccurred",
	} {
		for _, fails := range []bool{false, true} {
			f := newFake("a", "b")
			f.addChunks(t, "db.c", "a", "a", "a", "a").sizes = map[catalog.ShardID]int64{"a": 1 << 40, "b": 0}
			if fails {
				f.failShards = errors.New("gone")
			}
			f.traced(t, balancer.Config{Release: release}, 1, nil)
			if details := f.log[0].details; details[1].Key != name || details[1].Value != fails {
				t.Errorf("%s: %v, want %s: %v", release, details, name, fails)
			}
		}
	}
}

func TestTrap35SkippedAndFailedRoundsCount(t *testing.T) {
	for name, spoil := range map[string]func(*fakeCluster){
		"mode off":       func(f *fakeCluster) { f.settings["balancer"] = bson.D{{Key: "mode", Value: "off"}} },
		"outside window": func(f *fakeCluster) { f.settings["balancer"] = window("13:00", "14:00") },
		"bad settings":   func(f *fakeCluster) { f.settings["chunksize"] = bson.D{{Key: "value", Value: 0}} },
		"failing":        func(f *fakeCluster) { f.failShards = errors.New("gone") },
		"idle":           func(*fakeCluster) {},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake("a", "b")
			f.add(t, "db.c", 100, 100)
			loop := f.run(t)
			f.advance(time.Second)
			spoil(f)
			before := loop.Status().Rounds
			f.advance(30 * time.Second)
			if got := loop.Status().Rounds - before; got != 3 {
				t.Errorf("%d rounds in half a minute, want 3", got)
			}
			if len(f.moves) != 0 {
				t.Errorf("moved %v", f.moves)
			}
		})
	}
}

func TestTrap40ZoneThatDoesNotFitTheKeyFailsTheRound(t *testing.T) {
	for code, name := range map[mongoerr.Code]string{mongoerr.BoundFieldMismatch: "other fields", mongoerr.KeyPatternShorterThanBound: "too many fields"} {
		for _, release := range []catalog.Release{catalog.Release50, catalog.Release80} {
			for _, when := range []string{"splits", "moves"} {
				t.Run(fmt.Sprint(name, " at the ", when, " of ", release), func(t *testing.T) {
					f := newFake("a", "b", "c", "d")
					f.addChunks(t, "db.c", "a", "a", "a", "a").sizes = map[catalog.ShardID]int64{"a": 1 << 40, "b": 0, "c": 0, "d": 0}
					f.addChunks(t, "db.d", "a")
					bad := map[string]error{"db.d": mongoerr.New(code, "no prefix of the shard key")}
					if when == "splits" {
						f.failRouting = bad
					}
					routings := 0
					f.traced(t, balancer.Config{Release: release}, 1, func(name string) {
						if name == "routing" {
							if routings++; routings > len(f.colls) {
								f.failRouting = bad
							}
						}
					})
					if len(f.moves) != 0 || len(f.log) != 1 || field(t, f.log[0].details, "errmsg") != "no prefix of the shard key" {
						t.Errorf("moves %v, log %v, want a failed round", f.moves, f.log)
					}
				})
			}
		}
	}
	// Ranges that overlap concern their own collection only (rules/01-rounds-and-settings §4.2).
	f := newFake("a", "b")
	f.add(t, "db.c", 1000, 0)
	f.add(t, "db.d", 1000, 0)
	f.failRouting = map[string]error{"db.c": mongoerr.New(mongoerr.RangeOverlapConflict, "overlap")}
	var ids []string
	f.traced(t, balancer.Config{Logger: slog.New(warned{slog.DiscardHandler, &ids})}, 1, nil)
	if len(f.moves) != 1 || f.moves[0].Namespace != "db.d" {
		t.Errorf("moves %v, want one of db.d", f.moves)
	}
	if !slices.Equal(ids, []string{"21852", "21853"}) {
		t.Errorf("warnings %v, want one of the splits and one of the moves", ids)
	}
}
