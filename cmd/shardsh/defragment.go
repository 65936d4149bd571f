package main

import (
	"context"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/cmd/shardsh/cmdline"
)

// defragmentFlags are the options of "shardsh defragment".
type defragmentFlags struct {
	planActionFlags
	namespaces []string
	all        bool
}

func (o *defragmentFlags) groups() []cmdline.Group {
	return o.groupsWith("PLAN_ID", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` defragment these, * is a wildcard; repeat to add")
		f.BoolVar(&o.all, "all", false, "defragment all sharded collections")
	})
}

func (o *defragmentFlags) parseArgs(env environment, words []string) error {
	if err := o.takeAddressWord(env, words, ""); err != nil {
		return err
	}
	return o.check("defragment", o.action(o.runOptions()))
}

func (o *defragmentFlags) action(e action.RunOptions) planAction {
	return action.Defragment{Namespaces: o.namespaces, All: o.all, RunOptions: e}
}

// run implements "shardsh defragment": the engine of shardsh merges small chunks.
func (o *defragmentFlags) run(ctx context.Context, env environment) error {
	return runPlanVerb(ctx, env, o)
}

func defragmentText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Merges the small chunks of collections with shardsh's own engine, and moves those
that need a neighbour. Servers from 6.0 on have a defragmentation of their own
(sh.defragment); this one is for older servers, and to limit, schedule and undo
it.`,
		Examples: []string{
			"shardsh defragment mongodb://host:27017 --ns shop.orders",
			"shardsh defragment mongodb://host:27017 --ns 'shop.*' --yes --pause-balancing --window 22:00-06:00",
			"shardsh defragment mongodb://host:27017 --resume plan-7c1d.journal --yes --pause-balancing",
		},
		More: `From 6.0 on it has the phases of the server's; before, chunks become as large as
the chunk size at most, as larger ones could not be moved any more.

Without a terminal nothing is done unless --yes is given: the plan and its
commands are printed. When the cluster changes meanwhile a new plan takes over.
Everything is written to a journal: --resume goes on, "shardsh apply --undo"
undoes it.

Exit codes: 0 done, or a limit is reached; 1 not done: the reason is printed;
2 wrong command line; 3 --preflight found something in the way; 130, 143
interrupted.`,
	}
}
