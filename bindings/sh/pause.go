package sh

import (
	"errors"

	"shardsh/balancer/action"
	"shardsh/balancer/live"

	"github.com/dop251/goja"
)

// shardPauseMethods returns the helpers that pause all runs of shardsh.
func shardPauseMethods() []helper {
	return []helper{
		{"pause", "options?:object{reason,for,until,replace,end,show}", withMongosWarning(shPause),
			"Pauses all runs of shardsh on the cluster, wherever they run: they wait before their next step. It ends after " +
				"{for}, or at {until} (18:00, or a date); without them after 4 hours. {end} ends it now, {show} only returns it. " +
				"The cluster's own balancer continues."},
	}
}

func shPause(c *call, sh *Helpers) goja.Value {
	h := c.options("pause", 0)
	verb := action.PauseRuns{
		Reason: h.text("reason"), For: h.duration("for", 0), Until: h.text("until"), Replace: h.flag("replace", false),
		End: h.flag("end", false), Show: h.flag("show", false),
	}
	result, err := verb.Run(c.JS.Context(), c.cluster(sh))
	if err != nil {
		sh.throwActionError("pause", nil, err, pausedRemedy(err), false)
	}
	return c.host.jsonFormObject(result)
}

func pausedRemedy(err error) string {
	if errors.As(err, new(*live.AlreadyPausedError)) {
		return ". To end it: sh.pause({ end: true }); to have this one take its place: {replace: true}"
	}
	return ""
}
