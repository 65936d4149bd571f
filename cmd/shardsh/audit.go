package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/mongoerr"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// auditFlags are those of "shardsh audit".
type auditFlags struct {
	clusterFlags
	runFlags
	namespaces                 []string
	export, checkpoint         string
	metadata, secondary, json  bool
	settle                     int
	sample                     int64
	settlePause, between, time cmdline.Duration
	rate                       cmdline.Size
	window                     windowFlag

	action action.Audit
}

func (o *auditFlags) groups() []cmdline.Group {
	o.settlePause = cmdline.Duration(action.DefaultSettlePause)
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB[.COLLECTION]` this one; repeat to add (all)")
		f.BoolVar(&o.metadata, "metadata", false, "leave the documents out")
		f.Int64Var(&o.sample, "sample", 0, "`N` read N documents of each collection")
		f.StringVar(&o.export, "export", "", "`DIR` save documents of findings, a file each")
		f.StringVar(&o.checkpoint, "checkpoint", "", "`FILE` keep the progress there; run again to go on")
		f.IntVar(&o.settle, "settle", action.DefaultSettle, "`N` read what looks wrong again, up to N times")
		f.Var(&o.settlePause, "settle-pause", "`TIME` wait before that (2s)")
		f.Var(&o.rate, "max-rate", "`SIZE` read no more than 50MB a second")
		f.Var(&o.between, "pause-between", "`TIME` wait after each 16 MiB")
		f.Var(&o.time, "for", "`TIME` end after 90, 30m, 4h")
		f.Var(&o.window, "window", "`22:00-06:00 [ZONE]` read only then")
		f.BoolVar(&o.secondary, "secondary", false, "read documents from secondaries")
		f.BoolVar(&o.json, "json", false, "print the result as JSON")
		o.runFlags.flags(f)
	})}
	groups = append(groups, o.server.Flags()...)
	return append(groups, mockGroup(o.mockFlag, o.snapshotFlag))
}

func (o *auditFlags) complete(_ environment, words []string) error {
	if len(words) > 1 {
		return usagef("audit takes one address, not also %q", secret.Redact(words[1]))
	}
	if len(words) == 1 {
		if err := o.takeAddress(words[0]); err != nil {
			return err
		}
	}
	o.quiet = o.quietChoice.On
	if err := firstBroken(rule{o.mock == "" && o.snapshot == "" && !o.server.Named(),
		"audit needs the address of a cluster, --mock, or --snapshot FILE"}); err != nil {
		return err
	}
	o.action = action.Audit{
		Namespaces: o.namespaces, Metadata: o.metadata, Sample: o.sample, Export: o.export, Checkpoint: o.checkpoint,
		Settle: o.settle, SettlePause: time.Duration(o.settlePause), MaxRate: o.rate.Bytes,
		PauseBetween: time.Duration(o.between), For: time.Duration(o.time), Window: o.window.Window, Secondary: o.secondary,
	}
	if err := o.clusterFlags.check(); err != nil {
		return err
	}
	return wrongOptions(o.action.Validate())
}

// run is "shardsh audit": whether things lie where they should.
func (o *auditFlags) run(ctx context.Context, env environment) error {
	ctx, cancel := o.bounded(ctx)
	defer cancel()
	conn, err := connect(ctx, env, &o.clusterFlags, session{looks: true, quiet: true})
	if err != nil {
		return orTimeout(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.errOut()})
	r := actionReporter(env, js, !o.quiet, o.quiet)
	result, err := o.action.Run(ctx, conn.actionCluster(js.Clock), r)
	r.Progress.End()
	if result.Resume != "" {
		notice(env.stderr, o.quiet, "The progress is in %s: enter the same again to go on.", result.Resume)
	}
	if _, wrong := errors.AsType[*action.OptionError](err); wrong {
		return wrongOptions(err)
	}
	switch {
	case mongoerr.Is(err, mongoerr.NamespaceNotFound):
		return usagef("%w", err)
	case err != nil:
		return orTimeout(ctx, err)
	}
	return o.show(env, result)
}

// show prints the result. The error is how it is told to the caller.
func (o *auditFlags) show(env environment, r action.AuditResult) error {
	if o.json {
		if err := writeJSON(env.jsonOut(), r); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(env.out(), strings.Join(actiontext.AuditResult(r), "\n"))
	}
	switch {
	case r.Verdict == action.AuditFindings:
		return findingsError{}
	case r.Stopped != "":
		return fmt.Errorf("stopped: %s", r.Stopped)
	case r.Verdict == action.AuditClean:
		return nil
	}
	return reportedError{errors.New("not everything could be seen")}
}

func auditText() cmdline.Text {
	return cmdline.Text{
		Intro: `Finds what lies on shards where it should not: orphans, documents that exist
nowhere else or twice, indexes and options that differ, gaps of chunks. It
reads each shard directly, and changes nothing.`,
		Usage: []string{"shardsh audit [options] [address]"},
		Examples: []string{
			"shardsh audit --metadata mongodb://host:27017",
			"shardsh audit --ns shop.orders --export saved mongodb://host:27017",
		},
		More: `Each finding has the commands that mend it. What looks wrong while something
moves is read again. Exit code 0: nothing was found; 3: something was; 1: not
all could be seen. At the prompt: sh.audit("shop.orders").`,
	}
}
