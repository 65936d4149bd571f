package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/humanize"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/verify"
	"shardsh/bindings/actiontext"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/secret"
)

// verifyFlags are those of "shardsh verify".
type verifyFlags struct {
	clusterFlags
	runFlags
	namespaces                   []string
	output, against, differences string
	restart, secondary, json     bool
	settle                       int
	settlePause, between, time   cmdline.Duration
	rate                         cmdline.Size
	window                       windowFlag

	action action.Verify
}

func (o *verifyFlags) groups() []cmdline.Group {
	o.settlePause = cmdline.Duration(action.DefaultSettlePause)
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.namespaces, "ns", nil, "`DB.COLLECTION` this collection; repeat to add")
		f.StringVarP(&o.output, "output", "o", "", "`FILE` write the digest to this file")
		f.StringVar(&o.against, "against", "", "`FILE` compare with this digest")
		f.StringVar(&o.differences, "differences", "", "`FILE` write what differs, a line of JSON each")
		f.IntVar(&o.settle, "settle", action.DefaultSettle, "`N` read ranges that differ again, up to N times")
		f.Var(&o.settlePause, "settle-pause", "`TIME` wait before that (2s)")
		f.Var(&o.rate, "max-rate", "`SIZE` read no more than 50MB a second")
		f.Var(&o.between, "pause-between", "`TIME` wait after each 16 MiB")
		f.Var(&o.time, "for", "`TIME` end after 90, 30m, 4h; run again to go on")
		f.Var(&o.window, "window", "`22:00-06:00 [ZONE]` read only then")
		f.BoolVar(&o.secondary, "secondary", false, "read from secondaries")
		f.BoolVar(&o.restart, "restart", false, "begin anew, whatever an earlier run has read")
		f.BoolVar(&o.json, "json", false, "print the result as JSON")
		o.runFlags.flags(f)
	})}
	groups = append(groups, o.server.Flags()...)
	return append(groups, mockGroup(o.mockFlag, o.snapshotFlag))
}

func (o *verifyFlags) complete(_ environment, words []string) error {
	start := len(words) > 0 && words[0] == callStart
	if start {
		words = words[1:]
	}
	if len(words) > 1 {
		return usagef("verify takes one address, not also %q", secret.Redact(words[1]))
	}
	if len(words) == 1 {
		if err := o.takeAddress(words[0]); err != nil {
			return err
		}
	}
	o.quiet = o.quietChoice.On
	if err := firstBroken(
		rule{start && o.against != "", "verify start makes a digest: leave --against out, or the word start"},
		rule{!start && o.against == "",
			"verify needs the word start, to make a digest, or --against FILE, to compare with one"},
		rule{start && o.output == "", "verify start needs -o FILE"},
		rule{o.mock == "" && o.snapshot == "" && !o.server.Named(),
			"verify needs the address of a cluster, --mock, or --snapshot FILE"},
	); err != nil {
		return err
	}
	o.action = action.Verify{
		Namespaces: o.namespaces, Output: o.output, Restart: o.restart, Against: o.against, Differences: o.differences,
		Settle: o.settle, SettlePause: time.Duration(o.settlePause), MaxRate: o.rate.Bytes,
		PauseBetween: time.Duration(o.between), For: time.Duration(o.time), Window: o.window.Window, Secondary: o.secondary,
	}
	if err := o.clusterFlags.check(); err != nil {
		return err
	}
	return wrongOptions(o.action.Validate())
}

// run is "shardsh verify": whether a collection holds the same documents as before.
func (o *verifyFlags) run(ctx context.Context, env environment) error {
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
func (o *verifyFlags) show(env environment, r action.VerifyResult) error {
	if o.json {
		if err := writeJSON(env.jsonOut(), r); err != nil {
			return err
		}
	} else if lines := actiontext.VerifyResult(r); len(lines) > 0 {
		fmt.Fprintln(env.out(), strings.Join(lines, "\n"))
	}
	took := humanize.Duration(time.Duration(r.MS) * time.Millisecond)
	switch {
	case r.Stopped != "":
		return fmt.Errorf("stopped: %s", r.Stopped)
	case r.Verdict == action.VerdictDigest:
		notice(env.stderr, o.quiet, "Read in %s. To compare later: shardsh verify --against %s ADDRESS", took, r.Output)
		return nil
	case r.Verdict == string(verify.Different):
		return findingsError{}
	case r.Same():
		return nil
	}
	return reportedError{errors.New("it can't be told whether all is as it was")}
}

func verifyText() cmdline.Text {
	return cmdline.Text{
		Intro: `Proves that collections hold the same documents before and after moves, drains,
restores or upgrades. "verify start" reads them and writes a digest; "verify
--against" reads them again and compares, byte by byte. It changes nothing.`,
		Usage: []string{
			"shardsh verify start --ns DB.COLLECTION -o FILE [options] [address]",
			"shardsh verify --against FILE [options] [address]",
		},
		Examples: []string{
			"shardsh verify start --ns shop.orders -o before.digest mongodb://host:27017",
			"shardsh verify --against before.digest mongodb://host:27017",
		},
		More: `Documents that were written since are known as far back as the oplog goes. A run
that was ended goes on when it is entered again. Exit code 0: the same but for
writes; 3: different; 1: unknown. At the prompt: sh.verify("shop.orders").`,
	}
}
