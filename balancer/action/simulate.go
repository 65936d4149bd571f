package action

import (
	"context"

	"shardsh/balancer/live"
	"shardsh/balancer/whatif"
)

// Simulate predicts the effect of changes, compared with no change. It changes nothing.
type Simulate struct {
	// Alternatives are compared with each other.
	Alternatives []whatif.Alternative
	// SizeModel is the assumption about the sizes of chunks, as in Plan.
	SizeModel string
	// Seed makes the random choices like a mock with this seed; 0 keeps the order of the catalog.
	Seed uint64
	// TimeZone is the time zone of the config servers, as in Forecast.
	TimeZone string
}

// Validate checks the options.
func (v Simulate) Validate() error {
	if len(v.Alternatives) == 0 {
		return refuse("simulate needs {change} or {alternative}: a change, such as addShard 2")
	}
	if _, err := sizeModelOf(v.SizeModel, v.Seed); err != nil {
		return err
	}
	_, err := locationOf(v.TimeZone)
	return err
}

// Run reads the cluster and simulates the changes. The error of an impossible change names the change.
func (v Simulate) Run(ctx context.Context, source Source, r Reporter) (out whatif.Outcomes, err error) {
	if err := v.Validate(); err != nil {
		return out, err
	}
	reporter := &serialReporter{next: r}
	s, err := source.readAndReport(ctx, live.ReaderOptions{}, v.TimeZone, reporter)
	if err != nil {
		return out, err
	}
	if err := checkSizesKnown(s, nil); err != nil {
		return out, err
	}
	o := whatif.Options{Seed: v.Seed, OnProgress: reporter.newSimWatch(ctx)}
	if o.Model, err = sizeModelOf(v.SizeModel, v.Seed); err != nil {
		return out, err
	}
	if whatif.NeedsHeatMaps(v.Alternatives) {
		if o.HeatMaps, err = source.readHeat(ctx, s, nil, reporter); err != nil {
			return out, err
		}
	}
	err = source.compute(func() (err error) {
		out, err = whatif.Simulate(s, v.Alternatives, o)
		return err
	})
	return out, err
}
