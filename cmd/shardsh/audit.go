package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/bindings/actiontext"
	"shardsh/cmd/shardsh/cmdline"
)

// auditFlags are the flags of "shardsh audit".
type auditFlags struct {
	documentsFlags
	export, checkpoint string
	metadata           bool
	sample             int64

	action action.Audit
}

func (o *auditFlags) groups() []cmdline.Group {
	return o.group("what looks wrong", "`DB[.COLLECTION]` this one; repeat to add (all)", func(f *pflag.FlagSet) {
		f.BoolVar(&o.metadata, "metadata", false, "leave the documents out")
		f.Int64Var(&o.sample, "sample", 0, "`N` read N documents of each collection")
		f.StringVar(&o.export, "export", "", "`DIR` save documents of findings, a file each")
		f.StringVar(&o.checkpoint, "checkpoint", "", "`FILE` store the progress there; run again to continue")
	})
}

func (o *auditFlags) parseArgs(env environment, words []string) error {
	if err := o.takeCluster(env, words, ""); err != nil {
		return err
	}
	o.action = action.Audit{
		Namespaces: o.namespaces, MetadataOnly: o.metadata, SampleDocs: o.sample, ExportDir: o.export,
		CheckpointFile: o.checkpoint,
		MaxRereads:     o.maxRereads, RereadPause: o.rereadPause, MaxBytesPerSecond: o.rate,
		PauseBetween: o.pauseBetween, MaxDuration: o.maxDuration, Window: o.window,
		Secondary: o.secondary,
	}
	return optionsUsageError(o.action.Validate())
}

// run implements "shardsh audit": it checks that documents and metadata are on the right shards.
func (o *auditFlags) run(ctx context.Context, env environment) error {
	result, err := connectAndRead(ctx, env, &o.documentsFlags, o.action.Run,
		func(r action.AuditResult) string { return r.ResumeFile })
	if err != nil {
		return err
	}
	return o.show(env, result)
}

// show prints the result. The error determines the exit code.
func (o *auditFlags) show(env environment, r action.AuditResult) error {
	if o.json {
		if err := writeJSON(env.jsonOut(), r); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(env.out(), strings.Join(actiontext.AuditResult(r), "\n"))
	}
	switch {
	case r.Verdict == action.AuditFindings:
		return findingsError{}
	case r.Stopped != "":
		return fmt.Errorf("stopped: %s", r.Stopped)
	case r.Verdict == action.AuditClean:
		return nil
	}
	return reportedError{errors.New("not everything could be checked")}
}

func auditText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Finds what lies on shards where it should not: orphans, documents that exist
nowhere else or twice, indexes and options that differ, gaps of chunks. It
reads each shard directly, and changes nothing.`,
		Usage: []string{"shardsh audit [options] [address]"},
		Examples: []string{
			"shardsh audit --metadata mongodb://host:27017",
			"shardsh audit --ns shop.orders --export saved mongodb://host:27017",
		},
		More: `Each finding has the commands that mend it. What looks wrong while something
moves is read again. Exit code 0: nothing was found; 3: something was; 1: not
everything could be checked. At the prompt: sh.audit("shop.orders").`,
	}
}
