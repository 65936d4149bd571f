package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/live"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// pauseFlags are the options of "shardsh pause".
type pauseFlags struct {
	clusterFlags
	commonFlags
	safetyFlags
	action   action.PauseRuns
	duration time.Duration
	json     bool
}

func (o *pauseFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		cmdline.DurationVar(f, &o.duration, "for", "`TIME` how long it lasts: 30m, 2h (4h)")
		f.StringVar(&o.action.Until, "until", "", "`TIME` when it ends: 18:00, \"2026-03-02 18:00\", 2026-03-02T18:00:00Z")
		f.BoolVar(&o.action.Replace, "replace", false, "take the place of a pause that is active")
		f.BoolVar(&o.action.End, "end", false, "end the pause before its time is over, regardless of who set it")
		f.BoolVar(&o.action.Show, "show", false, "only print the pause; exit code 3 while runs are paused")
		f.BoolVar(&o.readOnly, "read-only", false, "refuse to change anything")
		f.BoolVar(&o.json, "json", false, "print the result as JSON")
		o.addTranscriptFlag(f)
		o.addFlags(f)
	})}
	groups = append(append(groups, o.consentGroup()), o.server.Flags()...)
	return append(groups, mockGroup(o.addMockFlag, o.addSnapshotFlag))
}

func (o *pauseFlags) parseArgs(env environment, words []string) error {
	o.action.For = o.duration
	if !o.action.End && !o.action.Show {
		if len(words) == 0 {
			return usagef("pause needs a reason, which everybody who waits is shown: shardsh pause \"why\" ADDRESS")
		}
		if target.IsURI(words[0]) {
			return usagef("the reason comes before the address: shardsh pause \"why\" ADDRESS")
		}
		o.action.Reason, words = words[0], words[1:]
	}
	if len(words) > 1 {
		return usagef("there is one word too many: %q; put a reason of several words in quotes", secret.Redact(words[1]))
	}
	if len(words) == 1 {
		if err := o.takeAddress(words[0]); err != nil {
			return err
		}
	}
	if err := o.requireCluster(env); err != nil {
		return err
	}
	if err := firstViolation(
		constraint{o.readOnly && !o.action.Show, "--read-only and pause exclude each other: --show only looks"},
	); err != nil {
		return err
	}
	return optionsUsageError(o.action.Validate())
}

// run implements "shardsh pause": it keeps all runs of shardsh from beginning further steps.
func (o *pauseFlags) run(ctx context.Context, env environment) error {
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	conn, err := connect(ctx, env, &o.clusterFlags,
		connectOptions{readsOnly: o.action.Show, safetyMode: o.mode(), quiet: !o.quiet.Given || o.quiet.On})
	if err != nil {
		return preferTimeout(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.errOut()})
	result, err := o.action.Run(ctx, conn.actionCluster(js.Clock))
	paused := errors.As(err, new(*live.AlreadyPausedError))
	if err != nil && !paused {
		return preferTimeout(ctx, withFlagNames(err))
	}
	if err := o.show(env, result); err != nil {
		return err
	}
	if paused || o.action.Show && result.Paused {
		return findingsError{}
	}
	return nil
}

func (o *pauseFlags) show(env environment, r action.PauseRunsResult) error {
	if o.json {
		return writeJSON(env.jsonOut(), r)
	}
	_, err := fmt.Fprintln(env.out(), strings.Join(actiontext.PauseResult(r, "shardsh pause --end"), "\n"))
	return err
}

func pauseText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Pauses all runs of shardsh on a cluster, wherever they run: apply, balance, drain,
defragment, presplit and sh. A run ends what is under way, waits before its next step
and says why, and goes on when the time is over or the pause is ended. The cluster's
own balancer goes on: quiesce stops it. At the prompt: sh.pause().`,
		Examples: []string{
			`shardsh pause "incident 4711" mongodb://host:27017 --for 2h`,
			`shardsh pause "release" mongodb://host:27017 --until 18:00`,
			"shardsh pause --show mongodb://host:27017",
			"shardsh pause --end mongodb://host:27017",
		},
		More: `The pause stands in shardsh.leases, with who has set it and from where. It always
ends by itself: after 4 hours unless said otherwise, after 31 days at most.

Exit codes: 0 done; 3 paused already (with --show: paused); 1 error; 2 wrong command
line.`,
	}
}
