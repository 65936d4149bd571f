package whatif

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/forecast"
	"shardsh/balancer/heat"
	"shardsh/balancer/plan"
	"shardsh/balancer/sim"
)

// Alternative is a set of changes that an operator considers.
type Alternative struct {
	// Name may be empty; the alternative is then named by its changes.
	Name    string
	Changes []Change
}

// Options are the options of the simulations.
type Options struct {
	// Model is the model of chunk contents, Seed the seed for unknown data; see plan.Options.
	Model plan.ChunkModel
	Seed  uint64
	// HeatMaps show the distribution of the load, which the load goal needs.
	HeatMaps []heat.Map
	// OnProgress receives the progress of simulations, and may end them with an error. It may be nil.
	OnProgress sim.ProgressFunc
}

// Outcomes holds the outcomes of alternatives; the first alternative changes nothing.
type Outcomes struct {
	// At is the time of the Snapshot, on the cluster's clock.
	At           time.Time `json:"at"`
	Alternatives []Outcome `json:"alternatives"`
}

// Outcome is the outcome of an alternative: what the balancer does until it has nothing left to do.
type Outcome struct {
	Name    string   `json:"name"`
	Changes []string `json:"changes"`
	// Mode is the balancer's mode. If the balancer is off, the outcome assumes that it is on.
	Mode     catalog.Mode      `json:"mode"`
	Plan     *plan.Plan        `json:"plan"`
	Forecast forecast.Forecast `json:"forecast"`
	// RunningMigrations counts the running migrations. The plan leaves them out; the times of the forecast
	// include them.
	RunningMigrations int `json:"underWay"`
	// Flows are the moves between pairs of shards, the most first.
	Flows []Flow `json:"links"`
}

// Flow sums up the moves from one shard to another.
type Flow struct {
	From  catalog.ShardID `json:"from"`
	To    catalog.ShardID `json:"to"`
	Moves int             `json:"moves"`
	Bytes int64           `json:"bytes"`
}

// Unchanged is the name of the alternative that changes nothing.
const Unchanged = "as it is"

// Simulate returns the outcomes of alternatives, and the outcome without changes. Equal Snapshots and
// options give equal outcomes. Its error names the change that can't be made.
func Simulate(s *catalog.Snapshot, alternatives []Alternative, o Options) (Outcomes, error) {
	all := Outcomes{At: s.Time()}
	for _, a := range slices.Concat([]Alternative{{Name: Unchanged}}, alternatives) {
		out, err := a.simulate(s, o)
		if err != nil {
			return Outcomes{}, err
		}
		all.At = out.Forecast.At
		all.Alternatives = append(all.Alternatives, out)
	}
	return all, nil
}

// simulate returns the outcome of one alternative.
func (a Alternative) simulate(s *catalog.Snapshot, o Options) (Outcome, error) {
	out := Outcome{Name: a.Name, Changes: []string{}, Flows: []Flow{}}
	for _, c := range a.Changes {
		out.Changes = append(out.Changes, c.String())
	}
	out.Name = cmp.Or(out.Name, strings.Join(out.Changes, "; "), "no change")
	changed, err := ApplyChanges(s, a.Changes)
	if err != nil {
		return out, err
	}
	out.Mode, out.RunningMigrations = diagnosis.ModeOf(changed), len(changed.Parts().Migrations)
	goal := a.goal()
	out.Forecast, err = forecast.Make(changed, forecast.Options{Goal: goal, HeatMaps: o.HeatMaps, Seed: o.Seed,
		OnProgress: o.OnProgress})
	if err != nil {
		return out, fmt.Errorf("%s: %w", out.Name, err)
	}
	out.Plan, err = plan.Make(changed, plan.Options{
		Goal: goal, HeatMaps: o.HeatMaps, Model: o.Model, Seed: o.Seed, OnProgress: o.OnProgress,
	})
	if err != nil {
		return out, fmt.Errorf("%s: %w", out.Name, err)
	}
	out.Flows = sumFlows(out.Plan.Steps)
	return out, nil
}

// sumFlows sums the moves between each pair of shards.
func sumFlows(steps []plan.Step) []Flow {
	list, at := []Flow{}, map[[2]catalog.ShardID]int{}
	for _, step := range steps {
		if step.Kind != plan.Move {
			continue
		}
		ends := [2]catalog.ShardID{step.From, step.To}
		i, known := at[ends]
		if !known {
			i = len(list)
			at[ends] = i
			list = append(list, Flow{From: step.From, To: step.To})
		}
		list[i].Moves++
		list[i].Bytes += step.Bytes
	}
	slices.SortFunc(list, func(a, b Flow) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(b.Moves, a.Moves), cmp.Compare(a.From, b.From),
			cmp.Compare(a.To, b.To))
	})
	return list
}
