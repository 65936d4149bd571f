package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/forecast"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/bindings/findings"
	"shardsh/cmd/shardsh/cmdline"
)

// forecastFlags are those of "shardsh forecast".
type forecastFlags struct {
	answerFlags
	goal       goalFlag
	namespaces []string
	zone       string
	seed       uint64

	options forecast.Options // what comes of them
}

func (o *forecastFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.Var(&o.goal, "goal", "`balance|drain=SHARD|zones|defragment` goal to forecast")
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` only this collection; repeat to add")
		zoneFlag(f, &o.zone)
		f.Uint64Var(&o.seed, "seed", 0, "`N` random seed for what is not known")
		o.flags(f, "text", "json")
	})}
	return append(groups, o.sharedGroups()...)
}

func (o *forecastFlags) complete(env environment, words []string) error {
	if err := o.answerFlags.complete(env, words); err != nil {
		return err
	}
	o.options = forecast.Options{
		Goal: plan.Goal{Kind: o.goal.kind, Shard: o.goal.shard, Namespaces: o.namespaces}, Seed: o.seed,
	}
	var err error
	if o.options.Location, err = location(o.zone); err != nil {
		return err
	}
	if o.goal.kind == plan.Consolidate {
		return usagef("--goal consolidate has no forecast: the balancer does not do that; see shardsh plan")
	}
	return o.checkFormat("text", "json")
}

func zoneFlag(f *pflag.FlagSet, zone *string) {
	f.StringVar(zone, "time-zone", "",
		"`NAME` time zone of the config servers, such as Europe/Berlin (default: by their logs)")
}

// location returns the time zone with a name, nil for no name.
func location(zone string) (*time.Location, error) {
	if zone == "" {
		return nil, nil
	}
	in, err := time.LoadLocation(zone)
	if err != nil {
		return nil, usagef("--time-zone takes a name such as Europe/Berlin or UTC: %w", err)
	}
	return in, nil
}

// run is "shardsh forecast": how long the balancer takes to a goal.
func (o *forecastFlags) run(ctx context.Context, env environment) error {
	return o.about(ctx, env, live.ReaderOptions{}, func(s *catalog.Snapshot) error {
		o.options.Watch = o.progress.watch
		f, err := withGC(rareGC, func() (forecast.Forecast, error) { return forecast.Of(s, o.options) })
		o.progress.end()
		if err != nil {
			return suggesting(err)
		}
		return o.print(env, f, func() string { return findings.ForecastText(f) })
	})
}

func forecastText() cmdline.Text {
	return cmdline.Text{
		Intro: `Forecasts how long the balancer takes to reach a goal: a range that is right nine
times in ten, the latest date, and what both are based on. Nothing on the cluster
changes. At the prompt, sh.forecast() returns the same.`,
		Examples: []string{
			"shardsh forecast mongodb://host:27017",
			"shardsh forecast mongodb://host:27017 --goal drain=shard3",
			"shardsh forecast mongodb://host:27017 --goal defragment --ns shop.orders",
			"shardsh forecast --from cluster.snap --time-zone Europe/Berlin --json",
		},
		More: `The balancer is simulated on the present chunks, with the speeds and failures in
the logs of the last day, within its windows.

Goals: balance, until the balancer rests (the default); drain=SHARD, until the
shard is empty, as if its draining began now if it has not; zones, until all
chunks are in theirs; defragment, until it has ended, as if it began now if none
is under way. With --ns only these collections count.

Where the balancer is off or blocked, the answer says so, and how long it would
take otherwise.`,
	}
}
