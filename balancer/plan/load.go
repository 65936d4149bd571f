package plan

import (
	"errors"
	"fmt"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/heat"
)

// errNoLoad says that the goal Load needs load data.
var errNoLoad = errors.New("plan: the goal load needs the load of a cluster (counters and sampled queries), and " +
	"a file has none")

// LoadImbalance is the balance of load over shards: the largest load as a multiple of the mean.
type LoadImbalance struct {
	Before float64 `json:"before"`
	After  float64 `json:"after"`
}

// addLoadSteps adds the steps that balance the load.
func (b *builder) addLoadSteps() {
	colls, places := heat.SnapshotInput(b.input.start, b.input.heatMaps(b.o.HeatMaps))
	d := heat.Decide(colls, places, heat.Options{LoadKind: b.o.Goal.LoadKind, Horizon: b.o.Horizon, Volumes: b.volumes})
	b.plan.Load = &LoadImbalance{d.MaxLoadRatioBefore, d.MaxLoadRatioAfter}
	steps := make([]Step, 0, len(d.Steps))
	for _, s := range d.Steps {
		step := Step{Kind: Move, Namespace: s.Namespace, From: s.From, To: s.To, Min: s.Min, Max: s.Max, Bytes: s.Bytes,
			Why: fmt.Sprintf("It has %.0f%% of the load that a shard has on average.", s.LoadOfMean*100)}
		if !s.Point.IsZero() {
			step.Kind, step.Points = Split, []catalog.Key{s.Point}
			step.Why = "It has more load than another shard may take as a whole."
		}
		steps = append(steps, step)
	}
	b.schedule(steps)
	b.obstacles = append(b.obstacles, diagnosis.StuckLoadFindings(d, b.o.HeatMaps)...)
}

// heatMaps returns the heat maps of the plan's collections.
func (sc *input) heatMaps(maps []heat.Map) (list []heat.Map) {
	for _, m := range maps {
		if c := sc.start.Collection(m.Namespace); c != nil && !c.NoBalance {
			list = append(list, m)
		}
	}
	return list
}
