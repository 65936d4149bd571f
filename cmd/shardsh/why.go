package main

import (
	"cmp"
	"context"
	"io"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/bindings/actiontext"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/targets"
)

// whyFlags are the flags of "shardsh why".
type whyFlags struct {
	outputFlags
	ns, key, shard, zone, timeZone, advisories string
	long                                       bool

	action action.Why // the resulting action
}

func (o *whyFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.ns, "ns", "", "`DB.COLLECTION` explain this collection")
		f.StringVar(&o.key, "key", "", "`EJSON` explain its chunk with this shard key: '{\"customer\": 7}'")
		f.StringVar(&o.shard, "shard", "", "`ID` explain this shard")
		f.StringVar(&o.zone, "zone", "", "`NAME` explain this zone")
		f.BoolVar(&o.long, "long", false, "print all that was found, with numbers, and since when")
		addTimeZoneFlag(f, &o.timeZone)
		addAdvisoriesFlag(f, &o.advisories)
		o.addFlags(f, "text", "json")
	})}
	return append(append(groups, o.fleet.group()), o.sharedGroups()...)
}

func (o *whyFlags) parseArgs(env environment, words []string) error {
	if err := o.fleet.selectTargets(); err != nil {
		return err
	}
	if err := o.outputFlags.parseArgs(env, words); err != nil {
		return err
	}
	if o.fleet.isFleet() && (o.ns != "" || o.shard != "" || o.zone != "") {
		return usagef("--ns, --shard and --zone are about one cluster: add --cluster NAME")
	}
	if err := o.checkFormat("text", "json"); err != nil {
		return err
	}
	o.action = action.Why{
		Namespace: o.ns, Shard: catalog.ShardID(o.shard), Zone: o.zone, TimeZone: o.timeZone, AdvisoriesFile: o.advisories,
	}
	if o.key != "" {
		if err := bson.UnmarshalExtJSON([]byte(o.key), false, &o.action.Key); err != nil {
			return usagef("--key %s is not valid extended JSON: %w", o.key, err)
		}
	}
	return optionsUsageError(o.action.Validate())
}

// run implements "shardsh why": it says what is wrong, with all causes.
func (o *whyFlags) run(ctx context.Context, env environment) error {
	if o.fleet.isFleet() {
		return o.runFleet(ctx, env)
	}
	return runReadAction(ctx, env, &o.sourceFlags, defaultGC, o.action, func(r action.WhyResult) error {
		return o.print(env, r, func() string { return actiontext.Why(r, o.long) })
	})
}

// runFleet prints the answer for each cluster in one line.
func (o *whyFlags) runFleet(ctx context.Context, env environment) error {
	members, err := readFleet(ctx, env, &o.sourceFlags,
		func(ctx context.Context, env environment, one *sourceFlags, _ targets.Target) (action.WhyResult, error) {
			source, done, err := one.open(ctx, env)
			if err != nil {
				return action.WhyResult{}, err
			}
			defer done()
			return o.action.Run(ctx, source, nil)
		})
	if err != nil {
		return err
	}
	err = o.write(env, func(to io.Writer) error {
		if o.format == "json" {
			return writeJSON(to, fleetJSON(members, "why"))
		}
		var lines []fleetLine
		for _, m := range members {
			lines = append(lines, newFleetLine(m, func(r action.WhyResult) (string, string) { return answerLine(r.Answer) }))
		}
		return writeFleet(to, lines, env.columns())
	})
	return cmp.Or(err, fleetError(members))
}

func whyText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Explains what is wrong with a cluster and what causes it, on one screen: what you
must do, the worst first, with the commands; then what ends by itself. With --ns
and --key it explains why a chunk is where it is. Nothing on the cluster changes.
At the prompt, sh.why() returns the same.`,
		Examples: []string{
			"shardsh why mongodb://host:27017",
			"shardsh why mongodb://host:27017 --ns shop.orders --key '{\"customer\": 7}'",
			"shardsh why --from cluster.snap --json",
			"shardsh why --targets fleet.yaml --select env=production",
		},
	}
}
