package sim_test

import (
	"errors"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/sim"
)

// underWay returns a cluster with a migration of its first chunk under way, from
// shard 0 to shard 1, since some time.
func underWay(s *catalog.Snapshot, since time.Duration) *catalog.Snapshot {
	parts := s.Parts()
	first := s.Collection("db.c").Table.At(0)
	parts.Migrations = []catalog.ActiveMigration{{
		Namespace: "db.c", From: snaptest.ShardID(0), To: snaptest.ShardID(1),
		Min: s.Collection("db.c").Pattern.Bound(first.Min), Since: s.Time().Add(-since),
	}}
	return catalog.NewSnapshot(parts)
}

// A migration under way ends first, when what is left of its time is over, and then
// the next round begins.
func TestMigrationsUnderWayEndFirst(t *testing.T) {
	s := underWay(snaptest.SnapshotOfChunks(t, 2, 12, func(int) (int, int64) { return 0, 128 * mib }), 10*time.Second)
	costs := sim.DefaultCosts(s.Release())
	costs.Bandwidth = 8 * mib // 16 s each
	usual := 16*time.Second + 8*costs.BatchTime + costs.MoveOverhead
	r, events := rest(t, s, sim.Config{Resume: true, Costs: costs})
	defer r.Close()
	moved := of(events, sim.Moved)
	first, left := moved[0], usual-10*time.Second
	if first.To != snaptest.ShardID(1) || !first.Min.Equal(s.Collection("db.c").Table.At(0).Min) ||
		first.Ended.Sub(s.Time()) != left {
		t.Errorf("the first is %+v, and not to end after %v", first, left)
	}
	if moved[1].Began.Before(first.Ended) || moved[1].Ended.Sub(moved[1].Began) != usual {
		t.Errorf("the second began at %v, before the first had ended, or did not take %v: %+v", moved[1].Began, usual, moved[1])
	}
	// Nobody who did not ask for it has it end.
	r, events = rest(t, s, sim.Config{Costs: costs})
	defer r.Close()
	if took := of(events, sim.Moved)[0].Ended.Sub(s.Time()); took != usual {
		t.Errorf("started over, the first took %v", took)
	}
}

// What took longer than it should have is not over, and what can't be under way is
// left out.
func TestMigrationsUnderWayThatAreOdd(t *testing.T) {
	row := snaptest.SnapshotOfChunks(t, 2, 12, func(int) (int, int64) { return 0, 128 * mib })
	r, events := rest(t, underWay(row, time.Hour), sim.Config{Resume: true})
	defer r.Close()
	if ended := of(events, sim.Moved)[0].Ended; !ended.After(row.Time()) {
		t.Errorf("it ended at %v, when nobody could see it", ended)
	}
	parts := row.Parts()
	for _, m := range []catalog.ActiveMigration{
		{Namespace: "db.gone", From: snaptest.ShardID(0), To: snaptest.ShardID(1)},
		{Namespace: "db.c", From: snaptest.ShardID(1), To: snaptest.ShardID(0), Min: row.Collection("db.c").Pattern.Bound(
			row.Collection("db.c").Table.At(0).Min)},
		{Namespace: "db.c", From: snaptest.ShardID(0), To: snaptest.ShardID(1)},
	} {
		parts.Migrations = []catalog.ActiveMigration{m}
		_, with := rest(t, catalog.NewSnapshot(parts), sim.Config{Resume: true})
		_, without := rest(t, row, sim.Config{})
		if len(with) != len(without) {
			t.Errorf("with %+v there are %d events, without it %d", m, len(with), len(without))
		}
	}
}

// The auto-merger begins again an hour after its last round began, if that is over.
func TestAutoMergerGoesOn(t *testing.T) {
	row := snaptest.SnapshotOfChunks(t, 2, 12, func(i int) (int, int64) { return i % 2, 128 * mib })
	aged := with(row, func(c *catalog.CollectionState) {
		var all []catalog.Chunk
		for chunk := range c.Table.All() {
			chunk.OnCurrentShardSince = bson.Timestamp{T: uint32(row.Time().Add(-24 * time.Hour).Unix())}
			chunk.Shard = snaptest.ShardID(0)
			if !chunk.Min.Less(snaptest.IntKey(t, c.Pattern, 6000)) {
				chunk.Shard = snaptest.ShardID(1)
			}
			all = append(all, chunk)
		}
		table, err := c.Table.Apply(all)
		if err != nil {
			t.Fatal(err)
		}
		c.Table = table
	})
	logged := func(what ...string) *catalog.Snapshot {
		parts := aged.Parts()
		for i, w := range what {
			at := row.Time().Add(-20*time.Minute + time.Duration(i)*time.Minute)
			parts.Changes = append(parts.Changes, catalog.LogEntry{Time: at, What: w})
		}
		return catalog.NewSnapshot(parts)
	}
	for _, tt := range []struct {
		name  string
		s     *catalog.Snapshot
		after time.Duration
	}{
		{"no log", logged(), 0},
		{"over", logged("autoMerge.start", "autoMerge.end"), 40 * time.Minute},
		{"not over", logged("autoMerge.start"), 0},
		{"switched off and on", logged("autoMerge.start", "autoMerge.end", "autoMerge.disable"), 0},
	} {
		r := start(t, tt.s, sim.Config{Resume: true})
		for e := range r.Events(row.Time().Add(2 * time.Hour)) {
			if e.Kind == sim.Merged {
				if got := e.Ended.Sub(row.Time()); got < tt.after || got > tt.after+time.Minute {
					t.Errorf("%s: the first merge was after %v, not %v", tt.name, got, tt.after)
				}
				break
			}
		}
		r.Close()
	}
}

// A run tells whoever looks on how far it is, and ends with its error.
func TestWatch(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 10, 4000, func(i int) (int, int64) { return i % 2, 128 * mib })
	stop := errors.New("enough")
	var seen []sim.Progress
	r := start(t, s, sim.Config{OnProgress: func(p sim.Progress) error {
		seen = append(seen, p)
		if len(seen) == 5 {
			return stop
		}
		return nil
	}})
	defer r.Close()
	moved := 0
	for e := range r.EventsToRest(s.Time().Add(24 * time.Hour)) {
		if e.Kind == sim.Moved {
			moved++
		}
	}
	last := seen[len(seen)-1]
	if !errors.Is(r.Err(), stop) || len(seen) != 5 || last.Moves != moved || last.Rounds == 0 || !last.At.After(s.Time()) {
		t.Errorf("after %d moves it was seen at %+v, and ended with %v", moved, seen, r.Err())
	}
	for range r.EventsToRest(s.Time().Add(24 * time.Hour)) {
		t.Fatal("it goes on after its end")
	}
}

// Some migrations fail at once, others after a part of their time.
func TestLinksThatFail(t *testing.T) {
	s := snaptest.SnapshotOfChunks(t, 2, 60, func(int) (int, int64) { return 0, 128 * mib })
	r, events := rest(t, s, sim.Config{Link: func(_, _ catalog.ShardID) sim.Link {
		return sim.Link{FailureShare: 0.2, FailureProgress: 0.5, RefusalShare: 0.1}
	}})
	defer r.Close()
	moved := of(events, sim.Moved)
	took := moved[0].Ended.Sub(moved[0].Began)
	atOnce, later := 0, 0
	for _, e := range of(events, sim.MoveFailed) {
		switch e.Ended.Sub(e.Began) {
		case sim.DefaultCosts(s.Release()).Refused:
			atOnce++
		case took / 2:
			later++
		default:
			t.Errorf("one failed after %v", e.Ended.Sub(e.Began))
		}
	}
	all := len(moved) + atOnce + later
	if atOnce < all/10-1 || atOnce > all/10+1 || later < (all-atOnce)/5-1 || later > (all-atOnce)/5+1 {
		t.Errorf("of %d migrations %d failed at once, %d later", all, atOnce, later)
	}
}
