package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"shardsh/balancer"
	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/sim"
)

// Options say what to plan, and how.
type Options struct {
	Goal   Goal // the zero Goal is Balance of all collections
	Limits Limits
	// Maps are where the load goes, which the goal Load needs. Horizon is how long a move has to
	// be worth it; an hour when it is zero.
	Maps    []heat.Map
	Horizon time.Duration
	// IgnoreWindow plans as if the balancer worked around the clock. So does a plan for
	// a cluster whose time zone is unknown, and says so. The balancer's mode is ignored in
	// any case: a plan says what it would do if it were on.
	IgnoreWindow bool
	// IgnoreJumboFlags plans as if no chunk were flagged jumbo: who carries the plan out cuts them, or
	// moves them by force.
	IgnoreJumboFlags bool
	// Model is what chunks are taken to hold; the zero Model takes the sizes that
	// were measured, and what shards have as spread evenly over the rest.
	Model Model
	// Seed has the engine draw its lots as the balancer of a mock with that seed
	// does; 0 keeps the order of the catalog.
	Seed uint64
	// Rand, when it is set, is the source of lots in place of that of the Seed.
	Rand *rand.Rand
	// Costs are the durations of operations; the zero value means those of a small idle cluster.
	Costs sim.Costs
	// Parameters are the server parameters; nil means the defaults.
	Parameters func() balancer.Parameters
	// Watch is told how far the plan is, and may end it with an error; may be nil.
	Watch sim.Watch

	zoneUnknown bool // the window was ignored as its time zone is unknown
}

func (o Options) check() error {
	for _, limit := range []struct {
		name  string
		value int64
	}{
		{"bytes", o.Limits.Bytes}, {"moves", int64(o.Limits.Moves)}, {"rounds", int64(o.Limits.Rounds)},
		{"time", int64(o.Limits.Time)},
	} {
		if limit.value < 0 {
			return fmt.Errorf("plan: the limit of %s is %d, and can't be negative", limit.name, limit.value)
		}
	}
	if o.Limits.Disk < 0 || o.Limits.Disk > 1 {
		return fmt.Errorf("plan: the disk limit is %v, and has to be a share from 0 to 1", o.Limits.Disk)
	}
	if n := len(o.Goal.Homes); n > 0 && (o.Goal.Kind != Presplit || n != len(o.Goal.Points)+1 ||
		!slices.IsSortedFunc(o.Goal.Points, catalog.Key.Compare)) {
		points := len(o.Goal.Points)
		return fmt.Errorf("plan: %d target shards for %d split points: %d are needed", n, points, points+1)
	}
	if o.Goal.Kind == Load && len(o.Maps) == 0 {
		return errNoLoad
	}
	if o.Goal.Shard != "" && o.Goal.Kind != Drain {
		return fmt.Errorf("plan: the goal %s has no shard", o.Goal.Kind)
	}
	return nil
}

// firstTerm is the term in which a mock begins.
const firstTerm = 1

// newRand returns the engine's random source, nil for the order of the catalog.
func (o Options) newRand() *rand.Rand {
	if o.Rand != nil || o.Seed == 0 {
		return o.Rand
	}
	return balancer.NewRand(o.Seed, firstTerm)
}
