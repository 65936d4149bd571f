package action

import (
	"context"
	"time"

	"shardsh/balancer/catalog"
	"shardsh/balancer/forecast"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
)

// Forecast predicts how long the balancer takes to reach a goal.
type Forecast struct {
	// Goal contains the collections; the zero Goal is to balance all.
	Goal plan.Goal
	// TimeZone is the time zone of the config servers' primary, such as Europe/Berlin or +02:00, in
	// which the balancer reads its windows. If it is empty, it is determined from the logs of the
	// config servers.
	TimeZone string
	// Seed seeds the random choices for facts that are not known.
	Seed uint64
}

// Validate checks the options.
func (f Forecast) Validate() error {
	if f.Goal.Kind == plan.Consolidate {
		return refuse("{goal} consolidate has no forecast: the balancer does not do that; see shardsh plan")
	}
	_, err := locationOf(f.TimeZone)
	return err
}

// locationOf returns the time zone with a name; nil for an empty name.
func locationOf(name string) (*time.Location, error) {
	if name == "" {
		return nil, nil
	}
	in, err := catalog.ParseTimeZone(name)
	if err != nil {
		return nil, refuse("{timeZone}: %s", err)
	}
	return in, nil
}

// Run reads the cluster and makes a forecast. If the cluster does not have a name in the options, the
// error is a *diagnosis.NotFoundError.
func (f Forecast) Run(ctx context.Context, source Source, r Reporter) (made forecast.Forecast, err error) {
	if err := f.Validate(); err != nil {
		return made, err
	}
	reporter := &serialReporter{next: r}
	reads := live.ReaderOptions{}
	if f.Goal.Kind != plan.Load {
		reads = source.withOutlines(ctx, f.Goal, reads)
	}
	s, err := source.readAndReport(ctx, reads, f.TimeZone, reporter)
	if err != nil {
		return made, err
	}
	if err := checkSizesKnown(s, f.Goal.Namespaces); err != nil {
		return made, err
	}
	o := forecast.Options{Goal: f.Goal, Seed: f.Seed, OnProgress: reporter.newSimWatch(ctx)}
	if f.Goal.Kind == plan.Load {
		if o.HeatMaps, err = source.readHeat(ctx, s, f.Goal.Namespaces, reporter); err != nil {
			return made, err
		}
	}
	err = source.compute(func() (err error) {
		made, err = forecast.Make(s, o)
		return err
	})
	return made, err
}
