package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
	"shardsh/bindings/actiontext"
	"shardsh/cmd/shardsh/cmdline"
)

// heatFlags are the flags of "shardsh heat".
type heatFlags struct {
	outputFlags
	namespaces              []string
	countDuration, lookback time.Duration
	by                      string
	top                     int
	sample                  float64
	logs                    []string
	yes                     bool

	action action.Heat // the resulting action
}

func (o *heatFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` measure these, * is a wildcard; repeat to add")
		cmdline.DurationVar(f, &o.countDuration, "for", "`TIME` how long to count operations (1m)")
		cmdline.DurationVar(f, &o.lookback, "back", "`TIME` read samples that are no older (1h)")
		f.StringVar(&o.by, "by", string(heat.ByMixed), "`"+humanize.Join(heat.LoadKinds(), "|")+"` what counts")
		f.IntVar(&o.top, "top", 10, "`N` how many chunks to name")
		f.Float64Var(&o.sample, "sample", 0, "`N` sample N queries a second meanwhile; needs --yes")
		f.StringArrayVar(&o.logs, "log", nil, "`FILE` place by the slow queries of a log, not by samples; repeat to add")
		f.BoolVarP(&o.yes, "yes", "y", false, "with --sample: do that")
		o.addFlags(f, "text", "json")
	})}
	return append(append(groups, o.consentGroup()), o.sharedGroups()...)
}

func (o *heatFlags) parseArgs(env environment, words []string) error {
	if err := o.outputFlags.parseArgs(env, words); err != nil {
		return err
	}
	if err := firstViolation(
		constraint{o.from != "", "heat reads counters and samples, and --from FILE has none: name a cluster"},
		constraint{o.sample > 0 && !o.yes, "--sample has queries sampled (configureQueryAnalyzer) and ends that: add --yes"},
		constraint{o.yes && o.sample == 0, "--yes is for --sample"},
	); err != nil {
		return err
	}
	o.mayChange = o.sample > 0
	o.action = action.Heat{Namespaces: o.namespaces, CountDuration: o.countDuration,
		Lookback: o.lookback,
		LoadKind: heat.LoadKind(o.by), Top: o.top, SamplesPerSecond: o.sample, Logs: o.logs}
	if err := optionsUsageError(o.action.Validate()); err != nil {
		return err
	}
	return o.checkFormat("text", "json")
}

// run implements "shardsh heat": it shows the load of shards, chunks and keys.
func (o *heatFlags) run(ctx context.Context, env environment) error {
	return runReadAction(ctx, env, &o.sourceFlags, defaultGC, o.action, func(r action.HeatResult) error {
		return o.print(env, r, func() string { return actiontext.Heat(r) })
	})
}

// heatOption is the --heat option of subcommands that can include the load.
type heatOption struct{ duration time.Duration }

func (h *heatOption) addFlag(f *pflag.FlagSet) {
	cmdline.DurationVar(f, &h.duration, "heat", "`TIME` count operations so long, read sampled queries, and add the load")
}

func (h *heatOption) validate(from string) error {
	return firstViolation(
		constraint{h.duration < 0, "--heat takes a time, such as 10s"},
		constraint{h.duration > 0 && from != "",
			"--heat reads counters and samples, and --from FILE has none: name a cluster"})
}

// measure measures the load of some collections of a cluster whose Snapshot was already read.
func (h *heatOption) measure(
	ctx context.Context, env environment, source action.Source, s *catalog.Snapshot, quiet bool, namespaces ...string,
) (action.HeatResult, error) {
	const most = 10
	r := readReporter{onRead: func(*catalog.Snapshot) {},
		onNote: func(text string) { notice(env.stderr, quiet, "%s", text) }}
	result, err := action.Heat{
		Namespaces:     namespaces,
		CountDuration:  h.duration,
		MaxCollections: most,
	}.RunOnSnapshot(ctx, source, s, r)
	return result, preferTimeout(ctx, optionsUsageError(err))
}

func heatText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Shows which shards, chunks and shard keys have how much of the load. It counts
operations for a minute, and places them by the queries that the cluster has
sampled (db.coll.configureQueryAnalyzer, 7.0 and later). Nothing changes, but
with --sample. At the prompt, sh.heat() returns the same.`,
		Examples: []string{
			"shardsh heat mongodb://host:27017 --ns shop.orders",
			"shardsh heat mongodb://host:27017 --for 5m --by writes --json",
			"shardsh heat mongodb://host:27017 --ns shop.orders --sample 50 --yes",
			"shardsh heat mongodb://host:27017 --log mongos1.log --log mongos2.log",
		},
	}
}
