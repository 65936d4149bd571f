package forecast

import (
	"maps"
	"math"
	"slices"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/sim"
)

// The assumptions without measured migrations. Observed clusters copied between 4 and 64 MiB a second
// for a pair of shards.
const (
	assumedBytesPerSecond = 16 << 20
	assumedRateStdDev     = 0.84 // of the logarithm: nine in ten rates lie between a quarter and four times of it
	assumedBytesStdDev    = 0.5  // of the logarithm of the contents of chunks
)

// minMeasurableBytes is how much migrations must copy on average to show a rate: the time of smaller
// ones is mostly waiting.
const minMeasurableBytes = 1 << 20

// halfLife is the age difference after which the weight of evidence is halved.
const halfLife = 3 * time.Hour

// rates holds the parameters of migrations and their uncertainty.
type rates struct {
	costs sim.Costs
	links links
	// measuredCount is the number of measured migrations; 0 means that the rates are assumed.
	measuredCount int
	// medianTime is the median of the measured times.
	medianTime time.Duration
	// bytesPerSecond is the rate while a clone is copied. fixedCloneTime is the part of that step that does not
	// grow with the bytes. otherSteps is the duration of all other steps.
	bytesPerSecond             float64
	fixedCloneTime, otherSteps time.Duration
	// copiedTooLittle says that so little was copied that bytesPerSecond is also assumed.
	copiedTooLittle bool
	// failureShare is the share of failed migrations. Of all, refusedShare fail at once, and loggedFailureShare
	// after the part failureProgress of their duration.
	failureShare, refusedShare, loggedFailureShare, failureProgress float64
	// timeStdDev is the standard deviation of the logarithm of single times around the prediction of
	// the links. effectiveCount is the number of equally weighted migrations that it is based on.
	timeStdDev, effectiveCount float64
	// loadStdDev is the standard deviation of the mean times of different periods, which differ in
	// their load. evidencePeriod is the period that the evidence covers.
	loadStdDev     float64
	evidencePeriod time.Duration
	// bytesStdDev is the standard deviation of the bytes of single migrations of a collection.
	bytesStdDev float64
}

// fitIterations is how often migrations are fitted. The first iteration assumes no fixed part; this
// finds the fast shards from their large migrations. Each further iteration uses the ratios of the
// shards found so far. If all shards counted as equally fast, the fixed part would depend on which
// shards had the large migrations.
const fitIterations = 5

// fitRates estimates the rates of migrations from past ones.
func fitRates(e evidence, usual sim.Costs) rates {
	r := rates{costs: usual, measuredCount: len(e.moves)}
	r.failureShare, r.loggedFailureShare = e.failureShares()
	r.refusedShare = r.failureShare - r.loggedFailureShare
	if r.measuredCount == 0 {
		r.costs.Bandwidth, r.bytesPerSecond, r.bytesStdDev = assumedBytesPerSecond, assumedBytesPerSecond, assumedBytesStdDev
		r.links = links{rates: &r, copying: newRatios(), otherSteps: newRatios(), tallies: e.tallies()}
		return r
	}
	newest := e.moves[0].at
	weights := make([]float64, len(e.moves))
	for i, m := range e.moves {
		weights[i] = math.Exp2(-newest.Sub(m.at).Hours() / halfLife.Hours())
		r.evidencePeriod = max(r.evidencePeriod, newest.Sub(m.at))
	}
	copying, rest := newRatios(), newRatios()
	for i := range fitIterations {
		r.fit(e.moves, weights, copying.slowdownOfEnds, i > 0)
		copying, rest = r.compareByLink(e.moves, weights)
	}
	r.measureScatter(e.moves, weights, func(m pastMigration) float64 {
		return r.fixedCloneTime.Seconds() + float64(m.bytes)/r.bytesPerSecond*copying.slowdown(m.from, m.to) +
			r.otherSteps.Seconds()*rest.slowdown(m.from, m.to)
	})
	r.links = links{&r, copying, rest, e.tallies()}
	r.failureProgress = e.failureProgress()
	r.bytesStdDev = bytesStdDevOf(e.moves)
	return r
}

// fit estimates the fixed part and the rate of a migration. The duration of the copying grows with the
// bytes and with the slowness of the shards; the duration of the other steps does not.
func (r *rates) fit(
	moves []pastMigration,
	weights []float64,
	slowdown func(from, to catalog.ShardID) float64,
	fixed bool,
) {
	var took []time.Duration
	var w, rest, bytes, x, y float64
	for i, m := range moves {
		took = append(took, m.took)
		w, bytes = w+weights[i], bytes+weights[i]*float64(m.bytes)
		rest += weights[i] * (m.took - m.copyTime).Seconds()
		x, y = x+weights[i]*float64(m.bytes)*slowdown(m.from, m.to), y+weights[i]*m.copyTime.Seconds()
	}
	slices.Sort(took)
	r.medianTime = took[len(took)/2]
	waiting := 0.0
	if fixed {
		waiting = fitFixedCloneTime(moves, weights, slowdown)
	}
	perByte := (y - waiting*w) / math.Max(1, x)
	perByte *= x / math.Max(1, bytes) // averaged over all links
	if r.copiedTooLittle = bytes/w < minMeasurableBytes; r.copiedTooLittle {
		waiting, perByte = y/w, 1.0/assumedBytesPerSecond
	}
	r.bytesPerSecond = 1 / math.Max(perByte, 1e-12)
	r.fixedCloneTime, r.otherSteps = seconds(waiting), max(time.Millisecond, seconds(rest/w))
	r.costs.BatchTime, r.costs.BatchBytes = 0, 0
	r.costs.Bandwidth, r.costs.MoveOverhead = int64(math.Max(1, r.bytesPerSecond)), r.fixedCloneTime+r.otherSteps
}

// fitFixedCloneTime returns the part of copying that does not grow with the bytes, if the amounts of bytes
// differ enough. Times scatter in proportion to their length, so fitFixedCloneTime minimizes the squares of
// the relative errors.
func fitFixedCloneTime(moves []pastMigration, weights []float64,
	slowdown func(from, to catalog.ShardID) float64) float64 {
	var w, x, y, xx, xy float64
	least := math.Inf(1)
	for i, m := range moves {
		size, copied := float64(m.bytes)*slowdown(m.from, m.to), math.Max(0.001, m.copyTime.Seconds())
		weight := weights[i] / (copied * copied)
		w, x, y = w+weight, x+weight*size, y+weight*copied
		xx, xy = xx+weight*size*size, xy+weight*size*copied
		least = math.Min(least, copied)
	}
	variance := xx/w - (x/w)*(x/w)
	if variance <= 0.05*(x/w)*(x/w) {
		return 0
	}
	slope := (xy/w - (x/w)*(y/w)) / variance
	if slope <= 0 {
		return 0
	}
	return math.Max(0, math.Min(least, y/w-slope*x/w)) // no migration waited for longer than its duration
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// bytesStdDevOf returns the standard deviation of the logarithm of the moved bytes, around the mean of
// the same collection.
func bytesStdDevOf(moves []pastMigration) float64 {
	type sums struct{ n, sum, squares float64 }
	by := map[string]sums{}
	for _, m := range moves {
		if l := math.Log(float64(m.bytes)); m.bytes > 0 {
			s := by[m.ns]
			by[m.ns] = sums{s.n + 1, s.sum + l, s.squares + l*l}
		}
	}
	const doubt = 3
	n, squares := float64(doubt), doubt*assumedBytesStdDev*assumedBytesStdDev
	for _, ns := range slices.Sorted(maps.Keys(by)) { // sorted, because sums of floats depend on the order
		s := by[ns]
		n += s.n - 1
		squares += math.Max(0, s.squares-s.sum*s.sum/s.n)
	}
	return math.Sqrt(squares / n)
}

// compareByLink computes the ratios of measured to fitted times by link.
func (r *rates) compareByLink(moves []pastMigration, weights []float64) (copying, rest ratios) {
	copying, rest = newRatios(), newRatios()
	const least = 0.001
	for i, m := range moves {
		pair := [2]catalog.ShardID{m.from, m.to}
		if said := float64(m.bytes) / r.bytesPerSecond; said > least && !r.copiedTooLittle {
			took := math.Max(least, (m.copyTime - r.fixedCloneTime).Seconds())
			copying.add(pair, ratio{took * weights[i], said * weights[i], weights[i]})
		}
		took := math.Max(least, (m.took - m.copyTime).Seconds())
		rest.add(pair, ratio{took * weights[i], r.otherSteps.Seconds() * weights[i], weights[i]})
	}
	copying.setFastestLinks()
	rest.setFastestLinks()
	return copying, rest
}

// measureScatter measures how single migrations and periods differ from their prediction. Long
// migrations have more weight, because they make up most of the time.
func (r *rates) measureScatter(moves []pastMigration, weights []float64, predict func(pastMigration) float64) {
	var all, squares, saidSquares float64
	spells := map[int64]ratio{}
	for i, m := range moves {
		said, took := math.Max(0.001, predict(m)), math.Max(0.001, m.took.Seconds())
		d, weight := math.Log(took/said), said*weights[i]
		all, squares, saidSquares = all+weight, squares+weight*d*d, saidSquares+weight*weight
		at := int64(moves[0].at.Sub(m.at) / loadPeriod)
		spells[at] = spells[at].plus(ratio{took, said, 1})
	}
	r.effectiveCount = all * all / saidSquares
	r.timeStdDev = math.Sqrt(squares / all)
	r.loadStdDev = loadStdDevOf(spells)
}

// failureProgress returns the part of its duration after which a begun migration fails.
func (e *evidence) failureProgress() float64 {
	if len(e.failures) == 0 {
		return 1
	}
	var failed, moved time.Duration
	for _, f := range e.failures {
		failed += f.took
	}
	for _, m := range e.moves {
		moved += m.took
	}
	mean := moved.Seconds() / float64(len(e.moves))
	return min(1, max(0.01, failed.Seconds()/float64(len(e.failures))/max(0.001, mean)))
}
