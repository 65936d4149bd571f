package mock_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mock"
)

// chunkCounts are the chunks by shard.
func (m *model) chunkCounts(t *testing.T, ns string) map[string]int64 {
	t.Helper()
	counts := map[string]int64{}
	for chunk := range m.cluster.ConfigDB().Table(ns).All() {
		counts[string(chunk.Shard)]++
	}
	return counts
}

// rules/01-selection §9.1: numbers of chunks even out, whatever they hold. Where much is to be
// moved all variants end alike: while rounds move something their thresholds
// are the smallest.
func TestChunkCountsEvenOut(t *testing.T) {
	topology := countedTopology(map[string]int64{"a": 90})
	for release, want := range map[catalog.Release]map[string]int64{
		catalog.Release24: {"a": 30, "b": 30, "c": 30},
		catalog.Release34: {"a": 30, "b": 30, "c": 30},
		catalog.Release50: {"a": 30, "b": 30, "c": 30},
		catalog.Release60: {"a": 90}, // 90 MB are less than three chunks
	} {
		t.Run(release.String(), func(t *testing.T) {
			m := newCluster(t, topology, mock.Config{Release: release})
			m.sleep(2 * time.Hour)
			if got := m.chunkCounts(t, "big.data"); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("chunks %v, want %v", got, want)
			}
		})
	}
}

// rules/01-selection §9.1: a cluster that is at rest stays so up to a difference that is
// another one in each variant: below 8 between two shards of 80 chunks and more
// up to 3.2, below 2 above the ideal up to 4.0, none since.
func TestChunkCountsAtRest(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
	even := map[string]int64{"a": 30, "b": 30, "c": 30}
	for _, tt := range []struct {
		at   map[string]int64 // what it begins with
		rest []catalog.Release
		move []catalog.Release
	}{
		{
			map[string]int64{"a": 34, "b": 29, "c": 27},
			[]catalog.Release{catalog.Release24}, []catalog.Release{catalog.Release34, catalog.Release44, catalog.Release50},
		},
		{
			map[string]int64{"a": 31, "b": 30, "c": 29},
			[]catalog.Release{catalog.Release24, catalog.Release34, catalog.Release36},
			[]catalog.Release{catalog.Release40, catalog.Release42, catalog.Release44, catalog.Release50},
		},
		{
			map[string]int64{"a": 35, "b": 28, "c": 27},
			nil, []catalog.Release{catalog.Release24, catalog.Release34, catalog.Release44, catalog.Release50},
		},
	} {
		for want, releases := range map[*map[string]int64][]catalog.Release{&tt.at: tt.rest, &even: tt.move} {
			for _, release := range releases {
				m := newCluster(t, countedTopology(tt.at), mock.Config{Release: release})
				m.sleep(2 * time.Hour)
				if got := m.chunkCounts(t, "big.data"); fmt.Sprint(got) != fmt.Sprint(*want) {
					t.Errorf("%s begins with %v and ends with %v, want %v", release, tt.at, got, *want)
				}
			}
		}
	}
}

// countedTopology has so many chunks on each shard.
func countedTopology(counts map[string]int64) string {
	var chunks []string
	for _, shard := range slices.Sorted(maps.Keys(counts)) {
		for range counts[shard] {
			chunk := fmt.Sprintf(`{"shard":%q,"docs":100,"bytes":"1MB"`, shard)
			if len(chunks) > 0 {
				chunk += fmt.Sprintf(`,"min":{"k":%d}`, len(chunks))
			}
			chunks = append(chunks, chunk+"}")
		}
	}
	return `{"shards":[{"id":"a"},{"id":"b"},{"id":"c"}],"collections":[{"ns":"big.data","key":{"k":1},"chunks":[` +
		strings.Join(chunks, ",") + `]}]}`
}

// rules/01-selection §9.1: up to 3.2 migrations ran one after the other, under the lock.
func TestOneMigrationAtATime(t *testing.T) {
	m := newCluster(t, topologyOf(t, 6, 40, "30MB", 300), mock.Config{Release: catalog.Release24})
	held := 0
	for range 300 {
		m.sleep(time.Second)
		running := len(m.all(t, "config", d("find", "changelog", "filter", d("what", "moveChunk.start")))) -
			len(m.all(t, "config", d("find", "changelog", "filter", d("what", "moveChunk.from"))))
		if running > 1 {
			t.Fatalf("%d migrations at once", running)
		}
		if doc := m.first(t, "config", d("find", "locks", "filter", d("_id", "balancer"))); doc.Lookup("state").Int32() == 2 {
			held++
		} else if running > 0 {
			t.Fatalf("a migration while the lock is free: %s", doc)
		}
	}
	if held == 0 || held == 300 {
		t.Errorf("the lock was held at %d of 300 moments: rounds take it and give it back", held)
	}

	// Somebody else holds the lock: nothing moves.
	m = newCluster(t, topologyOf(t, 3, 40, "30MB", 300), mock.Config{Release: catalog.Release24})
	change := func(coll, id, field string, value any) {
		m.ok(t, "config", d("update", coll, "updates", bson.A{d("q", d("_id", id), "u", d("$set", d(field, value)), "upsert",
			true)}))
	}
	change("settings", "balancer", "stopped", true)
	m.sleep(time.Minute)
	change("locks", "balancer", "state", int32(2))
	before := m.chunkCounts(t, "big.data")
	change("settings", "balancer", "stopped", false)
	m.sleep(time.Hour)
	if got := m.chunkCounts(t, "big.data"); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("chunks moved without the lock: %v, before %v", got, before)
	}
}

// rules/01-selection §9.4.
func TestMaxSize(t *testing.T) {
	topology := strings.Replace(topologyOf(t, 3, 30, "40MB", 300),
		`{"id":"s01","host":"","zones":null,"draining":false,"maxSizeMB":0}`,
		`{"id":"s01","maxSizeMB":100}`, 1)
	m := newCluster(t, topology, mock.Config{Release: catalog.Release44})
	m.sleep(time.Hour)
	// It takes chunks until it holds 100 MiB, and stays in the number of shards
	// that the ideal is for.
	if got := m.chunkCounts(t, "big.data"); got["s01"] != 3 || got["s02"] != 10 {
		t.Errorf("chunks %v, want 3 on s01 and 10 on s02", got)
	}
	chunk := m.cluster.ConfigDB().Table("big.data").At(0)
	m.refused(t, "admin", d("moveChunk", "big.data", "find", d("k", -1), "to", "s01"), 20)
	if m.cluster.ConfigDB().Table("big.data").At(0).Shard != chunk.Shard {
		t.Error("the refused chunk moved")
	}
	if _, err := mock.ParseTopology([]byte(topology)); err != nil {
		t.Fatal(err)
	}
	parsed, _ := mock.ParseTopology([]byte(topology))
	if _, err := mock.New(mock.Config{Topology: parsed}); err == nil || !strings.Contains(err.Error(), "maxSizeMB") {
		t.Errorf("8.0 takes a maxSize: %v", err)
	}
}

// rules/01-rounds-and-settings §1.9: up to 5.0 a move by hand must be one that the balancer could
// make.
func TestMovesByHandOfOld(t *testing.T) {
	for _, tt := range []struct {
		release  catalog.Release
		draining int64
		outside  int64
	}{{catalog.Release50, 20, 20}, {catalog.Release80, 70, 0}} {
		m := newCluster(t, topologyOf(t, 4, 8, "1MB", 100), mock.Config{Release: tt.release})
		if tt.release == catalog.Release50 {
			m.ok(t, "admin", d("balancerStop", 1))
		}
		m.ok(t, "admin", d("addShardToZone", "s00", "zone", "Z"))
		m.ok(t, "admin", d("updateZoneKeyRange", "big.data", "min", d("k", 1000), "max", d("k", 2000), "zone", "Z"))
		m.ok(t, "admin", d("removeShard", "s03"))
		m.refused(t, "admin", d("moveChunk", "big.data", "find", d("k", 3500), "to", "s03"), tt.draining)
		outside := d("moveChunk", "big.data", "find", d("k", 1500), "to", "s01")
		if tt.outside != 0 {
			m.refused(t, "admin", outside, tt.outside)
		} else {
			m.ok(t, "admin", outside)
		}
	}
}

// And rules/01-selection §10.2.
func TestTrap32JumboFlagOfReleases(t *testing.T) {
	for _, tt := range []struct {
		release               catalog.Release
		afterSplit, afterMove catalog.Jumbo
	}{
		{catalog.Release44, catalog.JumboFalse, catalog.JumboUnset},
		{catalog.Release50, catalog.JumboTrue, catalog.JumboTrue},
		{catalog.Release80, catalog.JumboFalse, catalog.JumboTrue},
	} {
		m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}],"collections":[{"ns":"big.data","key":{"k":1},
			"chunks":[{"shard":"a","jumbo":true,"docs":10,"bytes":1000},{"min":{"k":5},"shard":"a","jumbo":true,"docs":10,"bytes":1000}]}]}`,
			mock.Config{Release: tt.release})
		m.ok(t, "admin", d("split", "big.data", "middle", d("k", 0)))
		m.ok(t, "admin", d("moveChunk", "big.data", "find", d("k", 7), "to", "b", "forceJumbo", true))
		table := m.cluster.ConfigDB().Table("big.data")
		if got := table.At(0).Jumbo; got != tt.afterSplit {
			t.Errorf("%s: flag %v after a split, want %v", tt.release, got, tt.afterSplit)
		}
		if got := table.At(2); got.Shard != "b" || got.Jumbo != tt.afterMove {
			t.Errorf("%s: flag %v on %s after a forced migration, want %v on b", tt.release, got.Jumbo, got.Shard, tt.afterMove)
		}
	}
}

// Up to 5.0 shards split chunks that inserts make larger than the chunk size.
func TestAutoSplit(t *testing.T) {
	var location *time.Location
	grow := func(t *testing.T, release catalog.Release, prepare ...bson.D) int {
		t.Helper()
		m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}],"settings":{"chunkSizeMB":1}}`,
			mock.Config{Release: release, Start: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC), Location: location})
		for _, command := range prepare {
			m.ok(t, "config", command)
		}
		m.sleep(11 * time.Second) // a round reads the settings
		m.ok(t, "admin", d("enableSharding", "db"))
		m.ok(t, "admin", d("shardCollection", "db.c", "key", d("k", 1)))
		text := strings.Repeat("x", 10_000)
		for batch := range 10 {
			var docs bson.A
			for i := range 100 {
				docs = append(docs, d("k", batch*100+i, "text", text))
			}
			m.ok(t, "db", d("insert", "c", "documents", docs))
		}
		if err := m.cluster.CheckInvariants(); err != nil {
			t.Error(err)
		}
		return m.cluster.ConfigDB().Table("db.c").Len()
	}
	if n := grow(t, catalog.Release80); n != 1 {
		t.Errorf("8.0 splits on insert: %d chunks", n)
	}
	// 10 MB in chunks of up to 1 MiB, cut into halves when they are full.
	if n := grow(t, catalog.Release44); n < 10 || n > 20 {
		t.Errorf("4.4 makes %d chunks of 10 MB, want 10 to 20", n)
	}
	off := d("update", "settings", "updates", bson.A{d("q", d("_id", "autosplit"), "u", d("$set", d("enabled", false)),
		"upsert", true)})
	if n := grow(t, catalog.Release44, off); n != 1 {
		t.Errorf("4.4 splits with autosplit off: %d chunks", n)
	}
	stopped := d("update", "settings", "updates", bson.A{d("q", d("_id", "balancer"), "u",
		d("$set", d("mode", "autoSplitOnly")), "upsert", true)})
	if n := grow(t, catalog.Release44, stopped); n < 10 {
		t.Errorf("mode autoSplitOnly: %d chunks", n)
	}
	// The window is in the time zone of the servers: at noon in UTC, midnight in this one.
	location = time.FixedZone("", 12*3600)
	for start, least := range map[string]int{"23:00": 10, "11:00": 1} {
		stop := map[string]string{"23:00": "02:00", "11:00": "14:00"}[start]
		window := d("update", "settings", "updates", bson.A{d("q", d("_id", "balancer"), "u",
			d("$set", d("activeWindow", d("start", start, "stop", stop))), "upsert", true)})
		if n := grow(t, catalog.Release44, window); n < least || least == 1 && n != 1 {
			t.Errorf("window from %s to %s: %d chunks", start, stop, n)
		}
	}
}

// rules/01-selection §8: with the fail point on, the balancer moves collections that are
// not sharded, and the round's entry counts them.
func TestBalancerMovesUnshardedCollections(t *testing.T) {
	run := func(parameters map[string]any) *model {
		m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"},{"id":"c"}],"databases":[{"name":"db","primary":"a"}]}`,
			mock.Config{Parameters: parameters})
		m.ok(t, "db", d("insert", "c", "documents", bson.A{d("_id", 1), d("_id", 2)}))
		m.sleep(10 * time.Minute)
		return m
	}
	m := run(map[string]any{"failpoint.balancerShouldReturnRandomMigrations": true,
		"reshardingMinimumOperationDurationMillis": 0})
	entry := m.first(t, "config", d("find", "actionlog", "filter", d("details.unshardedCollectionsMoved", 1)))
	if entry == nil {
		t.Fatal("no round moved a collection")
	}
	if n := entry.Lookup("details", "candidateUnshardedCollections").Int32(); n != 1 {
		t.Errorf("%d candidates, want 1: at most one a round", n)
	}
	tracked := m.first(t, "config", d("find", "collections", "filter", d("_id", "db.c")))
	if tracked == nil || !tracked.Lookup("unsplittable").Boolean() {
		t.Errorf("the collection is not tracked: %s", tracked)
	}
	if n := len(m.all(t, "db", d("find", "c"))); n != 2 {
		t.Errorf("%d documents, want 2", n)
	}

	for _, parameters := range []map[string]any{
		{"reshardingMinimumOperationDurationMillis": 0},
		{"failpoint.balancerShouldReturnRandomMigrations": true},
	} {
		if entry := run(parameters).first(t, "config", d("find", "collections", "filter", d("_id", "db.c"))); entry != nil {
			t.Errorf("with %v the collection moved: %s", parameters, entry)
		}
	}
}

// rules/01-rounds-and-settings §5.4: the balancer of 4.2 to 6.0 cuts the collection of the sessions.
// In 7.0 its auto-merger would undo that for ever: see SERVER-78657.
func TestSessionsAreCutUpTo60(t *testing.T) {
	for release, want := range map[catalog.Release]int{
		catalog.Release36: 1, catalog.Release40: 1, catalog.Release42: 16, catalog.Release44: 16, catalog.Release50: 16,
		catalog.Release60: 16, catalog.Release70: 1, catalog.Release80: 1,
	} {
		m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}]}`, mock.Config{Release: release,
			Parameters: map[string]any{"minNumChunksForSessionsCollection": 10}})
		m.sleep(6 * time.Minute)
		if got := m.cluster.ConfigDB().Table("config.system.sessions").Len(); got != want {
			t.Errorf("%s: %d chunks, want %d", release, got, want)
		}
	}
	// Sessions came with 3.6.
	m := newCluster(t, `{"shards":[{"id":"a"},{"id":"b"}]}`, mock.Config{Release: catalog.Release34})
	m.sleep(6 * time.Minute)
	if m.cluster.ConfigDB().Table("config.system.sessions") != nil {
		t.Error("3.4 has sessions")
	}
}
