package policy

import (
	"encoding/json"
	"fmt"
	"testing"

	"shardsh/balancer/catalog"
)

var rulesOfKind = map[string]Rules{
	"chunkCount-4.4": RulesRounded, "chunkCount-4.2": RulesRoundedUnforced, "chunkCount-3.4": RulesRoundedUp, "chunkCount-2.2": RulesDifference,
}

func (s scene) counting(t testing.TB) CountSituation {
	t.Helper()
	rules, known := rulesOfKind[s.Kind]
	if !known {
		t.Fatalf("kind %q of %s", s.Kind, s.ID)
	}
	return CountSituation{Situation: s.situation(t), Rules: rules, MovedLastRound: s.Moved}
}

// playCount checks what a scene of the rules before 6.0 expects.
func (s scene) playCount(t *testing.T) {
	t.Helper()
	var want []struct {
		From, To, Reason string
		Min              any
	}
	if err := json.Unmarshal(s.Expect.Migrations, &want); err != nil {
		t.Fatal(err)
	}
	sit := s.counting(t)
	if err := CheckAligned(sit.Table, sit.Zones); err != nil {
		t.Fatal(err)
	}
	migrations, _ := SelectByCount(sit, s.available(sit.Situation), nil)
	var why Report
	asked, _ := SelectByCount(sit, s.available(sit.Situation), &why)
	same(t, "migrations with a report", choices(asked), choices(migrations))
	sameChoices(t, &why, migrations)
	var got, wanted []string
	for _, m := range migrations {
		got = append(got, fmt.Sprintf("%s→%s at %s: %s", m.From, m.To, show(m.Min), m.Reason))
		if c := sit.Table.Find(m.Min); !m.Max.Equal(c.Max) || m.ChunkVersion != c.Version {
			t.Errorf("%+v is not the whole chunk %+v", m, c)
		}
	}
	for _, m := range want {
		wanted = append(wanted, fmt.Sprintf("%s→%s at %v: %s", m.From, m.To, m.Min, m.Reason))
	}
	same(t, "migrations", got, wanted)
}

// counted plays one scene of the rules before 6.0 and gives what moves and the
// log.
func counted(t *testing.T, kind, line string, change ...func(*CountSituation)) ([]string, []string) {
	t.Helper()
	s := stage(t, line)
	s.Kind = kind
	sit := s.counting(t)
	for _, f := range change {
		f(&sit)
	}
	var why Report
	got, _ := SelectByCount(sit, s.available(sit.Situation), &why)
	return choices(got), logged(&why)
}

// rules/01-selection §9.1: the thresholds and ideals of each set of rules.
func TestThresholdsOfTheRules(t *testing.T) {
	for _, tt := range []struct {
		rules  Rules
		chunks int
		moved  bool
		want   int
	}{
		{RulesDifference, 19, false, 2}, {RulesDifference, 20, false, 4}, {RulesDifference, 79, false, 4},
		{RulesDifference, 80, false, 8}, {RulesDifference, 80, true, 2},
		{RulesRoundedUp, 19, false, 1}, {RulesRoundedUp, 20, false, 2}, {RulesRoundedUp, 20, true, 1},
		{RulesRounded, 5, false, 1}, {RulesRounded, 5000, false, 1}, {RulesRounded, 5000, true, 1},
		{RulesRoundedUnforced, 5000, false, 1},
	} {
		if got := tt.rules.threshold(tt.chunks, tt.moved); got != tt.want {
			t.Errorf("threshold of rules %d with %d chunks, moved %v: %d, want %d", tt.rules, tt.chunks, tt.moved, got, tt.want)
		}
	}
	for _, tt := range []struct{ chunks, shards, nearest, ceiling int }{
		{1, 2, 1, 1}, {5, 2, 3, 3}, {7, 3, 2, 3}, {8, 3, 3, 3}, {6, 3, 2, 2}, {0, 3, 0, 0},
	} {
		if n, c := RulesRounded.ideal(tt.chunks, tt.shards), RulesRoundedUp.ideal(tt.chunks, tt.shards); n != tt.nearest || c != tt.ceiling {
			t.Errorf("ideals of %d chunks on %d shards: %d and %d, want %d and %d", tt.chunks, tt.shards, n, c, tt.nearest, tt.ceiling)
		}
	}
}

func TestRulesOfReleases(t *testing.T) {
	want := map[string]Rules{
		"2.4": RulesDifference, "3.4": RulesRoundedUp, "3.6": RulesRoundedUp, "4.0": RulesRoundedUnforced, "4.2": RulesRoundedUnforced,
		"4.4": RulesRounded, "5.0": RulesRounded, "6.0": RulesDataSize, "7.0": RulesDataSize, "8.0": RulesDataSize,
		"8.1": RulesDataSize, "8.2": RulesDataSize, "8.3": RulesDataSize,
	}
	for _, r := range catalog.Releases() {
		if got := RulesOf(r); got != want[r.String()] {
			t.Errorf("%s balances %s", r, got)
		}
	}
	if RulesOf(catalog.Release{}) != RulesDataSize {
		t.Error("no release given is not the present one")
	}
}

// rules/01-selection §9.2: forceJumbo came with 4.4.
func TestForceJumboByCount(t *testing.T) {
	const drained = `{"shards":[{"id":"g","draining":true},{"id":"p"}],"layout":[["g",1],["p",1]]}`
	const uneven = `{"shards":[{"id":"a"},{"id":"b"}],"layout":[["a",4]]}`
	attempt := func(s *CountSituation) { s.ForceJumbo = true }
	for _, tt := range []struct {
		name, kind, scene string
		change            func(*CountSituation)
		want              string
	}{
		{"a drain of 4.4 forces", "chunkCount-4.4", drained, func(*CountSituation) {}, "g→p at Min, force 2"},
		{"a drain of 4.2 does not", "chunkCount-4.2", drained, func(*CountSituation) {}, "g→p at Min, force 0"},
		{"balancing of 4.2 does not on demand", "chunkCount-4.2", uneven, attempt, "a→b at Min, force 0"},
		{"a drain of 3.4 does not", "chunkCount-3.4", drained, func(*CountSituation) {}, "g→p at Min, force 0"},
		{"balancing of 4.4 does not", "chunkCount-4.4", uneven, func(*CountSituation) {}, "a→b at Min, force 0"},
		{"balancing of 4.4 on demand", "chunkCount-4.4", uneven, attempt, "a→b at Min, force 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _ := counted(t, tt.kind, tt.scene, tt.change)
			same(t, "migrations", got, []string{tt.want})
		})
	}
}

// rules/01-selection §9.2: a draining shard without chunks is passed over silently, and
// too few shards left end no phase.
func TestDrainByCount(t *testing.T) {
	got, log := counted(t, "chunkCount-4.4", `{"shards":[{"id":"g","draining":true},{"id":"p"},{"id":"q"}],"layout":[["p",2],["q",2]]}`)
	same(t, "migrations", got, []string{})
	same(t, "log", log, []string{})

	got, log = counted(t, "chunkCount-4.4", `{"shards":[{"id":"g","draining":true},{"id":"p"}],"chunks":[["g","Min",0,"jumbo"],["p",0,"Max"]]}`)
	same(t, "migrations", got, []string{})
	same(t, "log", log, []string{"[21890 g 1]"})

	// In key order over all zones: the chunk of EU has nowhere to go, that
	// behind it has.
	got, _ = counted(t, "chunkCount-4.4", `{"shards":[{"id":"g","draining":true,"zones":["EU"]},{"id":"p"}],
		"chunks":[["g","Min",0],["g",0,10],["p",10,"Max"]],"zones":[["Min",0,"EU"]]}`)
	same(t, "migrations", got, []string{"g→p at 0, force 2"})
}

// rules/01-selection §9.3: one migration a collection; no receiver ends the collection,
// a small difference only the zone.
func TestOneMoveARound(t *testing.T) {
	got, _ := counted(t, "chunkCount-2.2", `{"shards":[{"id":"g","draining":true},{"id":"h","draining":true},{"id":"p"},{"id":"q"}],
		"layout":[["g",1],["h",1],["p",1],["q",1]]}`)
	same(t, "two draining shards", got, []string{"g→p at Min, force 0"})

	const zones = `{"shards":[{"id":"a","zones":["A"],"maxSizeMB":1,"currSizeMB":1},{"id":"b"},{"id":"c"}],
		"chunks":[["a","Min",0],["a",0,10],["b",10,20],["b",20,30],["b",30,"Max"]],"zones":[["Min",10,"A"]]}`
	got, _ = counted(t, "chunkCount-2.2", zones)
	same(t, "zone A has no receiver", got, []string{})
	got, _ = counted(t, "chunkCount-2.2", zones, func(s *CountSituation) {
		s.Shuffle = func(n int, swap func(i, j int)) { swap(0, n-1) }
	})
	same(t, "zone A comes last", got, []string{"b→c at 10, force 0"})
}

// rules/01-examples-and-traps §12, traps 36 and 37.
func TestTrap36NoZoneIdealUsesAllChunks(t *testing.T) {
	workedExample(t, "L18").playCount(t)

	// L18 moves by either count. Here the 6 unzoned chunks of a are not above the
	// ideal of all 11, which is 6, but would be above that of the 7 unzoned ones.
	got, _ := counted(t, "chunkCount-4.4", `{"shards":[{"id":"a"},{"id":"b","zones":["A"]}],"layout":[["b",4],["a",6],["b",1]],"zones":[["Min",40,"A"]]}`)
	same(t, "migrations", got, []string{})
	// The least loaded shard is c with 2 chunks, not b without unzoned ones.
	got, _ = counted(t, "chunkCount-4.4", `{"shards":[{"id":"a"},{"id":"b","zones":["A"]},{"id":"c"}],"layout":[["b",5],["a",6],["c",2]],"zones":[["Min",50,"A"]]}`)
	same(t, "migrations to the least loaded", got, []string{"a→c at 50, force 0"})
}

func TestTrap37IdealsAreRoundedDifferently(t *testing.T) {
	for _, id := range []string{"L01", "L10", "L11"} {
		t.Run(id, func(t *testing.T) { workedExample(t, id).playCount(t) })
	}
}
