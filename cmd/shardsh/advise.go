package main

import (
	"context"
	"errors"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/catalog"
	"shardsh/balancer/keyadvice"
	"shardsh/balancer/live/keyfacts"
	"shardsh/bindings/findings"
	"shardsh/cmd/shardsh/cmdline"
)

// adviseFlags are the flags of "shardsh advise".
type adviseFlags struct {
	outputFlags
	ns, about, expectedSize string
	keys, queries           []string
	noAnalyze               bool

	options keyfacts.Options // the resulting options
}

func (o *adviseFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.ns, "ns", "", "`DB.COLLECTION` advise on this collection")
		f.StringVar(&o.about, "about", "key", "`key|chunk-size|presplit` what to advise on")
		f.StringArrayVar(&o.keys, "key", nil, "`EJSON` this shard key, '{\"customer\": 1}'; repeat to compare")
		f.StringArrayVar(&o.queries, "query", nil, "`EJSON` a query of the application; repeat to add")
		f.StringVar(&o.expectedSize, "expect", "", "`SIZE` expected size of the collection: 500GB")
		f.BoolVar(&o.noAnalyze, "no-analyze", false, "use a sample only, not analyzeShardKey")
		o.addFlags(f, "text", "json")
	})}
	return append(groups, o.sharedGroups()...)
}

// adviser returns advice as an object and as text.
type adviser func(context.Context, *connection, *adviseFlags) (any, string, error)

func newAdviser[A any](
	advise func(context.Context, *mongo.Client, string, keyfacts.Options) (A, error), text func(A) string,
) adviser {
	return func(ctx context.Context, conn *connection, o *adviseFlags) (any, string, error) {
		a, err := advise(ctx, conn.client, o.ns, o.options)
		return a, text(a), err
	}
}

// advisers returns the adviser for each value of --about.
func advisers() map[string]adviser {
	return map[string]adviser{
		"key":        newAdviser(keyfacts.Advise, findings.KeyAdviceText),
		"chunk-size": newAdviser(keyfacts.AdviseChunkSize, findings.ChunkSizeText),
		"presplit":   newAdviser(keyfacts.AdvisePresplit, findings.PresplitText),
	}
}

func (o *adviseFlags) parseArgs(env environment, words []string) (err error) {
	if err := o.outputFlags.parseArgs(env, words); err != nil {
		return err
	}
	switch {
	case o.ns == "":
		return usagef("--ns DB.COLLECTION is required")
	case o.from != "":
		return usagef("advise reads documents, and --from FILE has none: name a cluster")
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
		o.options.NoAnalyzeReason = "--no-analyze"
	}
	if o.expectedSize != "" {
		if o.options.ExpectBytes, err = catalog.ParseSize(o.expectedSize); err != nil {
			return usagef("--expect takes a size such as 500GB: %w", err)
		}
	}
	if o.options.Keys, err = parseDocuments("--key", o.keys, keyadvice.ParseShardKey); err != nil {
		return err
	}
	queries, err := parseDocuments("--query", o.queries, func(doc bson.Raw) (keyadvice.Query, error) {
		q := keyadvice.QueryOf(doc)
		q.Weight = 1
		return q, nil
	})
	if err != nil {
		return err
	}
	o.options.Queries = keyadvice.MergeQueries(queries)
	return o.checkFormat("text", "json")
}

// parseDocuments parses the values of an option in extended JSON.
func parseDocuments[T any](option string, texts []string, parse func(bson.Raw) (T, error)) (list []T, err error) {
	for _, text := range texts {
		var doc bson.Raw
		if err := bson.UnmarshalExtJSON([]byte(text), false, &doc); err != nil {
			return nil, usagef("%s %s is not valid extended JSON: %w", option, text, err)
		}
		v, err := parse(doc)
		if err != nil {
			return nil, usagef("%s %s: %w", option, text, err)
		}
		list = append(list, v)
	}
	return list, nil
}

// run implements "shardsh advise": it advises on a shard key, a chunk size or a presplit for a
// collection.
func (o *adviseFlags) run(ctx context.Context, env environment) error {
	return o.runWithTimeout(ctx, env, func(ctx context.Context) error {
		conn, err := o.connect(ctx, env)
		if err != nil {
			return preferTimeout(ctx, err)
		}
		defer conn.close()
		o.options.OnRead = o.progress.stepReporter(o.ns)
		value, text, err := advisers()[o.about](ctx, conn, o)
		o.progress.clearLine()
		switch {
		case errors.Is(err, keyfacts.ErrNoKey):
			return usagef("%s is not sharded: name a shard key with --key", o.ns)
		case err != nil:
			return preferTimeout(ctx, err)
		}
		return o.print(env, value, func() string { return text })
	})
}

func adviseText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Advises which shard key suits a collection, sharded or not, and why: how many
values a key has and how common they are, whether it grows with time, how few shards
the queries reach; with the numbers, and the command to enter. Without --key it
looks for keys itself.`,
		Usage: []string{"shardsh advise --ns DB.COLLECTION [options] [address]"},
		Examples: []string{
			"shardsh advise mongodb://host:27017 --ns shop.orders",
			"shardsh advise mongodb://host:27017 --ns shop.orders --key '{\"customer\": 1}' --key '{\"_id\": 1}'",
			"shardsh advise mongodb://host:27017 --ns shop.orders --query '{\"customer\": 7}' --expect 500GB",
			"shardsh advise mongodb://host:27017 --ns shop.orders --about chunk-size",
		},
		More: `It reads a sample of the documents, the indexes, and from 7.0 on asks
analyzeShardKey, for which the servers keep split points for a while (--no-analyze
does without). Nothing else on the cluster changes.

--about chunk-size says which chunk size suits the collection, --about presplit how
many chunks to split it into before a load, and where. At the prompt sh.adviseKey(),
sh.adviseChunkSize() and sh.advisePresplit() return the same.`,
	}
}
