package policy

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"
)

// How random clusters come to rest, and how many bytes move until then.
//
// The clusters (world_test.go) have shards in several zones, draining ones, some
// without a size entry, and collections with ranges of zones, flagged chunks,
// chunks of a single key that can't be split, and chunks of many chunk sizes.
// All collections of a cluster share the shards of a round. A donor moves what
// rules/01-selection §6.8 says, not a whole chunk.
//
// That the migrations end is checked round by round: each makes a measure
// smaller that can't fall for ever (toRest).
//
// The bytes are compared with the least that lead to the fairest sizes
// (leastbytes_test.go). A tenth more is allowed, and the threshold of three
// chunk sizes for each shard: differences below it stay, and a move may go
// beyond the ideal by what moves at once. Collections with draining shards or
// zones keep to that but for one in a thousand. There the server's policy takes
// ways that are longer, and so does ours:
//
//   - The ideal counts draining shards (trap 4). While they are emptied, the
//     others give what they have above this small ideal, and get as much back
//     from the draining shards.
//   - The ideal of a zone is that of its members (trap 3). They even out among
//     themselves first; those that got something give it to others later.
//   - While the smallest shard is busy with another collection, the next one
//     receives, up to the ideal, and passes it on when the smallest is free.
//
// Of 14000 clusters with 34753 collections all came to rest. None of the 14914
// collections without zones and draining was above the bound; of the others 19
// were, the worst moving 1.35 times the least: "zones" seed 1043, "everything"
// seeds 1627, 668 and 950; 1.30 "zones, draining" seed 714; 1.21 "draining"
// seed 586.

// outcome is what became of one collection.
type outcome struct {
	seed          uint64
	ns            string
	rounds        int
	moved         int64
	least         int64 // to the fairest sizes
	toEnd         int64 // the least bytes to the sizes that came about
	slack         int64
	before, after string
}

func (o outcome) bound() int64 { return o.least + o.least/10 + o.slack }

// limit is what no collection moves more than, on whatever ways.
func (o outcome) limit() int64 { return o.least + o.least/2 + o.slack }

func (o outcome) String() string {
	return fmt.Sprintf("seed %d %s: %d bytes in %d rounds, the least is %d (%.2f), slack %d; sizes %s, at the end %s",
		o.seed, o.ns, o.moved, o.rounds, o.least, float64(o.moved)/float64(max(1, o.least)), o.slack, o.before, o.after)
}

// play runs a cluster to its rest.
func play(t testing.TB, seed uint64, kind features) (list []outcome) {
	w := randomWorld(t, seed, kind)
	before := make([]string, len(w.colls))
	hauls := make([]*haul, len(w.colls))
	for i, p := range w.colls {
		before[i] = fmt.Sprint(p.sit.Sizes.ByShard)
		hauls[i] = newHaul(w.shards, w.unmeasured, p.start)
	}
	for w.round(t) {
	}
	for i, p := range w.colls {
		p.checkRest(t, w, seed, kind)
		h := hauls[i]
		o := outcome{
			seed: seed, ns: p.sit.Namespace, moved: p.moved, rounds: w.rounds,
			slack:  int64(len(w.shards)) * ImbalanceFactor * p.sit.Sizes.MaxChunkSizeBytes,
			before: before[i], after: fmt.Sprint(p.sit.Sizes.ByShard),
		}
		o.least, _ = h.ship(h.fair())
		sizes := make([]int64, len(h.receivers))
		for k, s := range h.receivers {
			sizes[k] = p.sit.Sizes.ByShard[s.ID]
		}
		var possible bool
		if o.toEnd, possible = h.ship(sizes); !possible || o.toEnd > o.moved {
			t.Fatalf("%s: the least bytes to the sizes at the end are %d (possible: %v): the bound is not a bound", o, o.toEnd, possible)
		}
		list = append(list, o)
	}
	return list
}

// checkRest checks what a collection at rest must be like (rules/01-selection §6.3 to §6.5).
func (p *populace) checkRest(t testing.TB, w *world, seed uint64, kind features) {
	t.Helper()
	h := newHaul(w.shards, w.unmeasured, nil)
	for _, f := range p.freights() {
		if (f.from.Draining || f.outside) && !f.flagged && h.open(f.zone) {
			t.Fatalf("seed %d %s: a chunk of zone %q stays on %s: %+v", seed, p.sit.Namespace, f.zone, f.from.ID, f)
		}
	}
	if kind.zones || kind.draining || kind.jumbo {
		return // flags, zones and the ideal of what was drained keep sizes apart
	}
	var sizes []int64
	var total int64
	for _, n := range p.sit.Sizes.ByShard {
		sizes, total = append(sizes, n), total+n
	}
	low, high, ideal := slices.Min(sizes), slices.Max(sizes), total/int64(len(sizes))
	if high-low >= ImbalanceFactor*p.sit.Sizes.MaxChunkSizeBytes && low < ideal && high > ideal {
		t.Fatalf("seed %d %s: sizes %v at rest", seed, p.sit.Namespace, sizes)
	}
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
	if testing.Short() {
		t.Skip("one goroutine, for long")
	}
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
				if o.moved > o.limit() {
					t.Errorf("more than half above the least: %s", o)
				}
				sum.moved, sum.least, sum.toEnd = sum.moved+o.moved, sum.least+o.least, sum.toEnd+o.toEnd
			}
			allowed := 0
			if kind.zones || kind.draining {
				allowed = len(all) / 50
			}
			if above > allowed {
				t.Errorf("%d of %d collections are above the bound, %d may be", above, len(all), allowed)
			}
			t.Logf("%d collections, %d above the bound; in all %d bytes moved, the least is %d, to the sizes at the end %d",
				len(all), above, sum.moved, sum.least, sum.toEnd)
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
