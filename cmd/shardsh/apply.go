package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/apply"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/bindings"
	"shardsh/bindings/applying"
	"shardsh/bindings/display"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
)

// apply is "shardsh apply": a plan, carried out.
func (env environment) apply(ctx context.Context) error {
	var o applyLine
	groups := o.groups()
	err := env.parseApply(&o, groups)
	switch {
	case err != nil:
		return err
	case o.help:
		env.printApplyHelp(groups)
		return nil
	}
	given, err := env.givenPlan(o)
	if err != nil {
		return err
	}
	if err := env.confirm(ctx, o, given); err != nil {
		return err
	}
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	conn, err := env.connect(ctx, o.commandLine, false)
	if err != nil {
		return because(ctx, err)
	}
	defer conn.close()
	asker := askerBehind(live.AskerOf(conn.client), env.guard(o.commandLine))
	turn, err := applying.TakeTurn(ctx, conn.client, asker, "apply "+given.ID, o.dryRun)
	if err != nil {
		return because(ctx, err)
	}
	work, err := o.work(given)
	if err != nil {
		return errors.Join(err, turn.End(ctx))
	}
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.warned()})
	teller := env.teller(o, js)
	options := o.options(js.Clock, teller)
	tick, still := applying.Ticks(teller.Progress, js.OnWallClock())
	defer still()
	options.Tick = tick
	hard, leave := impatient(ctx)
	defer leave()
	options.Hard = hard
	gate, away, err := o.pace.gate(ctx, conn, js.Clock, o.dryRun, teller.Waits)
	if err != nil {
		return errors.Join(because(ctx, err), work.Close(), turn.End(ctx))
	}
	defer away()
	options.Pace = gate
	result, err := turn.Run(ctx, work, options, nil)
	teller.Progress.End()
	closed := work.Close()
	journal := ""
	if work.Acted() {
		journal = work.Path()
	}
	return errors.Join(env.applied(ctx, o, applying.ReportOf(result, err, journal, o.dryRun), err), closed)
}

// givenPlan reads what is to be carried out, to be shown before anything happens.
func (env environment) givenPlan(o applyLine) (*plan.Plan, error) {
	switch {
	case o.resume != "":
		h, err := apply.LoadJournal(o.resume)
		if err != nil {
			return nil, err
		}
		return h.Plan(), nil
	case o.undo != "":
		h, err := apply.LoadJournal(o.undo)
		if err != nil {
			return nil, err
		}
		return apply.Undo(h)
	case o.plan == "-":
		return plan.Read(env.stdin)
	}
	file, err := os.Open(o.plan)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	p, err := plan.Read(file)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.plan, err)
	}
	return p, nil
}

// work opens the journal. A dry run has none.
func (o applyLine) work(p *plan.Plan) (*apply.Work, error) {
	switch {
	case o.resume != "":
		return apply.Resume(o.resume)
	case o.undo != "":
		return apply.TakeBack(o.undo)
	case o.dryRun && p.Goal.Kind != plan.Undo:
		return apply.Begin(p, "")
	}
	return apply.Begin(p, o.journalPath(p))
}

// confirm shows a plan and asks whether it is to be carried out.
func (env environment) confirm(ctx context.Context, o applyLine, p *plan.Plan) error {
	switch {
	case o.yes, o.dryRun:
		return nil
	case !isTerminal(env.stdin) || o.plan == "-":
		return usagef("nobody can be asked whether to carry %s out: give --yes, or --dry-run to see its commands", p.ID)
	}
	fmt.Fprint(env.told(), findings.PlanText(p, false))
	return env.agreed(ctx, "Carry it out?")
}

// agreed asks a question, and returns an error unless the answer is yes.
func (env environment) agreed(ctx context.Context, question string) error {
	fmt.Fprint(env.stdout, question+" [y/N] ")
	answer, err := bufio.NewReader(interruptible{ctx, env.stdin}).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}

// teller tells of what happens, on the standard error.
func (env environment) teller(o applyLine, js *script.Engine) applying.Teller {
	d := display.New(display.Options{Terminal: isTerminal(env.stderr)})
	d.JS = js
	return applying.Teller{
		Progress: d.Progress(!o.quiet && !o.dryRun),
		Note:     func(text string) { notice(env.stderr, o.quiet, "%s", text) },
	}
}

func (o applyLine) options(clock script.Clock, teller applying.Teller) apply.Options {
	return apply.Options{
		DryRun: o.dryRun, OnChange: apply.OnChange(o.onChange), PauseBalancing: o.pauseBalancing,
		Parallel: o.pace.parallel, Clock: clock, Tell: teller.Tell,
	}
}

// applied tells how it ended, and how to go on.
func (env environment) applied(ctx context.Context, o applyLine, r applying.Report, err error) error {
	to := env.told()
	if o.json {
		if err := writeJSON(env.toldJSON(), r); err != nil {
			return err
		}
		to = env.warned()
	}
	if !o.json || !r.Finished && !r.Possible {
		fmt.Fprintln(to, r.Text())
	}
	if r.Journal != "" && !o.quiet {
		again := ""
		if !r.Finished {
			again = fmt.Sprintf("To go on: shardsh apply --resume %s; ", r.Journal)
		}
		if o.undo == "" {
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

// askerBehind has commands pass a guard, which may answer in place of the cluster.
func askerBehind(a live.Asker, guard bindings.Guard) live.Asker {
	if guard == nil {
		return a
	}
	return guarded{a, guard}
}

type guarded struct {
	live.Asker
	guard bindings.Guard
}

func (g guarded) Ask(ctx context.Context, database string, command bson.D) (bson.Raw, error) {
	raw, err := bson.Marshal(command)
	if err != nil {
		return nil, err
	}
	if reply, err := g.guard(database, raw); reply != nil || err != nil {
		return reply, err
	}
	return g.Asker.Ask(ctx, database, command)
}
