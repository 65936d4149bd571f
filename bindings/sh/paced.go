package sh

import (
	"context"
	"errors"
	"strings"

	"shardsh/balancer/apply"
	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/balancer/plan"
	"shardsh/bindings/applying"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

// pacedNames are the options by which a helper that has the cluster's balancer do
// something has our engine do it instead, at a pace.
const pacedNames = "takeOver,parallel,journal,dryRun," + paceNames

// pacedHelp is what the help of such a helper says of it.
const pacedHelp = "With one of {takeOver, parallel, maxMoves, maxBytes, for, pauseBetween, window, pauseWhen, " +
	"journal, dryRun} the engine of shardsh does it by plan, at that pace, and returns how it ended, as sh.apply() does."

// paced reports whether one of the options of a pace was given. Others that are for
// the balancer alone are a mistake then.
func (h helperOptions) paced(others ...string) bool {
	var given string
	for _, name := range strings.Split(pacedNames, ",") {
		if h.o != nil && script.Property(h.o, name) != nil {
			given = name
		}
	}
	if given == "" {
		return false
	}
	for _, name := range others {
		if h.get(name) != nil {
			h.c.JS.ThrowInvalid("sh.%s: %s is for what the cluster's balancer does, and with %s the engine of shardsh does it "+
				"(its limit is for)", h.helper, name, given)
		}
	}
	return true
}

// reach makes a plan to a goal and carries it out.
func (c *call) reach(
	sh *Helpers, o helperOptions, goal plan.Goal,
	besides func(*applying.Turn) (before, after func(context.Context) error),
) *goja.Object {
	e := errand{options: c.applyOptions(o), rules: o.pace(), besides: besides, aims: true}
	e.options.OnChange = apply.Replan
	s := sh.snapshot(live.ReaderOptions{SkipLogs: true})
	sh.needCatalog(s, goal.Namespaces)
	p, err := plan.Make(apply.Resumed(s, live.PausedByUs(c.JS.Context(), sh.current().Conn.Client)),
		plan.Options{Goal: goal, IgnoreWindow: true})
	switch {
	case errors.Is(err, plan.ErrNotSharded) && len(goal.Namespaces) == 1:
		sh.notSharded(goal.Namespaces[0])
	case err != nil:
		c.JS.Throw(script.RuntimeError, "%s", err)
	}
	e.open = func() *apply.Execution { return c.begun(o, p, e.options.DryRun) }
	return c.carryOut(sh, o, e)
}

// tidyUp gives back the turn of a run that was killed at its very end.
func (c *call) tidyUp(sh *Helpers) {
	if err := applying.TidyUp(c.JS.Context(), sh.current().Conn.Client); err != nil {
		c.s.Gateway.Throw(err)
	}
}

// drainPaced empties a shard by moves of our engine.
func (c *call) drainPaced(sh *Helpers, o helperOptions, id string, end drainEnd) goja.Value {
	goal := plan.Goal{Kind: plan.Drain, Shard: catalog.ShardID(id)}
	removed := func() bool { return sh.shardEntry(id) == nil }
	result := c.reach(sh, o, goal, func(t *applying.Turn) (before, after func(context.Context) error) {
		d := applying.Draining{
			Turn: t, Shard: goal.Shard, Remove: end.remove, MovePrimaries: end.movePrimaries, Clock: c.JS.Clock,
			Tell: c.JS.Out.Warn,
		}
		return d.Start, d.Finish
	})
	script.Must(result.Set("shard", id))
	script.Must(result.Set("removed", end.remove && removed()))
	return result
}

// defragmentPaced merges the small chunks of a collection by our engine.
func (c *call) defragmentPaced(sh *Helpers, o helperOptions, ns string) goja.Value {
	return c.reach(sh, o, plan.Goal{Kind: plan.Defragment, Namespaces: []string{ns}}, nil)
}
