package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"shardsh/balancer/action"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
	"shardsh/balancer/preflight"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/display"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/secret"
)

// planAction is an action that carries a plan out.
type planAction interface {
	Validate() error
	Run(ctx context.Context, c action.Cluster, r action.Reporter) (action.PlanResult, error)
}

// planVerb is a verb that is a face of such an action.
type planVerb interface {
	shared() *actionFlags
	// action returns the options of the action.
	action(o action.RunOptions) planAction
}

// reach makes a plan for a goal and carries it out. Without a terminal to confirm on it
// is a dry run.
func reach(ctx context.Context, env environment, v planVerb) error {
	o := v.shared()
	unasked := !o.yes && !o.dryRun && !o.preflight && !isTerminal(env.stdin)
	o.dryRun = o.dryRun || unasked
	err := act(ctx, env, v, !o.yes)
	if unasked && err == nil {
		notice(env.stderr, o.quiet, "Nothing done; pass --yes to run.")
	}
	return err
}

// act connects, runs the action and shows how it ended.
func act(ctx context.Context, env environment, v planVerb, showPlan bool) error {
	o := v.shared()
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	conn, err := o.connect(ctx, env)
	if err != nil {
		return orTimeout(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.errOut()})
	r := actionReporter(env, js, !o.quiet && !o.dryRun && !o.traces.quiets(), o.quiet)
	if showPlan && !o.preflight {
		r.Plan = func(p *plan.Plan) { fmt.Fprint(o.shown(env), findings.PlanText(p, findings.PlanDetail{})) }
	}
	r.WouldSend = func(c action.WouldSend) { printChange(env, o.json, c.Database, c.Command) }
	e := o.runOptions()
	if !o.yes {
		e.Confirm = func(ctx context.Context, question string) error { return confirm(ctx, env, question) }
	}
	stages := listenForMore(ctx)
	defer stages.end()
	e.Insist, e.Hard = stages.insist, stages.hard
	var still func()
	e.Tick, still = actiontext.Ticks(r.Progress, script.OnWallClock(js.Clock))
	defer still()
	told, end, err := o.traces.tell(env, conn, js.Clock, r, r)
	if err != nil {
		return err
	}
	result, err := v.action(e).Run(ctx, conn.actionCluster(js.Clock), told)
	end(spelled(err))
	r.Progress.End()
	if result.Preflight != nil {
		return o.showPreflight(ctx, env, *result.Preflight, spelled(err))
	}
	return o.showResult(ctx, env, result, spelled(err))
}

// actionCluster is what actions work on.
func (c *connection) actionCluster(clock script.Clock) action.Cluster {
	return action.Cluster{
		Client: c.client, Settings: c.settings, Address: c.address, Clock: clock, Consent: c.consent,
		Computing: func(compute func() (*plan.Plan, error)) (*plan.Plan, error) { return withGC(frequentGC, compute) },
	}
}

// actionReporter shows what an action does on the standard error.
func actionReporter(env environment, js *script.Engine, progress, quiet bool) *actiontext.Reporter {
	d := display.New(display.Options{Terminal: isTerminal(env.stderr)})
	d.JS = js
	return &actiontext.Reporter{
		Progress: d.Progress(progress), FormatOption: action.Flag,
		Note: func(text string) { notice(env.stderr, quiet, "%s", secret.Redact(text)) },
	}
}

// showResult shows how a run ended, and how to go on.
func (o *actionFlags) showResult(ctx context.Context, env environment, r action.PlanResult, err error) error {
	if r.Plan == "" && r.Already == "" { // nothing began
		return orTimeout(ctx, err)
	}
	to := env.out()
	if o.json {
		if err != nil {
			r.Error = secret.Redact(err.Error())
		}
		if err := writeJSON(env.jsonOut(), r); err != nil {
			return err
		}
		to = env.errOut()
	}
	if !o.json || !r.Finished && !r.Possible {
		fmt.Fprintln(to, actiontext.PlanResult(r))
		for _, c := range r.Collections {
			if c.Before != c.After {
				fmt.Fprintf(to, "%s had %s, and has %d.\n", c.Namespace, humanize.Count(c.Before, "chunk"), c.After)
			}
		}
	}
	if r.Verify != nil && !o.json {
		fmt.Fprintln(to, strings.Join(actiontext.VerifyResult(*r.Verify), "\n"))
	}
	if r.Journal != "" && !o.quiet && !o.traces.quiets() {
		var next []string
		if !r.Finished {
			next = append(next, fmt.Sprintf("To go on: shardsh %s --resume %s", env.name(), r.Journal))
		}
		if !r.Undoes && !r.Kept {
			next = append(next, fmt.Sprintf("to take it back: shardsh apply --undo %s", r.Journal))
		}
		if len(next) > 0 {
			fmt.Fprintln(env.errOut(), strings.Join(next, "; "))
		}
	}
	if err == nil && r.Stopped != "" && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if r.Verify.Differs() {
		err = errors.Join(findingsError{}, err)
	}
	return orTimeout(ctx, err)
}

// showPreflight shows what is in the way of a run. The error says that something is.
func (o *changeFlags) showPreflight(ctx context.Context, env environment, r preflight.Report, err error) error {
	if err != nil {
		return orTimeout(ctx, err)
	}
	if o.json {
		err = writeJSON(env.jsonOut(), r)
	} else {
		_, err = fmt.Fprint(env.out(), secret.Redact(findings.PreflightText(r, action.Flag)))
	}
	if err == nil && !r.Ready {
		err = findingsError{}
	}
	return err
}

// wrongOptions is the error of a command line for that of an action's options.
func wrongOptions(err error) error {
	if err == nil {
		return nil
	}
	return usagef("%w", spelled(err))
}

// spelledError has the names of options as the command line has them.
type spelledError struct {
	error
	text string
}

func (e spelledError) Error() string { return e.text }
func (e spelledError) Unwrap() error { return e.error }

func spelled(err error) error {
	var named action.OptionSpeller
	if !errors.As(err, &named) {
		return err
	}
	return spelledError{err, strings.ReplaceAll(err.Error(), named.Error(), named.SpellOptions(action.Flag))}
}

// confirm asks a question, and returns an error unless the answer is yes.
func confirm(ctx context.Context, env environment, question string) error {
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
