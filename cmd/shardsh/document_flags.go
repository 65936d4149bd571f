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
	namespaces                             []string
	secondary, json                        bool
	maxRereads                             int
	rereadPause, pauseBetween, maxDuration time.Duration
	rate                                   int64
	window                                 *pace.Window
}

// group returns the subcommand's own options and the common ones. differing names, in the help, what is
// read again.
func (o *documentsFlags) group(differing, namespaces string, own func(*pflag.FlagSet)) []cmdline.Group {
	o.rereadPause = action.DefaultRereadPause
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringArrayVar(&o.namespaces, "ns", nil, namespaces)
		own(f)
		f.IntVar(&o.maxRereads, "settle", action.DefaultMaxRereads, "`N` read "+differing+" again, up to N times")
		cmdline.DurationVar(f, &o.rereadPause, "settle-pause", "`TIME` wait before that (2s)")
		cmdline.ParsedVar(f, &o.rate, "max-rate", "`SIZE` read no more than 50MB a second", catalog.ParseSize)
		cmdline.DurationVar(f, &o.pauseBetween, "pause-between", "`TIME` wait after each 16 MiB")
		cmdline.DurationVar(f, &o.maxDuration, "for", "`TIME` end after 90, 30m, 4h")
		addWindowFlag(f, &o.window, "read only then")
		f.BoolVar(&o.secondary, "secondary", false, "read documents from secondaries")
		f.BoolVar(&o.json, "json", false, "print the result as JSON")
		o.commonFlags.addFlags(f)
	})}
	groups = append(groups, o.server.Flags()...)
	return append(groups, mockGroup(o.addMockFlag, o.addSnapshotFlag))
}

// connectAndRead connects and runs an action; resume returns the file from which the action can be resumed
// if it did not finish.
func connectAndRead[R any](ctx context.Context, env environment, o *documentsFlags,
	run func(context.Context, action.Cluster, action.Reporter) (R, error), resume func(R) string) (result R, err error) {
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	conn, err := connect(ctx, env, &o.clusterFlags, connectOptions{readsOnly: true, quiet: true})
	if err != nil {
		return result, preferTimeout(ctx, err)
	}
	defer conn.close()
	js := script.NewEngine(script.Options{Clock: conn.clock, Stdout: env.stderr, Stderr: env.errOut()})
	r := actionReporter(env, js, !o.quiet.On, o.quiet.On)
	result, err = run(ctx, conn.actionCluster(js.Clock), r)
	r.Progress.End()
	if file := resume(result); file != "" {
		notice(env.stderr, o.quiet.On, "The progress is in %s: run the same command again to continue.", file)
	}
	if _, wrong := errors.AsType[*action.OptionError](err); wrong {
		return result, optionsUsageError(err)
	}
	if mongoerr.Is(err, mongoerr.NamespaceNotFound) {
		return result, usagef("%w", err)
	}
	return result, preferTimeout(ctx, err)
}
