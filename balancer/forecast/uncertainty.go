package forecast

import (
	"maps"
	"math"
	"slices"
	"time"
)

// loadPeriod is how long the load of clients is assumed to stay the same.
const loadPeriod = 30 * time.Minute

// Standard deviations of the logarithm of a duration.
const (
	// assumedLoadStdDev is the deviation between periods while few periods were measured.
	assumedLoadStdDev = 0.1
	// minStdDev is the minimum, however many periods were measured.
	minStdDev = 0.1
	// unusedLinkStdDev is the deviation of the rates of links that were never used.
	unusedLinkStdDev = 0.35
)

// loadStdDevOf returns the standard deviation of the logarithm of the ratio of measured to expected times
// by period.
func loadStdDevOf(periods map[int64]ratio) float64 {
	const doubt = 3
	n, squares := 0.0, doubt*assumedLoadStdDev*assumedLoadStdDev
	var sum, weight float64
	sorted := slices.Sorted(maps.Keys(periods)) // because sums of floats depend on the order
	for _, at := range sorted {
		x := periods[at]
		sum, weight = sum+x.predicted*math.Log(x.mean()), weight+x.predicted
	}
	for _, at := range sorted {
		d := math.Log(periods[at].mean()) - sum/weight
		n++
		squares += d * d
	}
	return math.Sqrt(squares / (n - 1 + doubt))
}

// logStdDev returns the standard deviation of the logarithm of the duration of a simulation that works
// for so long and copies so many bytes. unused is the share of links that were never used.
func (r rates) logStdDev(work time.Duration, bytes int64, unused float64) float64 {
	if r.measuredCount == 0 {
		return assumedRateStdDev
	}
	past := math.Max(1, float64(r.evidencePeriod)/float64(loadPeriod))
	future := math.Max(1, float64(work)/float64(loadPeriod))
	variance := minStdDev*minStdDev + r.loadStdDev*r.loadStdDev*(1/past+1/future) +
		(r.timeStdDev*r.timeStdDev+0.1)/r.effectiveCount
	if r.copiedTooLittle {
		copying := math.Min(1, float64(bytes)/r.bytesPerSecond/math.Max(0.001, work.Seconds()))
		variance += copying * copying * assumedRateStdDev * assumedRateStdDev
	}
	return math.Sqrt(variance + unused*unused*unusedLinkStdDev*unusedLinkStdDev)
}
