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

// Options are the input of Make.
type Options struct {
	Goal   Goal // the zero Goal is Balance of all collections
	Limits Limits
	// HeatMaps contain the load of collections, which the goal Load needs. Horizon is the time in which a
	// move has to pay off; zero means an hour.
	HeatMaps []heat.Map
	Horizon  time.Duration
	// IgnoreWindow plans as if the balancer worked around the clock. So does a plan for a cluster whose
	// time zone is not known, with a note. The balancer's mode is ignored in any case: a plan assumes
	// that the balancer is on.
	IgnoreWindow bool
	// IgnoreJumboFlags plans as if no chunk had the jumbo flag. The execution splits such chunks, or
	// moves them by force.
	IgnoreJumboFlags bool
	// Model is the model of the contents of chunks. The zero Model uses the measured sizes, and
	// distributes the rest of a shard's data evenly over the other chunks.
	Model ChunkModel
	// Seed makes the engine's random choices like the balancer of a mock with that seed; 0 keeps the
	// order of the catalog.
	Seed uint64
	// Rand, if set, is the random source instead of Seed.
	Rand *rand.Rand
	// Costs are the durations of operations; the zero value means the durations of a small idle
	// cluster.
	Costs sim.Costs
	// Parameters are the server parameters; nil means the defaults.
	Parameters func() balancer.Parameters
	// OnProgress gets the progress of the plan, and may end it with an error; may be nil.
	OnProgress sim.ProgressFunc

	timeZoneUnknown bool // the window was ignored because its time zone is not known
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
	if n := len(o.Goal.TargetShards); n > 0 && (o.Goal.Kind != Presplit || n != len(o.Goal.Points)+1 ||
		!slices.IsSortedFunc(o.Goal.Points, catalog.Key.Compare)) {
		points := len(o.Goal.Points)
		return fmt.Errorf("plan: %d target shards for %d split points: %d are needed", n, points, points+1)
	}
	if o.Goal.Kind == Load && len(o.HeatMaps) == 0 {
		return errNoLoad
	}
	if o.Goal.Shard != "" && o.Goal.Kind != Drain {
		return fmt.Errorf("plan: the goal %s has no shard", o.Goal.Kind)
	}
	return nil
}

// firstTerm is the first term of a mock.
const firstTerm = 1

// newRand returns the engine's random source; nil for the order of the catalog.
func (o Options) newRand() *rand.Rand {
	if o.Rand != nil || o.Seed == 0 {
		return o.Rand
	}
	return balancer.NewRand(o.Seed, firstTerm)
}
