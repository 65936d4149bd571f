package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/repl/watch"
)

// watchLine is the command line of "shardsh watch".
type watchLine struct {
	sourceLine
	interval cmdline.Duration
	once     bool
	json     bool
}

// shortestWatch is how often a cluster may be read at most.
const shortestWatch = 500 * time.Millisecond

func (o *watchLine) groups() []cmdline.Group {
	o.interval = cmdline.Duration(2 * time.Second)
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.Var(&o.interval, "interval", "`TIME` look again after this time (2s)")
		f.BoolVar(&o.once, "once", false, "show it once, and end")
		f.BoolVar(&o.json, "json", false, "a JSON document a line for each look")
		f.StringVar(&o.mockTime, "mock-time", "", "`real|virtual|60x` how the mock's time goes by")
		o.flags(f)
	})}
	return append(groups, o.server.Flags()...)
}

func (o *watchLine) settle(environment) error {
	if time.Duration(o.interval) < shortestWatch {
		return usagef("--interval takes a time from %s on, such as 2s, not %s", shortestWatch, time.Duration(o.interval))
	}
	if o.from != "" && !o.once {
		return usagef("nothing changes in a file: --from needs --once, or use shardsh report")
	}
	return nil
}

// watch is "shardsh watch": a cluster alive on a terminal.
func (env environment) watch(ctx context.Context) error {
	var o watchLine
	return env.begin(ctx, &o, printWatchHelp, func(ctx context.Context) error { return env.watching(ctx, o) })
}

func (env environment) watching(ctx context.Context, o watchLine) error {
	c := watch.Config{
		Every: time.Duration(o.interval), Clock: wallClock{}, Out: env.told(), JSON: o.json,
		Color: env.color(), Once: o.once,
	}
	if o.json {
		c.Out = env.toldJSON()
	}
	read, done, err := env.watched(ctx, o)
	if err != nil {
		return err
	}
	defer done()
	c.Read = read
	in, isFile := env.stdin.(*os.File)
	out, alsoFile := env.stdout.(*os.File)
	if !o.once && !o.json && isFile && alsoFile && isTerminal(in) && isTerminal(out) {
		terminal, err := watch.Open(in, out)
		if err != nil {
			return err
		}
		defer func() { _ = terminal.Close() }() // there is nobody left to tell
		c.Screen = terminal
	}
	return because(ctx, watch.Run(ctx, c))
}

// watched returns what reads the cluster again and again.
func (env environment) watched(ctx context.Context, o watchLine) (
	read func(context.Context, *catalog.Snapshot) (*catalog.Snapshot, error), done func(), err error,
) {
	if o.from != "" {
		return func(context.Context, *catalog.Snapshot) (*catalog.Snapshot, error) {
			return metadata.Open(o.from)
		}, func() {}, nil
	}
	o.demo = o.usesMock() // a mock without data is nothing to look at
	conn, err := env.connect(ctx, o.commandLine, true)
	if err != nil {
		return nil, nil, because(ctx, err)
	}
	source := catalog.Source{Kind: catalog.SourceLive, Name: conn.address}
	if o.usesMock() {
		source.Kind = catalog.SourceMock
	}
	reader := live.NewReader(conn.client, live.ReaderOptions{
		Parts: live.Whole &^ live.Flags, Source: source, LogEntries: 20_000,
	})
	return reader.ReadSince, conn.close, nil
}

// wallClock is the time on the wall.
type wallClock struct{}

func (wallClock) Now() time.Time                         { return time.Now() }
func (wallClock) After(d time.Duration) <-chan time.Time { return time.After(d) }

func printWatchHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Shows a cluster as it changes: what moves now, how fast and how long it takes,
the data of each shard, what is wrong, what moved and failed last. Only what has
changed is read again, and a cluster that takes long to read is read less often.
Nothing on the cluster changes.

Usage:
  shardsh watch [options] [address]

%s
Keys: q quits, p pauses, tab and the arrows to the sides change what is shown,
the arrows up and down scroll. Where the output is no terminal a frame is
written for each look, without colours. --mock without a topology file has
collections that have to be balanced.

Examples:
  shardsh watch mongodb://host:27017
  shardsh watch --mock --mock-time 20x
  shardsh watch mongodb://host:27017 --json --interval 10s
  shardsh watch mongodb://host:27017 --once
`, cmdline.Usage(groups))
}
