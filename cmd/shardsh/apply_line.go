package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// applyLine is the command line of "shardsh apply".
type applyLine struct {
	carryLine
	plan, undo string
	onChange   string
}

func (o *applyLine) groups() []cmdline.Group {
	groups := []cmdline.Group{
		cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
			o.flags(f, "PLAN")
			f.StringVar(&o.undo, "undo", "", "`JOURNAL` take back what this journal tells of")
			f.StringVar(&o.onChange, "on-change", string(apply.Refuse),
				"`refuse|replan` when the cluster has moved on: stop, or make a new plan")
			f.BoolVar(&o.takeOver, "pause-balancing", false, "the same as --take-over")
		}),
		o.paceGroup(),
	}
	return append(groups, o.server.Flags()...)
}

// parseApply reads the command line: the plan comes first, unless a journal has
// it, then perhaps an address.
func (env environment) parseApply(o *applyLine, groups []cmdline.Group) error {
	positional, rest, warnings, err := cmdline.Parse(groups, env.args)
	if err != nil || o.help {
		return err
	}
	for _, w := range warnings {
		fmt.Fprintln(env.warned(), w)
	}
	positional = append(positional, rest...)
	if o.resume == "" && o.undo == "" {
		if len(positional) == 0 {
			return usagef("apply needs the file of a plan, or --resume or --undo with a journal")
		}
		o.plan, positional = positional[0], positional[1:]
	}
	if len(positional) > 1 {
		return usagef("apply takes one address, not also %q", secret.Redact(positional[1]))
	}
	if len(positional) > 0 {
		if err := o.takeAddress(positional[0]); err != nil {
			return err
		}
	}
	o.quiet = o.quietChoice.On
	return o.check()
}

func (o *applyLine) check() error {
	return o.carryLine.check("apply",
		rule{o.resume != "" && o.undo != "", "--resume and --undo exclude each other"},
		rule{o.journal != "" && (o.resume != "" || o.undo != ""), "--journal is for a plan: --resume and --undo name theirs"},
		rule{target.IsURI(o.plan), "apply needs the file of a plan before the address"},
		rule{o.onChange != string(apply.Refuse) && o.onChange != string(apply.Replan),
			fmt.Sprintf("--on-change takes refuse or replan, not %q", o.onChange)},
	)
}

// journalPath is where a plan is written down: beside it, unless said otherwise.
func (o *applyLine) journalPath(p *plan.Plan) string {
	switch {
	case o.journal != "":
		return o.journal
	case o.plan == "-":
		return p.ID + ".journal"
	}
	return strings.TrimSuffix(o.plan, filepath.Ext(o.plan)) + ".journal"
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
