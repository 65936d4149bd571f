package sh

import (
	"errors"

	"go.mongodb.org/mongo-driver/v2/bson"

	"shardsh/balancer/live"
	"shardsh/balancer/pace"
	"shardsh/balancer/plan"
	"shardsh/balancer/runner"
	"shardsh/bindings/applying"
	"shardsh/bindings/balancing"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

const runOptions = "goal,order,opsInterval,takeOver,dryRun,coolDown,parallel,waitForLease,seed,progress," + paceNames

// shardRunMethods() have our engine at work.
func shardRunMethods() []helper {
	return []helper{
		{"balance", "ns?:string|object options?:object{" + runOptions + "}", checked(shBalance),
			"Evens out a collection, [collections] or all with the engine of shardsh, while the cluster's own balancer leaves " +
				"them alone: {takeOver: true} sees to that meanwhile; {goal: \"size\"|\"chunks\"|\"ops\", order, dryRun, " +
				"maxMoves, maxBytes, for, pauseBetween, window, pauseWhen, coolDown, parallel, waitForLease, seed, " +
				"progress}, times in ms or as \"1h30m\"."},
	}
}

// shBalance runs the engine, and returns how it ended; in a dry run, the plan.
func shBalance(c *call, sh *Helpers) goja.Value {
	names, at := c.namespacesArgument("balance")
	given := c.options("balance", at)
	o, rules := c.runOptions(given)
	o.Namespaces = names
	seed := uint64(given.count("seed"))
	o.Rand = balancing.Lots(seed)
	if given.flag("dryRun", false) || c.mayNotBalance(sh) {
		if o.Goal == runner.Ops {
			load, err := balancing.CountLoad(c.JS.Context(), c.s.commandRunner(sh), o.Clock, o.Options)
			sh.mustRun(names, err, "")
			return c.s.shown(load, load.Text())
		}
		limits := plan.Limits{Moves: rules.MaxMoves, Bytes: rules.MaxBytes, Time: rules.For}
		p, err := balancing.Plan(sh.snapshot(live.ReaderOptions{SkipLogs: true}), o.Options, seed, limits)
		sh.mustRun(names, err, "")
		return c.s.planObject(p)
	}
	progress := c.s.Display.Progress(given.flag("progress", true))
	defer progress.End()
	o.Tell = balancing.Teller{Progress: progress}.Tell
	client := sh.current().Conn.Client
	gate, away := c.gate(sh.current().Conn, rules, applying.Teller{Progress: progress, Note: c.JS.Out.Warn})
	defer away()
	o.Gate = gate
	ctx := c.JS.Context()
	if o.Insist = script.SecondInterrupt(ctx); o.Insist == nil {
		hard, leave := c.grace(ctx)
		defer leave()
		o.Hard = hard
	}
	result, err := balancing.Run(ctx, client, c.s.commandRunner(sh), o)
	report := balancing.ReportOf(result, err)
	done := ""
	if result.Rounds > 0 {
		done = " " + report.Text()
	}
	if err == nil && ctx.Err() != nil {
		c.JS.Out.Warn(report.Text())
	}
	sh.mustRun(names, err, done)
	return c.s.shown(report, report.Text())
}

func (sh *Helpers) mustRun(names []string, err error, done string) {
	switch {
	case err == nil:
	case errors.Is(err, plan.ErrNotSharded) && len(names) == 1:
		sh.notSharded(names[0])
	case errors.As(err, new(*live.HeldError)), errors.As(err, new(*runner.BusyError)), done != "",
		errors.Is(err, plan.ErrNotSharded):
		sh.s.JS.Throw(script.RuntimeError, "%s%s", err, done)
	default:
		sh.s.Gateway.Throw(err)
	}
}

// mayNotBalance has a guard look at the first thing that a run writes. Where there is
// one, that is all that happens.
func (c *call) mayNotBalance(sh *Helpers) bool {
	if !c.s.Gateway.Guarded() {
		return false
	}
	_, err := c.s.commandRunner(sh).RunCommand(c.JS.Context(), live.LeaseDatabase, bson.D{
		{Key: "findAndModify", Value: live.LeaseCollection}, {Key: "query", Value: bson.D{{Key: "_id", Value: "engine"}}},
		{Key: "update", Value: bson.D{}},
	})
	if err != nil {
		c.s.Gateway.Throw(err)
	}
	return true
}

// runOptions reads what a runner has to know, but for its collections.
func (c *call) runOptions(h helperOptions) (balancing.Options, pace.Rules) {
	rules := h.pace()
	o := balancing.Options{WaitForTurn: h.duration("waitForLease", 0), Note: c.JS.Out.Warn}
	o.TakeOver, o.Parallel, o.Clock = h.flag("takeOver", false), int(h.count("parallel")), c.JS.Clock
	o.For, o.CoolDown, o.OpsInterval = rules.For, rules.CoolDown, h.duration("opsInterval", 0)
	var err error
	if text := h.text("goal"); text != "" {
		if o.Goal, err = runner.ParseGoal(text); err != nil {
			h.refuse("goal", "one of "+listed(runner.Goals()), c.s.Display.Inspect(h.get("goal")))
		}
	}
	if text := h.text("order"); text != "" {
		if o.Order, err = runner.ParseOrder(text); err != nil {
			h.refuse("order", "one of "+listed(runner.Orders()), c.s.Display.Inspect(h.get("order")))
		}
	}
	return o, rules
}

func listed[T ~string](all []T) (text string) {
	for i, one := range all {
		if i > 0 {
			text += ", "
		}
		text += string(one)
	}
	return text
}
