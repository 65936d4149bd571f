package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
	"shardsh/bindings/findings"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
)

// whyLine is the command line of "shardsh why".
type whyLine struct {
	answerLine
	ns, key, shard, zone string
}

func (o *whyLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.ns, "ns", "", "`DB.COLLECTION` ask about a collection")
		f.StringVar(&o.key, "key", "", "`EJSON` ask about its chunk with this shard key: '{\"customer\": 7}'")
		f.StringVar(&o.shard, "shard", "", "`ID` ask about a shard")
		f.StringVar(&o.zone, "zone", "", "`NAME` ask about a zone")
		o.flags(f, "text", "json")
	})}
	return append(groups, o.server.Flags()...)
}

func (o *whyLine) settle(environment) error {
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

func (o *whyLine) reads() live.ReaderOptions {
	return live.ReaderOptions{Parts: live.WithStatus | live.Causes}
}

// why is "shardsh why": what is wrong, and everything that keeps it so.
func (env environment) why(ctx context.Context) error {
	var o whyLine
	return env.about(ctx, &o, printWhyHelp, func(s *catalog.Snapshot) error {
		answer, text, err := o.ask(s)
		if err != nil {
			return err
		}
		return env.answer(o.answerLine, answer, func() string { return text })
	})
}

// ask returns the answer, and its text.
func (o whyLine) ask(s *catalog.Snapshot) (answer any, text string, err error) {
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
		return nil, "", usagef("--key %s is no extended JSON: %w", o.key, err)
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

func printWhyHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Says what is wrong with a cluster, and everything that keeps it so: what has to
end first comes first, each with who has to act and the command to enter. With
--ns and --key it says why one chunk is where it is, and what each shard would
get as verdict as its recipient. Nothing on the cluster changes. At the prompt
sh.why() answers the same.

Usage:
  shardsh why [options] [address]

%s
Examples:
  shardsh why mongodb://host:27017
  shardsh why mongodb://host:27017 --ns shop.orders --key '{"customer": 7}'
  shardsh why --from cluster.snap --json
`, cmdline.Usage(groups))
}
