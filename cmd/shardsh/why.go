package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/catalog"
	"shardsh/balancer/diagnosis"
	"shardsh/balancer/live"
)

// whyLine is the command line of "shardsh why".
type whyLine struct {
	answerLine
	ns, key, shard, zone string
}

func (o *whyLine) groups() []flagGroup {
	groups := []flagGroup{group("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.ns, "ns", "", "`DB.COLLECTION` ask about a collection")
		f.StringVar(&o.key, "key", "", "`EJSON` ask about its chunk with this shard key: '{\"customer\": 7}'")
		f.StringVar(&o.shard, "shard", "", "`ID` ask about a shard")
		f.StringVar(&o.zone, "zone", "", "`NAME` ask about a zone")
		o.flags(f, "text", "json")
	})}
	return append(groups, connectionFlags(&o.server)...)
}

func (o *whyLine) check() error {
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

// why is "shardsh why": what is wrong, and everything that keeps it so.
func (env environment) why(ctx context.Context) error {
	var o whyLine
	groups := o.groups()
	err := env.parseSource(&o.sourceLine, groups)
	switch {
	case err != nil:
		return err
	case o.help:
		env.printWhyHelp(groups)
		return nil
	}
	if err := o.check(); err != nil {
		return err
	}
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	s, err := env.snapshot(ctx, o.sourceLine, live.ReaderOptions{Compliance: true})
	if err != nil {
		return err
	}
	answer, show, err := o.ask(s)
	if err != nil {
		return err
	}
	return env.write(o.answerLine, func(to io.Writer) error {
		if o.format == "json" {
			return writeJSON(to, answer)
		}
		show(to)
		return nil
	})
}

// ask returns the answer, and what shows it as text.
func (o whyLine) ask(s *catalog.Snapshot) (answer any, show func(io.Writer), err error) {
	about := diagnosis.Scope{Namespace: o.ns, Shard: catalog.ShardID(o.shard), Zone: o.zone}
	if err := o.known(s, about); err != nil {
		return nil, nil, err
	}
	if o.key == "" {
		a := diagnosis.Why(s, about)
		return a, func(to io.Writer) { showAnswer(to, a) }, nil
	}
	c := s.Collection(o.ns)
	if c.Table == nil {
		return nil, nil, fmt.Errorf("the chunks of %s could not be read", o.ns)
	}
	var doc bson.Raw
	if err := bson.UnmarshalExtJSON([]byte(o.key), false, &doc); err != nil {
		return nil, nil, usagef("--key %s is no extended JSON: %w", o.key, err)
	}
	key, err := c.Pattern.Key(doc)
	if err != nil {
		return nil, nil, usagef("--key: %w; the shard key of %s is %s", err, o.ns, c.Pattern)
	}
	a := diagnosis.WhyChunk(s, c, key)
	return a, func(to io.Writer) { showChunkAnswer(to, a, c.Pattern) }, nil
}

// known refuses what the cluster does not have.
func (o whyLine) known(s *catalog.Snapshot, about diagnosis.Scope) error {
	switch {
	case about.Namespace != "":
		if c := s.Collection(about.Namespace); c == nil || c.Unsplittable {
			return fmt.Errorf("%s is no sharded collection of this cluster", about.Namespace)
		}
	case about.Shard != "":
		if _, there := s.Shard(about.Shard); !there {
			return fmt.Errorf("the cluster has no shard %q", about.Shard)
		}
	case about.Zone != "":
		for _, z := range diagnosis.Zones(s, "") {
			if z.Name == about.Zone {
				return nil
			}
		}
		return fmt.Errorf("the cluster has no zone %q", about.Zone)
	}
	return nil
}
