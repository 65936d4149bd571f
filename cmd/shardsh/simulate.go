package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/whatif"
	"shardsh/bindings/findings"
	"shardsh/cmd/shardsh/cmdline"
)

// simulateFlags are the flags of "shardsh simulate".
type simulateFlags struct {
	outputFlags
	changes      []string
	alternatives []string
	model        string
	seed         uint64
	timeZone     string
	all          bool

	action action.Simulate // the resulting action
}

func (o *simulateFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.changes, "change", nil, "`CHANGE` simulate this change; repeat to combine several")
		f.StringArrayVar(&o.alternatives, "alternative", nil,
			"`CHANGE;CHANGE…` compare with these changes; repeat to add")
		f.StringVar(&o.model, "model", "", "`measured|even|skewed[=SPREAD]` how large chunks are")
		f.Uint64Var(&o.seed, "seed", 0, "`N` random seed, as of a mock; without it ties go by catalog order")
		addTimeZoneFlag(f, &o.timeZone)
		f.BoolVar(&o.all, "all", false, "print all shards and links")
		o.addFlags(f, "text", "json")
		o.addSizesFlag(f)
	})}
	return append(groups, o.sharedGroups()...)
}

func (o *simulateFlags) parseArgs(env environment, words []string) (err error) {
	if err := o.outputFlags.parseArgs(env, words); err != nil {
		return err
	}
	if err := o.checkFormat("text", "json"); err != nil {
		return err
	}
	o.action = action.Simulate{SizeModel: o.model, Seed: o.seed, TimeZone: o.timeZone}
	if o.action.Alternatives, err = o.parseAlternatives(); err != nil {
		return err
	}
	return optionsUsageError(o.action.Validate())
}

// run implements "shardsh simulate": it simulates the outcome of changes.
func (o *simulateFlags) run(ctx context.Context, env environment) error {
	return runReadAction(ctx, env, &o.sourceFlags, defaultGC, o.action, func(out whatif.Outcomes) error {
		return o.print(env, out, func() string { return findings.WhatIfText(out, o.all) })
	})
}

// parseAlternatives parses the alternatives. The changes of all --change options form the first
// alternative.
func (o *simulateFlags) parseAlternatives() (list []whatif.Alternative, err error) {
	var together []whatif.Change
	for _, text := range o.changes {
		changes, err := whatif.ParseChanges(text)
		if err != nil {
			return nil, changeError("--change", err)
		}
		together = append(together, changes...)
	}
	if len(together) > 0 {
		list = append(list, whatif.Alternative{Changes: together})
	}
	for _, text := range o.alternatives {
		changes, err := whatif.ParseChanges(text)
		if err != nil {
			return nil, changeError("--alternative", err)
		}
		list = append(list, whatif.Alternative{Changes: changes})
	}
	return list, nil
}

// changeError returns the error for an invalid change, with a suggestion.
func changeError(option string, err error) error {
	return usagef("%s: %w", option, findings.WithSuggestion(err))
}

// changeUsage lists the kinds of changes, each with its syntax.
func changeUsage() string {
	var b strings.Builder
	for _, k := range whatif.ChangeKinds() {
		fmt.Fprintf(&b, "  %s\n      %s\n", k.Usage(), k.Description)
	}
	return b.String()
}

func simulateText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Simulates changes to a cluster: what moves then, over which links, how long it
takes, and what each shard has in the end, beside what comes without the change.
Nothing is written anywhere. At the prompt, sh.whatIf() returns the same.`,
		Usage: []string{"shardsh simulate --change CHANGE [options] [address]"},
		Examples: []string{
			"shardsh simulate mongodb://host:27017 --change 'addShard 2'",
			"shardsh simulate --from cluster.snap --change 'addShard 2' --alternative 'drain shard3'",
			"shardsh simulate --from cluster.snap --change 'grow shop.orders 50%' --json",
			"shardsh simulate --help-all                      # lists the changes",
		},
		More: "Changes (documents are extended JSON; a word with blanks is quoted):\n" + changeUsage(),
	}
}
