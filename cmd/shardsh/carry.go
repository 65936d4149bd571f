package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/balancer/apply"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/bindings/applying"
	"shardsh/bindings/display"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// carryLine is the part of a command line that subcommands have which carry a plan
// out.
type carryLine struct {
	commandLine
	json, yes, takeOver bool
	journal, resume     string
	pace                paceLine
}

// flags returns the options that all of them have. The journal is where the name in
// the parentheses says, unless it is named.
func (o *carryLine) flags(f *pflag.FlagSet, journal string) {
	f.BoolVarP(&o.yes, "yes", "y", false, "don't ask")
	f.StringVar(&o.journal, "journal", "", "`FILE` write down there what is done ("+journal+".journal)")
	f.StringVar(&o.resume, "resume", "", "`JOURNAL` go on with what this journal tells of")
	f.BoolVar(&o.takeOver, "take-over", false, "switch the cluster's own balancing of them off meanwhile")
	f.BoolVar(&o.dryRun, "dry-run", false, "print the commands, don't send them")
	f.BoolVar(&o.readOnly, "read-only", false, "refuse")
	f.BoolVar(&o.json, "json", false, "print how it ended as JSON")
	f.StringVar(&o.mock, "mock", "", "`N|FILE` a mock cluster: number of shards, or a topology file")
	f.Lookup("mock").NoOptDefVal = bareMock
	f.StringVar(&o.snapshot, "snapshot", "", "`FILE` a mock of the cluster in this file: a rehearsal")
	o.transcriptFlag(f)
	f.Var(&o.timeout, "timeout", "`TIME` stop after 90, 30s, 5m; a step under way is left to the cluster")
	cmdline.ChoiceVar(f, &o.quietChoice, "quiet", "no notices, no progress")
	f.BoolVarP(&o.help, "help", "h", false, "print this help")
}

// paceGroup returns the options of the pace.
func (o *carryLine) paceGroup() cmdline.Group {
	return cmdline.NewGroup("Pace", func(f *pflag.FlagSet) {
		o.pace.withoutCoolDown = true
		o.pace.flags(f)
		f.Var(&o.pace.time, "max-time", "`TIME` the same as --for")
	})
}

func (o *carryLine) check(name string, more ...rule) error {
	for _, r := range append(more,
		rule{o.readOnly, "--read-only and " + name + " exclude each other: --dry-run shows what would be sent"},
		rule{o.dryRun && o.yes && name != "apply", "--dry-run and --yes exclude each other"},
		rule{o.mock == "" && o.snapshot == "" && !o.server.Named(),
			name + " needs the address of a cluster, --mock, or --snapshot FILE"},
	) {
		if r.broken {
			return usagef("%s", r.text)
		}
	}
	if err := o.pace.check(); err != nil {
		return err
	}
	return o.commandLine.check()
}

// errand is what a subcommand has carried out.
type errand struct {
	plan *plan.Plan
	// work opens the journal.
	work func() (*apply.Execution, error)
	// onChange says what becomes of it when the cluster has moved on.
	onChange apply.OnChange
	// besides returns what is done before the first step and after the last one.
	besides func(t *applying.Turn, clock script.Clock, note func(string)) (before, after func(context.Context) error)
	// undoes tells that it takes something back; aims that it has a goal to reach,
	// and not only steps.
	undoes, aims bool
}

// carryOut takes the turn, carries a plan out and tells how it ended.
func (env environment) carryOut(ctx context.Context, conn *connection, o carryLine, e errand) error {
	commands := live.NewCommandRunner(conn.client)
	if o.dryRun {
		commands = live.WithCheck(commands, env.dryGuard(o.json))
	}
	turn, err := applying.TakeTurn(ctx, conn.client, commands, env.name()+" "+e.plan.ID, o.dryRun)
	if err != nil {
		return because(ctx, err)
	}
	work, err := e.work()
	if err != nil {
		return errors.Join(err, turn.End(ctx))
	}
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.warned()})
	teller := env.teller(o, js)
	tick, still := applying.Ticks(teller.Progress, js.OnWallClock())
	defer still()
	stages := listenForMore(ctx)
	defer stages.end()
	gate, away, err := o.pace.gate(ctx, conn, js.Clock, o.dryRun, teller.Waits, turn.Holder)
	if err != nil {
		return errors.Join(because(ctx, err), work.Close(), turn.End(ctx))
	}
	defer away()
	teller.Gate = gate
	a := applying.Errand{Work: work, Insist: stages.insist, Note: teller.Note, Options: apply.Options{
		DryRun: o.dryRun, OnChange: e.onChange, PauseBalancing: o.takeOver, Parallel: o.pace.parallel, Clock: js.Clock,
		Tell: teller.Tell, Hard: stages.hard, Tick: tick, Pace: gate,
	}}
	if e.besides != nil {
		a.Options.Ready, a.Options.Finish = e.besides(turn, js.Clock, func(text string) {
			teller.Progress.End()
			teller.Note(text)
		})
	}
	result, err := turn.Run(ctx, a)
	teller.Progress.End()
	closed := work.Close()
	if err == nil && e.aims && !o.dryRun {
		err = applying.Unreached(result)
	}
	journal := ""
	if work.Acted() {
		journal = work.Path()
	}
	report := applying.ReportOf(result, err, journal, o.dryRun)
	if e.aims && !o.dryRun && ctx.Err() == nil {
		report.Collections = counted(ctx, turn, e.plan)
	}
	return errors.Join(env.carried(ctx, o, e, report, err), closed)
}

// counted compares numbers of chunks with those of the plan. Who can't be asked any
// more has nothing to compare: the report is there without.
func counted(ctx context.Context, t *applying.Turn, p *plan.Plan) (list []applying.Chunks) {
	var names []string
	for _, c := range p.Basis.Collections {
		names = append(names, c.Namespace)
	}
	counts, err := t.Counts(ctx, names)
	if err != nil {
		return nil
	}
	for _, c := range p.Basis.Collections {
		list = append(list, applying.Chunks{Namespace: c.Namespace, Before: int64(c.Chunks), After: counts[c.Namespace]})
	}
	return list
}

// teller tells of what happens, on the standard error.
func (env environment) teller(o carryLine, js *script.Engine) applying.Teller {
	d := display.New(display.Options{Terminal: isTerminal(env.stderr)})
	d.JS = js
	return applying.Teller{
		Progress: d.Progress(!o.quiet && !o.dryRun),
		Note:     func(text string) { notice(env.stderr, o.quiet, "%s", text) },
	}
}

// carried tells how it ended, and how to go on.
func (env environment) carried(ctx context.Context, o carryLine, e errand, r applying.Report, err error) error {
	to := env.told()
	if o.json {
		r.Error = secret.Redact(r.Error)
		if err := writeJSON(env.toldJSON(), r); err != nil {
			return err
		}
		to = env.warned()
	}
	if !o.json || !r.Finished && !r.Possible {
		fmt.Fprintln(to, r.Text())
		for _, c := range r.Collections {
			if c.Before != c.After {
				fmt.Fprintf(to, "%s had %d chunks, and has %d.\n", c.Namespace, c.Before, c.After)
			}
		}
	}
	if r.Journal != "" && !o.quiet {
		again := ""
		if !r.Finished {
			again = fmt.Sprintf("To go on: shardsh %s --resume %s; ", env.name(), r.Journal)
		}
		if !e.undoes {
			fmt.Fprintf(env.warned(), "%sto take it back: shardsh apply --undo %s\n", again, r.Journal)
		} else if again != "" {
			fmt.Fprintln(env.warned(), strings.TrimSuffix(again, "; "))
		}
	}
	if err == nil && r.Stopped != "" && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return because(ctx, err)
}

// aimed is the command line of a subcommand that carries out what leads to a goal.
type aimed interface {
	groups() []cmdline.Group
	line() *carryLine
	// settle checks the options that it alone has.
	settle(env environment) error
	// kind is that of its goal.
	kind() plan.GoalKind
	// goal says what is to be reached; journal is the plan of --resume, else nil.
	goal(ctx context.Context, conn *connection, s *snapshotOf, journal *plan.Plan) (plan.Goal, error)
	// besides is that of an errand; nil for nothing.
	besides(t *applying.Turn, clock script.Clock, note func(string)) (before, after func(context.Context) error)
}

func (o *carryLine) line() *carryLine { return o }

func (o *carryLine) besides(*applying.Turn, script.Clock, func(string)) (before, after func(context.Context) error) {
	return nil, nil
}

// doneError says that a goal was reached long ago: nothing is to be done.
type doneError struct{ text string }

func (e *doneError) Error() string { return e.text }

// reach is a subcommand that carries out what leads to a goal.
func (env environment) reach(ctx context.Context, o aimed, help func(io.Writer, []cmdline.Group)) error {
	groups, line := o.groups(), o.line()
	words, err := env.parseWords(groups)
	switch {
	case err != nil:
		return err
	case line.help:
		help(env.stdout, groups)
		return nil
	case len(words) > 1:
		return usagef("%s takes one address, not also %q", env.name(), secret.Redact(words[1]))
	case len(words) == 1:
		if err := line.takeAddress(words[0]); err != nil {
			return err
		}
	}
	line.quiet = line.quietChoice.On
	if err := o.settle(env); err != nil {
		return err
	}
	if err := line.check(env.name(), rule{line.journal != "" && line.resume != "",
		"--resume names its journal: leave --journal out"}); err != nil {
		return err
	}
	unasked := !line.yes && !line.dryRun && !isTerminal(env.stdin)
	line.dryRun = line.dryRun || unasked
	begun, err := line.begun(o.kind())
	if err != nil {
		return err
	}
	ctx, cancel := line.bounded(ctx)
	defer cancel()
	conn, err := env.connect(ctx, line.commandLine, false)
	if err != nil {
		return because(ctx, err)
	}
	defer conn.close()
	p, err := env.planFor(ctx, conn, o, begun)
	if done, is := errors.AsType[*doneError](err); is {
		fmt.Fprintln(line.shown(env), done)
		if line.dryRun {
			return nil
		}
		return because(ctx, applying.TidyUp(ctx, conn.client))
	}
	if err != nil {
		return because(ctx, err)
	}
	if !line.yes {
		fmt.Fprint(line.shown(env), findings.PlanText(p, false))
	}
	if !line.yes && !line.dryRun {
		if err := env.agreed(ctx, "Carry it out?"); err != nil {
			return err
		}
	}
	err = env.carryOut(ctx, conn, *line, errand{
		plan: p, onChange: apply.Replan, aims: true, besides: o.besides,
		work: func() (*apply.Execution, error) { return line.open(p) },
	})
	if unasked && err == nil {
		notice(env.stderr, line.quiet, "Nothing was done: --yes has it done.")
	}
	return err
}
