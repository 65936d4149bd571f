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
	// Bandwidth and Move stand in for those of Costs; 0 does not.
	Bandwidth int64
	Move      time.Duration
	// Spread is the standard deviation of the logarithm of single times, around a
	// mean that stays what it is.
	Spread float64
	// Failing is the share of migrations that fail: after FailsAfter of the time
	// that they would take, or after Costs.Failed where that is 0.
	Failing, FailsAfter float64
	// Refused is the share of those that fail at once, after Costs.Refused.
	Refused float64
}

// links are the links of a run, with what chance has still to bring.
type links struct {
	linkFor func(from, to catalog.ShardID) Link
	rand    *rand.Rand
	byPair  map[[2]catalog.ShardID]*link
}

type link struct {
	Link
	failures, refusals rateSampler
}

// rateSampler selects a fraction of migrations evenly, with little randomness: due accumulates
// the fraction. Its start is random, so that on average few migrations have
// the same fraction, too.
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

// sample counts a migration, and reports whether it is one of the share.
func (s *rateSampler) sample(part float64) bool {
	if s.accumulated += part; s.accumulated < 1 {
		return false
	}
	s.accumulated--
	return true
}

// moveTime returns what a migration takes, and the error with which it fails.
func (c *cluster) moveTime(from, to catalog.ShardID, bytes int64) (time.Duration, error) {
	if c.links == nil {
		return c.costs.MoveTime(bytes), nil
	}
	l := c.links.between(from, to)
	failure := func() error {
		return mongoerr.New(mongoerr.OperationFailed,
			"Data transfer error: migrate failed: as some between shards %s and %s did", from, to)
	}
	if l.refusals.sample(l.Refused) {
		return c.costs.Refused, failure()
	}
	costs := c.costs
	costs.Bandwidth, costs.Move = cmp.Or(l.Bandwidth, costs.Bandwidth), cmp.Or(l.Move, costs.Move)
	took := costs.MoveTime(bytes)
	if l.Spread > 0 {
		took = time.Duration(float64(took) * math.Exp(l.Spread*c.links.rand.NormFloat64()-l.Spread*l.Spread/2))
	}
	switch {
	case !l.failures.sample(l.Failing):
		return took, nil
	case l.FailsAfter == 0:
		return c.costs.Failed, failure()
	}
	return time.Duration(l.FailsAfter * float64(took)), failure()
}
