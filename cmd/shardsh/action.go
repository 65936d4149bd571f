package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"shardsh/balancer/action"
	"shardsh/balancer/plan"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/changes"
	"shardsh/bindings/display"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// planAction is an action that carries a plan out.
type planAction interface {
	Validate() error
	Run(ctx context.Context, c action.Cluster, r action.Reporter) (action.PlanResult, error)
}

// planVerb is a subcommand that is a face of such an action.
type planVerb interface {
	groups() []cmdline.Group
	shared() *actionFlags
	// take reads the words that are no options.
	take(env environment, words []string) error
	// action returns the options of the action.
	action(e action.RunOptions) planAction
}

func (o *actionFlags) take(env environment, words []string) error {
	if len(words) > 1 {
		return usagef("%s takes one address, not also %q", env.name(), secret.Redact(words[1]))
	}
	if len(words) == 0 {
		return nil
	}
	return o.takeAddress(words[0])
}

// parseAction reads the command line of a subcommand; false when that was its help.
func (env environment) parseAction(v planVerb, help func(io.Writer, []cmdline.Group)) (bool, error) {
	groups, o := v.groups(), v.shared()
	words, err := env.parseWords(groups)
	if err != nil {
		return false, err
	}
	if o.help {
		help(env.stdout, groups)
		return false, nil
	}
	if err := v.take(env, words); err != nil {
		return false, err
	}
	o.quiet = o.quietChoice.On
	if err := o.check(env.name()); err != nil {
		return false, err
	}
	return true, wrongOptions(v.action(o.runOptions()).Validate())
}

// reach is a subcommand that makes a plan for a goal and carries it out. Where nobody
// can be asked it is a dry run.
func (env environment) reach(ctx context.Context, v planVerb, help func(io.Writer, []cmdline.Group)) error {
	if ok, err := env.parseAction(v, help); !ok || err != nil {
		return err
	}
	o := v.shared()
	unasked := !o.yes && !o.dryRun && !isTerminal(env.stdin)
	o.dryRun = o.dryRun || unasked
	err := env.act(ctx, v, !o.yes)
	if unasked && err == nil {
		notice(env.stderr, o.quiet, "Nothing done; pass --yes to run.")
	}
	return err
}

// act connects, runs the action and shows how it ended.
func (env environment) act(ctx context.Context, v planVerb, showPlan bool) error {
	o := v.shared()
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	conn, err := env.connect(ctx, o.commandLine, false)
	if err != nil {
		return because(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.warned()})
	r := env.reporter(js, !o.quiet && !o.dryRun, o.quiet)
	if showPlan {
		r.Plan = func(p *plan.Plan) { fmt.Fprint(o.shown(env), findings.PlanText(p, false)) }
	}
	r.WouldSend = func(c action.WouldSend) {
		fmt.Fprintf(o.shown(env), "would send to %s\n", secret.Redact(changes.Line(c.Database, c.Command)))
	}
	e := o.runOptions()
	if !o.yes {
		e.Confirm = env.agreed
	}
	stages := listenForMore(ctx)
	defer stages.end()
	e.Insist, e.Hard = stages.insist, stages.hard
	var still func()
	e.Tick, still = actiontext.Ticks(r.Progress, js.OnWallClock())
	defer still()
	result, err := v.action(e).Run(ctx, conn.actionCluster(js.Clock), r)
	r.Progress.End()
	return env.showPlanResult(ctx, o, result, spelled(err))
}

// actionCluster is what actions work on.
func (c *connection) actionCluster(clock script.Clock) action.Cluster {
	return action.Cluster{
		Client: c.client, Settings: c.settings, Clock: clock,
		Computing: func(compute func() (*plan.Plan, error)) (*plan.Plan, error) { return collecting(often, compute) },
	}
}

// reporter shows what an action does on the standard error.
func (env environment) reporter(js *script.Engine, progress, quiet bool) *actiontext.Reporter {
	d := display.New(display.Options{Terminal: isTerminal(env.stderr)})
	d.JS = js
	return &actiontext.Reporter{
		Progress: d.Progress(progress),
		Note:     func(text string) { notice(env.stderr, quiet, "%s", secret.Redact(text)) },
	}
}

// showPlanResult shows how a run ended, and how to go on.
func (env environment) showPlanResult(ctx context.Context, o *actionFlags, r action.PlanResult, err error) error {
	if r.Plan == "" && r.Already == "" { // nothing began
		return because(ctx, err)
	}
	to := env.told()
	if o.json {
		if err != nil {
			r.Error = secret.Redact(err.Error())
		}
		if err := writeJSON(env.toldJSON(), r); err != nil {
			return err
		}
		to = env.warned()
	}
	if !o.json || !r.Finished && !r.Possible {
		fmt.Fprintln(to, actiontext.PlanResult(r))
		for _, c := range r.Collections {
			if c.Before != c.After {
				fmt.Fprintf(to, "%s had %d chunks, and has %d.\n", c.Namespace, c.Before, c.After)
			}
		}
	}
	if r.Journal != "" && !o.quiet {
		var next []string
		if !r.Finished {
			next = append(next, fmt.Sprintf("To go on: shardsh %s --resume %s", env.name(), r.Journal))
		}
		if !r.Undoes {
			next = append(next, fmt.Sprintf("to take it back: shardsh apply --undo %s", r.Journal))
		}
		if len(next) > 0 {
			fmt.Fprintln(env.warned(), strings.Join(next, "; "))
		}
	}
	if err == nil && r.Stopped != "" && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return because(ctx, err)
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
	wrong, is := errors.AsType[*action.OptionError](err)
	if !is {
		return err
	}
	return spelledError{err, strings.ReplaceAll(err.Error(), wrong.Error(), wrong.Spelled(action.Flag))}
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
