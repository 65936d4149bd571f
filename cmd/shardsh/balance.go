package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"shardsh/balancer/apply"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
	"shardsh/bindings/applying"
	"shardsh/bindings/balancing"
	"shardsh/bindings/display"
	"shardsh/bindings/findings"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/secret"
)

// balance is "shardsh balance": our engine at work on a cluster.
func (env environment) balance(ctx context.Context) error {
	var o balanceLine
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
	if o.goal == string(runner.Ops) && !o.yes {
		return because(ctx, env.balanceOperations(ctx, conn, js, o))
	}
	p, err := env.whatToBalance(ctx, conn, o)
	switch {
	case err != nil:
		return because(ctx, err)
	case o.dryRun:
		return env.showPlan(o, p)
	case !o.yes:
		fmt.Fprint(env.told(), findings.PlanText(p, false))
		if err := env.agreed(ctx, "Carry it out?"); err != nil {
			return err
		}
	}
	return env.balances(ctx, conn, js, o, p)
}

// balanceOperations shows what is counted now, which is all that can be told, and asks
// whether to go on.
func (env environment) balanceOperations(
	ctx context.Context, conn *connection, js *script.Engine, o balanceLine,
) error {
	load, err := balancing.CountLoad(ctx, live.NewCommandRunner(conn.client), js.Clock, o.runs(js.Clock))
	if err != nil {
		return err
	}
	if o.dryRun && o.json {
		return writeJSON(env.toldJSON(), load)
	}
	fmt.Fprint(env.told(), load.Text())
	if o.dryRun {
		notice(env.stderr, o.quiet, "Nothing was done: --yes has it done.")
		return nil
	}
	if err := env.agreed(ctx, "Even it out?"); err != nil {
		return err
	}
	return env.balances(ctx, conn, js, o, nil)
}

// whatToBalance plans what a run would do. Where nobody looks at it, it is for the
// time to go alone.
func (env environment) whatToBalance(ctx context.Context, conn *connection, o balanceLine) (*plan.Plan, error) {
	if o.yes && ((o.quiet || o.json) && o.pace.metrics == "" || o.goal == string(runner.Ops)) {
		return nil, nil //nolint:nilnil // nobody asks for it
	}
	s, err := live.NewReader(conn.client, live.ReaderOptions{Parts: live.Current}).Read(ctx)
	if err != nil {
		return nil, err
	}
	s = apply.Resumed(s, live.PausedByUs(ctx, conn.client))
	p, err := collecting(often, func() (*plan.Plan, error) { return balancing.Plan(s, o.runs(nil), o.seed, o.limits()) })
	if err == nil && !o.takeOver && !o.yes {
		if busy := runner.InTheWay(s, p.Goal.Namespaces, o.pace.rules().For); busy != nil {
			fmt.Fprintf(env.warned(), "This can't be done yet: %v\n", busy)
		}
	}
	return p, err
}

// showPlan prints what would be done.
func (env environment) showPlan(o balanceLine, p *plan.Plan) error {
	switch {
	case o.json:
		return writeJSON(env.toldJSON(), p)
	case o.script:
		return p.Script(env.told())
	}
	fmt.Fprint(env.told(), findings.PlanText(p, false))
	notice(env.stderr, o.quiet, "Nothing was done: --yes has it done.")
	return nil
}

// balances runs the engine, and tells of it.
func (env environment) balances(
	ctx context.Context, conn *connection, js *script.Engine, o balanceLine, p *plan.Plan,
) error {
	d := display.New(display.Options{Terminal: isTerminal(env.stderr)})
	d.JS = js
	teller := balancing.Teller{
		Progress: d.Progress(!o.quiet && !o.json),
		Line:     func(text string) { fmt.Fprintln(env.told(), text) },
	}
	stages := listenForMore(ctx)
	defer stages.end()
	options := balancing.Options{
		Options: o.runs(js.Clock), WaitForTurn: time.Duration(o.wait), Insist: stages.insist,
		Note: func(text string) {
			teller.Progress.End()
			notice(env.stderr, o.quiet, "%s", text)
		},
	}
	var turn atomic.Pointer[live.LeasedCluster]
	options.Taken = turn.Store
	gate, away, err := o.pace.gate(ctx, conn, js.Clock, false,
		applying.Teller{Progress: teller.Progress, Note: options.Note}.Waits, holderOf(&turn))
	if err != nil {
		return because(ctx, err)
	}
	defer away()
	teller.Plan, teller.Gate = p, gate
	options.Hard, options.Gate, options.Tell = stages.hard, gate, teller.Tell
	if o.json {
		options.Tell = func(e runner.Event) {
			teller.Expect(e)
			_ = writeLine(env.toldJSON(), balancing.MomentOf(e))
		}
	}
	noted := make(chan struct{})
	stopNote := context.AfterFunc(ctx, func() {
		defer close(noted)
		notice(env.stderr, o.quiet, "Stopping after what is under way. Ctrl-C again asks the servers to stop it.")
	})
	result, err := balancing.Run(ctx, conn.client, live.NewCommandRunner(conn.client), options)
	if !stopNote() {
		<-noted
	}
	teller.Progress.End()
	return env.balanced(ctx, o, result, err)
}

// holderOf is who holds the lease of a turn, once it was taken.
func holderOf(turn *atomic.Pointer[live.LeasedCluster]) func() (live.Holder, bool) {
	return func() (live.Holder, bool) {
		if t := turn.Load(); t != nil {
			return t.Holder(), true
		}
		return live.Holder{}, false
	}
}

// balanced tells how it ended.
func (env environment) balanced(ctx context.Context, o balanceLine, result runner.Result, err error) error {
	report := balancing.ReportOf(result, err)
	switch {
	case o.json:
		report.Error = secret.Redact(report.Error)
		if err := writeLine(env.toldJSON(), report); err != nil {
			return err
		}
	case err == nil || result.Rounds > 0:
		fmt.Fprintln(env.told(), report.Text())
	}
	if err == nil && result.Stopped != "" && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return because(ctx, err)
}

func writeLine(to io.Writer, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(to, "%s\n", text)
	return err
}

// stages are what the signals after the first one ask for. That one ends the
// context of the program.
type stages struct {
	insist chan struct{}   // is closed by the second
	hard   context.Context // ends with the third, and soon after --timeout and SIGTERM
	end    func()
}

// errLeft says that what is under way was left to the cluster.
var errLeft = errors.New("left by the user while moves were under way")

func listenForMore(ctx context.Context) stages {
	caught := make(chan os.Signal, 3)
	done := make(chan struct{})
	signal.Notify(caught, os.Interrupt, syscall.SIGTERM)
	steps, forget := impatient(ctx)
	hard, leave := context.WithCancelCause(steps)
	s := stages{insist: make(chan struct{}), hard: hard, end: func() {
		signal.Stop(caught)
		close(done)
		leave(nil)
		forget()
	}}
	go func() {
		for n := 1; n <= 3; n++ {
			select {
			case <-caught:
			case <-done:
				return
			}
			switch n {
			case 2:
				close(s.insist)
			case 3:
				leave(errLeft)
			}
		}
	}()
	return s
}
