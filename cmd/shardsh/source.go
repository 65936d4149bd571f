package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/metadata"
	"shardsh/cmd/shardsh/secret"
)

// sourceLine is the part of a subcommand's command line that says where its
// picture of a cluster comes from: an address, the mock, or a file.
type sourceLine struct {
	commandLine
	from string

	computing *computing // what is computed; begin sets it
}

// flags returns the options of a source, before those that connections have.
func (o *sourceLine) flags(f *pflag.FlagSet) {
	f.StringVar(&o.from, "from", "", "`FILE` take the snapshot in it, or the mongodump of config, for the cluster")
	f.StringVar(&o.mock, "mock", "", "`N|FILE` a mock cluster: number of shards, or a topology file")
	f.Lookup("mock").NoOptDefVal = mockGiven
	f.Var(&o.timeout, "timeout", "`TIME` give up after 90, 30s, 5m")
	cmdline.ChoiceVar(f, &o.quietChoice, "quiet", "no notices")
	f.BoolVarP(&o.help, "help", "h", false, "print this help")
}

// sourced is the command line of a subcommand that works on a picture of a cluster.
type sourced interface {
	groups() []cmdline.Group
	source() *sourceLine
	// settle checks the options that the subcommand alone has, and reads what they mean.
	settle(env environment) error
	// reads says what the subcommand has to know of the cluster.
	reads() live.ReaderOptions
}

func (o *sourceLine) source() *sourceLine { return o }

// reads asks for what a reader reads by itself, for subcommands that need no more.
func (o *sourceLine) reads() live.ReaderOptions { return live.ReaderOptions{} }

// begin reads the command line of a subcommand and has it work for as long as
// --timeout says, or prints its help.
func (env environment) begin(
	ctx context.Context, o sourced, help func(io.Writer, []cmdline.Group), work func(context.Context) error,
) error {
	groups, source := o.groups(), o.source()
	if err := env.parseSource(source, groups); err != nil {
		return err
	}
	if source.help {
		help(env.stdout, groups)
		return nil
	}
	if err := o.settle(env); err != nil {
		return err
	}
	ctx, cancel := source.bounded(ctx)
	defer cancel()
	source.computing = env.computing(ctx, source.quiet)
	defer source.computing.end()
	return work(ctx)
}

// about begins a subcommand that is a question about a cluster, and has answer
// answer it by what was read.
func (env environment) about(
	ctx context.Context, o sourced, help func(io.Writer, []cmdline.Group), answer func(*catalog.Snapshot) error,
) error {
	return env.begin(ctx, o, help, func(ctx context.Context) error {
		s, err := env.snapshot(ctx, *o.source(), o.reads())
		if err != nil {
			return err
		}
		return answer(s)
	})
}

// parseSource reads a command line with these options. The words of it that are
// no options can be one address.
func (env environment) parseSource(o *sourceLine, groups []cmdline.Group) error {
	words, err := env.parseWords(groups)
	if err != nil || o.help {
		return err
	}
	if len(words) > 1 {
		return usagef("%s takes one address, not also %q", env.name(), secret.Redact(words[1]))
	}
	return env.takeSource(o, words)
}

// parseWords reads a command line, and returns the words of it that are no
// options.
func (env environment) parseWords(groups []cmdline.Group) ([]string, error) {
	positional, rest, warnings, err := cmdline.Parse(groups, env.args)
	for _, w := range warnings {
		fmt.Fprintln(env.warned(), w)
	}
	return append(positional, rest...), err
}

// takeSource checks what the options of a source and the address, if there is
// one, say together.
func (env environment) takeSource(o *sourceLine, address []string) error {
	if len(address) > 0 {
		if err := o.takeAddress(address[0]); err != nil {
			return err
		}
	}
	o.quiet = o.quietChoice.On
	switch {
	case o.from != "" && (o.mock != "" || o.server.Named()):
		return usagef("--from FILE stands in for a cluster: leave the address and --mock out")
	case o.from == "" && o.usesMock() && o.mock == "":
		return usagef("%s needs the address of a cluster, --from FILE, or --mock", env.name())
	}
	return o.commandLine.check()
}

// snapshot reads the cluster.
func (env environment) snapshot(ctx context.Context, o sourceLine, r live.ReaderOptions) (*catalog.Snapshot, error) {
	if o.from != "" {
		s, err := metadata.Open(o.from)
		if err == nil {
			env.tellGaps(s)
		}
		return s, err
	}
	conn, err := env.connect(ctx, o.commandLine, false)
	if err != nil {
		return nil, because(ctx, err)
	}
	defer conn.close()
	r.Source = catalog.Source{Kind: catalog.SourceLive, Name: conn.address}
	if o.usesMock() {
		r.Source.Kind = catalog.SourceMock
	}
	began := time.Now()
	s, err := live.NewReader(conn.client, r).Read(ctx)
	if err != nil {
		return nil, because(ctx, err)
	}
	notice(env.stderr, o.quiet, "Read %s in %s.", conn.address, time.Since(began).Round(time.Millisecond))
	env.tellGaps(s)
	return s, nil
}

// tellGaps says what could not be read, which is no reason to stop.
func (env environment) tellGaps(s *catalog.Snapshot) {
	for _, gap := range s.Parts().Source.Gaps {
		what := gap.What
		for _, of := range []string{gap.Namespace, string(gap.Shard)} {
			if of != "" {
				what += " of " + of
			}
		}
		fmt.Fprintf(env.warned(), "shardsh: %s could not be read: %s\n", what, secret.Redact(gap.Reason))
	}
}
