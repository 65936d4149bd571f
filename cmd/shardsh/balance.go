package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// balanceFlags are the options of "shardsh balance".
type balanceFlags struct {
	commandLine
	pace         paceFlags
	json, script bool

	namespaces          []string
	goal, order         string
	random              uint64
	pauseBalancing, yes bool
	waitForLease        cmdline.Duration
	opsInterval         cmdline.Duration
}

func (o *balanceFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{
		cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
			f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` balance these; wildcards; repeat to add")
			f.StringVar(&o.goal, "goal", string(runner.Size), "`"+names(runner.Goals())+"` what is evened out")
			f.StringVar(&o.order, "order", string(runner.AsChosen),
				"`"+names(runner.Orders())+"` which move of a round begins first")
			f.Var(&o.opsInterval, "ops-interval", "`TIME` count operations so long before each round (1m)")
			pauseBalancingFlag(f, &o.pauseBalancing)
			f.BoolVar(&o.dryRun, "dry-run", false, "print what would be done, and do nothing")
			f.BoolVar(&o.script, "script", false, "with --dry-run: as commands for mongosh")
			f.BoolVarP(&o.yes, "yes", "y", false, "don't ask")
			o.pace.flags(f)
			o.pace.coolDownFlag(f)
			f.Var(&o.waitForLease, "wait-for-lease", "`TIME` wait so long while somebody else is at work")
			f.Uint64Var(&o.random, "seed", 0, "`N` draw lots as a mock with this seed; else catalog order")
			f.BoolVar(&o.readOnly, "read-only", false, "refuse to change anything")
			f.BoolVar(&o.json, "json", false, "a document of JSON a line: one an event, the last one the result")
			f.StringVar(&o.mock, "mock", "", "`N|FILE` a mock cluster: number of shards, or a topology file")
			f.Lookup("mock").NoOptDefVal = mockGiven
			f.StringVar(&o.snapshot, "snapshot", "", "`FILE` a mock of the cluster in this file: a rehearsal")
			transcriptFlag(f, &o.transcript)
			f.Var(&o.timeout, "timeout", "`TIME` stop after 90, 30s, 5m, as Ctrl-C does")
			cmdline.ChoiceVar(f, &o.quietChoice, "quiet", "no notices, no progress")
			f.BoolVarP(&o.help, "help", "h", false, "print this help")
			hiddenAlias(f, "max-time", "for")
		}),
	}
	return append(groups, o.server.Flags()...)
}

func names[T ~string](all []T) string {
	list := make([]string, len(all))
	for i, name := range all {
		list[i] = string(name)
	}
	return strings.Join(list, "|")
}

func (env environment) parseBalance(o *balanceFlags, groups []cmdline.Group) error {
	words, err := env.parseWords(groups)
	if err != nil || o.help {
		return err
	}
	if len(words) > 1 {
		return usagef("balance takes one address, not also %q: collections are named by --ns", secret.Redact(words[1]))
	}
	if len(words) > 0 {
		if err := o.takeAddress(words[0]); err != nil {
			return err
		}
	}
	o.quiet = o.quietChoice.On
	if err := obey(
		rule{o.readOnly && !o.dryRun, "--read-only and balance exclude each other: --dry-run shows what would be done"},
		rule{o.script && o.goal == string(runner.Ops), "--goal ops has no --script: each round counts anew"},
		rule{o.script && o.json, "--script and --json exclude each other"},
		rule{o.script && !o.dryRun, "--script is for --dry-run"},
		rule{o.dryRun && o.yes, "--dry-run and --yes exclude each other"},
		rule{o.mock == "" && o.snapshot == "" && !o.server.Named(),
			"balance needs the address of a cluster, --mock, or --snapshot FILE"},
	); err != nil {
		return err
	}
	if err := wrongOptions(o.action(action.Control{}).Validate()); err != nil {
		return err
	}
	return o.commandLine.check()
}

// action returns the options of the action.
func (o *balanceFlags) action(c action.Control) action.Balance {
	return action.Balance{
		Namespaces: o.namespaces, Goal: runner.Goal(o.goal), Order: runner.Order(o.order), Seed: o.random,
		OpsInterval: time.Duration(o.opsInterval), CoolDown: time.Duration(o.pace.cool),
		WaitForLease: time.Duration(o.waitForLease), Foresee: !o.quiet && !o.json || o.pace.metrics != "",
		Pace: o.pace.pace(), Control: c, PauseBalancing: o.pauseBalancing, DryRun: o.dryRun,
	}
}

// balance is "shardsh balance": collections balanced by our engine.
func (env environment) balance(ctx context.Context) error {
	var o balanceFlags
	groups := o.groups()
	err := env.parseBalance(&o, groups)
	switch {
	case err != nil:
		return err
	case o.help:
		printBalanceHelp(env.stdout, groups)
		return nil
	}
	o.dryRun = o.dryRun || !o.yes && !isTerminal(env.stdin)
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	conn, err := env.connect(ctx, o.commandLine, false)
	if err != nil {
		return because(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.warned()})
	stages := listenForMore(ctx)
	defer stages.end()
	control := action.Control{Insist: stages.insist, Hard: stages.hard}
	if !o.yes {
		control.Confirm = env.agreed
	}
	r := env.balanceReporter(ctx, &o, js)
	result, err := o.action(control).Run(ctx, conn.actionCluster(js.Clock), r)
	r.end()
	return env.showBalanceResult(ctx, &o, result, spelled(err))
}

// balanceReporter shows a run line by line, or writes its events as JSON.
type balanceReporter struct {
	*actiontext.Reporter
	start func() // when moves may begin
	move  func(e runner.Event)
	end   func()
}

// Report shows an event.
func (r *balanceReporter) Report(e action.Event) {
	switch e := e.(type) {
	case action.Started:
		r.start()
	case action.Move:
		if r.move != nil {
			r.move(e.Event)
			return
		}
	}
	r.Reporter.Report(e)
}

func (env environment) balanceReporter(ctx context.Context, o *balanceFlags, js *script.Engine) *balanceReporter {
	r := &balanceReporter{Reporter: env.reporter(js, !o.quiet && !o.json, o.quiet)}
	r.Reporter.Move = func(text string) { fmt.Fprintln(env.told(), text) }
	if !o.yes && !(o.dryRun && (o.json || o.script)) {
		r.Plan = func(p *plan.Plan) { fmt.Fprint(env.told(), findings.PlanText(p, false)) }
		r.Load = func(l action.Load) { fmt.Fprint(env.told(), actiontext.Load(l)) }
	}
	if o.json {
		r.move = func(e runner.Event) { _ = writeLine(env.toldJSON(), actiontext.BalanceEventOf(e)) }
	}
	stop, noted := func() bool { return true }, make(chan struct{})
	r.start = func() {
		stop = context.AfterFunc(ctx, func() {
			defer close(noted)
			notice(env.stderr, o.quiet, "Stopping after what is under way. Ctrl-C again asks the servers to stop it.")
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

// showBalanceResult shows how a run ended, or what it would do.
func (env environment) showBalanceResult(
	ctx context.Context, o *balanceFlags, r action.BalanceResult, err error,
) error {
	switch {
	case err == nil && o.dryRun:
		return env.showDryBalance(o, r)
	case r.Event == "": // nothing began
		return because(ctx, err)
	case o.json:
		if err != nil {
			r.Error = secret.Redact(err.Error())
		}
		if err := writeLine(env.toldJSON(), r); err != nil {
			return err
		}
	case err == nil || r.Rounds > 0:
		fmt.Fprintln(env.told(), actiontext.BalanceResult(r))
	}
	if err == nil && r.Stopped != "" && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return because(ctx, err)
}

func (env environment) showDryBalance(o *balanceFlags, r action.BalanceResult) error {
	switch {
	case o.json && r.Load != nil:
		return writeJSON(env.toldJSON(), r.Load)
	case o.json:
		return writeJSON(env.toldJSON(), r.Plan)
	case o.script:
		return r.Plan.Script(env.told())
	}
	notice(env.stderr, o.quiet, "Nothing done; pass --yes to run.")
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

func printBalanceHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Evens out collections with the engine of shardsh, while the cluster's own balancer
leaves them alone. Rounds are like those of the server's balancer: shards that
drain first, then chunks outside of their zones, then what is uneven. At the
prompt sh.balance() does the same.

Goals: size evens out bytes, as servers do since 6.0; chunks evens out numbers
of chunks, as servers did before; ops evens out operations, which are counted
before each round, to a tenth of a fair share. All go with any server from 4.4 on.

Without a terminal nothing is done unless --yes is given: what would be done is
printed. At a terminal it is shown, and asked about. It refuses while the
cluster's own balancer may touch the collections; with --pause-balancing it switches
the balancing of them off and on again at the end. After a kill the next run does
that: what is off is noted in the cluster, in shardsh.leases. One run at a time
is at work on a cluster.

It ends when nothing more is to be moved, at a limit (--max-moves, --max-bytes,
--for), and when something has to be asked. Ctrl-C lets the moves under way come
to their end; a second one asks the servers to stop them; a third one leaves them
to the cluster. --json prints a document a line; the last one is the result.

Exit codes: 0 balanced, or stopped by a limit; 1 it can't go on; 2 a wrong
command line; 130, 143 interrupted.

Usage:
  shardsh balance [options] [address]

%s
Examples:
  shardsh balance mongodb://host:27017 --ns shop.orders --dry-run
  shardsh balance mongodb://host:27017 --ns 'shop.*' --pause-balancing --max-bytes 100GB
  shardsh balance mongodb://host:27017 --ns shop.orders --yes --for 2h --json
  shardsh balance mongodb://host:27017 --ns shop.orders --goal chunks --dry-run --script
`, cmdline.Usage(groups))
}
