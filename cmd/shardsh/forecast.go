package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/forecast"
	"shardsh/balancer/plan"
	"shardsh/bindings/findings"
	"shardsh/cmd/shardsh/cmdline"
)

// forecastLine is the command line of "shardsh forecast".
type forecastLine struct {
	answerLine
	goal       goalFlag
	namespaces []string
	zone       string
	seed       uint64

	options forecast.Options // what comes of them
}

func (o *forecastLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.Var(&o.goal, "goal", "`balance|drain=SHARD|zones|defragment` what is to be reached")
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` only this; repeat to add")
		f.StringVar(&o.zone, "time-zone", "", "`NAME` of the config servers' clock: Europe/Berlin; else by their logs")
		f.Uint64Var(&o.seed, "seed", 0, "`N` draw lots of what is not known by this seed")
		o.flags(f, "text", "json")
	})}
	return append(groups, o.server.Flags()...)
}

func (o *forecastLine) settle(environment) error {
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

// forecast is "shardsh forecast": how long the balancer takes to a goal.
func (env environment) forecast(ctx context.Context) error {
	var o forecastLine
	return env.about(ctx, &o, printForecastHelp, func(s *catalog.Snapshot) error {
		o.options.Watch = o.computing.watch
		f, err := collecting(seldom, func() (forecast.Forecast, error) { return forecast.Of(s, o.options) })
		o.computing.end()
		if err != nil {
			return suggesting(err)
		}
		return env.answer(o.answerLine, f, func() string { return findings.ForecastText(f) })
	})
}

func printForecastHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Says how long the balancer takes to reach a goal: a range that holds the truth
nine times in ten, the latest time as a date, and what both come from. The
balancer is simulated on what lies where, with the speeds and failures that the
logs of the last day show, in its windows. Nothing on the cluster changes. At
the prompt sh.forecast() answers the same.

Goals: balance, until the balancer rests (the default); drain=SHARD, until the
shard is empty, as if its draining began now if it has not; zones, until all
chunks are in theirs; defragment, until it has ended, as if it began now if none
is under way. With --ns only the collections named count.

A balancer that is off, or that is kept from the goal, is told of, with how long
it would take, or what it can do.

Usage:
  shardsh forecast [options] [address]

%s
Examples:
  shardsh forecast mongodb://host:27017
  shardsh forecast mongodb://host:27017 --goal drain=shard3
  shardsh forecast mongodb://host:27017 --goal defragment --ns shop.orders
  shardsh forecast --from cluster.snap --time-zone Europe/Berlin --json
`, cmdline.Usage(groups))
}
