package sh

import (
	"shardsh/balancer/action"
	"shardsh/balancer/apply"
	"shardsh/balancer/plan"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

const applyOptionNames = "journal,resume,undo,onChange,approve,verify,pauseBalancing,forceJumbo,parallel,dryRun," +
	"progress," + preflightOptionNames + "," + paceOptionNames

// shardApplyMethods returns the helpers that apply plans.
func shardApplyMethods() []helper {
	return []helper{
		{"apply", "plan?:string|object options?:object{" + applyOptionNames + "}", withMongosWarning(shApply),
			"Applies a plan of sh.plan(), or of a file, and records its steps in a journal; {resume: journal} continues " +
				"an interrupted run, {undo: journal} undoes it; {approve: hash} applies only the plan with this hash; " +
				"{journal, onChange: \"replan\", pauseBalancing, forceJumbo, " +
				"parallel, maxBytes, maxMoves, for, pauseBetween, window: \"22:00-06:00 UTC\", timeZone, " +
				"pauseWhen: \"lag > 10s\", diskLimit: \"85%\", verify: true, dryRun, preflight, despite, advisories, " +
				"progress}, times in ms or as \"1h30m\"."},
		{"undo", "journal:string", withMongosWarning(shUndo),
			"Returns the plan that undoes the run of a journal of sh.apply(): sh.apply(sh.undo(journal))."},
	}
}

func shUndo(c *call, _ *Helpers) goja.Value {
	path := c.Text(0)
	c.checkMayRead(path)
	h, err := apply.LoadJournal(path)
	if err != nil {
		c.JS.Throw(script.RuntimeErrorName, "%s", err)
	}
	p, err := apply.UndoPlan(h)
	if err != nil {
		c.JS.Throw(script.RuntimeErrorName, "%s: %s", path, err)
	}
	return c.host.planObject(p)
}

func (c *call) checkMayRead(path string) {
	if err := c.host.Sandbox.CheckRead(path); err != nil {
		c.JS.Throw(script.RuntimeErrorName, "%s", err)
	}
}

func (c *call) checkMayWrite(path string) {
	if err := c.host.Sandbox.CheckWrite(); err != nil {
		c.JS.Throw(script.RuntimeErrorName, "%s: %s", path, err)
	}
}

// shApply applies a plan, and returns its result.
func shApply(c *call, sh *Helpers) goja.Value {
	at := 1
	if first := c.Object(0); first != nil && script.Property(first, "steps") == nil { // only options
		at = 0
	}
	o := c.options("apply", at)
	a := action.Apply{UndoJournal: o.text("undo"), ChangePolicy: apply.ChangePolicy(o.text("onChange")),
		ApprovedHash: o.text("approve")}
	if a.UndoJournal != "" {
		c.checkMayWrite(a.UndoJournal)
	}
	if a.ChangePolicy != "" && a.ChangePolicy != apply.RefuseChanges && a.ChangePolicy != apply.ReplanOnChange {
		o.throwWrongOption("onChange", `"refuse" or "replan"`, c.host.Display.Inspect(o.value("onChange")))
	}
	hasPlan := at > 0 && c.Has(0) && !goja.IsNull(c.Arg(0))
	switch journal := a.UndoJournal != "" || o.text("resume") != ""; {
	case hasPlan && journal:
		c.JS.ThrowInvalid("sh.apply takes a plan, or only { resume: journal }, or only { undo: journal }: " +
			"the journal has its plan")
	case hasPlan:
		a.Plan, a.PlanFile = c.planArgument()
	case !journal:
		c.JS.ThrowInvalid("sh.apply needs a plan of sh.plan(), the file of one, or { resume: journal } or { undo: journal }")
	}
	return c.runPlanAction(sh, o, nil, func(e action.RunOptions) planAction {
		a.RunOptions = e
		return a
	})
}

// planArgument returns the first argument: a plan, or the plan in a file.
func (c *call) planArgument() (p *plan.Plan, path string) {
	var err error
	if goja.IsString(c.Arg(0)) {
		path = c.Text(0)
		c.checkMayRead(path)
		if p, err = plan.ReadFile(path); err != nil {
			c.JS.Throw(script.RuntimeErrorName, "%s", err)
		}
	} else if p, err = c.host.PlanOf(c.Arg(0)); err != nil {
		c.JS.ThrowInvalid("sh.apply: %s", err)
	}
	if p.Goal.Kind == plan.Undo {
		c.checkMayWrite(p.Undoes)
	}
	return p, path
}
