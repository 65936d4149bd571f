package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyadvice"
	"shardsh/balancer/live/keyfacts"
	"shardsh/bindings/findings"
	"shardsh/bindings/plaintext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
)

// adviseLine is the command line of "shardsh advise".
type adviseLine struct {
	answerLine
	ns, about, expect string
	keys, queries     []string
	noAnalyze         bool

	options keyfacts.Options // what comes of them
}

func (o *adviseLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.ns, "ns", "", "`DB.COLLECTION` the collection to advise on")
		f.StringVar(&o.about, "about", "key", "`key|chunk-size|presplit` what to advise on")
		f.StringArrayVar(&o.keys, "key", nil, "`EJSON` this shard key, '{\"customer\": 1}'; repeat to compare")
		f.StringArrayVar(&o.queries, "query", nil, "`EJSON` a filter that is asked for; repeat to add")
		f.StringVar(&o.expect, "expect", "", "`SIZE` what it will have: 500GB")
		f.BoolVar(&o.noAnalyze, "no-analyze", false, "do without analyzeShardKey: judge by a sample alone")
		o.flags(f, "text", "json")
	})}
	return append(groups, o.server.Flags()...)
}

// advisers answer each question of --about, as an object and as text.
func advisers() map[string]func(context.Context, *connection, *adviseLine) (any, string, error) {
	return map[string]func(context.Context, *connection, *adviseLine) (any, string, error){
		"key": func(ctx context.Context, conn *connection, o *adviseLine) (any, string, error) {
			a, err := keyfacts.Advise(ctx, conn.client, o.ns, o.options)
			return a, findings.KeyAdviceText(a), err
		},
		"chunk-size": func(ctx context.Context, conn *connection, o *adviseLine) (any, string, error) {
			a, err := keyfacts.ChunkSize(ctx, conn.client, o.ns, o.options)
			return a, findings.ChunkSizeText(a), err
		},
		"presplit": func(ctx context.Context, conn *connection, o *adviseLine) (any, string, error) {
			a, err := keyfacts.Presplit(ctx, conn.client, o.ns, o.options)
			return a, findings.PresplitText(a), err
		},
	}
}

func (o *adviseLine) settle(environment) (err error) {
	switch {
	case o.ns == "":
		return usagef("--ns says which collection to advise on: --ns shop.orders")
	case o.from != "":
		return usagef("advise reads documents, and --from FILE has none: give the address of a cluster")
	case advisers()[o.about] == nil:
		return usagef("--about takes key, chunk-size or presplit, not %q", o.about)
	case o.about == "chunk-size" && len(o.keys) > 0, o.about == "presplit" && len(o.keys) > 1:
		return usagef("--about %s takes no such --key: presplit takes one, chunk-size none", o.about)
	case o.about != "key" && len(o.queries) > 0:
		return usagef("--query is for --about key")
	}
	if _, _, err := catalog.SplitNamespace(o.ns); err != nil {
		return usagef("--ns takes DB.COLLECTION, not %q", o.ns)
	}
	if o.noAnalyze {
		o.options.NoAnalyze = "--no-analyze"
	}
	if o.expect != "" {
		if o.options.Expect, err = catalog.ParseSize(o.expect); err != nil {
			return usagef("--expect takes a size such as 500GB: %w", err)
		}
	}
	if err := o.readKeys(); err != nil {
		return err
	}
	if err := o.readQueries(); err != nil {
		return err
	}
	return o.checkFormat("text", "json")
}

func (o *adviseLine) readKeys() error {
	for _, text := range o.keys {
		var doc bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
			return usagef("--key %s is no extended JSON: %w", text, err)
		}
		k, err := keyadvice.ParseKey(doc)
		if err != nil {
			return usagef("--key %s: %w", text, err)
		}
		o.options.Keys = append(o.options.Keys, k)
	}
	return nil
}

func (o *adviseLine) readQueries() error {
	for _, text := range o.queries {
		var doc bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
			return usagef("--query %s is no extended JSON: %w", text, err)
		}
		q := keyadvice.QueryOf(doc)
		q.Weight = 1
		o.options.Queries = append(o.options.Queries, q)
	}
	o.options.Queries = keyadvice.Merge(o.options.Queries)
	return nil
}

// runAdvise is "shardsh advise": which shard key, chunk size or cuts suit a collection.
func runAdvise(ctx context.Context, env environment) error {
	o := new(adviseLine)
	return env.begin(ctx, o, printAdviseHelp, func(ctx context.Context) error {
		conn, err := env.connect(ctx, o.commandLine, false)
		if err != nil {
			return because(ctx, err)
		}
		defer conn.close()
		o.options.Tell = o.computing.telling(o.ns)
		value, text, err := advisers()[o.about](ctx, conn, o)
		o.computing.end()
		switch {
		case errors.Is(err, keyfacts.ErrNoKey):
			return usagef("%s is not sharded, and nothing tells by which key it is to be: give one with --key", o.ns)
		case err != nil:
			return because(ctx, err)
		}
		return env.answer(o.answerLine, value, func() string { return text })
	})
}

// telling tells on a terminal what is being done, each second.
func (c *computing) telling(about string) func(string) {
	return func(what string) {
		if now := time.Now(); c.tells && now.Sub(c.said) >= time.Second {
			c.said, c.shown = now, true
			fmt.Fprint(c.env.stderr, script.ClearLine+plaintext.VisibleLine(about+": "+what))
		}
	}
}

func printAdviseHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Says which shard key suits a collection, sharded or not, and why: how many values
a key has and how common they are, whether it grows with time, how few shards
the queries reach; with the numbers, and the command to enter. Without --key it
looks for keys itself. It reads a sample of the documents, the indexes, and from
7.0 on asks analyzeShardKey, which has the servers keep split points for a while
(--no-analyze does without). Nothing else on the cluster changes.

--about chunk-size says which chunk size suits it, --about presplit into how many
chunks to cut it before a load, and where. At the prompt sh.adviseKey(),
sh.adviseChunkSize() and sh.advisePresplit() answer the same.

Usage:
  shardsh advise --ns DB.COLLECTION [options] [address]

%s
Examples:
  shardsh advise mongodb://host:27017 --ns shop.orders
  shardsh advise mongodb://host:27017 --ns shop.orders --key '{"customer": 1}' --key '{"_id": "hashed"}'
  shardsh advise mongodb://host:27017 --ns shop.orders --query '{"customer": 7}' --expect 500GB --json
  shardsh advise mongodb://host:27017 --ns shop.orders --about chunk-size
`, cmdline.Usage(groups))
}
