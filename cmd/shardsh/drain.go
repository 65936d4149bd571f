package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/bindings/applying"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
)

// drainLine is the command line of "shardsh drain".
type drainLine struct {
	carryLine
	shard                 string
	remove, movePrimaries bool
}

func (o *drainLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.shard, "shard", "", "`ID` empty this one")
		f.BoolVar(&o.remove, "remove", false, "mark it as draining, and remove it when it is empty")
		f.BoolVar(&o.movePrimaries, "move-primaries", false,
			"move the databases whose primary it is, and its unsharded collections")
		o.flags(f, "ID of the plan")
	}), o.paceGroup()}
	return append(groups, o.server.Flags()...)
}

func (o *drainLine) settle(environment) error {
	if o.shard == "" && o.resume == "" {
		return usagef("drain needs --shard ID, which shard")
	}
	return nil
}

func (o *drainLine) kind() plan.GoalKind { return plan.Drain }

func (o *drainLine) goal(ctx context.Context, conn *connection, s *snapshotOf, begun *plan.Plan) (plan.Goal, error) {
	if begun != nil {
		if o.shard != "" && o.shard != string(begun.Goal.Shard) {
			return plan.Goal{}, usagef("the journal is of shard %s, and not of %s", begun.Goal.Shard, o.shard)
		}
		o.shard = string(begun.Goal.Shard)
	}
	goal := plan.Goal{Kind: plan.Drain, Shard: catalog.ShardID(o.shard)}
	if begun == nil && o.remove {
		if _, there := s.Shard(goal.Shard); !there && applying.WasRemoved(ctx, conn.client, goal.Shard) {
			return goal, &doneError{fmt.Sprintf("Shard %s has been removed already.", o.shard)}
		}
	}
	return goal, nil
}

func (o *drainLine) besides(t *applying.Turn, clock script.Clock, note func(string)) (
	before, after func(context.Context) error) {
	d := applying.Draining{
		Turn: t, Shard: catalog.ShardID(o.shard), Remove: o.remove, MovePrimaries: o.movePrimaries, Clock: clock, Tell: note,
	}
	return d.Start, d.Finish
}

// drain is "shardsh drain": a shard emptied by our engine.
func (env environment) drain(ctx context.Context) error {
	return env.reach(ctx, &drainLine{}, printDrainHelp)
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
  shardsh drain mongodb://host:27017 --shard shard3 --remove --move-primaries --take-over
  shardsh drain mongodb://host:27017 --shard shard3 --yes --take-over --max-bytes 100GB --window 22:00-06:00
`, cmdline.Usage(groups))
}
