package forecast

import (
	"math"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/sim"
)

// What is assumed where no migration tells more: between 4 and 64 MiB a second
// for a pair of shards is what clusters were seen to do.
const (
	assumedRate   = 16 << 20
	assumedSpread = 0.84 // of the logarithm: nine in ten lie between a quarter of it and four times of it
)

// surprise is what the next migrations may differ from the last ones by, however
// many there were: other load, other documents.
const surprise = 0.1

// halfLife is how much older evidence is that counts half.
const halfLife = 3 * time.Hour

// rates are what migrations take, and how sure that is.
type rates struct {
	costs sim.Costs
	links func(from, to catalog.ShardID) sim.Link
	// known counts the migrations that it was measured on; 0 means assumed.
	known int
	// median is that of the measured times, spread the standard deviation of the
	// logarithm of single ones around what the model says.
	median time.Duration
	spread float64
	// perSecond is the rate while a clone is copied.
	perSecond float64
	failing   float64
	// unsure is the standard deviation of the logarithm of all times together.
	unsure float64
	// skew is that of the bytes of single migrations.
	skew float64
	span time.Duration // that the evidence covers
}

// ratesOf makes what migrations take of what they took.
func ratesOf(e evidence) rates {
	r := rates{costs: sim.DefaultCosts(), known: len(e.moves), failing: e.failing()}
	if r.known == 0 {
		r.costs.Bandwidth, r.perSecond, r.unsure, r.skew = assumedRate, assumedRate, assumedSpread, 0.5
		r.links = func(catalog.ShardID, catalog.ShardID) sim.Link { return sim.Link{Failing: r.failing} }
		return r
	}
	newest := e.moves[0].at
	weights := make([]float64, len(e.moves))
	for i, m := range e.moves {
		weights[i] = math.Exp2(-newest.Sub(m.at).Hours() / halfLife.Hours())
		r.span = max(r.span, newest.Sub(m.at))
	}
	r.fit(e.moves, weights)
	byLink := r.residuals(e.moves, weights)
	r.links = func(from, to catalog.ShardID) sim.Link {
		return sim.Link{Slower: byLink.slower(from, to), Spread: r.spread, Failing: e.failingBetween(from, to)}
	}
	r.costs.Failed = e.failedTime(r.costs.Refused)
	return r
}

// fit finds the fixed part and the rate of a migration: the copying grows with
// the bytes, the other steps do not.
func (r *rates) fit(moves []migration, weights []float64) {
	var took []time.Duration
	var w, rest, x, y, xx, xy float64
	for i, m := range moves {
		took = append(took, m.took)
		size, copied := float64(m.bytes), m.copied.Seconds()
		w += weights[i]
		rest += weights[i] * (m.took - m.copied).Seconds()
		x, y = x+weights[i]*size, y+weights[i]*copied
		xx, xy = xx+weights[i]*size*size, xy+weights[i]*size*copied
	}
	slices.Sort(took)
	r.median = took[len(took)/2]
	fixed, perByte := rest/w, y/math.Max(1, x)
	// Where sizes differ enough, a part of the copying that does not grow with
	// them shows.
	if variance := xx/w - (x/w)*(x/w); variance > 0.05*(x/w)*(x/w) {
		slope := (xy/w - (x/w)*(y/w)) / variance
		if intercept := y/w - slope*x/w; slope > 0 && intercept > 0 {
			fixed, perByte = fixed+intercept, slope
		}
	}
	r.costs.Batch, r.costs.BatchBytes = 0, 0
	r.costs.Move = time.Duration(fixed * float64(time.Second))
	r.perSecond = 1 / math.Max(perByte, 1e-12)
	r.costs.Bandwidth = int64(math.Max(1, r.perSecond))
	r.skew = logSpread(moves)
}

// logSpread returns the standard deviation of the logarithm of the bytes that
// moved.
func logSpread(moves []migration) float64 {
	var n, sum, squares float64
	for _, m := range moves {
		if m.bytes > 0 {
			l := math.Log(float64(m.bytes))
			n, sum, squares = n+1, sum+l, squares+l*l
		}
	}
	if n < 2 {
		return 0.5
	}
	return math.Min(1.5, math.Sqrt(math.Max(0, squares/n-sum/n*sum/n)))
}

// ratios are how migrations differed from what the fit says of them.
type ratios struct {
	pairs  map[[2]catalog.ShardID]ratio
	shards map[catalog.ShardID]float64 // the least of a shard's links
	all    float64
}

type ratio struct{ weight, sum float64 }

func (r ratio) mean() float64 { return r.sum / r.weight }

// residuals groups the differences by links, and sets how sure all is.
func (r *rates) residuals(moves []migration, weights []float64) ratios {
	out := ratios{pairs: map[[2]catalog.ShardID]ratio{}, shards: map[catalog.ShardID]float64{}}
	of := make([]float64, len(moves))
	var total ratio
	for i, m := range moves {
		said := r.costs.Move.Seconds() + float64(m.bytes)/r.perSecond
		of[i] = math.Max(0.001, m.took.Seconds()) / math.Max(0.001, said)
		pair := out.pairs[[2]catalog.ShardID{m.from, m.to}]
		out.pairs[[2]catalog.ShardID{m.from, m.to}] = ratio{pair.weight + weights[i], pair.sum + weights[i]*of[i]}
		total = ratio{total.weight + weights[i], total.sum + weights[i]*of[i]}
	}
	out.all = total.mean()
	for pair, x := range out.pairs {
		for _, id := range pair {
			if least, known := out.shards[id]; !known || x.mean() < least {
				out.shards[id] = x.mean()
			}
		}
	}
	var squares, weightSquares float64
	for i, m := range moves {
		d := math.Log(of[i] / out.slower(m.from, m.to))
		squares += weights[i] * d * d
		weightSquares += weights[i] * weights[i]
	}
	effective := total.weight * total.weight / weightSquares
	r.spread = math.Sqrt(squares / total.weight)
	r.unsure = math.Sqrt(surprise*surprise + (r.spread*r.spread+0.25)/effective)
	return out
}

// slower returns how a link differs: as it was itself, the less so the less often
// it was used, else as the slower one of its ends.
func (r ratios) slower(from, to catalog.ShardID) float64 {
	const doubt = 1 // counts as one migration of what the ends tell
	prior := 0.0
	for _, id := range []catalog.ShardID{from, to} {
		if least, known := r.shards[id]; known {
			prior = math.Max(prior, least)
		}
	}
	if prior == 0 {
		prior = r.all
	}
	own := r.pairs[[2]catalog.ShardID{from, to}]
	return (own.sum + doubt*prior) / (own.weight + doubt)
}

// failingBetween returns the share of migrations between two shards that fail:
// that of all, the more their own the more there were.
func (e *evidence) failingBetween(from, to catalog.ShardID) float64 {
	const doubt = 5
	failed, all := 0.0, 0.0
	for _, f := range e.failures {
		if f.from == from && f.to == to {
			failed, all = failed+1, all+1
		}
	}
	for _, m := range e.moves {
		if m.from == from && m.to == to {
			all++
		}
	}
	return (failed + doubt*e.failing()) / (all + doubt)
}

// failedTime returns what a migration takes that fails, on average.
func (e *evidence) failedTime(refused time.Duration) time.Duration {
	if len(e.failures) == 0 {
		return refused
	}
	var sum time.Duration
	for _, f := range e.failures {
		sum += f.took
	}
	return max(refused, sum/time.Duration(len(e.failures)))
}
