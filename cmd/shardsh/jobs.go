package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
)

// jobFlags are the options of "shardsh drain start", status and cancel, and of the same calls for other
// subcommands that can be jobs.
type jobFlags struct {
	clusterFlags
	commonFlags
	safetyFlags
	pace       paceFlags
	verb, call string

	shard                               string
	namespaces                          []string
	all                                 bool
	remove, movePrimaries               bool
	pauseBalancing, forceJumbo, replace bool
	json                                bool
	despite                             []string
	advisories                          string
	workFor                             time.Duration // 0: the call does not work at all
}

// The calls of a job.
const (
	callStart  = "start"
	callStatus = "status"
	callCancel = "cancel"
)

// jobVerbs returns the subcommands of two words: a subcommand that can be a job, and a call of the job.
func jobVerbs() (list []verb) {
	for _, of := range []struct{ name, which string }{
		{"drain", "--shard ID"}, {"balance", "--ns NS"}, {"defragment", "--ns NS"},
	} {
		for _, call := range []struct{ name, about string }{
			{callStart, "make or continue a job"},
			{callStatus, "how far a job is"},
			{callCancel, "end a job, and enable the balancing that it disabled"},
		} {
			list = append(list, verb{
				sectionChange, of.name + " " + call.name, of.which + " [options] [address]", call.about,
				jobText(of.name, call.name, of.which),
				func() command { return &jobFlags{verb: of.name, call: call.name} },
			})
		}
	}
	return list
}

func (o *jobFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		if o.verb == "drain" {
			f.StringVar(&o.shard, "shard", "", "`ID` shard to empty")
		} else {
			f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` "+o.verb+" these, * is a wildcard; repeat to add")
			f.BoolVar(&o.all, "all", false, o.verb+" all sharded collections")
		}
		if o.call == callStart && o.verb == "drain" {
			f.BoolVar(&o.remove, "remove", false, "mark it as draining, and remove it when it is empty")
			f.BoolVar(&o.movePrimaries, "move-primaries", false,
				"move the databases whose primary it is, and its unsharded collections")
		}
		if o.call == callStart {
			f.BoolVar(&o.pauseBalancing, "pause-balancing", false,
				"disable the cluster's balancing of these collections meanwhile")
			cmdline.Alias(f, "take-over", "pause-balancing")
			addForceJumboFlag(f, &o.forceJumbo)
			f.StringSliceVar(&o.despite, "despite", nil, "`CODE` begin although the preflight found this; repeat to add")
			addAdvisoriesFlag(f, &o.advisories)
			f.BoolVar(&o.replace, "replace", false, "use these options from now on; restart a job that has ended")
		}
		if o.call != callStatus {
			o.workFor = action.DefaultWorkFor
			cmdline.ParsedVar(f, &o.workFor, "work-for",
				"`TIME` how long this call begins steps: 8s, 5m (5s); 0 only records the job", cmdline.ParseDurationOrZero)
		}
		f.BoolVar(&o.readOnly, "read-only", false, "refuse to change anything")
		f.BoolVar(&o.json, "json", false, "print the state as JSON")
		o.addTranscriptFlag(f)
		cmdline.DurationVar(f, &o.timeout, "timeout", "`TIME` give up after 90, 30s, 5m")
		cmdline.OptionalBoolVar(f, &o.quiet, "quiet", "no notices")
	})}
	if o.call == callStart {
		pace := o.pace.group()
		pace.Flags.VisitAll(func(f *pflag.Flag) { f.Hidden = f.Hidden || f.Name == "metrics" })
		groups = append(groups, pace)
	}
	if o.call != callStatus {
		groups = append(groups, o.consentGroup())
	}
	groups = append(groups, o.server.Flags()...)
	return append(groups, mockGroup(o.addMockFlag, o.addSnapshotFlag))
}

func (o *jobFlags) parseArgs(env environment, words []string) error {
	if err := o.takeCluster(env, words, ""); err != nil {
		return err
	}
	if err := firstViolation(constraint{o.readOnly && o.call != callStatus,
		"--read-only and " + o.call + " exclude each other: status changes nothing"}); err != nil {
		return err
	}
	if o.call == callStart {
		return optionsUsageError(o.startOptions().Validate())
	}
	return optionsUsageError(o.jobVerb().Validate())
}

// jobVerb returns the action of the job.
func (o *jobFlags) jobVerb() action.JobVerb {
	run := action.RunOptions{Pace: o.pace.pace(), PauseBalancing: o.pauseBalancing, ForceJumbo: o.forceJumbo,
		PreflightOptions: action.PreflightOptions{IgnoreObstacles: o.despite, AdvisoriesFile: o.advisories}}
	if o.call != callStart {
		run.Parallel = action.DefaultParallel
	}
	switch o.verb {
	case "balance":
		return action.Balance{
			Namespaces:       o.namespaces,
			All:              o.all,
			Pace:             run.Pace,
			PreflightOptions: run.PreflightOptions,
			PauseBalancing:   run.PauseBalancing,
			ForceJumbo:       run.ForceJumbo,
		}
	case "defragment":
		return action.Defragment{Namespaces: o.namespaces, All: o.all, RunOptions: run}
	}
	return action.Drain{
		Shard: catalog.ShardID(o.shard), Remove: o.remove, MovePrimaries: o.movePrimaries, RunOptions: run,
	}
}

func (o *jobFlags) startOptions() action.JobStart {
	return action.JobStart{Verb: o.jobVerb(), WorkFor: o.workFor, Replace: o.replace}
}

// run implements one call of a job.
func (o *jobFlags) run(ctx context.Context, env environment) error {
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	conn, err := connect(ctx, env, &o.clusterFlags,
		connectOptions{readsOnly: o.call == callStatus, safetyMode: o.mode(), quiet: !o.quiet.Given || o.quiet.On})
	if err != nil {
		return preferTimeout(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.errOut()})
	cluster, r := conn.actionCluster(js.Clock), actionReporter(env, js, false, o.quiet.On)
	stages := listenForSignals(ctx)
	defer stages.end()
	var status action.JobStatus
	switch o.call {
	case callStart:
		start := o.startOptions()
		start.AbortContext = stages.hardCtx
		status, err = start.Run(ctx, cluster, r)
	case callCancel:
		cancel := action.JobCancel{Verb: o.jobVerb(), MaxWait: o.workFor,
			AbortContext: stages.hardCtx}
		status, err = cancel.Run(ctx, cluster, r)
	default:
		status, err = action.JobQuery{Verb: o.jobVerb()}.Run(ctx, cluster)
	}
	if errors.As(err, new(*action.OptionError)) {
		return optionsUsageError(err)
	}
	if err != nil {
		return preferTimeout(ctx, err)
	}
	if o.json {
		err = writeJSON(env.jsonOut(), status)
	} else {
		_, err = fmt.Fprintln(env.out(), strings.Join(actiontext.JobStatus(status), "\n"))
	}
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return preferTimeout(ctx, context.Cause(ctx))
	case !o.isHealthy(status):
		return findingsError{}
	}
	return nil
}

// isHealthy reports whether no action is needed; for cancel, that nothing is left to cancel.
func (o *jobFlags) isHealthy(status action.JobStatus) bool {
	if o.call == callCancel {
		return status.NothingToCancel()
	}
	return status.NeedsNoAction()
}

func jobText(name, call, which string) cmdline.HelpText {
	intro := map[string]string{
		callStart: `Makes a job of "shardsh ` + name + `", unless there is one, and works on it for the
time of --work-for; call it again and again, from any machine, until it is done.
All that is known of the job lies in the cluster: a call goes on where the one
before ended, or was killed. Nobody is asked. At the prompt, sh.job() does the same.`,
		callStatus: `Prints how far a job is, what keeps it from going on, and what to do next. It
only looks. At the prompt, sh.job() does the same.`,
		callCancel: `Ends a job: a call under way stops before its next step, balancing that is paused
and the mark as draining are given back. What was moved stays. Once more does no
harm. At the prompt, sh.job() does the same.`,
	}[call]
	which = strings.NewReplacer("ID", "shard3", "NS", "shop.orders").Replace(which)
	line := "shardsh " + name + " " + call + " mongodb://host:27017 " + which
	examples := []string{line, line + " --json"}
	if call == callStart {
		examples = []string{line + " --pause-balancing", line + " --pause-balancing --work-for 50s --json"}
	}
	return cmdline.HelpText{
		Intro: intro, Examples: examples,
		More: `States: pending, running, waiting, blocked, failed, done, cancelled, none. What
is blocked or failed is tried again by the next call. The job is a document of
shardsh.jobs, its journal in shardsh.journals; "shardsh apply --undo job:ID" undoes
it. For Kubernetes and other loops: docs/jobs.md.

Exit codes: 0 done, or the next call goes on (pending, running, waiting); 3 somebody
has to do something (blocked, failed, cancelled, none); of cancel: 0 nothing is left
to cancel, 3 call it again; 1 the cluster can't be asked; 2 wrong command line; 4 a
policy does not allow it; 130, 143 interrupted.`,
	}
}
