package sh

import (
	"shardsh/balancer/action"
	"shardsh/balancer/heat"
	"shardsh/balancer/humanize"
	"shardsh/balancer/runner"
	"shardsh/bindings/actiontext"

	"github.com/dop251/goja"
)

const balanceOptionNames = "all,goal,order,by,opsInterval,pauseBalancing,forceJumbo,dryRun,coolDown,parallel," +
	"waitForLease,seed,progress,giveBack," + preflightOptionNames + "," + paceOptionNames

// shardRunMethods returns the helpers that run the engine of shardsh.
func shardRunMethods() []helper {
	return []helper{
		{"balance", "ns?:string|object options?:object{" + balanceOptionNames + "}", withMongosWarning(shBalance),
			"Balances a collection, [collections] or {all: true} with shardsh's own engine, while the cluster's balancer is " +
				"off for them: {pauseBalancing: true} disables it meanwhile; {goal: \"size\"|\"chunks\"|\"ops\"|\"load\", order, " +
				"by, forceJumbo, dryRun, maxMoves, maxBytes, for, pauseBetween, window, timeZone, pauseWhen, diskLimit, " +
				"coolDown, parallel, waitForLease, seed, preflight, despite, advisories, progress}, times in ms or as \"1h30m\"; " +
				"{giveBack: true} only enables balancing that a killed run left disabled."},
	}
}

// shBalance runs the engine and returns the result. A dry run returns the plan.
func shBalance(c *call, sh *Helpers) goja.Value {
	names, at := c.namespacesArgument("balance")
	h := c.options("balance", at)
	if h.flag("giveBack", false) {
		if len(names) > 0 || h.flag("all", false) {
			c.JS.ThrowInvalid("sh.balance: {giveBack} is for all that a run left: it takes no collections and no {all}")
		}
		return shGiveBack(c, sh, h)
	}
	b := action.Balance{
		Namespaces: names, All: h.flag("all", false),
		Goal:        parsedOption(c, h, "goal", runner.BalanceGoals(), runner.ParseBalanceGoal),
		Order:       parsedOption(c, h, "order", runner.Orders(), runner.ParseOrder),
		OpsInterval: h.duration("opsInterval", 0), LoadKind: heat.LoadKind(h.text("by")),
		CoolDown: h.duration("coolDown", 0), WaitForLease: h.duration("waitForLease", 0), Seed: uint64(h.count("seed")),
		Pace: h.pace(), PauseBalancing: h.flag("pauseBalancing", false), DryRun: h.flag("dryRun", false),
		ForceJumbo:       h.flag("forceJumbo", false),
		PreflightOptions: c.preflightOptions(h),
	}
	r, control, leave := c.newReporter(h)
	defer leave()
	b.Control = control
	result, err := b.Run(c.JS.Context(), c.cluster(sh), r)
	leave()
	text := actiontext.BalanceResult(result)
	switch began := result.Rounds > 0; {
	case err != nil && began:
		sh.throwActionError("balance", names, err, " "+text, began)
	case err != nil:
		sh.throwActionError("balance", names, err, "", began)
	case b.PreflightOnly:
		return c.host.preflightObject(*result.Preflight)
	case result.Heat != nil:
		return c.host.printableObject(result.Heat, actiontext.HeatPlan(*result.Heat))
	case result.OpsPreview != nil:
		return c.host.printableObject(result.OpsPreview, actiontext.OpsPreviewText(*result.OpsPreview))
	case result.Plan != nil:
		return c.host.planObject(result.Plan)
	case c.JS.Context().Err() != nil:
		c.JS.Out.Warn(text)
	}
	return c.host.printableObject(result, text)
}

// shGiveBack enables the balancing that a run has left disabled.
func shGiveBack(c *call, sh *Helpers, h helperOptions) goja.Value {
	r, control, leave := c.newReporter(h)
	defer leave()
	back := action.GiveBack{DryRun: h.flag("dryRun", false), AbortContext: control.AbortContext}
	result, err := back.Run(c.JS.Context(), c.cluster(sh), r)
	leave()
	if err != nil {
		sh.throwActionError("balance", nil, err, "", len(result.Enabled) > 0)
	}
	return c.host.printableObject(result, actiontext.GiveBackResult(result))
}

// parsedOption returns an option that is one of a list of words; empty without the option.
func parsedOption[T ~string](c *call, h helperOptions, name string, words []T, parse func(string) (T, error)) T {
	text := h.text(name)
	if text == "" {
		return ""
	}
	v, err := parse(text)
	if err != nil {
		h.throwWrongOption(name, "one of "+humanize.Join(words, ", "), c.host.Display.Inspect(h.value(name)))
	}
	return v
}
