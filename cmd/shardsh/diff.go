package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/snapdir"
	"shardsh/balancer/live"
	"shardsh/balancer/timespan"
	"shardsh/bindings/actiontext"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/secret"
	"shardsh/cmd/shardsh/target"
)

// diffFlags are the flags of "shardsh diff".
type diffFlags struct {
	sourceFlags
	since  string
	json   bool
	long   bool
	action action.Diff

	old, new string // files or directories; new is empty if a cluster is read
	client   *mongo.Client
}

func (o *diffFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVar(&o.since, "since", "", "`TIME` the last 90, 6h, 7d in a directory of snapshots; or yesterday")
		f.StringSliceVar(&o.action.Ignore, "ignore", nil, "`KIND,…` leave out these kinds of change")
		f.StringArrayVar(&o.action.Namespaces, "ns", nil, "`DB.COLLECTION` only these, * is a wildcard; repeat to add")
		f.StringVar(&o.audit, "audit", "", "`FILE` name the runs of shardsh by this audit (of a cluster: its shardsh.audit)")
		f.BoolVar(&o.long, "long", false, "print all changes, with examples of chunks")
		f.BoolVar(&o.json, "json", false, "print JSON")
		o.commonFlags.addFlags(f)
	})}
	return append(groups, o.server.Flags()...)
}

func (o *diffFlags) parseArgs(_ environment, words []string) error {
	if len(words) == 0 || len(words) > 2 {
		return usagef("diff takes two snapshots, OLD NEW, or a directory of snapshots: --since 1d DIR")
	}
	o.old = words[0]
	if len(words) == 2 {
		o.new = words[1]
	}
	if target.IsURI(o.old) {
		return usagef("the older one is a file or a directory; only the newer one can be a cluster")
	}
	switch option := o.server.FirstLiveOption(); {
	case target.IsURI(o.new):
		if err := o.takeAddress(o.new); err != nil {
			return err
		}
		o.new = ""
	case option != "":
		return usagef("%s is for a cluster, and NEW is none", option)
	case o.new != "" && o.server.IsSet():
		return usagef("--host and --port name a cluster: leave them out, or %s", o.new)
	}
	if err := o.clusterFlags.check(); err != nil {
		return err
	}
	if _, err := parseSince(o.since, time.Time{}); err != nil {
		return err
	}
	return optionsUsageError(o.action.Validate())
}

// parseSince returns the duration from --since up to from; "yesterday" is the beginning of the day
// of from in UTC, so that the last snapshot of the day before is found.
func parseSince(text string, from time.Time) (time.Duration, error) {
	switch text {
	case "":
		return 0, nil
	case "yesterday":
		return from.Sub(from.UTC().Truncate(24 * time.Hour)), nil
	}
	span, err := timespan.ParseCommandLine(text)
	if err != nil || span <= 0 {
		return 0, usagef("--since takes yesterday, or a time such as 90, 6h or 7d, not %q", text)
	}
	return span, nil
}

// run implements "shardsh diff": it prints the changes, with exit code 3 if there are any.
func (o *diffFlags) run(ctx context.Context, env environment) error {
	return o.runWithTimeout(ctx, env, func(ctx context.Context) error {
		done := func() {}
		defer func() { done() }()
		after, err := o.readNewer(ctx, env, &done)
		if err != nil {
			return err
		}
		before, err := o.readOlder(env, after)
		if err != nil {
			return err
		}
		result, err := o.action.Run(before, after)
		if err != nil {
			return optionsUsageError(err)
		}
		o.addRuns(ctx, env, &result, after)
		if o.json {
			err = writeJSON(env.jsonOut(), result)
		} else {
			_, err = io.WriteString(env.out(), actiontext.Diff(result, o.long))
		}
		if err == nil && !result.Empty() {
			return findingsError{}
		}
		return err
	})
}

// addRuns adds the runs in an audit log to the changes, if there is an audit log.
func (o *diffFlags) addRuns(ctx context.Context, env environment, r *action.DiffResult, newer *catalog.Snapshot) {
	if o.client == nil && o.audit == "" {
		return
	}
	if err := r.AddRuns(ctx, o.client, o.audit, newer.Time()); err != nil {
		notice(env.stderr, o.quiet.On, "%s", secret.Redact(err.Error()))
	}
}

// readNewer reads the newer snapshot: a cluster, a file, or the newest file in a directory.
func (o *diffFlags) readNewer(ctx context.Context, env environment, done *func()) (*catalog.Snapshot, error) {
	if o.server.IsSet() {
		return o.readCluster(ctx, env, done)
	}
	path := o.new
	if path == "" {
		path = o.old
	}
	kept, err := snapdir.Newest(path)
	switch {
	case err == nil:
		path = kept.Path
	case o.new == "" && o.since == "" && !isDirectory(path):
		return nil, usagef("diff takes two snapshots, OLD NEW, or a directory of snapshots: --since 1d DIR")
	case o.new == "":
		return nil, err
	}
	return metadata.Open(path)
}

// readCluster reads the cluster. The connection stays open until done is called.
func (o *diffFlags) readCluster(ctx context.Context, env environment, done *func()) (*catalog.Snapshot, error) {
	source, leave, err := o.open(ctx, env)
	if err != nil {
		return nil, err
	}
	*done, o.client = leave, source.Client
	s, err := source.Read(ctx,
		live.ReaderOptions{Parts: live.DefaultPartsAndStatus | live.ExplanationData, OnProgress: o.progress.showReading})
	if err != nil {
		return nil, preferTimeout(ctx, err)
	}
	o.progress.clearLine()
	return s, nil
}

// readOlder reads the older snapshot: a file, or a file of a directory. In a directory, it is the one
// that is as old as --since says, or else the last one before the newer snapshot.
func (o *diffFlags) readOlder(env environment, newer *catalog.Snapshot) (*catalog.Snapshot, error) {
	if !isDirectory(o.old) {
		if o.since != "" {
			return nil, usagef("--since is for a directory of snapshots, and %s is none", o.old)
		}
		return metadata.Open(o.old)
	}
	newest, err := snapdir.Newest(o.old)
	if err != nil {
		if s, dumped := metadata.Open(o.old); dumped == nil && o.since == "" && o.new != "" {
			return s, nil
		}
		return nil, err
	}
	span, err := parseSince(o.since, newer.Time())
	if err != nil {
		return nil, err
	}
	until := newer.Time().Add(-span)
	if span == 0 && (o.new == "" && !o.server.IsSet() || !newest.Time.Before(newer.Time())) {
		until = newest.Time.Add(-time.Second)
	}
	f, found, err := snapdir.NewestBefore(o.old, until)
	switch {
	case err != nil:
		return nil, err
	case !found && f.Time.Equal(newest.Time) && !o.server.IsSet() && o.new == "":
		return nil, fmt.Errorf("%s has one snapshot only: there is nothing to compare it with", o.old)
	case !found:
		notice(env.stderr, o.quiet.On, "There is none from before %s: this is the oldest.",
			until.UTC().Format(time.DateTime+" UTC"))
	}
	return metadata.Open(f.Path)
}

func diffText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Says what has changed in a cluster between two snapshots: shards, members, zones,
settings, databases, collections, chunks that moved, were split or merged, runs of
shardsh; when, and by whom, as far as the cluster's logs tell. Data that grow are
listed, and are not changes. At the prompt, sh.diff() returns the same.`,
		Examples: []string{
			"shardsh diff monday.snap tuesday.snap",
			"shardsh diff --since 1d /var/lib/shardsh/shop",
			"shardsh diff before.snap mongodb://host:27017 --ignore chunks-moved",
		},
		More: `OLD and NEW are files of shardsh snapshot, directories of shardsh snapshot --into
(the newest one), or mongodumps of config; NEW can be the address of a cluster.
Exit codes, as of diff: 0 nothing has changed; 3 something has; 1 one of them can't
be read; 2 wrong command line. docs/fleets.md lists the kinds of change.`,
	}
}
