package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/catalog"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/bindings/script"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/secret"
)

// sourceFlags select the source of a cluster's metadata: an address, the mock, or a file.
type sourceFlags struct {
	clusterFlags
	commonFlags
	fleet        fleetFlags // for the subcommands with these options
	from         string
	sizes        string         // file with the sizes for from
	timeZoneName string         // for the subcommands that call addTimeZoneFlag
	location     *time.Location // the time zone of timeZoneName
	// mayChange says that the subcommand may change the cluster, so that policies are read.
	mayChange bool

	progress *progress // set by runWithTimeout
}

// addFlags adds the options of a source to those of a subcommand.
func (o *sourceFlags) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.from, "from", "",
		"`FILE` read a file of shardsh snapshot, or a mongodump of config")
	o.commonFlags.addFlags(f)
}

// addSizesFlag adds the option for subcommands that need sizes, which a dump does not contain.
func (o *sourceFlags) addSizesFlag(f *pflag.FlagSet) {
	f.StringVar(&o.sizes, "sizes", "", "`FILE` with --from: the output of $shardedDataDistribution")
}

// sharedGroups returns the options that have their own help pages.
func (o *sourceFlags) sharedGroups(mock ...func(*pflag.FlagSet)) []cmdline.Group {
	return append(o.server.Flags(), mockGroup(append([]func(*pflag.FlagSet){o.addMockFlag}, mock...)...))
}

// parseArgs parses the words of the command line; one of them may be an address.
func (o *sourceFlags) parseArgs(env environment, words []string) error {
	if o.timeZoneName != "" { // also for each cluster of a fleet
		zone, err := catalog.ParseTimeZone(o.timeZoneName)
		if err != nil {
			return usagef("--time-zone: %w", err)
		}
		o.location = zone
	}
	if o.fleet.isSet() {
		return o.parseFleetArgs(env, words)
	}
	if err := o.takeOnlyAddress(env, words, ""); err != nil {
		return err
	}
	o.quiet = o.quietChoice.On
	switch {
	case o.from != "" && (o.mock != "" || o.server.IsSet()):
		return usagef("--from FILE stands in for a cluster: leave the address and --mock out")
	case o.sizes != "" && o.from == "":
		return usagef("--sizes FILE is for --from: a cluster reports its own sizes")
	case o.from == "" && o.usesMock() && o.mock == "":
		return usagef("%s needs the address of a cluster, --from FILE, or --mock", env.commandName())
	}
	return o.clusterFlags.check()
}

// runWithTimeout runs work within the limit of --timeout.
func (o *sourceFlags) runWithTimeout(ctx context.Context, env environment, work func(context.Context) error) error {
	ctx, cancel := o.withTimeout(ctx)
	defer cancel()
	o.progress = newProgress(ctx, env.stderr, o.quiet)
	defer o.progress.clearLine()
	return work(ctx)
}

// withSnapshot reads the cluster and passes the snapshot to answer.
func (o *sourceFlags) withSnapshot(
	ctx context.Context, env environment, r live.ReaderOptions, answer func(*catalog.Snapshot) error,
) error {
	return o.withSource(ctx, env, r, func(_ context.Context, _ action.Source, s *catalog.Snapshot) error {
		return answer(s)
	})
}

// withSource works like withSnapshot, for an answer that also needs the source.
func (o *sourceFlags) withSource(
	ctx context.Context, env environment, r live.ReaderOptions,
	answer func(context.Context, action.Source, *catalog.Snapshot) error,
) error {
	return o.runWithTimeout(ctx, env, func(ctx context.Context) error {
		source, done, err := o.open(ctx, env)
		if err != nil {
			return err
		}
		defer done()
		began := time.Now()
		r.OnProgress = o.progress.showReading
		s, err := source.Read(ctx, r)
		if err != nil {
			return preferTimeout(ctx, err)
		}
		o.reportRead(env, source, s, began)
		return answer(ctx, source, s)
	})
}

// connect connects to the cluster.
func (o *sourceFlags) connect(ctx context.Context, env environment) (*connection, error) {
	return connect(ctx, env, &o.clusterFlags, connectOptions{readsOnly: !o.mayChange, quiet: o.quiet})
}

// open opens the source of the cluster; done closes it.
func (o *sourceFlags) open(ctx context.Context, env environment) (source action.Source, done func(), err error) {
	if o.from != "" {
		s, err := metadata.OpenWithSizes(o.from, o.sizes)
		return action.Source{Snapshot: s, TimeZone: o.location}, func() {}, err
	}
	conn, err := o.connect(ctx, env)
	if err != nil {
		return action.Source{}, nil, preferTimeout(ctx, err)
	}
	source = conn.source(o.usesMock())
	source.TimeZone = o.location
	if o.mayChange {
		source.WritableCluster = &action.Cluster{
			Client: conn.client, ClientOptions: conn.clientOptions, Address: conn.address, Clock: source.Clock,
			Consent: conn.consent,
		}
	}
	return source, conn.close, nil
}

// slowReadThreshold is the duration of a read from which it is reported.
const slowReadThreshold = 2 * time.Second

// reportRead prints what could not be read, and how long a slow read took.
func (o *sourceFlags) reportRead(env environment, from action.Source, s *catalog.Snapshot, began time.Time) {
	o.progress.clearLine()
	if took := time.Since(began); o.from == "" && took >= slowReadThreshold {
		notice(env.stderr, o.quiet, "Read %s in %s.", from.Origin.Name, humanize.Duration(took))
	}
	printGaps(env, s)
	for _, text := range s.ConsistencyNotes() {
		notice(env.stderr, o.quiet, "Note: %s.", text)
	}
}

// source returns the source for reads from a connection.
func (c *connection) source(isMock bool) action.Source {
	kind := catalog.SourceLive
	if isMock {
		kind = catalog.SourceMock
	}
	clock := c.clock
	if clock == nil {
		clock = script.WallClock()
	}
	return action.Source{
		Client: c.client, ReadPreference: c.readPreference, ClientOptions: c.clientOptions, Clock: clock,
		Origin: catalog.Source{Kind: kind, Name: c.address},
	}
}

// printGaps prints what could not be read. This does not stop the subcommand. Parts that were left out
// on purpose are not printed; the answer mentions them.
func printGaps(env environment, s *catalog.Snapshot) {
	gaps := slices.DeleteFunc(slices.Clone(s.Parts().Source.Gaps), func(g catalog.Gap) bool { return g.What == "" })
	for _, text := range catalog.GapTexts(gaps) {
		fmt.Fprintln(env.errOut(), "shardsh:", secret.Redact(text))
	}
}
