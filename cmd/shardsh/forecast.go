package main

import (
	"context"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
	"shardsh/bindings/findings"
	"shardsh/cmd/shardsh/cmdline"
)

// forecastFlags are the flags of "shardsh forecast".
type forecastFlags struct {
	outputFlags
	goal       plan.Goal
	namespaces []string
	timeZone   string
	seed       uint64

	action action.Forecast // the resulting action
}

func (o *forecastFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		cmdline.ParsedVar(f, &o.goal, "goal", "`balance|drain=SHARD|zones|defragment|load[=BY]` goal to forecast",
			plan.ParseGoal)
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` only this collection; repeat to add")
		addTimeZoneFlag(f, &o.timeZone)
		f.Uint64Var(&o.seed, "seed", 0, "`N` random seed for unknown data")
		o.addFlags(f, "text", "json")
		o.addSizesFlag(f)
	})}
	return append(groups, o.sharedGroups()...)
}

func (o *forecastFlags) parseArgs(env environment, words []string) error {
	if err := o.outputFlags.parseArgs(env, words); err != nil {
		return err
	}
	o.goal.Namespaces = o.namespaces
	o.action = action.Forecast{Goal: o.goal, TimeZone: o.timeZone, Seed: o.seed}
	if err := o.action.Validate(); err != nil {
		return optionsUsageError(err)
	}
	return o.checkFormat("text", "json")
}

func addTimeZoneFlag(f *pflag.FlagSet, zone *string) {
	f.StringVar(zone, "time-zone", "",
		"`ZONE` of the config servers, for windows (by their logs)")
}

// run implements "shardsh forecast": it forecasts how long the balancer takes to reach a goal.
func (o *forecastFlags) run(ctx context.Context, env environment) error {
	return runReadAction(ctx, env, &o.sourceFlags, rareGC, o.action, func(f forecast.Forecast) error {
		return o.print(env, f, func() string { return findings.ForecastText(f) })
	})
}

func forecastText() cmdline.HelpText {
	return cmdline.HelpText{
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
is under way; load, until operations are even, as shardsh balance --goal load has
it: it counts them for a minute, and needs sampled queries. With --ns only these
collections count.

Where the balancer is off or blocked, the answer says so, and how long it would
take otherwise.`,
	}
}
