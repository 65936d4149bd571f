package price_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/plan"
	"shardsh/balancer/price"
)

const gib = 1 << 30

// lopsided has 40 GiB of db.c on one of three shards, each with a disk of a size that is filled
// with nothing else.
func lopsided(t *testing.T, disk int64) *catalog.Snapshot {
	t.Helper()
	s := snaptest.SnapshotOfChunks(t, 3, 400, func(int) (int, int64) { return 0, gib / 10 })
	for i, shard := range s.Shards() {
		if shard.Disk = (catalog.Disk{Total: disk}); i == 0 {
			shard.Disk.Used = 40 * gib
		}
		if disk > 0 {
			s = s.WithShard(shard)
		}
	}
	return s
}

func priced(t *testing.T, s *catalog.Snapshot, goal plan.Goal) price.Comparison {
	t.Helper()
	goal.Namespaces = []string{"db.c"}
	q, err := price.Compare(s, price.Options{Goal: goal})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func way(t *testing.T, q price.Comparison, kind price.WayKind) price.Way {
	t.Helper()
	w, there := q.Way(kind)
	if !there {
		t.Fatalf("there is no %s in %+v", kind, q)
	}
	return w
}

// Two thirds of the data move, to two shards; a resharding copies all of it, and needs room for
// the new copy beside the old one.
func TestWhatWaysCopy(t *testing.T) {
	q := priced(t, lopsided(t, 1000*gib), plan.Goal{})
	moves, reshard := way(t, q, price.Moves), way(t, q, price.Reshard)
	if want := int64(40 * gib * 2 / 3); moves.Bytes < want-gib || moves.Bytes > want {
		t.Errorf("moves copy %d GiB, not %d", moves.Bytes/gib, want/gib)
	}
	if len(moves.Links) != 2 || moves.Links[0].From != "s00" || moves.Links[0].Bytes+moves.Links[1].Bytes != moves.Bytes {
		t.Errorf("%+v", moves.Links)
	}
	if reshard.Bytes < 39*gib || reshard.Bytes > 40*gib || reshard.Moves != 0 || reshard.Likely < balancer.DefaultMinReshardingDuration {
		t.Errorf("%+v", reshard)
	}
	for i, peak := range moves.Peaks { // the donor's files do not become smaller
		if i == 0 && peak.Used < 40*gib || i > 0 && (peak.Used < 12*gib || peak.Used > 15*gib) {
			t.Errorf("%+v", peak)
		}
	}
	if first := reshard.Peaks[0]; first.Used < 53*gib || first.Used > 56*gib { // 40 and a third, and the oplog
		t.Errorf("%+v", first)
	}
	for _, w := range q.Ways {
		if w.Refused != "" || w.Low > w.Likely || w.Likely > w.High || w.Likely <= 0 || len(w.Commands) == 0 {
			t.Errorf("%+v", w)
		}
	}
	if q.Recommended == "" || q.Reason == "" || !strings.Contains(q.Basis[0], "assuming 4 to 64 MiB/s") {
		t.Errorf("%s, %s, %q", q.Recommended, q.Reason, q.Basis)
	}
}

// A way is never recommended that a disk can't hold; one whose data fit is.
func TestDisksRefuse(t *testing.T) {
	q := priced(t, lopsided(t, 50*gib), plan.Goal{}) // 45 GiB may be used
	if w := way(t, q, price.Reshard); !strings.Contains(w.Refused, "disk of shard s00 would be") {
		t.Errorf("%+v", w)
	}
	if w := way(t, q, price.Moves); w.Refused != "" || q.Recommended == price.Reshard {
		t.Errorf("%+v, %s", w, q.Recommended)
	}
	full := lopsided(t, 50*gib)
	for _, id := range []catalog.ShardID{"s01", "s02"} {
		shard, _ := full.Shard(id)
		shard.Disk.Used = 44 * gib
		full = full.WithShard(shard)
	}
	if q = priced(t, full, plan.Goal{}); q.Recommended != "" || !strings.Contains(q.Reason, "no way") {
		t.Errorf("%s is recommended: %+v", q.Recommended, q)
	}
	q = priced(t, lopsided(t, 0), plan.Goal{})
	if !slices.ContainsFunc(q.Basis, func(b string) bool { return strings.Contains(b, "how full disks are is unknown") }) {
		t.Errorf("%q", q.Basis)
	}
}

func TestReleasesAndGoals(t *testing.T) {
	parts := lopsided(t, 0).Parts()
	parts.Release = catalog.Release70
	if w := way(t, priced(t, catalog.NewSnapshot(parts), plan.Goal{}), price.Reshard); !strings.Contains(w.Refused, "7.0") {
		t.Errorf("%+v", w)
	}
	even := snaptest.SnapshotOfChunks(t, 3, 30, func(i int) (int, int64) { return i % 3, gib / 10 })
	if q := priced(t, even, plan.Goal{}); !q.Done || len(q.Ways) != 0 || q.Recommended != "" {
		t.Errorf("%+v", q)
	}
	drain := priced(t, even, plan.Goal{Kind: plan.Drain, Shard: "s01"})
	if w := way(t, drain, price.Moves); w.Refused != "" || w.Moves != 10 {
		t.Errorf("%+v", w)
	}
	if w := way(t, drain, price.Reshard); !strings.Contains(w.Commands[0], `[{ shard: "s00" }, { shard: "s02" }]`) {
		t.Errorf("%+v", w)
	}
	for _, o := range []price.Options{
		{}, {Goal: plan.Goal{Kind: plan.Zones, Namespaces: []string{"db.c"}}}, {Goal: plan.Goal{Namespaces: []string{"a", "b"}}},
	} {
		if _, err := price.Compare(even, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	unknown := new(*diagnosis.NotFoundError)
	for _, o := range []price.Options{
		{Goal: plan.Goal{Namespaces: []string{"db.none"}}},
		{Goal: plan.Goal{Kind: plan.Drain, Shard: "none", Namespaces: []string{"db.c"}}},
	} {
		if _, err := price.Compare(even, o); !errors.As(err, unknown) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// A collection that is not sharded moves as a whole, to the emptiest shard, from 8.0 on.
func TestMoveCollection(t *testing.T) {
	s := lopsided(t, 0)
	c := *s.Collection("db.c")
	c.Unsplittable = true
	s = s.WithCollection(&c)
	q := priced(t, s, plan.Goal{Kind: plan.Drain, Shard: "s00"})
	if w := way(t, q, price.MoveCollection); w.Commands[0] != `sh.moveCollection("db.c", "s01")` || w.Refused != "" ||
		q.Recommended != price.MoveCollection || len(w.Links) != 1 {
		t.Errorf("%+v", q)
	}
	if q = priced(t, s, plan.Goal{Kind: plan.Drain, Shard: "s02"}); !q.Done {
		t.Errorf("%+v", q)
	}
}
