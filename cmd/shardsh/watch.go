package main

import (
	"context"
	"os"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/repl/watch"
)

// watchFlags are the flags of "shardsh watch".
type watchFlags struct {
	sourceFlags
	interval time.Duration
	once     bool
	json     bool
	heat     bool
}

// minWatchInterval is the minimum interval between reads of a cluster.
const minWatchInterval = 500 * time.Millisecond

func (o *watchFlags) groups() []cmdline.Group {
	o.interval = 2 * time.Second
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		cmdline.DurationVar(f, &o.interval, "interval", "`TIME` refresh after this time (2s)")
		f.BoolVar(&o.once, "once", false, "print one frame and exit")
		f.BoolVar(&o.json, "json", false, "print one line of JSON for each refresh")
		f.BoolVar(&o.heat, "heat", false, "also count the operations of the 20 largest collections")
		addTimeZoneFlag(f, &o.timeZoneName)
		o.addFlags(f)
	})}
	return append(append(groups, o.fleet.group()), o.sharedGroups(o.addMockTimeFlag)...)
}

func (o *watchFlags) parseArgs(env environment, words []string) error {
	if err := o.fleet.selectTargets(); err != nil {
		return err
	}
	if err := o.sourceFlags.parseArgs(env, words); err != nil {
		return err
	}
	if o.fleet.isFleet() && o.heat {
		return usagef("--heat is for one cluster: add --cluster NAME")
	}
	if o.interval < minWatchInterval {
		return usagef("--interval takes at least %s, such as 2s, not %s", minWatchInterval, o.interval)
	}
	if o.heat && (o.once || o.from != "") {
		return usagef("--heat counts from one refresh to the next: omit --once and --from, or use shardsh heat")
	}
	if o.from != "" && !o.once {
		return usagef("nothing changes in a file: --from needs --once, or use shardsh report")
	}
	return nil
}

// run implements "shardsh watch": it shows a live view of a cluster on a terminal.
func (o *watchFlags) run(ctx context.Context, env environment) error {
	if o.fleet.isFleet() {
		return o.watchFleet(ctx, env)
	}
	return o.runWithTimeout(ctx, env, func(ctx context.Context) error { return o.watch(ctx, env) })
}

func (o *watchFlags) watch(ctx context.Context, env environment) error {
	c := o.watchConfig(env)
	done, err := o.setReader(ctx, env, &c)
	if err != nil {
		return err
	}
	defer done()
	leave, err := o.takeTerminal(env, &c)
	if err != nil {
		return err
	}
	defer leave()
	return preferTimeout(ctx, watch.Run(ctx, c))
}

// watchConfig returns the configuration that both views share.
func (o *watchFlags) watchConfig(env environment) watch.Config {
	c := watch.Config{
		Every: o.interval, Clock: wallClock{}, Out: env.stdout, Errors: env.errOut(), JSON: o.json,
		Color: env.usesColor(), Once: o.once, Width: env.columns(),
	} // frames contain no control characters from the cluster
	if o.json {
		c.Out = env.jsonOut()
	}
	return c
}

// takeTerminal makes frames replace each other on a terminal, if there is one.
func (o *watchFlags) takeTerminal(env environment, c *watch.Config) (leave func(), err error) {
	in, isFile := env.stdin.(*os.File)
	out, alsoFile := env.stdout.(*os.File)
	if o.once || o.json || !isFile || !alsoFile || !isTerminal(in) || !isTerminal(out) {
		return func() {}, nil
	}
	terminal, err := watch.OpenTerminal(in, out)
	if err != nil {
		return nil, err
	}
	c.Screen = terminal
	return func() { _ = terminal.Close() }, nil // the error can't be reported any more
}

// setReader sets the function that reads the cluster.
func (o *watchFlags) setReader(ctx context.Context, env environment, c *watch.Config) (done func(), err error) {
	if o.from != "" {
		c.Read = func(context.Context, *catalog.Snapshot) (*catalog.Snapshot, error) {
			s, err := metadata.Open(o.from)
			if err != nil {
				return nil, err
			}
			return s.WithClock(o.location), nil
		}
		return func() {}, nil
	}
	o.demo = o.usesMock() // a mock without data would show nothing
	conn, err := connect(ctx, env, &o.clusterFlags, connectOptions{readsOnly: true, interactive: true,
		quiet: o.quiet.On})
	if err != nil {
		return nil, preferTimeout(ctx, err)
	}
	source := conn.source(o.usesMock())
	c.Read = source.Reader(live.ReaderOptions{
		Parts: live.DefaultParts &^ live.ChunkFlags, Source: source.Origin, MaxLogEntries: 20_000, TimeZone: o.location,
	}).ReadSince
	if o.heat {
		c.ReadOperationRates = source.NewLoadMeter()
	}
	return conn.close, nil
}

// wallClock is the system's clock.
type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func watchText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Shows a live view of a cluster: what moves now, how fast and how long it takes, the
data of each shard, what is wrong, what moved and failed last. Only what changed is
read again. Nothing on the cluster changes.

Keys: ? lists them. q quits, p pauses, tab and left or right switch views, up and down
scroll, / filters, s sorts, enter opens a collection, esc closes it.`,
		Examples: []string{
			"shardsh watch mongodb://host:27017",
			"shardsh watch --mock --mock-time 20x",
			"shardsh watch mongodb://host:27017 --json --interval 10s",
			"shardsh watch mongodb://host:27017 --heat",
			"shardsh watch mongodb://host:27017 --once",
			"shardsh watch --targets fleet.yaml --interval 10s",
		},
		More: `Where the output is not a terminal a frame is printed for each refresh, without
colours. A cluster that takes long to read is read less often. --mock without a
topology file has collections that have to be balanced.`,
	}
}
