package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/action"
	"shardsh/balancer/humanize"
	"shardsh/balancer/verify"
	"shardsh/bindings/actiontext"
	"shardsh/cmd/shardsh/cmdline"
)

// verifyFlags are the flags of "shardsh verify".
type verifyFlags struct {
	documentsFlags
	output, against, differences, documents string
	restart                                 bool

	action action.Verify
}

func (o *verifyFlags) groups() []cmdline.Group {
	return o.group("ranges that differ", "`DB.COLLECTION` this collection; repeat to add", func(f *pflag.FlagSet) {
		f.StringVarP(&o.output, "output", "o", "", "`FILE` write the digest to this file")
		f.StringVar(&o.against, "against", "", "`FILE` compare with this digest")
		f.StringVar(&o.documents, "documents", "", "`FILE` list each _id; then --against names all that differ")
		f.StringVar(&o.differences, "differences", "", "`FILE` write what differs, a line of JSON each")
		f.BoolVar(&o.restart, "restart", false, "start over, whatever an earlier run has read")
	})
}

func (o *verifyFlags) parseArgs(env environment, words []string) error {
	start := len(words) > 0 && words[0] == callStart
	if start {
		words = words[1:]
	}
	if err := firstViolation(
		constraint{start && o.against != "", "verify start makes a digest: leave --against out, or the word start"},
		constraint{!start && o.against == "",
			"verify needs the word start, to make a digest, or --against FILE, to compare with one"},
		constraint{start && o.output == "", "verify start needs -o FILE"},
	); err != nil {
		return err
	}
	if err := o.takeCluster(env, words, ""); err != nil {
		return err
	}
	o.action = action.Verify{
		Namespaces: o.namespaces, Output: o.output, Restart: o.restart, BaselineFile: o.against,
		DifferencesFile: o.differences,
		DocumentsFile:   o.documents,
		MaxRereads:      o.maxRereads, RereadPause: o.rereadPause, MaxBytesPerSecond: o.rate,
		PauseBetween: o.pauseBetween, MaxDuration: o.maxDuration, Window: o.window,
		Secondary: o.secondary,
	}
	return optionsUsageError(o.action.Validate())
}

// run implements "shardsh verify": it checks whether a collection has the same documents as before.
func (o *verifyFlags) run(ctx context.Context, env environment) error {
	result, err := connectAndRead(ctx, env, &o.documentsFlags, o.action.Run,
		func(r action.VerifyResult) string { return r.ResumeFile })
	if err != nil {
		return err
	}
	return o.show(env, result)
}

// show prints the result. The error determines the exit code.
func (o *verifyFlags) show(env environment, r action.VerifyResult) error {
	if o.json {
		if err := writeJSON(env.jsonOut(), r); err != nil {
			return err
		}
	} else if lines := actiontext.VerifyResult(r); len(lines) > 0 {
		fmt.Fprintln(env.out(), strings.Join(lines, "\n"))
	}
	took := humanize.Duration(time.Duration(r.MS) * time.Millisecond)
	switch {
	case r.Stopped != "":
		return fmt.Errorf("stopped: %s", r.Stopped)
	case r.Verdict == action.VerifyNotCompared:
		notice(env.stderr, o.quiet.On, "Read in %s. To compare later: shardsh verify --against %s ADDRESS", took, r.Output)
		return nil
	case r.Verdict == string(verify.Different):
		return findingsError{}
	case r.Unchanged():
		return nil
	}
	return reportedError{errors.New("it is unknown whether the documents are unchanged")}
}

func verifyText() cmdline.HelpText {
	return cmdline.HelpText{
		Intro: `Proves that collections hold the same documents before and after moves, drains,
restores or upgrades. "verify start" reads them and writes a digest; "verify
--against" reads them again and compares, byte by byte. It changes nothing.`,
		Usage: []string{
			"shardsh verify start --ns DB.COLLECTION -o FILE [options] [address]",
			"shardsh verify --against FILE [options] [address]",
		},
		Examples: []string{
			"shardsh verify start --ns shop.orders -o before.digest mongodb://host:27017",
			"shardsh verify --against before.digest mongodb://host:27017",
		},
		More: `Documents that were written since are known as far back as the oplog goes. A run
that was ended goes on when it is entered again. Exit code 0: the same but for
writes; 3: different; 1: unknown. At the prompt: sh.verify("shop.orders").`,
	}
}
