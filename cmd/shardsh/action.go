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

// planAction is an action that applies a plan.
type planAction interface {
	Validate() error
	Run(ctx context.Context, c action.Cluster, r action.Reporter) (action.PlanResult, error)
}

// planVerb is a subcommand that runs a planAction.
type planVerb interface {
	planActionOptions() *planActionFlags
	// action returns the options of the action.
	action(o action.RunOptions) planAction
}

// runPlanVerb makes a plan for a goal and applies it. Without a terminal for the confirmation it is a
// dry run.
func runPlanVerb(ctx context.Context, env environment, v planVerb) error {
	o := v.planActionOptions()
	unasked := !o.yes && !o.dryRun && !o.preflight && !isTerminal(env.stdin)
	o.dryRun = o.dryRun || unasked
	err := connectAndRun(ctx, env, v, !o.yes)
	if unasked && err == nil {
		notice(env.stderr, o.quiet.On, "Nothing done; pass --yes to run.")
	}
	return err
}

// connectAndRun connects, runs the action and prints its result.
func connectAndRun(ctx context.Context, env environment, v planVerb, showPlan bool) error {
	o := v.planActionOptions()
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	conn, err := o.connect(ctx, env)
	if err != nil {
		return preferTimeout(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.errOut()})
	r := actionReporter(env, js, !o.quiet.On && !o.dryRun && !o.traces.isJSONLog(), o.quiet.On)
	if showPlan && !o.preflight {
		r.ShowPlan = func(p *plan.Plan) { fmt.Fprint(o.planOutput(env), findings.PlanText(p, findings.PlanDetail{})) }
	}
	r.ShowWouldSend = func(c action.WouldSend) { printChange(env, o.json, c.Database, c.Command) }
	e := o.runOptions()
	if !o.yes {
		e.Confirm = func(ctx context.Context, question string) error { return confirm(ctx, env, question) }
	}
	stages := listenForSignals(ctx)
	defer stages.end()
	e.StopMoves, e.AbortContext = stages.second, stages.hardCtx
	var still func()
	e.ReportTick, still = actiontext.Ticks(r.Progress, script.IsWallClock(js.Clock))
	defer still()
	told, end, err := o.traces.wrapReporter(env, conn, js.Clock, r, r)
	if err != nil {
		return err
	}
	result, err := v.action(e).Run(ctx, conn.actionCluster(js.Clock), told)
	end(withFlagNames(err))
	r.Progress.End()
	if result.Preflight != nil {
		return o.showPreflight(ctx, env, *result.Preflight, withFlagNames(err))
	}
	return o.showResult(ctx, env, result, withFlagNames(err))
}

// actionCluster returns the cluster for actions.
func (c *connection) actionCluster(clock script.Clock) action.Cluster {
	return action.Cluster{
		Client: c.client, ClientOptions: c.clientOptions, Address: c.address, Clock: clock, Consent: c.consent,
		RunComputation: func(compute func() (*plan.Plan, error)) (*plan.Plan, error) { return withGC(frequentGC, compute) },
	}
}

// actionReporter returns a reporter that writes an action's events to the standard error.
func actionReporter(env environment, js *script.Engine, progress, quiet bool) *actiontext.Reporter {
	d := display.New(display.Options{Terminal: isTerminal(env.stderr)})
	d.JS = js
	return &actiontext.Reporter{
		Progress: d.NewProgress(progress), FormatOption: action.SpellAsFlag,
		Note: func(text string) { notice(env.stderr, quiet, "%s", secret.Redact(text)) },
	}
}

// showResult prints the result of a run, and how to continue.
func (o *planActionFlags) showResult(ctx context.Context, env environment, r action.PlanResult, err error) error {
	if r.PlanID == "" && r.AlreadyReachedText == "" { // the run has not begun
		return preferTimeout(ctx, err)
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
	if !o.json || !r.Finished && !r.Applicable {
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
	if r.Journal != "" && !o.quiet.On && !o.traces.isJSONLog() {
		var next []string
		if !r.Finished {
			next = append(next, fmt.Sprintf("To continue: shardsh %s --resume %s", env.commandName(), r.Journal))
		}
		if !r.Undoes && !r.NotUndoable {
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
	return preferTimeout(ctx, err)
}

// showPreflight prints the preflight report. It returns an error if the report has obstacles that stop
// the run.
func (o *changeFlags) showPreflight(ctx context.Context, env environment, r preflight.Report, err error) error {
	if err != nil {
		return preferTimeout(ctx, err)
	}
	if o.json {
		err = writeJSON(env.jsonOut(), r)
	} else {
		_, err = fmt.Fprint(env.out(), secret.Redact(findings.PreflightText(r, action.SpellAsFlag)))
	}
	if err == nil && !r.Ready {
		err = findingsError{}
	}
	return err
}

// optionsUsageError converts an error about an action's options to a usage error.
func optionsUsageError(err error) error {
	if err == nil {
		return nil
	}
	return usagef("%w", withFlagNames(err))
}

// flagNamesError is an error with options named as on the command line.
type flagNamesError struct {
	error
	text string
}

func (e flagNamesError) Error() string { return e.text }
func (e flagNamesError) Unwrap() error { return e.error }

func withFlagNames(err error) error {
	var named action.OptionSpeller
	if !errors.As(err, &named) {
		return err
	}
	return flagNamesError{err, strings.ReplaceAll(err.Error(), named.Error(), named.SpellOptions(action.SpellAsFlag))}
}

// questionOut returns where to ask a question: stdout if that is a terminal, otherwise stderr, because
// whoever reads a redirected result does not expect a question in it.
func (env environment) questionOut() io.Writer {
	if isTerminal(env.stdout) {
		return env.stdout
	}
	return env.stderr
}

// confirm asks a question, and returns an error unless the answer is yes.
func confirm(ctx context.Context, env environment, question string) error {
	fmt.Fprint(env.questionOut(), question+" [y/N] ")
	answer, err := bufio.NewReader(ctxReader{ctx, env.stdin}).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
		return errors.New("nothing was done")
	}
	return nil
}
