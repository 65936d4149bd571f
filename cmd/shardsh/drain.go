package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/cmd/shardsh/cmdline"
)

// drainFlags are the options of "shardsh drain".
type drainFlags struct {
	actionFlags
	shard                 string
	remove, movePrimaries bool
}

func (o *drainFlags) groups() []cmdline.Group {
	return o.groupsWith("ID of the plan", func(f *pflag.FlagSet) {
		f.StringVar(&o.shard, "shard", "", "`ID` empty this one")
		f.BoolVar(&o.remove, "remove", false, "mark it as draining, and remove it when it is empty")
		f.BoolVar(&o.movePrimaries, "move-primaries", false,
			"move the databases whose primary it is, and its unsharded collections")
	})
}

func (o *drainFlags) action(e action.RunOptions) planAction {
	return action.Drain{
		Shard: catalog.ShardID(o.shard), Remove: o.remove, MovePrimaries: o.movePrimaries, RunOptions: e,
	}
}

// drain is "shardsh drain": a shard emptied by our engine.
func (env environment) drain(ctx context.Context) error {
	return env.reach(ctx, &drainFlags{}, printDrainHelp)
}

func printDrainHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Empties a shard by moves of its own and at its own pace: all ranges of sharded
collections, jumbo chunks too. With --remove it marks the shard as draining before
the first move, and takes it out of the cluster when it is empty; without, the
shard stays, and the cluster's balancer fills it again as soon as it may.

What is not a range of a sharded collection moves only with --move-primaries:
databases whose primary the shard is, with movePrimary, during which an
application must not write to them up to 7.0; unsharded collections that lie on
it, with moveCollection. Without that option they are named, with the command.

Without a terminal nothing is done unless --yes is given: what would be sent is
printed. Everything is written down in a journal: --resume goes on, "shardsh apply
--undo" takes the moves back. It can be run again at any time.

Usage:
  shardsh drain [options] --shard ID [address]

%s
Exit codes: 0 it is done, or a limit is reached; 1 it is not: the reason is told;
2 wrong command line; 130, 143 interrupted.

Examples:
  shardsh drain mongodb://host:27017 --shard shard3 --dry-run
  shardsh drain mongodb://host:27017 --shard shard3 --remove --move-primaries --pause-balancing
  shardsh drain mongodb://host:27017 --shard shard3 --yes --pause-balancing --max-bytes 100GB --window 22:00-06:00
`, cmdline.Usage(groups))
}
