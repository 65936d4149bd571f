package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/bindings/findings"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
)

// whyFlags are those of "shardsh why".
type whyFlags struct {
	answerFlags
	ns, key, shard, zone string
}

func (o *whyFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.ns, "ns", "", "`DB.COLLECTION` explain this collection")
		f.StringVar(&o.key, "key", "", "`EJSON` explain its chunk with this shard key: '{\"customer\": 7}'")
		f.StringVar(&o.shard, "shard", "", "`ID` explain this shard")
		f.StringVar(&o.zone, "zone", "", "`NAME` explain this zone")
		o.flags(f, "text", "json")
	})}
	return append(groups, o.sharedGroups()...)
}

func (o *whyFlags) complete(env environment, words []string) error {
	if err := o.answerFlags.complete(env, words); err != nil {
		return err
	}
	if err := o.checkFormat("text", "json"); err != nil {
		return err
	}
	asked := 0
	for _, about := range []string{o.ns, o.shard, o.zone} {
		if about != "" {
			asked++
		}
	}
	switch {
	case asked > 1:
		return usagef("--ns, --shard and --zone exclude each other")
	case o.key != "" && o.ns == "":
		return usagef("--key needs --ns: it is the key of a chunk of a collection")
	}
	return nil
}

// run is "shardsh why": what is wrong, and everything that keeps it so.
func (o *whyFlags) run(ctx context.Context, env environment) error {
	return o.about(ctx, env, live.ReaderOptions{Parts: live.WithStatus | live.Causes}, func(s *catalog.Snapshot) error {
		answer, text, err := o.ask(s)
		if err != nil {
			return err
		}
		return o.print(env, answer, func() string { return text })
	})
}

// ask returns the answer, and its text.
func (o *whyFlags) ask(s *catalog.Snapshot) (answer any, text string, err error) {
	about := diagnosis.Scope{Namespace: o.ns, Shard: catalog.ShardID(o.shard), Zone: o.zone}
	if err := diagnosis.Check(s, about); err != nil {
		if a, ok := diagnosis.NotSharded(s, o.ns, false); ok && o.key == "" {
			return a, findings.Text(a), nil
		}
		return nil, "", suggesting(err)
	}
	if o.key == "" {
		a := diagnosis.Why(s, about)
		return a, findings.Text(a), nil
	}
	var doc bson.Raw
	if err := bson.UnmarshalExtJSON([]byte(o.key), false, &doc); err != nil {
		return nil, "", usagef("--key %s is not valid extended JSON: %w", o.key, err)
	}
	a, err := diagnosis.WhyKey(s, o.ns, doc)
	if key, ok := errors.AsType[*diagnosis.KeyError](err); ok {
		return nil, "", usagef("--key: %w", key)
	}
	return a, findings.ChunkText(a), err
}

// suggesting asks for the name that was probably meant.
func suggesting(err error) error {
	if unknown, ok := errors.AsType[*diagnosis.UnknownError](err); ok {
		return fmt.Errorf("%w%s", err, plaintext.DidYouMean(unknown.Name, unknown.Names))
	}
	return err
}

func whyText() cmdline.Text {
	return cmdline.Text{
		Intro: `Explains what is wrong with a cluster and what causes it: the problem to solve
first comes first, each with who must act and the command to enter. With --ns and
--key it explains why a chunk is where it is. Nothing on the cluster changes. At
the prompt, sh.why() returns the same.`,
		Examples: []string{
			"shardsh why mongodb://host:27017",
			"shardsh why mongodb://host:27017 --ns shop.orders --key '{\"customer\": 7}'",
			"shardsh why --from cluster.snap --json",
		},
	}
}
