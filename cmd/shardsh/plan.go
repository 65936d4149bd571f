package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/bindings/findings"
	"shardsh/cmd/shardsh/cmdline"
)

// planLine is the command line of "shardsh plan".
type planLine struct {
	answerLine
	goal         goalFlag
	namespaces   []string
	bytes        cmdline.Size
	moves        int
	rounds       int
	time         cmdline.Duration
	model        string
	seed         uint64
	ignoreWindow bool
	all          bool

	options plan.Options // what comes of them
}

func (o *planLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.Var(&o.goal, "goal", "`balance|drain=SHARD|zones|defragment|consolidate` what is to be reached")
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` plan these; wildcards; repeat to add")
		f.Var(&o.bytes, "max-bytes", "`SIZE` end before more than 10GB would move")
		f.IntVar(&o.moves, "max-moves", 0, "`N` end after so many moves")
		f.IntVar(&o.rounds, "max-rounds", 0, "`N` end after so many rounds")
		f.Var(&o.time, "max-time", "`TIME` end after 90, 30m, 4h of the cluster's time")
		f.StringVar(&o.model, "model", "", "`measured|even|skewed[=SPREAD]` what chunks hold")
		f.Uint64Var(&o.seed, "seed", 0, "`N` draw lots as a mock with this seed; else catalog order")
		f.BoolVar(&o.ignoreWindow, "ignore-window", false, "as if the balancer worked around the clock")
		f.BoolVar(&o.all, "all", false, "show all steps and shards")
		o.flags(f, "text", "json", "script")
	})}
	return append(groups, o.server.Flags()...)
}

func (o *planLine) settle(environment) error {
	model, err := plan.ParseModel(o.model, o.seed)
	if err != nil {
		return usagef("--model: %w", err)
	}
	goal := plan.Goal{Kind: o.goal.kind, Shard: o.goal.shard, Namespaces: o.namespaces}
	limits := plan.Limits{Bytes: o.bytes.Bytes, Moves: o.moves, Rounds: o.rounds, Time: time.Duration(o.time)}
	for name, n := range map[string]int{"max-moves": o.moves, "max-rounds": o.rounds} {
		if n < 0 {
			return usagef("--%s is %d, and can't be negative", name, n)
		}
	}
	o.options = plan.Options{
		Goal: goal, Limits: limits, Model: model, Seed: o.seed, IgnoreWindow: o.ignoreWindow,
	}
	return o.checkFormat("text", "json", "script")
}

// plan is "shardsh plan": what would be done to reach a goal.
func (env environment) plan(ctx context.Context) error {
	var o planLine
	return env.about(ctx, &o, printPlanHelp, func(s *catalog.Snapshot) error {
		o.options.Watch = o.computing.watch
		p, err := collecting(often, func() (*plan.Plan, error) { return plan.Make(s, o.options) })
		o.computing.end()
		if err != nil {
			return err
		}
		if o.format == "script" {
			return env.write(o.answerLine, p.Script)
		}
		return env.answer(o.answerLine, p, func() string { return findings.PlanText(p, o.all) })
	})
}

// goalFlag is a goal on a command line.
type goalFlag struct {
	kind  plan.GoalKind
	shard catalog.ShardID
}

func (g *goalFlag) String() string { return "" }
func (g *goalFlag) Type() string   { return "GOAL" }

// Set reads balance, drain=SHARD and so on.
func (g *goalFlag) Set(text string) error {
	goal, err := plan.ParseGoal(text)
	g.kind, g.shard = goal.Kind, goal.Shard
	return err
}

func printPlanHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Says what the balancer would do to reach a goal if it were on: splits, moves and
merges in rounds, with bytes, donor, recipient and the reason in numbers, and
what each shard has before and after. Nothing on the cluster changes. At the
prompt sh.plan() answers the same.

Goals: balance, what the balancer does until it rests; drain=SHARD, until the
shard is empty; zones, only what brings chunks into their zones; defragment,
small chunks merged, and moved for that; consolidate, merges without moves.
Collections that are switched off are planned if --ns names them.

A plan in JSON (-o plan.json --json) is what "shardsh apply" carries out; as a
script (--output script) any mongosh does.

Usage:
  shardsh plan [options] [address]

%s
Examples:
  shardsh plan mongodb://host:27017
  shardsh plan mongodb://host:27017 --goal drain=shard3 --max-time 6h
  shardsh plan mongodb://host:27017 --ns 'shop.*' --max-bytes 100GB --json -o plan.json
  shardsh plan --from cluster.snap --output script > plan.js
`, cmdline.Usage(groups))
}
