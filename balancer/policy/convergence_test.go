package policy

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"shardsh/balancer/catalog"
)

// How random clusters come to rest, and how many bytes move until then.
//
// The clusters (world_test.go) have shards in several zones, draining ones, some
// without a size entry, and collections with ranges of zones, flagged chunks,
// chunks of a single key that can't be split, and chunks of many chunk sizes.
// All collections of a cluster share the shards of a round. A donor moves what
// spec 01 §6.8 says, not a whole chunk.
//
// That the migrations end is checked round by round: each makes a measure
// smaller that can't fall for ever (toRest).
//
// The bytes are compared with the least that lead to the fairest sizes
// (leastbytes_test.go). That is no bound for the server's policy, which stops
// earlier and, with zones and draining shards, does not aim there:
//
//   - The ideal of a zone counts draining shards (trap 4). While they are
//     emptied, the others give what they have above this small ideal, and get as
//     much back from the draining shards.
//   - The ideal of a zone is that of its members, by the sizes of whole
//     collections (trap 3). They even out among themselves first, and the ones
//     that got something give it to shards outside later.
//   - Differences below three chunk sizes stay, and a move may go beyond the
//     ideal by what moves at once.
//
// So the bound allows a tenth more than the least bytes and the detours that
// follow from the two ideals (detours), and three chunk sizes for each shard.
// Without zones and draining shards there are no detours.

// outcome is what became of one collection.
type outcome struct {
	seed          uint64
	ns            string
	rounds        int
	moved         int64
	least         int64 // to the fairest sizes
	toEnd         int64 // the least bytes to the sizes that came about
	detours       int64
	slack         int64
	before, after string
}

func (o outcome) bound() int64 { return o.least + o.least/10 + o.slack }

func (o outcome) String() string {
	return fmt.Sprintf("seed %d %s: %d bytes in %d rounds, the least is %d (%.2f), detours of %d, slack %d; sizes %s, at the end %s",
		o.seed, o.ns, o.moved, o.rounds, o.least, float64(o.moved)/float64(max(1, o.least)), o.detours, o.slack, o.before, o.after)
}

// play runs a cluster to its rest.
func play(t testing.TB, seed uint64, kind features) (list []outcome) {
	w := randomWorld(t, seed, kind)
	before := make([]string, len(w.colls))
	hauls := make([]*haul, len(w.colls))
	detours := make([]int64, len(w.colls))
	for i, p := range w.colls {
		before[i] = fmt.Sprint(p.sit.Sizes.ByShard)
		hauls[i] = newHaul(w.shards, w.unmeasured, p.start)
		detours[i] = hauls[i].detours(p.sit)
	}
	for w.round(t) {
	}
	for i, p := range w.colls {
		h := hauls[i]
		o := outcome{
			seed: seed, ns: p.sit.Namespace, moved: p.moved, rounds: w.rounds, detours: detours[i],
			slack:  int64(len(w.shards)) * imbalanceFactor * p.sit.Sizes.MaxChunkSizeBytes,
			before: before[i], after: fmt.Sprint(p.sit.Sizes.ByShard),
		}
		o.least, _ = h.ship(h.fair())
		sizes := make([]int64, len(h.receivers))
		for k, s := range h.receivers {
			sizes[k] = p.sit.Sizes.ByShard[s.ID]
		}
		var possible bool
		if o.toEnd, possible = h.ship(sizes); !possible || o.toEnd > o.moved {
			t.Fatalf("%s: the least bytes to the sizes at the end are %d (possible: %v): the bound is no bound", o, o.toEnd, possible)
		}
		list = append(list, o)
	}
	return list
}

// detours are the bytes that shards give although they have less than their
// fair size, or take although they have more, because the policy aims at the
// ideal of a zone. That is between the one of the sizes at the beginning and
// the one of the fair sizes, when everything is in its zone.
func (h *haul) detours(sit Situation) (sum int64) {
	fair := h.fair()
	for _, zone := range h.zones {
		var now, then, members int64
		for _, s := range sit.Shards {
			size, measured := sit.Sizes.ByShard[s.ID]
			if !measured || zone != catalog.NoZone && !s.HasZone(zone) {
				continue
			}
			members++
			now += size
			if at := slices.IndexFunc(h.receivers, func(r catalog.Shard) bool { return r.ID == s.ID }); at >= 0 {
				then += fair[at]
			}
		}
		if members == 0 {
			continue
		}
		low, high := min(now, then)/members, max(now, then)/members
		for i, s := range h.receivers {
			if zone == catalog.NoZone || s.HasZone(zone) {
				size := sit.Sizes.ByShard[s.ID]
				sum += max(0, min(size, fair[i])-low) + max(0, high-max(size, fair[i]))
			}
		}
	}
	return sum
}

// clusterKinds are what the clusters have, simple ones first.
var clusterKinds = []features{
	{name: "sizes only"},
	{name: "jumbo", jumbo: true},
	{name: "unsized", unsized: true},
	{name: "draining", draining: true},
	{name: "zones", zones: true},
	{name: "zones, draining", zones: true, draining: true},
	{name: "everything", zones: true, draining: true, jumbo: true, unsized: true},
}

// TestConvergence plays SHARDSH_CLUSTERS clusters, 210 without the variable;
// with -v it tells the worst.
func TestConvergence(t *testing.T) {
	clusters := fromEnvironment(t, "SHARDSH_CLUSTERS", 210)
	for _, kind := range clusterKinds {
		t.Run(kind.name, func(t *testing.T) {
			var all []outcome
			for seed := range clusters / uint64(len(clusterKinds)) {
				all = append(all, play(t, seed, kind)...)
			}
			var sum outcome
			above := 0
			for _, o := range all {
				if o.moved > o.bound() {
					above++
				}
				if o.moved > o.bound()+o.detours+o.detours/10 {
					t.Error(o)
				}
				sum.moved, sum.least, sum.toEnd, sum.detours = sum.moved+o.moved, sum.least+o.least, sum.toEnd+o.toEnd, sum.detours+o.detours
			}
			if above > 0 && !kind.zones && !kind.draining {
				t.Errorf("%d collections above the bound", above)
			}
			t.Logf("%d collections, %d moved more than a tenth above the least and the slack; in all %d moved, least %d, %d to the sizes at the end, detours %d",
				len(all), above, sum.moved, sum.least, sum.toEnd, sum.detours)
			slices.SortFunc(all, func(a, b outcome) int {
				return cmp.Compare(float64(b.moved)/float64(b.bound()), float64(a.moved)/float64(a.bound()))
			})
			for _, o := range all[:min(3, len(all))] {
				t.Log(o)
			}
		})
	}
}

func fromEnvironment(t testing.TB, name string, otherwise uint64) uint64 {
	t.Helper()
	text, set := os.LookupEnv(name)
	if !set {
		return otherwise
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return n
}
