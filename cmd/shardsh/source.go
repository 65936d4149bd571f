package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/live"
)

// sourceLine is the part of a subcommand's command line that says where its
// picture of a cluster comes from: an address, the mock, or a file.
type sourceLine struct {
	commandLine
	from string
}

// flags returns the options of a source, before those that connections have.
func (o *sourceLine) flags(f *pflag.FlagSet) {
	f.StringVar(&o.from, "from", "", "`FILE` take the snapshot in it, or the mongodump of config, for the cluster")
	f.StringVar(&o.mock, "mock", "", "`N|FILE` a mock cluster: number of shards, or a topology file")
	f.Lookup("mock").NoOptDefVal = mockGiven
	f.Var(&o.timeout, "timeout", "`TIME` give up after 90, 30s, 5m")
	choiceVar(f, &o.quietChoice, "quiet", "no notices")
	f.BoolVarP(&o.help, "help", "h", false, "print this help")
}

// parseSource reads a command line with these options. The words of it that are
// no options can be one address.
func (env environment) parseSource(o *sourceLine, groups []flagGroup) error {
	words, err := env.parseWords(groups)
	if err != nil || o.help {
		return err
	}
	if len(words) > 1 {
		return usagef("%s takes one address, not also %q", env.name(), redact(words[1]))
	}
	return env.takeSource(o, words)
}

// parseWords reads a command line, and returns the words of it that are no
// options.
func (env environment) parseWords(groups []flagGroup) ([]string, error) {
	positional, rest, warnings, err := parseFlags(groups, env.args)
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
	o.quiet = o.quietChoice.on
	switch {
	case o.from != "" && (o.mock != "" || o.server.named()):
		return usagef("--from FILE stands in for a cluster: leave the address and --mock out")
	case o.from == "" && o.usesMock() && o.mock == "":
		return usagef("%s needs the address of a cluster, --from FILE, or --mock", env.name())
	}
	return o.commandLine.check()
}

// snapshot reads the cluster.
func (env environment) snapshot(ctx context.Context, o sourceLine, r live.ReaderOptions) (*catalog.Snapshot, error) {
	if o.from != "" {
		s, err := openFile(o.from)
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
		fmt.Fprintf(env.warned(), "shardsh: %s could not be read: %s\n", what, redact(gap.Reason))
	}
}
