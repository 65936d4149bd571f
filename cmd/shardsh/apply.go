package main

import (
	"context"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/target"
)

// applyFlags are the options of "shardsh apply".
type applyFlags struct {
	planActionFlags
	undo, onChange string
	approve        string
	planFile       string
	plan           *plan.Plan
}

func (o *applyFlags) groups() []cmdline.Group {
	return o.groupsWith("PLAN", func(f *pflag.FlagSet) {
		f.StringVar(&o.undo, "undo", "", "`JOURNAL` undo the run of this journal")
		f.StringVar(&o.onChange, "on-change", string(apply.RefuseChanges),
			"`refuse|replan` if the cluster has changed: stop, or make a new plan")
		f.StringVar(&o.approve, "approve", "", "`HASH` apply only the plan with this hash, without a confirmation")
	})
}

// parseArgs parses the arguments: the plan file, unless the plan is in a journal, then optionally an
// address.
func (o *applyFlags) parseArgs(env environment, words []string) error {
	if o.resume == "" && o.undo == "" {
		if len(words) == 0 {
			return usagef("apply needs the file of a plan, or --resume or --undo with a journal")
		}
		if target.IsURI(words[0]) {
			return usagef("apply needs the file of a plan before the address")
		}
		o.planFile, words = words[0], words[1:]
	}
	if err := o.takeAddressWord(env, words, ""); err != nil {
		return err
	}
	return o.check("apply", o.action(o.runOptions()))
}

func (o *applyFlags) action(e action.RunOptions) planAction {
	a := action.Apply{Plan: o.plan, UndoJournal: o.undo, ChangePolicy: apply.ChangePolicy(o.onChange),
		ApprovedHash: o.approve, RunOptions: e}
	if o.planFile != "-" {
		a.PlanFile = o.planFile
	}
	return a
}

// run implements "shardsh apply": it applies a plan.
func (o *applyFlags) run(ctx context.Context, env environment) (err error) {
	o.yes = o.yes || o.approve != ""
	if !o.yes && !o.dryRun && !o.preflight && (!isTerminal(env.stdin) || o.planFile == "-") {
		return usagef("no terminal to confirm on: use --yes, --approve HASH, or --dry-run to see the commands")
	}
	if o.plan, err = readPlan(env, o.planFile); err != nil {
		return err
	}
	return connectAndRun(ctx, env, o, !o.yes && !o.dryRun)
}

// readPlan reads a plan from a file or the standard input; nil without a name.
func readPlan(env environment, path string) (*plan.Plan, error) {
	switch path {
	case "":
		return nil, nil //nolint:nilnil // a journal has it
	case "-":
		return plan.Read(env.stdin)
	}
	return plan.ReadFile(path)
}

func applyText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Carries out a plan of "shardsh plan --json" or sh.plan(), and writes each step to
a journal before it is sent: --resume goes on with a run, --undo undoes it. Each
step is checked right before it is sent. At the prompt, sh.apply() does the same.`,
		Usage: []string{
			"shardsh apply [options] plan.json [address]",
			"shardsh apply [options] --resume|--undo JOURNAL [address]",
		},
		Examples: []string{
			"shardsh apply plan.json mongodb://host:27017 --dry-run",
			"shardsh apply plan.json mongodb://host:27017 --pause-balancing --for 4h --verify",
			"shardsh apply plan.json mongodb://host:27017 --approve 0d8f…",
			"shardsh apply --resume plan.journal mongodb://host:27017 --yes",
			"shardsh apply --undo plan.journal mongodb://host:27017",
			"shardsh apply plan.json --snapshot cluster.snap --yes",
		},
		More: `Whether all steps still fit the cluster is found out before the first command; a
step that the cluster shows as done already counts as done. The journal, beside
the plan unless named, is enough to resume or undo the run, whatever moment it
ended at. Undoing moves ranges back to their shards and gives chunks their bounds
back; neither the history of chunks nor flags come back. The data that donors keep
for a while after a move must be deleted first, by default after 15 minutes; that
is waited for.

--approve takes the hash that "shardsh plan" prints: what was approved is what
runs. An edited plan is refused, and where the cluster has changed it stops.

The cluster's balancer must not work on the same collections: stop it, switch it
off for them, or give --pause-balancing, which switches it on again at the end.

Ctrl-C ends the run after the step under way; a second one has the donor stop
that step, and waits for its answer; a third one leaves it to the cluster.

Exit codes: 0 done, or a limit is reached; 1 not done: the reason is printed;
2 wrong command line; 3 --preflight found something in the way; 130, 143
interrupted.`,
	}
}
