package forecast

import (
	"fmt"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
)

// countingTime is how long operations are counted before each round. countingRounds is the number of rounds:
// the last one finds nothing to do.
const (
	countingTime   = time.Minute
	countingRounds = 2
)

// forecastLoad forecasts how long a run takes to even out the load: the first moves that the run would
// choose, one after another. The run does not depend on the balancer's mode and window.
func (o Options) forecastLoad(s *catalog.Snapshot) (Forecast, error) {
	f := Forecast{Goal: o.Goal, At: s.BalancerTime()}
	p, err := plan.Make(s, plan.Options{Goal: o.Goal, HeatMaps: o.HeatMaps, IgnoreWindow: true, Seed: o.Seed})
	if err != nil {
		return f, err
	}
	f.BlockedBy, f.Never = p.Left, len(p.Left) > 0
	f.Moves, f.Bytes = p.Totals.Moves, p.Totals.Bytes
	f.Done = len(p.Steps) == 0 && !f.Never
	f.Basis = append(f.Basis, fmt.Sprintf("the largest load of a shard is %.2f times the mean now, and %.2f times "+
		"after %s", p.Load.Before, p.Load.After, humanize.Count(f.Moves, "move")))
	if len(p.Steps) == 0 {
		return f, nil
	}
	speeds := MeasureSpeeds(s)
	f.Low, f.Likely, f.High = speeds.StepsTime(p.Steps, 0)
	const counting = countingRounds * countingTime
	f.Low, f.Likely, f.High = f.Low+counting, f.Likely+counting, f.High+counting
	f.Basis = append(f.Basis, speeds.Basis(), fmt.Sprintf("operations are counted for %s before each round, and "+
		"the moves run one after another", humanize.Duration(countingTime)),
		"the load stays as it is; a later round chooses again")
	return f, nil
}
