package policy

import (
	"slices"
	"testing"

	"shardsh/balancer/catalog"
)

// afterTheSpec are releases that choose differently, some of them between two patches.
func afterTheSpec() []catalog.Release {
	return []catalog.Release{
		catalog.Release80.WithPatch(10), catalog.Release80.WithPatch(19), catalog.Release80.WithPatch(20), catalog.Release81,
		catalog.Release82.WithPatch(5), catalog.Release82.WithPatch(6), catalog.Release83, catalog.Release90,
	}
}

// What a donor is in each release, by hand from the rules of the server: sizes in MiB, 128 a
// chunk. The zones E and U lie below and above key 100.
func TestDonorsByRelease(t *testing.T) {
	const east, west = "E", "U"
	shard := func(id string, size int64, zones ...string) sized {
		return sized{catalog.Shard{ID: catalog.ShardID(id), Zones: zones}, size}
	}
	draining := shard("g", 3000)
	draining.Draining = true
	eastWest := []tuple{{"a", "Min", 100}, {"b", 100, 110}, {"b", 110, "Max"}}
	zones := []string{east, west}
	for _, c := range []struct {
		id       string
		shards   []sized
		chunks   []tuple
		zones    []string
		old, new string
	}{
		{"Z30: a larger shard outside the zone", []sized{shard("a", 4000, east), shard("b", 2000, west), shard("c", 0, west)},
			eastWest, zones, "", "b→c at 100, force 0"},
		{"Z31: a larger member without chunks of the zone",
			[]sized{shard("a", 4000, east, west), shard("b", 2000, west), shard("c", 0, west)}, eastWest, zones, "", ""},
		{"Z32: no zone, and the largest has only zoned chunks",
			[]sized{shard("a", 4000, east), shard("b", 2000), shard("c", 0)}, eastWest, []string{east}, "", ""},
	} {
		for _, r := range afterTheSpec() {
			want := c.old
			if fixed := slices.Contains([]string{"8.0.20", "8.2.6", "8.3", "9.0"}, r.String()); fixed {
				want = c.new
			}
			checkMoves(t, c.id, r, situationOf(t, r, c.shards, c.chunks, c.zones), want)
		}
	}
	for _, r := range afterTheSpec() {
		want := ""
		if slices.Contains([]string{"8.2.5", "8.2.6", "8.3", "9.0"}, r.String()) {
			want = "b→c at 100, force 0"
		}
		flagged := []tuple{{"g", "Min", 100, "jumbo"}, {"b", 100, 110}, {"b", 110, "Max"}}
		sit := situationOf(t, r, []sized{draining, shard("b", 2000), shard("c", 0)}, flagged, nil)
		checkMoves(t, "Z33: a draining shard with flagged chunks is the largest", r, sit, want)
	}
}

// A drain has the donor move what is too large, until 8.2.6 (that patch is inferred).
func TestDrainsAreForcedByRelease(t *testing.T) {
	for _, r := range afterTheSpec() {
		want := "g→c at Min, force 2"
		if slices.Contains([]string{"8.2.6", "8.3", "9.0"}, r.String()) {
			want = "g→c at Min, force 0"
		}
		shards := []sized{{catalog.Shard{ID: "g", Draining: true}, 100}, {catalog.Shard{ID: "c"}, 100}}
		sit := situationOf(t, r, shards, []tuple{{"g", "Min", 100}, {"c", 100, "Max"}}, nil)
		checkMoves(t, "a drain", r, sit, want)
		sit.ForceJumbo = true // is for the other reasons from then on
		checkMoves(t, "a drain with attemptToBalanceJumboChunks", r, sit, want)
	}
}

// The server's own test of the fix: EU on a, US on b and c; chunks of 1 MiB, 20 of them in EU and
// 10 in US, all of these on b.
func TestZonesEvenOutToTheEnd(t *testing.T) {
	for _, r := range afterTheSpec() {
		want := map[catalog.ShardID]int64{"a": 20, "b": 10, "c": 0}
		if r.DonorBelongsToZone() {
			want = map[catalog.ShardID]int64{"a": 20, "b": 6, "c": 4}
		}
		owners := map[int]string{}
		sizes := map[catalog.ShardID]int64{"a": 20, "b": 10, "c": 0}
		for range 20 {
			chunks := []tuple{{"a", "Min", 100}}
			for i := range 10 {
				owner := owners[i]
				if owner == "" {
					owner = "b"
				}
				var low, high any = 100 + i, 101 + i
				if i == 9 {
					high = "Max"
				}
				chunks = append(chunks, tuple{owner, low, high})
			}
			shards := []sized{
				{catalog.Shard{ID: "a", Zones: []string{"E"}}, sizes["a"]}, {catalog.Shard{ID: "b", Zones: []string{"U"}}, sizes["b"]},
				{catalog.Shard{ID: "c", Zones: []string{"U"}}, sizes["c"]},
			}
			sit := situationOf(t, r, shards, chunks, []string{"E", "U"})
			sit.Sizes.MaxChunkSizeBytes = mib
			chosen, _, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), nil)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range chosen {
				for i := range 10 {
					if key(t, 100+i).Compare(m.Min) == 0 {
						owners[i] = string(m.To)
					}
				}
				sizes[m.From]--
				sizes[m.To]++
			}
		}
		for id, n := range want {
			if sizes[id] != n {
				t.Errorf("%s: %s has %d documents at the end, want %d", r, id, sizes[id], n)
			}
		}
	}
}

type sized struct {
	catalog.Shard
	mib int64
}

func situationOf(t *testing.T, r catalog.Release, shards []sized, chunks []tuple, zones []string) Situation {
	t.Helper()
	sit := Situation{Namespace: "db.c", Release: r, Table: table(t, chunks), Zones: catalog.NewZoneSet(pattern(t))}
	sit.Sizes = catalog.DataSizes{ByShard: map[catalog.ShardID]int64{}, MaxChunkSizeBytes: 128 * mib}
	for _, s := range shards {
		sit.Shards = append(sit.Shards, s.Shard)
		sit.Sizes.ByShard[s.ID] = s.mib * mib
	}
	for _, zone := range zones {
		low, high := key(t, "Min"), key(t, 100)
		if zone == "U" {
			low, high = high, key(t, "Max")
		}
		if err := sit.Zones.Add(catalog.ZoneRange{Min: low, Max: high, Zone: zone}); err != nil {
			t.Fatal(err)
		}
	}
	return sit
}

func checkMoves(t *testing.T, name string, r catalog.Release, sit Situation, want string) {
	t.Helper()
	chosen, _, err := SelectMigrations(sit, NewAvailableShards(sit.Shards), nil)
	if err != nil {
		t.Fatal(err)
	}
	var wanted []string
	if want != "" {
		wanted = []string{want}
	}
	if got := choices(chosen); !slices.Equal(got, append([]string{}, wanted...)) {
		t.Errorf("%s, %s: chose %v, want %v", name, r, got, wanted)
	}
}
