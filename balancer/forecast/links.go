package forecast

import (
	"maps"
	"math"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/sim"
)

// links models the duration of migrations between each pair of shards.
type links struct {
	rates *rates
	// copying describes the part that grows with the bytes, otherSteps the remaining steps.
	copying, otherSteps ratios
	tallies             map[[2]catalog.ShardID]tally
}

// link returns the simulated link between two shards.
func (l links) link(from, to catalog.ShardID) sim.Link {
	r := l.rates
	if r.measuredCount == 0 {
		return sim.Link{RefusalShare: r.failureShare}
	}
	return sim.Link{
		Bandwidth:      int64(math.Max(1, r.bytesPerSecond/l.copying.slowdown(from, to))),
		MoveOverhead:   r.fixedCloneTime + time.Duration(float64(r.otherSteps)*l.otherSteps.slowdown(from, to)),
		DurationSpread: r.timeStdDev, FailureShare: l.failureShare(from, to), FailureProgress: r.failureProgress,
		RefusalShare: r.refusedShare,
	}
}

// ratios holds the ratio of measured to fitted times of migrations, by link.
type ratios struct {
	pairs        map[[2]catalog.ShardID]ratio
	fastestRatio map[catalog.ShardID]float64         // the lowest ratio of a shard's links
	fastestPeer  map[catalog.ShardID]catalog.ShardID // the other end of that link
	all          ratio
}

// ratio is a sum of measured times and of predicted times, with the number of migrations.
type ratio struct{ measured, predicted, weight float64 }

func (r ratio) plus(o ratio) ratio {
	return ratio{r.measured + o.measured, r.predicted + o.predicted, r.weight + o.weight}
}

func (r ratio) mean() float64 { return r.measured / r.predicted }

func newRatios() ratios {
	return ratios{pairs: map[[2]catalog.ShardID]ratio{}, fastestRatio: map[catalog.ShardID]float64{},
		fastestPeer: map[catalog.ShardID]catalog.ShardID{}}
}

func (r *ratios) add(pair [2]catalog.ShardID, x ratio) {
	r.pairs[pair] = r.pairs[pair].plus(x)
	r.all = r.all.plus(x)
}

// setFastestLinks records for each shard the fastest of its links.
func (r *ratios) setFastestLinks() {
	for _, pair := range sortedPairs(r.pairs) {
		x := r.pairs[pair].mean()
		for i, id := range pair {
			if least, known := r.fastestRatio[id]; !known || x < least {
				r.fastestRatio[id], r.fastestPeer[id] = x, pair[1-i]
			}
		}
	}
}

// sortedPairs returns the keys of a map in order, because sums of floats depend on the order.
func sortedPairs[V any](m map[[2]catalog.ShardID]V) [][2]catalog.ShardID {
	return slices.SortedFunc(maps.Keys(m), func(a, b [2]catalog.ShardID) int { return slices.Compare(a[:], b[:]) })
}

// logFastestLead returns by how much the fastest shard is usually faster than the next one, as a
// logarithm.
func (r ratios) logFastestLead() float64 {
	var n, sum, squares float64
	for _, id := range slices.Sorted(maps.Keys(r.fastestRatio)) { // sorted, because sums of floats depend on the order
		l := math.Log(r.fastestRatio[id])
		n, sum, squares = n+1, sum+l, squares+l*l
	}
	const doubt = 1
	variance := (math.Max(0, squares-sum*sum/n) + doubt*unusedLinkStdDev*unusedLinkStdDev) / (n - 1 + doubt)
	return math.Sqrt(variance) * (0.4 + 1.2/n) // for normally distributed ratios, exact within a tenth up to 50
}

// slowdown returns the ratio of a link. It weights the link's own ratio by how often the link was used,
// against the ratio of the slower one of its ends.
func (r ratios) slowdown(from, to catalog.ShardID) float64 {
	if r.all.predicted == 0 {
		return 1
	}
	const doubt = 1 // the ratio of the ends counts as much as one migration
	prior := r.slowdownOfEnds(from, to)
	own, known := r.pairs[[2]catalog.ShardID{from, to}]
	if !known {
		return prior
	}
	return (own.weight*own.mean() + doubt*prior) / (own.weight + doubt)
}

// slowdownOfEnds returns the ratio that the ends of a link show on their fastest links: that of the
// slower end.
func (r ratios) slowdownOfEnds(from, to catalog.ShardID) (slower float64) {
	if r.all.predicted == 0 {
		return 1
	}
	for _, id := range []catalog.ShardID{from, to} {
		least, known := r.fastestRatio[id]
		if !known {
			least = r.all.mean()
		}
		slower = math.Max(slower, least)
	}
	return slower
}

// unknownShare returns how little is known about a link: 0 for a link that was used, 1 for a link with
// an end that had no migration.
func (l links) unknownShare(from, to catalog.ShardID) float64 {
	if _, used := l.otherSteps.pairs[[2]catalog.ShardID{from, to}]; used {
		return 0
	}
	_, ok := l.otherSteps.fastestRatio[from]
	_, other := l.otherSteps.fastestRatio[to]
	if ok && other {
		return 0.4
	}
	return 1
}

// tally counts the migrations between two shards.
type tally struct{ failed, all float64 }

// tallies counts the migrations between each pair of shards.
func (e *evidence) tallies() map[[2]catalog.ShardID]tally {
	out := map[[2]catalog.ShardID]tally{}
	for _, f := range e.failures {
		pair := [2]catalog.ShardID{f.from, f.to}
		out[pair] = tally{out[pair].failed + 1, out[pair].all + 1}
	}
	for _, m := range e.moves {
		pair := [2]catalog.ShardID{m.from, m.to}
		out[pair] = tally{out[pair].failed, out[pair].all + 1}
	}
	return out
}

// failureShare returns the share of migrations between two shards that fail after they began. It is the
// share of all migrations, adjusted towards that of the link the more migrations the link had.
func (l links) failureShare(from, to catalog.ShardID) float64 {
	const doubt = 5
	own := l.tallies[[2]catalog.ShardID{from, to}]
	return (own.failed + doubt*l.rates.loggedFailureShare) / (own.all + doubt)
}
