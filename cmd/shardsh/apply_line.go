package main

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
)

// applyLine is the command line of "shardsh apply".
type applyLine struct {
	commandLine
	json bool

	plan, journal, resume, undo string
	onChange                    string
	pauseBalancing, yes         bool
	pace                        paceLine
}

func (o *applyLine) groups() []flagGroup {
	groups := []flagGroup{
		group("Options", func(f *pflag.FlagSet) {
			f.BoolVarP(&o.yes, "yes", "y", false, "don't ask")
			f.StringVar(&o.journal, "journal", "", "`FILE` write down there what is done (PLAN.journal)")
			f.StringVar(&o.resume, "resume", "", "`JOURNAL` go on with what this journal tells of")
			f.StringVar(&o.undo, "undo", "", "`JOURNAL` take back what this journal tells of")
			f.StringVar(&o.onChange, "on-change", string(apply.Refuse),
				"`refuse|replan` when the cluster has moved on: stop, or make a new plan")
			f.BoolVar(&o.pauseBalancing, "pause-balancing", false, "switch the balancing of its collections off meanwhile")
			f.BoolVar(&o.dryRun, "dry-run", false, "print the commands, don't send them")
			f.BoolVar(&o.readOnly, "read-only", false, "refuse")
			f.BoolVar(&o.json, "json", false, "print how it ended as JSON")
			f.StringVar(&o.mock, "mock", "", "`N|FILE` a mock cluster: number of shards, or a topology file")
			f.Lookup("mock").NoOptDefVal = mockGiven
			f.StringVar(&o.snapshot, "snapshot", "", "`FILE` a mock of the cluster in this file: a rehearsal")
			f.Var(&o.timeout, "timeout", "`TIME` stop after 90, 30s, 5m; a step under way is left to the cluster")
			choiceVar(f, &o.quietChoice, "quiet", "no notices, no progress")
			f.BoolVarP(&o.help, "help", "h", false, "print this help")
		}),
		group("Pace", func(f *pflag.FlagSet) {
			o.pace.withoutCoolDown = true
			o.pace.flags(f)
			f.Var(&o.pace.time, "max-time", "`TIME` the same as --for")
		}),
	}
	return append(groups, connectionFlags(&o.server)...)
}

// parseApply reads the command line: the plan comes first, unless a journal has
// it, then perhaps an address.
func (env environment) parseApply(o *applyLine, groups []flagGroup) error {
	positional, rest, warnings, err := parseFlags(groups, env.args)
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
		return usagef("apply takes one address, not also %q", redact(positional[1]))
	}
	if len(positional) > 0 {
		if err := o.takeAddress(positional[0]); err != nil {
			return err
		}
	}
	o.quiet = o.quietChoice.on
	return o.check()
}

func (o *applyLine) check() error {
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{o.resume != "" && o.undo != "", "--resume and --undo exclude each other"},
		{o.journal != "" && (o.resume != "" || o.undo != ""), "--journal is for a plan: --resume and --undo name theirs"},
		{isURI(o.plan), "apply needs the file of a plan before the address"},
		{o.onChange != string(apply.Refuse) && o.onChange != string(apply.Replan),
			fmt.Sprintf("--on-change takes refuse or replan, not %q", o.onChange)},
		{o.readOnly, "--read-only and apply exclude each other: --dry-run shows what would be sent"},
		{o.mock == "" && o.snapshot == "" && !o.server.named(),
			"apply needs the address of a cluster, --mock, or --snapshot FILE"},
	} {
		if rule.broken {
			return usagef("%s", rule.text)
		}
	}
	if err := o.pace.check(); err != nil {
		return err
	}
	return o.commandLine.check()
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

func (env environment) printApplyHelp(groups []flagGroup) {
	fmt.Fprintf(env.stdout, `Carries out a plan of "shardsh plan --json" or sh.plan(). Whether all of it still
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
`, groupUsage(groups))
}
