package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Link overrides Costs for migrations from one shard to another.
// Zero fields do not override.
type Link struct {
	// Bandwidth and MoveOverhead override the fields of Costs.
	Bandwidth    int64
	MoveOverhead time.Duration
	// DurationSpread is the standard deviation of the logarithm of the durations. It does not change
	// their mean.
	DurationSpread float64
	// FailureShare is the share of migrations that fail: after the fraction FailureProgress of their
	// duration, or after Costs.Failed if FailureProgress is 0.
	FailureShare, FailureProgress float64
	// RefusalShare is the share of migrations that the donor rejects, after Costs.Refused.
	RefusalShare float64
}

// links are the links of a run with the state of their random selections.
type links struct {
	linkFor func(from, to catalog.ShardID) Link
	rand    *rand.Rand
	byPair  map[[2]catalog.ShardID]*link
}

type link struct {
	Link
	failures, refusals rateSampler
}

// rateSampler evenly selects a fraction of migrations with little randomness: accumulated sums the
// fractions. It starts at random, so that the fraction is right on average even for few migrations.
type rateSampler struct{ accumulated float64 }

func newLinks(cfg Config) *links {
	if cfg.Link == nil {
		return nil
	}
	return &links{linkFor: cfg.Link, rand: rand.New(rand.NewPCG(cfg.Seed, 0)), byPair: map[[2]catalog.ShardID]*link{}}
}

func (l *links) between(from, to catalog.ShardID) *link {
	key := [2]catalog.ShardID{from, to}
	have := l.byPair[key]
	if have == nil {
		have = &link{
			Link:     l.linkFor(from, to),
			failures: rateSampler{l.rand.Float64()},
			refusals: rateSampler{l.rand.Float64()},
		}
		l.byPair[key] = have
	}
	return have
}

// sample counts a migration and reports whether it is selected.
func (s *rateSampler) sample(part float64) bool {
	if s.accumulated += part; s.accumulated < 1 {
		return false
	}
	s.accumulated--
	return true
}

// moveTime returns the duration of a migration, and the error with which it fails.
func (c *cluster) moveTime(from, to catalog.ShardID, bytes int64) (time.Duration, error) {
	if c.links == nil {
		return c.costs.MoveTime(bytes), nil
	}
	l := c.links.between(from, to)
	failure := func() error {
		return mongoerr.New(mongoerr.OperationFailed,
			"Data transfer error: migrate failed: as some between shards %s and %s did", from, to)
	}
	if l.refusals.sample(l.RefusalShare) {
		return c.costs.Refused, failure()
	}
	costs := c.costs
	costs.Bandwidth, costs.MoveOverhead = cmp.Or(l.Bandwidth, costs.Bandwidth), cmp.Or(l.MoveOverhead, costs.MoveOverhead)
	took := costs.MoveTime(bytes)
	if l.DurationSpread > 0 {
		took = time.Duration(float64(took) * math.Exp(l.DurationSpread*c.links.rand.NormFloat64()-
			l.DurationSpread*l.DurationSpread/2))
	}
	switch {
	case !l.failures.sample(l.FailureShare):
		return took, nil
	case l.FailureProgress == 0:
		return c.costs.Failed, failure()
	}
	return time.Duration(l.FailureProgress * float64(took)), failure()
}
