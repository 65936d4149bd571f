package diagnosis

import (
	"slices"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/policy"
)

// lopsided is a collection of which shard a has all; its two chunks can move.
func lopsided(c *cluster, alter ...func(*catalog.CollectionState)) *cluster {
	alter = append([]func(*catalog.CollectionState){sized(map[catalog.ShardID]int64{"a": 2000, "b": 0})}, alter...)
	return c.collection("x.y", []string{"a", "a", "a"}, alter...)
}

func shut(c *cluster) {
	c.Settings.Window, c.Clock.Location = &catalog.Window{Start: 22 * 60, Stop: 6 * 60}, time.UTC
}

func zoned(t *testing.T, zone string, low, high int) func(*catalog.CollectionState) {
	return func(c *catalog.CollectionState) {
		key := func(n int) catalog.Key {
			k, err := c.Pattern.ParseKey(raw(t, bson.D{{Key: "k", Value: int32(n)}}))
			if err != nil {
				t.Fatal(err)
			}
			return k
		}
		c.Zones = catalog.NewZoneSet(c.Pattern)
		if err := c.Zones.Add(catalog.ZoneRange{Min: key(low), Max: key(high), Zone: zone}); err != nil {
			t.Fatal(err)
		}
	}
}

// everyCause has a cluster for each cause, in which it is the one that keeps
// things as they are; in the order in which a balancer meets them.
func everyCause(t *testing.T) []struct {
	code  Code
	apply func(*cluster)
} {
	onCollection := func(f func(*catalog.CollectionState)) func(*cluster) {
		return func(c *cluster) { f(c.Collections[0]) }
	}
	return []struct {
		code  Code
		apply func(*cluster)
	}{
		{ShardUnreachable, func(c *cluster) { c.Shards[1].Unreachable = "refused" }},
		{SettingsUnreadable, func(c *cluster) { c.SettingsProblem = "bad chunksize" }},
		{BalancerOff, off},
		{WindowShut, shut},
		{RoundsFailing, func(c *cluster) {
			c.round(time.Minute, bson.E{Key: "errorOccurred", Value: true}, bson.E{Key: "errmsg", Value: "no"})
		}},
		{Resharding, func(c *cluster) {
			c.Reshardings = []catalog.ActiveResharding{{Namespace: "x.y", Kind: "reshardCollection", State: "cloning"}}
		}},
		{ShardKeyIndexMissing, onCollection(func(c *catalog.CollectionState) { c.Unindexed, c.IndexesKnown = []catalog.ShardID{"a"}, true })},
		{BalancingOff, onCollection(noBalance)},
		{MigrationsForbidden, onCollection(forbidden)},
		{ChunkOperationsForbidden, func(c *cluster) {
			c.Release = catalog.Release90
			c.Collections[0].NoChunkOperations = true
		}},
		{DefragmentationIdle, onCollection(defragmented)},
		{UnalignedZones, func(c *cluster) {
			c.Shards[1].Zones = []string{"Z"}
			zoned(t, "Z", -5, 0)(c.Collections[0])
		}},
		{NoSizeEntry, func(c *cluster) {
			delete(c.Collections[0].Sizes, "b")
			c.Source.Gaps = []catalog.Gap{{What: "sizes", Shard: "b", Reason: "no"}}
		}},
		{ZoneWithoutShards, func(c *cluster) { zoned(t, "Z", 0, 1)(c.Collections[0]) }},
		{OnlyJumboChunks, func(c *cluster) {
			c.Collections[0].Table = nil
			c.Collections = nil
			c.collection("x.y", []string{"!a", "!a"}, sized(map[catalog.ShardID]int64{"a": 2000, "b": 0}))
		}},
		{MigrationsFailing, func(c *cluster) { c.migrated(time.Minute, "aborted", "no room") }},
	}
}

func TestEveryCauseIsNamedFirst(t *testing.T) {
	for _, one := range everyCause(t) {
		c := lopsided(newCluster(t))
		one.apply(c)
		a := Why(c.snapshot(), Scope{})
		if a.Healthy() || len(a.Causes) == 0 || a.Causes[0].Code != one.code {
			t.Errorf("%s: symptoms %v, causes %v", one.code, codesOf(a.Symptoms), codesOf(a.Causes))
		}
		// Whoever asks about the collection is told the same.
		if of := Why(c.snapshot(), Scope{Namespace: "x.y"}); len(of.Causes) == 0 || of.Causes[0].Code != one.code {
			t.Errorf("%s: of the collection %v", one.code, codesOf(of.Causes))
		}
	}
}

// Of two causes the one that hides the other comes first.
func TestTwoCauses(t *testing.T) {
	all := everyCause(t)
	for i, first := range all {
		for _, second := range all[i+1:] {
			if first.code == ShardUnreachable && second.code == NoSizeEntry || second.code == OnlyJumboChunks {
				continue // the second rewrites the collection, or is part of the first
			}
			if first.code == Resharding && second.code == MigrationsForbidden {
				continue // that is how it holds the collection
			}
			c := lopsided(newCluster(t))
			second.apply(c)
			first.apply(c)
			if z := c.Collections[0].Zones; first.code == UnalignedZones && second.code == ZoneWithoutShards && z.Len() == 1 {
				continue // the zones of one replace those of the other
			}
			got := codesOf(Why(c.snapshot(), Scope{}).Causes)
			at, after := slices.Index(got, first.code), slices.Index(got, second.code)
			hidden := first.code == UnalignedZones && (second.code == NoSizeEntry || second.code == ZoneWithoutShards)
			if at != 0 || after < 1 && !hidden {
				t.Errorf("%s and %s: %v", first.code, second.code, got)
			}
		}
	}
}

func codesOf(list []Finding) (codes []Code) {
	for _, f := range list {
		codes = append(codes, f.Code)
	}
	return codes
}

func TestHeadlines(t *testing.T) {
	for name, c := range map[string]struct {
		*cluster
		want string
	}{
		"healthy": {newCluster(t).collection("x.y", []string{"a", "b"}, sized(map[catalog.ShardID]int64{"a": 9, "b": 9})),
			"nothing is wrong"},
		"at work": {lopsided(newCluster(t)), "x.y is not balanced (chunksImbalance): the balancer is working on it"},
		"off": {lopsided(newCluster(t)).with(off),
			"x.y is not balanced (chunksImbalance): the balancer is off"},
		"nothing suffers yet": {newCluster(t).tag("x.y", "Z", 0, 5),
			"zone Z has ranges but no shard: their chunks do not move"},
		"no shard left to drain to": {newCluster(t).draining().with(func(c *cluster) {
			c.Shards[0].Draining = true
		}).collection("x.y", []string{"a"}, sized(map[catalog.ShardID]int64{"a": 9, "b": 0})),
			"shard a is draining, 1 chunk left: x.y: no shard can receive chunks: 2 draining"},
	} {
		if got := Why(c.snapshot(), Scope{}).Headline(); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// What looks wrong and is not is a note, whatever the release counts.
func TestNotes(t *testing.T) {
	for _, tc := range []struct {
		name    string
		c       *cluster
		release catalog.Release
		want    []Code
	}{
		{"below the threshold", newCluster(t).collection("x.y", []string{"a", "b"},
			sized(map[catalog.ShardID]int64{"a": 400, "b": 100})), catalog.Release80, []Code{BelowThreshold}},
		{"counts", newCluster(t).collection("x.y", []string{"a", "a", "a", "a", "b"},
			sized(map[catalog.ShardID]int64{"a": 500, "b": 500})), catalog.Release80, []Code{CountsUneven}},
		{"bytes", newCluster(t).collection("x.y", []string{"a", "b"},
			sized(map[catalog.ShardID]int64{"a": 5000, "b": 5})), catalog.Release50, []Code{BalancesByCount}},
		{"even", newCluster(t).collection("x.y", []string{"a", "b"},
			sized(map[catalog.ShardID]int64{"a": 50, "b": 50})), catalog.Release80, nil},
		{"routers", newCluster(t).with(func(c *cluster) {
			c.Routers = []catalog.Router{{ID: "r1", Version: "8.0.10", Ping: noon}, {ID: "r2", Version: "7.0.5", Ping: noon},
				{ID: "old", Version: "4.4.1", Ping: noon.Add(-time.Hour)}}
		}), catalog.Release80, []Code{MixedVersions}},
		{"a shard", newCluster(t).with(func(c *cluster) {
			c.Routers = []catalog.Router{{ID: "r1", Version: "8.0.10", Ping: noon}}
			c.Shards[0].Version, c.Shards[1].Version = "8.0.4", "7.0.20"
		}), catalog.Release80, []Code{MixedVersions}},
		{"a secondary", newCluster(t).with(func(c *cluster) {
			c.Members = []catalog.Member{{Shard: "a", Host: "h1", Version: "8.0.4", Primary: true},
				{Shard: "a", Host: "h2", Version: "8.0.5"}}
		}), catalog.Release80, []Code{MixedVersions}},
		{"members alike", newCluster(t).with(func(c *cluster) {
			c.Members = []catalog.Member{{Shard: "a", Host: "h1", Version: "8.0.4", Primary: true},
				{Shard: "config", Host: "h2", Version: "8.0.4"}, {Shard: "b", Host: "h3", Problem: "no answer"}}
		}), catalog.Release80, nil},
	} {
		tc.c.Release = tc.release
		a := Why(tc.c.snapshot(), Scope{})
		if !a.Healthy() || !slices.Equal(codesOf(a.Notes), tc.want) {
			t.Errorf("%s: %v, symptoms %v", tc.name, codesOf(a.Notes), codesOf(a.Symptoms))
		}
	}
}

func TestDeletionInTheWay(t *testing.T) {
	c := lopsided(newCluster(t))
	min, max := raw(t, bson.D{{Key: "k", Value: bson.MinKey{}}}), raw(t, bson.D{{Key: "k", Value: bson.MaxKey{}}})
	c.DeletionsKnown = true
	c.Deletions = []catalog.RangeDeletion{
		{Shard: "b", Namespace: "x.y", Min: min, Max: max, Timestamp: bson.Timestamp{T: 7}},
		{Shard: "a", Namespace: "x.y", Min: min, Max: max},
		{Shard: "b", Namespace: "x.z", Min: min, Max: max},
	}
	a := Why(c.snapshot(), Scope{})
	if got := codesOf(a.Causes); !slices.Equal(got, []Code{MoveWaitsForDeletion}) {
		t.Errorf("causes %v", got)
	}
}

func TestWhyChunk(t *testing.T) {
	c := newCluster(t).shard("c", "Z").shard("d").draining()
	lopsided(c)
	c.Source.Gaps = []catalog.Gap{{What: "sizes", Shard: "c", Reason: "no"}}
	s := c.snapshot()
	coll := s.Collection("x.y")
	key := func(n int) catalog.Key {
		k, err := coll.Pattern.ParseKey(raw(t, bson.D{{Key: "k", Value: int32(n)}}))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a := WhyChunk(s, coll, key(0))
	if !a.Chunk.Min.Equal(key(0)) || a.Chunk.Shard != "a" {
		t.Errorf("the chunk is %+v", a.Chunk)
	}
	var verdicts []string
	for _, v := range a.Verdicts {
		verdicts = append(verdicts, string(v.Shard)+" "+v.Reason)
	}
	want := []string{"a has the chunk", "b can receive it", "c reported no size for the collection", "d is draining"}
	if !slices.Equal(verdicts, want) {
		t.Errorf("verdicts %q", verdicts)
	}
	if first := WhyChunk(s, coll, coll.Pattern.GlobalMin()); !strings.HasPrefix(first.Headline(),
		"the chunk is on a, and moves to b next: ") {
		t.Errorf("headline %q", first.Headline())
	}
	if !strings.HasPrefix(a.Headline(), "the chunk is on a, and stays: shard a gives its chunk at ") {
		t.Errorf("headline %q", a.Headline())
	}
}

// What is said of a chunk that stays is about this chunk.
func TestWhyJumboChunkStays(t *testing.T) {
	s := newCluster(t).collection("x.y", []string{"!a", "a", "a"},
		sized(map[catalog.ShardID]int64{"a": 2000, "b": 0})).snapshot()
	coll := s.Collection("x.y")
	got := WhyChunk(s, coll, coll.Pattern.GlobalMin()).Headline()
	if !strings.Contains(got, "stays: the chunk at [MinKey] on a is jumbo: the balancer does not move it") {
		t.Errorf("headline %q", got)
	}
}

// What a round passes over since its other moves take the shards is not a finding: nobody has
// to add a shard to a cluster whose balancer is at work.
func TestBusyShardsAreNoFinding(t *testing.T) {
	d := Diagnose(newCluster(t).collection("x.y", []string{"a", "b"}).snapshot())
	decided := func(why policy.Ineligible) []Code {
		return codesOf(d.rejectedFindings(&policy.Report{Decisions: []policy.Decision{
			{Code: NoRecipient, Namespace: "x.y", Shard: "a", Reason: policy.ReasonDrain, Ineligible: why},
		}}, "x.y"))
	}
	if got := decided(policy.Ineligible{Draining: 1, Busy: 2}); got != nil {
		t.Errorf("beside shards that are busy this round: %v", got)
	}
	if got := decided(policy.Ineligible{Draining: 3}); !slices.Equal(got, []Code{NoRecipient}) {
		t.Errorf("where all shards are draining: %v", got)
	}
}
