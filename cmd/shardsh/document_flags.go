package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/mongoerr"
	"shardsh/balancer/pace"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
)

// documentsFlags are the flags of the subcommands that read the documents of collections.
type documentsFlags struct {
	clusterFlags
	commonFlags
	namespaces                        []string
	secondary, json                   bool
	settle                            int
	settlePause, between, maxDuration time.Duration
	rate                              int64
	window                            *pace.Window
}

// group returns the subcommand's own options and the common ones. differing names, in the help, what is
// read again.
func (o *documentsFlags) group(differing, namespaces string, own func(*pflag.FlagSet)) []cmdline.Group {
	o.settlePause = action.DefaultRereadPause
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.namespaces, "ns", nil, namespaces)
		own(f)
		f.IntVar(&o.settle, "settle", action.DefaultMaxRereads, "`N` read "+differing+" again, up to N times")
		cmdline.DurationVar(f, &o.settlePause, "settle-pause", "`TIME` wait before that (2s)")
		cmdline.ParsedVar(f, &o.rate, "max-rate", "`SIZE` read no more than 50MB a second", catalog.ParseSize)
		cmdline.DurationVar(f, &o.between, "pause-between", "`TIME` wait after each 16 MiB")
		cmdline.DurationVar(f, &o.maxDuration, "for", "`TIME` end after 90, 30m, 4h")
		addWindowFlag(f, &o.window, "read only then")
		f.BoolVar(&o.secondary, "secondary", false, "read documents from secondaries")
		f.BoolVar(&o.json, "json", false, "print the result as JSON")
		o.commonFlags.addFlags(f)
	})}
	groups = append(groups, o.server.Flags()...)
	return append(groups, mockGroup(o.addMockFlag, o.addSnapshotFlag))
}

// takeAddressWord takes the words behind a verb: the address of a cluster, or none.
func (o *documentsFlags) takeAddressWord(env environment, words []string) error {
	if err := o.takeOnlyAddress(env, words, ""); err != nil {
		return err
	}
	o.quiet = o.quietChoice.On
	return o.requireCluster(env)
}

// connectAndRead connects and runs an action; resume is the file from which the action can be resumed
// if it did not finish.
func (o *documentsFlags) connectAndRead(ctx context.Context, env environment,
	run func(context.Context, action.Cluster, action.Reporter) (resume string, err error)) error {
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	conn, err := connect(ctx, env, &o.clusterFlags, connectOptions{readsOnly: true, quiet: true})
	if err != nil {
		return preferTimeout(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.errOut()})
	r := actionReporter(env, js, !o.quiet, o.quiet)
	resume, err := run(ctx, conn.actionCluster(js.Clock), r)
	r.Progress.End()
	if resume != "" {
		notice(env.stderr, o.quiet, "The progress is in %s: run the same command again to continue.", resume)
	}
	if _, wrong := errors.AsType[*action.OptionError](err); wrong {
		return optionsUsageError(err)
	}
	if mongoerr.Is(err, mongoerr.NamespaceNotFound) {
		return usagef("%w", err)
	}
	return preferTimeout(ctx, err)
}
