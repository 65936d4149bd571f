package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/plan"
	"shardsh/balancer/whatif"
	"shardsh/bindings/findings"
	"shardsh/bindings/plaintext"
	"shardsh/cmd/shardsh/cmdline"
)

// simulateLine is the command line of "shardsh simulate".
type simulateLine struct {
	answerLine
	changes      []string
	alternatives []string
	model        string
	seed         uint64
	zone         string
	all          bool

	whatIf  []whatif.Alternative // what comes of them
	options whatif.Options
}

func (o *simulateLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.changes, "change", nil, "`CHANGE` make it, and those of other --change with it; repeat to add")
		f.StringArrayVar(&o.alternatives, "alternative", nil,
			"`CHANGE;CHANGE…` make these instead, side by side; repeat to add")
		f.StringVar(&o.model, "model", "", "`measured|even|skewed[=SPREAD]` what chunks hold")
		f.Uint64Var(&o.seed, "seed", 0, "`N` draw lots as a mock with this seed; else catalog order")
		f.StringVar(&o.zone, "time-zone", "", "`NAME` of the config servers' clock: Europe/Berlin; else by their logs")
		f.BoolVar(&o.all, "all", false, "show all shards and links")
		o.flags(f, "text", "json")
	})}
	return append(groups, o.server.Flags()...)
}

func (o *simulateLine) settle(environment) (err error) {
	if err := o.checkFormat("text", "json"); err != nil {
		return err
	}
	o.options.Seed = o.seed
	if o.options.Model, err = plan.ParseModel(o.model, o.seed); err != nil {
		return usagef("--model: %w", err)
	}
	if o.options.Location, err = location(o.zone); err != nil {
		return err
	}
	o.whatIf, err = o.read()
	return err
}

// simulate is "shardsh simulate": what would come of changes.
func (env environment) simulate(ctx context.Context) error {
	var o simulateLine
	return env.about(ctx, &o, printSimulateHelp, func(s *catalog.Snapshot) error {
		o.options.Watch = o.computing.watch
		out, err := whatif.Of(s, o.whatIf, o.options)
		o.computing.end()
		if err != nil {
			return suggesting(err)
		}
		return env.answer(o.answerLine, out, func() string { return findings.WhatIfText(out, o.all) })
	})
}

// read reads the alternatives. All that --change says is one of them, the first.
func (o simulateLine) read() (list []whatif.Alternative, err error) {
	if len(o.changes)+len(o.alternatives) == 0 {
		return nil, usagef("simulate needs --change or --alternative: what would be done, such as --change 'addShard 2'")
	}
	var together []whatif.Change
	for _, text := range o.changes {
		changes, err := whatif.ParseAll(text)
		if err != nil {
			return nil, noChange("--change", err)
		}
		together = append(together, changes...)
	}
	if len(together) > 0 {
		list = append(list, whatif.Alternative{Changes: together})
	}
	for _, text := range o.alternatives {
		changes, err := whatif.ParseAll(text)
		if err != nil {
			return nil, noChange("--alternative", err)
		}
		list = append(list, whatif.Alternative{Changes: changes})
	}
	return list, nil
}

// noChange is the error of words that are no change, with the one that was probably
// meant.
func noChange(option string, err error) error {
	if unknown, ok := errors.AsType[*whatif.UnknownError](err); ok {
		return usagef("%s: %w%s", option, err, plaintext.DidYouMean(unknown.Name, unknown.Names))
	}
	return usagef("%s: %w", option, err)
}

// changeUsage lists the kinds of changes, each with how it is written.
func changeUsage() string {
	var b strings.Builder
	for _, k := range whatif.Kinds() {
		fmt.Fprintf(&b, "  %s\n      %s\n", k.Usage(), k.About)
	}
	return b.String()
}

func printSimulateHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Says what would come of changes: what moves then, over which links, how long it
takes, and what each shard has in the end, beside what comes if nothing is
changed. Nothing is written anywhere. At the prompt sh.whatIf() answers the same.

Usage:
  shardsh simulate --change CHANGE [options] [address]

%s
Changes (documents are extended JSON; a word with blanks is quoted):
%s
Examples:
  shardsh simulate mongodb://host:27017 --change 'addShard 2'
  shardsh simulate --from cluster.snap --change 'addShard 2' --alternative 'drain shard3; chunkSize 256'
  shardsh simulate --from cluster.snap --change 'grow shop.orders 50%%' --change 'window 23:00 05:00' --json
`, cmdline.Usage(groups), changeUsage())
}
