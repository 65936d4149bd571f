package forecast

import (
	"math"
	"time"
)

// spell is how long other load is taken to stay alike.
const spell = 30 * time.Minute

// What the spread of the loads of spells is taken for as long as few were seen,
// and what remains unknown however much was seen.
const (
	assumedLoad = 0.1
	surprise    = 0.1
	// unseen is the spread of the speeds of links that nothing has used yet.
	unseen = 0.35
)

// loadOf returns the standard deviation of the logarithm of what spells took over
// what was foreseen.
func loadOf(spells map[int64]ratio) float64 {
	const doubt = 3
	n, squares := 0.0, doubt*assumedLoad*assumedLoad
	var sum, weight float64
	for _, x := range spells {
		sum, weight = sum+x.said*math.Log(x.mean()), weight+x.said
	}
	for _, x := range spells {
		d := math.Log(x.mean()) - sum/weight
		n++
		squares += d * d
	}
	return math.Sqrt(squares / (n - 1 + doubt))
}

// unsure returns the standard deviation of the logarithm of the time of a trajectory
// that works for so long, with a share of it on links that were never used.
func (r rates) unsure(work time.Duration, unused float64) float64 {
	if r.known == 0 {
		return assumedSpread
	}
	past := math.Max(1, float64(r.span)/float64(spell))
	future := math.Max(1, float64(work)/float64(spell))
	variance := surprise*surprise + r.load*r.load*(1/past+1/future) + (r.spread*r.spread+0.1)/r.effective
	return math.Sqrt(variance + unused*unused*unseen*unseen)
}
