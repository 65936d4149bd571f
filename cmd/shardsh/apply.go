package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/target"
)

// applyFlags are the options of "shardsh apply".
type applyFlags struct {
	actionFlags
	undo, onChange string
	planFile       string
	plan           *plan.Plan
}

func (o *applyFlags) groups() []cmdline.Group {
	return o.groupsWith("PLAN", func(f *pflag.FlagSet) {
		f.StringVar(&o.undo, "undo", "", "`JOURNAL` undo the run of this journal")
		f.StringVar(&o.onChange, "on-change", string(apply.Refuse),
			"`refuse|replan` when the cluster has moved on: stop, or make a new plan")
	})
}

// take reads the words: the plan comes first, unless a journal has it, then perhaps an
// address.
func (o *applyFlags) take(env environment, words []string) error {
	if o.resume == "" && o.undo == "" {
		if len(words) == 0 {
			return usagef("apply needs the file of a plan, or --resume or --undo with a journal")
		}
		if target.IsURI(words[0]) {
			return usagef("apply needs the file of a plan before the address")
		}
		o.planFile, words = words[0], words[1:]
	}
	return o.actionFlags.take(env, words)
}

func (o *applyFlags) action(e action.RunOptions) planAction {
	a := action.Apply{Plan: o.plan, Undo: o.undo, OnChange: apply.OnChange(o.onChange), RunOptions: e}
	if o.planFile != "-" {
		a.PlanFile = o.planFile
	}
	return a
}

// apply is "shardsh apply": a plan, carried out.
func (env environment) apply(ctx context.Context) error {
	var o applyFlags
	if ok, err := env.parseAction(&o, printApplyHelp); !ok || err != nil {
		return err
	}
	if !o.yes && !o.dryRun && (!isTerminal(env.stdin) || o.planFile == "-") {
		return usagef("no terminal to confirm on: use --yes, or --dry-run to see the commands")
	}
	var err error
	if o.plan, err = env.readPlan(o.planFile); err != nil {
		return err
	}
	return env.act(ctx, &o, !o.yes && !o.dryRun)
}

// readPlan reads a plan from a file or the standard input; nil without a name.
func (env environment) readPlan(path string) (*plan.Plan, error) {
	switch path {
	case "":
		return nil, nil //nolint:nilnil // a journal has it
	case "-":
		return plan.Read(env.stdin)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	p, err := plan.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return p, nil
}

func printApplyHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Carries out a plan of "shardsh plan --json" or sh.plan(). Whether all of it still
fits the cluster is found out before the first command, and of each step again
right before it; a step that the cluster shows as done already counts as done.

The journal, beside the plan unless named, has each step before its command is
sent. It is enough to go on, whatever moment the run ended at (--resume), and to
take back what was done (--undo): ranges go back to their shards, chunks get
their bounds back. The data that donors keep for a while after a move must be
deleted before their ranges come back, by default after 15 minutes; that is
waited for. Neither the history of chunks nor flags come back. Ctrl-C ends the
run after the step under way, a second one at once.

The cluster's balancer must not work on the same collections: stop it, switch it
off for them, or give --pause-balancing, which switches it on again at the end.

Usage:
  shardsh apply [options] plan.json [address]
  shardsh apply [options] --resume|--undo JOURNAL [address]

%s
Exit codes: 0 it is done, or a limit is reached; 1 it is not: the reason is told;
2 wrong command line; 130 stopped by Ctrl-C.

Examples:
  shardsh apply plan.json mongodb://host:27017 --dry-run
  shardsh apply plan.json mongodb://host:27017 --pause-balancing --for 4h
  shardsh apply plan.json mongodb://host:27017 --yes --window "22:00-06:00 Europe/Berlin" --pause-between 1m
  shardsh apply --resume plan.journal mongodb://host:27017 --yes
  shardsh apply --undo plan.journal mongodb://host:27017
  shardsh apply plan.json --snapshot cluster.snap --yes
`, cmdline.Usage(groups))
}
