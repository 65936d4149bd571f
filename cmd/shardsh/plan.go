package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/price"
	"shardsh/bindings/findings"
	"shardsh/cmd/shardsh/cmdline"
)

// planFlags are the flags of "shardsh plan".
type planFlags struct {
	outputFlags
	goal         plan.Goal
	namespaces   []string
	maxBytes     int64
	maxMoves     int
	maxRounds    int
	maxDuration  time.Duration
	model        string
	seed         uint64
	ignoreWindow bool
	timeZone     string
	diskLimit    float64
	advisories   string
	compareBy    string
	detail       findings.PlanDetail

	action action.Plan // the resulting action
	price  action.Price
}

func (o *planFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		cmdline.ParsedVar(f, &o.goal, "goal", "`balance|drain=SHARD|zones|defragment|consolidate` goal of the plan",
			plan.ParseGoal)
		f.StringVar(&o.compareBy, "by", "", "`auto` compare the ways to the goal for one --ns, and recommend one")
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` only these, * is a wildcard; repeat to add")
		cmdline.ParsedVar(f, &o.maxBytes, "max-bytes", "`SIZE` stop before more than SIZE would move", catalog.ParseSize)
		f.IntVar(&o.maxMoves, "max-moves", 0, "`N` stop after N moves")
		f.IntVar(&o.maxRounds, "max-rounds", 0, "`N` stop after N rounds")
		cmdline.DurationVar(f, &o.maxDuration, "for", "`TIME` stop after 90, 30m, 4h of the cluster's time")
		cmdline.Alias(f, "max-time", "for")
		addDiskLimitFlag(f, &o.diskLimit)
		f.StringVar(&o.model, "model", "", "`measured|even|skewed[=SPREAD]` how large chunks are")
		f.Uint64Var(&o.seed, "seed", 0, "`N` random seed, as of a mock; without it ties go by catalog order")
		f.BoolVar(&o.ignoreWindow, "ignore-window", false, "ignore the balancer window")
		addTimeZoneFlag(f, &o.timeZone)
		addAdvisoriesFlag(f, &o.advisories)
		f.BoolVar(&o.detail.All, "all", false, "print all steps and shards")
		f.BoolVar(&o.detail.Why, "why", false, "print why each step is taken, with numbers")
		o.addFlags(f, "text", "json", "script")
		o.addSizesFlag(f)
	})}
	return append(groups, o.sharedGroups()...)
}

func (o *planFlags) parseArgs(env environment, words []string) error {
	if err := o.outputFlags.parseArgs(env, words); err != nil {
		return err
	}
	o.goal.Namespaces = o.namespaces
	o.action = action.Plan{
		Goal: o.goal, MaxBytes: o.maxBytes, MaxMoves: o.maxMoves, MaxRounds: o.maxRounds, MaxDuration: o.maxDuration,
		SizeModel: o.model, Seed: o.seed, IgnoreWindow: o.ignoreWindow, TimeZone: o.timeZone,
		DiskLimit: o.diskLimit, AdvisoriesFile: o.advisories,
	}
	o.price = action.Price{Goal: o.goal, DiskLimit: o.diskLimit, Seed: o.seed, TimeZone: o.timeZone}
	validate, formats := o.action.Validate, []string{"text", "json", "script"}
	switch o.compareBy {
	case "":
	case "auto":
		limited := o.maxBytes > 0 || o.maxMoves > 0 || o.maxRounds > 0 || o.maxDuration > 0
		if err := firstViolation(constraint{limited || o.model != "" || o.ignoreWindow,
			"--by auto compares whole ways: leave limits, --model and --ignore-window out"}); err != nil {
			return err
		}
		validate, formats = o.price.Validate, formats[:2]
	default:
		return usagef("--by takes auto, not %q", o.compareBy)
	}
	if err := validate(); err != nil {
		return optionsUsageError(err)
	}
	return o.checkFormat(formats...)
}

// run implements "shardsh plan": it shows the steps to reach a goal.
func (o *planFlags) run(ctx context.Context, env environment) error {
	if o.compareBy != "" {
		return runReadAction(ctx, env, &o.sourceFlags, frequentGC, o.price, func(q price.Comparison) error {
			return o.print(env, q, func() string { return findings.WayComparisonText(q) })
		})
	}
	return runReadAction(ctx, env, &o.sourceFlags, frequentGC, o.action, func(p *plan.Plan) error {
		if o.format == "script" {
			return o.write(env, p.WriteScript)
		}
		return o.print(env, p, func() string { return findings.PlanApprovalText(p, o.detail) })
	})
}

func planText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Plans what the balancer would do to reach a goal if it were on, in rounds, with
reasons. Nothing on the cluster changes. At the prompt: sh.plan().`,
		Examples: []string{
			"shardsh plan mongodb://host:27017 --goal drain=shard3",
			"shardsh plan mongodb://host:27017 --ns 'shop.*' --max-bytes 100GB --json -o plan.json",
			"shardsh plan mongodb://host:27017 --ns shop.orders --by auto",
		},
		More: `Goals: balance, what the balancer does by itself; drain=SHARD, until the
shard is empty; zones, only what brings chunks into their zones; defragment,
small chunks merged, and moved for that; consolidate, merges without moves.
Collections whose balancing is off are planned if --ns names them.

--by auto compares moves by shardsh, the cluster's balancer, merging or
defragmenting first, and resharding to the same key: time, bytes, disks, how long
writes wait, what can't be undone.

A plan in JSON (-o plan.json --json) is what "shardsh apply" runs; with the hash
below the plan (.hash in JSON) "apply --approve" runs it and no other. As a script
(--output script) any mongosh runs it.`,
	}
}
