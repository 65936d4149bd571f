package main

import (
	"cmp"
	"context"
	cryptorand "crypto/rand"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/catalog"
	"shardsh/balancer/catalog/anonymous"
	"shardsh/balancer/catalog/snapdir"
	"shardsh/balancer/catalog/snapfile"
	"shardsh/balancer/humanize"
	"shardsh/balancer/live"
	"shardsh/cmd/shardsh/cmdline"
	"shardsh/cmd/shardsh/targets"
)

// snapshotFlags are the flags of "shardsh snapshot".
type snapshotFlags struct {
	sourceFlags
	output string
	into   string
	keep   cmdline.Duration
	redact bool
}

func (o *snapshotFlags) groups() []cmdline.Group {
	groups := []cmdline.Group{cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.StringVarP(&o.output, "output", "o", "", "`FILE` write to this file; - is standard output")
		f.StringVar(&o.into, "into", "", "`DIR` keep it in this directory, named after its time")
		f.Var(&o.keep, "keep", "`TIME` with --into: remove snapshots older than this, such as 90d")
		f.BoolVar(&o.redact, "redact", false, "replace names and key values by random ones of the same order and length")
		o.addFlags(f)
		o.addSizesFlag(f)
	})}
	return append(append(groups, o.fleet.group()), o.sharedGroups()...)
}

func (o *snapshotFlags) parseArgs(env environment, words []string) error {
	if err := o.fleet.selectTargets(); err != nil {
		return err
	}
	if err := o.sourceFlags.parseArgs(env, words); err != nil {
		return err
	}
	switch {
	case o.fleet.isFleet() && o.into == "":
		return usagef("the snapshots of a fleet go into a directory: use --into DIR")
	case o.keep != 0 && o.into == "":
		return usagef("--keep is for --into: it removes older snapshots from that directory")
	case o.into != "" && o.redact:
		return usagef("--into and --redact exclude each other: each redacted snapshot is of another cluster")
	case o.output == "" && o.into == "":
		return usagef("snapshot needs -o FILE, -o - for standard output, or --into DIR")
	case o.output != "" && o.into != "":
		return usagef("-o and --into exclude each other")
	case o.output == "-" && isTerminal(env.stdout):
		return usagef("a snapshot is not for a terminal: use -o FILE")
	}
	return nil
}

// run implements "shardsh snapshot": it writes the metadata of a cluster to a file.
func (o *snapshotFlags) run(ctx context.Context, env environment) error {
	if o.fleet.isFleet() {
		return o.runFleet(ctx, env)
	}
	return o.withSnapshot(ctx, env, live.ReaderOptions{Parts: snapshotParts}, func(s *catalog.Snapshot) error {
		return o.save(env, s)
	})
}

// snapshotParts are the parts of the cluster in a snapshot.
const snapshotParts = live.DefaultPartsAndStatus | live.ExplanationData | live.KeySamples

// runFleet stores a snapshot of each cluster in a directory with the cluster's name.
func (o *snapshotFlags) runFleet(ctx context.Context, env environment) error {
	members, err := readFleet(ctx, env, &o.sourceFlags,
		func(ctx context.Context, env environment, one *sourceFlags, t targets.Target) (string, error) {
			source, done, err := one.open(ctx, env)
			if err != nil {
				return "", err
			}
			defer done()
			s, err := source.Read(ctx, live.ReaderOptions{Parts: snapshotParts})
			if err != nil {
				return "", err
			}
			return o.saveInDir(filepath.Join(o.into, t.Name), s)
		})
	if err != nil {
		return err
	}
	var lines []fleetLine
	for _, m := range members {
		if line := newFleetLine(m, func(text string) (string, string) { return "saved", text }); m.err != nil || !o.quiet {
			lines = append(lines, line)
		}
	}
	if len(lines) > 0 {
		err = writeFleet(env.errOut(), lines, 0)
	}
	return cmp.Or(err, fleetError(members))
}

func (o *snapshotFlags) save(env environment, s *catalog.Snapshot) (err error) {
	if o.into != "" {
		text, err := o.saveInDir(o.into, s)
		if err == nil {
			notice(env.stderr, o.quiet, "%s", text)
		}
		return err
	}
	if o.redact {
		if s, err = anonymous.Snapshot(s, randomSource()); err != nil {
			return fmt.Errorf("--redact: %w", err)
		}
	}
	if o.output == "-" {
		err = writeBuffered(env.stdout, func(to io.Writer) error { return snapfile.Write(to, s) })
	} else {
		err = snapfile.Save(o.output, s)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", o.output, err)
	}
	if o.output != "-" {
		notice(env.stderr, o.quiet, "%s: %s", o.output, describeContents(s, o.output))
	}
	return nil
}

// saveInDir stores a snapshot in a directory, and returns a message about it.
func (o *snapshotFlags) saveInDir(dir string, s *catalog.Snapshot) (string, error) {
	saved, removed, err := snapdir.SaveAndPrune(dir, s, time.Duration(o.keep))
	if err != nil {
		return "", fmt.Errorf("--into %s: %w", dir, err)
	}
	text := saved.Path + ": " + describeContents(s, saved.Path)
	if len(removed) > 0 {
		text += fmt.Sprintf("; removed %s older than %s", humanize.Count(len(removed), "snapshot"),
			humanize.Duration(time.Duration(o.keep)))
	}
	return text, nil
}

// randomSource returns a randomly seeded source of random numbers.
func randomSource() *rand.Rand {
	var seed [32]byte
	_, _ = cryptorand.Read(seed[:]) // never fails
	return rand.New(rand.NewChaCha8(seed))
}

// describeContents describes the content of a file in a few words.
func describeContents(s *catalog.Snapshot, path string) string {
	chunks := int64(0)
	for _, c := range s.Collections() {
		chunks += c.Count().Chunks
	}
	text := fmt.Sprintf("%s, %s, %s", humanize.Count(len(s.Shards()), "shard"),
		humanize.Count(len(s.Collections()), "collection"), humanize.Count(chunks, "chunk"))
	if info, err := os.Stat(path); err == nil {
		text += ", " + humanize.Bytes(info.Size())
	}
	return text
}

func snapshotText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Saves the metadata of a cluster to a file: shards, collections, chunks, zones,
settings, sizes, logs and a sample of shard keys, and no documents. With --redact
the file may be shared: names and key values are random, and the balancer decides
as it would on the cluster itself. With --into snapshots are kept in a directory for
shardsh diff. Nothing on the cluster changes.`,
		Examples: []string{
			"shardsh snapshot mongodb://host:27017 -o cluster.snap",
			"shardsh snapshot --from cluster.snap --redact -o share.snap",
			"shardsh snapshot --mock -o -",
			"shardsh snapshot mongodb://host:27017 --into /var/lib/shardsh/shop --keep 90d",
			"shardsh snapshot --targets fleet.yaml --into /var/lib/shardsh --keep 90d",
		},
	}
}
