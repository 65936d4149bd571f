package main

import (
	"context"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/cmd/shardsh/cmdline"
)

// drainFlags are the options of "shardsh drain".
type drainFlags struct {
	planActionFlags
	shard                 string
	remove, movePrimaries bool
}

func (o *drainFlags) groups() []cmdline.Group {
	return o.groupsWith("PLAN_ID", func(f *pflag.FlagSet) {
		f.StringVar(&o.shard, "shard", "", "`ID` shard to empty")
		f.BoolVar(&o.remove, "remove", false, "mark it as draining, and remove it when it is empty")
		f.BoolVar(&o.movePrimaries, "move-primaries", false,
			"move the databases whose primary it is, and its unsharded collections")
	})
}

func (o *drainFlags) parseArgs(env environment, words []string) error {
	if err := o.takeAddressWord(env, words, ""); err != nil {
		return err
	}
	return o.check("drain", o.action(o.runOptions()))
}

func (o *drainFlags) action(e action.RunOptions) planAction {
	return action.Drain{
		Shard: catalog.ShardID(o.shard), Remove: o.remove, MovePrimaries: o.movePrimaries, RunOptions: e,
	}
}

// run implements "shardsh drain": the engine of shardsh empties a shard.
func (o *drainFlags) run(ctx context.Context, env environment) error { return runPlanVerb(ctx, env, o) }

func drainText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Empties a shard with shardsh's own engine: moves all ranges of sharded
collections, those of jumbo chunks in pieces. With --remove it marks the shard as draining,
removes it when it is empty, and takes the mark back when it ends before (from
8.3 on); without, the shard stays, and the balancer may fill it again. At the
prompt, sh.drain() does the same.`,
		Examples: []string{
			"shardsh drain mongodb://host:27017 --shard shard3 --dry-run",
			"shardsh drain mongodb://host:27017 --shard shard3 --remove --move-primaries --pause-balancing",
			"shardsh drain mongodb://host:27017 --shard shard3 --yes --max-bytes 100GB --window 22:00-06:00",
		},
		More: `Databases whose primary the shard is, and unsharded collections on it, move only
with --move-primaries: with movePrimary, during which an application must not
write to them up to 7.0, and with moveCollection. Without that option they are
printed, with the commands.

Without a terminal nothing is done unless --yes is given: the plan and its
commands are printed. When the cluster changes meanwhile a new plan takes over.
Everything is written to a journal: --resume goes on, "shardsh apply --undo"
undoes it.

What is in the way is looked at before anything is sent (docs/preflight.md);
--preflight only prints it.

Exit codes: 0 done, or a limit is reached; 1 not done: the reason is printed;
2 wrong command line; 3 --preflight found something in the way; 130, 143
interrupted.`,
	}
}
