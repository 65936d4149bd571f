package plan_test

import (
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/plan"
)

// fresh is a cluster with one chunk of db.c.
func fresh(t rapid.TB, shards int) *catalog.Snapshot {
	t.Helper()
	return snaptest.SnapshotOfChunks(t, shards, 1, func(int) (int, int64) { return 0, 0 })
}

func likePlan(t rapid.TB, s, other *catalog.Snapshot) *plan.Plan {
	t.Helper()
	goal, err := plan.LayoutGoal("db.c", s, other)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Make(s, plan.Options{Goal: goal})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// afterSteps is the cluster after the first steps of a plan.
func afterSteps(t rapid.TB, s *catalog.Snapshot, steps []plan.Step) *catalog.Snapshot {
	t.Helper()
	c := s.Collection("db.c")
	chunks := slices.Collect(c.Table.All())
	for _, step := range steps {
		at := slices.IndexFunc(chunks, func(x catalog.Chunk) bool { return x.Min.Equal(step.Min) })
		if at < 0 || chunks[at].Shard != step.From || !chunks[at].Max.Equal(step.Max) {
			t.Fatalf("no chunk for %+v", step)
		}
		if step.Kind == plan.Move {
			chunks[at].Shard = step.To
			continue
		}
		whole, parts := chunks[at], []catalog.Chunk{}
		for _, upper := range append(slices.Clone(step.Points), whole.Max) {
			part := whole
			part.Max, whole.Min = upper, upper
			parts = append(parts, part)
		}
		chunks = slices.Replace(chunks, at, at+1, parts...)
	}
	for i := range chunks {
		chunks[i].Version = catalog.ChunkVersion{Major: 2, Minor: uint32(i)}
	}
	table, err := catalog.NewRoutingTable(c.Pattern, c.Epoch, c.Timestamp, slices.Values(chunks))
	if err != nil {
		t.Fatal(err)
	}
	return s.WithCollection(c.WithTable(table))
}

// With as many shards, each chunk is where it is in the other cluster; what ended halfway goes
// on, and what is done has nothing left to do.
func TestLikeWithAsManyShards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 5).Draw(t, "shards")
		n := rapid.IntRange(1, 12).Draw(t, "chunks")
		on := rapid.SliceOfN(rapid.IntRange(0, shards-1), n, n).Draw(t, "on")
		other := snaptest.SnapshotOfChunks(t, shards, n, func(i int) (int, int64) { return on[i], int64(i) << 20 })
		s := fresh(t, shards)
		p := likePlan(t, s, other)
		half := rapid.IntRange(0, len(p.Steps)).Draw(t, "done")
		s = afterSteps(t, s, p.Steps[:half])
		s = afterSteps(t, s, likePlan(t, s, other).Steps)
		got, want := slices.Collect(s.Collection("db.c").Table.All()), slices.Collect(other.Collection("db.c").Table.All())
		if len(got) != len(want) {
			t.Fatalf("%d chunks, want %d", len(got), len(want))
		}
		for i := range got {
			if !got[i].Min.Equal(want[i].Min) || got[i].Shard != want[i].Shard {
				t.Errorf("chunk %d at %s is on %s, want %s", i, got[i].Min, got[i].Shard, want[i].Shard)
			}
		}
		if again := likePlan(t, s, other); len(again.Steps) > 0 || !again.ReachesGoal {
			t.Errorf("steps that are left: %+v", again.Steps)
		}
	})
}

// bytesOn counts what shards would have of the other cluster's data.
func bytesOn(t rapid.TB, s, other *catalog.Snapshot, bytes func(i int) int64) map[catalog.ShardID]int64 {
	t.Helper()
	sum := map[catalog.ShardID]int64{}
	table := s.Collection("db.c").Table
	i := 0
	for chunk := range other.Collection("db.c").Table.All() {
		parts := slices.Collect(table.Overlapping(chunk.Min, chunk.Max))
		for _, part := range parts {
			sum[part.Shard] += bytes(i) / int64(len(parts))
		}
		i++
	}
	return sum
}

// With more or fewer shards each gets the same, give or take a chunk, and neighbours that met
// several shards still do.
func TestLikeScaled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		theirs := rapid.IntRange(1, 8).Draw(t, "theirs")
		ours := rapid.IntRange(1, 12).Filter(func(n int) bool { return n != theirs }).Draw(t, "ours")
		n := max(ours, theirs) * 24
		other := snaptest.SnapshotOfChunks(t, theirs, n, func(i int) (int, int64) { return i % theirs, 64 << 20 })
		s := fresh(t, ours)
		s = afterSteps(t, s, likePlan(t, s, other).Steps)
		sum := bytesOn(t, s, other, func(int) int64 { return 64 << 20 })
		each := int64(n) * (64 << 20) / int64(ours)
		for i := range ours {
			id := snaptest.ShardID(i)
			if off := sum[id] - each; off < -(3*64<<20) || off > 3*64<<20 {
				t.Errorf("%s has %d chunks, want about %d", id, sum[id]>>26, each>>26)
			}
		}
		if ours == 1 {
			return
		}
		same, chunks := 0, slices.Collect(s.Collection("db.c").Table.All())
		for i := 1; i < len(chunks); i++ {
			if chunks[i].Shard == chunks[i-1].Shard {
				same++
			}
		}
		if theirs >= 2 && ours >= theirs && same > len(chunks)/2 {
			t.Errorf("%d of %d chunks are beside one of their own", same, len(chunks))
		}
	})
}

// A few large chunks are cut for more shards, where keys were sampled.
func TestLikeCutsLargeChunks(t *testing.T) {
	other := snaptest.SnapshotOfChunks(t, 1, 2, func(i int) (int, int64) { return 0, int64(i) * 6 << 30 })
	c := *other.Collection("db.c")
	for i := range 600 {
		c.Sampled = append(c.Sampled, snaptest.IntKey(t, c.Pattern, 1000+i))
	}
	s := fresh(t, 3)
	done := afterSteps(t, s, likePlan(t, s, other.WithCollection(&c)).Steps)
	counts := map[catalog.ShardID]int{}
	for _, k := range c.Sampled {
		counts[done.Collection("db.c").Table.ShardOf(k)]++
	}
	for id, n := range counts {
		if n < 150 || n > 250 {
			t.Errorf("%s has %d of 600 keys", id, n)
		}
	}
	if len(counts) != 3 {
		t.Errorf("%v", counts)
	}
	if p := likePlan(t, s, other); p.Totals.Splits != 1 || len(p.Steps[0].Points) != 1 {
		t.Errorf("without a sample it cuts at %+v", p.Steps)
	}
}

// Zones are those with the same name; shards are those with the same name.
func TestLikeByName(t *testing.T) {
	other := snaptest.SnapshotOfChunks(t, 3, 6, func(i int) (int, int64) { return i / 2, 1 << 20 })
	zoned := *other.Collection("db.c")
	zoned.Zones = catalog.NewZoneSet(zoned.Pattern)
	if err := zoned.Zones.Add(catalog.ZoneRange{Min: snaptest.IntKey(t, zoned.Pattern, 4000), Max: zoned.Pattern.GlobalMax(),
		Zone: "EU"}); err != nil {
		t.Fatal(err)
	}
	other = other.WithCollection(&zoned)
	eu, _ := other.Shard("s02")
	eu.Zones = []string{"EU"}
	other = other.WithShard(eu)
	s := fresh(t, 3)
	here, _ := s.Shard("s00")
	here.Zones = []string{"EU"}
	s = s.WithShard(here)
	table := afterSteps(t, s, likePlan(t, s, other).Steps).Collection("db.c").Table
	for i, want := range []catalog.ShardID{"s00", "s00", "s01", "s01", "s00", "s00"} {
		if got := table.At(i).Shard; got != want {
			t.Errorf("chunk %d is on %s, want %s", i, got, want)
		}
	}
}

func TestLikeRefuses(t *testing.T) {
	s := fresh(t, 2)
	hashed := *s.Collection("db.c")
	var err error
	if hashed.Pattern, err = catalog.ParseKeyPattern(hashedDoc(t)); err != nil {
		t.Fatal(err)
	}
	for want, other := range map[string]*catalog.Snapshot{
		"has no sharded collection":    s.WithoutCollection("db.c"),
		"the same key":                 s.WithCollection(&hashed),
		"chunks of db.c were not read": s.WithCollection(s.Collection("db.c").WithOutline()),
	} {
		if _, err := plan.LayoutGoal("db.c", s, other); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

func hashedDoc(t *testing.T) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(bson.D{{Key: "x", Value: "hashed"}})
	if err != nil {
		t.Fatal(err)
	}
	return raw
}
