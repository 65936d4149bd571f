package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/plan"
	"shardsh/bindings/applying"
	"shardsh/cmd/shardsh/cmdline"
)

// presplitLine is the command line of "shardsh presplit".
type presplitLine struct {
	carryLine
	presplit applying.Presplit
	points   string
}

func (o *presplitLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.presplit.Namespace, "ns", "", "`DB.COLLECTION` cut this one")
		f.IntVar(&o.presplit.Chunks, "chunks", 0, "`N` cut all hashes into so many even parts")
		f.IntVar(&o.presplit.PerShard, "per-shard", 0, "`N` the same, so many for each shard")
		f.StringVar(&o.points, "points", "",
			"`FILE` cut at these keys: documents of extended JSON, a line each; - is standard input")
		f.IntVar(&o.presplit.FromSample, "from-sample", 0, "`N` cut into so many chunks by a sample of the documents")
		o.flags(f, "ID of the plan")
	}), o.paceGroup()}
	return append(groups, o.server.Flags()...)
}

func (o *presplitLine) settle(env environment) (err error) {
	switch {
	case o.resume != "":
		return nil
	case o.presplit.Namespace == "":
		return usagef("presplit needs --ns DB.COLLECTION, which collection")
	case o.points != "":
		if o.presplit.Points, err = env.keys(o.points); err != nil {
			return err
		}
	}
	if err := o.presplit.Check(); err != nil {
		return usagef("%w", err)
	}
	return nil
}

// keys reads a file of keys, or the standard input.
func (env environment) keys(path string) (list []bson.Raw, err error) {
	var text []byte
	if path == "-" {
		text, err = io.ReadAll(env.stdin)
	} else {
		text, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, err
	}
	for i, line := range bytes.Split(text, []byte("\n")) {
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var key bson.Raw
		if err := bson.UnmarshalExtJSON(line, false, &key); err != nil {
			return nil, usagef("--points %s: line %d is no document: %w", path, i+1, err)
		}
		list = append(list, key)
	}
	if len(list) == 0 {
		return nil, usagef("--points %s has no keys", path)
	}
	return list, nil
}

func (o *presplitLine) kind() plan.GoalKind { return plan.Presplit }

func (o *presplitLine) goal(ctx context.Context, conn *connection, s *snapshotOf, begun *plan.Plan) (plan.Goal, error) {
	if begun != nil {
		return begun.Goal, nil
	}
	return o.presplit.Goal(ctx, conn.client, s)
}

// presplitCollection is "shardsh presplit": chunks for what is to come.
func (env environment) presplitCollection(ctx context.Context) error {
	return env.reach(ctx, &presplitLine{}, printPresplitHelp)
}

func printPresplitHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Cuts a sharded collection, empty or filled, and spreads its chunks over the shards
so that each has as many as any other, give or take one. Chunks are cut at the
bounds of zones first; those in a zone go to its shards only. What is spread
evenly stays where it is. It can be run again at any time: where nothing is left
to do it says so.

Where to cut: --chunks and --per-shard for keys that begin with a hash; --points
for any; --from-sample for collections with documents.

Neighbours go to different shards where that is possible: from 7.0 on the
auto-merger makes one chunk of those on the same shard (sh.disableAutoMerger).

Without a terminal nothing is done unless --yes is given: what would be sent is
printed. Everything is written down in a journal: --resume goes on, "shardsh apply
--undo" takes it back.

Usage:
  shardsh presplit [options] --ns DB.COLLECTION [address]

%s
Exit codes: 0 it is done, or a limit is reached; 1 it is not: the reason is told;
2 wrong command line; 130, 143 interrupted.

Examples:
  shardsh presplit mongodb://host:27017 --ns shop.events --per-shard 8
  shardsh presplit mongodb://host:27017 --ns shop.orders --points keys.json --yes --take-over
  shardsh presplit mongodb://host:27017 --ns shop.orders --from-sample 100 --dry-run
`, cmdline.Usage(groups))
}
