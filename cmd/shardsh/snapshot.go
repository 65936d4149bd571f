package main

import (
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"io"
	"math/rand/v2"
	"os"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/anonymous"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/live"
	"shardsh/cmd/shardsh/cmdline"
)

// snapshotLine is the command line of "shardsh snapshot".
type snapshotLine struct {
	sourceLine
	output string
	redact bool
}

func (o *snapshotLine) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVarP(&o.output, "output", "o", "", "`FILE` write it there; - is standard output")
		f.BoolVar(&o.redact, "redact", false, "replace names and key values by random ones of the same order and length")
		o.flags(f)
	})}
	return append(groups, o.server.Flags()...)
}

func (o *snapshotLine) settle(env environment) error {
	switch {
	case o.output == "":
		return usagef("snapshot needs -o FILE, or -o - for standard output")
	case o.output == "-" && isTerminal(env.stdout):
		return usagef("a snapshot is not for a terminal: give -o FILE")
	}
	return nil
}

func (o *snapshotLine) reads() live.ReaderOptions {
	return live.ReaderOptions{Parts: live.WithStatus | live.Causes}
}

// takeSnapshot is "shardsh snapshot": the metadata of a cluster, in a file.
func (env environment) takeSnapshot(ctx context.Context) error {
	var o snapshotLine
	return env.about(ctx, &o, printSnapshotHelp, func(s *catalog.Snapshot) error { return env.save(s, o) })
}

func (env environment) save(s *catalog.Snapshot, o snapshotLine) (err error) {
	if o.redact {
		if s, err = anonymous.Snapshot(s, unpredictable()); err != nil {
			return fmt.Errorf("--redact: %w", err)
		}
	}
	if o.output == "-" {
		err = buffered(env.stdout, func(to io.Writer) error { return snapfile.Write(to, s) })
	} else {
		err = snapfile.Save(o.output, s)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", o.output, err)
	}
	if o.output != "-" {
		notice(env.stderr, o.quiet, "%s: %s", o.output, contents(s, o.output))
	}
	return nil
}

// unpredictable is chance that nobody can repeat.
func unpredictable() *rand.Rand {
	var seed [32]byte
	_, _ = cryptorand.Read(seed[:]) // never fails
	return rand.New(rand.NewChaCha8(seed))
}

// contents says in a few words what is in a file.
func contents(s *catalog.Snapshot, path string) string {
	chunks := int64(0)
	for _, c := range s.Collections() {
		chunks += c.Count().Chunks
	}
	text := fmt.Sprintf("%d shards, %d collections, %d chunks", len(s.Shards()), len(s.Collections()), chunks)
	if info, err := os.Stat(path); err == nil {
		text += fmt.Sprintf(", %d bytes", info.Size())
	}
	return text
}

func printSnapshotHelp(w io.Writer, groups []cmdline.Group) {
	fmt.Fprintf(w, `Writes the metadata of a cluster to a file: shards, collections, chunks, zones,
settings, sizes and logs, and no documents. Nothing on the cluster changes.

Usage:
  shardsh snapshot [options] [address] -o FILE

%s
With --redact the file may be given away: names and key values are random, and
the balancer decides as it would on the cluster itself.

Examples:
  shardsh snapshot mongodb://host:27017 -o cluster.snap
  shardsh snapshot --from cluster.snap --redact -o share.snap
  shardsh snapshot --mock -o -
`, cmdline.Usage(groups))
}
