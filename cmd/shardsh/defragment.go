package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/cmd/shardsh/cmdline"
)

// defragmentFlags are the options of "shardsh defragment".
type defragmentFlags struct {
	actionFlags
	namespaces []string
}

func (o *defragmentFlags) groups() []cmdline.Group {
	return o.groupsWith("ID of the plan", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` defragment these; wildcards; repeat to add")
	})
}

func (o *defragmentFlags) action(e action.RunOptions) planAction {
	return action.Defragment{Namespaces: o.namespaces, RunOptions: e}
}

// defragment is "shardsh defragment": small chunks merged, by our engine.
func (env environment) defragment(ctx context.Context) error {
	return env.reach(ctx, &defragmentFlags{}, printDefragmentHelp)
}

func printDefragmentHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Merges the small chunks of collections, and moves those that need a neighbour, by
merges and moves of its own and at its own pace. Servers from 6.0 on have a
defragmentation (sh.defragment); this one is for those that have none, and for
those who want it paced, bounded and undone. From 6.0 on it makes the server's
phases; before, chunks become as large as the chunk size at most, as larger ones
could not be moved any more.

Without a terminal nothing is done unless --yes is given: what would be sent is
printed. When the cluster moves on a new plan takes over. Everything is written
down in a journal: --resume goes on, "shardsh apply --undo" takes it back. It can
be run again at any time: where nothing is left to do it says so.

Usage:
  shardsh defragment [options] --ns DB.COLLECTION [address]

%s
Exit codes: 0 it is done, or a limit is reached; 1 it is not: the reason is told;
2 wrong command line; 130, 143 interrupted.

Examples:
  shardsh defragment mongodb://host:27017 --ns shop.orders
  shardsh defragment mongodb://host:27017 --ns 'shop.*' --yes --pause-balancing --window 22:00-06:00
  shardsh defragment mongodb://host:27017 --resume plan-7c1d.journal --yes --pause-balancing
`, cmdline.Usage(groups))
}
