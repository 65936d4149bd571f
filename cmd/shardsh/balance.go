package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// balanceFlags are the flags of "shardsh balance".
type balanceFlags struct {
	changeFlags
	script, giveBack, all     bool
	forceJumbo                bool
	namespaces                []string
	goal, order, loadKind     string
	seed                      uint64
	waitForLease, opsInterval time.Duration
}

func (o *balanceFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` balance these, * is a wildcard; repeat to add")
		f.BoolVar(&o.all, "all", false, "balance all sharded collections")
		f.StringVar(&o.goal, "goal", string(runner.GoalSize),
			"`"+humanize.Join(runner.BalanceGoals(), "|")+"` what to balance: bytes, chunks, operations")
		f.StringVar(&o.order, "order", string(runner.OrderPolicy),
			"`"+humanize.Join(runner.Orders(), "|")+"` order of the moves in a round")
		f.StringVar(&o.loadKind, "by", "", "`"+humanize.Join(heat.LoadKinds(), "|")+"` what counts for --goal load (mixed)")
		cmdline.DurationVar(f, &o.opsInterval, "ops-interval", "`TIME` how long to count operations before each round (1m)")
		cmdline.DurationVar(f, &o.waitForLease, "wait-for-lease", "`TIME` how long to wait while another run has the lease")
		f.Uint64Var(&o.seed, "seed", 0, "`N` random seed, as of a mock; else catalog order")
		addForceJumboFlag(f, &o.forceJumbo)
		f.BoolVar(&o.giveBack, "give-back", false, "only enable balancing again that a killed run left disabled")
		f.BoolVar(&o.script, "script", false, "with --dry-run: print commands for mongosh")
		o.addFlags(f, "print what would be done, and do nothing",
			"print JSON, a document a line: events, then the result")
	})}
	return append(groups, o.sharedGroups(o.pace.addCoolDownFlag)...)
}

func (o *balanceFlags) parseArgs(env environment, words []string) error {
	if err := o.takeAddressWord(env, words, ": collections are named by --ns"); err != nil {
		return err
	}
	if err := firstViolation(
		constraint{o.readOnly && !o.dryRun && !o.preflight,
			"--read-only and balance exclude each other: --dry-run shows what would be done"},
		constraint{o.script && (o.goal == string(runner.GoalOps) || o.goal == string(runner.GoalLoad)),
			"--goal " + o.goal + " has no --script: each round starts its own count"},
		constraint{o.script && o.json, "--script and --json exclude each other"},
		constraint{o.script && !o.dryRun, "--script is for --dry-run"},
		constraint{o.giveBack && o.preflight, "--give-back and --preflight exclude each other"},
		constraint{o.giveBack && o.script, "--give-back and --script exclude each other"},
		constraint{o.giveBack && (len(o.namespaces) > 0 || o.all),
			"--give-back is for all that a run left: it takes no --ns or --all"},
		constraint{o.dryRun && o.yes, "--dry-run and --yes exclude each other"},
	); err != nil {
		return err
	}
	if o.giveBack {
		return nil
	}
	return optionsUsageError(o.action(action.Control{}).Validate())
}

// action returns the options of the action.
func (o *balanceFlags) action(c action.Control) action.Balance {
	return action.Balance{
		Namespaces: o.namespaces, All: o.all, Goal: runner.BalanceGoal(o.goal), Order: runner.Order(o.order), Seed: o.seed,
		LoadKind: heat.LoadKind(o.loadKind), OpsInterval: o.opsInterval, CoolDown: o.pace.coolDown,
		WaitForLease: o.waitForLease, PlanFirst: !o.quiet.On && !o.json || o.pace.metricsAddress != "",
		Pace: o.pace.pace(), Control: c, PauseBalancing: o.pauseBalancing, DryRun: o.dryRun,
		ForceJumbo:       o.forceJumbo,
		PreflightOptions: o.preflightOptions(),
	}
}

// run implements "shardsh balance": the engine of shardsh balances collections.
func (o *balanceFlags) run(ctx context.Context, env environment) error {
	o.dryRun = o.dryRun || !o.yes && !o.giveBack && !o.preflight && !isTerminal(env.stdin)
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	conn, err := o.connect(ctx, env)
	if err != nil {
		return preferTimeout(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.errOut()})
	stages := listenForSignals(ctx)
	defer stages.end()
	if o.giveBack {
		back := action.GiveBack{DryRun: o.dryRun, AbortContext: stages.hardCtx}
		return o.runGiveBack(ctx, env, conn.actionCluster(js.Clock), js, back)
	}
	control := action.Control{StopMoves: stages.second, AbortContext: stages.hardCtx}
	if !o.yes {
		control.Confirm = func(ctx context.Context, question string) error { return confirm(ctx, env, question) }
	}
	r := newBalanceReporter(ctx, env, o, js)
	told, end, err := o.traces.wrapReporter(env, conn, js.Clock, r.Reporter, r)
	if err != nil {
		return err
	}
	result, err := o.action(control).Run(ctx, conn.actionCluster(js.Clock), told)
	end(withFlagNames(err))
	r.end()
	if o.preflight && err == nil {
		return o.showPreflight(ctx, env, *result.Preflight, nil)
	}
	return o.showResult(ctx, env, result, withFlagNames(err))
}

// runGiveBack enables balancing that a run has left disabled.
func (o *balanceFlags) runGiveBack(
	ctx context.Context, env environment, c action.Cluster, js *script.Engine, back action.GiveBack,
) error {
	r := actionReporter(env, js, false, o.quiet.On)
	result, err := back.Run(ctx, c, r)
	if err = withFlagNames(err); o.json {
		if err != nil {
			result.Error = secret.Redact(err.Error())
		}
		if err := writeLine(env.jsonOut(), result); err != nil {
			return err
		}
	} else if err == nil {
		fmt.Fprintln(env.out(), actiontext.GiveBackResult(result))
	}
	return preferTimeout(ctx, err)
}

// balanceReporter prints a run line by line, or writes its events as JSON.
type balanceReporter struct {
	*actiontext.Reporter
	start func() // called before the first moves
	move  func(e runner.Event)
	end   func()
}

// Report shows an event.
func (r *balanceReporter) Report(e action.Event) {
	switch e := e.(type) {
	case action.Started:
		r.start()
	case action.EngineEvent:
		if r.move != nil {
			r.move(e.Event)
			return
		}
	}
	r.Reporter.Report(e)
}

func newBalanceReporter(
	ctx context.Context, env environment, o *balanceFlags, js *script.Engine,
) *balanceReporter {
	r := &balanceReporter{Reporter: actionReporter(env, js, !o.quiet.On && !o.json && !o.traces.isJSONLog(), o.quiet.On)}
	r.Reporter.WriteEngineEvent = func(text string) { fmt.Fprintln(env.out(), text) }
	if !o.yes && !(o.dryRun && (o.json || o.script)) {
		r.ShowPlan = func(p *plan.Plan) { fmt.Fprint(env.out(), findings.PlanText(p, findings.PlanDetail{})) }
		r.ShowOps = func(l action.OpsPreview) { fmt.Fprint(env.out(), actiontext.OpsPreviewText(l)) }
	}
	if o.json {
		r.move = func(e runner.Event) { _ = writeLine(env.jsonOut(), actiontext.BalanceEventOf(e)) }
	}
	stop, noted := func() bool { return true }, make(chan struct{})
	r.start = func() {
		stop = context.AfterFunc(ctx, func() {
			defer close(noted)
			notice(env.stderr, o.quiet.On, "Stopping after the running steps. Ctrl-C again has their donors stop them.")
		})
	}
	r.end = func() {
		if !stop() {
			<-noted
		}
		r.Progress.End()
	}
	return r
}

// showResult prints the result of a run, or of a dry run.
func (o *balanceFlags) showResult(ctx context.Context, env environment, r action.BalanceResult, err error) error {
	switch {
	case err == nil && o.dryRun:
		return o.showDryRun(env, r)
	case r.Event == "": // the run has not begun
		return preferTimeout(ctx, err)
	case o.json:
		if err != nil {
			r.Error = secret.Redact(err.Error())
		}
		if err := writeLine(env.jsonOut(), r); err != nil {
			return err
		}
	case err == nil || r.Rounds > 0:
		fmt.Fprintln(env.out(), actiontext.BalanceResult(r))
	}
	if err == nil && r.Stopped != "" && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return preferTimeout(ctx, err)
}

func (o *balanceFlags) showDryRun(env environment, r action.BalanceResult) error {
	switch {
	case o.json && r.Heat != nil:
		return writeJSON(env.jsonOut(), r.Heat)
	case r.Heat != nil:
		fmt.Fprint(env.out(), actiontext.HeatPlan(*r.Heat))
	case o.json && r.OpsPreview != nil:
		return writeJSON(env.jsonOut(), r.OpsPreview)
	case o.json:
		return writeJSON(env.jsonOut(), r.Plan)
	case o.script:
		return r.Plan.WriteScript(env.out())
	}
	notice(env.stderr, o.quiet.On, "Nothing done; pass --yes to run.")
	return nil
}

func writeLine(to io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%s\n", text)
	return err
}

func balanceText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Balances collections with shardsh's own engine, while the cluster's own balancer
leaves them alone. Without a terminal nothing is done unless --yes is given. At
the prompt, sh.balance() does the same.`,
		Examples: []string{
			"shardsh balance mongodb://host:27017 --ns shop.orders --dry-run",
			"shardsh balance mongodb://host:27017 --ns 'shop.*' --pause-balancing --max-bytes 100GB",
		},
		More: `Rounds are like the server's: draining shards, wrong zones, what is uneven.
Goals: size evens out bytes, as servers do since 6.0; chunks numbers of chunks, as
servers did before; ops operations, which are counted before each round, to a tenth
of a fair share; load moves hot chunks, which sampled queries name (from 7.0 on).

It refuses while the cluster's own balancer may touch the collections;
--pause-balancing disables it for them, and enables it again at the end. After a
kill the next run does that, or --give-back: what is off is noted in shardsh.leases.

It ends when nothing more is to be moved, at a limit (--max-moves, --max-bytes,
--for; 1000 moves and 100GB unless you say otherwise), and when an operator has to
decide. Ctrl-C lets the moves under way come to their end; a second one has their
donors stop them, and waits for that; a third one leaves them to the cluster.

Exit codes: 0 balanced, or stopped by a limit; 1 it can't go on; 2 wrong command
line; 3 --preflight found something in the way; 130, 143 interrupted.`,
	}
}
