package policy

import (
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// The traps of rules/01-examples-and-traps §12 that concern the deciders, by their number.

// selected runs a scene with all its shards and gives what it chose, the first
// reason and the log.
func selected(t *testing.T, line string) ([]string, Reason, []string) {
	t.Helper()
	sit := stage(t, line).situation(t)
	var why Report
	got, first, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), &why)
	if err != nil {
		t.Fatal(err)
	}
	return choices(got), first, logged(&why)
}

func TestTrap01ExactlyThreeChunkSizesMove(t *testing.T) {
	for _, id := range []string{"D02", "D03", "D04", "D05"} {
		t.Run(id, func(t *testing.T) { workedExample(t, id).play(t) })
	}
}

func TestTrap02MostIgnoresZonesAndDraining(t *testing.T) {
	for _, id := range []string{"Z10", "R12", "J03"} {
		t.Run(id, func(t *testing.T) { workedExample(t, id).play(t) })
	}
	// p is above the ideal of 3000 here, which it is not in R12: only the larger
	// g, which can't get rid of its zone's chunk, keeps it from giving.
	got, _, _ := selected(t, `{"shards":[{"id":"g","size":5000,"zones":["EU"],"draining":true},{"id":"p","size":4000},{"id":"q","size":0}],
		"chunks":[["g","Min",0],["p",0,10],["p",10,20],["q",20,"Max"]],"zones":[["Min",0,"EU"]]}`)
	same(t, "migrations beside a larger draining shard", got, []string{})
}

func TestTrap03SizesAreWholeCollectionSizes(t *testing.T) {
	// All that eu1 has in EU is one chunk at 10; its size lies elsewhere, and
	// still makes it the donor of that chunk.
	got, _, _ := selected(t, `{"shards":[{"id":"eu1","size":3000,"zones":["EU"]},{"id":"eu2","size":0,"zones":["EU"]}],
		"chunks":[["eu1","Min",10],["eu1",10,20],["eu2",20,"Max"]],"zones":[[10,20,"EU"]]}`)
	same(t, "migrations", got, []string{"eu1→eu2 at 10, force 0"})
}

func TestTrap04IdealIsFlooredAndCountsBusyAndDrainingShards(t *testing.T) {
	// a is busy and counts all the same: without it the ideal would be 1, and b
	// would give in both cases.
	sit := stage(t, `{"unit":"byte","maxChunk":1,"shards":[{"id":"a","size":5},{"id":"b","size":3},{"id":"c","size":0}],
		"layout":[["a",2],["b",2],["c",1]]}`).situation(t)
	available := NewAvailableShards(sit.Shards)
	available.Take("a")
	got, _, _ := SelectMigrations(sit, available, nil)
	same(t, "ideal 8 div 3 = 2, donor with 3", choices(got), []string{"b→c at 20, force 0"})

	sit.Sizes.ByShard["a"] = 6 // ideal 9 div 3 = 3
	available = NewAvailableShards(sit.Shards)
	available.Take("a")
	got, _, _ = SelectMigrations(sit, available, nil)
	same(t, "ideal 9 div 3 = 3, donor with 3", choices(got), []string{})

	workedExample(t, "R09").play(t)
}

func TestTrap05DrainAndZonesHaveNoThreshold(t *testing.T) {
	for _, id := range []string{"R01", "Z02"} {
		t.Run(id, func(t *testing.T) { workedExample(t, id).play(t) })
	}
}

func TestTrap06JumboFlagBeatsEverything(t *testing.T) {
	for name, line := range map[string]string{
		"draining": `{"attemptToBalanceJumboChunks":true,"shards":[{"id":"g","size":9,"draining":true},{"id":"p","size":0}],
			"chunks":[["g","Min",0,"jumbo"],["p",0,"Max"]]}`,
		"zone": `{"attemptToBalanceJumboChunks":true,"shards":[{"id":"v","size":9},{"id":"eu","size":0,"zones":["EU"]}],
			"chunks":[["v","Min",0,"jumbo"],["eu",0,"Max"]],"zones":[["Min",0,"EU"]]}`,
		"size": `{"attemptToBalanceJumboChunks":true,"shards":[{"id":"a","size":9000},{"id":"b","size":0}],
			"chunks":[["a","Min",0,"jumbo"],["b",0,"Max"]]}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, _, log := selected(t, line)
			same(t, "migrations", got, []string{})
			if len(log) == 0 {
				t.Error("a flagged chunk stays without a warning")
			}
		})
	}
}

func TestTrap07DrainWarningOnlyWhileNothingWasChosen(t *testing.T) {
	// g2 owns nothing: a warning of its own, unless g1 gave a chunk before it.
	_, _, log := selected(t, `{"shards":[{"id":"g1","size":1,"draining":true},{"id":"g2","size":0,"draining":true},{"id":"p","size":1},{"id":"q","size":1}],
		"chunks":[["g1","Min",0],["p",0,"Max"]]}`)
	same(t, "g1 first", log, []string{})
	_, _, log = selected(t, `{"shards":[{"id":"g2","size":0,"draining":true},{"id":"g1","size":1,"draining":true},{"id":"p","size":1},{"id":"q","size":1}],
		"chunks":[["g1","Min",0],["p",0,"Max"]]}`)
	same(t, "g2 first", log, []string{"[21890 g2 0]"})
}

func TestTrap08EarlyReturnAfterExaminedShardsOnly(t *testing.T) {
	// One shard is free and it is draining: it is examined, and the zone of
	// nobody that the size phase would warn about is never reached.
	line := `{"shards":[{"id":"g","size":1,"draining":true},{"id":"p","size":1}],
		"chunks":[["g","Min",0],["p",0,"Max"]],"zones":[["Min",0,"GHOST"]]}`
	sit := stage(t, line).situation(t)
	for _, tt := range []struct {
		name string
		busy []catalog.ShardID
		want []string
	}{
		{"examined while draining", []catalog.ShardID{"p"}, []string{"[21890 g 0]"}},
		{"examined for zones", []catalog.ShardID{"g"}, []string{}},
		{"all busy: nothing is examined, the size phase runs", []catalog.ShardID{"g", "p"}, []string{"[21893 GHOST]"}},
	} {
		available := NewAvailableShards(sit.Shards)
		available.Take(tt.busy...)
		var why Report
		if _, _, err := SelectMigrations(sit, available, &why); err != nil {
			t.Fatal(err)
		}
		same(t, tt.name, logged(&why), tt.want)
	}
}

func TestTrap09FirstReasonNotStrongest(t *testing.T) {
	// The drain is blocked by a flag, so the size phase names the reason.
	_, first, _ := selected(t, `{"shards":[{"id":"g","size":0,"draining":true},{"id":"p","size":2000},{"id":"q","size":0}],
		"chunks":[["g","Min",0,"jumbo"],["p",0,10],["q",10,"Max"]]}`)
	if first != ReasonChunksImbalance {
		t.Errorf("first reason %s, want %s", first, ReasonChunksImbalance)
	}
	workedExample(t, "R06").play(t)

	// A drain and a move for the sizes: the first one names the reason.
	got, first, _ := selected(t, `{"shards":[{"id":"g","size":100,"draining":true},{"id":"p","size":0},{"id":"q","size":9000},{"id":"r","size":10}],
		"chunks":[["g","Min",0],["p",0,10],["q",10,20],["r",20,"Max"]]}`)
	same(t, "migrations", got, []string{"g→p at Min, force 2", "q→r at 10, force 0"})
	if first != ReasonDrain {
		t.Errorf("first reason %s, want %s", first, ReasonDrain)
	}
}

func TestTrap10OneMisalignedZonePostponesTheCollection(t *testing.T) {
	sit := stage(t, `{"shards":[{"id":"g","size":9,"draining":true},{"id":"p","size":0,"zones":["X"]}],
		"chunks":[["g","Min",0],["p",0,"Max"]],"zones":[[50,60,"X"]]}`).situation(t)
	if err := CheckAligned(sit.Table, sit.Zones); !mongoerr.Is(err, mongoerr.IllegalOperation) {
		t.Errorf("got %v, want IllegalOperation although a shard drains", err)
	}
}

func TestTrap20SessionsIgnoreZonesForSplitsNotForMoves(t *testing.T) {
	sit := stage(t, `{"unit":"byte","maxChunk":200000,"shards":[{"id":"a","size":0,"zones":["X"]},{"id":"b","size":0}],
		"chunks":[["a","Min",0],["b",0,"Max"]],"zones":[[50,60,"X"]]}`).situation(t)
	sit.Namespace = SessionsNamespace
	if splits := ZoneSplits(sit.Namespace, sit.Table, sit.Zones); len(splits) > 0 {
		t.Errorf("splits %v", splits)
	}
	if _, err := CollectionStatus(sit, Defragmentation{}); !mongoerr.Is(err, mongoerr.IllegalOperation) {
		t.Errorf("status: %v, want IllegalOperation", err)
	}
}

func TestTrap26MissingSizeIsNotZero(t *testing.T) {
	workedExample(t, "D16").play(t)
	// Nor may a shard without a size receive in the other phases.
	sit := stage(t, `{"shards":[{"id":"g","size":9,"draining":true},{"id":"p","size":0},{"id":"q","size":50}],
		"chunks":[["g","Min",0],["q",0,"Max"]],"noStats":["p"]}`).situation(t)
	got, _, _ := SelectMigrations(sit, NewAvailableShards(sit.Shards), nil)
	same(t, "migrations", choices(got), []string{"g→q at Min, force 2"})
}

func TestTrap30MaxKeyPrefixIsNotTheEndOfTheKeySpace(t *testing.T) {
	p, err := catalog.ParseKeyPattern(document(t, bson.D{{Key: "x", Value: 1}, {Key: "y", Value: 1}}))
	if err != nil {
		t.Fatal(err)
	}
	upper, err := p.ExtendBound(document(t, bson.D{{Key: "x", Value: bson.MaxKey{}}}))
	if err != nil {
		t.Fatal(err)
	}
	whole := catalog.Chunk{Min: p.GlobalMin(), Max: p.GlobalMax(), Shard: "a", Version: catalog.ChunkVersion{Major: 3, Minor: 1}}
	rt, err := catalog.NewRoutingTable(p, bson.ObjectID{7}, bson.Timestamp{T: 5}, slices.Values([]catalog.Chunk{whole}))
	if err != nil {
		t.Fatal(err)
	}
	zones := catalog.NewZoneSet(p)
	if err := zones.Add(catalog.ZoneRange{Min: p.GlobalMin(), Max: upper, Zone: "Z"}); err != nil {
		t.Fatal(err)
	}
	splits := ZoneSplits("db.c", rt, zones)
	if len(splits) != 1 || len(splits[0].Points) != 1 || !splits[0].Points[0].Equal(upper) {
		t.Fatalf("splits %+v, want one at %s", splits, upper)
	}
	if s := splits[0]; s.Shard != "a" || s.Version != rt.Version() || s.ChunkVersion != whole.Version || !s.Min.Equal(whole.Min) || !s.Max.Equal(whole.Max) {
		t.Errorf("split %+v does not fit its chunk", s)
	}
}

func TestTrap33DefragmentationShortCircuitsTheStatus(t *testing.T) {
	// Even a misaligned zone of the sessions collection is not looked at.
	sit := workedExample(t, "S01").situation(t)
	sit.Namespace = SessionsNamespace
	status, err := CollectionStatus(sit, Defragmentation{Running: true})
	if err != nil || status.Compliant || status.Violation != ViolationDefragmenting {
		t.Errorf("status %+v, %v", status, err)
	}
}

func TestTrap39SeveralMembersDrainedLeaveAZoneWithoutShards(t *testing.T) {
	workedExample(t, "R06").play(t)
	_, _, log := selected(t, `{"shards":[{"id":"e1","size":9,"zones":["EU"],"draining":true},{"id":"e2","size":9,"zones":["EU"],"draining":true},{"id":"p","size":9}],
		"chunks":[["e1","Min",0],["e2",0,10],["p",10,"Max"]],"zones":[["Min",10,"EU"]]}`)
	same(t, "log", log, []string{"[21890 e1 0]", "[21890 e2 0]", "[6581600 EU]"})
}
