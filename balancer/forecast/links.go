package forecast

import (
	"maps"
	"math"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/sim"
)

// links are what migrations take between each two shards.
type links struct {
	rates *rates
	// copying is the part that grows with the bytes, rest are the other steps.
	copying, rest ratios
	past          map[[2]catalog.ShardID]tally
}

// between returns what migrations from one shard to another take.
func (l links) between(from, to catalog.ShardID) sim.Link {
	r := l.rates
	if r.known == 0 {
		return sim.Link{Refused: r.failing}
	}
	return sim.Link{
		Bandwidth: int64(math.Max(1, r.perSecond/l.copying.slower(from, to))),
		Move:      r.waiting + time.Duration(float64(r.steps)*l.rest.slower(from, to)),
		Spread:    r.spread, Failing: l.failing(from, to), FailsAfter: r.failsAfter, Refused: r.refused,
	}
}

// ratios are how migrations differed from what the fit says of them: what they
// took, over what it says that they do.
type ratios struct {
	pairs   map[[2]catalog.ShardID]ratio
	shards  map[catalog.ShardID]float64         // the least of a shard's links
	fastest map[catalog.ShardID]catalog.ShardID // the other end of that link
	all     ratio
}

// ratio is a sum of times over one of times that were foreseen, and how many
// migrations made it.
type ratio struct{ took, said, weight float64 }

func (r ratio) plus(o ratio) ratio {
	return ratio{r.took + o.took, r.said + o.said, r.weight + o.weight}
}

func (r ratio) mean() float64 { return r.took / r.said }

func newRatios() ratios {
	return ratios{pairs: map[[2]catalog.ShardID]ratio{}, shards: map[catalog.ShardID]float64{},
		fastest: map[catalog.ShardID]catalog.ShardID{}}
}

func (r *ratios) add(pair [2]catalog.ShardID, x ratio) {
	r.pairs[pair] = r.pairs[pair].plus(x)
	r.all = r.all.plus(x)
}

// findEnds notes for each shard the fastest link that it is an end of.
func (r *ratios) findEnds() {
	pairs := slices.SortedFunc(maps.Keys(r.pairs), func(a, b [2]catalog.ShardID) int { return slices.Compare(a[:], b[:]) })
	for _, pair := range pairs {
		x := r.pairs[pair].mean()
		for i, id := range pair {
			if least, known := r.shards[id]; !known || x < least {
				r.shards[id], r.fastest[id] = x, pair[1-i]
			}
		}
	}
}

// lead returns by how much the fastest shard is usually faster than the next one, as a logarithm.
func (r ratios) lead() float64 {
	var n, sum, squares float64
	for _, id := range slices.Sorted(maps.Keys(r.shards)) { // in one order: sums of floats hang on it
		l := math.Log(r.shards[id])
		n, sum, squares = n+1, sum+l, squares+l*l
	}
	const doubt = 1
	variance := (math.Max(0, squares-sum*sum/n) + doubt*unseen*unseen) / (n - 1 + doubt)
	return math.Sqrt(variance) * (0.4 + 1.2/n) // of normally distributed ones, within a tenth up to 50
}

// slower returns how a link differs: as it was itself, the less so the less often
// it was used, else as the slower one of its ends.
func (r ratios) slower(from, to catalog.ShardID) float64 {
	if r.all.said == 0 {
		return 1
	}
	const doubt = 1 // counts as one migration of what the ends tell
	prior := r.ends(from, to)
	own, known := r.pairs[[2]catalog.ShardID{from, to}]
	if !known {
		return prior
	}
	return (own.weight*own.mean() + doubt*prior) / (own.weight + doubt)
}

// ends returns how a link differs by what its ends do on their fastest links: as the slower one.
func (r ratios) ends(from, to catalog.ShardID) (slower float64) {
	if r.all.said == 0 {
		return 1
	}
	for _, id := range []catalog.ShardID{from, to} {
		least, known := r.shards[id]
		if !known {
			least = r.all.mean()
		}
		slower = math.Max(slower, least)
	}
	return slower
}

// unknown returns how little is known of a link: 0 for one that was used, 1 for
// one with an end that had no migration.
func (l links) unknown(from, to catalog.ShardID) float64 {
	if _, used := l.rest.pairs[[2]catalog.ShardID{from, to}]; used {
		return 0
	}
	_, one := l.rest.shards[from]
	_, other := l.rest.shards[to]
	if one && other {
		return 0.4
	}
	return 1
}

// tally counts the migrations between two shards.
type tally struct{ failed, all float64 }

// tallies counts the migrations of each two shards.
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

// failing returns the share of migrations between two shards that fail after they
// began: that of all, the more their own the more there were.
func (l links) failing(from, to catalog.ShardID) float64 {
	const doubt = 5
	own := l.past[[2]catalog.ShardID{from, to}]
	return (own.failed + doubt*l.rates.failed) / (own.all + doubt)
}
