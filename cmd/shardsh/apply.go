package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
	"shardsh/bindings/findings"
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
		printApplyHelp(env.stdout, groups)
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
	return env.carryOut(ctx, conn, o.carryLine, errand{
		plan: given, work: func() (*apply.Execution, error) { return o.work(given) }, onChange: apply.OnChange(o.onChange),
		undoes: o.undo != "",
	})
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
func (o applyLine) work(p *plan.Plan) (*apply.Execution, error) {
	switch {
	case o.resume != "":
		return apply.Resume(o.resume)
	case o.undo != "":
		return apply.PrepareUndo(o.undo)
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
