package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/metadata"
)

// presplitFlags are the options of "shardsh presplit".
type presplitFlags struct {
	planActionFlags
	method action.PresplitMethod
	points string
	like   string
}

func (o *presplitFlags) groups() []cmdline.Group {
	return o.groupsWith("PLAN_ID", func(f *pflag.FlagSet) {
		f.StringVar(&o.method.Namespace, "ns", "", "`DB.COLLECTION` collection to split")
		f.IntVar(&o.method.Chunks, "chunks", 0, "`N` split the range of hashes into N equal chunks")
		f.IntVar(&o.method.ChunksPerShard, "per-shard", 0, "`N` the same, with N chunks for each shard")
		f.StringVar(&o.points, "points", "", "`FILE` split at these keys, JSON a line each; - is standard input")
		f.IntVar(&o.method.ChunksFromSample, "from-sample", 0, "`N` split into N chunks by a sample of the documents")
		f.StringVar(&o.like, "like", "", "`FILE|mongodb://…` chunks and spread of another cluster's collection")
	})
}

func (o *presplitFlags) parseArgs(env environment, words []string) (err error) {
	if err := o.takeAddressWord(env, words, ""); err != nil {
		return err
	}
	if o.points != "" && o.resume == "" {
		if o.method.Points, err = readKeys(env, o.points); err != nil {
			return err
		}
	}
	if o.like != "" {
		o.method.ReadTemplate = func(ctx context.Context) (*catalog.Snapshot, error) { return o.readLayoutSource(ctx, env) }
	}
	return o.check("presplit", o.action(o.runOptions()))
}

// readLayoutSource reads the cluster whose layout is copied: a file, or an address. The authentication
// and TLS options of the command line also apply to this address, unless it has its own.
func (o *presplitFlags) readLayoutSource(ctx context.Context, env environment) (*catalog.Snapshot, error) {
	if !strings.Contains(o.like, "://") {
		return metadata.Open(o.like)
	}
	server := o.server
	server.Address, server.Host, server.Port = o.like, "", ""
	conn, err := connectLive(ctx, env, server)
	if err != nil {
		return nil, err
	}
	defer conn.close()
	return action.NewTemplateReader(conn.client, conn.address, o.method.Namespace)(ctx)
}

func (o *presplitFlags) action(e action.RunOptions) planAction {
	return action.Presplit{PresplitMethod: o.method, RunOptions: e}
}

// readKeys reads a file of keys, or standard input.
func readKeys(env environment, path string) (list []bson.Raw, err error) {
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

// run implements "shardsh presplit": it creates chunks in advance.
func (o *presplitFlags) run(ctx context.Context, env environment) error {
	return runPlanVerb(ctx, env, o)
}

func presplitText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Splits a sharded collection, empty or filled, and distributes its chunks evenly
over the shards, within zones where there are any. At the prompt, sh.presplit()
does the same.`,
		Examples: []string{
			"shardsh presplit mongodb://host:27017 --ns shop.events --per-shard 8",
			"shardsh presplit mongodb://host:27017 --ns shop.orders --points keys.json --yes --pause-balancing",
			"shardsh presplit mongodb://host:27017 --ns shop.orders --from-sample 100 --dry-run",
			"shardsh presplit mongodb://host:27017 --ns shop.orders --like old.snap",
		},
		More: `Where to split: --chunks and --per-shard for keys that begin with a hash; --points
for any; --from-sample for collections with documents; --like as a cluster has
it whose collection of this name has the same key. Chunks are split at the
bounds of zones first. What is spread evenly stays where it is. Neighbours go to
different shards where that is possible: from 7.0 on the auto-merger merges those
on the same shard (sh.disableAutoMerger).

Without a terminal nothing is done unless --yes is given: the plan and its
commands are printed. When the cluster changes meanwhile a new plan takes over.
Everything is written to a journal: --resume goes on, "shardsh apply --undo"
undoes it.

Exit codes: 0 done, or a limit is reached; 1 not done: the reason is printed;
2 wrong command line; 3 --preflight found something in the way; 130, 143
interrupted.`,
	}
}
