package live_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
	"shardsh/balancer/live"
	"shardsh/balancer/mock"
	"shardsh/balancer/mock/mocktest"
	"shardsh/balancer/mock/router"
)

// played reads a mock that plays a cluster.
func played(t *testing.T, s *catalog.Snapshot) *catalog.Snapshot {
	t.Helper()
	return playedBy(t, s, s.Release())
}

// playedBy is played, by a mock of another release.
func playedBy(t *testing.T, s *catalog.Snapshot, release catalog.Release) *catalog.Snapshot {
	t.Helper()
	c, err := mock.New(mock.Config{Metadata: s, Release: release})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Lock()
	broken := c.BrokenInvariants()
	c.Unlock()
	if len(broken) > 0 {
		t.Error(strings.Join(broken, "\n"))
	}
	got, err := live.NewReader(mocktest.Connect(t, router.New(c, nil)), live.ReaderOptions{}).Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// Every command takes its moment.
	if later := got.Time().Sub(s.Time()); later < 0 || later > 10*time.Millisecond {
		t.Errorf("it is %s later than it was", later)
	}
	return got
}

// but leaves out what a mock that plays a cluster can't have as it was: where it
// was read from, at which moment, and how many rounds there were; its version beside the release; a
// logical time that it goes on from; itself as a router; what was under way, and
// what only the shards and the balancer tell; what a look into collections told; orphans; what it logs itself, from
// the moment on at which it began.
func but(s *catalog.Snapshot, began time.Time) *catalog.Snapshot {
	p := s.Parts()
	p.Source, p.Balancer.InRound, p.Balancer.Rounds, p.Version = catalog.Source{}, false, 0, ""
	p.Time, p.ClusterTime = time.Time{}, bson.Timestamp{}
	p.Balancer.Switched, p.Unsharded = nil, nil
	p.Compatibility = catalog.Compatibility{} // of the servers that play it; config has none
	p.Shards = slices.Clone(p.Shards)
	for i := range p.Shards {
		p.Shards[i].Ping, p.Shards[i].Version, p.Shards[i].CleanupDelay, p.Shards[i].Disk = 0, "", 0, catalog.Disk{}
	}
	p.Routers = slices.DeleteFunc(slices.Clone(p.Routers), func(r catalog.Router) bool { return r.ID == "mock:27017" })
	p.Migrations, p.Reshardings, p.Deletions, p.DeletionsKnown, p.Outcomes = nil, nil, nil, false, nil
	for _, log := range []*[]catalog.LogEntry{&p.Changes, &p.Actions} {
		*log = slices.DeleteFunc(slices.Clone(*log), func(e catalog.LogEntry) bool { return !e.Time.Before(began) })
	}
	p.Collections = slices.Clone(p.Collections)
	for i, c := range p.Collections {
		state := *c
		state.ReportedStatus, state.Unindexed, state.IndexesKnown, state.EmptyZones, state.Sampled = nil, nil, false, nil, nil
		state.Sizes = map[catalog.ShardID]catalog.ShardData{}
		for id, data := range c.Sizes {
			data.Orphans, data.OrphanBytes = 0, 0
			state.Sizes[id] = data
		}
		p.Collections[i] = &state
	}
	return catalog.NewSnapshot(p)
}

// A mock that plays a cluster tells a reader what was read of the cluster.
func TestPictureOfAMock(t *testing.T) {
	for _, r := range testedReleases() {
		t.Run(r.String(), func(t *testing.T) {
			t.Parallel()
			c := newConformance(t, r, asItIs)
			want := c.read(t, live.ReaderOptions{}, nil)
			if len(want.Parts().Changes) == 0 || len(want.Collections()) < 3 {
				t.Fatal("nothing has happened")
			}
			for _, d := range snaptest.Diff(but(played(t, want), want.Time()), but(want, want.Time())) {
				t.Error(d)
			}
		})
	}
}

// The same of made-up clusters, which have keys of all types and odd histories,
// and no documents of config.
func TestPictureOfAnything(t *testing.T) {
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		want := likely(rt, snaptest.Draw(rt), rapid.SampledFrom(testedReleases()).Draw(rt, "release"))
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			first := played(t, want)
			p := but(first, want.Time()).Parts()
			p.Config = nil // made here
			for _, d := range snaptest.Diff(catalog.NewSnapshot(p), but(want, want.Time())) {
				t.Error(d)
			}
			// With the documents there is nothing to be made any more.
			for _, d := range snaptest.Diff(but(played(t, first), want.Time()), but(first, want.Time())) {
				t.Errorf("the second time: %s", d)
			}
		})
		if t.Failed() {
			rt.FailNow()
		}
	})
}

// likely makes what was made up such as a server could be in.
func likely(t *rapid.T, s *catalog.Snapshot, r catalog.Release) *catalog.Snapshot {
	p := s.Parts()
	r = r.WithPatch(21) // as servers have one
	p.Time = p.Time.Add(48 * time.Hour)
	p.Release, p.Config, p.Changes, p.Actions, p.Lease, p.RunsPause, p.Members = r, nil, nil, nil, nil, nil, nil
	settings := catalog.DefaultSettingsOf(r)
	settings.Mode = catalog.ModeOff // or the first round may split chunks
	settings.Window, settings.SecondaryThrottle = p.Settings.Window, p.Settings.SecondaryThrottle
	settings.MaxChunkSizeBytes = (1 + p.Settings.MaxChunkSizeBytes%1024) << 20
	if r.FCVAtLeast(catalog.Release83) && len(p.Settings.Days) > 0 {
		settings.Days, settings.Window = p.Settings.Days, nil
	}
	p.Settings, p.Balancer.Mode = settings, settings.Mode
	p.Databases = []catalog.Database{{Name: "db", Primary: p.Shards[0].ID}}
	for i := range p.Shards {
		p.Shards[i].Host = fmt.Sprintf("set%d/host%d:27017", i, i)
	}
	var colls []*catalog.CollectionState
	for i, c := range p.Collections {
		if c.Table != nil {
			colls = append(colls, likelyCollection(t, *c, r, p.Shards, byte(i)))
		}
	}
	p.Collections = colls
	return catalog.NewSnapshot(p)
}

func likelyCollection(t *rapid.T, c catalog.CollectionState, r catalog.Release, shards []catalog.ShardState,
	n byte) *catalog.CollectionState {
	if !r.AutoMerges() {
		c = *asOfOld(t, &c, r)
	}
	c.Unique = c.Unique && c.Pattern.HashedField() < 0
	c.Unsplittable, c.ReportedStatus, c.Counts = false, nil, nil
	c.UUID.Data = append(slices.Clone(c.UUID.Data[:15]), 100+n)
	c.ChunkSizes = nil // which no reader reads
	if c.Zones == nil {
		c.Zones = catalog.NewZoneSet(c.Pattern)
	}
	c.Sizes = map[catalog.ShardID]catalog.ShardData{}
	for _, s := range shards {
		c.Sizes[s.ID] = catalog.ShardData{}
	}
	for _, id := range c.Table.Owners() {
		documents := rapid.Int64Range(0, 1<<20).Draw(t, "documents")
		c.Sizes[id] = catalog.ShardData{
			Documents: documents, Bytes: documents * rapid.Int64Range(1, 1<<12).Draw(t, "average"),
		}
	}
	return &c
}

// asOfOld is a collection as a release before 7.0 has it: without what its chunks
// and itself had no fields for yet.
func asOfOld(t require, c *catalog.CollectionState, r catalog.Release) *catalog.CollectionState {
	entry := *c
	if r.HasChunksByNamespace() {
		entry.Timestamp = bson.Timestamp{}
	}
	table, err := catalog.NewRoutingTable(c.Pattern, c.Epoch, entry.Timestamp, slices.Values(withoutSince(c.Table)))
	if err != nil {
		t.Fatal(err)
	}
	return entry.WithTable(table)
}

type require interface{ Fatal(args ...any) }

// withoutSince lists chunks without what only their history tells before 7.0.
func withoutSince(table *catalog.RoutingTable) []catalog.Chunk {
	chunks := slices.Collect(table.All())
	for i := range chunks {
		chunks[i].OnCurrentShardSince = bson.Timestamp{}
	}
	return chunks
}

// Up to 4.4 chunks belong to a collection by its name, and it has no timestamp. A
// mock that plays the cluster as a newer release gives it one.
func TestPictureWithoutTimestamps(t *testing.T) {
	s := snaptest.Large(t, snaptest.Scale{Chunks: 50})
	c := asOfOld(t, s.Collection("db.c0"), catalog.Release44)
	p := s.WithCollection(c).Parts()
	p.Release = catalog.Release44
	for _, release := range []catalog.Release{catalog.Release44, catalog.Release50, catalog.Release80, catalog.Release44} {
		seen := playedBy(t, catalog.NewSnapshot(p), release)
		p = seen.Parts() // the next plays that
		got := seen.Collection("db.c0")
		if got == nil || got.Table == nil || got.Timestamp.IsZero() != (release == catalog.Release44) || !got.UUID.Equal(c.UUID) {
			t.Fatalf("%s: %+v", release, got)
		}
		if a, b := withoutSince(got.Table), slices.Collect(c.Table.All()); !reflect.DeepEqual(a, b) {
			t.Errorf("%s: %v\nwant %v", release, a, b)
		}
		for chunk := range got.Table.All() {
			if want := chunk.History[0].ValidAfter; release.AutoMerges() && chunk.OnCurrentShardSince != want {
				t.Fatalf("%s: %+v is there since %v, want %v", release, chunk, chunk.OnCurrentShardSince, want)
			}
		}
	}
}

// A cluster that is played goes on from where it was: at its time, with its
// settings, and the range deletions that it had before it.
func TestPictureGoesOn(t *testing.T) {
	scale := snaptest.Scale{Shards: 4, Chunks: 400, EmptyShards: 1, ChunkBytes: 256 << 20}
	s := snaptest.Large(t, scale)
	coll := s.Collection("db.c0")
	owned := func(yield func(catalog.Chunk) bool) {
		for chunk := range coll.Table.OwnedChunks("s001", catalog.Key{}, catalog.Key{}) {
			if !yield(chunk) {
				return
			}
		}
	}
	first := slices.Collect(owned)[0]
	p := s.Parts()
	p.Deletions = []catalog.RangeDeletion{{Shard: "s000", Namespace: "db.c0", UUID: coll.UUID,
		Min: coll.Pattern.Bound(first.Min), Max: coll.Pattern.Bound(first.Max), Delayed: true}}
	c, err := mock.New(mock.Config{Metadata: catalog.NewSnapshot(p)})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	client := mocktest.Connect(t, router.New(c, nil))
	c.Lock()
	tasks := len(c.RangeDeleter().Tasks("s000"))
	c.Unlock()
	if tasks != 1 {
		t.Errorf("%d range deletions are left", tasks)
	}
	on := conformance{catalog.Release80, c, client}
	on.ok(t, "admin", e("mockAdvance", (10*time.Hour).Milliseconds()))
	after := on.read(t, live.ReaderOptions{}, nil)
	if want := s.Time().Add(10 * time.Hour); after.Time().Before(want) || after.Time().After(want.Add(time.Second)) {
		t.Errorf("it is %s, not %s", after.Time(), want)
	}
	bytes, total := map[catalog.ShardID]int64{}, int64(0)
	for id, data := range after.Collection("db.c0").Sizes {
		bytes[id] = data.Bytes
		total += data.Bytes
	}
	if want := int64(scale.Chunks) * scale.ChunkBytes; total != want {
		t.Errorf("%d bytes, want %d", total, want)
	}
	for id := range coll.Sizes {
		if share := bytes[id] * 4; share < total*9/10 || share > total*11/10 {
			t.Errorf("%s has %d of %d bytes", id, bytes[id], total)
		}
	}
}
