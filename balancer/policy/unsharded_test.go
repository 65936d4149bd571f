package policy

import (
	"math/rand/v2"
	"testing"
	"time"

	"shardsh/balancer/catalog"
)

// fixed draws the numbers given, one after the other, and shuffles nothing.
type fixed []int

func (f *fixed) IntN(int) int {
	n := (*f)[0]
	*f = (*f)[1:]
	return n
}

func (*fixed) Shuffle(int, func(i, j int)) {}

// rules/01-selection §8.
func TestMovesOfUnshardedCollections(t *testing.T) {
	shards := func(draining ...catalog.ShardID) []catalog.Shard {
		list := []catalog.Shard{{ID: "a"}, {ID: "b"}, {ID: "c"}}
		for i := range list {
			for _, d := range draining {
				list[i].Draining = list[i].Draining || list[i].ID == d
			}
		}
		return list
	}
	on := func(shard catalog.ShardID, ns string) Unsharded { return Unsharded{Namespace: ns, Shard: shard} }
	tracked := func(shard catalog.ShardID, ns string) Unsharded {
		return Unsharded{Namespace: ns, Shard: shard, Tracked: true}
	}
	still := func(u Unsharded) Unsharded { u.NoBalance = true; return u }
	const none = "none"
	for _, tt := range []struct {
		name  string
		sit   UnshardedSituation
		taken []catalog.ShardID
		draws fixed
		want  string
	}{
		{"nothing to move", UnshardedSituation{Shards: shards()}, nil, nil, none},
		{"from the first shard that has any", UnshardedSituation{Shards: shards(), Collections: []Unsharded{on("b", "d.x"), on("c", "d.y")}},
			nil, fixed{0, 0}, "b→a d.x"},
		{"an untracked one first", UnshardedSituation{Shards: shards(), Collections: []Unsharded{tracked("a", "d.x"), on("a", "e.y"), on("a", "f.z")}},
			nil, fixed{1, 0}, "a→b f.z"},
		{"else a tracked one that may move", UnshardedSituation{Shards: shards(), Collections: []Unsharded{still(tracked("a", "d.x")), tracked("a", "d.y")}},
			nil, fixed{0}, "a→b d.y"},
		{"off a draining shard, before the coin", UnshardedSituation{Shards: shards("b"), Collections: []Unsharded{on("a", "d.x"), on("b", "d.y")}, Sharded: []string{"d.s"}},
			nil, fixed{0, 0}, "b→a d.y"},
		{"never to a draining shard", UnshardedSituation{Shards: shards("b", "c"), Collections: []Unsharded{on("a", "d.x")}},
			nil, nil, none},
		{"the coin leaves room for chunks", UnshardedSituation{Shards: shards(), Collections: []Unsharded{on("a", "d.x")}, Sharded: []string{"d.s"}},
			nil, fixed{1}, none},
		{"or not", UnshardedSituation{Shards: shards(), Collections: []Unsharded{on("a", "d.x")}, Sharded: []string{"d.s"}},
			nil, fixed{0, 0, 0}, "a→b d.x"},
		{"no coin for the sessions alone", UnshardedSituation{Shards: shards(), Collections: []Unsharded{on("a", "d.x")}, Sharded: []string{"config.system.sessions"}},
			nil, fixed{0, 0}, "a→b d.x"},
		{"busy shards", UnshardedSituation{Shards: shards(), Collections: []Unsharded{on("a", "d.x"), on("c", "d.z")}},
			[]catalog.ShardID{"a"}, fixed{0, 0}, "c→b d.z"},
		{"too few shards", UnshardedSituation{Shards: shards(), Collections: []Unsharded{on("a", "d.x")}},
			[]catalog.ShardID{"b", "c"}, nil, none},
		{"reshardings may last", UnshardedSituation{Shards: shards(), Collections: []Unsharded{on("a", "d.x")}, MinReshardingTime: 5001 * time.Millisecond},
			nil, nil, none},
	} {
		t.Run(tt.name, func(t *testing.T) {
			avail := NewAvailableShards(tt.sit.Shards)
			avail.Take(tt.taken...)
			before := avail.Len()
			got := none
			m, ok := SelectUnsharded(tt.sit, avail, &tt.draws)
			if ok {
				got = string(m.From) + "→" + string(m.To) + " " + m.Namespace
				if avail.IsFree(m.From) || avail.IsFree(m.To) || m.Reason != ReasonUnsharded {
					t.Errorf("%+v leaves its shards available", m)
				}
			} else if avail.Len() != before {
				t.Error("shards are taken for nothing")
			}
			if got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
		})
	}
}

// rules/01-selection §6.10.
func TestRandomMigrations(t *testing.T) {
	const even = `{"shards":[{"id":"a","size":1},{"id":"b","size":1},{"id":"c","size":1}],
		"chunks":[["b","Min",0,"jumbo"],["b",0,10],["c",10,"Max"]],"zones":[["Min",0,"Z"]]}`
	sit := stage(t, even).situation(t)
	sit.RandomMoveSource = &fixed{0}
	got, _, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), nil)
	if err != nil || len(got) != 1 || !got[0].Max.Equal(key(t, 0.0)) {
		t.Fatalf("%+v, %v: want one whole chunk", got, err)
	}
	same(t, "jumbo and zones don't count", choices(got), []string{"b→c at Min, force 0"})

	sit.RandomMoveSource = &fixed{}
	sit.Shards[0].Draining = true
	got, _, _ = SelectMigrations(sit, NewAvailableShards(sit.Shards), nil)
	same(t, "a shard drains", choices(got), []string{})

	byCount, _ := SelectByCount(CountSituation{Situation: func() Situation { sit.RandomMoveSource = &fixed{1}; return sit }(), Rules: RulesRounded}, NewAvailableShards(sit.Shards), nil)
	same(t, "older rules don't mind", choices(byCount), []string{"b→c at 0, force 0"})

	sit.Namespace, sit.Shards[0].Draining = SessionsNamespace, false
	got, _, _ = SelectMigrations(sit, NewAvailableShards(sit.Shards), nil)
	same(t, "not in config", choices(got), []string{})

	for _, r := range []catalog.Release{catalog.Release83, catalog.Release90} {
		sit = stage(t, even).situation(t)
		sit.RandomMoveSource, sit.Release, sit.Namespace = &fixed{0}, r, SessionsNamespace
		got, _, _ = SelectMigrations(sit, NewAvailableShards(sit.Shards), nil)
		if r == catalog.Release83 {
			same(t, "not in config up to 8.3", choices(got), []string{})
			continue
		}
		same(t, "in config from 9.0 on", choices(got), []string{"b→c at Min, force 0"})
		if len(got) == 1 && !got[0].Max.IsZero() {
			t.Error("the donor is told where the range ends")
		}
	}

	// Over many draws every chunk moves from its owner to another shard.
	sit = stage(t, even).situation(t)
	sit.RandomMoveSource = rand.New(rand.NewPCG(1, 2))
	seen := map[string]bool{}
	for range 200 {
		got, _, _ = SelectMigrations(sit, NewAvailableShards(sit.Shards), nil)
		for _, line := range choices(got) {
			seen[line] = true
		}
	}
	for _, line := range []string{"b→a at Min, force 0", "b→c at 0, force 0", "c→a at 10, force 0", "c→b at 10, force 0"} {
		if !seen[line] {
			t.Errorf("never drawn: %s; only %v", line, seen)
		}
	}
}
