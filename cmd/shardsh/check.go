package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"shardsh/balancer/check"
	"shardsh/cmd/shardsh/checks"
	"shardsh/cmd/shardsh/cmdline"
)

// checkLine is the command line of "shardsh check".
type checkLine struct {
	answerLine
	checks.Options
	addresses   []string
	wait, every cmdline.Duration
}

// checkFormats are those of check, the usual one first.
var checkFormats = []string{"text", "json", "junit", "prometheus", "github", "nagios"}

func (o *checkLine) groups() []cmdline.Group {
	groups := append(o.Options.Groups(), cmdline.NewGroup("Options", func(f *pflag.FlagSet) {
		f.Var(&o.wait, "wait", "`TIME` ask again until all is well, for so long")
		f.Var(&o.every, "every", "`TIME` with --wait: how often (5s)")
		o.flags(f, checkFormats...)
	}))
	return append(groups, o.server.Flags()...)
}

// check is "shardsh check": is the cluster well, yes or no.
func (env environment) check(ctx context.Context) error {
	var o checkLine
	groups := o.groups()
	policy, err := env.parseCheck(&o, groups)
	switch {
	case err == nil && o.help:
		printCheckHelp(env.stdout, groups)
		return nil
	case err != nil && env.wants("nagios"):
		return env.unknownService(err)
	case err != nil:
		return err
	}
	reports, err := env.checkAll(ctx, o, policy)
	if err != nil {
		return err
	}
	if err := env.write(o.answerLine, func(to io.Writer) error { return o.show(to, reports) }); err != nil {
		return err
	}
	return o.verdict(reports)
}

// parseCheck reads the command line, and the policy that comes of it.
func (env environment) parseCheck(o *checkLine, groups []cmdline.Group) (*check.Policy, error) {
	words, err := env.parseWords(groups)
	if err != nil || o.help {
		return nil, err
	}
	o.addresses = words
	if len(words) > 1 && (o.from != "" || o.mock != "") {
		return nil, usagef("--from and --mock are one cluster, without addresses")
	}
	if err := env.takeSource(&o.sourceLine, words[:min(1, len(words))]); err != nil {
		return nil, err
	}
	for _, address := range words[min(1, len(words)):] {
		one := o.commandLine
		err := one.takeAddress(address)
		if err == nil {
			err = one.check()
		}
		if err != nil {
			return nil, err
		}
	}
	if err := o.checkFormat(checkFormats...); err != nil {
		return nil, err
	}
	switch {
	case o.every != 0 && o.wait == 0:
		return nil, usagef("--every needs --wait")
	case o.wait != 0 && o.from != "":
		return nil, usagef("--wait asks a cluster again; the file of --from stays as it is")
	}
	o.every = cmp.Or(o.every, cmdline.Duration(5*time.Second))
	return o.Policy()
}

// wants reports whether the words of the command line ask for a format, as far as
// they could be read.
func (env environment) wants(format string) bool {
	at := slices.Index(env.args, "--output")
	return slices.Contains(env.args, "--output="+format) || at >= 0 && at+1 < len(env.args) && env.args[at+1] == format
}

// verdict turns what was found into an exit code: findings count more than what
// could not be asked, as there is something to mend for sure.
func (o checkLine) verdict(reports []check.Report) error {
	worst := check.Worst(reports)
	switch {
	case o.format == "nagios":
		return serviceState(reports)
	case worst == check.Failed:
		return findingsError{}
	case worst == check.Unknown:
		return reportedError{fmt.Errorf("not everything could be asked")}
	}
	return nil
}
