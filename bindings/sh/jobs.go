package sh

import (
	"shardsh/balancer/action"
	"shardsh/balancer/catalog"

	"github.com/dop251/goja"
)

// shardJobMethods returns the helpers for jobs, which are carried out by calls from several processes.
func shardJobMethods() []helper {
	return []helper{
		{"job", "verb:string call:string options:object{shard,ns,all,remove,movePrimaries,workFor,replace," +
			"pauseBalancing,forceJumbo,parallel,despite,advisories," + paceOptionNames + "}", withMongosWarning(shJob),
			"Makes a job of \"drain\", \"balance\" or \"defragment\" and works on it for {workFor}, if the call is " +
				"\"start\"; the next call, from any machine, " +
				"goes on. \"status\" looks, \"cancel\" ends it and gives back. Returns {state, progress, blocked_by, next_steps}."},
	}
}

func shJob(c *call, sh *Helpers) goja.Value {
	h := c.options("job", 2)
	verb, do := c.Text(0), c.Text(1)
	var of action.JobVerb
	run := action.RunOptions{
		Pace: h.pace(), PauseBalancing: h.flag("pauseBalancing", false), ForceJumbo: h.flag("forceJumbo", false),
		PreflightOptions: action.PreflightOptions{IgnoreObstacles: h.texts("despite"), AdvisoriesFile: c.advisoriesPath(h)},
	}
	namespaces, all := h.texts("ns"), h.flag("all", false)
	switch verb {
	case "drain":
		of = action.Drain{
			Shard: catalog.ShardID(h.text("shard")), Remove: h.flag("remove", false),
			MovePrimaries: h.flag("movePrimaries", false), RunOptions: run,
		}
	case "balance":
		of = action.Balance{
			Namespaces:       namespaces,
			All:              all,
			Pace:             run.Pace,
			PreflightOptions: run.PreflightOptions,
			PauseBalancing:   run.PauseBalancing,
			ForceJumbo:       run.ForceJumbo,
		}
	case "defragment":
		of = action.Defragment{Namespaces: namespaces, All: all, RunOptions: run}
	default:
		c.JS.ThrowInvalid("sh.job: %q can't be a job: use \"drain\", \"balance\" or \"defragment\"", verb)
	}
	r, control, leave := c.newReporter(h)
	defer leave()
	workFor := h.duration("workFor", action.DefaultWorkFor)
	var status action.JobStatus
	var err error
	switch ctx, cluster := c.JS.Context(), c.cluster(sh); do {
	case "start":
		start := action.JobStart{Verb: of, WorkFor: workFor, Replace: h.flag("replace", false),
			AbortContext: control.AbortContext}
		status, err = start.Run(ctx, cluster, r)
	case "cancel":
		status, err = action.JobCancel{Verb: of, MaxWait: workFor, AbortContext: control.AbortContext}.Run(ctx, cluster, r)
	case "status":
		status, err = action.JobQuery{Verb: of}.Run(ctx, cluster)
	default:
		c.JS.ThrowInvalid("sh.job: %q is none of its calls: use \"start\", \"status\" or \"cancel\"", do)
	}
	leave()
	if err != nil {
		sh.throwActionError("job", nil, err, "", false)
	}
	return c.host.jsonFormObject(status)
}
