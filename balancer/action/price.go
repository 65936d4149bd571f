package action

import (
	"context"

	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/balancer/price"
)

// Price compares the ways to a goal for one collection. It changes nothing.
type Price struct {
	// Goal is to balance one collection, or to drain a shard of it.
	Goal plan.Goal
	// DiskLimit is the maximum fraction of its volume that a shard may fill; zero means
	// price.DefaultDiskLimit.
	DiskLimit float64
	Seed      uint64
	// TimeZone is the time zone of the config servers, as in Forecast.
	TimeZone string
}

// Validate checks the options.
func (p Price) Validate() error {
	switch kind := p.Goal.Kind; {
	case kind != "" && kind != plan.Balance && kind != plan.Drain:
		return refuse("{by} auto compares ways to the goals balance and drain, not to %s", kind)
	case len(p.Goal.Namespaces) != 1:
		return refuse("{by} auto needs one collection in {ns}")
	}
	if err := checkDiskLimit(p.DiskLimit); err != nil {
		return err
	}
	_, err := locationOf(p.TimeZone)
	return err
}

// Run reads the cluster and compares the ways. It fails if data could not be read that the comparison
// needs.
func (p Price) Run(ctx context.Context, source Source, r Reporter) (quote price.Comparison, err error) {
	if err := p.Validate(); err != nil {
		return quote, err
	}
	reporter := &serialReporter{next: r}
	s, err := source.readAndReport(ctx, live.ReaderOptions{Parts: live.DefaultParts | live.ReusableSpace}, p.TimeZone,
		reporter)
	if err != nil {
		return quote, err
	}
	if err := checkGaps(s, p.Goal.Namespaces); err != nil {
		return quote, err
	}
	if c := s.Collection(p.Goal.Namespaces[0]); c != nil && !c.Unsplittable {
		if err := checkSizesKnown(s, p.Goal.Namespaces); err != nil {
			return quote, err
		}
	}
	err = source.compute(func() (err error) {
		quote, err = price.Compare(s, price.Options{
			Goal: p.Goal, DiskLimit: p.DiskLimit, Seed: p.Seed, OnProgress: reporter.newSimWatch(ctx),
		})
		return err
	})
	return quote, err
}
