package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/action"
	"shardsh/cmd/shardsh/cmdline"
)

// presplitFlags are the options of "shardsh presplit".
type presplitFlags struct {
	actionFlags
	cuts   action.Cuts
	points string
}

func (o *presplitFlags) groups() []cmdline.Group {
	return o.groupsWith("ID of the plan", func(f *pflag.FlagSet) {
		f.StringVar(&o.cuts.Namespace, "ns", "", "`DB.COLLECTION` cut this one")
		f.IntVar(&o.cuts.Chunks, "chunks", 0, "`N` cut all hashes into so many even parts")
		f.IntVar(&o.cuts.PerShard, "per-shard", 0, "`N` the same, so many for each shard")
		f.StringVar(&o.points, "points", "",
			"`FILE` cut at these keys: documents of extended JSON, a line each; - is standard input")
		f.IntVar(&o.cuts.FromSample, "from-sample", 0, "`N` cut into so many chunks by a sample of the documents")
	})
}

func (o *presplitFlags) take(env environment, words []string) (err error) {
	if o.points != "" && o.resume == "" {
		if o.cuts.Points, err = env.keys(o.points); err != nil {
			return err
		}
	}
	return o.actionFlags.take(env, words)
}

func (o *presplitFlags) action(e action.RunOptions) planAction {
	return action.Presplit{Cuts: o.cuts, RunOptions: e}
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
			return nil, usagef("--points %s: line %d is not a document: %w", path, i+1, err)
		}
		list = append(list, key)
	}
	if len(list) == 0 {
		return nil, usagef("--points %s has no keys", path)
	}
	return list, nil
}

// presplitCollection is "shardsh presplit": chunks for what is to come.
func (env environment) presplitCollection(ctx context.Context) error {
	return env.reach(ctx, &presplitFlags{}, printPresplitHelp)
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
  shardsh presplit mongodb://host:27017 --ns shop.orders --points keys.json --yes --pause-balancing
  shardsh presplit mongodb://host:27017 --ns shop.orders --from-sample 100 --dry-run
`, cmdline.Usage(groups))
}
