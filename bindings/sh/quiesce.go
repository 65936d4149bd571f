package sh

import (
	"context"
	"strings"

	"shardsh/balancer/action"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/script"

	"github.com/dop251/goja"
)

// shardQuiesceMethods returns the helpers that stop the balancer and check that nothing moves.
func shardQuiesceMethods() []helper {
	return []helper{
		{
			"quiesce",
			"options?:object{timeout,hold,detach,end,ignoreDeletions,dryRun} inside?:function",
			withMongosWarning(shQuiesce),
			"Stops the balancer, waits until no shard migrates, merges, reshards or deletes ranges, calls the function or " +
				"waits for {hold}, and restores the balancer's state; throws if something moved. {timeout, hold, detach, end, " +
				"ignoreDeletions, dryRun}: {detach} returns at once, and a later call with {end} restores.",
		},
	}
}

func shQuiesce(c *call, sh *Helpers) goja.Value {
	h := c.options("quiesce", 0)
	verb := action.Quiesce{
		Timeout: h.duration("timeout", 0), Hold: h.duration("hold", 0), Detach: h.flag("detach", false),
		End: h.flag("end", false), IgnoreDeletions: h.flag("ignoreDeletions", false), DryRun: h.flag("dryRun", false),
	}
	var thrown error
	if f, ok := goja.AssertFunction(c.Arg(1)); ok {
		verb.WhileQuiet = func(context.Context) error {
			_, thrown = f(goja.Undefined())
			return thrown
		}
	}
	r := &actiontext.Reporter{Note: c.JS.Out.Warn}
	result, err := verb.Run(c.JS.Context(), c.cluster(sh), r)
	switch {
	case thrown != nil:
		if result.GivenBack != "" {
			c.JS.Out.Warn(strings.Join(actiontext.QuiesceResult(result), "\n"))
		}
		c.JS.Rethrow(thrown)
	case err != nil:
		sh.throwActionError("quiesce", nil, err, "", result.Verdict != "")
	case !result.Succeeded():
		c.JS.Throw(script.RuntimeErrorName, "sh.quiesce: %s", strings.Join(actiontext.QuiesceResult(result), "\n"))
	}
	commands := result.Commands
	result.Commands = nil // scripts get them as documents
	object := c.host.jsonFormObject(result)
	if len(commands) > 0 {
		script.Must(object.Set("commands", c.JS.DocumentArray(commandBodies(commands))))
	}
	return object
}
