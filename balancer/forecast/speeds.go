package forecast

import (
	"math"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

// Speeds holds the durations of migrations, measured from the logs of a Snapshot, or assumed where the
// logs have none.
type Speeds struct {
	rates rates
	at    time.Time
}

// MeasureSpeeds reads the logs of a Snapshot.
func MeasureSpeeds(s *catalog.Snapshot) Speeds {
	return Speeds{fitRates(readEvidence(s), sim.SnapshotCosts(s)), s.Time()}
}

// Costs returns the costs of a migration between any two shards.
func (v Speeds) Costs() sim.Costs { return v.rates.costs }

// MoveTime returns the expected duration of a migration of so many bytes, including failed attempts.
func (v Speeds) MoveTime(from, to catalog.ShardID, bytes int64) time.Duration {
	link, costs := v.rates.links.link(from, to), v.rates.costs
	took := costs.MoveTime(bytes)
	if link.Bandwidth > 0 {
		took = link.MoveOverhead + seconds(float64(bytes)/float64(link.Bandwidth))
	}
	failed := math.Min(0.9, link.FailureShare)
	return took + seconds(took.Seconds()*failed/(1-failed)*math.Max(link.FailureProgress, 0.01))
}

// CopyTime returns the time in which shards copy concurrently, each its number of bytes: that of the slowest
// shard, at the speed of its fastest link. If that link is also the fastest link of the shard at its other end,
// one of the two shards is faster than the link, but the measurements tell neither which one nor by how much:
// both are assumed to be equally likely, with the usual lead of the fastest shard (logFastestLead).
func (v Speeds) CopyTime(bytes map[catalog.ShardID]int64) time.Duration {
	copying := v.rates.links.copying
	longest := 0.0
	for id, n := range bytes {
		slower, known := copying.fastestRatio[id]
		if !known || slower <= 0 {
			slower = 1
		}
		took := float64(n) * slower / v.rates.bytesPerSecond
		if peer := copying.fastestPeer[id]; copying.fastestPeer[peer] == id {
			lead, others := math.Exp(copying.logFastestLead()), float64(bytes[peer])*slower/v.rates.bytesPerSecond
			took = (math.Max(took/lead, others) + math.Max(took, others/lead)) / 2
		}
		longest = math.Max(longest, took)
	}
	return seconds(longest)
}

// TimeRange returns the interval that contains nine in ten times with the expectation likely, for so many
// bytes. unused is the share of the time on links that were never used. other is the standard deviation
// of the logarithm that does not come from rates.
func (v Speeds) TimeRange(likely time.Duration, bytes int64, unused, other float64) (low, high time.Duration) {
	const nineInTen = 1.645 // standard deviations
	f := math.Exp(nineInTen * math.Hypot(v.rates.logStdDev(likely, bytes, unused), other))
	return seconds(likely.Seconds() / f), seconds(likely.Seconds() * f)
}

// StepsTime returns the duration of steps that are carried out one after another: nine in ten times lie
// between low and high. other is the same as for Range.
func (v Speeds) StepsTime(steps []plan.Step, other float64) (low, likely, high time.Duration) {
	var moving, rest time.Duration
	var bytes int64
	unused := 0.0
	for _, s := range steps {
		switch s.Kind {
		case plan.Move:
			took := v.MoveTime(s.From, s.To, s.Bytes)
			moving, bytes = moving+took, bytes+s.Bytes
			unused += took.Seconds() * v.UnknownShare(s.From, s.To)
		case plan.Merge:
			rest += v.rates.costs.Merge
		case plan.Split:
			rest += v.rates.costs.Merge * time.Duration(len(s.Points))
		}
	}
	low, high = v.TimeRange(moving, bytes, unused/max(1, moving.Seconds()), other)
	return low + rest, moving + rest, high + rest
}

// UnknownShare returns how little is known about a link: 0 for a link that was used, 1 for a link with
// an end that had no migration.
func (v Speeds) UnknownShare(from, to catalog.ShardID) float64 {
	return v.rates.links.unknownShare(from, to)
}

// Basis says what the speeds are based on.
func (v Speeds) Basis() string { return basis{rates: v.rates, at: v.at}.sentences()[0] }
