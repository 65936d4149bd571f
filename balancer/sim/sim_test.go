package sim_test

import (
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/policy"
	"shardsh/balancer/sim"
)

func start(t rapid.TB, s *catalog.Snapshot, cfg sim.Config) *sim.Run {
	t.Helper()
	if cfg.Location == nil {
		cfg.Location = time.UTC
	}
	r, err := sim.New(s, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// rest runs a snapshot to its rest and returns the run and what happened.
func rest(t rapid.TB, s *catalog.Snapshot, cfg sim.Config) (*sim.Run, []sim.Event) {
	t.Helper()
	r := start(t, s, cfg)
	events := slices.Collect(r.EventsToRest(s.Time().Add(100 * 24 * time.Hour)))
	if !r.AtRest() {
		t.Fatalf("no rest after %d events, the last is %+v", len(events), events[max(0, len(events)-1):])
	}
	return r, events
}

func of(events []sim.Event, kind sim.EventKind) (list []sim.Event) {
	for _, e := range events {
		if e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// with returns a snapshot with a changed collection.
func with(s *catalog.Snapshot, change func(*catalog.CollectionState)) *catalog.Snapshot {
	coll := *s.Collection("db.c")
	change(&coll)
	return s.WithCollection(&coll)
}

func draining(s *catalog.Snapshot, id catalog.ShardID) *catalog.Snapshot {
	shard, _ := s.Shard(id)
	shard.Draining = true
	return s.WithShard(shard)
}

func bytesOf(s *catalog.Snapshot, shard int) int64 {
	return s.Collection("db.c").Sizes[snaptest.ShardID(shard)].Bytes
}

// Twelve chunks of 128 MiB on one of three shards: by the rules of 8.0 shards end
// less than three chunk sizes apart, and each move takes what its bytes take.
func TestBytesAreEvenedOut(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 3, 12, func(int) (int, int64) { return 0, 128 * mib })
	r, events := rest(t, s, sim.Config{})
	defer r.Close()
	end := r.Snapshot()
	var sizes []int64
	for i := range 3 {
		sizes = append(sizes, bytesOf(end, i))
	}
	if slices.Max(sizes)-slices.Min(sizes) >= 3*128*mib {
		t.Errorf("sizes are %d", sizes)
	}
	moves := of(events, sim.Moved)
	if len(moves) == 0 {
		t.Fatal("nothing moved")
	}
	for _, m := range moves {
		// 128 MiB at 64 MiB a second, 8 batches of 5 ms, 175 ms for the rest.
		if took := m.Ended.Sub(m.Began); took != 2*time.Second+40*time.Millisecond+175*time.Millisecond {
			t.Errorf("a move took %v", took)
		}
		if m.Bytes != 128*mib || m.Documents != 128*1024 || m.Reason != policy.ReasonChunksImbalance {
			t.Errorf("moved %+v", m)
		}
	}
}

// Since 6.0 the donor gives about one chunk size of a chunk that holds more; up to
// 5.0 it gives whole chunks (rules/01-selection §6.8).
func TestDonorsCutLargeChunks(t *testing.T) {
	for name, c := range map[string]struct {
		release catalog.Release
		chunk   int64 // MiB
		moved   int64 // MiB
	}{
		"one chunk size":          {catalog.Release80, 128, 128},
		"below 1.33 chunk sizes":  {catalog.Release80, 165, 165},
		"1.5 chunk sizes: half":   {catalog.Release80, 192, 96},
		"from 1.8 on: one":        {catalog.Release80, 400, 128},
		"6.0 as 8.0":              {catalog.Release60, 400, 128},
		"5.0, whole chunks of 64": {catalog.Release50, 100, 100},
	} {
		t.Run(name, func(t *testing.T) {
			s := snaptest.SnapshotOfChunks(t, 2, 20, func(int) (int, int64) { return 0, c.chunk * mib })
			parts := s.Parts()
			parts.Release, parts.Settings = c.release, catalog.DefaultSettingsOf(c.release)
			r := start(t, catalog.NewSnapshot(parts), sim.Config{})
			defer r.Close()
			for e := range r.Events(noon.Add(time.Hour)) {
				if e.Kind != sim.Moved {
					continue
				}
				// Points lie on whole keys, of which a chunk has a thousand.
				if off := e.Bytes - c.moved*mib; off < -mib/2 || off > mib/2 {
					t.Errorf("moved %d bytes, not %d MiB", e.Bytes, c.moved)
				}
				return
			}
			t.Error("nothing moved")
		})
	}
}

func TestModeAndWindow(t *testing.T) {
	uneven := snaptest.SnapshotOfChunks(t, 2, 10, func(int) (int, int64) { return 0, 128 * mib })
	off := uneven.Settings()
	off.Mode = catalog.ModeOff
	evening := uneven.Settings()
	evening.Window = &catalog.Window{Start: 22 * 60, Stop: 23 * 60}
	east := time.FixedZone("", 2*3600)
	for name, c := range map[string]struct {
		settings catalog.Settings
		cfg      sim.Config
		first    time.Time // begin of the first move; zero = there is none
	}{
		"on":                         {uneven.Settings(), sim.Config{}, noon},
		"off":                        {off, sim.Config{}, time.Time{}},
		"off, but ignored":           {off, sim.Config{IgnoreMode: true}, noon},
		"window":                     {evening, sim.Config{}, time.Date(2026, 3, 2, 22, 0, 0, 0, time.UTC)},
		"window in another location": {evening, sim.Config{Location: east}, time.Date(2026, 3, 2, 20, 0, 0, 0, time.UTC)},
	} {
		t.Run(name, func(t *testing.T) {
			r, events := rest(t, uneven.WithSettings(c.settings), c.cfg)
			defer r.Close()
			moves := of(events, sim.Moved)
			if len(moves) == 0 != c.first.IsZero() {
				t.Fatalf("%d moves", len(moves))
			}
			if len(moves) > 0 && (moves[0].Began.Before(c.first) || moves[0].Began.After(c.first.Add(11*time.Second))) {
				t.Errorf("the first move begins at %v, not at %v", moves[0].Began, c.first)
			}
		})
	}
}

// Rounds between windows are skipped, and those of several windows together show that nothing is left to do.
func TestShortWindow(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 2, 10, func(int) (int, int64) { return 0, 128 * mib })
	settings := s.Settings()
	settings.Window, settings.AutoMerge = &catalog.Window{Start: 22 * 60, Stop: 22*60 + 1}, false
	rounds := 0
	r := start(t, s.WithSettings(settings), sim.Config{Rand: rand.New(rand.NewPCG(1, 1)),
		OnDecisions: func(time.Time, []policy.Decision) { rounds++ }})
	defer r.Close()
	moves := of(slices.Collect(r.EventsToRest(noon.AddDate(0, 1, 0))), sim.Moved)
	if len(moves) != 4 || !r.AtRest() || rounds > 500 {
		t.Errorf("%d moves, at rest: %t, %d rounds until %s", len(moves), r.AtRest(), rounds, r.Now())
	}
}

func TestDrainingEmptiesAShard(t *testing.T) {
	s := draining(snaptest.SnapshotOfChunks(t, 4, 40, func(i int) (int, int64) { return i % 4, 100*mib + int64(i) }), snaptest.ShardID(2))
	r, events := rest(t, s, sim.Config{Contents: sim.Skewed(1, 7)})
	defer r.Close()
	end := r.Snapshot()
	if n := end.Collection("db.c").Table.CountOn(snaptest.ShardID(2)); n > 0 || bytesOf(end, 2) != 0 {
		t.Errorf("%d chunks with %d bytes are left", n, bytesOf(end, 2))
	}
	if moves := of(events, sim.Moved); len(moves) < 10 || moves[0].Reason != policy.ReasonDrain {
		t.Errorf("moves: %+v", moves)
	}
}

// A range does not come back to a shard that has yet to delete it.
func TestRangeDeletionsAreWaitedFor(t *testing.T) {
	s := draining(snaptest.SnapshotOfChunks(t, 2, 1, func(int) (int, int64) { return 0, 10 * mib }), snaptest.ShardID(0))
	r := start(t, s, sim.Config{})
	r.Advance(noon.Add(time.Minute))
	back := draining(r.Snapshot(), snaptest.ShardID(1))
	r.Close()
	// The run's own deletions are not in its snapshot; they are told as a reader
	// tells them.
	parts := back.Parts()
	coll := back.Collection("db.c")
	parts.Deletions = []catalog.RangeDeletion{{
		Shard: snaptest.ShardID(0), Namespace: "db.c", UUID: coll.UUID, Delayed: true,
		Min: coll.Pattern.Bound(coll.Pattern.GlobalMin()), Max: coll.Pattern.Bound(coll.Pattern.GlobalMax()),
	}}
	shard, _ := back.Shard(snaptest.ShardID(0))
	shard.Draining = false
	r, events := rest(t, catalog.NewSnapshot(parts).WithShard(shard), sim.Config{})
	defer r.Close()
	failed, moved := of(events, sim.MoveFailed), of(events, sim.Moved)
	if len(failed) == 0 || len(moved) != 1 {
		t.Fatalf("%d failed, %d moved", len(failed), len(moved))
	}
	if !mongoerr.Is(failed[0].Err, mongoerr.OperationFailed) || failed[0].Ended.Sub(failed[0].Began) != 10*time.Second {
		t.Errorf("failed: %+v", failed[0])
	}
	if since := moved[0].Ended.Sub(back.Time()); since < 15*time.Minute || since > 16*time.Minute {
		t.Errorf("moved after %v", since)
	}
}

// Ten runs of ten chunks become ten chunks of 10 MiB by merging, and by moving
// those up to a quarter of the chunk size to their neighbours at most four.
func TestDefragmentationMergesSmallChunks(t *testing.T) {
	s := with(snaptest.SnapshotOfChunks(t, 2, 100, func(i int) (int, int64) { return i / 10 % 2, mib }), func(c *catalog.CollectionState) {
		c.Defragment = true
	})
	r, events := rest(t, s, sim.Config{})
	defer r.Close()
	end := r.Snapshot().Collection("db.c")
	if end.Defragment || end.DefragmentationPhase != "" || end.Table.Len() > 4 {
		t.Errorf("%d chunks are left, phase %q", end.Table.Len(), end.DefragmentationPhase)
	}
	if len(of(events, sim.Merged)) == 0 || len(of(events, sim.PhaseEntered)) == 0 {
		t.Errorf("events: %+v", events)
	}
}

func TestFlaggedChunksAndTooLargeOnes(t *testing.T) {
	// All documents of a chunk have one key: it can't be cut.
	s := snaptest.SnapshotOfChunks(t, 3, 3, func(int) (int, int64) { return 0, 600 * mib })
	p := snaptest.IntPattern(t)
	narrow := make([]catalog.Chunk, 0, 5)
	lower := p.GlobalMin()
	for _, at := range []int{10, 11, 20, 21} {
		narrow = append(narrow, catalog.Chunk{Min: lower, Max: snaptest.IntKey(t, p, at), Shard: snaptest.ShardID(0)})
		lower = snaptest.IntKey(t, p, at)
	}
	narrow = append(narrow, catalog.Chunk{Min: lower, Max: p.GlobalMax(), Shard: snaptest.ShardID(0)})
	s = with(s, func(c *catalog.CollectionState) {
		table, err := catalog.NewRoutingTable(p, c.Table.Epoch(), c.Table.Timestamp(), slices.Values(narrow))
		if err != nil {
			t.Fatal(err)
		}
		c.Table = table
		c.ChunkSizes = []catalog.ChunkSize{
			{Min: p.GlobalMin(), Bytes: 900 * mib, Documents: 900 * 1024},
			{Min: snaptest.IntKey(t, p, 10), Bytes: 900 * mib, Documents: 900 * 1024},
		}
	})
	r, events := rest(t, s, sim.Config{Contents: sim.Measured})
	defer r.Close()
	flagged := of(events, sim.MarkedJumbo)
	if len(flagged) != 1 || !flagged[0].Min.Equal(snaptest.IntKey(t, p, 10)) {
		t.Fatalf("flagged: %+v", flagged)
	}
	if failed := of(events, sim.MoveFailed); len(failed) == 0 || !mongoerr.Is(failed[0].Err, mongoerr.ChunkTooBig) {
		t.Errorf("failed: %+v", failed)
	}
}

// What a defragmentation has measured is what a chunk holds; the rest is shared by
// those that it did not measure, or found too large.
func TestEstimates(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 2, 4, func(int) (int, int64) { return 0, 100 * mib })
	coll := s.Collection("db.c")
	sizes := []int64{-1, 10 * mib, 20 * mib, catalog.TooBig}
	var changed []catalog.Chunk
	for chunk := range coll.Table.All() {
		if size := sizes[len(changed)]; size >= 0 {
			chunk.Estimate = catalog.NewEstimate(size)
		}
		changed = append(changed, chunk)
	}
	table, err := coll.Table.Apply(changed)
	if err != nil {
		t.Fatal(err)
	}
	holds := sim.WithEstimates(sim.Even)(coll.WithTable(table), 128*mib)
	for i, want := range []int64{185 * mib, 10 * mib, 20 * mib, 185 * mib} {
		if got := holds(table.At(i)); got.Bytes != want || got.Documents != want/1024 {
			t.Errorf("chunk %d holds %+v, not %d bytes", i, got, want)
		}
	}
	if got := sim.WithEstimates(sim.Even)(coll, 128*mib)(coll.Table.At(2)).Bytes; got != 100*mib {
		t.Errorf("without measured ones a chunk holds %d", got)
	}
}

func TestBadConfigurations(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 2, 2, func(i int) (int, int64) { return i, mib })
	if _, err := sim.New(s, sim.Config{}); err == nil {
		t.Error("a run without a location")
	}
	s = with(s, func(c *catalog.CollectionState) { c.Table = nil })
	if _, err := sim.New(s, sim.Config{Location: time.UTC}); err == nil {
		t.Error("a run without a routing table")
	}
}

// A round tells what it chose and what it did not.
func TestDecisionsAreTold(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 3, 12, func(int) (int, int64) { return 0, 128 * mib })
	codes := map[policy.Code]bool{}
	r, _ := rest(t, s, sim.Config{OnDecisions: func(_ time.Time, decisions []policy.Decision) {
		for _, d := range decisions {
			codes[d.Code] = true
		}
	}})
	defer r.Close()
	if !codes[policy.ChosenImbalance] || !codes[policy.BelowThreshold] {
		t.Errorf("told of %v", codes)
	}
}

// Events may be left at any point and gone on with.
func TestEventsGoOn(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 3, 30, func(int) (int, int64) { return 0, 128 * mib })
	whole := start(t, s, sim.Config{})
	defer whole.Close()
	parts := start(t, s, sim.Config{})
	defer parts.Close()
	end := noon.Add(time.Hour)
	want := slices.Collect(whole.Events(end))
	var got []sim.Event
	for parts.Now().Before(end) {
		for e := range parts.Events(end) {
			got = append(got, e)
			break
		}
	}
	if !slices.EqualFunc(got, want, func(a, b sim.Event) bool {
		return a.Kind == b.Kind && a.Ended.Equal(b.Ended) && a.From == b.From && a.Min.Equal(b.Min)
	}) {
		t.Errorf("%d events one by one, %d at once", len(got), len(want))
	}
}

// Whatever a run does: chunks tile the key space, no data is lost or made, no
// shard takes part in two migrations at a time, the first snapshot stays as it
// was, and the same again gives the same.
func TestInvariants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyWorld(t)
		cfg := sim.Config{
			Location: time.UTC,
			Contents: rapid.SampledFrom([]sim.ContentsModel{sim.Even, sim.Measured, sim.Skewed(1.5, 3)}).Draw(t, "contents"),
		}
		seed := rapid.Uint64().Draw(t, "seed")
		before := maps.Clone(s.Collection("db.c").Sizes)
		run := func() (*catalog.Snapshot, []sim.Event) {
			cfg.Rand = rand.New(rand.NewPCG(seed, 1))
			r := start(t, s, cfg)
			defer r.Close()
			events := slices.Collect(r.EventsToRest(noon.Add(6 * time.Hour)))
			return r.Snapshot(), events
		}
		end, events := run()
		if again, _ := run(); again.Collection("db.c").Table.Version() != end.Collection("db.c").Table.Version() {
			t.Fatal("another run ended elsewhere")
		}
		if !maps.Equal(before, s.Collection("db.c").Sizes) {
			t.Fatal("the snapshot has changed")
		}
		checkTiles(t, end.Collection("db.c"))
		if a, b := sum(s), sum(end); a != b {
			t.Fatalf("%+v became %+v", a, b)
		}
		checkBusy(t, events)
	})
}

func anyWorld(t *rapid.T) *catalog.Snapshot {
	shards := rapid.IntRange(2, 6).Draw(t, "shards")
	owners := rapid.SliceOfN(rapid.IntRange(0, shards-1), 1, 40).Draw(t, "owners")
	size := rapid.Int64Range(0, 500).Draw(t, "MiB a chunk")
	s := snaptest.SnapshotOfChunks(t, shards, len(owners), func(i int) (int, int64) { return owners[i], size * mib })
	releases := []catalog.Release{catalog.Release44, catalog.Release50, catalog.Release60, catalog.Release80,
		catalog.Release80.WithPatch(20), catalog.Release82.WithPatch(5), catalog.Release82.WithPatch(6), catalog.Release83,
		catalog.Release90}
	release := rapid.SampledFrom(releases).Draw(t, "release")
	parts := s.Parts()
	parts.Release, parts.Settings = release, catalog.DefaultSettingsOf(release)
	s = catalog.NewSnapshot(parts)
	if rapid.Bool().Draw(t, "draining") {
		s = draining(s, snaptest.ShardID(0))
	}
	return with(s, func(c *catalog.CollectionState) {
		c.Defragment = release.Defragments() && rapid.Bool().Draw(t, "defragment")
	})
}

func checkTiles(t *rapid.T, c *catalog.CollectionState) {
	at := c.Pattern.GlobalMin()
	for chunk := range c.Table.All() {
		if !chunk.Min.Equal(at) || !chunk.Min.Less(chunk.Max) {
			t.Fatalf("chunk %s follows %s", chunk.Min, at)
		}
		at = chunk.Max
	}
	if !at.Equal(c.Pattern.GlobalMax()) {
		t.Fatalf("the last chunk ends at %s", at)
	}
}

func sum(s *catalog.Snapshot) (total catalog.ShardData) {
	for _, data := range s.Collection("db.c").Sizes {
		total.Bytes += data.Bytes
		total.Documents += data.Documents
	}
	return total
}

func checkBusy(t *rapid.T, events []sim.Event) {
	until := map[catalog.ShardID]time.Time{}
	moves := append(of(events, sim.Moved), of(events, sim.MoveFailed)...)
	slices.SortStableFunc(moves, func(a, b sim.Event) int { return a.Began.Compare(b.Began) })
	for _, m := range moves {
		for _, id := range []catalog.ShardID{m.From, m.To} {
			if m.Began.Before(until[id]) {
				t.Fatalf("shard %s takes part in two migrations at %v: %+v", id, m.Began, moves)
			}
			until[id] = m.Ended
		}
		if m.Kind == sim.MoveFailed && m.Err == nil || m.Kind == sim.Moved && m.Err != nil {
			t.Fatal(errors.New("a move and its error don't agree"))
		}
	}
}

// Links are slower than the costs say, and a share of their migrations fails: the
// rest moves all the same.
func TestLinks(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 3, 30, func(int) (int, int64) { return 0, 128 * mib })
	r, events := rest(t, s, sim.Config{Link: func(_, to catalog.ShardID) sim.Link {
		if to == snaptest.ShardID(2) {
			return sim.Link{Bandwidth: 32 * mib, MoveOverhead: 340 * time.Millisecond}
		}
		return sim.Link{FailureShare: 0.25}
	}})
	defer r.Close()
	usual := 2*time.Second + 40*time.Millisecond + 175*time.Millisecond
	moved := map[catalog.ShardID]int{}
	for _, m := range of(events, sim.Moved) {
		want := map[catalog.ShardID]time.Duration{snaptest.ShardID(1): usual, snaptest.ShardID(2): 4*time.Second + 380*time.Millisecond}[m.To]
		if moved[m.To]++; m.Ended.Sub(m.Began) != want {
			t.Errorf("a move to %s took %v", m.To, m.Ended.Sub(m.Began))
		}
	}
	failed := of(events, sim.MoveFailed)
	all := len(failed) + moved[snaptest.ShardID(1)]
	if n := len(failed); n < all/4 || n > all/4+1 || n < 2 || failed[0].To != snaptest.ShardID(1) {
		t.Errorf("%d failed, %v moved", n, moved)
	}
}

// The stage that tells sizes leaves out shards that have nothing of a collection,
// such as a new one: it receives data all the same. One that could not be asked
// does not.
func TestShardsWithoutAnEntryReceive(t *testing.T) {
	s := with(snaptest.SnapshotOfChunks(t, 3, 12, func(int) (int, int64) { return 0, 128 * mib }), func(c *catalog.CollectionState) {
		delete(c.Sizes, snaptest.ShardID(1))
		delete(c.Sizes, snaptest.ShardID(2))
	})
	silent, _ := s.Shard(snaptest.ShardID(2))
	silent.Unreachable = "connection refused"
	r, events := rest(t, s.WithShard(silent), sim.Config{})
	defer r.Close()
	for _, m := range of(events, sim.Moved) {
		if m.To != snaptest.ShardID(1) {
			t.Errorf("%+v", m)
		}
	}
	if bytesOf(r.Snapshot(), 1) == 0 {
		t.Error("the new shard has nothing")
	}
}
