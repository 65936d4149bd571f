package sim

import (
	"cmp"
	"math"
	"math/rand/v2"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
)

// Link is what migrations from one shard to another take, where that is not what
// Costs say.
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
	of     func(from, to catalog.ShardID) Link
	chance *rand.Rand
	known  map[[2]catalog.ShardID]*link
}

type link struct {
	Link
	failures, refusals share
}

// share is a share of migrations that comes without much chance: due is how much of
// one has come together. What it begins with is drawn, so that on average few have
// their share, too.
type share struct{ due float64 }

func newLinks(cfg Config) *links {
	if cfg.Link == nil {
		return nil
	}
	return &links{of: cfg.Link, chance: rand.New(rand.NewPCG(cfg.Seed, 0)), known: map[[2]catalog.ShardID]*link{}}
}

func (l *links) between(from, to catalog.ShardID) *link {
	key := [2]catalog.ShardID{from, to}
	have := l.known[key]
	if have == nil {
		have = &link{Link: l.of(from, to), failures: share{l.chance.Float64()}, refusals: share{l.chance.Float64()}}
		l.known[key] = have
	}
	return have
}

// next counts a migration, and reports whether it is one of the share.
func (s *share) next(part float64) bool {
	if s.due += part; s.due < 1 {
		return false
	}
	s.due--
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
	if l.refusals.next(l.Refused) {
		return c.costs.Refused, failure()
	}
	costs := c.costs
	costs.Bandwidth, costs.Move = cmp.Or(l.Bandwidth, costs.Bandwidth), cmp.Or(l.Move, costs.Move)
	took := costs.MoveTime(bytes)
	if l.Spread > 0 {
		took = time.Duration(float64(took) * math.Exp(l.Spread*c.links.chance.NormFloat64()-l.Spread*l.Spread/2))
	}
	switch {
	case !l.failures.next(l.Failing):
		return took, nil
	case l.FailsAfter == 0:
		return c.costs.Failed, failure()
	}
	return time.Duration(l.FailsAfter * float64(took)), failure()
}
