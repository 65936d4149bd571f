package advisory

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"pgregory.net/rapid"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snaptest"
)

// bound is a line of testdata: where a fault begins and ends.
type bound struct {
	id          string
	first, last string // that have it; last is empty where there is no mending
	fixed       string // the first that does not
}

// printed reads what was printed of the tickets.
func printed(t *testing.T) (list []bound, also map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/bounds.tsv")
	if err != nil {
		t.Fatal(err)
	}
	also = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		cells := strings.Split(strings.TrimSpace(line), "\t")
		if len(cells) != 3 {
			t.Fatalf("%q", line)
		}
		ids := strings.Fields(cells[0])
		also[ids[0]] = ids[1:]
		affected, fixed := strings.Split(cells[1], ", "), strings.Split(cells[2], ", ")
		if cells[2] == "open" {
			list = append(list, bound{id: ids[0], first: strings.Replace(cells[1], "all", "4.4.0", 1)})
			continue
		}
		if len(affected) != len(fixed) {
			t.Fatalf("%q", line)
		}
		for i, of := range affected {
			b := bound{id: ids[0], fixed: fixed[i]}
			var upTo bool
			if b.last, upTo = strings.CutPrefix(of, "≤ "); upTo {
				b.first = b.last[:strings.LastIndex(b.last, ".")] + ".0"
			} else if b.first, b.last, upTo = strings.Cut(of, "-"); !upTo {
				b.last = b.first
			}
			list = append(list, b)
		}
	}
	return list, also
}

func document(t *testing.T, doc bson.D) bson.Raw {
	t.Helper()
	raw, err := bson.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// in makes a cluster of a version that is in some states and no other.
func in(t *testing.T, version string, states ...State) Cluster {
	t.Helper()
	p := catalog.SnapshotParts{
		Time: snaptest.SnapshotTime(), Version: version, Settings: catalog.DefaultSettings(),
		Balancer: catalog.BalancerState{Mode: catalog.ModeOff},
		Shards:   []catalog.ShardState{{Shard: catalog.Shard{ID: "a"}}, {Shard: catalog.Shard{ID: "b"}}},
		Config:   map[string][]bson.Raw{},
	}
	coll := &catalog.CollectionState{Collection: catalog.Collection{Namespace: "db.c"},
		Counts: map[catalog.ShardID]catalog.ChunkCount{"a": {Chunks: 2}}}
	p.Collections = append(p.Collections, coll)
	var moving []string
	for _, state := range states {
		switch state {
		case Zones:
			p.Config["tags"] = append(p.Config["tags"], document(t, bson.D{{Key: "ns", Value: "db.c"}}))
		case TimeSeries:
			p.Collections = append(p.Collections,
				&catalog.CollectionState{Collection: catalog.Collection{Namespace: "db.system.buckets.t"}})
		case ConfigShard:
			p.Shards = append(p.Shards, catalog.ShardState{Shard: catalog.Shard{ID: "config"}})
		case MovedUnsharded:
			p.Collections = append(p.Collections,
				&catalog.CollectionState{Collection: catalog.Collection{Namespace: "db.u", Unsplittable: true}})
		case Jumbo:
			coll.Counts["b"] = catalog.ChunkCount{Chunks: 2, Jumbo: 1}
		case ManyChunks:
			coll.Counts["a"] = catalog.ChunkCount{Chunks: 100_000}
		case RangeDeletions:
			p.Deletions = []catalog.RangeDeletion{{Shard: "a", Namespace: "db.c"}}
		case Balancing:
			p.Balancer.Mode = catalog.ModeFull
		case Draining:
			p.Shards[0].Draining = true
		case Resharding:
			p.Reshardings = []catalog.ActiveResharding{{Namespace: "db.c", Kind: "reshardCollection"}}
		case MovingPrimary:
			moving = []string{"db"}
		case Upgrading:
			p.Compatibility = catalog.Compatibility{Version: "4.4", Target: "5.0"}
		}
	}
	return Cluster{Snapshot: catalog.NewSnapshot(p), MovingPrimary: moving}
}

// finds reports whether a fault is named on a cluster on which all its commands are meant.
func finds(list List, a Advisory, c Cluster) bool {
	hits := list.HitsForCommands(c, a.Commands)
	if len(a.Commands) == 0 || a.needsUnseenCommand() {
		hits = append(hits, list.Matching(c)...)
	}
	return slices.ContainsFunc(hits, func(h Hit) bool { return h.ID == a.ID })
}

func named(t *testing.T, list List, id string) Advisory {
	t.Helper()
	i := slices.IndexFunc(list.Advisories, func(a Advisory) bool { return a.ID == id })
	if i < 0 {
		t.Fatalf("%s is missing", id)
	}
	return list.Advisories[i]
}

// Each fault is named from the first version that has it to the last, and not from the patch
// on that has the mending.
func TestBounds(t *testing.T) {
	bounds, also := printed(t)
	list := Embedded()
	for _, b := range bounds {
		a := named(t, list, b.id)
		if !slices.Equal(a.OtherIDs, also[b.id]) {
			t.Errorf("%s is %v, too, want %v", b.id, a.OtherIDs, also[b.id])
		}
		for _, version := range []string{b.first, b.last} {
			if version != "" && !finds(list, a, in(t, version, a.States...)) {
				t.Errorf("%s is not found on %s", b.id, version)
			}
		}
		if b.fixed != "" && finds(list, a, in(t, b.fixed, a.States...)) {
			t.Errorf("%s is found on %s", b.id, b.fixed)
		}
		if first, _ := catalog.ParseServerVersion(b.first); first.Patch > 0 {
			before := fmt.Sprintf("%d.%d.%d", first.Major, first.Minor, first.Patch-1)
			if finds(list, a, in(t, before, a.States...)) {
				t.Errorf("%s is found on %s", b.id, before)
			}
		}
	}
}

// The list has nothing else: no ticket, and no line of releases.
func TestListIsWhatWasPrinted(t *testing.T) {
	bounds, also := printed(t)
	ranges := map[string]int{}
	for _, b := range bounds {
		ranges[b.id]++
	}
	for _, a := range Embedded().Advisories {
		if _, there := also[a.ID]; !there || len(a.Affected) != ranges[a.ID] {
			t.Errorf("%s has %d ranges, want %d", a.ID, len(a.Affected), ranges[a.ID])
		}
	}
	if got := len(Embedded().Advisories); got != len(also) || got < 80 {
		t.Errorf("%d advisories, want %d", got, len(also))
	}
}

// A fault that needs a state or a command is not named without.
func TestConditions(t *testing.T) {
	list := Embedded()
	for _, a := range list.Advisories {
		version := a.Affected[0].From
		if version == (Version{}) {
			version = Version{catalog.ServerVersion{Major: 8, Patch: 23}}
		}
		for i := range a.States {
			others := slices.Delete(slices.Clone(a.States), i, i+1)
			if finds(list, a, in(t, version.String(), others...)) {
				t.Errorf("%s is found without %s", a.ID, a.States[i])
			}
		}
		if len(a.Commands) == 0 {
			continue
		}
		if hits := list.HitsForCommands(in(t, version.String(), a.States...), nil); len(hits) > 0 {
			t.Errorf("without a command there are %v", hits)
		}
	}
}

// current are versions of today without a patch that was announced.
func current() []string { return []string{"7.0.28", "8.0.23", "8.2.9", "8.3.2", "9.0.2", "9.0.3"} }

// On healthy clusters of today at most one fault is named: zones, jumbo chunks, moves and
// deletions are their daily business.
func TestHealthyClustersOfToday(t *testing.T) {
	drawn, list := 0, Embedded()
	healthy := func(t *rapid.T) {
		p := snaptest.Draw(t).Parts()
		p.Version = rapid.SampledFrom(current()).Draw(t, "version")
		line := p.Version[:3]
		p.Compatibility, p.Reshardings = catalog.Compatibility{Version: line}, nil
		for i := range p.Shards {
			p.Shards[i].Version, p.Shards[i].Draining = p.Version, false
		}
		for i := range p.Members {
			p.Members[i].Version = p.Version
		}
		for i := range p.Routers {
			p.Routers[i].Version = p.Version
		}
		for range rapid.IntRange(0, 1).Draw(t, "time series") {
			p.Collections = append(p.Collections,
				&catalog.CollectionState{Collection: catalog.Collection{Namespace: "db.system.buckets.t"}})
		}
		if hits := list.Matching(Cluster{Snapshot: catalog.NewSnapshot(p)}); len(hits) > 1 {
			t.Errorf("%s: %v", p.Version, hits)
		}
		drawn++
	}
	for drawn < 50 { // short runs draw less
		rapid.Check(t, healthy)
	}
}
